"""Measuring a device's profile: which microbenchmarks are run, and which ceilings follow from them.

A ceiling is the fastest of a small family of kernels, by their medians over rounds that are spread over the whole
sitting. What one data type or one shape reaches is a result, not a ceiling."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from gpuopt import _core
from gpuopt._core import Device, Error
from gpuopt.checked import checked
from gpuopt.lab.device.caches import last_level_cache
from gpuopt.lab.device.keeping import busy_words, keep_in_cache
from gpuopt.lab.device.levels import find
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import UnsavedRowsError
from gpuopt.lab.rows.schema import Row, levels, time_ms
from gpuopt.lab.run.rounds import survey_in_rounds
from gpuopt.lab.show.points import rate_of
from gpuopt.selection import Selector, reads_ptx, select
from gpuopt.workloads.microbench import questions
from gpuopt.workloads.microbench.points import Point, TransferPoint
from gpuopt.workloads.microbench.questions import MIB, family_rows, fitting, points, sweep_sizes

# ---------------------------------------------------------------- measuring


@checked
def profile(
    device: Selector = None,
    *,
    store: str | Path | None = None,
    progress: bool | None = None,
    keep: bool = True,
    force: bool = False,
) -> Profile:
    """Measure a device's ceilings and keep them for its bounds: some minutes on an H200 or on two CPU cores.

    Every microbenchmark is visited once a round, in several rounds. A ceiling whose rounds disagree, or that is far
    worse than in earlier sittings, is not kept: what an earlier sitting found stands, and ``refused`` of the result
    says so.

    Raises KeyboardInterrupt where it was interrupted, since half a profile would have wrong ceilings; Error where no
    microbenchmark ran, and, before anything is measured, where the machine is busy and the result would be kept;
    UnsavedRowsError where ``store`` lacks rows, once the profile is kept.

    Parameters
    ----------
    store
        A file for the result rows.
    keep
        Whether it becomes the profile of this device and driver in the user's cache, after those of earlier sittings.
    force
        Whether doubtful ceilings are kept too, and those of a busy machine.

    Examples
    --------
    >>> lab.profile(keep=False).rate("dram.read")  # doctest: +SKIP
    20.3
    >>> from gpuopt.workloads.microbench.ceilings import headline
    >>> 0 < len(headline(gpuopt.devices()[0])) <= 80  # questions that it asks
    True
    """
    chosen = select(device)
    if keep and not force and (busy := busy_words(chosen)):
        raise Error(
            f"profile: {busy}; nothing was measured, and an earlier profile stands: wait, or keep what such a machine "
            "shows with force=True (--force)"
        )
    unsaved: UnsavedRowsError[Study] | None = None
    try:
        study = survey_in_rounds(headline(chosen), device=chosen, store=store, progress=progress, name="profile")
    except UnsavedRowsError as error:
        study, unsaved = error.study, error
    if study.interrupted:
        raise KeyboardInterrupt
    made = of_rows(study.points)
    if not keep:
        if unsaved is not None:
            raise unsaved
        return made
    kept = keep_in_cache(made, chosen, force)
    last_level_cache.cache_clear()  # its size may come from the profile
    if unsaved is not None:
        raise unsaved
    return kept


def headline(device: Device) -> list[Point | TransferPoint]:
    """Return the points of a profile, at most eighty."""
    gpu = device.type != "cpu"
    found: list[Point | TransferPoint] = []

    def ask(family: str, size: int | None, levels: questions.Levels, dtype: str = "float32", width: int = 0) -> None:
        found.extend(points(device, fitting(family, device), dtype, size, levels, width=width))

    if gpu:
        ask("read", None, {"WIDTH": (2, 4), "AHEAD": (4, 16)})
        ask("write", None, {"WIDTH": 4, "AHEAD": (1, 4)})
        ask("triad", None, {"WIDTH": 4, "AHEAD": (1, 4)})
        copies = [row for row in family_rows("copy") if row.name == "copy"]
        found.extend(points(device, copies, "float32", None, {"WIDTH": 4, "AHEAD": (1, 4)}))
        found.extend(points(device, copies, "float32", None, {"WIDTH": 2, "AHEAD": 1}))
        for dtype, width in (("int8", 1), ("int16", 1), ("float32", 1), ("float32", 16), ("float64", 1)):
            found.extend(points(device, copies, dtype, None, {"WIDTH": width, "AHEAD": 1}))
    else:
        ask("read", None, {"WIDTH": 16, "AHEAD": (4, 8), "ITEMS": (8, 64)})
        ask("write", None, {"WIDTH": 16, "ITEMS": (8, 64)})
        ask("triad", None, {"WIDTH": 16, "ITEMS": (8, 64)})
        ask("copy", None, {"WIDTH": (8, 16), "ITEMS": (8, 64)})
    for size in sweep_sizes(device, 2):
        ask("cached", size, {"WIDTH": 4 if gpu else 16})
    ask("constant", 16384, {"UNIFORM": (0, 1)})
    ask("local", 16384, {"WIDTH": (1, 4), "STRIDE": 1})
    ask("image1d", 16384, {})
    ask("image2d", 16384, {"LINEAR": (0, 1), "CHANNELS": (1, 4)}, width=256)
    ask("taps", 16384, {"LANES": 1, "AHEAD": 8} if gpu else {"LANES": (8, 16), "AHEAD": (8, 16)}, width=256)
    alone, beside = ([row for row in family_rows("flops") if row.name == name] for name in ("fma", "fma_add"))
    for dtype in ("float32", "float64"):
        found.extend(points(device, alone, dtype, 16384, {"WIDTH": (1, 2) if gpu else (8, 16), "CHAINS": 8}))
    for width, chains in ((1, 8), (1, 16)) if gpu else ((8, 16), (16, 8)):
        found.extend(points(device, beside, "float32", 16384, {"WIDTH": width, "CHAINS": chains}))
    if reads_ptx(device):
        ask("tensor", 16384, {"CHAINS": (4, 8)})
    special = [row for row in family_rows("special") if row.name in ("native_rsqrt", "rsqrt", "divide")]
    found.extend(points(device, special, "float32", 16384, {"WIDTH": 1 if gpu else 16}))
    ask("integer", 16384, {"WIDTH": 1 if gpu else 16}, "uint32")
    chase = [row for row in family_rows("latency") if row.name == "chase"]
    for working_set in (16384, 8 * MIB, None):
        found.extend(points(device, chase, "uint32", working_set, {}))
    ask("launch", 16384, {})
    found += [TransferPoint(way, True) for way in ("upload", "download")]
    return found


def of_rows(rows: Sequence[Row]) -> Profile:
    """Return the profile that follows from a survey's points: without ceilings where twice the work of none took twice
    the time. Raises Error where no point ran."""
    ran = [row for row in rows if row["status"] == "ok"]
    if not ran:
        raise Error("no microbenchmark ran on this device: there is no profile")
    good = [row for row in ran if "suspicious" not in row["flags"]]
    # "Suspicious" rows count here: near the size of a cache, twice the trips may take less than twice the time.
    cached = [row for row in ran if row["family"] == "cached"]
    kinds = [row["configuration"] for row in cached]
    sweep = [row for row in cached if row["configuration"] == max(dict.fromkeys(kinds), key=kinds.count)]
    found = find([(_source_bytes(row), row["gb_s"]) for row in sorted(sweep, key=_source_bytes)])
    ceilings: dict[str, Ceiling] = {}
    for row in good:
        for name in names_of(row):
            rate, unit = (row["gop_s"], "G/s") if name.startswith(("fetch", "taps")) else rate_of(row)
            if not rate:
                continue
            best = ceilings.get(name)
            lower_is_better = unit in ("ns", "us")
            if best is None or (rate < best.rate if lower_is_better else rate > best.rate):
                ceilings[name] = _ceiling(row, float(rate), unit)
    for number, level in enumerate(found[:-1], 1):
        ceilings[f"cache{number}"] = Ceiling(level.rate_gb_s, "GB/s", "the plateau of the working-set sweep")
    first = ran[0]
    return Profile(
        device=str(first["device"]),
        driver=str(first["driver"]),
        platform=str(first["platform"]),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        gpuopt_version=_core.__version__,
        ceilings=dict(sorted(ceilings.items(), key=lambda item: _order(item[0]))),
        levels=tuple(found),
        rows=tuple(rows),
        unit=first["unit"],
    )


_STREAMS = ("read", "write", "copy", "triad")
_ORDER = ("dram", "cache", "l1", "local", "constant", "image", "fetch", "taps", "float", "mma_", "latency", "launch")


def names_of(row: Row) -> list[str]:
    """Return the names of the ceilings that a point is a measurement of."""
    family = str(row["family"])
    if family in _STREAMS:
        return [f"dram.{family}"]
    if family == "cached":
        return ["l1"]
    if family in ("local", "constant"):
        return [family]
    if family in ("image1d", "image2d"):
        return ["image", "fetch"] if not levels(row).get("LINEAR") else ["fetch.linear"]
    if family == "taps":
        return ["taps"]
    if family == "flops":
        return list(row["special"] or {}) or [str(row["dtype"])]
    if family == "latency":
        size = _source_bytes(row)
        return [f"latency.{size // MIB}MiB" if size >= MIB else f"latency.{size // 1024}KiB"]
    if family in ("special", "integer", "tensor"):
        return list(row["special"] or {})
    if family in ("launch", "transfer"):
        return ["launch" if family == "launch" else str(row["variant"])]
    return []


def _source_bytes(row: Row) -> int:
    return (row["sizes"] or {})["bytes"]


def _ceiling(row: Row, rate: float, unit: str) -> Ceiling:
    lo, hi, mid = row["ci_lo_ms"], row["ci_hi_ms"], time_ms(row)
    what = f"{row['configuration']} {row['dtype']}"
    if not lo or not hi:
        return Ceiling(rate, unit, what)
    q1, q3 = row["q1_ms"], row["q3_ms"]
    apart = (q3 - q1) / mid if q1 and q3 else None
    if unit in ("ns", "us"):
        return Ceiling(rate, unit, what, rate * lo / mid, rate * hi / mid, apart)
    return Ceiling(rate, unit, what, rate * mid / hi, rate * mid / lo, apart)


def _order(name: str) -> tuple[int, str]:
    return next((i for i, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER)), name
