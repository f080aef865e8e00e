"""A device's profile: its measured ceilings, which percentages of a bound divide by, and the levels of its caches.

A ceiling is the fastest of a small family of kernels; what one data type or one shape reaches is a result, no ceiling.
Profiles are kept a device and driver in the user's cache and are plain JSON.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import gpuopt
from gpuopt import _core
from gpuopt._core import Device, Error, ParameterError
from gpuopt.lab import questions
from gpuopt.lab.bounds import last_level_cache
from gpuopt.lab.environment import device_label
from gpuopt.lab.levels import Level, find
from gpuopt.lab.points import rate_of
from gpuopt.lab.questions import MIB, family_rows, fitting, points, sweep_sizes
from gpuopt.lab.results import Row
from gpuopt.lab.study import Study
from gpuopt.lab.survey import Point, TransferPoint, survey
from gpuopt.lab.table import Column, Line, Sheet, byte_count, significant, spread
from gpuopt.selection import Selector, reads_ptx, select

SCHEMA = 1


@dataclass(frozen=True)
class Ceiling:
    """The fastest that was measured of one kind of work: ``rate`` in ``unit`` with its interval, by which kernel."""

    rate: float
    unit: str
    configuration: str
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Profile:
    """Ceilings by name, cache levels (the last is memory, of no size), and the points behind them.

    Names: ``dram.read``, ``dram.write``, ``dram.copy``, ``dram.triad``, ``cache1`` and on (the levels of reading, the
    fastest first), ``l1``, ``local``, ``constant``, ``image``, ``fetch``, ``fetch.linear``, ``taps`` (means of
    four pixels by loads), ``float32`` and other dtypes (multiply-adds),
    ``mma_fp16``, ``mma_bf16``, ``mma_tf32`` (multiply-adds of tensor cores, where PTX reaches them), the special
    functions and integer operations, ``latency.*`` in ns, ``launch`` in us, ``upload``, ``download``.
    """

    device: str
    driver: str
    platform: str
    date: str
    gpuopt_version: str
    ceilings: Mapping[str, Ceiling]
    levels: Sequence[Level] = ()
    rows: Sequence[Row] = field(default=(), repr=False)

    def rate(self, name: str) -> float | None:
        """The ceiling's rate, None where it was not measured."""
        found = self.ceilings.get(name)
        return found.rate if found else None

    @property
    def last_level_cache_bytes(self) -> int | None:
        """The knee of the largest cache, None where the sweep shows none."""
        sizes = [level.bytes for level in self.levels if level.bytes]
        return int(max(sizes)) if sizes else None

    @property
    def study(self) -> Study:
        """The points, as a study."""
        return Study(self.rows, {"name": "profile", "workload": "microbench"})

    def check_is_of(self, device: Device) -> None:
        """Raises ParameterError unless it was measured on this device with this driver."""
        here = (device_label(device), device.driver)
        if (self.device, self.driver) != here:
            raise ParameterError(
                f"profile: it is of {self.device} with driver {self.driver}, not of {here[0]} with driver {here[1]}; "
                "run `gpuopt profile` for this one"
            )

    def to_json(self) -> str:
        """Everything, as JSON text."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The profile that ``to_json`` wrote. Raises ParameterError for any other text."""
        try:
            held = json.loads(text)
            if held.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA}")
            held["ceilings"] = {name: Ceiling(**ceiling) for name, ceiling in held["ceilings"].items()}
            held["levels"] = tuple(
                Level(**{**level, "between": level["between"] and tuple(level["between"])}) for level in held["levels"]
            )
            if not all(
                isinstance(ceiling.rate, int | float) and ceiling.rate > 0 for ceiling in held["ceilings"].values()
            ):
                raise ValueError("a ceiling without a rate")
            return cls(**held)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ParameterError(f"profile: the text holds none ({error}); run `gpuopt profile` again") from error

    def _sheet(self) -> Sheet:
        columns = (
            Column("name", "ceiling", ("",), "0000", right=False),
            Column("rate", "rate", ("[95 % CI]", "± CI", ""), "0012"),
            Column("unit", "", ("",), "0000", right=False),
            Column("by", "reached by", ("",), "0---", right=False),
        )
        lines = [
            Line(
                {
                    "name": (name,),
                    "rate": spread(ceiling.rate, ceiling.lo, ceiling.hi),
                    "unit": (ceiling.unit,),
                    "by": (ceiling.configuration,),
                }
            )
            for name, ceiling in self.ceilings.items()
        ]
        levels = [
            f"{byte_count(level.bytes)} at {significant(level.rate_gb_s)} GB/s"
            if level.bytes
            else f"beyond them {significant(level.rate_gb_s)} GB/s"
            for level in self.levels
        ]
        header = [
            f"profile · {self.device} · driver {self.driver}",
            f"gpuopt {self.gpuopt_version} · {self.date}",
        ]
        return Sheet(columns, header, [("", lines)], [("cache levels, by reading ever larger sets", "; ".join(levels))])

    def __repr__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()


# ---------------------------------------------------------------- measuring


