"""One harness for the kernels of every workload: small problems from the workload's room of tests, configurations from
its table, each result held against its oracle as a sweep holds it.

A room ``tests/workloads/<w>/cases.py`` has its :class:`Room` as ``ROOM``; ``tests/workloads/test_variants.py`` runs
them all.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core, papers
from gpuopt.configuration import complete
from gpuopt.lab.timing import verification
from gpuopt.lab.timing.fields import VerifiedErrors
from gpuopt.problem import BoundPlan, Problem

Case = tuple[Configuration, Sequence[str]]


@dataclass(frozen=True)
class Run:
    """Configurations, each with the names of the problems that it runs. Devices beside the first take every
    ``thin``-th."""

    cases: Sequence[Case]
    thin: int = 1


def _unknown(device: gpuopt.Device, configuration: Configuration, problem: Problem) -> None:
    return None


def _nothing_else(device: gpuopt.Device, configuration: Configuration, plan: BoundPlan, errors: VerifiedErrors) -> None:
    return None


@dataclass(frozen=True)
class Room:
    """What a workload brings.

    make
        ``make(name, configuration, device)`` is the small problem of that name. It may depend on the configuration, and
        on the device where a tolerance does.
    runs
        What is run, by a title of one word; :func:`runs` makes the usual ones from the workload's table.
    refusals
        The words by which a configuration must be refused on a device, and words that may be heard too; None where
        nobody knows, and a refusal is a skip.
    also
        ``also(device, configuration, plan, errors)`` asserts what else must hold of each case: of its declared work, or
        of the errors that were found.
    """

    make: Callable[[str, Configuration, gpuopt.Device], Problem]
    runs: Mapping[str, Run]
    refusals: Callable[[gpuopt.Device, Configuration, Problem], tuple[set[str], set[str]] | None] = _unknown
    also: Callable[[gpuopt.Device, Configuration, BoundPlan, VerifiedErrors], None] = _nothing_else


def rooms() -> dict[str, Room]:
    """Every workload's room. A workload that has none fails here, by name."""
    return {name: importlib.import_module(f"workloads.{name}.cases").ROOM for name in _core.workload_names()}


# ---------------------------------------------------------------- configurations from the tables


def as_it_stands(variant: gpuopt.Variant, base: Mapping[str, int] | None = None) -> Configuration:
    return Configuration(variant.name, **{p.name: p.standard for p in variant.parameters} | dict(base or {}))


Bases = Mapping[str, Mapping[str, int]]


def every_level(workload: str, bases: Bases | None = None) -> list[Configuration]:
    """Every level of every parameter, the others at the standard ones or those of ``bases``, by variant."""
    found = []
    for variant in gpuopt.variants(workload):
        base = as_it_stands(variant, (bases or {}).get(variant.name)).parameters
        found += [Configuration(variant.name, **{**base, p.name: n}) for p in variant.parameters for n in p.levels]
    return list(dict.fromkeys(found))


def draws(workload: str, count: int | None = None) -> list[Configuration]:
    """``count`` draws from all combinations of a variant's levels; by default two for each of its parameters."""
    found = []
    for variant in gpuopt.variants(workload):
        draw = random.Random(variant.name)
        for _ in range(2 * len(variant.parameters) if count is None else count):
            found.append(Configuration(variant.name, **{p.name: draw.choice(p.levels) for p in variant.parameters}))
    return list(dict.fromkeys(found))


def presets(workload: str) -> list[Configuration]:
    """What the papers measured, in full."""
    found = [complete(workload, papers.preset(workload, name)) for name in papers.figures(workload)]
    return list(dict.fromkeys(found))


def on(name: str, configurations: Iterable[Configuration]) -> list[Case]:
    """All of them on one problem."""
    return [(configuration, (name,)) for configuration in configurations]


def on_each(names: Collection[str], configurations: Iterable[Configuration]) -> list[Case]:
    """Each of them on each problem, a test each."""
    return [(configuration, (name,)) for configuration in configurations for name in names]


def short(workload: str, configuration: Configuration) -> str:
    """Without what is at its standard level."""
    usual = complete(workload, Configuration(configuration.variant)).parameters
    beside = {name: level for name, level in configuration.parameters.items() if level != usual[name]}
    return str(Configuration(configuration.variant, **beside))


# ---------------------------------------------------------------- a check


def check(device: gpuopt.Device, room: Room, name: str, configuration: Configuration) -> None:
    """Asserts that a configuration computes a problem right, twice over, the second time in other memory, writes all of
    its output and nothing beside it; or that it is refused for what forbids it here. Raises UnsupportedError where only
    the refusal itself says what that is."""
    problem = room.make(name, configuration, device)
    exact = complete(problem.workload, configuration)
    if problem.dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    known = room.refusals(device, exact, problem)
    refused = ""
    try:
        bound = problem.prepare(exact, device)
    except UnsupportedError as error:
        if known is None:
            raise
        refused = str(error)
    if known is not None and (refused or known[0]):
        must, may = known
        assert any(words in refused for words in must | may), f"{exact} on {name}: {refused or 'not refused'}"
        return
    room.also(device, exact, bound, verification.verify(bound, problem, exact))
    assert bound.prepared.relocate(1 << 16) or not bound.prepared.kernels
    verification.check_again(bound, problem, exact)  # moved, but for a result that only `proof` computes
    bound.prepared.run()
    verification.check_again(bound, problem, exact)
