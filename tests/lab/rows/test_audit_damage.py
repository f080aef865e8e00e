"""Damaged rows are discrepancies: no error ends an audit, and none takes the memory of a number that a row holds."""

from __future__ import annotations

import errno
import json
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuopt import ParameterError, lab
from gpuopt.audit import audit
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.report import Study
from gpuopt.lab.rows.audit_rules import quality_flags_first
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.sources import studies_of
from gpuopt.lab.rows.store import Store
from gpuopt.lab.timing import statistics

STORED = Path(__file__).parent / "first_generation.jsonl"


def damaged(folder: Path, change: Callable[[dict[str, Any]], None], kind: str, role: str) -> Path:
    rows = [dict(row) for row in Store(STORED).latest()]
    for row in rows:
        if (row["kind"], row["role"]) == (kind, role):
            change(row)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("role", ["sentinel", "variant", "ceiling"])
def test_rows_without_their_times_are_discrepancies(tmp_path: Path, role: str) -> None:
    path = damaged(tmp_path, lambda row: row.update(median_ms=None), "block", role)
    assert not audit(path).ok


@pytest.mark.parametrize(
    "own",
    [
        {"ci95": ["a", "b"], "x": 1.0},
        {"ci95": [None, 1], "x": 1.0},
        {"ci95": [10**400, 1], "x": 1.0},
        {"blocks_x": ["a"], "x": 1.0},
        {"blocks_x": [{}], "x": 1.0},
        {"blocks_x": [10**400], "x": 1.0},
        {"blocks_x": [None, 1.0], "x": 1.0},
        {"x_least": "1", "x_greatest": 3, "x": 2.0},
    ],
)
def test_what_a_script_calls_so_and_is_no_number_is_not_audited(tmp_path: Path, own: dict[str, Any]) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(own) + "\n")
    assert audit(path).ok


