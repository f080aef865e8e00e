"""By which rules the rows of each generation were summarised, so that an audit judges them by their own.

A row says its generation by the field ``method``:

- ``first`` (the field is absent): the median over blocks with order statistics, the exact sign test with Holm's
  correction, and a band that is the 95 % quantile of single blocks of the baseline against itself, on a linear scale. A
  block's ratio is to the geometric mean of the two sentinels beside it. Clocks may differ within a comparison.
- ``rank``: what `gpuopt.lab.timing.statistics` does now, a band from the baseline's clone, a block's ratio to the
  baseline interpolated between the sentinels by time, in logarithms; no verdict across clocks.

The rules of a generation that is past stay here as they were. Bounds have generations of their own: where a row says
how many launches follow one another (``in_turn``), launches count, and the profile's other ceilings as
`lab.device.bounds` takes them; else as in :func:`resources`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.statistics import MedianCI

Fields = Mapping[str, Any]

TOLERANCE = 1e-9  # relative: what numbers may differ by that should be the same
ROUNDED_BEFORE = "2026-11-21T19:45"  # times of earlier stored rows were rounded to a whole number of ROUNDED_MS
ROUNDED_MS = 1e-9
RANKS_SINCE = "2026-11-23T00:02"  # later rows that name no generation and that no summary tells of are by `rank`
SENTINEL_EVERY = 8  # visits between two of the baseline's
COMPARED = ("variant", "call", "peer")  # the roles whose ratios to the baseline are verdicts
PEER_TARGET = 0.05  # the least that is asked of peers
DOUBLE_BAND = 0.03  # twice the work takes twice the time, within this fraction


@dataclass(frozen=True)
class Rules:
    """How rows of one generation were summarised. Times in ms, ratios of times, shares in percent."""

    name: str
    baseline_ms: Callable[[Fields, Fields, Fields], float]  # at a visit, from the sentinels before and after it
    drifts: Callable[[Sequence[Fields]], bool | None]  # whether a block's sentinels earn its rows the flag `drift`
    quality_flags: Callable[[Any], Sequence[str]]  # of what `statistics.summarise` says of the samples
    time_ci: Callable[[Sequence[float], float, int], MedianCI]  # medians of blocks, the clock's step in ms, batch
    ratio_ci: Callable[[Sequence[float]], MedianCI]
    share_ci: Callable[[Sequence[float]], MedianCI]
    band: Callable[[Sequence[float]], float | None]  # from the ratios of `noise_role`
    noise_role: str  # whose ratios show the noise: the baseline's own as a variant, or its clone's
    verdicts: Callable[[Mapping[str, Sequence[float]], float], Mapping[str, str]]
    targets: Mapping[str, float]  # the half-width of the ratio's interval that a protocol asks for
    one_clock: bool  # whether ratios are to sentinels of the same clock alone


# ---------------------------------------------------------------- the first generation


def between_first(visit: Fields, before: Fields, after: Fields) -> float:
    """The geometric mean of the baseline's medians just before and after the visit."""
    return math.sqrt(before["median_ms"] * after["median_ms"])


def drifts_first(sentinels: Sequence[Fields]) -> bool:
    """Whether the baseline's medians of a block lie more than 5 % apart."""
    times = [float(row["median_ms"]) for row in sentinels]
    return max(times) / min(times) - 1.0 > 0.05


def quality_flags_first(summary: Fields) -> list[str]:
    """The flags that samples earn by themselves; `drift` of any slope that makes 5 % over them."""
    span_s = sum(summary["samples_ms"]) * summary["batch_n"] * 1e-3
    earned = {
        "autocorrelated": summary["n"] >= 10 and (summary["autocorr1"] or 0.0) > 0.3,
        "bimodal": bool(summary["bimodal"]),
        "drift": abs(summary["drift_pct_s"] or 0.0) * span_s > 5.0,
    }
    return [flag for flag, is_earned in earned.items() if is_earned]


def time_ci(times_ms: Sequence[float], step_ms: float, batch: int) -> MedianCI:
    """The median over blocks with the interval of order statistics, never narrower than the clock's step."""
    return statistics.median_ci(times_ms, resolution=step_ms, batch=batch)


