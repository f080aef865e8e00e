"""Rows wherever they are: studies, rows, results files, and folders of results files."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.files import shown
from gpuopt.lab.rows.copies import in_order
from gpuopt.lab.rows.given_rows import untimed
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.signals import is_file, is_folder, let_through

Source = StudyRows | str | Path | Iterable[Mapping[str, Any]]


def studies_of(source: Source) -> list[StudyRows]:
    """The studies of a source: itself, its rows, a results file (raw or compact), or each results file at any depth of
    a folder. Raises ResultsError where there is no such file, where it has no rows, and where a folder cannot be
    read."""
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


def under(folder: str | Path, pattern: str) -> list[Path]:
    """The files at any depth of a folder whose names are of a pattern such as "*.jsonl", in order: no folders, and no
    links that lead to none. Raises ResultsError where it, or a folder in it, cannot be read."""

    def refuse(error: OSError) -> None:
        let_through(error)
        raise ResultsError(f"cannot read {shown(error.filename)}: {error.strerror}") from error

    found = [Path(place, name) for place, _, names in os.walk(folder, onerror=refuse) for name in names]
    return sorted(path for path in found if fnmatch.fnmatch(path.name, pattern) and is_file(path))


def stored(path: str | Path) -> tuple[list[Row], list[str]]:
    """The rows of a results file, the last of each id, and notes of what was passed over: lines that are no rows, and
    times that are none. Raises ResultsError where it cannot be read."""
    store = Store(path)
    rows, notes = [], [f"passed over: {damage}" for damage in store.problems]
    written = store.rows()
    for row in in_order(written, [row["row_id"] for row in written]):
        if (why := untimed(row)) is None:
            rows.append(row)
        else:
            notes.append(
                f"passed over: {shown(store.path)}: the row of {row['configuration'] or row['variant']}: {why}"
            )
    return rows, notes


def _stored(path: Path) -> StudyRows:
    rows, notes = stored(path)
    return StudyRows(rows, notes=notes if rows else [])