def profile(
    device: Selector = None,
    *,
    store: str | Path | None = None,
    progress: bool = False,
    keep: bool = True,
) -> Profile:
    """Measures a device's headline ceilings and keeps them for its bounds: under 2 minutes on an H200 or 2 cores.

    Parameters
    ----------
    store
        A file of result rows: an interrupted profile goes on from there.
    keep
        Whether it becomes the profile of this device and driver in the user's cache.

    Raises KeyboardInterrupt where it was interrupted: half a profile has wrong ceilings.
    """
    chosen = select(device)
    study = survey(headline(chosen), device=chosen, store=store, progress=progress, name="profile")
    if study.interrupted:
        raise KeyboardInterrupt
    made = of_rows(study.points)
    if keep:
        save(made, path_of(chosen))
        last_level_cache.cache_clear()  # it may come from the profile
    return made


def headline(device: Device) -> list[Point | TransferPoint]:
    """The points of a profile: at most eighty."""
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
    for dtype in ("float32", "float64"):
        ask("flops", 16384, {"WIDTH": (1, 2) if gpu else (8, 16), "CHAINS": 8}, dtype)
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
    """The profile that a survey's points show. Raises Error where none of them is good."""
    good = [row for row in rows if row["status"] == "ok" and "suspicious" not in (row["flags"] or [])]
    if not good:
        raise Error("no microbenchmark ran on this device: there is no profile")
    # Where a set is partly held, twice the trips take less than twice the time: a knee, and no fault of the clock.
    cached = [row for row in rows if row["status"] == "ok" and row["family"] == "cached"]
    kinds = [row["configuration"] for row in cached]
    sweep = [row for row in cached if row["configuration"] == max(dict.fromkeys(kinds), key=kinds.count)]
    levels = find(
        [(row["sizes"]["bytes"], row["gb_s"]) for row in sorted(sweep, key=lambda row: row["sizes"]["bytes"])]
    )
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
    for number, level in enumerate(levels[:-1], 1):
        ceilings[f"cache{number}"] = Ceiling(level.rate_gb_s, "GB/s", "the plateau of the working-set sweep")
    first = good[0]
    return Profile(
        device=str(first["device"]),
        driver=str(first["driver"]),
        platform=str(first["platform"]),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        gpuopt_version=gpuopt.__version__,
        ceilings=dict(sorted(ceilings.items(), key=lambda item: _order(item[0]))),
        levels=tuple(levels),
        rows=tuple(rows),
    )


_STREAMS = ("read", "write", "copy", "triad")
_ORDER = ("dram", "cache", "l1", "local", "constant", "image", "fetch", "taps", "float", "mma_", "latency", "launch")


def names_of(row: Row) -> list[str]:
    """The ceilings that a point counts for."""
    family, params = str(row["family"]), row.get("params") or {}
    if family in _STREAMS:
        return [f"dram.{family}"]
    if family == "cached":
        return ["l1"]
    if family in ("local", "constant"):
        return [family]
    if family in ("image1d", "image2d"):
        return ["image", "fetch"] if not params.get("LINEAR") else ["fetch.linear"]
    if family == "taps":
        return ["taps"]
    if family == "flops":
        return [str(row["dtype"])]
    if family == "latency":
        size = int(row["sizes"]["bytes"])
        return [f"latency.{size // MIB}MiB" if size >= MIB else f"latency.{size // 1024}KiB"]
    if family in ("special", "integer", "tensor"):
        return list(row.get("special") or {})
    if family in ("launch", "transfer"):
        return ["launch" if family == "launch" else str(row["variant"])]
    return []


def _ceiling(row: Row, rate: float, unit: str) -> Ceiling:
    lo, hi, mid = row.get("ci_lo_ms"), row.get("ci_hi_ms"), row["median_ms"]
    what = f"{row['configuration']} {row['dtype']}"
    if not lo or not hi:
        return Ceiling(rate, unit, what)
    if unit in ("ns", "us"):
        return Ceiling(rate, unit, what, rate * lo / mid, rate * hi / mid)
    return Ceiling(rate, unit, what, rate * mid / hi, rate * mid / lo)


def _order(name: str) -> tuple[int, str]:
    return next((i for i, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER)), name


# ---------------------------------------------------------------- keeping


def path_of(device: Device) -> Path:
    """Where the profile of a device and driver lies."""
    from gpuopt.lab.tune import slug

    return Path(_core.cache_dir()) / "profiles" / f"{slug(device_label(device))}-{slug(device.driver)}.json"


def save(made: Profile, path: str | Path) -> Path:
    """Writes it in one step: readers and a full disk find the file whole. Raises Error where it cannot be written."""
    target = Path(path)
    beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "w", encoding="utf-8") as file:
            file.write(made.to_json())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        raise Error(f"the profile cannot be written to {target}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
    return target


def load(path: str | Path, device: Selector = None) -> Profile:
    """The profile in a file; with ``device``, refused by name where it is another's. Raises ParameterError."""
    try:
        found = Profile.from_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"path: {path} cannot be read ({error.strerror})") from error
    if device is not None:
        found.check_is_of(select(device))
    return found


def stored(device: Device) -> Profile | None:
    """The kept profile of this device and driver, None without a good one."""
    path = path_of(device)
    if not path.exists():
        return None
    try:
        return load(path, device)
    except ParameterError:
        return None
