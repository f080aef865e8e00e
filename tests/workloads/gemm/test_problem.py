"""Problems of the matrix product: what of them is checked and how closely, whole calls, peers, and a sweep's table."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, MismatchError, ParameterError, UnsupportedError, lab, problems
from gpuopt.lab.run.candidates import peer_candidate
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.lab.timing.verification import compare
from gpuopt.problem import Peer
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.gemm import peers as peers_of_gemm
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.precision import FORMS
from gpuopt.workloads.gemm.problem import precisions


def test_sizes_and_names() -> None:
    problem = problems.gemm(20, 30, 40)
    assert problem.sizes == {"M": 20, "N": 30, "K": 40}
    assert problem.flops == 2 * 20 * 30 * 40
    assert problem.footprint_bytes == 4 * (20 * 40 + 40 * 30 + 20 * 30)
    assert problems.gemm(16).sizes == {"M": 16, "N": 16, "K": 16}
    assert problems.gemm(16, k=5).sizes == {"M": 16, "N": 16, "K": 5}
    names = {problems.gemm(16, distribution=name).name for name in oracle.DISTRIBUTIONS}
    assert len(names) == len(oracle.DISTRIBUTIONS)
    np.testing.assert_array_equal(problem.reference, oracle.product(problem.inputs["A"], problem.inputs["B"]))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"m": 0}, "no product"),
        ({"m": 4, "k": -1}, "no product"),
        ({"m": 4, "dtype": "float16"}, "float16 is not offered"),
        ({"m": 4, "distribution": "cauchy"}, "none called 'cauchy'"),
        ({"m": 4, "precision": "fp8"}, "'fp8' is none"),
    ],
)
def test_bad_sizes_are_named(given: dict[str, object], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        problems.gemm(**given)  # type: ignore[arg-type]


def test_a_problem_is_shrunk_to_fit() -> None:
    problem = problems.gemm(512, max_bytes=8_000_000)
    assert problem.sizes["M"] == problem.sizes["N"] == problem.sizes["K"] < 512
    assert any("shrunk from 512 x 512 x 512" in note for note in problem.notes)


def test_rows_of_a_large_product_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["gpuopt.workloads.gemm.problem"], "ALL_PRODUCTS", 100_000.0)
    problem = problems.gemm(300, 50, 40, seed=3)
    rows = problem.checked
    assert rows is not None
    assert len(rows) == problem.sizes["checked"] == len(problem.reference) == 50
    assert (rows[0], rows[-1]) == (0, 299)
    assert (np.diff(rows) > 0).all()
    assert np.diff(rows).max() < 2 * 300 / 50  # one of each run of rows
    a, b = problem.inputs["A"], problem.inputs["B"]
    output = (a.astype(np.float64) @ b).astype(np.float32)
    assert compare(problem.seen(output), problem.reference, problem.tolerance)["max_of_tol"] < 0.5
    output[rows[7], 11] += 1
    with pytest.raises(MismatchError, match=r"1 of 2500 elements are off; the worst, \(7, 11\)"):
        compare(problem.seen(output), problem.reference, problem.tolerance)


def test_tolerances_by_precision() -> None:
    problem = problems.gemm(8, 9, 100)
    magnitude = problem.inputs["magnitude"]
    np.testing.assert_allclose(problem.tolerance, 102 * 2.0**-24 * magnitude)
    np.testing.assert_allclose(problem.tolerance_for(Configuration("naive")), problem.tolerance)
    for form in FORMS.values():
        allowed = problem.tolerance_for(Configuration("tensor", **form.parameters))
        np.testing.assert_allclose(allowed, form.tolerance(100) * magnitude)
    double = problems.gemm(8, 9, 100, dtype="float64")
    np.testing.assert_allclose(double.tolerance, 102 * 2.0**-53 * double.inputs["magnitude"])


def test_what_is_tuned_is_of_the_precision_asked_for() -> None:
    native, short = problems.gemm(8), problems.gemm(8, precision="tf32x3")
    split = Configuration("tensor", **FORMS["tf32x3"].parameters)
    assert native.input_properties == {"precision": "native"}
    assert short.input_properties == {"precision": "tf32x3"}
    assert (native.tunable(Configuration("naive")), native.tunable(split)) == (True, False)
    assert (short.tunable(Configuration("naive")), short.tunable(split)) == (False, True)
    steps = [f"gpuopt.gemm(A, B, variant='paper:{step}')" for step in ("naive", "multiple_output")]
    assert list(native.calls) == ["gpuopt.gemm(A, B)", *steps]
    assert list(problems.gemm(8, dtype="float64").calls) == ["gpuopt.gemm(A, B)"]
    assert list(short.calls) == ["gpuopt.gemm(A, B, precision='tf32x3')"]


def test_the_design_of_precisions_has_each_once() -> None:
    cells = precisions()
    forms = [cell.parameters for cell in cells if cell.parameters["PROMOTE"] == 1]
    for form in FORMS.values():
        assert sum(form.parameters.items() <= cell.items() for cell in forms) == 1
    assert len(set(cells)) == len(cells) == len(FORMS) + 2
    assert not any(
        problems.gemm(8, precision="tf32x3").tunable(cell) for cell in cells if not cell.parameters["PROMOTE"]
    )


@pytest.mark.parametrize("name", list(oracle.DISTRIBUTIONS))
def test_whole_calls_on_every_distribution(device: gpuopt.Device, name: str) -> None:
    problem = problems.gemm(33, 40, 64, distribution=name)
    for call in problem.calls.values():
        found = compare(call(device)(), problem.reference, problem.tolerance)
        assert found["max_of_tol"] <= 1


@pytest.mark.parametrize("workload", ["gemm", "tmv"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpy_beside_cpus(any_device: gpuopt.Device, workload: str, dtype: str) -> None:
    if any_device.type != "cpu":
        pytest.skip("NumPy stands beside CPUs")
    problem = getattr(problems, workload)(40, 30, dtype=dtype)
    numpy = problem.peers(any_device, [])[0]
    assert numpy.name == "NumPy"
    compare(numpy.fetch(numpy.run(numpy.prepare(problem))), problem.reference, problem.tolerance)


@pytest.mark.skipif(cpp_loops.compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_plain_loops_beside_every_device(
    any_device: gpuopt.Device, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problems.gemm(70, 30, 50, dtype=dtype)
    loops = [peer for peer in problem.peers(any_device, []) if peer.name.startswith("C++ loop")]
    assert [peer.name for peer in loops] == [peers_of_gemm.SERIAL_LOOP, "C++ loop, OpenMP"]
    for loop in loops:
        run = loop.prepare(problem)
        compare(loop.fetch(loop.run(run)), problem.reference, problem.tolerance)
    assert ("threads" in loops[0].platform, "threads" in loops[1].platform) == (False, True)
    monkeypatch.setattr(peers_of_gemm, "LONGEST_S", 1e-9)
    with pytest.raises(UnsupportedError, match="a run would take some 0 s"):
        loops[0].prepare(problem)


def test_a_peer_may_have_a_tolerance_of_its_own() -> None:
    problem = problems.gemm(16)

    def rounded(given: problems.Problem) -> np.ndarray:
        return given.inputs["A"].astype(np.float16).astype(np.float32) @ given.inputs["B"]

    short = Peer("short", lambda given: given, rounded, tolerance=peers_of_gemm.short_sums(2.0**-10))
    target = peer_candidate(problem, short, {}, PhaseTimer())
    assert target.fields["flops"] == problem.flops
    assert 1e-5 < target.fields["l2_rel"] < 1e-3
    exact = Peer("exact", lambda given: given, rounded)
    with pytest.raises(MismatchError):
        peer_candidate(problem, exact, {}, PhaseTimer())
    with pytest.raises(UnsupportedError, match="float32 alone"):
        peers_of_gemm.require_float32(False)


def test_a_study_shows_the_error_beside_the_speed(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"warm_up_s": 0.0, "warm_up_cap_s": 0.0, "visit_s": 1e-4}
    monkeypatch.setitem(PROTOCOLS, "quick", dataclasses.replace(PROTOCOLS["quick"], **short))
    problem = problems.gemm(48, device=any_device)
    chosen = ["paper:naive", "paper:block_16x16"]
    study = lab.sweep(problem, chosen, protocol="quick", device=any_device, peers=())
    good = [row for row in study.summary if row["status"] == "ok"]
    assert {"naive", "tile", "gpuopt.gemm(A, B)"} <= {row["variant"] for row in good}
    for row in good:
        assert row["gflop_s"] == pytest.approx(problem.flops / row["median_ms"] * 1e-6)
        assert 0 < row["l2_rel"] < 1e-6
        assert 0 < row["max_of_tol"] < 1
        assert f"{row['l2_rel']:.1e}" in study.to_text(120)
    text = " ".join(study.explain(120).split())
    assert "Frobenius" in text
    assert "over naive (" in text
    assert "over 16 x 16 (" in text
