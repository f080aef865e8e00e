"""Under what conditions a comparison's numbers hold: when it was measured, how busy the machine was, how noisy the
baseline; and beyond which limits its verdicts are refused.

All of it follows from rows, so that a stored study says what the fresh one said. The reasons for the limits:
docs/decisions/conditions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Literal

from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, percent_text
from gpuopt.lab.rows.taken_over import TakenOver, date_words, taken_over
from gpuopt.lab.timing import statistics

OTHERS_LIMIT = 0.5  # threads of other programs that ran or waited, a core that we may use
STEAL_LIMIT_PCT = 5.0
QUOTA_LIMIT_PCT = 5.0
BAND_LIMIT = 0.25  # of the baseline against itself
SPREAD_LIMIT = 0.5  # of the baseline's visits within a block
REMARK = 0.5  # of a limit: above it, shares of bounds come with a remark

_Number = Literal["load1", "others_load", "steal_pct", "quota_pct", "gpu_others"]


@dataclass(frozen=True)
class Conditions:
    """What held in the middle one of a comparison's blocks; None where it was not recorded."""

    load1: float | None = None
    others_load: float | None = None
    steal_pct: float | None = None
    quota_pct: float | None = None
    gpu_others: float | None = None
    throttled: int = 0  # visits that were throttled twice
    visits: int = 0
    is_cpu: bool = False

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Conditions:
        """Of these rows of blocks or points; of summaries where there are none, as in compact files."""
        all_rows = [row for row in rows if row["status"] == "ok"]
        visits = [row for row in all_rows if row["kind"] in ("block", "point")]
        told = visits if any(row["others_load"] is not None for row in visits) else all_rows
        return cls(
            load1=_middle(told, "load1"),
            others_load=_middle(told, "others_load"),
            steal_pct=_middle(told, "steal_pct"),
            quota_pct=_middle(told, "quota_pct"),
            gpu_others=_middle(told, "gpu_others"),
            throttled=sum("throttled" in row["flags"] for row in visits),
            visits=len(visits),
            is_cpu=any(row["device_type"] == "cpu" for row in all_rows),
        )

    def fields(self) -> Row:
        """The fields of a summary row that say it."""
        others = None if self.gpu_others is None else round(self.gpu_others)
        return {
            "load1": self.load1,
            "others_load": self.others_load,
            "steal_pct": self.steal_pct,
            "quota_pct": self.quota_pct,
            "gpu_others": others,
        }

    def exceeded(self, part: float = 1.0) -> list[str]:
        """What of the host is above this part of its limit, in words."""
        found = []
        if self.others_load is not None and self.others_load > part * OTHERS_LIMIT:
            several = self.others_load >= 1.1  # not `1 times`
            wanted = f"{self.others_load:.2g} times" if several else f"{100 * self.others_load:.0f} % of"
            found.append(f"other programs wanted {wanted} the processor's cores")
        if self.steal_pct is not None and self.steal_pct > part * STEAL_LIMIT_PCT:
            found.append(f"the host took {self.steal_pct:.2g} % of the virtual machine's time (steal)")
        if self.quota_pct is not None and self.quota_pct > part * QUOTA_LIMIT_PCT:
            found.append(f"the CPU quota held the process back for {self.quota_pct:.2g} % of the time")
        return found


def refusal(conditions: Conditions, band: float | None, spread: float | None) -> str | None:
    """Why no verdict is given under these conditions, None where verdicts stand.

    ``band`` is the baseline's noise against itself, ``spread`` how far its visits within a block lie apart, both as
    fractions. A busy host counts where the device is its processor; a GPU's events do not see it.
    """
    reasons = conditions.exceeded() if conditions.is_cpu else []
    if band is not None and band > BAND_LIMIT:
        reasons.append(f"the baseline differed from itself by {100 * band:.0f} %")
    if spread is not None and spread > SPREAD_LIMIT:
        reasons.append(f"the baseline's time changed by {100 * spread:.0f} % within a block")
    return joined(reasons) or None


def judged(blocks: Sequence[Row], band: float | None, notes: list[str]) -> Row:
    """What summary rows of these blocks say of the conditions: their fields, and in ``refused`` why no verdict stands.
    ``notes`` are told of a refusal, and of shares of bounds that are too low."""
    conditions = Conditions.of(blocks)
    why = refusal(conditions, band, spread_of(blocks))
    remark = bounds_remark(conditions)
    notes += [f"no verdicts are given: {why}"] if why else []
    notes += [remark] if remark else []
    return {**conditions.fields(), "refused": why}


def spread_of(rows: Iterable[Row]) -> float | None:
    """By how much the baseline's time usually changed from one of its visits to the next in the same block, by one
    clock, as a fraction: a single visit that others held up is no reason to refuse what ranks over blocks decide."""
    blocks: dict[object, list[float]] = {}
    for row in rows:
        if row["kind"] == "block" and row["role"] == "sentinel" and row["median_ms"]:
            blocks.setdefault((row["env_hash"], row["block"], row["clock"]), []).append(float(row["median_ms"]))
    changes = [statistics.sentinel_spread(pair) for times in blocks.values() for pair in pairwise(times)]
    return median(changes) if changes else None


