"""`gpuopt papers`: which papers and rows it takes, what it writes, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

click = pytest.importorskip("click")

from click.testing import CliRunner, Result  # noqa: E402

import claims as made_up  # noqa: E402
from gpuopt import cli  # noqa: E402


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.app, ["papers", *words], prog_name="gpuopt")


def stored(path: Path, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in made_up.pair(2.0, **fields)))
    return path


def test_without_rows_all_claims_and_commands_are_told(here: Path) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    for short in ("Catanzaro 2010", "Daga et al. 2011", "Jang et al. 2009", "Yang et al. 2012"):
        assert short in result.stdout
    assert "gpuopt study spmv" in result.stdout
    assert result.stdout.count("none measured") == 4
    assert "no rows were given, and none are in gpuopt-results" in result.stdout


def test_a_paper_and_rows_of_several_devices(here: Path) -> None:
    one = stored(here / "a" / "rows.jsonl", device="NVIDIA H200")
    stored(here / "b" / "deep" / "rows.jsonl", device="Other GPU")
    result = run("catanzaro2010", str(one), "b")
    assert result.exit_code == 0, result.output
    assert "Catanzaro 2010" in result.stdout
    assert "Jang" not in result.stdout
    assert "H200: " in result.stdout
    assert "Other GPU: " in result.stdout
    assert "8.32" in result.stdout, "41.6 Mflop in 5 ms"


def test_measured_claims_alone(here: Path) -> None:
    rows = stored(here / "rows.jsonl")
    whole, short = run("catanzaro2010", str(rows)), run("catanzaro2010", str(rows), "--measured")
    assert "Not measured: hardware" in whole.stdout
    assert "Not measured: hardware" not in short.stdout
    summary = next(line for line in whole.stdout.splitlines() if "Ratios of speeds: " in line)
    assert summary in short.stdout, "all are counted"
    assert "8.32" in short.stdout


def test_files_have_measured_claims_alone(here: Path) -> None:
    rows = stored(here / "rows.jsonl")
    for folder, more in (("all", ()), ("some", ("--measured",))):
        assert run("catanzaro2010", str(rows), "--out", folder, *more).exit_code == 0
    for name in ("claims-catanzaro2010.md", "claims.html"):
        whole, short = ((here / folder / name).read_text() for folder in ("all", "some"))
        assert "hardware" in whole
        assert "hardware" not in short
        assert "8.32" in short
        assert "gpuopt study spmv" in short, "what measures the others"
    assert (here / "some" / "claims.jsonl").read_text() == (here / "all" / "claims.jsonl").read_text()


def test_of_measured_claims_without_rows_the_commands_alone_are_told(here: Path) -> None:
    result = run("catanzaro2010", "--measured")
    assert "none measured" in result.stdout
    assert "gpuopt study spmv" in result.stdout
    assert "not measured" not in result.stdout


def test_rows_of_the_default_folder_are_found(here: Path) -> None:
    stored(here / "gpuopt-results" / "spmv-fake" / "rows.jsonl", device="Found")
    result = run("catanzaro2010")
    assert result.exit_code == 0, result.output
    assert "Found: " in result.stdout
    assert "no rows were given" not in result.stdout


def test_tables_and_pictures_are_written(here: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = stored(here / "rows.jsonl")
    names = ["claims-catanzaro2010.md", "claims.html", "claims.jsonl"]
    assert run("catanzaro2010", str(rows), "--out", "plain").exit_code == 0
    assert sorted(path.name for path in (here / "plain").iterdir()) == names
    result = run("catanzaro2010", str(rows), "--out", "drawn", "--picture")
    assert sorted(path.name for path in (here / "drawn").iterdir()) == [
        "claims-catanzaro2010.md",
        "claims-catanzaro2010.png",
        *names[1:],
    ]
    assert "written: drawn/claims.jsonl" in result.stdout
    result = run("catanzaro2010", str(rows), "--picture")
    assert "written: gpuopt-results/papers/claims-catanzaro2010.png" in result.stdout
    assert run("catanzaro2010").exit_code == 0, "a folder of pictures alone is no folder of rows"


@pytest.mark.parametrize("read", ["claims.jsonl", "linked", ".", "claims-jang2009.png", "claims.html"])
def test_rows_that_are_read_are_not_written_over(here: Path, read: str) -> None:
    rows = stored(here / ("claims.jsonl" if read in ("linked", ".") else read))
    (here / "linked").hardlink_to(rows)
    text = rows.read_text()
    result = run("jang2009", read, "--out", ".", "--picture")
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert ("no file of claims" if read == "." else f"{read}: it is read, and {rows.name} is written") in result.stderr
    assert rows.read_text() == text
    assert {path.name for path in here.iterdir()} == {rows.name, "linked"}


def test_claims_are_written_over_earlier_ones(here: Path) -> None:
    stored(here / "rows.jsonl")
    for _ in range(2):
        result = run("catanzaro2010", ".", "--out", ".")
        assert result.exit_code == 0, result.output


def test_of_measured_claims_alone_the_picture_is_shorter(here: Path) -> None:
    pytest.importorskip("matplotlib")
    rows, heights = stored(here / "rows.jsonl"), []
    text = rows.read_text()
    assert run("catanzaro2010", str(rows), "--out", "rates", "--picture", "--measured").exit_code == 0
    assert not (here / "rates" / "claims-catanzaro2010.png").exists(), "rates alone are not drawn"
    rows.write_text(text.replace('"basic', '"local_offsets').replace("paper:basic", "paper:local_offsets"))
    for more in ((), ("--measured",)):
        assert run("catanzaro2010", str(rows), "--out", f"drawn{len(more)}", "--picture", *more).exit_code == 0
        header = (here / f"drawn{len(more)}" / "claims-catanzaro2010.png").read_bytes()[16:24]
        heights.append(int.from_bytes(header[4:], "big"))
    assert heights[1] < heights[0] - 200


def test_where_no_picture_is_drawn_that_is_told(here: Path) -> None:
    pytest.importorskip("matplotlib")
    told = "no claimed ratio has a number: no picture was drawn"
    result = run("daga2011", "--picture", "--measured")
    assert (result.exit_code, told in result.stdout) == (0, True), result.output
    assert list(here.iterdir()) == []
    rates = str(stored(here / "rows.jsonl"))
    for words in (["daga2011", "--out", "none"], ["catanzaro2010", rates, "--out", "rates"]):
        assert told in run(*words, "--picture", "--measured").stdout
        assert told not in run(*words, "--picture").stdout
        assert told not in run(*words, "--measured").stdout


def test_what_is_neither_a_paper_nor_rows_is_told(here: Path) -> None:
    result = run("jang2010")
    assert result.exit_code == 2
    assert "jang2010 is neither a paper (catanzaro2010, daga2011, jang2009, yang2012) nor a file" in result.stderr
    result = run("")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "paper: '' names nothing" in result.stderr
    (here / "empty.jsonl").write_text("")
    result = run("empty.jsonl")
    assert result.exit_code == 2
    assert "has no result rows" in result.stderr
    assert "Traceback" not in result.output
