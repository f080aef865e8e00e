"""What microbenchmarks run on: awkward sizes, every data type, and the ends of every parameter's levels."""

from __future__ import annotations

import random

import gpuopt
from gpuopt import Configuration, problems
from gpuopt.lab.timing.fields import VerifiedErrors
from gpuopt.problem import BoundPlan, Problem
from harness import Room, Run, as_it_stands, on, on_each

VARIANTS = gpuopt.variants("microbench")


def home(variant: str) -> str:
    """A dtype that the variant is for."""
    dtypes = next(row.dtypes for row in VARIANTS if row.name == variant)
    return "float32" if "float32" in dtypes else dtypes[-1]


def make(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    """Of ``bytes width trips`` and a dtype, else the variant's own."""
    size, width, trips, *given = name.split()
    dtype = given[0] if given else home(configuration.variant)
    return problems.microbenchmark(configuration, dtype, int(size), width=int(width), trips=int(trips), device=device)


def levels() -> list[Configuration]:
    """The last level of each parameter with the first of the next, others at the standard ones; two draws of all."""
    found = []
    for variant in VARIANTS:
        standard, ring = {p.name: p.standard for p in variant.parameters}, variant.parameters
        for p, after in zip(ring, [*ring[1:], *ring[:1]], strict=True):
            ends = {after.name: after.levels[0], p.name: p.levels[-1]}
            found.append(Configuration(variant.name, **(standard | ends)))
        if len(ring) == 1:
            found.append(Configuration(variant.name, **{ring[0].name: ring[0].levels[0]}))
        draw = random.Random(variant.name)
        for _ in range(2):
            found.append(Configuration(variant.name, **{p.name: draw.choice(p.levels) for p in variant.parameters}))
    return list(dict.fromkeys(found))


STANDARD = [as_it_stands(variant) for variant in VARIANTS]
SIZES = ["1 0 1", "5000 0 2", "100000 0 7", "123456 96 1"]


def declares_work(device: gpuopt.Device, configuration: Configuration, plan: BoundPlan, errors: VerifiedErrors) -> None:
    work = plan.work
    assert sum(work["bytes"].values()) + work["flops"] + sum(work["special"].values()) > 0


ROOM = Room(
    make,
    {
        "sizes": Run(on_each(SIZES, STANDARD)),
        "dtypes": Run(
            [(as_it_stands(variant), (f"{1 << 15} 64 3 {dtype}",)) for variant in VARIANTS for dtype in variant.dtypes],
            thin=5,
        ),
        "levels": Run(on(f"{121 * 512} 128 5", levels()), thin=8),
    },
    also=declares_work,
)
