"""What rows of a device say to the claims of papers: numbers with intervals, and verdicts.

The verdicts, where ours is an interval of a ratio of speeds, turned so that the claim is a gain (a claimed loss of 0.8
is read as a gain of 1.25), and n is the printed number, of a range the end nearer to 1, of an order alone 1 % above 1:

- ``not measured``: no good rows of what it compares.
- ``inverted``: the interval ends more than 1 % below 1.
- ``smaller``: the interval ends before n: a gain below the printed one, or none.
- ``holds``: the interval begins above 1, and the median reaches n; of an order alone, it begins at n or above.
- ``undecided``: else. The interval reaches n, but contains 1, or the median does not reach n, or, of an order alone, it
  begins below n. Also where there is no 95 % interval (too few blocks, rows of two environments, no pass that
  measured both), and where the study gives no verdicts.

A claim that two are the same holds within 5 %, is inverted wholly outside of that, else undecided. A claim that one is
not less than the other holds where the interval begins at most 1 % below 1, is inverted where it ends there, else
undecided. A rate or a share holds where its median reaches the printed number, is smaller where its interval ends
before it, else undecided. docs/decisions/verdicts-on-claims.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from gpuopt import papers
from gpuopt._core import ParameterError
from gpuopt.configuration import Configuration, complete
from gpuopt.lab.rows.claim_numbers import Number, compared_number
from gpuopt.lab.rows.groups import Group, seconds_of
from gpuopt.lab.rows.ratios import other_clock
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.timing import statistics
from gpuopt.papers.claims import Claim, Selector, Test

ClaimVerdict = Literal["holds", "smaller", "inverted", "undecided", "not measured"]
VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
EDGE = 1 + statistics.BAND_FLOOR  # a difference of less is none
SAME = 1 + statistics.SAME_LIMIT
NO_ROWS = "no rows of it"  # of what is compared: the claim's command would measure them
NO_INTERVAL = "no 95 % interval: "
REFUSED = "its study gives no verdicts: "


@dataclass(frozen=True)
class Finding:
    """What a device's rows say to a claim. ``ours`` is the geometric mean over ``problems``, each of which has its
    number, or the best of them; ``reason`` says why nothing was measured, or why a verdict is undecided."""

    claim: Claim
    device: str
    verdict: ClaimVerdict
    ours: Number | None = None
    problems: dict[str, Number] = field(default_factory=dict)
    reason: str = ""
    date: str = ""
    device_type: str = ""
    platform: str = ""


@dataclass(frozen=True)
class _Measured:
    """A problem's number, why its study refuses verdicts, when it was measured, and why there is no interval."""

    number: Number
    refused: str
    time: str
    lacking: str

    @property
    def rank(self) -> tuple[bool, str]:
        """What a sitting counts by: whether its number decides anything, then the later."""
        return self.number.interval is not None and not self.refused, self.time


@dataclass(frozen=True)
class Sitting:
    """The groups and points of one study on one device. Blocks of two studies are never paired."""

    groups: list[Group]
    points: list[Row]

    @property
    def device_type(self) -> str | None:
        rows = [group.first for group in self.groups] + self.points
        return next((row["device_type"] for row in rows if row["device_type"]), None)

    @property
    def platform(self) -> str:
        rows = [group.first for group in self.groups] + self.points
        return next((str(row["platform"]) for row in rows if row["platform"]), "")

    def has(self, selector: Selector) -> bool:
        """Whether any row is of this peer or call."""
        names = {str(row[key]) for group in self.groups for row in group.rows for key in ("variant", "configuration")}
        return selector.variant in names


def sittings(studies: Iterable[StudyRows]) -> dict[str, list[Sitting]]:
    """What the studies measured, by device, in the order of appearance."""
    found: dict[str, list[Sitting]] = {}
    for study in studies:
        groups, points = study.groups(), study.points
        devices = dict.fromkeys([group.device for group in groups] + [str(row["device"] or "") for row in points])
        for device in devices:
            mine = [group for group in groups if group.device == device]
            found.setdefault(device, []).append(Sitting(mine, [p for p in points if str(p["device"] or "") == device]))
    return found


def finding(claim: Claim, device: str, measured: Sequence[Sitting]) -> Finding:
    """What a device's sittings say to a claim. Of several with both rows for one problem the last counts, a failure
    too."""
    of = next(iter(measured), Sitting([], []))
    return replace(_finding(claim, device, measured), device_type=of.device_type or "", platform=of.platform)