def bounds_remark(conditions: Conditions) -> str | None:
    """What must be said beside shares of bounds on a busy processor, None on a quiet one."""
    found = conditions.exceeded(REMARK) if conditions.is_cpu else []
    if not found:
        return None
    return (
        f"shares of bounds are too low here: {' and '.join(found)}; a ceiling's short runs fit between others' time "
        "slices, a long kernel is interrupted by them"
    )


# ---------------------------------------------------------------- words


def lines(study: StudyRows, of: Group | Sequence[Row] | None = None) -> list[str]:
    """Two plain lines of a header: when, by what, and how much of it was measured by an earlier run; and under what
    conditions, or why verdicts are refused. They are of one of the study's groups or of some points; by default of its
    first group, or of all its points."""
    of = of or next(iter(study.groups()), None) or study.points
    rows = _rows_of(of)
    if not rows:
        return []
    when = [f"measured {date}" if (date := dates_of(rows)) else "", str(taken_over_of(study, of) or ""), *made_by(rows)]
    return [" · ".join(filter(None, when)), " · ".join(state_of(study, of))]


def _rows_of(of: Group | Sequence[Row]) -> list[Row]:
    return [*of.rows, *of.blocks] if isinstance(of, Group) else list(of)


def dates_of(rows: Sequence[Row]) -> str:
    """When the rows' blocks, or points, were measured; empty where they do not say."""
    kind = "block" if any(row["kind"] == "block" for row in rows) else "point"
    times = [str(row["time_utc"]) for row in rows if row["time_utc"] and row["kind"] == kind]
    times = times or [str(row["time_utc"]) for row in rows if row["time_utc"]]
    return date_words(times) if times else ""


def taken_over_of(study: StudyRows, of: Group | Sequence[Row]) -> TakenOver | None:
    """How much of it an earlier run measured, and when; None where nothing."""
    return taken_over(_rows_of(of), study.problem_info.get("began_utc"))


def made_by(rows: Sequence[Row]) -> list[str]:
    """`gpuopt 0.1.0 (1a2b3c4d5)`, `unit 9f8e7d6c`."""
    commits = list(dict.fromkeys(_short(str(row["commit"])) for row in rows if row["commit"]))
    units = dict.fromkeys(str(row["unit"]) for row in rows if row["unit"])
    version = f"gpuopt {rows[-1]['gpuopt_version']}" + (f" ({', '.join(commits)})" if commits else "")
    return [version, *(f"unit {unit}" for unit in units)]


def state_of(study: StudyRows, of: Group | Sequence[Row]) -> list[str]:
    """`others wanted 3 % of 2 cores`, `steal 0 %`, `governor performance`, `noise ± 1.2 %`; first why verdicts are
    refused."""
    rows, band = _rows_of(of), of.band if isinstance(of, Group) else None
    conditions = Conditions.of(rows)
    why = next((str(row["refused"]) for row in rows if row["refused"]), None)
    facts = _facts(study, rows)
    told = [f"NO VERDICTS: {why}"] if why else []
    if conditions.others_load is None:
        told.append("load not recorded")
    elif not (why and "other programs" in why):
        cores = f" of {facts['cores']} cores" if facts.get("cores") else " of the cores"
        told.append(f"others wanted {100 * conditions.others_load:.0f} %{cores}")
    if conditions.steal_pct is not None:
        told.append(f"steal {conditions.steal_pct:.2g} %")
    if facts.get("quota"):
        told.append(f"CPU quota {facts['quota']:g}, which held us back for {conditions.quota_pct or 0:.2g} %")
    if facts.get("governor"):
        told.append(f"governor {facts['governor']}")
    if conditions.gpu_others:
        told.append(f"{conditions.gpu_others:.0f} other processes on the GPU")
    if band and "differed from itself" not in (why or ""):
        told.append(f"noise ± {percent_text(band)}")
    if (spread := spread_of(rows)) is not None and "within a block" not in (why or ""):
        told.append(f"the baseline changed by {percent_text(spread)} within a block")
    clocks = sorted({round(row["core_mhz"]) for row in rows if row["core_mhz"]})
    if clocks:
        told.append(f"core clock {' to '.join(str(mhz) for mhz in dict.fromkeys((clocks[0], clocks[-1])))} MHz")
    if conditions.throttled:
        told.append(f"throttled in {conditions.throttled} of {conditions.visits} visits")
    return told


def _facts(study: StudyRows, rows: Sequence[Row]) -> dict[str, Any]:
    """Cores that may be used, CPU quota and governor, of the environment of the last of the rows."""
    now = next((row["env_hash"] for row in reversed(rows) if row["env_hash"]), None)
    for row in reversed(study.rows):
        environment = row["environment"] if row["kind"] == "environment" and row["env_hash"] == now else None
        cpu: Mapping[str, Any] = (environment.get("cpu") if environment else None) or {}
        if cpu:
            named = {"cores": "usable_threads", "quota": "quota_cpus", "governor": "governor"}
            return {name: value for name, field in named.items() if (value := cpu.get(field)) is not None}
    return {}


def _short(commit: str) -> str:
    head, plus, dirty = commit.partition("+")
    return f"{head[:9]}{plus}{dirty}"


def _middle(rows: Iterable[Row], name: _Number) -> float | None:
    """The median over blocks; the rows of one block share the value."""
    seen = {(row["env_hash"], row["block"], row["key"] if row["block"] is None else ""): row[name] for row in rows}
    known = [float(value) for value in seen.values() if value is not None]
    return median(known) if known else None
