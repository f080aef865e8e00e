"""Rows wherever they are: studies, rows, results files, and folders of results files."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.files import shown, under
from gpuopt.lab.rows.given_rows import untimed
from gpuopt.lab.rows.groups import PLACE, identity, is_result, where
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows, with_last

Source = StudyRows | str | Path | Iterable[Mapping[str, Any]]


def studies_of(source: Source) -> list[StudyRows]:
    """The studies of a source: itself, its rows, a results file (raw or compact), or each results file at any depth of
    a folder. Raises ResultsError where there is no such file, and where it has no rows."""
    if isinstance(source, StudyRows):
        return [source]
    if not isinstance(source, (str, Path)):
        return [StudyRows(source)]
    if source == "":
        raise ParameterError("sources: '' is no path; name a results file or a folder, such as '.'")
    path = Path(source)
    if os.path.isdir(path):
        found = [study for file in under(path, "*.jsonl") if (study := _stored(file)).rows]
        if not found:
            raise ResultsError(f"{path}: no file NAME.jsonl in this folder has result rows; `gpuopt study` writes them")
        return found
    if not os.path.isfile(path):
        raise ResultsError(f"there is no results file or folder {path}; `gpuopt study` writes them")
    study = _stored(path)
    if not study.rows:
        raise ResultsError(f"{path} has no result rows; `gpuopt study` writes them")
    return [study]


def stored(path: str | Path) -> tuple[list[Row], list[str], list[Row]]:
    """The rows of a results file, the last of each id; notes of what was passed over, lines that are no rows and times
    that are none; and of these rows the last of each configuration. Raises ResultsError where it cannot be read."""
    store = Store(path)
    rows, notes = [], [f"passed over: {damage}" for damage in store.problems]
    written = {row["row_id"]: place for place, row in enumerate(store.rows())}
    latest = store.latest()
    in_turn = sorted(latest, key=lambda row: written[row["row_id"]])
    for row in _in_order(latest, in_turn):
        if (why := untimed(row)) is None:
            rows.append(row)
        else:
            notes.append(
                f"passed over: {shown(store.path)}: the row of {row['configuration'] or row['variant']}: {why}"
            )
    last = {identity(row): row for row in in_turn if is_result(row) and untimed(row) is None}
    return rows, notes, list(last.values())


def _in_order(latest: Sequence[Row], in_turn: Sequence[Row]) -> list[Row]:
    """The last row of each id. Tables have configurations in the order in which they first appeared, so these stay
    there. The rows of one are in the order written: after an edit of its kernel and back, the last row is not the
    edit's. So are the blocks of one comparison, which tells what was measured in one pass."""
    left: dict[Hashable, list[Row]] = {}
    for row in reversed(in_turn):
        left.setdefault(_measured(row), []).append(row)
    return [left[_measured(row)].pop() for row in latest]


def _measured(row: Row) -> Hashable:
    """What blocks of one comparison have in common, and other rows of one configuration, whatever its source, options,
    driver and unit."""
    if row["kind"] == "block":
        return where(row)
    return identity(row, [name for name in PLACE if name not in ("driver", "unit")])


def _stored(path: Path) -> StudyRows:
    rows, notes, last = stored(path)
    return with_last(StudyRows(rows, notes=notes if rows else []), rows, last)
