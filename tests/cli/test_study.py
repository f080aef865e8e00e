"""`gpuopt study`: what it says, its files and exit codes, and that no mendable error shows a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt.lab.report import Study
from gpuopt.lab.rows.store import Store

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from cli_bench import Bench  # noqa: E402
from gpuopt import cli  # noqa: E402
from gpuopt.lab.workload import Workload  # noqa: E402
from gpuopt.registry import records  # noqa: E402


def test_study_shows_the_headline_the_table_and_the_files(bench: Bench) -> None:
    pytest.importorskip("matplotlib")
    result = bench.run_study("--quick")
    assert result.exit_code == 0, result.output
    assert "% of" not in result.output.splitlines()[0]
    shown = " ".join(result.stdout.split())
    assert shown.startswith("Fastest: ")
    assert "vectorized is 2.31x" not in shown
    assert "More: --explain" in shown
    for name in ("rows.jsonl", "ladder.png", "cut.png"):
        assert f"written: {bench.directory / name}" in result.stdout
        assert (bench.directory / name).exists()
    assert bench.asked["protocol"] == "quick"
    assert bench.asked["variants"] == ["all"]
    assert bench.subjects == ["camera"]


def test_explain_adds_what_stands_behind_the_table(bench: Bench) -> None:
    result = bench.run_study("--quick", "--no-plots", "--explain")
    assert result.exit_code == 0, result.output
    assert "- vectorized is 2.31x" in result.stdout
    assert result.stdout.index("Fastest: ") < result.stdout.index("- vectorized is 2.31x")


def test_study_options_reach_the_sweep(bench: Bench) -> None:
    result = bench.run_study("coins", "--dtype", "float64", "--no-plots", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert bench.subjects == ["coins"]
    assert bench.asked["protocol"] == "full"
    assert sorted(path.name for path in bench.directory.iterdir()) == ["rows.jsonl"]


def test_the_table_is_also_written_for_other_programs(bench: Bench, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("table.csv", "table.json")]
    result = bench.run_study("--quick", "--no-plots", "--csv", str(places[0]), "--json", str(places[1]))
    assert result.exit_code == 0, result.output
    assert all(f"written: {place}" in result.stdout for place in places)
    told = json.loads(places[1].read_text())
    assert [line["name"] for line in told] == [line.split(",")[3] for line in places[0].read_text().splitlines()[1:]]
    assert len(told) == len(bench.study.summary)


def test_a_table_that_cannot_be_written_leaves_the_rows(bench: Bench, tmp_path: Path) -> None:
    folder, measured = tmp_path / "nowhere", bench.sweep
    folder.mkdir()

    def sweep(**asked: Any) -> Any:
        folder.rmdir()  # meanwhile
        return measured(**asked)

    bench.sweep = sweep  # type: ignore[method-assign]
    result = bench.run_study("--quick", "--no-plots", "--csv", str(folder / "table.csv"))
    assert result.exit_code == 2
    assert "nowhere" in result.output
    assert "the rows are in" in result.output


def test_energy_is_asked_for_by_a_flag(bench: Bench) -> None:
    assert bench.run_study("--quick", "--no-plots", "--energy").exit_code == 0
    assert bench.asked["energy"] is True
    assert bench.run_study("--quick", "--no-plots").exit_code == 0
    assert bench.asked["energy"] is False


def test_the_default_directory_names_workload_and_device(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.directory.mkdir()
    monkeypatch.chdir(bench.directory)
    assert bench.run("study", "made-up", "--no-plots").exit_code == 0
    assert (bench.directory / "gpuopt-results" / "made-up-fake-r-cpu" / "rows.jsonl").exists()


def test_fresh_keeps_the_old_rows_aside(bench: Bench) -> None:
    bench.directory.mkdir()
    (bench.directory / "rows.jsonl").write_text("old\n")
    assert bench.run_study("--no-plots", "--fresh").exit_code == 0
    assert (bench.directory / "rows-1.jsonl").read_text() == "old\n"
    assert (bench.directory / "rows.jsonl").read_text() == ""


def test_resume_is_the_default(bench: Bench) -> None:
    bench.directory.mkdir()
    (bench.directory / "rows-1.jsonl").write_text("older\n")
    assert bench.run_study("--no-plots").exit_code == 0
    assert not (bench.directory / "rows-2.jsonl").exists()


def test_ctrl_c_tells_what_was_saved(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**asked: Any) -> Study:
        store = Store(asked["store"])
        store.append({"kind": "environment", "status": "ok", "env_hash": "0" * 64, "environment": {}} | KEYLESS)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "sweep", stopped)
    result = bench.run_study()
    assert result.exit_code == 130
    assert "1 finished rows are in" in result.stderr
    assert "Traceback" not in result.output


def test_a_sweep_that_came_back_early_is_shown_and_exits_130(bench: Bench) -> None:
    bench.study.interrupted = True
    result = bench.run_study()
    assert result.exit_code == 130
    assert "vectorized" in result.stdout
    assert "written" not in result.stdout


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            gpuopt.ParameterError("device: no device fits 'gpu'; there are 0: PoCL"),
            "gpuopt: device: no device fits 'gpu'",
        ),
        (gpuopt.NoDeviceError("no OpenCL device found; `gpuopt doctor` says why"), "gpuopt: no OpenCL device found"),
        (FileNotFoundError(2, "No such file or directory", "cat.png"), "gpuopt: cat.png: No such file or directory"),
        (ModuleNotFoundError("No module named 'skimage'", name="skimage"), "pip install 'gpuopt[lab]'"),
    ],
)
def test_mendable_errors_are_one_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    def fails(**asked: Any) -> Study:
        raise error

    monkeypatch.setattr(bench, "sweep", fails)
    result = bench.run_study()
    assert result.exit_code == 2
    assert line in result.stderr
    assert "Traceback" not in result.output
    traced = bench.run("--traceback", "study", "made-up", "--out", str(bench.directory))
    assert traced.exception is error


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), ModuleNotFoundError("x", name="gpuopt.lab.nowhere")])
def test_bugs_keep_their_trace(bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(**asked: Any) -> Study:
        raise error

    monkeypatch.setattr(bench, "sweep", fails)
    assert bench.run_study().exception is error


@pytest.mark.parametrize("group", ["study", "tune"])
def test_every_workload_has_a_subcommand(bench: Bench, group: str) -> None:
    shown = bench.run(group, "--help").output
    for workload in records():
        if isinstance(workload, Workload):
            assert workload.name in shown
            assert workload.subject in bench.run(group, workload.name, "--help").output


# ---------------------------------------------------------------- the doctor

KEYLESS: dict[str, Any] = {"device": "fake", "workload": "spmv"}


@pytest.mark.usefixtures("brief_quick")
def test_a_study_of_chosen_variants_without_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = ["-v", "paper:basic", "-v", "sliced(SLICE=32, ITEMS=2)"]
    options = ["--quick", "--device", "cpu", "--no-plots", "--out", str(out), *wanted]
    result = CliRunner().invoke(cli.app, ["study", "spmv", "40x30", *options])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    names = {row["configuration"] for row in rows if row["kind"] == "summary" and row["role"] == "variant"}
    assert names == {"basic(LOCAL=256)", "sliced(HALF=0, ITEMS=2, SLICE=32, WIDTH=16)"}
    refused = CliRunner().invoke(cli.app, ["study", "spmv", "8x8", "-v", "sliced(", "--out", str(out)])
    assert (refused.exit_code, "'sliced(' is no configuration" in refused.output) == (2, True)
