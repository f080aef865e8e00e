"""The rows of a study, and what can be asked of them: summaries, groups, the best, ratios, failures."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypedDict

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows import refusals
from gpuopt.lab.rows.copies import without_copies
from gpuopt.lab.rows.energies import tell_energies
from gpuopt.lab.rows.given_rows import usable
from gpuopt.lab.rows.groups import (
    BESIDE,
    PLACE,
    SECTIONS,
    Group,
    code_of,
    identity,
    is_confirmed,
    is_result,
    last_of,
    last_summaries,
    representative,
    row_named,
    seconds_of,
    section,
    tell_device_types,
    where,
    with_last,
    with_sure_interval,
)
from gpuopt.lab.rows.paper_figures import paper_rank
from gpuopt.lab.rows.ratios import Ratio, ratio_between
from gpuopt.lab.rows.row_fields import Role
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.taken_over import TakenOver, taken_over
from gpuopt.lab.timing import statistics


class ProblemInfo(TypedDict, total=False):
    """What a sweep says beside its rows, every key optional.

    ``flops_counted`` is a phrase: which entries count as work. ``band`` is the noise of the baseline against its clone,
    where there are too few blocks to tell it. ``began_utc`` is when the run began: rows that are older were taken over
    from an earlier one. ``wall_s`` and ``harness_s`` are the seconds of the whole sweep and those that the lab itself
    took. ``could_show`` is a sentence: the smallest difference that identical kernels left to be seen here.
    """

    name: str
    workload: str
    dtype: str
    sizes: Mapping[str, int]
    seed: int
    footprint_bytes: int
    flops_counted: str
    band: float
    began_utc: str
    wall_s: float
    harness_s: float
    could_show: str


def joined_info(infos: Sequence[ProblemInfo]) -> ProblemInfo:
    """What several sweeps have in common; their times are added up where all of them tell theirs."""
    alike: Any = dict(infos[0])
    for info in infos[1:]:
        there: Mapping[str, object] = info
        alike = {key: value for key, value in alike.items() if there.get(key) == value}
    made: ProblemInfo = alike
    walls = [info["wall_s"] for info in infos if info.get("wall_s") is not None]
    harness = [info["harness_s"] for info in infos if info.get("harness_s") is not None]
    began = [info["began_utc"] for info in infos if info.get("began_utc") is not None]
    if len(began) == len(infos):
        made["began_utc"] = min(began)
    if len(walls) == len(infos):
        made["wall_s"] = sum(walls)
    if len(harness) == len(infos):
        made["harness_s"] = sum(harness)
    return made


_ASKED = [name for name in PLACE if name not in ("unit", "driver", "footprint_bytes")]


def joined_rows(studies: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of several studies. Those of one configuration, whatever its driver and unit, are in the order in which
    they were measured, on the places that they have among the others: of two sittings the later one counts. In one
    study the order written stands: a row of before an edit that was taken back may come again. A study's blocks of one
    problem stay together, by the latest time that it has there: those of compact files have none of their own. The
    last row of a configuration is that of the study that measured it last."""
    of_each: dict[Hashable, list[tuple[str, Row]]] = {}
    places: list[Hashable] = []
    for rows in studies:
        last: dict[Hashable, str] = {}
        for row in rows:
            place = where(row, _ASKED)
            last[place] = max(last.get(place, ""), row["time_utc"] or "")
        latest: dict[Hashable, str] = {}
        for row in rows:
            one = where(row, _ASKED) if row["kind"] == "block" else identity(row, _ASKED)
            places.append(one)
            latest[one] = last[one] if row["kind"] == "block" else max(latest.get(one, ""), row["time_utc"] or "")
            of_each.setdefault(one, []).append((latest[one], row))
    left = {one: iter(sorted(timed, key=lambda each: each[0])) for one, timed in of_each.items()}
    return with_last([next(left[one])[1] for one in places], _joined_last(studies))


def _joined_last(studies: Sequence[Sequence[Row]]) -> dict[Hashable, Row]:
    """The last row of each configuration, by its identity: that of the study that measured it last."""
    found: dict[Hashable, Row] = {}
    until: dict[Hashable, str] = {}
    for rows in studies:
        last, times = last_of(rows), dict[Hashable, str]()
        for row in filter(is_result, rows):
            times[identity(row)] = max(times.get(identity(row), ""), row["time_utc"] or "")
        for one, row in last.items():
            if one not in found or times[one] >= until[one]:
                found[one], until[one] = row, times[one]
    return found


