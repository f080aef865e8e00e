"""Scans in a plane: their parts, and which adjoint they take."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt.resolution import resolve
from rays import apart, random


def test_views_and_slabs_in_a_plane_of_scans_that_are_not(device: gpuopt.Device) -> None:
    """One view of a helix lies in the plane of its only slice, and so does the middle slice of three."""
    helix = gt.helical(9, 1.0, 100.0, 150.0, (1, 24), 1.0, 2.0), gt.Volume((1, 16, 16))
    A, plain = gt.Projector(*helix, device=device), gt.NumpyProjector(*helix)
    _, y = random(helix)
    for view in range(9):
        assert apart(A.subset([view]).T(y[[view]]), plain.subset([view]).T(y[[view]])) < 5e-6
    slices = gt.parallel3d(6, (1, 24)), gt.Volume((3, 16, 16))
    _, y = random(slices)
    B = gt.Projector(*slices, device=device, memory_limit=15456)
    assert B.on_host
    assert apart(B.T(y), gt.NumpyProjector(*slices).T(y)) < 5e-6


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("planar", [False, True])
def test_which_adjoint_a_kind_of_device_takes(kind: str, upright: bool, planar: bool) -> None:
    device: Any = SimpleNamespace(name="any", platform="any", type=kind, key="any", vector_bytes=16)
    known = {"operation": "adjoint", "upright": upright, "planar": planar}
    chosen = resolve(
        "tomography", device, "float32", None, {name: functools.partial(known.get, name) for name in known}
    )
    on_cpu = planar and kind == "cpu"
    assert chosen.variant == ("joseph_planes" if on_cpu else "joseph_gather" if upright else "joseph_gather_any")


@pytest.mark.parametrize("shape", [(1, 60_000), (60_000, 1)])
def test_a_long_thin_volume_has_no_large_plane(device: gpuopt.Device, shape: tuple[int, int]) -> None:
    scan, volume = gt.parallel2d([0.3, 1.2], 5, 2.0), gt.Volume(shape)
    A, expected = gt.Projector(scan, volume, device=device), gt.NumpyProjector(scan, volume)
    x = np.random.default_rng(1).uniform(size=shape).astype(np.float32)
    p = expected(x)
    np.testing.assert_allclose(A(x), p, atol=1e-5 * p.max())
    np.testing.assert_allclose(A.T(p), expected.T(p), atol=1e-5 * expected.T(p).max())
