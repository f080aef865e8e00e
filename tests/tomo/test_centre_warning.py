"""Sinograms that look wrong are named: an axis elsewhere, axes swapped."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt

VOLUME = gt.Volume((48, 48), 1.0)


def sinogram(scan: gt.Geometry, field: float = 40) -> np.ndarray:
    return gt.shepp_logan(2, field=field).project(scan).astype(np.float32)


@pytest.mark.parametrize("off", [-6.0, 3.0])
def test_an_axis_elsewhere_is_named_with_the_offset(device: gpuopt.Device, off: float) -> None:
    p = sinogram(gt.parallel2d(90, 64, 1.0, off))
    told = gt.Projector(gt.parallel2d(90, 64, 1.0), VOLUME, device=device)
    with pytest.warns(gt.CentreWarning, match=rf"column {31.5 - off:.1f} .* offset of {off:.3g}"):
        gt.fbp(told, p)


@pytest.mark.parametrize("off", [-5.0, 4.0])
@pytest.mark.parametrize("back", [False, True], ids=["forth", "back"])
@pytest.mark.parametrize("aside", [0.0, 3.0])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_free_vectors_are_told_of_the_shift(off: float, back: bool, aside: float, dimensions: int) -> None:
    """Whichever way their columns run, and whatever axis they turn about."""

    def made(offset: float) -> gt.Geometry:
        if dimensions == 2:
            astra = gt.parallel2d(60, 64, 0.5, offset).to_astra()
        else:
            astra = gt.parallel3d(60, (2, 64), 0.5, (0.0, offset)).to_astra()
        table = astra["Vectors"] = astra["Vectors"].copy()
        if back:
            table[:, 2 * dimensions : 3 * dimensions] *= -1
        table[:, dimensions] += aside
        return gt.from_astra(astra)

    true, said = made(0.5 * off + 1), made(1.0)
    p = gt.Phantom(gt.Ellipsoid(1.0, (6.0, 4.0, math.inf), (1.5 + aside, 1.0, 0.0))).project(true, 2, np.float64)
    volume = gt.Volume((2, 24, 24)[3 - dimensions :], 0.5, (0.0, 0.0, aside)[3 - dimensions :])
    sign = -1 if back else 1
    axis, shift = (31.5 - sign * (off + 2), sign * off)
    with pytest.warns(gt.CentreWarning, match=rf"column {axis:.1f} of .* column {axis + shift:.1f}; give geometry\."):
        gt.fbp(gt.NumpyProjector(said, volume), p)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gt.fbp(gt.NumpyProjector(said, volume), p)
        gt.fbp(gt.NumpyProjector(said.shifted(0, shift), volume), p)
        gt.fbp(gt.NumpyProjector(true, volume), p)
    (one,) = told
    assert f"shifted(0, {shift:.3g})" in str(one.message)


@pytest.mark.parametrize("off", [0.0, -6.0, 1.0])
def test_a_right_axis_is_no_matter(device: gpuopt.Device, off: float) -> None:
    scan = gt.parallel2d(90, 64, 1.0, off)
    with warnings.catch_warnings():
        warnings.simplefilter("error", gt.CentreWarning)
        p = sinogram(scan)
        gt.fbp(gt.Projector(scan, VOLUME, device=device), p)
        noisy = p + np.random.default_rng(0).normal(0, 0.02 * p.max(), p.shape).astype(np.float32)
        gt.fbp(gt.Projector(scan, VOLUME, device=device), noisy)


@pytest.mark.parametrize(
    ("angles", "field"),
    [(np.linspace(0, math.pi, 6, endpoint=False), 40.0), (np.linspace(0, 2, 60), 40.0), (90, 90.0)],
    ids=["few", "limited", "truncated"],
)
def test_what_cannot_be_told_is_not_told(device: gpuopt.Device, angles: object, field: float) -> None:
    p = sinogram(gt.parallel2d(angles, 64, 1.0, 1.0), field)
    told = gt.Projector(gt.parallel2d(angles, 64, 1.0), VOLUME, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", gt.CentreWarning)
        gt.fbp(told, p, limited_angle=True)


def test_few_angles_of_vectors_across_half_a_turn_stay_few() -> None:
    """There they jump from pi to -pi."""
    angles = np.deg2rad(np.linspace(170, 190, 40))
    scan = gt.parallel2d(angles, 64)
    p = np.roll(sinogram(scan, 30), 3, axis=-1)
    for geometry in (scan, gt.from_astra(scan.to_astra())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", gt.CentreWarning)
            gt.fbp(gt.NumpyProjector(geometry, VOLUME), p, limited_angle=True)


def test_swapped_axes_are_named(device: gpuopt.Device) -> None:
    scan = gt.parallel2d(90, 64, 1.0)
    A = gt.Projector(scan, VOLUME, device=device)
    with pytest.raises(gpuopt.ArrayError, match="it looks transposed"):
        gt.fbp(A, np.ascontiguousarray(sinogram(scan).T))
