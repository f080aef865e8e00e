"""Exact adjoints at every level, on scans that fill several work-groups and blocks of views, held against fp64."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core
from gpuopt import tomo as gt
from gpuopt.tomo.on_device import kernel_geometry
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from levels import draws, every_level
from rays import Scan, apart, planned, random

# Several groups along z and two blocks of views; groups of few slices, which note where more views lie than they have
# work-items; rows that fall.
SCANS: dict[str, Scan] = {
    "tall": (gt.circular(70, 60, 95, (40, 12), (1.9, 1.8)), gt.Volume((140, 7, 9), (0.9, 1.2, 1.1))),
    "low": (gt.circular(70, 60, 95, (5, 12), (1.6, 1.8), offset=(1.0, -0.7)), gt.Volume((3, 7, 37), (0.9, 1.2, 0.5))),
}
FALLING = "falling"
GATHERS = [c for c in every_level("tomography") if c.variant == "joseph_gather"][1::2]
MIXED = list(
    zip(
        (c for c in draws("tomography") if c.variant == "joseph_gather"),
        itertools.cycle([*SCANS, FALLING]),
        strict=False,
    )
)
ANY = [c for c in every_level("tomography") if c.variant == "joseph_gather_any"]


def scan_of(name: str) -> Scan:
    if name != FALLING:
        return SCANS[name]
    circle, volume = gt.circular(9, 60, 95, (16, 12), (2.4, 1.8)), gt.Volume((20, 7, 9), (0.6, 1.2, 1.1))
    source, centre, column, row = circle.frames
    return gt.from_vectors(np.concatenate([source, centre, column, -row], axis=1), (16, 12)), volume


@functools.cache
def known(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Projections, and what the reference makes of them."""
    scan = scan_of(name)
    _, y = random(scan)
    return y, oracle.joseph_adjoint(*reference_inputs(*scan), y)


def check(device: gpuopt.Device, name: str, configuration: Configuration) -> None:
    y, back = known(name)
    assert _core.joseph_upright(kernel_geometry(*scan_of(name)))
    try:
        found = planned(device, scan_of(name), configuration, y)[0]
    except UnsupportedError as error:
        pytest.skip(str(error))
    assert apart(found, back) < 5e-6


@pytest.mark.thin(6)
@pytest.mark.parametrize("configuration", GATHERS, ids=str)
def test_every_level(device: gpuopt.Device, configuration: Configuration) -> None:
    check(device, "tall", configuration)


@pytest.mark.thin(6)
@pytest.mark.parametrize(("configuration", "scan"), MIXED, ids=str)
def test_levels_combined(device: gpuopt.Device, configuration: Configuration, scan: str) -> None:
    check(device, scan, configuration)


@pytest.mark.thin(3)
@pytest.mark.parametrize("configuration", ANY[::2], ids=str)
def test_every_level_of_any_scan(device: gpuopt.Device, configuration: Configuration) -> None:
    check(device, "low", configuration)
