"""Peers that people bring are known by their code: rows of one are not taken for those of another of its name."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import lab, problems
from gpuopt.lab.rows.schema import comparison_key, resume_key
from gpuopt.lab.run import peer_code
from gpuopt.lab.run.candidates import peer_candidate, problem_fields
from gpuopt.lab.timing.protocol import PhaseTimer


def double(inputs: dict[str, Any], by: int = 2) -> np.ndarray:
    return np.asarray((inputs["v"] * by) @ inputs["A"]) / by


def through(inputs: dict[str, Any]) -> np.ndarray:
    return double(inputs)


def peer(run: Callable[[Any], Any]) -> lab.Peer[Any, Any]:
    return lab.Peer("NumPy", prepare=lambda problem: problem.inputs, run=run)


def closing_over(factor: int) -> Callable[[Any], np.ndarray]:
    return lambda inputs: double(inputs, factor)


class Once:
    def __call__(self, inputs: dict[str, Any]) -> np.ndarray:
        return double(inputs, 1)


class Nine:
    def __call__(self, inputs: dict[str, Any]) -> np.ndarray:
        return double(inputs, 9)


Other = type("Once", (), {"__module__": __name__, "__qualname__": "Once", "__call__": Nine.__call__})

OTHERS: list[Callable[[Any], Any]] = [
    lambda inputs: inputs["v"] @ inputs["A"],
    lambda inputs: (inputs["v"].astype("f8") @ inputs["A"]).astype("f4"),
    lambda inputs: (inputs["v"].astype("f8") @ inputs["A"]).astype("f8"),
    double,
    through,
    functools.partial(double, by=3),
    functools.partial(double, by=4),
    closing_over(3),
    closing_over(5),
    Once(),
    Other(),
]


def test_other_code_has_another_hash() -> None:
    plans = [peer_code.plan(peer(run)) for run in OTHERS]
    assert None not in plans
    assert len({*plans}) == len(plans)


def test_equal_code_has_an_equal_hash() -> None:
    assert peer_code.plan(peer(closing_over(3))) == peer_code.plan(peer(closing_over(3)))
    assert peer_code.plan(peer(functools.partial(double, by=3))) == peer_code.plan(
        peer(functools.partial(double, by=3))
    )


def test_what_is_called_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = peer_code.plan(peer(through))
    monkeypatch.setitem(globals(), "double", lambda inputs: inputs["v"] @ inputs["A"])
    assert peer_code.plan(peer(through)) != before


def test_functions_that_call_themselves_or_hold_themselves_end() -> None:
    def again(inputs: Any) -> Any:
        return again(inputs)

    assert peer_code.plan(peer(again)) == peer_code.plan(peer(again))


def test_peers_of_problems_keep_their_rows(any_device: gpuopt.Device) -> None:
    given = problems.gemm(8).peers(any_device, [])
    assert [peer_code.plan(one) for one in given] == [None] * len(given)
    if given:  # PyTorch's tensors become arrays by a method
        fetched = dataclasses.replace(given[0], fetch=operator.methodcaller("numpy"))
        assert peer_code.plan(fetched) is None
        assert peer_code.plan(dataclasses.replace(fetched, fetch=double)) is not None


def test_rows_of_two_peers_of_one_name_have_two_keys(any_device: gpuopt.Device) -> None:
    problem = problems.tmv(32)
    rows = [
        peer_candidate(
            problem, peer(run), problem_fields(problem, any_device, "quick", "hot", None), PhaseTimer()
        ).fields
        for run in (OTHERS[0], OTHERS[0], OTHERS[1])
    ]
    keys = [resume_key(row) for row in rows]
    assert keys[0] == keys[1] != keys[2]
    assert len({comparison_key(row) for row in rows}) == 1
