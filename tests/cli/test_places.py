"""Places that commands write to are looked at before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

click = pytest.importorskip("click")

from cli_bench import Bench  # noqa: E402
from gpuopt import lab_commands  # noqa: E402
from gpuopt.command_errors import Failure  # noqa: E402


@pytest.fixture
def unmeasured(bench: Bench) -> Bench:
    def sweep(**_: object) -> Any:
        raise AssertionError("it measured")

    bench.sweep = sweep  # type: ignore[method-assign]
    return bench


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", "made-up", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("study", "made-up", "--out", ""), "it is empty; name a directory"),
        (("study", "made-up", "--csv", "/proc/a.csv"), "/proc/a.csv cannot be written"),
        (("study", "made-up", "--json", "none/a.json"), "there is no folder none; make it"),
        (("study", "made-up", "--csv", ""), "it is empty; name a file"),
        (("study", "made-up", "--csv", "/dev/null"), "no regular file"),
        (("study", "made-up", "--csv", "a.x", "--json", "./a.x"), "where --csv goes, too"),
        (("study", "made-up", "--out", "o", "--csv", "o/rows.jsonl"), "where the rows go, too"),
        (("study", "made-up", "a.png", "--json", "./a.png"), "--json: a.png is what is studied; name another file"),
        (("study", "made-up", "a.png", "--csv", "linked"), "linked is what is studied"),
        (("study", "microbench", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("profile", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("papers", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("casebook", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("isa", "gemm", "--out", "/proc/none"), "/proc/none cannot be written"),
    ],
)
def test_a_place_that_takes_no_files_is_refused_at_once(
    unmeasured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "o").mkdir()
    (tmp_path / "a.png").write_bytes(b"a picture")
    (tmp_path / "linked").hardlink_to(tmp_path / "a.png")
    result = unmeasured.run(*words)
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", "made-up", "--no-plots"), "gpuopt: the working directory was removed; change to"),
        (("study", "made-up", "--csv", "a.csv"), "a.csv cannot be written: the working directory was removed"),
    ],
)
def test_the_working_directory_was_removed(
    unmeasured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = unmeasured.run(*words)
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())


def test_one_folder_takes_one_command_at_a_time(tmp_path: Path) -> None:
    rows = tmp_path / "out" / "rows.jsonl"
    first, second, third = (click.Context(click.Command("study")) for _ in range(3))
    with first:
        lab_commands.hold(rows.parent, rows, True)
        with second, pytest.raises(Failure, match=r"another command writes to .*rows\.jsonl now"):
            lab_commands.hold(rows.parent, rows, True)
    with third:
        lab_commands.hold(rows.parent, rows, True)


def test_a_table_may_go_where_the_rows_go(bench: Bench) -> None:
    """Into a folder that the command makes."""
    result = bench.run_study("--quick", "--no-plots", "--csv", str(bench.directory / "table.csv"))
    assert result.exit_code == 0, result.output
    assert (bench.directory / "table.csv").exists()


def test_a_precision_that_the_device_does_not_have_is_refused(bench: Bench) -> None:
    import gpuopt
    from gpuopt.registry import records

    gemm = next(record for record in records() if record.name == "gemm")
    device = next((one for one in gpuopt.devices() if one.type == "cpu"), None)
    if device is None:
        pytest.skip("there is no CPU device")
    with pytest.raises(gpuopt.UnsupportedError, match=r"precision: tf32x3: .* has no tensor cores"):
        gemm.problem(("64",), "float32", device, precision="tf32x3")
