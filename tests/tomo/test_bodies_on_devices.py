"""Exact projections that a device computes, held against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ParameterError, UnsupportedError
from gpuopt.tomo import bodies_on_device, phantoms
from gpuopt.tomo.bodies import shapes_of

HEAD = gt.shepp_logan(3, field=100.0) + gt.blob(7.0, (5.0, 3.0, 1.0), 0.4)
SOURCE, TURNED = (3, -300, 10), (0, 180, 0, 7, 1, 0, 0, 0, 9)
SCANS: dict[str, gt.Geometry] = {
    "cone": gt.circular(7, 300.0, 500.0, (24, 33), 8.0),
    "displaced": gt.circular(5, 300.0, 500.0, (9, 16), 8.0, offset=(3.0, 20.0)),
    "curved": gt.circular(7, 300.0, 500.0, (24, 33), 8.0, curved=True),
    "helix": gt.helical(20, 4, sod=500.0, sdd=750.0, det=(12, 33), pixel=6.0, pitch=32.0, curved=True),
    "parallel": gt.parallel3d(7, (24, 33), (5.0, 4.0)),
    "fan": gt.fan(7, 300.0, 500.0, 33, 8.0),
    "slice": gt.parallel2d(7, 33, 4.0),
    "free": gt.from_vectors([[*SOURCE, *vectors] for vectors in ((0, 200, 5, 9, 0, 1, 0, 1, 8), TURNED)], det=(20, 31)),
    "free curved": gt.from_vectors(
        [[*SOURCE, 0, 200, 0, 9, 0, 0, 0, 0, 8, 520], [*SOURCE, 0, 200, 0, 6, 0, 0, 0, 0, 8, 520]],
        det=(20, 31),
        kind="cyl_cone_vec",
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("name", SCANS)
def test_a_devices_are_numpys(device: gpuopt.Device, name: str, times: int, dtype: Any) -> None:
    scan = SCANS[name]
    want = HEAD.project(scan, times, dtype=np.float64)
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    got = HEAD.project(scan, times, dtype=dtype, device=device)
    assert (got.shape, got.dtype) == (scan.shape, np.dtype(dtype))
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error < (2e-4 if not device.fp64 else 1e-7 if dtype == "float32" else 1e-12)


def test_parts_of_the_views(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of scans that no launch takes whole; a device may be named in any way."""
    want = HEAD.project(SCANS["cone"], device=device)
    monkeypatch.setattr(bodies_on_device, "_RAYS", {device.type: 2 * 24 * 33 * 11})
    np.testing.assert_array_equal(HEAD.project(SCANS["cone"], device=device.index), want)


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("name", ["cone", "parallel", "fan", "helix", "free curved"])
def test_parts_of_a_view(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As of views that take long, so that signals are answered: some columns, or some rows of one column."""
    scan, dtype = SCANS[name], np.float64 if device.fp64 else np.float32
    want, on_host = HEAD.project(scan, 3, dtype, device=device), HEAD.project(scan, 3, dtype)
    rows, of_a_pixel = scan.detector.rows, 3 ** (scan.dimensions - 1)
    bodies, atol = len(HEAD.bodies), (1e-12 if device.fp64 else 2e-4) * want.max()
    monkeypatch.setattr(bodies_on_device, "_RAYS_OF_A_GPU", 1)
    for pixels in (rows * scan.detector.columns - 1, 5 * rows, rows, max(1, rows - 1), 7):
        monkeypatch.setattr(bodies_on_device, "_RAYS", {device.type: pixels * of_a_pixel * bodies})
        monkeypatch.setattr(phantoms, "_RAYS_AT_ONCE", pixels * of_a_pixel)
        got = HEAD.project(scan, 3, dtype, device=device)
        np.testing.assert_allclose(got, want, rtol=0, atol=atol)
        np.testing.assert_allclose(HEAD.project(scan, 3, dtype), on_host, rtol=0, atol=1e-12 * want.max())


def test_parts_hold_each_pixel_once_and_no_more_than_asked() -> None:
    for rows, columns, most in ((4, 9, 36), (4, 9, 35), (4, 9, 8), (4, 9, 3), (1, 9, 4), (3, 5, 0)):
        seen = np.zeros((rows, columns), int)
        for some in bodies_on_device.parts(rows, columns, most):
            seen[some] += 1
            assert seen[some].size <= max(1, most)
        assert (seen == 1).all()
    assert len(list(bodies_on_device.parts(4, 9, 36))) == 1


def test_views_are_computed_while_others_are_copied(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on GPUs, of scans that fill some copies: blocks of two and of three views, the last one shorter, or not."""
    want = HEAD.project(SCANS["cone"], device=device)
    monkeypatch.setattr(bodies_on_device, "_copies_go_beside", lambda of, count: True)
    for views in (1, 2, 3, 7, 8):
        monkeypatch.setattr(bodies_on_device, "_BYTES", views * 24 * 33 * 4)
        np.testing.assert_array_equal(HEAD.project(SCANS["cone"], device=device), want)


def test_in_float32(device: gpuopt.Device) -> None:
    """As on devices without fp64."""
    scan, float32 = SCANS["cone"], np.dtype(np.float32)
    got = bodies_on_device.project(shapes_of(HEAD.bodies), scan, 1, device, float32, float32)
    want = HEAD.project(scan, dtype=np.float64)
    assert np.abs(got - want).max() < 2e-4 * want.max()
    assert np.abs(got - want).mean() < 1e-6 * want.max()


def test_rays_along_an_infinite_axis_are_named(any_device: gpuopt.Device) -> None:
    cylinder = gt.Phantom(gt.Ellipsoid(1.0, (5.0, 5.0, np.inf)))
    scan = gt.parallel3d(3, (4, 6), (5.0, 4.0))
    np.testing.assert_allclose(
        cylinder.project(scan, device=any_device), cylinder.project(scan), atol=1e-6 if any_device.fp64 else 1e-3
    )
    lying = gt.Phantom(gt.Ellipsoid(1.0, (5.0, np.inf, 5.0)))
    with pytest.raises(ParameterError, match="direction: a ray runs along the infinite axis"):
        lying.project(gt.parallel3d(4, (4, 6), (5.0, 4.0)), device=any_device)


def test_what_a_device_does_not_take(any_device: gpuopt.Device) -> None:
    class Cube(gt.Body):
        def density_at(self, points: Any) -> Any:
            return np.zeros(points.shape[1:])

        def integral(self, origin: Any, direction: Any) -> Any:
            return np.zeros(direction.shape[1:])

        def box(self) -> Any:
            return np.zeros(3), np.ones(3)

    scan = SCANS["slice"]
    assert not gt.Phantom(Cube()).project(scan).any()
    with pytest.raises(UnsupportedError, match="device: a Cube is projected by NumPy alone"):
        gt.Phantom(Cube()).project(scan, device=any_device)
    with pytest.raises(ParameterError, match="dtype: float16 is not offered"):
        HEAD.project(scan, dtype=np.float16, device=any_device)
    with pytest.raises(ParameterError, match="device: no device fits"):
        HEAD.project(scan, device="no such device")
