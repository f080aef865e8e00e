"""Configurations that stand for a table's levels and their combinations."""

from __future__ import annotations

import random

import gpuopt
from gpuopt import Configuration


def every_level(workload: str) -> list[Configuration]:
    """Every level of every parameter beside the standard ones."""
    found = []
    for variant in gpuopt.variants(workload):
        standard = {p.name: p.standard for p in variant.parameters}
        found += [Configuration(variant.name, **{**standard, p.name: n}) for p in variant.parameters for n in p.levels]
    return list(dict.fromkeys(found))


def draws(workload: str) -> list[Configuration]:
    """As many draws from all combinations of levels as a variant has parameters, twice over."""
    found = []
    for variant in gpuopt.variants(workload):
        draw = random.Random(variant.name)
        for _ in range(2 * len(variant.parameters)):
            found.append(Configuration(variant.name, **{p.name: draw.choice(p.levels) for p in variant.parameters}))
    return list(dict.fromkeys(found))
