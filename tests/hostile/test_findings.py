"""What attacks tell, and that no child's end goes unseen."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from hostile.findings import Child, Findings


def test_the_last_line_is_json_and_the_status_says_whether_there_is_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = Findings("stage", "device", ("crashes", "wrong"))
    assert found.report() == 0
    found.count("tried", 3)
    found.add("wrong", "call 7")
    assert found.report() == 1
    lines = capsys.readouterr().out.splitlines()
    assert "  wrong: call 7" in lines
    assert json.loads(lines[-1]) == {
        "stage": "stage",
        "device": "device",
        "tried": 3,
        "crashes": [],
        "wrong": ["call 7"],
    }


def child(folder: Path, code: str) -> Child:
    return Child.started([sys.executable, "-c", code], folder / "cache")


def test_a_child_that_dies_has_told_before_and_shows_its_status(tmp_path: Path) -> None:
    made = child(tmp_path, "import os; print('noise'); print('{\"case\": 1}', flush=True); os.abort()")
    assert list(made.lines(30)) == [{"case": 1}]
    assert made.end() == -6


def test_a_child_that_falls_silent_is_told_and_killed(tmp_path: Path) -> None:
    begin = time.monotonic()
    made = child(
        tmp_path,
        "import sys, time; print('{}', flush=True); print('last', file=sys.stderr, flush=True); time.sleep(60)",
    )
    assert list(made.lines(2)) == [{}, None]
    made.kill()
    assert made.end() == -9
    assert made.last_words() == "last"
    assert time.monotonic() - begin < 30