@pytest.mark.parametrize("value", [None, "2", [2.0], 10**400], ids=["none", "text", "list", "beyond float64"])
def test_a_scripts_value_that_is_none_is_no_median_and_within_no_ends(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"x_least": 1, "x_greatest": 3, "blocks_x": [1.0, 3.0], "x": value}) + "\n")
    assert [each.field for each in audit(path).discrepancies] == ["x", "x"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("read", [Study.load, audit, Store, studies_of])
def test_files_of_other_encodings_are_refused(tmp_path: Path, encoding: str, read: Callable[[Path], Any]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(STORED.read_text(), encoding)
    with pytest.raises(ResultsError, match="is not UTF-8"):
        read(path)
    path.write_text(STORED.read_text(), "utf-8-sig")
    assert read(path)


def test_a_place_of_any_number_takes_no_memory(tmp_path: Path) -> None:
    path = damaged(tmp_path, lambda row: row.update(order=10**9), "block", "variant")
    tracemalloc.start()
    try:
        assert not audit(path).ok
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def test_a_slope_that_chance_explains_is_no_drift_of_rows_by_ranks(tmp_path: Path) -> None:
    """Rows of visits do not name their rules; those of their summary hold. By the first rules this noise drifts."""
    noise = [2.857, 1.868, 1.674, 1.644, 1.625, 1.646, 1.652, 1.651, 1.625, 1.604]  # the host's times of a plain call
    made = statistics.summarise(noise, batch_n=1, timer_ns=None)
    assert "drift" in quality_flags_first(made)
    assert "drift" not in statistics.quality_flags(made)

    def drifts(path: Path) -> bool:
        return any("drift" in each.recomputed for each in audit(path).discrepancies if each.field == "flags")

    row: Any = {"kind": "search", "role": "variant", "status": "ok", "configuration": "naive", "flags": [], **made}
    for kind in ("search", "point"):  # no summary tells of these: their time tells whose rules they are by
        now, early = (tmp_path / f"{kind}-{name}.jsonl" for name in ("now", "early"))
        Store(now).append({**row, "kind": kind})
        Store(early).append({**row, "kind": kind, "time_utc": "2026-11-20T00:00:00.000Z"})
        assert not drifts(now)
        assert drifts(early)

    def told(rules: str) -> set[str]:
        folder = tmp_path / rules
        folder.mkdir()
        rows = [dict(row) for row in Store(STORED).latest()]
        for row in rows:
            if row["kind"] == "summary" and rules != "first":
                row["method"] = rules
            if (row["kind"], row["role"]) == ("block", "variant"):
                row.update(made, flags=[])
        path = folder / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return {str(each.recomputed) for each in audit(path).discrepancies if "earned by the samples" in each.rule}

    assert any("drift" in flags for flags in told("first"))
    assert not any("drift" in flags for flags in told("rank"))


def test_the_memory_may_be_named_by_visits_alone(tmp_path: Path) -> None:
    """Arithmetic bounds all visits; the memory comes second in one block, and in no summary."""
    rows = [dict(row) for row in Store(STORED).latest()]
    bounded = [row for row in rows if row["bound_ms"] is not None]
    for row in bounded:
        row |= {"next_by": "l1", "pct_next": 1.5 * row["pct_bound"], "bound_by": "float32"}
        if row["kind"] == "block" and row["block"] == 3:
            row |= {"next_by": "llc", "pct_next": row["pct_bound"]}
        row |= {name: 2 * row[name] for name in ("bound_ms", "pct_bound", "pct_lo", "pct_hi") if row[name] is not None}
    for row in bounded:
        if row["kind"] == "summary":
            own = [each for each in bounded if (each["kind"], each["role"]) == ("block", "variant")]
            shares = [each["pct_next"] for each in own if each["configuration"] == row["configuration"]]
            row["pct_next"] = sorted(shares)[len(shares) // 2]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert audit(path).discrepancies == []


def test_registers_of_a_listing_are_for_rows_that_the_driver_told_none(tmp_path: Path) -> None:
    rows = [dict(row) for row in Store(STORED).latest()]
    summary = next(row for row in rows if (row["kind"], row["role"]) == ("summary", "variant"))
    blocks = [row for row in rows if row["kind"] == "block" and row["key"] == summary["key"]]
    summary |= {"registers": 62, "instructions_by": "a listing"}

    def fields() -> set[str]:
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return {found.field for found in audit(path).discrepancies}

    assert blocks
    assert "registers" not in fields()
    for row in blocks:
        row["registers"] = 51
    assert "registers" in fields()


@pytest.mark.parametrize("told", ["cpu", [1], 5])
def test_an_environment_whose_device_is_no_object_ends_no_table(tmp_path: Path, told: object) -> None:
    rows = [{**row, "device_type": None} for row in Store(STORED).latest()]
    for row in rows:
        if row["kind"] == "environment":
            row["environment"] = {**row["environment"], "device": told}
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "Fastest" in repr(Study(Store(path).rows()))


def test_a_profile_that_may_never_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "rows.jsonl").write_text("")
    for profile in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(ParameterError, match=r"^profile: .* is no regular file; name a file"):
            lab.audit(tmp_path / "rows.jsonl", profile=profile)
        with pytest.raises(ParameterError, match=r"^path: .* is no regular file; name a file"):
            profiles.load(profile)


def test_what_lies_beside_rows_and_is_no_profile_is_passed_over(tmp_path: Path) -> None:
    """Nobody named it, and it ended the audit."""
    rows = tmp_path / "kept" / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_bytes(STORED.read_bytes())
    before = lab.audit(rows).checked
    (rows.parent / "profile.json").write_text('{"traceEvents": []}')
    (rows.parent / "old-profile.json").mkdir()
    (tmp_path / "a-profile.json").write_bytes(b"\xff\x00")
    assert lab.audit(rows).checked == before
    for asked in (rows.parent, rows.parent / "profile.json"):
        with pytest.raises(ParameterError):
            lab.audit(asked)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_rows_is_not_called_sound(tmp_path: Path, text: str) -> None:
    empty, kept = tmp_path / "empty.jsonl", tmp_path / "kept"
    empty.write_text(text)
    for asked in (empty, tmp_path, [empty, STORED]):
        with pytest.raises(ResultsError, match=r" holds no result rows: there is nothing to audit$"):
            audit(asked)
    kept.mkdir()
    (kept / "empty.jsonl").write_text(text)
    (kept / "rows.jsonl").write_bytes(STORED.read_bytes())
    assert len(audit(kept).files) == 2


def test_no_file_at_all_is_not_called_sound(tmp_path: Path) -> None:
    for none in ([], tmp_path.glob("*.jsonl")):
        with pytest.raises(ResultsError, match=r"^paths: no file is given; name results files, profiles or folders$"):
            audit(none)


def test_folders_are_searched_for_files_alone(tmp_path: Path) -> None:
    """Links to themselves and to nothing, and folders of such names, are passed over."""
    written = tmp_path / "rows.jsonl"
    written.write_bytes(STORED.read_bytes())
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "none.jsonl").symlink_to("nothing")
    (tmp_path / "folder.jsonl").mkdir()
    assert [Path(each.path) for each in audit(tmp_path).files] == [written]
    assert len(studies_of(tmp_path)) == 1


def test_the_working_directory_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for path in ("../rows.jsonl", ".."):
        with pytest.raises(ResultsError, match=rf"^cannot read {path}: the working directory was removed; change to"):
            lab.audit(path)


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files were left out without a word, and a folder of them alone was said to hold none."""
    closed = tmp_path / "closed"
    closed.mkdir()
    for folder in (tmp_path, closed):
        lab.Store(folder / "rows.jsonl").append({"kind": "search", "status": "ok", "variant": "naive"})
    there = os.scandir

    def scandir(path: Any) -> Any:  # root may read everything
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return there(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for folder in (tmp_path, closed):
        for call in (lab.audit, lab.claims):
            with pytest.raises(ResultsError, match=rf"^cannot read {re.escape(str(closed))}: Permission denied$"):
                call(folder)
