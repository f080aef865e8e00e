"""E2: charges of grains of dust, the number of their sizes a run-time argument or a program's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same


def charges(
    electrons: np.ndarray,
    ions: np.ndarray,
    temperature: np.ndarray,
    a: np.ndarray,
    nd: np.ndarray,
    exchange: np.ndarray,
    steps: int,
    tau: float,
    c: float,
) -> np.ndarray:
    """The charge of each size of grain in each environment, (environments, G), after so many steps from none."""
    q = np.zeros((len(electrons), len(a)))
    coupled = exchange * nd
    for _ in range(steps):
        phi = q / (a * temperature[:, None])
        below, above = np.minimum(phi, 0), np.maximum(phi, 0)
        fe = np.exp(below) * (1 + above)
        fi = np.exp(-above) * (1 - below)
        collected = a**2 * (ions[:, None] * fi - c * electrons[:, None] * fe)
        q = q + tau * (collected + q @ coupled.T - q * coupled.sum(axis=1))
    return q


def data(environments: int, G: int, steps: int) -> dict[str, np.ndarray]:
    """Environments and grains near 1 in all units, so that a step of 0.01 is stable."""
    random = np.random.default_rng(0)
    pairs = random.uniform(0, 0.2, (G, G))
    near: dict[str, np.ndarray] = {
        name: random.uniform(0.8, 1.2, environments) for name in ("electrons", "ions", "temperature")
    }
    grains = {"a": random.uniform(0.5, 1.5, G), "nd": random.uniform(0.5, 1.5, G)}
    return {**near, **grains, "exchange": pairs + pairs.T}


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("electrons", "environments", "float64"),
        lab.input("ions", "environments", "float64"),
        lab.input("temperature", "environments", "float64"),
        lab.input("a", "G", "float64"),
        lab.input("nd", "G", "float64"),
        lab.input("exchange", ("G", "G"), "float64"),
        lab.output("charge", ("environments", "G"), "float64"),
        lab.value("environments"),
        lab.value("G"),
        lab.value("steps", default=200),
        lab.value("tau", "float64", 0.01),
        lab.value("c", "float64", 42.85),
    ],
    "reference": charges,
    "tolerance": 1e-9,
}
ARRAYS = "electrons ions temperature a nd exchange charge"
ITEMS = lab.launch(items="environments", local=64)
IN_REGISTERS = "charges stay in registers, where an index known at run time alone keeps them in memory"

ENTRY = Entry(
    id="E2",
    name="dust_charge",
    title="charges of dust of a number of sizes that is an argument",
    project="nDust, dust in a plasma",
    category="E",
    provenance=["rec"],
    versions=[
        own(
            "bug",
            "dust_charge/run_time_groups",
            "the number of sizes an argument",
            stages=[lab.stage("dust_charge_run_time_groups", f"{ARRAYS} environments G steps tau c", ITEMS)],
            **TASK,
        ),
        own(
            "fix",
            "dust_charge/specialized",
            "a program for each number of sizes",
            parameters={"GROUPS": [4, 2, 8]},
            constraints="GROUPS == G",
            stages=[lab.stage("dust_charge_specialized", f"{ARRAYS} environments steps tau c", ITEMS)],
            predicted={
                "gpu_fast_fp64": fast(IN_REGISTERS),
                "gpu_slow_fp64": fast(IN_REGISTERS),
                "cpu": same("the arrays lie in the first cache either way, and exponentials take most of the time"),
            },
            paper=[gain("GTX 480", 4.72), gain("GTX 480", 4.77, level="program")],
            **TASK,
        ),
    ],
    sizes={"environments": 16384, "G": 4, "steps": 200},
    quick={"environments": 512, "G": 4, "steps": 50},
    awkward={"environments": 77, "G": 2, "steps": 50},
    explains="private arrays in memory or in registers",
    exactness="fp64: each step rounds, and the charges settle, so that errors do not grow; 1e-9 of charges near 2.",
    story=Story(
        did=(
            "In each environment grains of a few sizes collect electrons and ions, and exchange charge with each "
            "other, until nothing changes. The kernel is made anew from what the paper says of the project; its "
            "source was not found."
        ),
        slow=(
            "The number of sizes is an argument. The charges are private arrays with an index that only the run knows. "
            "Registers have no such index, so that the arrays lie in memory and every use is a load."
        ),
        fix=(
            "A program is built for each number of sizes that occurs, 2, 4 or 8. Loops are unrolled and the charges "
            "stay in registers. With many sizes there are too few registers, and the gain goes."
        ),
        look_for=(
            "Private arrays in loops that an argument bounds. Make the bound a macro where it takes few values, and "
            "look at the compiled kernel for local or scratch memory."
        ),
    ),
    slips=["The program gains 4.77x, more than the best of its kernels, 4.72x."],
    data=data,
    program=(
        "the state of the plasma and the sizes of dust go to the device, the kernel runs all steps, and the "
        "charges come back"
    ),
)
