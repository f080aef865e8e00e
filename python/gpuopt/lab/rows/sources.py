"""Rows wherever they are: studies, rows, results files, and folders of results files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows

Source = StudyRows | str | Path | Iterable[Mapping[str, Any]]


def studies_of(source: Source) -> list[StudyRows]:
    """The studies of a source: itself, its rows, a results file (raw or compact), or each results file at any depth of
    a folder. Raises ResultsError where there is no such file, and where it has no rows."""
    if isinstance(source, StudyRows):
        return [source]
    if not isinstance(source, (str, Path)):
        return [StudyRows(source)]
    path = Path(source)
    if os.path.isdir(path):
        found = [study for file in sorted(path.rglob("*.jsonl")) if (study := _stored(file)).rows]
        if not found:
            raise ResultsError(f"{path}: no file NAME.jsonl in this folder has result rows; `gpuopt study` writes them")
        return found
    if not os.path.isfile(path):
        raise ResultsError(f"there is no results file or folder {path}; `gpuopt study` writes them")
    study = _stored(path)
    if not study.rows:
        raise ResultsError(f"{path} has no result rows; `gpuopt study` writes them")
    return [study]


def _stored(path: Path) -> StudyRows:
    store = Store(path)
    rows = store.latest()
    return StudyRows(rows, notes=[f"passed over: {damage}" for damage in store.problems] if rows else [])
