"""Peers that change what they are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import MismatchError, lab, problems
from gpuopt.lab.run.candidates import peer_candidate, problem_fields
from gpuopt.lab.run.peer_inputs import PeerInputs
from gpuopt.lab.timing.protocol import PhaseTimer
from gpuopt.problem import Peer, Problem


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(48, 32, radius=2, seed=1)


def product(problem: Problem) -> Any:
    A, x = problem.inputs["A"], problem.inputs["x"]
    return lambda: A @ x


def overwrites_x(problem: Problem) -> Any:
    right = product(problem)

    def run() -> np.ndarray:
        y = right()
        problem.inputs["x"][:] = 0.0
        return y

    return run


def replaces_data(problem: Problem) -> Any:
    y = product(problem)()
    problem.inputs["A"].data = 2 * problem.inputs["A"].data
    return lambda: y


def removes_an_input(problem: Problem) -> Any:
    y = product(problem)()
    del problem.inputs["x"]  # type: ignore[attr-defined]
    return lambda: y


BAD = {"overwrites": (overwrites_x, "x"), "replaces": (replaces_data, "A"), "removes": (removes_an_input, "x")}


def test_a_sweep_drops_peers_that_change_inputs_and_keeps_the_others(
    device: gpuopt.Device, problem: Problem, brief: str
) -> None:
    before = problem.inputs["x"].copy(), problem.inputs["A"].data.copy()
    good = [Peer(f"good {number}", product, lambda run: run()) for number in range(2)]
    bad = [Peer(name, prepare, lambda run: run()) for name, (prepare, _) in BAD.items()]
    study = lab.sweep(problem, "basic", protocol=brief, device=device, peers=[good[0], *bad, good[1]], calls=False)
    rows = {
        row["variant"]: row for row in study.rows if row["kind"] == "summary" and row["role"] in ("variant", "peer")
    }
    assert [rows[name]["status"] for name in ("basic", "good 0", "good 1")] == ["ok"] * 3
    for name, (_, changed) in BAD.items():
        assert (rows[name]["status"], rows[name]["reason"]) == ("wrong", f"it changes its inputs: {changed}")
    np.testing.assert_array_equal(problem.inputs["x"], before[0])
    np.testing.assert_array_equal(problem.inputs["A"].data, before[1])


def test_what_a_peer_changes_between_its_checks_does_not_harm_another(
    any_device: gpuopt.Device, problem: Problem
) -> None:
    inputs = PeerInputs(problem)
    common = problem_fields(problem, any_device, "quick", "hot", None)
    candidate = peer_candidate(
        problem, Peer("good", product, lambda run: run()), common, PhaseTimer(), None, inputs=inputs
    )
    inputs.problem.inputs["x"][:] = 0.0
    candidate.check()
    inputs.problem.inputs["A"].data[:], inputs.problem.inputs["x"][0] = 0, 0
    with pytest.raises(MismatchError, match="it changes its inputs: A, x"):
        inputs.check()
    inputs.check()


def test_the_inputs_of_every_workload_can_be_copied_and_put_back(any_device: gpuopt.Device) -> None:
    made = [
        problems.gem(*problems.capsid(64, 16)),
        problems.gemm(8),
        problems.tmv(8),
        problems.back_projection("8x2x8x8"),
    ]
    for problem in made:
        inputs = PeerInputs(problem)
        assert inputs.put_back() == []
        inputs.check()


def test_two_peers_of_one_name_are_refused(problem: Problem) -> None:
    peers = [Peer("SciPy", product, lambda run: run()), Peer("SciPy", product, lambda run: run() + 1)]
    with pytest.raises(gpuopt.ParameterError, match=r"^peers: two are called 'SciPy'; give each a name of its own"):
        lab.sweep(problem, "basic", protocol="quick", peers=peers, calls=False)


class Pair:
    """An input with a list of arrays."""

    def __init__(self) -> None:
        self.arrays = [np.arange(4.0), np.ones(3)]


def test_lists_keys_and_shapes_are_put_back(problem: Problem) -> None:
    inputs = PeerInputs(replace(problem, inputs={"pair": Pair(), "x": np.arange(6.0)}))
    pair, x = inputs.problem.inputs["pair"], inputs.problem.inputs["x"]
    pair.arrays[0] = np.zeros(4)
    pair.arrays.append(np.zeros(1))
    assert inputs.put_back() == ["pair"]
    assert [each.tolist() for each in pair.arrays] == [[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]
    inputs.problem.inputs["more"] = 1  # type: ignore[index]
    x.shape = (2, 3)
    assert inputs.put_back() == ["more", "x"]
    assert "more" not in inputs.problem.inputs
    assert x.shape == (6,)
    x[0] = 7
    x.flags.writeable = False
    with pytest.raises(MismatchError, match="it changes its inputs: x"):
        inputs.check()
    assert x[0] == 0
    inputs.check()


def test_a_peer_whose_clock_is_wrong_costs_its_own_row(problem: Problem, brief: str) -> None:
    wrong: list[Any] = [[np.inf], [-1.0], [1.0, 2.0], np.ones((1, 1)), "1"]
    peers = [
        Peer(f"peer {number}", product, lambda run: run(), sample=lambda run, count, batch, times=times: times)
        for number, times in enumerate(wrong)
    ]
    study = lab.sweep(problem, "basic", protocol=brief, peers=peers, calls=False)
    assert {row["status"] for row in study.summary if row["role"] == "variant"} == {"ok"}
    assert [row["status"] for row in study.summary if row["role"] == "peer"] == ["runtime"] * len(wrong)


def test_a_peers_result_of_another_byte_order_or_width(problem: Problem, brief: str) -> None:
    fetches = {"big": lambda y: y.astype(">f4"), "long": lambda y: y.astype(np.longdouble)}
    peers = [Peer(name, product, lambda run: run(), fetch=fetch) for name, fetch in fetches.items()]
    study = lab.sweep(problem, "basic", protocol=brief, peers=peers, calls=False)
    rows = {row["configuration"]: row for row in study.summary if row["role"] == "peer"}
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert rows["big"]["max_ulp"] < 1000
