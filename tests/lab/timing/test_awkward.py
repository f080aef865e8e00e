"""What a study's own size does not show: kernels with one fault, found on the small problems beside it; and accesses
beside an output, however far."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gpuopt
from gpuopt import Configuration, MismatchError, UnsupportedError, problems
from gpuopt.configuration import complete
from gpuopt.lab.timing import verification
from gpuopt.problem import Problem
from gpuopt.workloads.tomography.ray_problem import projection

TOOLS = Path(__file__).parents[3] / "tools"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


table, tool = _module("kernel_mutants"), _module("mutants")


def problem_of(words: list[str]) -> Problem:
    """The problem of `gpuopt study` for these words, without its options -v."""
    workload, subject = words[0], words[1]
    if workload == "gemm":
        return problems.gemm(int(subject))
    if workload == "tmv":
        return problems.tmv(int(subject))
    if workload == "spmv":
        return problems.spmv_grid(*map(int, subject.split("x")), symmetric=True)
    if workload == "gem":
        return problems.gem(*problems.capsid(*map(int, subject.split("x"))))
    return projection(subject, words[3]) if "--operation" in words else problems.back_projection(subject)


def judged(problem: Problem, configuration: Configuration, device: gpuopt.Device) -> None:
    """As a study verifies a configuration before it is timed."""
    assert verification.verify_awkward(problem, configuration, device) == []
    verification.verify(problem.prepare(configuration, device), problem, configuration)


@pytest.mark.parametrize("mutant", table.MUTANTS + tool.UNSEEN, ids=lambda mutant: f"{mutant.file}: {mutant.name}")
def test_the_table_of_mutants_fits_the_kernels(mutant: object, tmp_path: Path) -> None:
    tool.plant(mutant, tmp_path)


@pytest.mark.parametrize(
    "mutant",
    [
        each
        for each in table.PLANTED + tool.OTHER_INPUTS + tool.PAST_INPUTS + tool.OTHER_CALLS
        if "paper:" not in each.study and "wide" not in each.study
    ],
    ids=lambda mutant: mutant.name,
)
def test_planted_faults_are_found_before_anything_is_timed(
    any_device: gpuopt.Device, mutant: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any_device.type != "cpu":
        pytest.skip("what strays on a GPU ends later calls of the process; the attack's mutants have processes")
    tool.plant(mutant, tmp_path)
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    words = shlex.split(mutant.study)  # type: ignore[attr-defined]
    problem = problem_of(words)
    configuration = complete(problem.workload, Configuration(words[-1]))
    try:
        problem.prepare(configuration, any_device)
    except UnsupportedError as error:
        pytest.skip(f"{configuration}: {error}")
    with pytest.raises(MismatchError):
        judged(problem, configuration, any_device)


@pytest.mark.parametrize("access", ["D[{}] = 1", "if (D[{}] == 3) D[0] = 0"], ids=["write", "read"])
@pytest.mark.parametrize("place", ["M * N", "M * N + 2048", "M * N + 2000000", "-1", "-2000", "-2000000"])
def test_accesses_beside_a_fenced_output_show(
    any_device: gpuopt.Device, access: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any_device.type != "cpu":
        pytest.skip("pages of a GPU cannot be protected from here")
    if "==" in access:  # within the page that the output begins in, or what rounds its end up, reads do not show
        place = {"M * N": "M * N + 1000", "-1": "-3000", "-2000": "-4000"}.get(place, place)
    stray = access.format(place)
    mutant = table.Mutant(
        "a stray", "gemm/naive.cl", "STORE(m, n, sum);", f"STORE(m, n, sum);\n    if (m + n == 0) {stray};", ""
    )
    problem, configuration = problems.gemm(33, 17, 5), complete("gemm", Configuration("naive"))

    def checked() -> None:
        verification.verify_fenced(problem, configuration, any_device)

    checked()
    tool.plant(mutant, tmp_path)
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    with pytest.raises(MismatchError, match="outside its output"):
        checked()
    monkeypatch.delenv("GPUOPT_KERNEL_DIR")
    checked()  # the process, its handler and the device are as they were


def test_a_guard_is_as_wide_as_a_work_group_strays(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = any_device.max_work_group_size * 16  # floats: half as far as sixteen doubles of each work-item
    mutant = table.Mutant(
        "", "gemm/naive.cl", "STORE(m, n, sum);", f"STORE(m, n, sum);\n    if (m + n == 0) D[M * N + {far}] = 1;", ""
    )
    tool.plant(mutant, tmp_path)
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    problem, configuration = problems.gemm(48), complete("gemm", Configuration("naive"))
    with pytest.raises(MismatchError, match="outside its output"):
        verification.verify(problem.prepare(configuration, any_device), problem, configuration)


@pytest.mark.parametrize("operation", ["forward", "adjoint"])
def test_projectors_are_verified_as_other_kernels(any_device: gpuopt.Device, operation: str) -> None:
    volume, plane = projection("12x3x20x16", operation), projection("slice", operation)
    for variant in gpuopt.variants("tomography"):
        others = ["joseph_image"] if any_device.type == "cpu" else ["joseph_image", "joseph_planes"]
        if variant.family == operation and variant.name not in others:
            configuration = complete("tomography", Configuration(variant.name))
            judged(plane if variant.name == "joseph_planes" else volume, configuration, any_device)