def _counts(row: Row, last: Row) -> bool:
    """Whether it is the last row of its configuration or, where that is good, another good one of its code. Rows that
    do not say of which code they are count."""
    codes = {code_of(row), code_of(last)}
    return row is last or (row["status"] == last["status"] == "ok" and (None in codes or len(codes) == 1))


@checked
class StudyRows:
    """The rows of a sweep, and what can be asked of them.

    rows: mappings of fields of the row schema; the attribute ``rows`` holds them with every field, None where one was
    not given, or is NaN or infinite. Of copies of a row it holds one. notes: sentences for the reader, printed under
    the table. `interrupted` is True where Ctrl-C ended the sweep early. Raises ResultsError for a value of another type
    than its field's, and for a ``median_ms`` that is not above 0; of files such rows are passed over, and ``notes`` say
    so.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        problem_info: ProblemInfo | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.rows: list[Row] = without_copies([usable(row, number) for number, row in enumerate(rows)])
        tell_device_types(self.rows)
        tell_energies(self.rows)
        self.problem_info: ProblemInfo = {**(problem_info or {})}
        self.notes: list[str] = list(notes)
        self.interrupted = False

    @cached_property
    def summary(self) -> list[Row]:
        """One row per configuration, call or peer, in reading order: the paper's ladder, ours, calls, peers.

        A configuration whose comparison never finished is represented by its middle block so far, a variant that was
        searched and never compared by its best search row. A failure that came after any of these stands in its place,
        and what came right after a failed comparison in that one's. Of a kernel that was edited, the code that was
        measured last counts.
        """
        return [row for group in self.groups() for row in group.rows]

    @cached_property
    def unconfirmed(self) -> list[Row]:
        """The rows of `summary` whose comparison did not finish: a search or too few blocks stand behind each."""
        return [row for row in self.summary if row["status"] == "ok" and not is_confirmed(row)]

    @cached_property
    def points(self) -> list[Row]:
        """The points of a survey in the order asked; of several rows of a point, as of before and after an edit, the
        last."""
        last = {identity(row): row for row in self.rows if row["kind"] == "point"}
        return [with_sure_interval(row) for row in last.values()]

    def groups(self) -> list[Group]:
        """The summary rows in groups that can be compared, in order of appearance."""
        shown = self._shown()
        places = {where(row) for row in shown}
        in_order = dict.fromkeys(where(row) for row in self.rows)
        return [self._group(place, shown) for place in in_order if place in places]

    def _shown(self) -> list[Row]:
        """The row that stands for each configuration, in the order in which they appeared: see `summary`."""
        last = last_of(self.rows)
        entries = [row for row in self.rows if is_result(row)]
        compared = [identity(row) for kind in ("summary", "block") for row in entries if row["kind"] == kind]
        in_order = dict.fromkeys(compared)  # of any code
        shown: dict[Hashable, Row] = {}
        unfinished: dict[Hashable, list[Row]] = {}
        searched: dict[Hashable, dict[Hashable, Row]] = {}  # by the variant
        for row in entries:
            one = identity(row)
            if not _counts(row, last[one]):
                continue
            if row["kind"] == "summary" or (row["status"] != "ok" and one in in_order):
                shown[one] = row
            elif row["kind"] == "block":
                unfinished.setdefault(one, []).append(row)
            elif row["kind"] == "search":
                searched.setdefault((where(row), row["variant"]), {})[one] = row
        shown = {key: representative(rows) for key, rows in unfinished.items()} | shown
        have = {(where(row), row["variant"]) for row in shown.values()}
        for variant, rows in searched.items():
            again = {one: row for one, row in rows.items() if one in in_order and one not in shown}
            if again and variant in have:
                texts = {row["source_sha256"] for row in again.values()}  # of the edit
                rows = {one: row for one, row in rows.items() if row["source_sha256"] in texts}
            if again or variant not in have:
                best = representative(list(rows.values()))
                shown = {identity(best): best} | (again if variant in have else {}) | shown
        return [shown[one] for one in [*in_order, *(one for one in shown if one not in in_order)] if one in shown]

    def _group(self, place: Hashable, shown: list[Row]) -> Group:
        rows = [row for row in shown if where(row) == place]
        environments = {row["env_hash"] for row in rows}  # of a longer comparison in another one, blocks may be left
        blocks = [
            row
            for row in self.rows
            if row["kind"] == "block" and row["env_hash"] in environments and where(row) == place
        ]
        near = where(rows[0], BESIDE)
        beside = [row for row in self.rows if row["env_hash"] in environments and where(row, BESIDE) == near]
        seen = {id(row): index for index, row in enumerate(rows)}
        rows.sort(key=lambda row: (SECTIONS.index(section(row)), paper_rank(row), seen[id(row)]))
        group = Group(
            rows=rows,
            blocks=blocks,
            ceilings=last_summaries(row for row in beside if row["role"] == "ceiling"),
            overheads=last_summaries(row for row in beside if row["role"] == "overhead"),
        )
        clones = [row for row in beside if row["role"] == "clone" and row["kind"] == "summary" and where(row) == place]
        aa = [ratio for row in group.of_identical(clones) if (ratio := row["ratio"]) and ratio > 0]
        band = statistics.aa_band(aa) or self.problem_info.get("band") or 0.0
        if any(row["kind"] == "block" for row in rows):  # these stand for comparisons that did not end
            why = refusals.refusal(refusals.Conditions.of(blocks), band or None, refusals.spread_of(blocks))
            rows = [row | {"refused": why} if row["kind"] == "block" else row for row in rows]
        return replace(group, rows=[with_sure_interval(row) for row in rows], band=band)

    def best(self, role: Role = "variant", accuracy: str = "") -> Row | None:
        """The fastest correct summary row of `role`, or None where nothing is correct.

        Rows that round their inputs (`accuracy` "HALF=1") count only where `accuracy` names theirs, or is "any".
        """
        rows = [
            row
            for row in self.summary
            if (row["role"] or "variant") == role
            and row["status"] == "ok"
            and accuracy in ("any", row["accuracy"] or "")
        ]
        return min(rows, key=seconds_of, default=None)

    def speedup(self, name: str, reference: str) -> Ratio:
        """How many times faster `name` is than `reference`: variants, configurations, presets, calls or peers.

        Paired over their common blocks. Raises ParameterError for a name without a good row, and where several
        devices, problems, dtypes or cache states have both.
        """
        pairs = []
        for group in self.groups():
            found = [row_named(group, wanted) for wanted in (name, reference)]
            if found[0] is not None and found[1] is not None:
                pairs.append((group, found[0], found[1]))
        if len(pairs) == 1:
            return ratio_between(*pairs[0])
        if pairs:
            raise ParameterError(f"name: {len(pairs)} groups of rows have both; make a Study of one group's rows")
        known = {group.label(row): None for group in self.groups() for row in group.rows if row["status"] == "ok"}
        for argument, wanted in (("name", name), ("reference", reference)):
            if not any(row_named(group, wanted) for group in self.groups()):
                raise ParameterError(f"{argument}: no good row is called {wanted!r}; use one of {', '.join(known)}")
        raise ParameterError(f"reference: {reference!r} was never measured beside {name!r}; sweep both together")

    def failures(self) -> list[Row]:
        """A row for every configuration that is not ok, with its status and reason."""
        return [row for row in last_of(self.rows).values() if row["status"] != "ok"]

    def of_problem(self, name: str) -> list[Row]:
        """The rows of one problem, its ceilings and launches among them."""
        return [row for row in self.rows if row["problem"] in (name, None)]

    @property
    def resumed(self) -> TakenOver | None:
        """How much of the study an earlier run measured, and when; None where nothing, and for rows of a file."""
        return taken_over(self.rows, self.problem_info.get("began_utc"))

    @property
    def harness(self) -> tuple[float, float] | None:
        """(seconds the lab itself took, seconds the sweep took), None where the sweep did not say."""
        spent, wall = self.problem_info.get("harness_s"), self.problem_info.get("wall_s")
        return (spent, wall) if spent is not None and wall else None
