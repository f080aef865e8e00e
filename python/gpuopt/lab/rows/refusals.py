"""Beyond which limits of how busy and how noisy a machine was the verdicts of a comparison are refused. It follows from
blocks, so that a study that ended early says what a finished one would. The reasons for the limits:
docs/decisions/conditions.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import joined
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


def _middle(rows: Iterable[Row], name: _Number) -> float | None:
    """The median over blocks; the rows of one block share the value."""
    seen = {(row["env_hash"], row["block"], row["key"] if row["block"] is None else ""): row[name] for row in rows}
    known = [float(value) for value in seen.values() if value is not None]
    return median(known) if known else None
