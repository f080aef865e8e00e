"""Kernels do what the papers' steps say, counted in what PoCL compiles of them; and a step left out, or one too many,
is noticed where results cannot tell. A room's ``compiled.py`` has the counts of its papers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiled.build import Builder, reason_to_skip
from compiled.expectations import Expected, Mutant, Paper
from compiled.ir import Kernel
from gpuopt import Configuration, _core, papers

ROOMS = Path(__file__).parent
PAPERS: list[Paper] = [
    importlib.import_module(f"workloads.{name}.compiled").PAPER
    for name in _core.workload_names()
    if papers.figures(name) or (ROOMS / name / "compiled.py").exists()
]
STEPS = [(paper, name) for paper in PAPERS for name in paper.expected]
MUTANTS = [(paper, name, mutant) for paper in PAPERS for mutant in paper.mutants for name in mutant.presets]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    if reason := reason_to_skip():
        (pytest.fail if os.environ.get("GPUOPT_REQUIRE_DEVICE") == "1" else pytest.skip)(reason)
    building = Builder(tmp_path_factory.mktemp("compiled"))
    yield building
    building.close()


def case(paper: Paper, name: str) -> tuple[Expected, Configuration, str]:
    expected = paper.expected[name]
    configuration = expected.configuration or papers.preset(paper.workload, name)
    return expected, configuration, expected.problem or paper.problem


@pytest.mark.thin(first=4)
@pytest.mark.parametrize(("paper", "name"), STEPS, ids=[f"{paper.workload} {name}" for paper, name in STEPS])
def test_a_step_does_what_the_paper_says(builder: Builder, paper: Paper, name: str) -> None:
    expected, configuration, problem = case(paper, name)
    kernel = builder.kernel(paper.workload, configuration, problem, verify=False)
    assert expected.differences(kernel) == [], f"{expected.says} {expected.compiled}"


@pytest.mark.thin(first=6)
@pytest.mark.parametrize(
    ("paper", "name", "mutant"),
    MUTANTS,
    ids=[f"{paper.workload} {name} {mutant.does}" for paper, name, mutant in MUTANTS],
)
def test_a_deviation_is_noticed(builder: Builder, paper: Paper, name: str, mutant: Mutant) -> None:
    expected, configuration, problem = case(paper, name)
    kernels = builder.mutated(f"{paper.workload} {mutant.does}", mutant.file, mutant.old, mutant.new)
    kernel: Kernel = builder.kernel(paper.workload, configuration, problem, kernels, verify=mutant.right)
    differences = expected.differences(kernel)
    assert any(line.startswith(mutant.notices) for line in differences), differences or "no count tells it"


def test_every_step_has_its_expectation_and_a_mutant() -> None:
    for paper in PAPERS:
        named = {name for name, expected in paper.expected.items() if expected.configuration is None}
        assert named == set(papers.figures(paper.workload))
        assert set(paper.expected) == {name for mutant in paper.mutants for name in mutant.presets}
