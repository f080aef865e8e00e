"""Rows that are there twice, as of joined studies where one holds the other's rows: each counts once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from gpuopt.lab.rows.groups import PLACE, last_of, where, with_last
from gpuopt.lab.rows.schema import FIELDS, GROUPS, Row

_ENERGY = frozenset(GROUPS["energy"])


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
        if one not in latest or row["kind"] != "block" or not _is_copy(row, latest[one]):
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
    return rows if len(set(ids)) == len(ids) else in_order(rows, ids)


def apart(studies: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """Of each study the rows that no other one gives: none of a study whose rows another one has too, and none that
    stand in an earlier one. Of studies of the same rows the one that tells the most of them stays."""
    ids = iter(_ids([row for rows in studies for row in rows]))
    of_each = [[next(ids) for _ in rows] for rows in studies]
    told = [sum(value is not None for row in rows for value in row.values()) for rows in studies]
    kept: dict[int, set[Hashable]] = {}
    for number in sorted(range(len(studies)), key=lambda at: (-len(set(of_each[at])), -told[at])):
        own = set(of_each[number])
        if not any(own <= other for other in kept.values()):
            kept[number] = own
    found: list[Sequence[Row]] = [[] for _ in studies]
    before: set[Hashable] = set()
    for number in sorted(kept):
        found[number] = [row for row, one in zip(studies[number], of_each[number], strict=True) if one not in before]
        before |= kept[number]
    return found


def _ids(rows: Iterable[Row]) -> list[Hashable]:
    """What copies of a row have in common: its ``row_id`` and what it says. Rows that were given without one are copies
    where all fields are the same; of blocks without a number two may have been measured alike."""
    known: dict[str, list[Row]] = {}
    ids: list[Hashable] = []
    for row in rows:
        one: str | None = row["row_id"]
        if one is None:
            ids.append(id(row) if row["kind"] == "block" and row["block"] is None else repr(row))
            continue
        alike = known.setdefault(one, [])
        number = next((at for at, other in enumerate(alike) if _is_copy(row, other)), len(alike))
        alike += [row] if number == len(alike) else []
        ids.append((one, number))
    return ids


def _is_copy(row: Row, other: Row) -> bool:
    """Whether two rows of one id say the same in all fields that both have: rows of compact files lack some, and keep
    the first and the last of ``at_s``. Energies of summaries are those of other rows of their study."""
    if row is other:
        return True
    there: Mapping[str, Any] = other
    derived = _ENERGY if row["kind"] != "energy" else frozenset()
    fields: Mapping[str, Any] = row
    for name, value in fields.items():
        beside = there.get(name)
        if value is None or beside is None or name in derived:
            continue
        if name == "at_s":
            alike = (value[:1], value[-1:]) == (beside[:1], beside[-1:])
        else:
            alike = value == beside if name in FIELDS else repr(value) == repr(beside)  # which may be an array
        if not alike:
            return False
    return True
