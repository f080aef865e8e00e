"""F1: spins of the Ising model, with literals that make the arithmetic double, and without."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Predictions, Story, fast, gain, own, same

UNIT = 4.656612e-10  # 2^-31: makes numbers in [0, 1) of whole ones
T_CRITICAL = 2.269185
NEAR = 1e-5  # of a threshold: a random number this close may fall on either side of it by rounding
BLACK, WHITE = ((0, 0), (1, 1)), ((0, 1), (1, 0))  # the corners of 2 x 2 spins, in the order of their updates


def drawn(r: np.ndarray) -> np.ndarray:
    """The next random whole numbers, int32."""
    return (r.astype(np.uint32) * np.uint32(1664525) + np.uint32(1013904223)).astype(np.int32)


def uniform(r: np.ndarray) -> np.ndarray:
    """Whole numbers as numbers in [0, 1), in fp64."""
    return np.abs(r.astype(np.float64) * UNIT)


def neighbours(s: np.ndarray) -> np.ndarray:
    """The sum of the four neighbours of each spin, (n, n); the lattice is a torus."""
    return np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)


def updated(s: np.ndarray, r: np.ndarray, n: int, sweeps: int, t: float) -> dict[str, np.ndarray]:
    """Spins int32 (n, n), random numbers int32 (n / 2, n / 2), and the energy of each two rows int32 (n / 2,) after so
    many sweeps. Each bond is counted once, at its white end."""
    s, r = s.copy(), r.copy()
    for _ in range(sweeps):
        for down, right in (*BLACK, *WHITE):
            corner = np.s_[down::2, right::2]
            dH = 2 * s[corner] * neighbours(s)[corner]
            r = drawn(r)
            flips = (
                (dH <= 0) | ((dH == 4) & (uniform(r) < np.exp(-4 / t))) | ((dH == 8) & (uniform(r) < np.exp(-8 / t)))
            )
            s[corner] = np.where(flips, -s[corner], s[corner])
    bonds = -s * neighbours(s)
    energy = sum(bonds[down::2, right::2].sum(axis=1) for down, right in WHITE)
    return {"s": s, "r": r, "energy": np.asarray(energy)}


def data(n: int, sweeps: int) -> dict[str, np.ndarray]:
    """Random spins, and beginnings of random numbers of which none is so close to a threshold that rounding decides:
    all versions then reach the same spins."""
    random = np.random.default_rng(0)
    thresholds = np.exp([-4 / T_CRITICAL, -8 / T_CRITICAL])
    first = random.integers(-(2**31), 2**31, n * n // 4).astype(np.int32)
    doubtful = np.arange(len(first))
    while len(doubtful):
        r, close = first[doubtful], np.zeros(len(doubtful), dtype=bool)
        for _ in range(4 * sweeps):
            r = drawn(r)
            close |= (np.abs(uniform(r)[:, None] / thresholds - 1) < NEAR).any(axis=1)
        doubtful = doubtful[close]
        first[doubtful] = random.integers(-(2**31), 2**31, len(doubtful)).astype(np.int32)
    spins = random.integers(0, 2, (n, n)).astype(np.int32)
    return {"s": 2 * spins - 1, "r": first.reshape(n // 2, n // 2)}


TASK: dict[str, Any] = {
    "parameters": {"GROUP": [512, 128, 37]},  # one for each of the sizes below
    "constraints": ["2 * GROUP == n"],
    "arguments": [
        lab.inout("s", ("n", "n"), "int32"),
        lab.inout("r", ("n / 2", "n / 2"), "int32"),
        lab.output("energy", "n / 2", "int32"),
        lab.local("parts", "2 * n"),
        lab.value("n"),
        lab.value("t", "float32", T_CRITICAL),
        lab.value("sweeps", default=1),
    ],
    "stages": [
        lab.repeat(
            [
                lab.stage("ising_black", "s r n t", lab.launch(groups="n / 2", local="GROUP")),
                lab.stage("ising_white", "s r energy parts n t", lab.launch(groups="n / 2", local="GROUP")),
            ],
            "sweeps",
        )
    ],
    "reference": updated,
    "work": lab.work(read="5 * n * n", write="5 * n * n + 2 * n"),
}
FEW_DOUBLES = "doubles run at a small part of the rate of floats, and half of the instructions are of doubles"
FULL_RATE = "doubles run at half of the rate of floats, and memory and launches take most of the time"
ON_A_CPU = "half as many doubles as floats fit a vector, and numbers need no conversion"
PREDICTED: Predictions = {"gpu_fast_fp64": same(FULL_RATE), "gpu_slow_fp64": fast(FEW_DOUBLES), "cpu": fast(ON_A_CPU)}

ENTRY = Entry(
    id="F1",
    name="ising_literals",
    title="literals that make the arithmetic double",
    project="Ising GPU, Monte Carlo of spins",
    category="F",
    provenance=["src"],
    versions=[
        own("bug", "ising_literals/double_literals", "literals without f, which are doubles", **TASK),
        own(
            "fix",
            "ising_literals/float_literals",
            "literals with f",
            predicted=PREDICTED,
            paper=[gain("GTX 480", 1.58), gain("GTX 480", 1.52, level="program")],
            **TASK,
        ),
        own(
            "flag",
            "ising_literals/double_literals",
            "the same text, built with -cl-single-precision-constant",
            name="ising_literals_option",
            options="-cl-single-precision-constant",
            predicted=PREDICTED,
            **TASK,
        ),
    ],
    sizes={"n": 1024, "sweeps": 8},
    quick={"n": 256, "sweeps": 2},
    awkward={"n": 74, "sweeps": 3},
    explains="instructions of doubles and conversions",
    exactness=(
        "Spins, random numbers and energies are exact. Random numbers that rounding could put on either side of a "
        "threshold are not drawn."
    ),
    story=Story(
        did=(
            "Spins of a lattice are flipped at random, by a rule of their neighbours. Each update draws a whole "
            "number, makes a number in [0, 1) of it, and compares that with one of two thresholds, exponentials of the "
            "temperature. All variables are ints and floats."
        ),
        slow=(
            "In C a literal such as 4.0 is a double, and makes all arithmetic with it double. The thresholds are "
            "computed in doubles, as the paper says. So is each random number, which it does not mention: a "
            "conversion, a product and a comparison of doubles for every update."
        ),
        fix="An f behind each literal, or the compiler's option -cl-single-precision-constant.",
        look_for=(
            "Literals without f in a kernel of floats, functions called with them, and instructions of doubles in the "
            "listing of a kernel that should have none."
        ),
    ),
    slips=[
        "The text says 58 % for this fix, and Table I 1.52x for the program; Table II ends the range of the category "
        "at 1.50x.",
    ],
    data=data,
    needs_fp64=True,
    program=(
        "spins and random numbers go to the device, two kernels run for each sweep, and spins, random numbers and "
        "energies come back"
    ),
)
