"""SciPy's own tests of its iterative solvers, given DiaMatrix as it is: each of their products runs on the device."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from foreign.suites import calls, cases, installed

MODULE = installed("scipy.sparse.linalg._isolve.tests.test_iterative")

OF_EACH_SOLVER = ("test_maxiter", "test_convergence")
OF_EACH_MATRIX = ("test_show",)

NOT_RUN = {
    "the solves of test_convergence again, which takes seconds": ("test_precond_dummy", "test_x0_equals_Mb"),
    "dense solves of 1,600 unknowns, which take seconds": ("test_precond_inverse",),
    "it makes its own matrix": (
        *("test_atol", "test_zero_rhs", "test_maxiter_worsening", "test_x0_working", "test_x0_solves_problem_exactly"),
        *("test_positional_error", "test_invalid_atol"),
    ),
}
FOUND = [name for name in vars(MODULE) if name.startswith("test_")] if MODULE else []


class Operator:
    """A DiaMatrix, whose ``@`` takes vectors of any dtype too, as the suite writes it beside the solvers."""

    __array_ufunc__ = None

    def __init__(self, matrix: gpuopt.DiaMatrix) -> None:
        self.matrix = matrix

    def __getattr__(self, name: str) -> Any:
        return getattr(self.matrix, name)

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.matrix.matvec(x)

    def __mul__(self, factor: float) -> gpuopt.DiaMatrix:
        return self.matrix * factor


def on_device(of_suite: Any, held: dict[int, Operator], device: gpuopt.Device) -> Any:
    """A copy of a case of the suite, whose matrix is one of those held on the device."""
    key = id(of_suite.A)
    if key not in held:
        held[key] = Operator(gpuopt.DiaMatrix(sparse.dia_array(of_suite.A), device=device))
    made = object.__new__(type(of_suite))
    made.__dict__.update(of_suite.__dict__, A=held[key])
    return made


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("name", cases((*OF_EACH_SOLVER, *OF_EACH_MATRIX), FOUND, NOT_RUN, "SciPy"))
def test_scipys_case(any_device: gpuopt.Device, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    function, held = getattr(MODULE, name), dict[int, Operator]()
    asked_for = MODULE.cases if name in OF_EACH_SOLVER else [arguments["case"] for arguments in calls(function)]
    for case in asked_for:
        if case.A.dtype != np.float64:
            continue  # in float32 it depends on the order of sums whether a solver gets that far
        if name == "test_maxiter" and not case.convergence:
            continue  # the suite leaves it out
        asked = {"case": on_device(case, held, any_device), "capsys": capsys}
        function(**{argument: asked[argument] for argument in inspect.signature(function).parameters})
    assert held
