"""Rows that are there twice count once: in joined studies, in lists of rows and in files, raw and compact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt.lab.report import Study
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.store import Store
from gpuopt.lab.show.stacking import stacking

STORED = ("cpu-2core/papers/intel-gemm-wide", "cpu-2core/gemm-256-levels-intel")  # of a noise that doubled blocks hid


def told(study: Study) -> Any:
    """What the study says, its noise and failures among it."""
    bands = [(group.band, len(group.blocks)) for group in study.groups()]
    return str(study), study.to_text(110), study.explain(), bands, study.failures(), study.points


def with_copies(study: Study, path: Path) -> Iterator[tuple[str, Study]]:
    """The study of a file, made in ways that give rows twice."""
    rows, again = study.rows, Study.load(path)
    early = Study(rows[: len(rows) // 2])
    middle = [Study(rows[: 2 * len(rows) // 3]), Study(rows[len(rows) // 3 :])]
    yield "joined with itself", Study.joined([study, study])
    yield "joined with its file", Study.joined([study, again, study])
    yield "joined behind its half", Study.joined([early, study])
    yield "joined before its half", Study.joined([study, early])
    yield "joined with parts of it", Study.joined([*middle, study, early])
    yield "its rows twice", Study(rows + rows)
    yield "each row twice", Study([row for row in rows for _ in range(2)])
    yield "half its rows before all", Study([*early.rows, *rows])
    yield "one of all of them", Study.joined([Study([*rows, *again.rows])])


def files_with_copies(path: Path, folder: Path) -> Iterator[tuple[str, Study]]:
    """The same of files; what was written again does not come behind other rows, for these would be the last then."""
    lines = path.read_text().splitlines(keepends=True)
    half = lines[: len(lines) // 2]
    for name, made in {
        "twice": lines * 2,
        "each": [line for line in lines for _ in "ab"],
        "half": half + lines,
    }.items():
        target = folder / f"{name}.jsonl"
        target.write_text("".join(made))
        yield name, Study.load(target)


@pytest.mark.parametrize("name", STORED)
def test_a_stored_study_tells_the_same_with_rows_of_its_own_added(name: str, root: Path, tmp_path: Path) -> None:
    path = root / "results" / name / "rows.jsonl"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    study = Study.load(path)
    expected = told(study)
    for how, made in (*with_copies(study, path), *files_with_copies(path, tmp_path)):
        assert told(made) == expected, how


def drawn(draw: np.random.Generator) -> list[Any]:
    """Rows of a short comparison: a baseline, its visits and clone, others, some of which failed or were edited."""
    shared = {"variant": "kk", "problem": "p", "env_hash": "e", "baseline": "kk(W=1)", "clock": "event"}
    rows: list[Any] = []
    minute = iter(range(60))

    def add(kind: str, role: str, width: int, code: str = "x", **fields: Any) -> None:
        status = "wrong" if role == "variant" and width > 1 and draw.random() < 0.15 else "ok"
        told = {"median_ms": float(draw.lognormal(0, 0.1))} if status == "ok" else {"reason": "is off"}
        row = {"kind": kind, "role": role, "configuration": f"kk(W={width})", "status": status, "source_sha256": code}
        row |= {"time_utc": f"2026-11-29T06:{next(minute):02}:00Z", "params": {"W": width}}
        rows.append(shared | row | told | fields)

    widths, codes = range(1, 2 + int(draw.integers(1, 3))), ["x", "y"][: int(draw.integers(1, 3))]
    for code in codes:
        for width in widths:
            add("search", "variant", width, code)
        for block in range(int(draw.integers(1, 4))):
            at = {"code": code, "block": block}
            add("block", "sentinel", 1, **at, order=0)
            for order, role, width in [(1, "clone", 1), *((2 + width, "variant", width) for width in widths)]:
                add("block", role, width, **at, order=order, ratio=float(draw.lognormal(0, 0.02)))
            add("block", "sentinel", 1, **at, order=9)
        if draw.random() < 0.5:
            for width in widths:
                add("summary", "variant", width, code, blocks=3)
    return rows


def test_made_studies_tell_the_same_with_rows_of_their_own_added(tmp_path: Path) -> None:
    draw = np.random.default_rng(23)
    for turn in range(6):
        store = Store(tmp_path / f"{turn}.jsonl")
        rows = drawn(draw)
        taken_back = [row for row in rows if row["kind"] == "search"][: int(draw.integers(3))]
        for row in [*rows, *taken_back]:
            store.append(row)
        for path in (store.path, compact_file(store.path).target):
            study = Study.load(path)
            expected = told(study)
            for how, made in (*with_copies(study, path), *files_with_copies(path, tmp_path)):
                assert told(made) == expected, (turn, path.name, how)


def test_rows_without_an_id_have_no_copy_but_themselves() -> None:
    row = {"kind": "block", "role": "clone", "status": "ok", "variant": "kk", "median_ms": 1.0, "ratio": 1.01}
    study = Study([row] * 3)
    assert len(study.rows) == len(Study.joined([study, study]).rows) == 3


def test_of_copies_that_which_tells_the_most_counts() -> None:
    """Whatever else a study of compact rows holds, and in any order."""
    raw = {"kind": "block", "status": "ok", "variant": "kk", "row_id": "r", "block": 0, "median_ms": 1.0}
    first, other = (raw | {"time_utc": f"2026-11-29T06:0{at}:00Z", "samples_ms": [1.0, 1.0]} for at in (1, 2))
    more = {"kind": "block", "status": "ok", "variant": "kk", "row_id": "s", "block": 1, "median_ms": 2.0}
    for rows in itertools.permutations([raw, first, other]):
        assert [len(row["samples_ms"] or ()) for row in Study(rows).rows] == [2, 2]
    for studies in itertools.permutations([Study([first]), Study([raw, more])]):
        assert sum(row["samples_ms"] is not None for row in Study.joined(studies).rows) == 1


def test_the_last_of_joined_studies_counts_where_rows_have_no_times() -> None:
    a, c = (Study([{"kind": "summary", "status": "ok", "variant": "kk", "median_ms": ms}]) for ms in (1.0, 2.0))
    assert [row["median_ms"] for row in Study.joined([a, c, a]).summary] == [1.0]
    assert [row["median_ms"] for row in Study.joined([a, c]).summary] == [2.0]


def test_what_a_sweep_knows_beside_its_rows_does_not_hang_on_the_order() -> None:
    rows = [{"kind": "search", "status": "ok", "variant": "kk", "row_id": each, "median_ms": 1.0} for each in "ab"]
    full, loaded, half, empty = (Study(of) for of in (rows, rows, rows[:1], []))
    full.interrupted, full.problem_info = True, {"wall_s": 3.0}
    for studies in ([full, loaded], [loaded, full]):
        joined = Study.joined(studies)
        assert (joined.interrupted, joined.problem_info) == (True, {"wall_s": 3.0})
    half.interrupted = True
    assert not Study.joined([half, loaded]).interrupted, "it was measured on"
    empty.interrupted = True
    assert Study.joined([empty, loaded]).interrupted


def test_many_rows_of_one_id_are_told_apart_at_once() -> None:
    row = {"kind": "search", "status": "ok", "variant": "kk", "row_id": "r"}
    assert len(Study([row | {"median_ms": 1.0 + at} for at in range(3000)]).rows) == 3000


def test_of_one_id_rows_that_say_something_else_stay() -> None:
    """As of two sittings with one kernel: both were measured."""
    row = {"kind": "block", "role": "clone", "status": "ok", "variant": "kk", "row_id": "r", "block": 0}
    sittings = [Study([row | {"median_ms": ms, "ratio": ms}]) for ms in (1.0, 1.01)]
    assert [each["median_ms"] for each in Study.joined([*sittings, *sittings]).rows] == [1.0, 1.01]


def test_of_a_raw_and_a_compact_copy_the_raw_one_counts(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    for row in drawn(np.random.default_rng(7)):
        store.append(row)
    study, compacted = Study.load(store.path), Study.load(compact_file(store.path).target)
    for both in ([study, compacted], [compacted, study]):
        assert told(Study.joined(both)) == told(study)


def test_visits_that_are_written_again_are_no_new_ones(root: Path, tmp_path: Path) -> None:
    """Of a compact file, whose blocks have no times."""
    path = root / "results" / STORED[0] / "rows.jsonl"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    lines = path.read_text().splitlines(keepends=True)
    again = tmp_path / "again.jsonl"
    again.write_text("".join([*lines, *lines[: len(lines) // 2]]))
    assert told(Study.load(again)) == told(Study.load(path))


def test_effects_that_stack_are_of_each_block_once() -> None:
    row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made_up"}
    draw = np.random.default_rng(3)
    rows = [
        row
        | {
            "row_id": f"{block}{a}{b}",
            "block": block,
            "params": {"A": a, "B": b},
            "median_ms": float(draw.lognormal(-a - b, 0.05)),
        }
        for block in range(4)
        for a in (0, 1)
        for b in (0, 1)
    ]
    study = Study(rows)
    for made in (Study(rows + rows), Study.joined([study, study]), Study.joined([Study(rows[:9]), study])):
        assert str(stacking(made)) == str(stacking(study))
