"""Sizes on the command line."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from gpuopt.lab.report import Study

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from cli_bench import IMAGES, Bench  # noqa: E402
from gpuopt import cli, lab_commands  # noqa: E402


def test_several_sizes_are_one_study(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = {"problem": bench.problem, "check": bench.check, "pictures": bench.pictures}
    workload = dataclasses.replace(IMAGES, name="made-up", **made_up, most=3, several=True)
    monkeypatch.setitem(lab_commands.STUDIES, workload.name, lab_commands.study_command(workload))
    monkeypatch.setitem(lab_commands.TUNINGS, workload.name, lab_commands.tune_command(workload))
    joined: list[list[Study]] = []
    monkeypatch.setattr(Study, "joined", lambda studies: joined.append(studies) or studies[0])
    result = bench.run("study", "made-up", "64", "128", "256", "--out", str(bench.directory))
    assert result.exit_code == 0, result.output
    assert bench.checked == bench.subjects == ["64", "128", "256"]
    assert joined == [[bench.study] * 3]
    assert "at most 3 of IMAGE, not 4" in bench.run("study", "made-up", *"1234").output
    assert "at most 1 of IMAGE, not 2" in bench.run("tune", "made-up", "64", "128").output
    assert bench.run("tune", "made-up", "64").exit_code == 0


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("gemm 12", {"M": 12, "N": 12, "K": 12}),
        ("gemm 12x13x14", {"M": 12, "N": 13, "K": 14}),
        ("gemm --m 12 --n 13 --k 14", {"M": 12, "N": 13, "K": 14}),
        ("gemm --k 14", {"M": 14, "N": 14, "K": 14}),
        ("gemm 12 --distribution normal", {"M": 12, "N": 12, "K": 12}),
        ("tmv 12x7", {"rows": 12, "cols": 7}),
        ("tmv 12", {"rows": 12, "cols": 12}),
    ],
)
@pytest.mark.parametrize("group", ["study", "tune"])
def test_sizes_of_dense_products(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, group: str, words: str, sizes: dict[str, int]
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    seen: list[Any] = []

    def stop(problem: Any, **asked: Any) -> None:
        seen.append(problem)
        raise KeyboardInterrupt

    monkeypatch.setattr("gpuopt.lab.sweep", stop, raising=False)
    monkeypatch.setattr("gpuopt.lab.tune", stop, raising=False)
    out = ["--out", str(tmp_path)] if group == "study" else []
    result = CliRunner().invoke(cli.app, [group, *words.split(), *out])
    assert result.exit_code == 130, result.output
    assert seen[0].sizes == sizes
    assert ("normal" in seen[0].name) == ("normal" in words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gemm 12x13", "'12x13' is no size; write SIZE, MxNxK or MxNxKxBATCH"),
        ("gemm big", "'big' is no size"),
        ("gemm 12 --m 12", "--m, --n and --k stand instead of SIZE"),
        ("gemm 12 --precision fp8", "precision: 'fp8' is none"),
        ("tmv 12x13x14", "write SIZE or ROWSxCOLS"),
        ("tmv 0", "'0' is no size"),
    ],
)
def test_sizes_that_are_none(tmp_path: Path, words: str, said: str) -> None:
    result = CliRunner().invoke(cli.app, ["study", *words.split(), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("words", ["tmv 64 128", "gemm 64 128 256"])
def test_isa_takes_one_size(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setattr("gpuopt.lab.isa", lambda *_, **__: pytest.fail("compiled"))
    result = CliRunner().invoke(cli.app, ["isa", *words.split()])
    assert result.exit_code == 2, result.output
    assert re.search(rf"at most 1 of SIZE .*, not {len(words.split()) - 1}", result.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("spmv 8x9 8x8y", "image: '8x8y' is not a file"),
        ("spmv 8x9 0x9", "image: '0x9' is not a file"),
        ("tmv 8 9y", "'9y' is no size"),
        ("gemm 8 9x9x0", "'9x9x0' is no size"),
        ("tomography 6x4x3x5 6x3", "case: '6x3' is not known"),
    ],
)
def test_all_words_are_looked_at_before_the_first_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, said: str
) -> None:
    monkeypatch.setattr("gpuopt.lab.sweep", lambda *_, **__: pytest.fail("measured"), raising=False)
    result = CliRunner().invoke(cli.app, ["study", *words.split(), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not any(tmp_path.iterdir())
