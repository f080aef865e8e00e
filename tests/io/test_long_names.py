"""A name that leads to no file, as it is too long or relative to a folder that has gone, is refused by an error that
names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import io, lab
from gpuopt.files import WriteError
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.sources import studies_of
from gpuopt.programs import opened
from gpuopt.tomo.scan_files import count_views, read_angles

NAME = "n" * 300


def study() -> lab.Study:
    row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "naive", "problem": "p", "median_ms": 1.0}
    return lab.Study([row])


def surface() -> gpuopt.Surface:
    return gpuopt.Surface([[0, 0, 0], [1, 0, 0]])


def recording() -> Any:
    with gpuopt.trace() as recorded:
        pass
    return recorded


def go_to_removed(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the working directory one that is gone."""
    folder = parent / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()


def program(path: Path) -> None:
    with opened(path):
        pass


WRITERS: dict[str, Callable[[Path], Any]] = {
    "to_csv": lambda path: study().to_csv(path),
    "to_json": lambda path: study().to_json(path),
    "write_ply": lambda path: io.write_ply(path, surface(), np.zeros(2)),
    "write_vtk": lambda path: io.write_vtk(path, surface(), np.zeros(2)),
    "trace": lambda path: recording().save(path),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "read_pqr": io.read_pqr,
    "read_msms": io.read_msms,
    "read_obj": io.read_obj,
    "read_off": io.read_off,
    "read_ply": io.read_ply,
    "read_surface": lambda path: io.read_surface(path.with_name(path.name + ".off")),
    "read_angles": read_angles,
    "scan": count_views,
    "Study.load": lab.Study.load,
    "Store": lab.Store,
    "claims": studies_of,
    "audit": lab.audit,
    "program": program,
}


@pytest.mark.parametrize("where", [NAME, f"{NAME}/file"])
@pytest.mark.parametrize("call", [*WRITERS.values(), *READERS.values()], ids=[*WRITERS, *READERS])
def test_names_that_are_too_long(tmp_path: Path, call: Callable[[Path], Any], where: str) -> None:
    with pytest.raises(gpuopt.Error, match=NAME):
        call(tmp_path / where)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", WRITERS.values(), ids=WRITERS)
def test_a_writer_says_what_to_do(tmp_path: Path, call: Callable[[Path], Any]) -> None:
    with pytest.raises(gpuopt.WriteError if hasattr(gpuopt, "WriteError") else OSError, match="give a shorter name"):
        call(tmp_path / NAME)


@pytest.mark.parametrize("name", ["a.out", "folder/a.out"])
@pytest.mark.parametrize("call", WRITERS.values(), ids=WRITERS)
def test_the_working_directory_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], Any], name: str
) -> None:
    go_to_removed(tmp_path, monkeypatch)
    with pytest.raises(
        WriteError, match=rf"^{name} cannot be written: the working directory was removed[.] To go on, change to"
    ):
        call(Path(name))


def test_rows_and_pictures_where_the_working_directory_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    go_to_removed(tmp_path, monkeypatch)
    with pytest.raises(WriteError, match=r"^ladder\.png cannot be written: the working directory was removed"):
        study().save_plots(".")
    with pytest.raises(ResultsError, match=r"rows\.jsonl: the working directory was removed"):
        lab.Store("rows.jsonl")
    lab.Store(tmp_path / "rows.jsonl").append({"kind": "search", "status": "ok", "variant": "naive", "median_ms": 3.0})
    with pytest.raises(ResultsError, match=r"a\.jsonl cannot be written: the working directory was removed"):
        compact_file(tmp_path / "rows.jsonl", "a.jsonl")
