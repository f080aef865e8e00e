"""F4: prices of options by the kernels' paths against those that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpuopt
from gpuopt.workloads.casebook import asian_strength as asian
from gpuopt.workloads.casebook.index import chosen

PATHS, STEPS = 2**16, 64


def geometric_price(
    steps: int, strike: float, sigma: float = asian.SIGMA, rate: float = asian.RATE, step: float = asian.STEP
) -> float:
    """What the option to buy at ``strike`` the geometric mean of the prices after each step is worth, in units of the
    first price. The logarithm of that mean is normal, as a sum of normal numbers is: its mean is that of the drifts,
    its variance sigma^2 step / steps^2 times the sum of min(i, j) over all pairs of steps, which is n (n + 1) (2 n + 1)
    / 6."""
    mean = (rate - sigma**2 / 2) * step * (steps + 1) / 2
    deviation = sigma * math.sqrt(step * (steps + 1) * (2 * steps + 1) / (6 * steps))
    below = (mean - math.log(strike)) / deviation
    worth = math.exp(mean + deviation**2 / 2) * _normal(below + deviation) - strike * _normal(below)
    return math.exp(-rate * step * steps) * worth


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def geometric_means(z: np.ndarray) -> np.ndarray:
    """The geometric mean of the prices of each path, for the constants of this entry."""
    growth, spread = (asian.RATE - asian.SIGMA**2 / 2) * asian.STEP, asian.SIGMA * asian.STEP**0.5
    return np.asarray(np.exp(np.cumsum(growth + spread * z, axis=0).mean(axis=0)))


def worth(means: np.ndarray, steps: int, strike: float) -> tuple[float, float]:
    """What the option on a mean is worth by the means of many paths, and the standard error of that."""
    gains = math.exp(-asian.RATE * asian.STEP * steps) * np.maximum(means - strike, 0.0)
    return float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains)))


def test_the_closed_form_of_the_geometric_mean() -> None:
    """For many steps it is the price of Kemna and Vorst; after one step that of Black and Scholes; of a strike of
    nothing the discounted mean."""
    assert 100 * geometric_price(10**6, 1.0, 0.2, 0.05, 1e-6) == pytest.approx(5.5468, abs=1e-4)
    assert 100 * geometric_price(1, 1.0, 0.2, 0.05, 1.0) == pytest.approx(10.4506, abs=1e-4)
    steps, step, sigma, rate = 7, 0.1, 0.3, 0.06
    times = step * np.arange(1, steps + 1)
    variance = sigma**2 * np.minimum.outer(times, times).mean()
    mean = math.exp((rate - sigma**2 / 2) * times.mean() + variance / 2)
    assert geometric_price(steps, 1e-12, sigma, rate, step) == pytest.approx(math.exp(-rate * 0.7) * mean)


def test_paths_price_the_option_as_the_closed_form_does() -> None:
    """The numbers that the story tells."""
    z = asian.data(PATHS, STEPS)["z"]
    known = geometric_price(STEPS, 1.0)
    found, error = worth(geometric_means(z), STEPS, 1.0)
    assert abs(found - known) < 3 * error
    assert (round(known, 4), round(found, 4), round(error, 4)) == (0.0780, 0.0774, 0.0005)


def test_kernels_price_the_option_on_the_arithmetic_mean(any_device: gpuopt.Device) -> None:
    """It is worth more than that on the geometric mean, by a difference that the same paths tell well."""
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    (entry,) = chosen("F4")
    z = asian.data(PATHS, STEPS)["z"]
    geometric = geometric_means(z)
    times = asian.STEP * np.arange(1, STEPS + 1)
    for version in entry.versions:
        means = version.of(z=z, paths=PATHS, steps=STEPS, device=any_device)["price"]  # type: ignore[operator]
        expected = np.exp(asian.RATE * times).mean()
        assert abs(means.mean() - expected) < 3 * means.std() / PATHS**0.5
        assert (means >= geometric * (1 - 1e-12)).all()
        arithmetic, error = worth(means, STEPS, 1.0)
        assert round(arithmetic, 4) == 0.0820
        gap = arithmetic - worth(geometric, STEPS, 1.0)[0]
        controlled = geometric_price(STEPS, 1.0) + gap  # the geometric mean as a control variate
        assert abs(arithmetic - controlled) < 3 * error
        assert controlled == pytest.approx(0.08267, abs=1e-4)  # 2^20 paths
