"""F4: paths of a price in doubles, with a product of the step's number in each step, or a running sum."""

from __future__ import annotations

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
    quick={"paths": 2048, "steps": 32},
    awkward={"paths": 77, "steps": 5},
    explains="instructions of a conversion and a product of doubles",
    exactness=(
        "fp64: the running sum rounds in each step, where the product rounds once, so that results differ in their "
        "last places. Prices are the same; their own errors grow with the steps before."
    ),
    story=Story(
        did=(
            "Random paths of a price are followed step by step, in doubles. Beside the mean of the prices, the kernels "
            "compute its slope by the volatility sigma: for that, each step subtracts from the logarithm of the price "
            "what it drifted so far, the drift of a step times the step's number. Normal numbers of the generator "
            "Philox are input here, where the sample draws its own. That paths are right was checked apart, with "
            "65536 of 64 steps: an option on the geometric mean of a path, with the first price as its strike, is "
            "worth 0.0780 times that price in closed form, and 0.0774 by these paths, with a standard error of 0.0005. "
            "On the arithmetic mean, which the kernels compute and which has no known closed form, it comes to 0.0820."
        ),
        slow=(
            "The step's number is an int and the drift a double. On AMD's GPUs of 2009 the conversion takes more than "
            "10 instructions and the product 4, where an addition takes 2."
        ),
        fix=(
            "The drift is added up from step to step. By the paper it saves 15 instructions of a step and 2 % of the "
            "kernel's time, which is within what is called no effect here. It rounds a little worse."
        ),
        look_for=(
            "A loop's counter that is converted to a double and multiplied. Look first at what else is in the loop: "
            "beside functions such as exp and log it should hardly count."
        ),
    ),
    data=data,
)
