"""F1: the reference against known random numbers, thresholds and the energy at the critical temperature; the data."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import gpuopt
from gpuopt.workloads.casebook.entry import Entry
from gpuopt.workloads.casebook.ising_literals import ENTRY, NEAR, T_CRITICAL, UNIT, data, drawn, uniform, updated


def test_known_random_numbers() -> None:
    first = drawn(np.array([1], dtype=np.int32))
    assert (first[0], drawn(first)[0]) == (1015568748, 1586005467)
    np.testing.assert_allclose(np.exp([-4 / T_CRITICAL, -8 / T_CRITICAL]), [0.1715729, 0.0294373], atol=1e-7)


def test_the_energy_of_the_critical_lattice() -> None:
    """It tends to -sqrt(2) a spin; each bond is counted once."""
    n = 64
    ordered = np.ones((n, n), dtype=np.int32)
    start = data(n, 1)["r"]
    assert updated(ordered, start, n, 0, 1.0)["energy"].sum() == -2 * n * n
    state = updated(ordered, start, n, 200, T_CRITICAL)
    energies = []
    for _ in range(200):
        state = updated(state["s"], state["r"], n, 2, T_CRITICAL)
        energies.append(state["energy"].sum() / n**2)
    assert np.mean(energies) == pytest.approx(-np.sqrt(2), abs=0.08)


def test_no_random_number_is_where_rounding_decides() -> None:
    r, thresholds = data(128, 4)["r"], np.exp([-4 / T_CRITICAL, -8 / T_CRITICAL])
    for _ in range(16):
        r = drawn(r)
        assert (np.abs(uniform(r)[..., None] / thresholds - 1) >= NEAR).all()
        in_floats = np.abs(r.astype(np.float32) * np.float32(UNIT))
        for threshold in thresholds:
            assert ((in_floats < np.float32(threshold)) == (uniform(r) < threshold)).all()


def test_a_device_without_doubles_has_no_bug_to_show() -> None:
    class Device:
        name, fp64 = "Made up", False

    with pytest.raises(gpuopt.UnsupportedError, match="the bug computes in doubles, and Made up has none"):
        inspect.unwrap(Entry.check)(ENTRY, Device())  # what checks arguments takes no made-up device
