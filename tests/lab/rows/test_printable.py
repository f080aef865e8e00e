"""Words of rows that anyone may have written: no table, page or report passes on what would command a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpuopt import audit
from gpuopt.lab.report import Study
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.table import folded, printable

EVIL = "\x1b[2J\rnone\ud800\u202e\0 failed\x07"


@pytest.fixture
def rows(root: Path) -> list[dict[str, Any]]:
    stored = Store(root / "results" / "cpu-2core" / "intel-321x481" / "rows.jsonl").rows()
    return [{name: value for name, value in row.items() if value is not None} for row in stored]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("field", ["device", "configuration", "problem", "driver"])
def test_words_of_rows_do_not_command_the_terminal(tmp_path: Path, rows: list[dict[str, Any]], field: str) -> None:
    path = written(tmp_path / "rows.jsonl", [row | {field: f"{row.get(field)} {EVIL}"} for row in rows])
    study = Study.load(path)
    told = [study.to_text(100), study.explain(100), study._repr_html_(), audit.audit(path).to_text()]
    for text in told:
        assert not set(text) & set("\x1b\r\0\x07\ud800\u202e")
        text.encode()
    assert any("none\N{REPLACEMENT CHARACTER}" in text for text in told)


@pytest.mark.parametrize("field", ["variant", "configuration", "problem", "device", "driver"])
def test_pictures_show_what_fonts_can_draw(tmp_path: Path, field: str) -> None:
    pytest.importorskip("matplotlib")
    row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "v", "params": {"KIND": "\ud800"}}
    row |= {"median_ms": 1.0, "net_j": 0.5, "problem": "p", field: "a\ud800"}
    study = Study([row, row | {"variant": "other", "problem": "q", "status": "wrong", "reason": "a\ud800"}])
    written = study.save_plots(tmp_path)
    assert len(written) == 3
    assert all(path.stat().st_size for path in written)


def test_what_can_be_printed_stays() -> None:
    text = "2.3 ± 0.1 µs\n\tα → β, 你好 😀 Ångström"
    assert printable(text) == text
    assert (
        printable("a\x1b\x9b\x7fb") == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"
    )
    assert folded("a\x1bb", 80) == ["a\N{REPLACEMENT CHARACTER}b"]


def test_a_rate_without_its_percentage_is_shown_as_absent(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """As another version, or another's hand, may write them."""
    for row in rows:
        row["uncached_ms"] = 1e-3
        row.pop("pct_uncached", None)
    Study.load(written(tmp_path / "rows.jsonl", rows)).explain(100)


def test_names_of_files_that_are_no_text_are_told(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = written(tmp_path / os.fsdecode(b"r\xe8.jsonl"), [*rows, rows[-1] | {"median_ms": -1.0}])
    with open(path, "a") as file:
        file.write('{"torn')
    study = Study.load(path)
    assert [note for note in study.notes if r"r\udce8.jsonl" in note]
    study.explain(100).encode()