def _finding(claim: Claim, device: str, measured: Sequence[Sitting]) -> Finding:
    if claim.test is None:
        return Finding(claim, device, "not measured", reason=claim.why)
    measured_of: dict[str, list[_Measured]] = {}
    failed_at: dict[str, str] = {}  # by the problem, the last time
    failures: dict[str, None] = {}
    wanted = claim.test.device_type
    for sitting in measured:
        if wanted and sitting.device_type not in (None, wanted):
            failures[f"a claim about {wanted.upper()}s"] = None
            continue
        pairs = [*_group_pairs(claim.paper, claim.test, sitting), *_point_pairs(claim.test, sitting)]
        for problem, group, row, over in pairs:
            failed = next((one for one in (row, over) if one is not None and one["status"] != "ok"), None)
            if failed is not None:
                failures[f"{failed['configuration']}: {failed['status']}: {failed['reason']}"] = None
                failed_at[problem] = max(failed_at.get(problem, ""), str(failed["time_utc"] or ""))
                continue
            number, lacking = compared_number(claim.test, group, row, over)
            if number is None and over is not None and other_clock(row, over):
                failures["the two were timed by different clocks, and no pass has both by the host's"] = None
            if number is not None:
                why = row["refused"] or (over["refused"] if over else None)
                one = _Measured(number, why or "", str(row["time_utc"] or ""), lacking)
                measured_of.setdefault(problem, []).append(one)
    left = {key: [one for one in found if one.time >= failed_at.get(key, "")] for key, found in measured_of.items()}
    by_problem = {key: max(reversed(found), key=lambda each: each.rank) for key, found in left.items() if found}
    if not by_problem:
        return Finding(claim, device, "not measured", reason="; ".join(failures) or _absent(claim.test, measured))
    # An interrupted study leaves problems of a few blocks: they count only where there is no other.
    kept = {problem: one for problem, one in by_problem.items() if one.rank[0]} or by_problem
    problems = {problem: one.number for problem, one in kept.items()}
    numbers = list(problems.values())
    ours = _best_of(numbers, claim.test) if claim.test.best else mean_over(numbers)
    date = max(one.time for one in kept.values())[:10]
    if whys := dict.fromkeys(one.refused for one in kept.values() if one.refused):
        return Finding(claim, device, "undecided", ours, problems, REFUSED + "; ".join(whys), date)
    whys = dict.fromkeys(one.lacking for one in kept.values() if one.number.interval is None)
    reason = "" if ours.interval else NO_INTERVAL + "; ".join(whys)
    return Finding(claim, device, verdict(claim, ours), ours, problems, reason, date)


def _absent(test: Test, measured: Sequence[Sitting]) -> str:
    """Why there is nothing: another library that did not run there, else just no rows."""
    peers = [one for one in (test.of, test.over) if one is not None and one.role == "peer"]
    mine = [
        sitting for sitting in measured if any(group.first["workload"] == test.workload for group in sitting.groups)
    ]
    away = [str(one.variant) for one in peers if mine and not any(sitting.has(one) for sitting in mine)]
    return f"{away[0]} did not run there" if away else NO_ROWS


def _best_of(numbers: Sequence[Number], test: Test) -> Number:
    """The number that is most on the claimed side."""
    return (min if test.direction == "less" else max)(numbers, key=lambda number: number.mid)


# ---------------------------------------------------------------- verdicts


def verdict(claim: Claim, ours: Number) -> ClaimVerdict:
    """The verdict on a claim that was measured; the rules are in the module's docstring."""
    if claim.test is None:
        raise ParameterError(f"claim: {claim.id} has no test")
    if ours.interval is None:
        return "undecided"
    lo, hi = ours.interval
    if claim.test.over is None:
        if claim.test.direction == "less":
            lo, hi, mid, least = 1 / hi, 1 / lo, 1 / ours.mid, 1 / max(claim.printed)
        else:
            mid, least = ours.mid, min(claim.printed)
        return "smaller" if hi < least else "holds" if mid >= least else "undecided"
    if claim.test.direction == "not less":
        return "inverted" if hi < 1 / EDGE else "holds" if lo >= 1 / EDGE else "undecided"
    if claim.test.direction == "same":
        if hi < 1 / SAME or lo > SAME:
            return "inverted"
        return "holds" if lo >= 1 / SAME and hi <= SAME else "undecided"
    mid, nearer = ours.mid, claim.printed
    if claim.test.direction == "less":
        lo, hi, mid, nearer = 1 / hi, 1 / lo, 1 / mid, tuple(1 / number for number in claim.printed)
    if hi < 1 / EDGE:
        return "inverted"
    least = min(nearer, default=EDGE)
    if hi < least:
        return "smaller"
    reached = mid >= least if nearer else lo >= least
    return "holds" if lo > 1 and reached else "undecided"


def mean_over(numbers: Sequence[Number]) -> Number:
    """The geometric mean, which treats ratios and their inverses alike. Its interval goes from the mean of the lower
    ends to that of the upper ends, which is wider than the truth; it is of these problems, not of others."""

    def mean(values: Iterable[float]) -> float:
        return math.exp(math.fsum(map(math.log, values)) / len(numbers))

    if len(numbers) == 1:
        return numbers[0]
    mid = mean(number.mid for number in numbers)
    ends = [number.interval for number in numbers]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return Number(mid)
    return Number(mid, mean(lo for lo, _ in known), mean(hi for _, hi in known))


