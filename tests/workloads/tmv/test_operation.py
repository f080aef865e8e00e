"""The transposed product as its users call it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, Configuration, ParameterError, lab, problems
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.workloads.common import rounding
from gpuopt.workloads.tmv import reference as oracle
from gpuopt.workloads.tmv.operation import prepare_tmv
from workloads.tmv.cases import operands

VARIANTS = [variant.name for variant in gpuopt.variants("tmv")]


def test_the_reference_is_what_numpy_computes() -> None:
    A, v = operands(60, 70, "float32")
    np.testing.assert_allclose(oracle.tmv(A, v), A.astype(np.float64).T @ v.astype(np.float64), rtol=1e-14)
    assert (oracle.abs_sum(A, v) >= np.abs(oracle.tmv(A, v))).all()
    with pytest.raises(ValueError, match=r"must be \(m, n\)"):
        oracle.tmv(A, v[1:])


@pytest.mark.parametrize("variant", [None, *VARIANTS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_of_either_kind(device: gpuopt.Device, dtype: str, variant: str | None) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    A, v = operands(90, 77, dtype)
    expected, allowed = oracle.tmv(A, v), rounding.tolerance(oracle.abs_sum(A, v), 90, dtype)
    results = [
        gpuopt.tmv(A, v, variant=variant, device=device),
        gpuopt.tmv(gpuopt.to_device(A, device), v, variant=variant),
        gpuopt.tmv(A, gpuopt.to_device(v, device), variant=variant),
        gpuopt.tmv(gpuopt.to_device(A, device), gpuopt.to_device(v, device), variant=variant),
    ]
    assert [type(result) for result in results] == [np.ndarray, np.ndarray, gpuopt.DeviceArray, gpuopt.DeviceArray]
    for result in results:
        values = result if isinstance(result, np.ndarray) else result.to_numpy()
        assert values.dtype == dtype
        assert (np.abs(values - expected) <= allowed).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_may_stand_apart(device: gpuopt.Device, variant: str) -> None:
    big, v = operands(300, 200, "float32")
    views = [big[:, 3:90], big[::2, :64], big[::-1, 1:50], big[10:11, :33], np.broadcast_to(big[0], (300, 200))]
    for A in views:
        w = v[: len(A)]
        error = np.abs(gpuopt.tmv(A, w, variant=variant, device=device) - oracle.tmv(A, w))
        assert (error <= rounding.tolerance(oracle.abs_sum(A, w), len(A), "float32")).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_infinities_stay_in_their_columns(device: gpuopt.Device, variant: str) -> None:
    """Vectors that read beyond a row must not let in what stands there."""
    A, v = operands(50, 37, "float32")
    A[3, 0], A[20, 36], A[49, 17] = np.inf, -np.inf, np.nan
    result = gpuopt.tmv(A, v, variant=variant, device=device)
    np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(result)), [0, 17, 36])


def test_out_receives_the_result(device: gpuopt.Device) -> None:
    A, v = operands(40, 30, "float32")
    out = np.empty(30, np.float32)
    assert gpuopt.tmv(A, v, out, device=device) is out
    np.testing.assert_allclose(out, A.T @ v, atol=1e-5)
    on_device = gpuopt.to_device(np.zeros(30, np.float32), device)
    assert gpuopt.tmv(gpuopt.to_device(A, device), gpuopt.to_device(v, device), on_device) is on_device
    np.testing.assert_allclose(on_device.to_numpy(), A.T @ v, atol=1e-5)
    square, w = (gpuopt.to_device(array, device) for array in operands(30, 30, "float32"))
    with pytest.raises(ArrayError, match="out: it is an operand"):
        gpuopt.tmv(square, w, w)


@pytest.mark.parametrize("variant", [None, *VARIANTS])
def test_a_numpy_out_may_overlap_operands(device: gpuopt.Device, variant: str | None) -> None:
    A, v = operands(150, 150, "float32")
    wanted = A.T @ v
    room = np.empty(153, np.float32)
    for shift in (0, 3):
        w = room[:150]
        w[:] = v
        np.testing.assert_allclose(
            gpuopt.tmv(A, w, room[shift:][:150], variant=variant, device=device), wanted, atol=1e-4
        )
    for row in (0, 149):
        B = A.copy()
        np.testing.assert_allclose(gpuopt.tmv(B, v, B[row], variant=variant, device=device), wanted, atol=1e-4)
        np.testing.assert_array_equal(np.delete(B, row, 0), np.delete(A, row, 0))


def test_a_plan_reads_what_the_arrays_hold(device: gpuopt.Device) -> None:
    A, v = operands(500, 64, "float32")
    on_device = gpuopt.to_device(v, device)
    out = gpuopt.to_device(np.zeros(64, np.float32), device)
    for variant in VARIANTS:
        plan = prepare_tmv(gpuopt.to_device(A, device), on_device, out, variant)
        plan.run()
        once = out.to_numpy()
        plan.sample(2, batch=3)
        np.testing.assert_array_equal(out.to_numpy(), once)
        assert plan.work["flops"] == 2 * A.size
        assert plan.work["bytes"]["dram"] == 4 * (A.size + 500 + 64)
        assert plan.work["bytes"]["requested"] >= plan.work["bytes"]["dram"] - 4 * 500
        assert plan.main_step == 0


@pytest.mark.parametrize(
    ("A", "v", "word"),
    [
        (np.ones((3, 4), np.float32), np.ones(4, np.float32), r"v: .*\(3, 4\); give shape \(3,\)"),
        (np.ones((3, 4), np.float32), np.ones((3, 1), np.float32), r"give shape \(3,\)"),
        (np.ones((3, 4), np.float32), np.ones(3), "v: its dtype is float64, A is float32"),
        (np.ones((3, 4), np.int32), np.ones(3, np.int32), "A: its dtype is int32"),
        (np.ones(3, np.float32), np.ones(3, np.float32), r"A: .*give shape \(m, n\)"),
        (np.ones((4, 3), np.float32).T, np.ones(3, np.float32), "A: its rows are not contiguous"),
        (np.ones((3, 4), np.float32), np.ones(6, np.float32)[::2], "v: it is not C-contiguous"),
        ([[1.0]], np.ones(1, np.float32), "A: it is a list; give an array"),
    ],
)
def test_bad_arrays_are_named(any_device: gpuopt.Device, A: np.ndarray, v: np.ndarray, word: str) -> None:
    with pytest.raises(ArrayError, match=word):
        gpuopt.tmv(A, v, device=any_device)


def test_bad_configurations_are_named(any_device: gpuopt.Device) -> None:
    A, v = operands(3, 4, "float32")
    with pytest.raises(ParameterError, match="variant: tmv has none called 'wide'"):
        gpuopt.tmv(A, v, variant="wide", device=any_device)
    with pytest.raises(ParameterError, match="LOCAL: 64 is not one of its levels"):
        gpuopt.tmv(A, v, variant=Configuration("row_parts", LOCAL=64), device=any_device)


def test_the_problem() -> None:
    problem = problems.tmv(70, 30, seed=1)
    A, v = problem.inputs["A"], problem.inputs["v"]
    np.testing.assert_array_equal(problem.reference, oracle.tmv(A, v))
    assert problem.flops == 2 * 70 * 30
    assert problem.sizes == {"rows": 70, "cols": 30}
    assert problems.tmv(64).sizes == {"rows": 64, "cols": 64}
    with pytest.raises(ParameterError, match="no matrix"):
        problems.tmv(0)
    with pytest.raises(ParameterError, match="int32 is not offered"):
        problems.tmv(4, dtype="int32")
    small = problems.tmv(10_000, 1_000, max_bytes=80_000_000 + 40_000_000)
    assert small.sizes["rows"] < 10_000
    assert any("shrunk" in note for note in small.notes)


def test_what_functions_of_a_problem_take(any_device: gpuopt.Device) -> None:
    for problem in (problems.tmv(8), problems.gemm(8), problems.spmv_grid(8, 8), dataclasses.replace(problems.tmv(8))):
        wrong: list[tuple[str, Callable[..., object], tuple[object, ...]]] = [
            ("configuration", problem.prepare, (None, None)),
            ("configuration", problem.prepare, ("naive", any_device)),
            ("device", problem.prepare, (Configuration("naive"), None)),
            ("device", problem.prepare, (Configuration("naive"),)),
            ("configuration", problem.tunable, (None,)),
            ("device", problem.peers, (None, [])),
            ("notes", problem.peers, (any_device, None)),
            ("configurations", problem.build_ahead, (None, any_device)),
            *(("device", call, (None,)) for call in problem.calls.values()),
        ]
        for argument, function, given in wrong:
            with pytest.raises(ParameterError) as caught:
                function(*given)
            assert caught.value.argument == argument
    problems.tmv(8).prepare(Configuration("naive"), any_device).prepared.run()


def test_a_sweep(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"warm_up_s": 0.0, "warm_up_cap_s": 0.0, "visit_s": 1e-4}
    monkeypatch.setitem(PROTOCOLS, "quick", dataclasses.replace(PROTOCOLS["quick"], **short))
    chosen = ["paper:naive", "paper:tlp_f2", "row_blocks"]
    study = lab.sweep(problems.tmv(200, 96), chosen, protocol="quick", device=any_device, peers=())
    rows = {row["configuration"]: row for row in study.summary}
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert all(row["gflop_s"] for row in rows.values())
    text = study.to_text(150)
    assert "2 to 5x" in text
    assert "gpuopt.tmv(A, v)" in text


@pytest.mark.parametrize("cols", [1, 3, 40])
def test_long_sums_keep_their_digits(device: gpuopt.Device, cols: int) -> None:
    rows = 2_000_000
    A, v = np.full((rows, cols), 0.1, np.float32), np.ones(rows, np.float32)
    np.testing.assert_allclose(gpuopt.tmv(A, v, device=device), rows * np.float64(np.float32(0.1)), rtol=6e-5)
