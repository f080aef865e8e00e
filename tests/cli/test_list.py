"""`gpuopt list` and `gpuopt completion`."""

from __future__ import annotations

import json

import pytest

import gpuopt
from gpuopt import papers
from gpuopt.registry import records

click = pytest.importorskip("click")

from cli_bench import Bench  # noqa: E402


def test_all_workloads_are_listed_with_all_that_they_have(bench: Bench) -> None:
    found = json.loads(bench.run("list", "--json").output)
    assert [entry["name"] for entry in found] == [record.name for record in records()]
    for entry in found:
        assert list(entry["variants"]) == [variant.name for variant in gpuopt.variants(entry["name"])]
        for variant in gpuopt.variants(entry["name"]):
            told = entry["parameters"][variant.name]
            assert list(told) == [parameter.name for parameter in variant.parameters]
            for parameter in variant.parameters:
                levels, standard, meaning = told[parameter.name].values()
                assert (levels, standard) == (list(parameter.levels), parameter.standard)
                assert meaning == parameter.meaning
        assert list(entry["presets"]) == list(papers.figures(entry["name"]))
    pytest.importorskip("scipy")
    assert any("SciPy" in peer for entry in found for peer in entry["peers"] if entry["name"] == "spmv")


def test_a_named_workload_tells_its_parameters(bench: Bench) -> None:
    result = bench.run("list", "spmv")
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    for variant in gpuopt.variants("spmv"):
        assert variant.name in shown
        for parameter in variant.parameters:
            assert f"{parameter.name} = " in shown
    assert "paper:vectorized" in shown
    assert "gemm:" not in shown
    assert max(map(len, result.output.splitlines())) <= 120


def test_the_short_form_names_every_variant(bench: Bench) -> None:
    shown = " ".join(bench.run("list").output.split())
    assert all(variant.name in shown for record in records() for variant in gpuopt.variants(record.name))


def test_a_workload_that_is_none_is_told(bench: Bench) -> None:
    result = bench.run("list", "nothing")
    assert result.exit_code == 2
    assert "there is no 'nothing'; use " in result.output


def test_without_a_device_there_are_no_peers(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuopt.list_commands.devices", list)
    result = bench.run("list", "tmv")
    assert result.exit_code == 0
    assert "gpuopt doctor" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(bench: Bench, shell: str) -> None:
    result = bench.run("completion", shell)
    assert result.exit_code == 0, result.output
    assert "_GPUOPT_COMPLETE" in result.output


def test_completion_knows_commands(bench: Bench) -> None:
    from click.shell_completion import ShellComplete

    from gpuopt import cli

    found = ShellComplete(cli.app, {}, "gpuopt", "_GPUOPT_COMPLETE").get_completions([], "")
    assert {"study", "list", "devices"} <= {item.value for item in found}