# ---------------------------------------------------------------- rows

Pair = tuple[str, Group | None, Row, Row | None]  # problem, where the rows were paired, the row, what it is over


def _group_pairs(paper: str, test: Test, sitting: Sitting) -> Iterable[Pair]:
    dtype = test.dtype or next((one.dtype for one in papers.of(test.workload) if one.key == paper), None)
    for group in sitting.groups:
        if group.first["workload"] != test.workload or group.cache_state == "cold" or dtype not in (None, group.dtype):
            continue
        if not is_meant(test.subject, group.problem, list((group.first["sizes"] or {}).items())):
            continue
        row = _best(group.rows, test.workload, test.of)
        over = _best(group.rows, test.workload, test.over) if test.over else None
        if row is None or (row is over and not _is_whole(test.over)):  # one row by two names says nothing over itself
            continue
        if over is not None or test.over is None:
            yield group.problem, group, row, over


def _point_pairs(test: Test, sitting: Sitting) -> Iterable[Pair]:
    """Points of a survey; of two selections those of equal sizes, else, of one point each, these."""
    points = [point for point in sitting.points if point["workload"] == test.workload]
    mine = [p for p in points if _selects(test.of, test.workload, p) and _sizes_meant(test, p)]
    others = [p for p in points if test.over and _selects(test.over, test.workload, p) and _sizes_meant(test, p)]
    sizes = list(dict.fromkeys(_sizes_text(point) for point in mine))
    for size in sizes:
        row = _first_good([p for p in mine if _sizes_text(p) == size])
        if test.over is None:
            yield size, None, row, None
            continue
        alike = [p for p in others if _sizes_text(p) == size]
        left = alike or (others if len(sizes) == 1 and len({_sizes_text(p) for p in others}) == 1 else [])
        if left:
            yield size, None, row, _first_good(left)


def _sizes_text(row: Row) -> str:
    return " ".join(f"{name}={size}" for name, size in (row["sizes"] or {}).items()) or str(row["variant"])


def _sizes_meant(test: Test, row: Row) -> bool:
    return is_meant(test.subject, str(row["problem"] or ""), list((row["sizes"] or {}).items()))


def is_meant(subject: str | None, problem: str, sizes: Sequence[tuple[str, int]]) -> bool:
    """Whether a claim's subject means this problem: a part of its name between underscores or spaces, what its name
    begins with, or the one length that all its sides have."""
    if subject is None:
        return True
    lengths = {int(size) for name, size in sizes if name != "checked"}
    if subject.isdigit() and lengths == {int(subject)}:
        return True
    parts = problem.replace(" ", "_").split("_")
    return subject in parts or (not subject.isdigit() and problem.startswith(subject))


def _best(rows: Sequence[Row], workload: str, selector: Selector) -> Row | None:
    """The row that a selector means, by its configuration: a preset's name may have stood for another one when the row
    was measured. Of several the one that has the name, then the fastest good one, else the failure."""
    found = [row for row in rows if _selects(selector, workload, row)]
    named = [row for row in found if selector.preset and row["preset"] == selector.preset]
    return _first_good(named or found) if found else None


def _is_whole(selector: Selector | None) -> bool:
    """Whether it means the fastest of a variant: that a row is this one is what a test may ask."""
    if selector is None or selector.preset or selector.role != "variant":
        return False
    return not selector.exact and not selector.parameters


def _first_good(rows: Sequence[Row]) -> Row:
    return min(rows, key=seconds_of)


def _selects(selector: Selector, workload: str, row: Row) -> bool:
    if (row["role"] or "variant") != selector.role or selector.dtype not in (None, row["dtype"]):
        return False
    if any((row["sizes"] or {}).get(name) != size for name, size in selector.sizes.items()):
        return False
    if selector.role != "variant":
        return selector.variant in (row["variant"], row["configuration"])
    if selector.preset:
        step = papers.steps(workload).get(selector.preset)
        return step is not None and _is_configuration(row, workload, step.configuration)
    if selector.variant is None or row["variant"] != selector.variant:
        return False
    if selector.exact:
        return _is_configuration(row, workload, Configuration(selector.variant, **selector.parameters))
    rounds = not selector.parameters and bool(row["accuracy"])  # a variant's name alone means its standard accuracy
    own = levels(row)
    return not rounds and all(own.get(name) == level for name, level in selector.parameters.items())


def _is_configuration(row: Row, workload: str, wanted: Configuration) -> bool:
    """Whether the row is of this configuration; parameters that either leaves out stand at their standard level."""
    if row["variant"] != wanted.variant:
        return False
    try:
        own = complete(workload, Configuration(wanted.variant, **levels(row)))
        return own == complete(workload, wanted)
    except ParameterError:  # a variant that this version does not have
        return False
