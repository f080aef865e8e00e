"""What a recorder takes from a file, and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuopt.lab.report import Study
from gpuopt.lab.rows import conditions
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.row_fields import Kind
from gpuopt.lab.rows.schema import KEY_FIELDS, ResultsError, Row, resume_key


def fields(name: str, **others: Any) -> Row:
    return dict.fromkeys(KEY_FIELDS) | {"variant": name, "configuration": name, "sizes": {"n": 1}} | others


def block(recorder: Recorder, number: int, baseline: str, *names: str, size: int = 8) -> None:
    """Keeps the rows of a block: sentinels around visits, and a ceiling."""
    visits = [(baseline, "sentinel"), *((name, "variant") for name in names), (baseline, "sentinel")]
    for order, (name, role) in enumerate(visits):
        row = {"kind": "block", "status": "ok", "block": number, "order": order, "role": role, "baseline": baseline}
        row |= {"ratio": 1.0, "median_ms": 1.0}
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
    with pytest.warns(UserWarning, match="No space left"):
        recorder.keep(fields("a") | {"kind": "search", "status": "ok"})
    assert recorder.store is not None
    assert len(recorder.store.unsaved) == 1
    with pytest.raises(ResultsError, match="status='fine'"):
        recorder.keep(fields("b") | {"kind": "search", "status": "fine"})
    assert [row["variant"] for row in recorder.rows] == ["a"]


# ---------------------------------------------------------------- environments, earlier runs, equal devices


def environment(recorder: Recorder, env_hash: str, **gpu: Any) -> None:
    facts = {"device": {"driver": "1"}, "gpu": gpu, "state": {"load": 3.0}, "env_hash": env_hash}
    recorder.keep({"kind": "environment", "status": "ok", "env_hash": env_hash, "environment": facts} | WHERE)


WHERE: Row = dict.fromkeys(KEY_FIELDS)


def test_blocks_of_another_environment_are_not_continued(path: Path) -> None:
    first = Recorder(path)
    environment(first, "old", power_cap_w=700.0)
    for number in range(3):
        for order, role in enumerate(("sentinel", "variant", "sentinel")):
            row = {"kind": "block", "status": "ok", "block": number, "order": order, "role": role, "baseline": "a"}
            first.keep(fields("a", env_hash="old") | row)
    keys = {resume_key(fields("a"))}

    same = Recorder(path)
    environment(same, "old", power_cap_w=700.0)
    assert set(same.blocks(keys, fields("a"), None)) == {0, 1, 2}
    same.note_earlier_runs()
    assert same.notes == []  # nothing was left out, and none of it was made the study's

    other = Recorder(path)
    environment(other, "new", power_cap_w=500.0)
    assert other.blocks(keys, fields("a"), None) == {}
    other.note_earlier_runs()
    (note,) = other.notes
    assert note.startswith("9 stored rows of the same measurements are of another environment")
    assert "gpu.power_cap_w 700 -> 500" in note


def test_a_row_of_another_environment_is_measured_again(path: Path) -> None:
    first = Recorder(path)
    environment(first, "old")
    first.keep(fields("a", env_hash="old") | {"kind": "search", "status": "ok"})
    for env_hash, there in (("old", True), ("new", False)):
        recorder = Recorder(path)
        environment(recorder, env_hash)
        assert (recorder.found(resume_key(fields("a"))) is not None) == there


@pytest.mark.parametrize("kind", ["search", "point"])
def test_a_row_that_is_taken_over_is_the_last_word_again(path: Path, kind: Kind) -> None:
    """The kernel was edited, which broke it, and edited back: the file says what was found last."""
    right: Row = {"kind": kind, "status": "ok", "role": "variant", "median_ms": 1.0}
    wrong: Row = {"kind": kind, "status": "wrong", "role": "variant", "reason": "is off"}
    recorder = Recorder(path)
    environment(recorder, "here")
    before = recorder.keep(fields("a", source_sha256="x", env_hash="here") | right)
    recorder.keep(fields("b", source_sha256="x", env_hash="here") | wrong)

    def taken() -> int:
        """How many rows the file has after the row was found."""
        again = Recorder(path)
        environment(again, "here")
        assert again.found(before["key"], kind) == before
        assert again.rows[1:] == [before]
        return len(again.store.rows())  # type: ignore[union-attr]

    assert taken() == 4  # two environments, for an edit there was none
    recorder = Recorder(path)
    recorder.keep(fields("a", source_sha256="y", env_hash="here") | wrong)
    assert {row["configuration"] for row in Study.load(path).failures()} == {"a", "b"}
    assert taken() == 7
    assert [row["configuration"] for row in Study.load(path).failures()] == ["b"]
    assert taken() == 8  # written anew once


def test_a_summary_of_the_same_row_replaces_no_search(path: Path) -> None:
    recorder = Recorder(path)
    row = recorder.keep(fields("a") | {"kind": "search", "status": "ok", "role": "variant", "median_ms": 1.0})
    block(recorder, 0, "a", "a")
    recorder.keep(fields("a", clock="batch") | {"kind": "summary", "status": "ok", "role": "variant", "median_ms": 1.0})
    again = Recorder(path)
    assert again.found(row["key"]) is not None
    assert len(again.store.rows()) == len(recorder.rows)  # type: ignore[union-attr]


def test_what_an_earlier_run_measured_is_said(path: Path) -> None:
    visit: Row = {"kind": "block", "status": "ok", "role": "variant", "baseline": "a", "ratio": 1.0, "median_ms": 1.0}
    recorder = Recorder(path)
    for number, day in enumerate(("20", "21", "21")):
        recorder.keep(fields("a") | visit | {"block": number, "time_utc": f"2026-11-{day}T08:00:00.000Z"})
    recorder.keep(fields("a") | visit | {"block": 3})
    recorder.note_earlier_runs()
    assert recorder.notes[0].startswith("3 of 4 blocks from 2026-11-20 to 2026-11-21: an earlier run")
    study = Study(recorder.rows, {"began_utc": recorder.began_utc})
    assert "3 of 4 blocks from 2026-11-20 to 2026-11-21" in conditions.lines(study)[0]
    assert "blocks from" not in conditions.lines(Study(recorder.rows))[0]  # loaded from a file, it is no run's


def test_rows_of_equal_devices_are_rows_of_two(tmp_path: Path) -> None:
    merged = tmp_path / "both.jsonl"
    for unit in ("a" * 12, "b" * 12):
        recorder = Recorder(merged)
        for number in range(3):
            block(recorder, number, "a", "a", "b")
        for row in list(recorder.rows):
            recorder.keep({**row, "unit": unit, "key": None, "row_id": None, "comparison_key": None})
        row = {"kind": "summary", "status": "ok", "role": "variant", "median_ms": 1.0, "blocks": 6}
        recorder.keep(fields("a", unit=unit) | row)
    rows = Recorder(merged).store.latest()  # type: ignore[union-attr]
    of_units = [row["unit"] for row in rows if row["unit"]]
    assert of_units.count("a" * 12) == of_units.count("b" * 12) == 3 * 5 + 1
    assert len({row["key"] for row in rows if row["variant"] == "a" and row["unit"]}) == 2
    assert len({row["comparison_key"] for row in rows if row["variant"] == "a"}) == 1
    groups = Study([row for row in rows if row["unit"]]).groups()
    assert [group.first["unit"] for group in groups] == ["a" * 12, "b" * 12]


def test_two_runs_that_write_one_file_are_told(path: Path) -> None:
    one, other = Recorder(path), Recorder(path)
    block(one, 0, "a", "b")
    assert one.notes == []
    block(other, 0, "a", "b")
    block(other, 1, "a", "b")
    assert other.notes == []  # it began after the first had ended
    with pytest.warns(UserWarning, match="another run wrote rows there meanwhile") as warned:
        block(one, 1, "a", "b")
    (note,) = one.notes
    assert len(warned) == 1
    assert note.startswith(str(path))
