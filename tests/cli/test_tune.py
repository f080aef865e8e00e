"""`gpuopt tune`: what won, and where it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gpuopt

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from cli_bench import Bench  # noqa: E402
from gpuopt import cli  # noqa: E402


def test_tune_says_what_won_and_where_it_is_kept(bench: Bench) -> None:
    result = bench.run("tune", "made-up", "coins", "--dtype", "float64", "--quick")
    assert result.exit_code == 0, result.output
    rows = bench.directory / "tuned" / "made-up-fake-r-cpu.jsonl"
    assert result.stdout == f"- for any input: basic\n\nwritten: {rows}\nwritten: a file\n"
    assert bench.subjects == ["coins"]
    assert (bench.asked["protocol"], bench.asked["store"]) == ("quick", rows)
    bench.run("tune", "made-up")
    assert bench.asked["protocol"] == "full"


def test_a_fresh_tuning_keeps_the_old_rows_aside(bench: Bench) -> None:
    rows = bench.directory / "tuned" / "made-up-fake-r-cpu.jsonl"
    rows.parent.mkdir(parents=True)
    rows.write_text("old\n")
    assert bench.run("tune", "made-up", "--fresh").exit_code == 0
    assert rows.with_name("made-up-fake-r-cpu-1.jsonl").read_text() == "old\n"


def test_a_tuning_that_was_not_stored_says_why(bench: Bench) -> None:
    bench.tuned.reason = "the disk is full"
    result = bench.run("tune", "made-up")
    assert result.exit_code == 2
    assert "for any input: basic" in result.stdout
    assert "gpuopt: not stored: the disk is full" in result.stderr
    bench.tuned.interrupted = True
    result = bench.run("tune", "made-up")
    assert result.exit_code == 130
    assert "no configuration was stored" in result.stderr
    assert "written" not in result.output


@pytest.mark.usefixtures("brief_quick")
def test_tune_on_a_device(any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io = pytest.importorskip("skimage.io")
    picture = tmp_path / "tiny.png"
    io.imsave(picture, np.arange(24 * 20, dtype=np.uint8).reshape(20, 24), check_contrast=False)
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    command = ["tune", "spmv", str(picture), "--quick", "--device", str(any_device.index)]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    records = json.loads((tmp_path / "tuned" / "spmv.json").read_text())
    assert {record["match"]["name"] for record in records} == {any_device.name}
    assert records[-1]["variant"] in " ".join(result.stdout.split())
    assert f"written: {tmp_path / 'tuned' / 'spmv.json'}" in result.stdout
    told = " ".join(result.stdout.split())
    assert "which a plain call used until now" in told or "a plain call used it before" in told
