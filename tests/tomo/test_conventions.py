"""Scans as ASTRA's slices and scikit-image describe them: arrays are taken as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from scans import interpolated

N, COLUMNS = 24, 33
ANGLES = np.linspace(0.1, np.pi + 0.1, 20, endpoint=False)
TURN = np.linspace(0.1, 2 * np.pi + 0.1, 40, endpoint=False)
PARALLEL = {"type": "parallel", "DetectorWidth": 1.2, "DetectorCount": COLUMNS, "ProjectionAngles": ANGLES}
DISTANCES = {"DistanceOriginSource": 60.0, "DistanceOriginDetector": 30.0}
FAN = {"type": "fanflat", "DetectorWidth": 1.8, "DetectorCount": COLUMNS, "ProjectionAngles": TURN, **DISTANCES}


def image() -> np.ndarray:
    """A disc and a smaller one, off the middle in both axes."""
    y, x = np.mgrid[:N, :N] - (N - 1) / 2
    return (np.hypot(x - 2, y + 3) < 6).astype(np.float32) + np.float32(2) * (np.hypot(x + 4, y - 5) < 2.5)


def mirrored(scan: gt.Geometry) -> tuple[gt.NumpyProjector, np.ndarray]:
    """The scan's projector, and what ASTRA's picture is there."""
    return gt.NumpyProjector(scan, gt.Volume((N, N))), np.ascontiguousarray(image()[::-1])


@pytest.mark.parametrize(
    ("astra", "scan"),
    [(PARALLEL, gt.parallel2d(ANGLES, COLUMNS, 1.2)), (FAN, gt.fan(TURN, 60.0, 90.0, COLUMNS, 1.8))],
    ids=["parallel", "fanflat"],
)
def test_a_slice_of_astras_is_the_same_scan_of_the_mirrored_image(
    device: gpuopt.Device, astra: dict[str, Any], scan: gt.Geometry
) -> None:
    made, volume = gt.from_astra(astra), gt.Volume((N, N))
    other, turned = mirrored(scan)
    expected = other(turned)
    A = gt.Projector(made, volume, device=device)
    assert made.shape == scan.shape
    np.testing.assert_allclose(A(image()), expected, atol=2e-5 * expected.max())
    filtered = gt.fbp(other, expected)[::-1]
    np.testing.assert_allclose(gt.fbp(A, expected), filtered, atol=interpolated(device, 1e-4, filtered))
    back = gt.Projector(gt.from_astra(scan.to_astra()), volume, device=device)  # to_astra mirrors, too
    np.testing.assert_allclose(back(turned), expected, atol=2e-5 * expected.max())


def test_vectors_of_slices_are_those_of_their_angles() -> None:
    for given in (PARALLEL, FAN):
        scan = gt.from_astra(given)
        again = gt.from_astra(scan.to_astra())
        assert scan.to_astra()["type"] == {"parallel": "parallel_vec", "fanflat": "fanflat_vec"}[given["type"]]
        A, B = (gt.NumpyProjector(each, gt.Volume((N, N))) for each in (scan, again))
        np.testing.assert_allclose(A(image()), B(image()), atol=1e-5)
        fine = again.refined(3)
        assert (fine.detector.rows, fine.detector.columns) == (1, 3 * COLUMNS)
        means = gt.NumpyProjector(fine, gt.Volume((N, N)))(image()).reshape(scan.views, COLUMNS, 3).mean(axis=2)
        assert np.abs(means - A(image())).max() < 0.15 * np.abs(means).max()


def test_slices_beside_astra() -> None:
    astra = pytest.importorskip(
        "astra", reason="ASTRA is not installed: pip install astra-toolbox", exc_type=ImportError
    )
    theirs = astra.create_proj_geom("parallel", 1.2, COLUMNS, ANGLES)
    projector = astra.create_projector("linear", theirs, astra.create_vol_geom(N, N))
    expected = astra.create_sino(image(), projector)[1]
    found = gt.NumpyProjector(gt.from_astra(theirs), gt.Volume((N, N)))(image())
    assert np.linalg.norm(found - expected) < 1e-4 * np.linalg.norm(expected)
    theirs = astra.create_proj_geom("fanflat", 1.8, COLUMNS, TURN, 60.0, 30.0)
    projector = astra.create_projector("line_fanflat", theirs, astra.create_vol_geom(N, N))
    expected = astra.create_sino(image(), projector)[1]
    for geometry in (theirs, astra.geom_2vec(theirs)):
        found = gt.NumpyProjector(gt.from_astra(geometry), gt.Volume((N, N)))(image())
        assert np.linalg.norm(found - expected) < 0.06 * np.linalg.norm(expected)  # another kernel along the ray


@pytest.mark.parametrize("shape", [(32, 32), (33, 33)])
@pytest.mark.parametrize("circle", [True, False])
def test_sinograms_of_scikit_image_are_taken_as_they_are(shape: tuple[int, int], circle: bool) -> None:
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    theta = np.linspace(0, 180, 60, endpoint=False)
    y, x = np.mgrid[: shape[0], : shape[1]]
    round_ = np.exp(-(((x - shape[1] // 2 - 4) / 4) ** 2 + ((y - shape[0] // 2 + 3) / 3) ** 2)).astype(np.float32)
    round_[round_ < 1e-3] = 0  # outside the circle it must be 0
    sinogram = transform.radon(round_, theta, circle=circle)
    scan, volume = gt.from_skimage(theta, shape, circle)
    A = gt.NumpyProjector(scan, volume)
    assert A(round_).T.shape == sinogram.shape
    assert np.abs(A(round_).T - sinogram).max() < 0.02 * sinogram.max()
    if circle:
        there = transform.iradon(sinogram, theta, filter_name="ramp", circle=True)
        here = gt.fbp(A, np.ascontiguousarray(sinogram.T))
        inside = np.hypot(x - shape[1] // 2, y - shape[0] // 2) < shape[0] // 2 - 1
        assert np.abs(here - there)[inside].max() < 1e-6


@pytest.mark.parametrize("shape", [(21, 14), (14, 21), (21, 15), (15, 21), (22, 15), (15, 22), (22, 14), (14, 22)])
@pytest.mark.parametrize("circle", [True, False])
def test_the_axis_of_scikit_image_in_images_longer_than_wide(shape: tuple[int, int], circle: bool) -> None:
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    theta, dot = np.array([0.0, 30.0, 90.0, 135.0]), np.zeros(shape)
    dot[shape[0] // 2 - 1 : shape[0] // 2 + 2, shape[1] // 2 - 1 : shape[1] // 2 + 2] = 1
    theirs = transform.radon(dot, theta, circle=circle).T
    ours = gt.NumpyProjector(*gt.from_skimage(theta, shape, circle))(dot)
    columns = np.arange(theirs.shape[1])
    np.testing.assert_allclose((ours @ columns) / ours.sum(axis=1), (theirs @ columns) / theirs.sum(axis=1), atol=0.03)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: gt.from_astra({**PARALLEL, "type": "matrix"}),
            ParameterError,
            "'matrix' is not known; give one of",
        ),
        (lambda: gt.from_astra({"type": "parallel", "DetectorCount": 3}), ParameterError, "'ProjectionAngles' is miss"),
        (
            lambda: gt.from_astra({"type": "fanflat_vec", "DetectorCount": 3, "Vectors": np.ones((2, 12))}),
            ArrayError,
            r"Vectors: their shape is \(2, 12\); give \(views, 6\)",
        ),
        (
            lambda: gt.from_astra({"type": "parallel_vec", "DetectorCount": 3, "Vectors": [[1, 0, 0, 0, 1, 0]]}),
            ParameterError,
            "view 0: its source lies in the detector's plane",
        ),
        (lambda: gt.fan(9, 60.0, 90.0, 9, 1.0, curved=True).to_astra(), ParameterError, "no curved detector in 2D"),
        (lambda: gt.from_skimage([], 8), ArrayError, "theta"),
        (lambda: gt.from_skimage([0.0, np.nan], 8), ArrayError, "theta"),
        (lambda: gt.from_skimage(10, (8, 8, 8)), ParameterError, "shape: .* has 3 entries"),
    ],
)
def test_what_is_no_such_scan_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
