"""`gpuopt tune`: what won, and where it is kept."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from cli_bench import Bench  # noqa: E402
from gpuopt import cli, lab_commands  # noqa: E402
from gpuopt.records import store_records, user_records  # noqa: E402
from gpuopt.unit import unit_of  # noqa: E402


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


def test_two_tunings_of_one_workload_do_not_run_at_once(bench: Bench) -> None:
    rows = bench.directory / "tuned" / "made-up-fake-r-cpu.jsonl"
    assert bench.run("tune", "made-up").exit_code == 0
    with rows.with_suffix(".lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        result = bench.run("tune", "made-up", "--fresh")
    assert result.exit_code == 2
    assert f"another command writes to {rows} now" in " ".join(result.stderr.split())
    assert bench.run("tune", "made-up").exit_code == 0


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


CARD: Any = SimpleNamespace(name="A card", platform="P", type="gpu", key="P / A card", vector_bytes=16)
MATCH = {"name": "A card", "platform": "P", "type": "gpu", "dtype": "float32"}
RECORDS = [
    {
        "match": MATCH | {"columns": False, "symmetric": True},
        "variant": "sliced",
        "parameters": {"SLICE": 64},
        "date": "2026-11-20",
        "driver": "7",
        "gain": {"over": "basic(LOCAL=256)", "mid": 2.31, "lo": 2.25, "hi": 2.38},
    },
    {"match": MATCH | {"name": "Another"}, "variant": "basic", "parameters": {}},
]


@pytest.fixture
def recorded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr("gpuopt.selection.select", lambda device=None: CARD)
    monkeypatch.delitem(lab_commands.TUNINGS, "made-up")
    store_records("spmv", RECORDS)
    store_records("gemm", [{"match": MATCH, "variant": "naive", "date": "2026-11-21"}])
    return bench


def test_show_says_what_is_recorded_for_the_device(recorded: Bench) -> None:
    shown = recorded.run("tune", "--show")
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines() == [
        "recorded for A card:",
        "- gemm, float32, any input: naive; no gain is on record; since 2026-11-21",
        "- spmv, float32, symmetric inputs: sliced(SLICE=64); 2.31x [2.25, 2.38] faster than basic(LOCAL=256); "
        "since 2026-11-20, driver 7",
    ]
    assert len(recorded.run("tune", "--show", "gemm").output.splitlines()) == 2
    assert "nothing is recorded for A card" in recorded.run("tune", "--show", "gem").output
    assert recorded.subjects == []  # nothing was tuned


def test_show_and_reset_name_what_is_of_another_unit(recorded: Bench) -> None:
    """Equal devices use each other's records, so all of the name are forgotten."""
    units = ("0123456789ab", unit_of(CARD))
    store_records("tmv", [{"match": MATCH, "variant": "naive", "unit": unit} for unit in units])
    for asking in ("--show", "--reset"):
        told = [line for line in recorded.run("tune", asking, "tmv").output.splitlines() if line.startswith("- ")]
        assert [line.endswith("; on another device of this name") for line in told] == [True, False]
    assert user_records("tmv") == []


def test_reset_forgets_one_workload_or_all_of_this_device(recorded: Bench) -> None:
    told = recorded.run("tune", "--reset", "spmv").output.splitlines()
    assert told[0] == "forgotten for A card:"
    assert "sliced(SLICE=64)" in told[1]
    assert user_records("spmv") == RECORDS[1:]
    assert len(user_records("gemm")) == 1
    assert recorded.run("tune", "--reset").exit_code == 0
    assert user_records("gemm") == []
    assert user_records("spmv") == RECORDS[1:]
    assert recorded.run("tune", "--reset").output == "nothing was recorded for A card\n"
    assert recorded.subjects == []


@pytest.mark.parametrize("asking", ["--show", "--reset"])
@pytest.mark.parametrize("more", [["--dtype", "float64"], ["--dtype=float64"], ["--kernel", "one"]])
def test_show_and_reset_take_no_options_of_a_tuning(recorded: Bench, asking: str, more: list[str]) -> None:
    before = recorded.run("tune", "--show").output
    for words in (["gemm", *more, asking], [asking, "gemm", *more]):
        told = recorded.run("tune", *words)
        assert told.exit_code == 2
        option = more[0].partition("=")[0]
        assert f"{asking} takes a device and one name, of a workload or a kernel: leave out {option}" in told.output
    assert recorded.run("tune", "--show").output == before


@pytest.mark.parametrize("asking", ["--show", "--reset"])
@pytest.mark.parametrize("more", ["512", "spmv"])
def test_show_and_reset_take_one_name_and_no_input(recorded: Bench, asking: str, more: str) -> None:
    """What is on record holds for inputs of a kind, not for one problem: more would be forgotten than was asked."""
    before = recorded.run("tune", "--show").output
    for words in (["gemm", more, asking], [asking, "gemm", more]):
        told = recorded.run("tune", *words)
        assert told.exit_code == 2
        assert f"for all inputs of gemm: leave out {more}" in told.output
    for words in ([asking, "gemm", "--help"], [asking, "--help", "gemm"]):
        assert recorded.run("tune", *words).output.startswith("Usage:")
    assert recorded.run("tune", "--show").output == before


@pytest.mark.parametrize("asking", ["--show", "--reset"])
def test_show_and_reset_need_the_device_that_is_named(recorded: Bench, asking: str) -> None:
    """As where a variable of the shell is not set: the default device's records stay."""
    before = recorded.run("tune", "--show").output
    for words in ([asking, "gemm", "--device"], ["gemm", asking, "--device"], [asking, "--device"]):
        told = recorded.run("tune", *words)
        assert told.exit_code == 2
        assert "Option '--device' requires an argument" in told.output
    assert recorded.run("tune", "--show").output == before


def test_show_and_reset_stand_alone(recorded: Bench) -> None:
    assert "not both" in recorded.run("tune", "--show", "--reset").output
    assert recorded.run("tune", "--device", "gpu", "spmv").exit_code == 2
    assert "Usage" in recorded.run("tune").output


@pytest.mark.usefixtures("brief_quick")
def test_tune_on_a_device(any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io = pytest.importorskip("skimage.io")
    picture = tmp_path / "tiny.png"
    io.imsave(picture, np.arange(24 * 20, dtype=np.uint8).reshape(20, 24), check_contrast=False)
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    command = ["tune", "spmv", str(picture), "--quick", "--device", str(any_device.index)]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    records = json.loads((tmp_path / "tuned" / "spmv.json").read_text())["records"]
    assert {record["match"]["name"] for record in records} == {any_device.name}
    assert records[-1]["variant"] in " ".join(result.stdout.split())
    assert f"written: {tmp_path / 'tuned' / 'spmv.json'}" in result.stdout
    told = " ".join(result.stdout.split())
    assert "which a plain call used until now" in told or "a plain call used it before" in told
