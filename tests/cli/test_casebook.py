"""`gpuopt casebook`: the list, the table, the story of one entry, files and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from click.testing import CliRunner

from gpuopt import casebook_commands, cli
from gpuopt.workloads.casebook.findings import not_run
from gpuopt.workloads.casebook.index import entries
from gpuopt.workloads.casebook.running import Casebook


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks `lab.casebook` for, which runs nothing."""
    seen: dict[str, Any] = {"interrupted": False, "unsaved": []}

    def casebook(wanted: Any, *, device: Any, **more: Any) -> Casebook:
        seen.update(more, wanted=wanted)
        findings = [finding for entry in wanted for finding in not_run(entry, "cpu", "it was made up")]
        return Casebook(device, "cpu", findings, interrupted=seen["interrupted"], unsaved=seen["unsaved"])

    monkeypatch.setattr(casebook_commands, "casebook", casebook)
    return seen


def test_the_list_names_every_entry() -> None:
    shown = CliRunner().invoke(cli.app, ["casebook", "--list"])
    assert shown.exit_code == 0, shown.output
    for entry in entries():
        assert f"{entry.id} " in shown.stdout
        assert entry.name in shown.stdout


def test_the_list_of_named_entries() -> None:
    shown = CliRunner().invoke(cli.app, ["casebook", "a2", "dust_charge", "--list"])
    assert shown.exit_code == 0, shown.output
    names = {entry.name for entry in entries() if entry.name in shown.stdout.split()}
    assert names == {"row_sum", "dust_charge"}
    shown = CliRunner().invoke(cli.app, ["casebook", "Z9", "--list"])
    assert shown.exit_code == 2
    assert "the casebook has no 'Z9'" in shown.output


@pytest.mark.parametrize("more", [["--quick"], ["--device", "0"], ["--out", "rows"], ["--fresh"]])
def test_the_list_takes_no_options_of_a_run(more: list[str]) -> None:
    shown = CliRunner().invoke(cli.app, ["casebook", "--list", *more])
    assert shown.exit_code == 2
    assert "--list runs nothing: leave out --quick, --device, --out and --fresh" in shown.output


def test_all_entries_are_a_table(asked: dict[str, Any], tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["casebook", "--quick", "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert asked["wanted"] == list(entries())
    assert (asked["quick"], asked["store"]) == (True, tmp_path / "rows.jsonl")
    assert shown.stdout.count("it was made up") == sum(len(entry.others) for entry in entries())
    assert "What to look for" not in shown.stdout


def test_one_entry_is_a_story(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("old\n")
    shown = CliRunner().invoke(cli.app, ["casebook", "row_sum", "--quick", "--fresh", "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "What to look for: " in shown.stdout
    assert (tmp_path / "rows-1.jsonl").read_text() == "old\n"


def test_mistakes_and_interrupts(asked: dict[str, Any], tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["casebook", "Z9", "--out", str(tmp_path)])
    assert shown.exit_code == 2
    assert "the casebook has no 'Z9'" in shown.output
    asked["interrupted"] = True
    assert CliRunner().invoke(cli.app, ["casebook", "A2", "--out", str(tmp_path)]).exit_code == 130


def test_rows_that_are_not_saved_fail_the_command(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["unsaved"] = ["3 of 9 rows are not in rows.jsonl (No space left on device)"]
    shown = CliRunner().invoke(cli.app, ["casebook", "--out", str(tmp_path)])
    assert shown.exit_code == 2
    assert "it was made up" in shown.stdout
    assert "written" not in shown.stdout
    assert "3 of 9 rows are not in rows.jsonl (No space left on device): they are lost. Free some space" in shown.stderr
