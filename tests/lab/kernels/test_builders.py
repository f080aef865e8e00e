"""Programs of a sweep that are built ahead by several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuopt
from gpuopt import Configuration, lab
from gpuopt.lab.kernels import binding, builders
from gpuopt.lab.kernels.worker import WORKERS

TEXT = """
__kernel void many(__global const float* x, __global float* z, int n) {
#if KIND == 5
    does not build;
#endif
    const int i = get_global_id(0);
    if (i < n) z[i] = x[i] + KIND;
}
"""


def many() -> lab.Kernel:
    return lab.Kernel(
        TEXT,
        "many",
        parameters={"KIND": list(range(1, 10))},
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: x + 1,
    )


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(builders, "builders", lambda: 2)
    monkeypatch.setattr(binding, "_seen", set())
    WORKERS.close()  # one that runs already has another cache
    return tmp_path / "programs"


def test_each_program_is_built_once_and_found(any_device: gpuopt.Device, two: Path) -> None:
    problem = many().problem(n=100)
    wanted = [Configuration("many", KIND=kind) for kind in range(1, 10)]
    problem.build_ahead(wanted, any_device)
    assert len(list(two.iterdir())) == 8  # one does not build
    assert len(binding._seen) == 8
    bound = problem.prepare(wanted[0], any_device)
    assert bound.prepared.kernels[0]["from_disk"]
    bound.checks.verify()
    with pytest.raises(gpuopt.KernelBuildError, match="does not build"):
        problem.prepare(wanted[4], any_device)


def test_few_programs_or_cores_start_nothing(device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many().problem(n=100)
    problem.build_ahead([Configuration("many", KIND=kind) for kind in range(1, 8)], device)
    monkeypatch.setattr(builders, "builders", lambda: 1)
    problem.build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)
    assert not two.exists() or not list(two.iterdir())


def test_a_declaration_that_does_not_fit_is_told_by_its_plan(device: gpuopt.Device, two: Path) -> None:
    kernel = lab.Kernel(
        TEXT,
        "many",
        parameters={"KIND": [1, 2, 3, 4, 6, 7, 8, 9]},
        arguments=[lab.input("x", "n", "int32"), lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: x + 1,
    )
    problem = kernel.problem(n=100)
    wanted = [Configuration("many", KIND=kind) for kind in (1, 2, 3, 4, 6, 7, 8, 9)]
    problem.build_ahead(wanted, device)
    with pytest.raises(gpuopt.ParameterError, match="x: argument 1"):
        problem.prepare(wanted[0], device)
