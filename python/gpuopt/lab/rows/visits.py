"""Visits of one block, as rows: the baseline's visits around one, and the ratio to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuopt.lab.rows.schema import GROUPS, Row, time_ms
from gpuopt.lab.timing import statistics


def middle_s(row: Row) -> float | None:
    """The middle of a visit's samples in seconds since the sweep began, None for rows of earlier versions."""
    starts = row["at_s"]
    if not starts:
        return None
    each_s = time_ms(row) * (row["batch_n"] or 1) * 1e-3
    if len(starts) > 1:
        return (starts[0] + starts[-1] + each_s) / 2
    return starts[0] + each_s * (row["n"] or 0) / 2


def enclosing(row: Row, sentinels: Sequence[Row]) -> tuple[Row, Row] | None:
    """The baseline's visits before and after a visit of the same block, by the same clock; None where there are none.
    A visit of the baseline encloses itself."""
    place = row["order"] or 0
    alike = [sentinel for sentinel in sentinels if sentinel["clock"] == row["clock"]]
    before = [sentinel for sentinel in alike if (sentinel["order"] or 0) <= place]
    after = [sentinel for sentinel in alike if (sentinel["order"] or 0) >= place]
    if not before or not after:
        return None
    return max(before, key=lambda each: each["order"] or 0), min(after, key=lambda each: each["order"] or 0)


def share_between(row: Row, before: Row, after: Row) -> float:
    """How far from one visit to the other this one was made, 0..1; half way where the rows do not say when."""
    at, first, last = middle_s(row), middle_s(before), middle_s(after)
    if at is None or first is None or last is None or last <= first:
        return 0.5
    return min(1.0, max(0.0, (at - first) / (last - first)))


def ratio_to(row: Row, around: tuple[Row, Row]) -> float:
    """The visit's time over the baseline's at that moment, interpolated in logarithms. Raises ParameterError for times
    that are not positive."""
    before, after = around
    share = share_between(row, before, after)
    return float(statistics.block_ratio([time_ms(row)], [time_ms(before)], [time_ms(after)], [share])[0])


def variance_within(row: Row, around: tuple[Row, Row]) -> float:
    """The variance of the ratio's logarithm that the samples of the three visits explain."""
    before, after = around
    share = share_between(row, before, after)
    return _variance(row) + (1 - share) ** 2 * _variance(before) + share**2 * _variance(after)


def _variance(row: Row) -> float:
    return statistics.median_variance(row["n"] or 0, time_ms(row), row["mad_ms"] or 0.0)


def sentinels_of(rows: Iterable[Row]) -> dict[int | None, list[Row]]:
    """The baseline's visits as sentinel, by the number of their block."""
    found: dict[int | None, list[Row]] = {}
    for row in rows:
        if row["kind"] == "block" and row["role"] == "sentinel":
            found.setdefault(row["block"], []).append(row)
    return found


def passes_of(rows: Iterable[Row]) -> list[int | None]:
    """The pass that each of a comparison's visits is of, as a number, for rows in the order in which they were written:
    of one pass are those of one block that follow one another in the order of their visits. What another selection left
    of a block, when it went on in the file, is of an earlier pass. None for rows that do not tell their place."""
    number, found = 0, list[int | None]()
    last, reached = None, -1
    for row in rows:
        of, place = (row["block"], row["baseline"], row["env_hash"]), row["order"]
        if place is None:
            found.append(None)
            continue
        number += of != last or place <= reached
        last, reached = of, place
        found.append(number)
    return found


def noise_fields(blocks: Sequence[Row], sentinels: Mapping[int | None, Sequence[Row]]) -> Row:
    """The shares of the variance of the blocks' ratios, as fields of their summary; no fields where no block has
    ``sentinels`` around it."""
    within, ratios = [], []
    for row in blocks:
        around = enclosing(row, sentinels.get(row["block"], ()))
        if around is not None and row["ratio"]:
            within.append(variance_within(row, around))
            ratios.append(row["ratio"])
    shares = statistics.variance_shares(ratios, within) if ratios else None
    return {"var_within_pct": shares[0], "var_blocks_pct": shares[1]} if shares else {}


def errors_of(last: Row) -> Row:
    """The errors that the last of some blocks tells, as fields of their summary. A later sitting that took none of the
    blocks may have checked against another reference or tolerance, of which no block tells."""
    told: Any = last
    found: Any = {name: told[name] for name in GROUPS["correctness"]}
    made: Row = found
    return made
