"""Rows wherever they are: studies, rows, results files, and folders of results files."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.files import shown, under
from gpuopt.lab.rows.given_rows import untimed
from gpuopt.lab.rows.groups import PLACE, last_of, where, with_last
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.signals import is_file, is_folder

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
    if is_folder(path):
        found = [study for file in under(path, "*.jsonl") if (study := _stored(file)).rows]
        if not found:
            raise ResultsError(f"{path}: no file NAME.jsonl in this folder has result rows; `gpuopt study` writes them")
        return found
    if not is_file(path):
        raise ResultsError(f"there is no results file or folder {path}; `gpuopt study` writes them")
    study = _stored(path)
    if not study.rows:
        raise ResultsError(f"{path} has no result rows; `gpuopt study` writes them")
    return [study]


def stored(path: str | Path) -> tuple[list[Row], list[str]]:
    """The rows of a results file, the last of each id, and notes of what was passed over: lines that are no rows, and
    times that are none. Raises ResultsError where it cannot be read."""
    store = Store(path)
    rows, notes = [], [f"passed over: {damage}" for damage in store.problems]
    for row in _in_order(store):
        if (why := untimed(row)) is None:
            rows.append(row)
        else:
            notes.append(
                f"passed over: {shown(store.path)}: the row of {row['configuration'] or row['variant']}: {why}"
            )
    return rows, notes


def _in_order(store: Store) -> list[Row]:
    """The last row of each id. Tables have configurations in the order in which they first appeared, so these stay
    there. The rows of one are in the order written: after an edit of its kernel and back, the last row is not the
    edit's. So are the blocks of one comparison, which tells what was measured in one pass. Where another kind of row
    decides, for it was written last, it stands behind all."""
    latest, written = store.latest(), {row["row_id"]: place for place, row in enumerate(store.rows())}
    in_turn = sorted(latest, key=lambda row: written[row["row_id"]])
    left: dict[Hashable, list[Row]] = {}
    for row in reversed(in_turn):
        left.setdefault(_measured(row), []).append(row)
    return with_last([left[_measured(row)].pop() for row in latest], last_of(in_turn))


def _measured(row: Row) -> Hashable:
    """What blocks of one comparison have in common, and other rows of one configuration, whatever its source, options,
    driver and unit."""
    if row["kind"] == "block":
        return where(row)
    place = where(row, [name for name in PLACE if name not in ("driver", "unit")])
    return place, row["kind"], row["role"], row["configuration"] or row["variant"]


def _stored(path: Path) -> StudyRows:
    rows, notes = stored(path)
    return StudyRows(rows, notes=notes if rows else [])
