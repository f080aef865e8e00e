"""Means over several rays a pixel: held against finer detectors, the transpose, what they bring, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ParameterError
from iterations import MatrixOperator
from rays import apart
from scans import SCANS

SMALL: dict[str, tuple[gt.Geometry, gt.Volume]] = {
    "parallel": (gt.parallel2d(7, 12, 2.0, offset=0.7), gt.Volume((16, 15), 1.1)),
    "fan": (gt.fan(7, 60.0, 90.0, 13, 2.5, curved=True, offset=-1.0), gt.Volume((16, 15), 1.1)),
    "cone": (gt.circular(5, 60.0, 90.0, (6, 11), (3.0, 2.5), offset=(1.0, -2.0)), gt.Volume((7, 12, 11), 1.2)),
}


ROUND = SCANS["helical Rc=540"], gt.from_astra(SCANS["helical Rc=540"].to_astra())  # by angles, by free vectors


@pytest.mark.parametrize("name", SCANS)
def test_a_shifted_detector_has_the_rays_of_a_finer_one(name: str) -> None:
    scan = SCANS[name]
    flat = scan.dimensions == 2
    moved, fine = scan.shifted(0.25, -0.25), scan.refined(2)
    for view in range(scan.views):
        there = fine.rays(view).direction[::2] if flat else fine.rays(view).direction[1::2, ::2]
        np.testing.assert_allclose(moved.rays(view).direction, there, atol=1e-12)
        origin, finer = (one.rays(view).origin for one in (moved, fine))
        if scan.parallel:
            finer = finer[::2] if flat else finer[1::2, ::2]
        np.testing.assert_allclose(origin, finer, atol=1e-9)


def test_a_slice_of_free_vectors_stays_in_its_plane() -> None:
    scan = gt.from_astra(gt.fan(7, 60.0, 90.0, 13, 2.5).to_astra())
    one, other = scan.shifted(3.0, 1.0), scan.shifted(0.0, 1.0)
    for moved, wanted in zip(one.rays(0), other.rays(0), strict=True):
        np.testing.assert_array_equal(moved, wanted)
    with pytest.raises(ParameterError, match="v"):
        scan.shifted(math.nan, 0.0)


@pytest.mark.parametrize("scan", ROUND, ids=["angles", "vectors"])
@pytest.mark.parametrize("half", [Fraction(1, 2), np.float32(0.5)], ids=["ratio", "NumPy"])
def test_a_detector_is_shifted_by_any_number(scan: gt.Geometry, half: Any) -> None:
    moved, wanted = scan.shifted(half, half).frames, scan.shifted(0.5, 0.5).frames
    for got, expected in zip(moved, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def means(fine: np.ndarray, times: int, flat: bool) -> np.ndarray:
    for axis in (1,) if flat else (1, 2):
        shape = fine.shape
        fine = fine.reshape(*shape[:axis], shape[axis] // times, times, *shape[axis + 1 :]).mean(axis=axis + 1)
    return fine


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_projections_are_means_of_a_finer_detector(name: str, times: int) -> None:
    scan, volume = SMALL[name]
    A = gt.Supersampled(gt.NumpyProjector(scan, volume), times)
    x = np.random.default_rng(3).normal(size=volume.shape)
    fine = gt.NumpyProjector(scan.refined(times), volume)(x)
    np.testing.assert_allclose(A(x), means(fine, times, volume.ndim == 2), atol=1e-12)
    assert A.adjoint_error() < 1e-14
    assert f"{times} rays a pixel" in repr(A)
    views = np.array([4, 1])
    np.testing.assert_allclose(A.subset(views)(x), A(x)[views], atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("limit", [None, 40_000])
def test_on_devices(device: gpuopt.Device, name: str, limit: int | None) -> None:
    """Where data stay on the device, and where they pass through it in parts."""
    scan, volume = SMALL[name]
    A = gt.Projector(scan, volume, device=device, memory_limit=limit)
    over, plain = gt.Supersampled(A, 2), gt.Supersampled(gt.NumpyProjector(scan, volume), 2)
    x = np.random.default_rng(4).normal(size=volume.shape).astype(np.float32)
    y = np.random.default_rng(5).normal(size=scan.shape).astype(np.float32)
    assert apart(over(x), plain(x.astype(float))) < 5e-6
    assert apart(over.T(y), plain.T(y.astype(float))) < 5e-6
    assert over.adjoint_error() < 1e-6
    p = plain(np.abs(x).astype(float))
    for algorithm in (gt.sirt, gt.cgls, gt.os_em):
        ours, theirs = (algorithm(one, p.astype(kind), 3).image for one, kind in ((over, np.float32), (plain, float)))
        assert apart(ours, theirs) < 1e-3


def test_what_it_brings() -> None:
    """Pixels as wide as three voxels, which took means over 12 lines."""
    volume = gt.Volume((48, 48))
    scan = gt.parallel2d(90, 20, 3.0)
    truth = gt.shepp_logan(2, field=46).sample(volume, 4, float)
    p = gt.shepp_logan(2, field=46).project(scan, 12, float)
    A = gt.NumpyProjector(scan, volume)
    images = (gt.cgls(one, p, 10).image for one in (A, gt.Supersampled(A, 2)))
    plain, over = (float(np.linalg.norm(image - truth) / np.linalg.norm(truth)) for image in images)
    assert plain == pytest.approx(0.58, abs=0.01)
    assert over == pytest.approx(0.52, abs=0.01)


@pytest.mark.parametrize("name", ["parallel", "cone"])
def test_filters_read_between_pixels_as_before(name: str) -> None:
    scan, volume = SMALL[name]
    scan = scan.subset(slice(None)) if name == "parallel" else gt.circular(60, 60.0, 90.0, (6, 11), (3.0, 2.5))
    algorithm: Any = gt.fbp if scan.parallel else gt.fdk
    p = gt.sphere(4.0).project(scan, dtype=float)
    A = gt.NumpyProjector(scan, volume)
    np.testing.assert_array_equal(algorithm(gt.Supersampled(A, 2), p), algorithm(A, p))


def test_displaced_detectors_and_vectors_are_filtered_too() -> None:
    scan = gt.parallel2d(np.arange(60) * 2 * math.pi / 60, 20, 1.0, 6.0)
    A = gt.NumpyProjector(scan, gt.Volume((16, 16)))
    p = gt.sphere(6.0).project(scan, dtype=float)
    np.testing.assert_array_equal(gt.fbp(gt.Supersampled(A, 2), p), gt.fbp(A, p))


def test_views_are_named_in_every_way() -> None:
    A = gt.Supersampled(gt.NumpyProjector(*SMALL["fan"]), 2)
    for views in ([0, 2], slice(0, 3, 2), np.arange(A.views) % 2 == 0):
        found = A.subset(views)
        wanted = A.geometry.view_angles[views]
        assert found.data_shape == (len(wanted), *A.data_shape[1:])
        np.testing.assert_array_equal(found.geometry.view_angles, wanted)


@pytest.mark.parametrize("name", SMALL)
def test_of_one_that_is_supersampled_itself_each_ray_is_divided(name: str) -> None:
    A = gt.NumpyProjector(*SMALL[name])
    once, twice = gt.Supersampled(A, 6), gt.Supersampled(gt.Supersampled(A, 2), 3)
    x = np.random.default_rng(6).normal(size=A.image_shape)
    np.testing.assert_array_equal(twice(x), once(x))
    assert (twice.times, twice.operator) == (6, A)
    with pytest.raises(ParameterError, match=r"^times: with those of A it makes 18 rays a pixel; give at most 16"):
        gt.Supersampled(once, 3)


def test_bad_input() -> None:
    A = gt.NumpyProjector(*SMALL["fan"])
    for times in (0, 17, 2.0, True):
        with pytest.raises(ParameterError, match="times: "):
            gt.Supersampled(A, times)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="A: "):
        gt.Supersampled(MatrixOperator(np.ones((3, 2))), 2)  # type: ignore[arg-type]
    for scan in (A.geometry, *ROUND):
        with pytest.raises(ParameterError, match="u: "):
            scan.shifted(0.0, math.nan)
