"""Rows that are there twice, as of joined studies where one holds the other's rows: each counts once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gpuopt.lab.rows.groups import PLACE, last_of, where, with_last
from gpuopt.lab.rows.schema import Row


def in_order(rows: Sequence[Row], ids: Sequence[Hashable]) -> list[Row]:
    """The last row of each id. Tables have configurations in the order in which they first appeared, so these stay
    there. The rows of one are in the order written: after an edit of its kernel and back, the last row is not the
    edit's. So are the blocks of one comparison, which tells what was measured in one pass; one that comes again as it
    was is no new visit, and keeps its place. Where another kind of row decides, for it was written last, it stands
    behind all."""
    latest: dict[Hashable, Row] = {}
    written: dict[Hashable, int] = {}
    visited: dict[Hashable, int] = {}
    for place, (one, row) in enumerate(zip(ids, rows, strict=True)):
        if one not in latest or row["kind"] != "block" or not _are_copies(row, latest[one]):
            visited[one] = place
        latest[one], written[one] = row, place
    left: dict[Hashable, list[Row]] = {}
    for one in sorted(latest, key=visited.__getitem__, reverse=True):
        left.setdefault(_measured(latest[one]), []).append(latest[one])
    in_turn = [latest[one] for one in sorted(latest, key=written.__getitem__)]
    return with_last([left[_measured(row)].pop() for row in latest.values()], last_of(in_turn))


def _measured(row: Row) -> Hashable:
    """What blocks of one comparison have in common, and other rows of one configuration, whatever its source, options,
    driver and unit."""
    if row["kind"] == "block":
        return where(row)
    place = where(row, [name for name in PLACE if name not in ("driver", "unit")])
    return place, row["kind"], row["role"], row["configuration"] or row["variant"]


def without_copies(rows: list[Row]) -> list[Row]:
    """The rows, each once, in the order of a file in which the copies were written again. Rows of one id that say
    something else, as those of two sittings, all stay."""
    ids = _ids(rows)
    return rows if len(set(ids)) == len(ids) else in_order(_fullest(rows, ids), ids)


def apart(studies: Sequence[Sequence[Row]]) -> list[tuple[list[Row], list[int]]]:
    """Parts that hold each row of the studies once, with the numbers of the studies that they stand for. A study whose
    rows another one has, and more, is in none; studies of the same rows are one, at the place of the last. Of what else
    several have, the last has it."""
    all_rows = [row for rows in studies for row in rows]
    all_ids = _ids(all_rows)
    paired = iter(zip(all_ids, _fullest(all_rows, all_ids), strict=True))
    of_each = [dict(next(paired) for _ in rows) for rows in studies]
    same: dict[frozenset[Hashable], list[int]] = {}
    for number, rows in enumerate(of_each):
        same.setdefault(frozenset(rows), []).append(number)
    whole = [(own, numbers) for own, numbers in same.items() if not any(own < other for other in same)]
    found: list[tuple[list[Row], list[int]]] = []
    behind: set[Hashable] = set()
    for own, numbers in sorted(whole, key=lambda each: each[1][-1], reverse=True):
        found.append(([row for one, row in of_each[numbers[-1]].items() if one not in behind], numbers))
        behind |= own
    return found[::-1]


def _said(row: Row) -> Hashable:
    """What copies of a row have in common, compact ones too, and rows of two sittings hardly ever."""
    return row["row_id"], row["status"], row["median_ms"], row["ratio"], row["reason"]


def _are_copies(row: Row, other: Row) -> bool:
    times = {row["time_utc"], other["time_utc"]} - {None}  # compact rows have none
    return row is other or (row["row_id"] is not None and _said(row) == _said(other) and len(times) < 2)


def _ids(rows: Sequence[Row]) -> list[Hashable]:
    """What copies of a row, and no other rows, have in common. A row that was given without an id has no copy but
    itself."""
    times: dict[Hashable, str] = {}
    for row in rows:
        if row["time_utc"] is not None:
            times.setdefault(_said(row), row["time_utc"])
    return [
        id(row) if row["row_id"] is None else (_said(row), row["time_utc"] or times.get(_said(row))) for row in rows
    ]


def _fullest(rows: Sequence[Row], ids: Sequence[Hashable]) -> list[Row]:
    """For each row that of its copies which tells the most, the last of several."""
    fullest: dict[Hashable, tuple[int, Row]] = {}
    for one, row in zip(ids, rows, strict=True):
        told = sum(value is not None for value in row.values())
        if one not in fullest or told >= fullest[one][0]:
            fullest[one] = told, row
    return [fullest[one][1] for one in ids]
