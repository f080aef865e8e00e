"""Peers that people bring are known by their code: rows of one are not taken for those of another of its name."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
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


class Settings:
    """An object that holds itself, beside what its run is of."""

    def __init__(self, value: Any) -> None:
        self.value, self.itself = {"by": [value]}, self

    def run(self, inputs: dict[str, Any]) -> np.ndarray:
        return double(inputs, self.value["by"][0])


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, inputs: dict[str, Any]) -> np.ndarray:
        return double(inputs, self.value)


def through_global(inputs: dict[str, Any]) -> np.ndarray:
    return double(inputs, GLOBAL["by"])


def holding(value: Any) -> Callable[[Any], np.ndarray]:
    return lambda inputs: double(inputs, value)


GLOBAL = {"by": 2}
HOLDS: dict[str, Callable[[int], Any]] = {
    "dict": lambda by: holding({"of": {"by": by}}),
    "tuple": lambda by: holding((by, "x")),
    "list": lambda by: holding([[by]]),
    "set": lambda by: holding({"a", "b", by}),
    "array": lambda by: holding(np.array([by])),
    "number of NumPy": lambda by: holding(np.float32(by)),
    "bytes": lambda by: holding(bytes([by])),
    "default": lambda by: types.FunctionType(double.__code__, {"np": np}, "double", (np.array([by]),)),
    "partial": lambda by: functools.partial(double, by=np.array(by)),
    "partial held": lambda by: holding(functools.partial(double, by=[by])),
    "ordered": lambda by: holding(collections.OrderedDict(by=by)),
    "method": lambda by: Settings(by).run,
    "object": lambda by: holding(Settings(by)),
    "slots": Slotted,
    "method of an array": lambda by: np.full(3, by).dot,
    "wrapped": lambda by: functools.lru_cache(holding((by,))),
    "class": lambda by: holding(type("Made", (), {"by": by, "__module__": __name__})),
}


@pytest.mark.parametrize("kind", HOLDS)
def test_what_functions_hold_counts(kind: str) -> None:
    notes: list[str] = []
    plans = [peer_code.plan(peer(HOLDS[kind](by)), notes) for by in (3, 3, 5)]
    assert notes == []
    assert plans[0] == plans[1] != plans[2]


def test_what_functions_hold_is_the_same_in_another_process() -> None:
    """Texts have another order in sets, and objects other addresses there."""
    text = f"import sys; sys.path[:0] = {sys.path}\nimport {__name__} as t\n" + (
        "print([t.peer_code.plan(t.peer(make(3))) for make in t.HOLDS.values()])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] != b""


def test_values_of_global_names_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = peer_code.plan(peer(through_global))
    assert peer_code.plan(peer(through_global)) == before
    monkeypatch.setitem(GLOBAL, "by", 3)
    assert peer_code.plan(peer(through_global)) != before


@pytest.mark.parametrize("held", [threading.Lock(), {(1, 2)}, [0] * 300_000, np.lib.stride_tricks.as_strided])
def test_what_cannot_be_told_is_another_each_time(held: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if callable(held):  # an array that is too large to look at
        monkeypatch.setattr(peer_code, "MOST_BYTES", 100)
        held = np.zeros(1000)
    notes: list[str] = []
    plans = [peer_code.plan(peer(holding({"in": held})), notes) for _ in range(2)]
    assert plans[0] != plans[1]
    kind = type(held).__name__
    assert notes[0].startswith(f"NumPy: its functions hold an object of type {kind}, of which it is not known")
    monkeypatch.setitem(GLOBAL, "other", held)  # that a global name leads to it is no reason
    assert peer_code.plan(peer(through_global), notes) is not None
    assert len(notes) == 2
    peer_code.plan(peer(functools.partial(through_global, held)), notes)  # but that it is held, too, is one
    assert len(notes) == 3


def test_rows_of_a_peer_that_cannot_be_told_are_measured_anew(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path
) -> None:
    lock, settings = threading.Lock(), {"by": 2}

    def locked(inputs: dict[str, Any]) -> np.ndarray:
        with lock:
            return double(inputs)

    def study(run: Callable[[Any], Any], store: Path | None = tmp_path / "rows.jsonl") -> lab.Study:
        return lab.sweep(
            problems.tmv(32),
            ["naive"],
            protocol="quick",
            peers=[peer(run)],
            calls=False,
            progress=False,
            store=store,
            device=any_device,
        )

    told = [study(lambda inputs: double(inputs, settings["by"])).resumed is not None for _ in range(2)]
    assert told == [False, True]
    settings["by"] = 4
    assert study(lambda inputs: double(inputs, settings["by"])).resumed is None
    for _ in range(2):
        found = study(locked)
        assert found.resumed is None
        assert [note for note in found.notes if "an object of type lock" in note]
    assert not [note for note in study(locked, None).notes if "an object of type lock" in note]


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


def test_a_module_of_ones_own_is_known_by_its_text(tmp_path: Path) -> None:
    """Which of its functions a peer calls is not looked for."""
    path, found = tmp_path / "own_helpers.py", []
    for factor in (1, 2, 1):
        path.write_text(f"def product(inputs):\n    return {factor} * (inputs['v'] @ inputs['A'])\n")
        helpers = types.ModuleType("own_helpers")
        helpers.__file__ = str(path)
        exec(compile(path.read_text(), path, "exec"), vars(helpers))
        found.append(peer_code.plan(peer(lambda inputs, own=helpers: own.product(inputs))))
    assert found[0] == found[2] != found[1]
