"""Threads on shared objects, the short form; and that the comparison sees what differs."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from hostile import threads

pytest.importorskip("scipy")


def test_threads_on_shared_objects_get_what_one_gets(any_device: gpuopt.Device) -> None:
    found = threads.attack(str(any_device.index), 6.0, seed=5)
    assert not found.total, found.told()
    assert found.counts["tried"] > 100


def test_results_that_differ_are_told() -> None:
    ones = np.ones(3, np.float32)
    assert threads._same(ones.copy(), ones, exactly=True)
    assert not threads._same(np.nextafter(ones, np.float32(2)), ones, exactly=True)
    assert threads._same(np.nextafter(ones, np.float32(2)), ones, exactly=False)
    assert not threads._same(ones * np.float32(1.001), ones, exactly=False)
    assert not threads._same(ones * np.nan, ones, exactly=False)
    assert not threads._same(ones.astype(np.float64), ones, exactly=True)
    assert not threads._same((ones, 2), (ones, 3), exactly=True)


def test_a_call_that_is_refused_or_raises_is_told() -> None:
    def refused() -> None:
        raise gpuopt.ArrayError("x: no")

    assert threads._outcome(lambda: 1, 1, True) == ("", "")
    assert threads._outcome(lambda: 2, 1, True)[0] == "wrong"
    assert threads._outcome(refused, 1, True) == ("wrong", "refused: ArrayError: x: no")
    assert threads._outcome(lambda: [][1], 1, True)[0] == "untyped"


@pytest.mark.parametrize("found", [None, (np.ones(3),), np.ones(4), "text"])
def test_a_result_of_another_kind_is_found(found: object) -> None:
    for wanted in (np.ones(3), (np.ones(3), np.ones(3))):
        assert threads._outcome(lambda: found, wanted, False)[0] == "wrong"
