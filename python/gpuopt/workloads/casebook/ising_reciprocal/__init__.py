"""F2: two quotients of doubles, or a reciprocal and two products."""

from __future__ import annotations

from typing import Any

from gpuopt.workloads.casebook.entry import Entry, Story, gain, own, same
from gpuopt.workloads.casebook.ising_literals import TASK as SPINS
from gpuopt.workloads.casebook.ising_literals import data

TASK: dict[str, Any] = SPINS
NO_FEWER = "a compiler shares the quotient itself, and as many instructions of doubles remain"

ENTRY = Entry(
    id="F2",
    name="ising_reciprocal",
    title="two quotients with one divisor",
    project="Ising GPU, Monte Carlo of spins",
    category="F",
    provenance=["src"],
    versions=[
        own("bug", "ising_reciprocal/quotients", "two quotients of doubles", **TASK),
        own(
            "fix",
            "ising_reciprocal/reciprocal",
            "one reciprocal and two products, still of doubles",
            predicted={"gpu_fast_fp64": same(NO_FEWER), "gpu_slow_fp64": same(NO_FEWER), "cpu": same(NO_FEWER)},
            paper=[gain("GTX 480", 1.14)],
            **TASK,
        ),
    ],
    sizes={"n": 1024, "sweeps": 8},
    quick={"n": 256, "sweeps": 2},
    awkward={"n": 74, "sweeps": 3},
    explains="instructions of doubles, and divisions among them",
    exactness=(
        "Spins, random numbers and energies are exact. Random numbers that rounding could put on either side of a "
        "threshold are not drawn."
    ),
    story=Story(
        did=(
            "The program of F1: spins are flipped at random, and two thresholds are exponentials of a number over the "
            "temperature, in doubles."
        ),
        slow="A division of doubles takes many instructions, and there are two with the same divisor.",
        fix=(
            "One over the temperature is computed once, and multiplied twice. It rounds a little differently. The "
            "doubles stay: the larger gain is to have none, as F1."
        ),
        look_for=(
            "Several quotients with one divisor in an inner loop. Compilers may not change them, for the results "
            "differ in the last place; but first ask whether they need to be doubles."
        ),
    ),
    data=data,
    needs_fp64=True,
    program=(
        "spins and random numbers go to the device, two kernels run for each sweep, and spins, random numbers and "
        "energies come back"
    ),
)
