"""What a recorder takes from a file, and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import KEY_FIELDS, ResultsError, Row, resume_key


def fields(name: str, **others: Any) -> Row:
    return dict.fromkeys(KEY_FIELDS) | {"variant": name, "configuration": name, "sizes": {"n": 1}} | others


def block(recorder: Recorder, number: int, baseline: str, *names: str, size: int = 8) -> None:
    """Keeps the rows of a block: sentinels around visits, and a ceiling."""
    visits = [(baseline, "sentinel"), *((name, "variant") for name in names), (baseline, "sentinel")]
    for order, (name, role) in enumerate(visits):
        row = {"kind": "block", "status": "ok", "block": number, "order": order, "role": role, "baseline": baseline}
        recorder.keep(fields(name) | row)
    ceiling = {"kind": "block", "status": "ok", "block": number, "role": "ceiling", "baseline": baseline}
    recorder.keep(fields("read", sizes={"bytes": size}) | ceiling)


def found(path: Path, baseline: str, *names: str, size: int = 8) -> dict[int, list[str]]:
    keys = {resume_key(fields(name)) for name in names}
    blocks = Recorder(path).blocks(keys, fields(baseline), {"bytes": size})
    return {number: sorted(row["variant"] for row in rows) for number, rows in blocks.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_blocks_against_another_baseline_are_not_taken(path: Path) -> None:
    block(Recorder(path), 0, "a", "a", "b")
    assert found(path, "a", "a", "b") == {0: ["a", "a", "a", "b", "read"]}
    assert found(path, "b", "a", "b") == {}


def test_a_block_that_two_baselines_share_is_nobodys(path: Path) -> None:
    recorder = Recorder(path)
    block(recorder, 0, "a", "a", "b", "c")
    block(recorder, 0, "b", "b", "c")
    assert found(path, "a", "a", "b", "c") == {}
    assert found(path, "b", "b", "c") == {0: ["b", "b", "b", "c", "read"]}


def test_sentinels_of_another_build_are_not_taken(path: Path) -> None:
    block(Recorder(path), 0, "a", "a", "b")
    rebuilt = fields("a", source_sha256="new")
    assert Recorder(path).blocks({resume_key(fields("b"))}, rebuilt, None) == {}


def test_ceilings_of_another_footprint_stay_away(path: Path) -> None:
    block(Recorder(path), 0, "a", "a")
    assert found(path, "a", "a", size=16) == {0: ["a", "a", "a"]}


def test_an_invalid_row_is_named_while_others_are_held() -> None:
    recorder = Recorder("/dev/full")
    recorder.keep(fields("a") | {"kind": "search", "status": "ok"})
    assert recorder.store is not None
    assert len(recorder.store.unsaved) == 1
    with pytest.raises(ResultsError, match="status='fine'"):
        recorder.keep(fields("b") | {"kind": "search", "status": "fine"})
    assert [row["variant"] for row in recorder.rows] == ["a"]


def test_rows_of_another_environment_are_told() -> None:
    recorder = Recorder(None)
    for env_hash in ("old", "new", "new"):
        recorder.keep(fields("a") | {"kind": "search", "status": "ok", "env_hash": env_hash})
    recorder.note_other_environments("new")
    assert [note.partition(" are")[0] for note in recorder.notes] == ["1 of 3 measured rows"]
    recorder.note_other_environments("old")
    assert recorder.notes[1].startswith("2 of 3 measured rows are stored ones from another environment")
