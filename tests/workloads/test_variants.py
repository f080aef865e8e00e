"""Every workload x variant x parameters x size, from the tables and the rooms of tests, held against the oracles."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import gpuopt
import harness
from gpuopt import Configuration, MismatchError, UnsupportedError, _core
from gpuopt.problem import Problem

ROOMS = harness.rooms()


def cases() -> list[object]:
    """Each case of each room, as a parameter set."""
    found = []
    for workload, room in ROOMS.items():
        for title, run in room.runs.items():
            thin = pytest.mark.thin(others=run.thin, first=4, of=f"{workload} {title}")
            for configuration, names in run.cases:
                on = names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
                label = "-".join([workload, title, harness.short(workload, configuration), on])
                found.append(pytest.param(workload, configuration, names, id=label, marks=thin))
    return found


@pytest.mark.parametrize(("workload", "configuration", "names"), cases())
def test_results(device: gpuopt.Device, workload: str, configuration: Configuration, names: Sequence[str]) -> None:
    for name in names:
        try:
            harness.check(device, ROOMS[workload], name, configuration)
        except UnsupportedError as error:
            pytest.skip(f"{name}: {error}")


def variants() -> list[object]:
    return [
        pytest.param(workload, variant, id=f"{workload}-{variant.name}")
        for workload in _core.workload_names()
        for variant in gpuopt.variants(workload)
    ]


def problems_of(workload: str, variant: str) -> list[str]:
    cases = itertools.chain.from_iterable(run.cases for run in ROOMS[workload].runs.values())
    names = (names for configuration, names in cases if configuration.variant == variant)
    return list(dict.fromkeys(itertools.chain.from_iterable(names)))


@pytest.mark.parametrize(("workload", "variant"), variants())
def test_each_variant_runs_somewhere(device: gpuopt.Device, workload: str, variant: gpuopt.Variant) -> None:
    """None is skipped everywhere: as it stands it runs on one of its problems, or the device lacks what it needs."""
    configuration = harness.as_it_stands(variant)
    refusals = []
    for name in problems_of(workload, variant.name):
        try:
            ROOMS[workload].make(name, configuration, device).prepare(configuration, device)
            return
        except UnsupportedError as error:
            refusals.append(error)
            if error.because == "device":
                break
    assert [error.because for error in refusals][-1:] == ["device"], refusals
    pytest.skip(str(refusals[-1]))


@pytest.mark.parametrize("workload", ROOMS)
def test_a_wrong_result_is_seen(any_device: gpuopt.Device, workload: str) -> None:
    """The check can fail: one element of one problem that is off by more than the others are large."""
    room = ROOMS[workload]

    def off(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
        right = room.make(name, configuration, device)
        reference = right.reference.copy()
        reference.flat[-1] += 1 + 2 * np.abs(reference).max()
        return dataclasses.replace(right, reference=reference)

    configuration, names = next(iter(room.runs["levels"].cases))
    harness.check(any_device, room, names[0], configuration)
    with pytest.raises(MismatchError, match=r"^1 of \d+ elements are off"):
        harness.check(any_device, dataclasses.replace(room, make=off), names[0], configuration)


@pytest.mark.parametrize(("workload", "variant"), variants())
def test_each_level_has_a_neighbour(workload: str, variant: gpuopt.Variant) -> None:
    """A room may leave levels out where compilers take long, but no parameter stays at one level."""
    seen = [c for run in ROOMS[workload].runs.values() for c, _ in run.cases if c.variant == variant.name]
    assert seen
    for parameter in variant.parameters:
        levels = {c.parameters.get(parameter.name, parameter.standard) for c in seen}
        assert len(levels) > 1 or len(parameter.levels) == 1, parameter.name
