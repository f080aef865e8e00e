"""F4: paths of a price in doubles, with a product of the step's number in each step, or a running sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, gain, own, same


def averages(
    z: np.ndarray, steps: int, growth: float, spread: float, drift: float, sigma: float
) -> dict[str, np.ndarray]:
    """Means over the steps of each path: of the price, in units of the first, and of its slope by the volatility."""
    logs = np.cumsum(growth + spread * z, axis=0)
    drifts = drift * np.arange(1, steps + 1)[:, None]
    prices = np.exp(logs)
    return {"price": prices.mean(axis=0), "slope": (prices * (logs - drifts) / sigma).mean(axis=0)}


def magnitudes(
    z: np.ndarray, steps: int, growth: float, spread: float, drift: float, sigma: float
) -> dict[str, np.ndarray]:
    """The same of absolute values; an error of a price counts in its logarithm by itself."""
    logs = np.cumsum(growth + spread * z, axis=0)
    prices = np.exp(logs)
    sizes = 1 + np.abs(logs) + abs(drift) * steps
    return {"price": prices.mean(axis=0), "slope": (prices * sizes / sigma).mean(axis=0)}


def data(paths: int, steps: int) -> dict[str, np.ndarray]:
    """Normal numbers, a row for each step, of the generator Philox: paths that share none of them are independent."""
    return {"z": np.random.Generator(np.random.Philox(0)).standard_normal((steps, paths))}


SIGMA, RATE, STEP = 0.3, 0.06, 1 / 64  # volatility and interest by the year; a step's part of a year


def geometric_price(steps: int, strike: float, sigma: float = SIGMA, rate: float = RATE, step: float = STEP) -> float:
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
    growth, spread = (RATE - SIGMA**2 / 2) * STEP, SIGMA * STEP**0.5
    return np.asarray(np.exp(np.cumsum(growth + spread * z, axis=0).mean(axis=0)))


def worth(means: np.ndarray, steps: int, strike: float) -> tuple[float, float]:
    """What the option on a mean is worth by the means of many paths, and the standard error of that."""
    gains = math.exp(-RATE * STEP * steps) * np.maximum(means - strike, 0.0)
    return float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains)))


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("z", ("steps", "paths"), "float64"),
        lab.output("price", "paths", "float64"),
        lab.output("slope", "paths", "float64"),
        lab.value("paths"),
        lab.value("steps"),
        lab.value("growth", "float64", (RATE - SIGMA**2 / 2) * STEP),
        lab.value("spread", "float64", SIGMA * STEP**0.5),
        lab.value("drift", "float64", (RATE + SIGMA**2 / 2) * STEP),
        lab.value("sigma", "float64", SIGMA),
    ],
    "reference": averages,
    "tolerance": lab.rounding(magnitudes, "64 * steps * steps"),
    "work": lab.work(read="8 * paths * steps", write="16 * paths"),
    "launch": lab.launch(items="paths", local=64),
}
FEW_OF_MANY = "an exponential and a logarithm of doubles are many times what is saved"

ENTRY = Entry(
    id="F4",
    name="asian_strength",
    title="a product of the step's number in each step",
    project="AMD's samples, Asian options in doubles",
    category="F",
    provenance=["src"],
    versions=[
        own("bug", "asian_strength/product_each_step", "the drift of a step times the step's number", **TASK),
        own(
            "fix",
            "asian_strength/running_sum",
            "the drift added up from step to step",
            predicted={
                "gpu_fast_fp64": same(FEW_OF_MANY),
                "gpu_slow_fp64": same(FEW_OF_MANY),
                "cpu": same(FEW_OF_MANY),
            },
            paper=[gain("HD 5870", 1.02)],
            **TASK,
        ),
    ],
    sizes={"paths": 2**16, "steps": 64},
    quick={"paths": 4096, "steps": 32},
    awkward={"paths": 77, "steps": 5},
    explains="instructions of a conversion and a product of doubles",
    exactness=(
        "fp64: the running sum rounds in each step, where the product rounds once, so that results differ in their "
        "last places; errors of a price grow with the steps before."
    ),
    story=Story(
        did=(
            "Random paths of a price are followed step by step, in doubles. Each step subtracts the drift up to it, "
            "the drift of a step times the step's number. Our kernels take normal numbers of the generator "
            "Philox as input, where the sample draws its own. Are the paths right? An option on the geometric mean of "
            "a path has a price in closed form: struck at the first price it is worth 0.0780 of that. The same 65536 "
            "paths give 0.0774, with a standard error of 0.0005, and 0.0820 for the arithmetic mean, which the kernels "
            "compute and for which there is no such form."
        ),
        slow=(
            "The number is an int and the drift a double. On AMD GPUs of then the conversion takes more than 10 "
            "instructions and the product 4, where an addition takes 2."
        ),
        fix=(
            "The drift is added up from step to step. It saves 15 instructions of a step, and 2 % of the time, and "
            "rounds a little worse."
        ),
        look_for=(
            "A loop's counter that is converted to a double and multiplied. Look first at what else is in the loop: "
            "beside functions such as exp and log it hardly counts."
        ),
    ),
    data=data,
)