def _at_most(n: int, k: int) -> float:
    """P(Bin(n, 1/2) <= k)."""
    return float(sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


def sign_test_first(ratios: Sequence[float], band: float) -> tuple[str, float]:
    """The likeliest of FAST, SLOW and SAME by the exact sign test against 1 +- band, and its two-sided p-value."""
    n, slow, fast = len(ratios), 1.0 + band, 1.0 - band
    tails = {
        "FAST": _at_most(n, sum(ratio >= fast for ratio in ratios)),
        "SLOW": _at_most(n, sum(ratio <= slow for ratio in ratios)),
        "SAME": _at_most(n, max(sum(ratio < fast for ratio in ratios), sum(ratio > slow for ratio in ratios))),
    }
    if band > 0.05:
        tails["SAME"] = 1.0
    word = min(tails, key=lambda name: tails[name])
    return word, min(1.0, 2.0 * tails[word])


def verdicts_first(ratios: Mapping[str, Sequence[float]], band: float) -> dict[str, str]:
    """Holm's correction of the sign tests over all that was compared with one baseline; AMBIGUOUS above 5 %."""
    tests = {label: sign_test_first(values, max(band, 0.01)) for label, values in ratios.items()}
    found, worst = {}, 0.0
    for place, label in enumerate(sorted(tests, key=lambda name: tests[name][1])):
        worst = max(worst, min(1.0, (len(tests) - place) * tests[label][1]))
        found[label] = tests[label][0] if worst <= 0.05 else "AMBIGUOUS"
    return found


def band_first(ratios: Sequence[float]) -> float | None:
    """The 95 % quantile of how far single blocks of the baseline stray from its own sentinels, at least 1 %."""
    if len(ratios) < 6:
        return None
    return max(0.01, float(np.quantile(np.abs(np.subtract(ratios, 1)), 0.95)))


# ---------------------------------------------------------------- ranks


def middle_s(visit: Fields) -> float | None:
    """When half of a visit's samples were taken, in seconds since the sweep began; None where it does not say."""
    begun = visit.get("at_s")
    if not begun:
        return None
    sample_s = visit["median_ms"] * (visit["batch_n"] or 1) / 1000
    samples = visit["n"] or 0
    end = begun[0] + samples * sample_s if len(begun) == 1 else begun[-1] + sample_s
    return float((begun[0] + end) / 2)


def between_rank(visit: Fields, before: Fields, after: Fields) -> float:
    """The baseline's median at the time of the visit, on the line through its logarithms before and after; half way
    where the rows do not say when."""
    now, start, end = middle_s(visit), middle_s(before), middle_s(after)
    share = 0.5
    if now is not None and start is not None and end is not None and end > start:
        share = min(max((now - start) / (end - start), 0.0), 1.0)
    return math.exp((1 - share) * math.log(before["median_ms"]) + share * math.log(after["median_ms"]))


def drifts_rank(sentinels: Sequence[Fields]) -> bool | None:
    """Whether the device's speed changed between the baseline's visits; None where their samples were left out."""
    if len(sentinels) < 2:
        return False
    if not all(row["samples_ms"] for row in sentinels):
        return None
    by_samples = getattr(statistics, "sentinels_drift", None)
    if by_samples is not None:
        return bool(by_samples([row["samples_ms"] for row in sentinels]))
    return statistics.sentinel_spread([row["median_ms"] for row in sentinels]) > statistics.SENTINEL_LIMIT


RULES = {
    "first": Rules(
        name="first",
        baseline_ms=between_first,
        drifts=drifts_first,
        quality_flags=quality_flags_first,
        time_ci=time_ci,
        ratio_ci=statistics.median_ci,
        share_ci=statistics.median_ci,
        band=band_first,
        noise_role="variant",
        verdicts=verdicts_first,
        targets={"quick": 1.0, "full": 0.01},
        one_clock=False,
    ),
    "rank": Rules(
        name="rank",
        baseline_ms=between_rank,
        drifts=drifts_rank,
        quality_flags=statistics.quality_flags,
        time_ci=time_ci,
        ratio_ci=statistics.ratio_ci,
        share_ci=statistics.ratio_ci,
        band=statistics.aa_band,
        noise_role="clone",
        verdicts=statistics.verdicts,
        targets={"quick": math.inf, "short": math.inf, "full": 0.01},
        one_clock=True,
    ),
}


def generation(row: Fields) -> str | None:
    """The name of the row's generation in ``RULES``; None where it names one that is not known."""
    method = row.get("method") or "first"
    return method if method in RULES else None


def generation_alone(row: Fields) -> str:
    """The name of the generation of a row that no summary tells of: of a search, a survey, a sweep that was killed.
    Such rows name none, and their time tells it."""
    if row.get("method"):
        return generation(row) or "first"
    return "first" if str(row.get("time_utc") or RANKS_SINCE) < RANKS_SINCE else "rank"


def sentinels_beside(order: int, orders: Sequence[int]) -> tuple[int, int] | None:
    """The sentinels' places in the block just before and after a visit's (itself, of a sentinel); None without any."""
    before, after = [at for at in orders if at <= order], [at for at in orders if at >= order]
    return (max(before), min(after)) if before and after else None


def sentinel_places(visits: int, together: int = 1) -> list[int]:
    """The places of the sentinels in a block of so many visits: first, last, and after every eighth of the others; of
    several clocks some stand together."""
    starts = [*range(0, max(visits - together, 0) + 1, SENTINEL_EVERY + together)]
    if starts[-1] + together < visits:
        starts.append(visits - together)
    return [start + place for start in starts for place in range(together)]


# ---------------------------------------------------------------- declared work and bounds


def rates(row: Fields, median_ms: float) -> dict[str, float | None]:
    """gop_s, gflop_s and gb_s of the row's declared work at this time, None for work that is not declared."""
    moved = row["bytes"] or {}
    counted = moved.get("dram") or (next(iter(moved.values())) if len(moved) == 1 else None)
    results = sum((row["counted"] or row["special"] or {}).values())
    amounts = {"gop_s": results, "gflop_s": row["flops"], "gb_s": counted}
    return {name: amount / median_ms * 1e-6 if amount else None for name, amount in amounts.items()}


class Launch(NamedTuple):
    """What a launch costs in ms: from one to the next at least, the kernel's own time of the shortest one, and from one
    to the next as a rule."""

    period_ms: float = 0.0
    busy_ms: float = 0.0
    usual_ms: float = 0.0


def counts_launches(row: Fields) -> bool:
    """Whether the row's bound knows of launches: rows that say how many of them follow one another (``in_turn``)."""
    return row.get("in_turn") is not None


def memory_ms(row: Fields, moved: float, stream: Fields, launch: Launch) -> float:
    """The least time to move so many bytes for a row: at the rate of the ceiling ``stream``; where launches count, what
    the ceiling took beyond a launch that moves nothing, and a launch each."""
    streamed = stream["bytes"]["dram"]
    if not counts_launches(row):
        return float(moved * stream["median_ms"] / streamed)
    is_batch = row["clock"] == "batch"
    least, usual = (launch.period_ms, launch.usual_ms) if is_batch else (launch.busy_ms, launch.busy_ms)
    return float(row["in_turn"] * least + moved / streamed * max(stream["median_ms"] - usual, 0.0))


def floor_ms(row: Fields, launch: Launch) -> float:
    """What launches take alone: a period each in a batch, in a single run those between them; 0 where they do not
    count."""
    if not counts_launches(row):
        return 0.0
    launches = row["in_turn"] if row["clock"] == "batch" else max(row["in_turn"] - 1, 0)
    return float(launch.period_ms * launches)


def over_bound(row: Fields) -> bool:
    """Whether a summary's share of its bound is too large to be true: all of its interval above 100 %, where launches
    count its median."""
    limit = row["pct_bound"] if counts_launches(row) else row["pct_lo"]
    return (limit or 0.0) > 100


MEMORIES = ("dram", "llc")
_RATES = ("GB/s", "GFLOP/s", "G ", "G/s")  # how units of rates begin; ns and us are none
_CEILINGS = {"requested": "l1", "local": "local", "constant": "constant", "image": "image"}


def amounts(row: Fields) -> dict[str, float]:
    """The row's declared work by the resource that does it, memory left out, as the first generation counted it."""
    moved, special, dtype = row["bytes"] or {}, row["special"] or {}, str(row["dtype"])
    found: dict[str, float] = {ceiling: moved.get(kind) or 0.0 for kind, ceiling in _CEILINGS.items()}
    found["issue"] = special.get("issue") or 0.0
    tensor = {name: amount for name, amount in special.items() if name.startswith("mma_")}
    found |= tensor or {dtype: row["flops"] or 0.0}
    if dtype == "float32":
        found |= {name: amount for name, amount in special.items() if name not in ("issue", *tensor)}
    if row["device_type"] == "cpu":
        found = {name: amount for name, amount in found.items() if name not in ("local", "constant")}
    return {name: amount for name, amount in found.items() if amount}


def resources(row: Fields, ceilings: Mapping[str, tuple[float, str]]) -> dict[str, float]:
    """Milliseconds that each resource but memory needs for the row's work, by a profile's ceilings (rate, unit)."""
    rates = {name: rate for name, (rate, unit) in ceilings.items() if unit.startswith(_RATES)}
    beside = rates.pop("issue", 0.0) if row["dtype"] == "float32" else 0.0
    rates["issue"] = max(beside, ceilings.get(str(row["dtype"]), (0.0, ""))[0] / 2)
    return {name: amount / rates[name] * 1e-6 for name, amount in amounts(row).items() if rates.get(name)}


def bound(needed: Mapping[str, float], median_ms: float) -> dict[str, Any]:
    """The bound's fields of a visit, from the milliseconds that each resource needs."""
    (first, bound_ms), *others = sorted(needed.items(), key=lambda item: (-item[1], item[0] != "launches"))
    fields = {"bound_ms": bound_ms, "bound_by": first, "pct_bound": 100 * bound_ms / median_ms}
    next_by, pct_next = (others[0][0], 100 * others[0][1] / median_ms) if others else (None, None)
    return fields | {"next_by": next_by, "pct_next": pct_next}


def commonest(words: Sequence[str | None]) -> str | None:
    """The word that is there most often, the first of several; None without any."""
    known = [word for word in words if word]
    return max(dict.fromkeys(known), key=known.count, default=None)


def median(values: Sequence[float | None]) -> float | None:
    """The median of the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def majority(flags: Sequence[Sequence[str]]) -> list[str]:
    """The flags that more than half of several rows have, in the order of their first appearance."""
    seen = [flag for each in flags for flag in each]
    return [flag for flag in dict.fromkeys(seen) if seen.count(flag) > len(flags) / 2]


def in_order(values: Sequence[float | None]) -> bool:
    """Whether the values that are there never fall."""
    return all(a <= b for a, b in pairwise(value for value in values if value is not None))
