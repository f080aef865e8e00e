"""A scan from a file, noisy and with pixels of NaN, reconstructed beside scikit-image and ASTRA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import exchange
import gpuopt
import gpuopt.tomo as gt
from rays import apart

N, VIEWS, FIELD, DENSITY = 65, 90, 56.0, 0.03
PIXELS_OF_NAN = (0, 21), (0, 22), (1, 40)  # row, column


class Measured(NamedTuple):
    """A row of the scan as read from its file, float32; the same without noise; and the head."""

    p: np.ndarray
    clean: np.ndarray
    truth: np.ndarray
    A: gt.NumpyProjector


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    pytest.importorskip("h5py", reason="h5py is not installed")
    volume = gt.Volume((N, N))
    theta = np.arange(VIEWS) * 180 / VIEWS
    scan = gt.parallel3d(theta, (2, N), units="deg")
    head = gt.shepp_logan(2, field=FIELD, density=DENSITY)
    clean = head.project(scan, 2, float)
    random = np.random.default_rng(11)
    beam = 20000 * random.uniform(0.7, 1.3, (2, N))
    counted = (random.poisson(beam * np.exp(-clean)), random.poisson(beam, (12, 2, N)), np.zeros((6, 2, N)))
    data, white, dark = ((random.normal(50, 1, part.shape) + part).astype(np.float32) for part in counted)
    for row, column in PIXELS_OF_NAN:
        data[:, row, column] = white[:, row, column] = np.nan
    path = tmp_path_factory.mktemp("scan") / "head.h5"
    read = gt.read_scan(exchange.write_exchange(path, exchange.Counts(data, white, dark, theta, clean)))
    assert sorted(map(tuple, np.argwhere(read.dead()).tolist())) == sorted(PIXELS_OF_NAN)
    assert gt.find_centre(read.projections(), read.angles) == pytest.approx(0, abs=0.1)
    p = np.ascontiguousarray(read.projections(0)[:, 0])
    plane = gt.parallel2d(read.angles, N)
    return Measured(p, clean[:, 0], head.sample(volume, 4, float), gt.NumpyProjector(plane, volume))


def wrong(image: np.ndarray, truth: np.ndarray) -> float:
    """The error within the circle that all views see, as a part of the head."""
    seen = np.linalg.norm(gt.Volume((N, N)).points(), axis=-1) < N // 2 - 1
    return float(np.linalg.norm((image - truth)[seen]) / np.linalg.norm(truth[seen]))


def test_what_is_read_is_the_head(measured: Measured) -> None:
    """Noise and three lost pixels cost little: line integrals and image are those without, but for the noise."""
    assert np.abs(measured.p - measured.clean).mean() < 0.02
    given, clean = (wrong(gt.fbp(measured.A, p, window="hann"), measured.truth) for p in (measured.p, measured.clean))
    assert given < 1.2 * clean


def test_fbp_is_that_of_scikit_image(measured: Measured) -> None:
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    theta = np.rad2deg(measured.A.geometry.view_angles)
    other = transform.iradon(measured.p.T, theta=theta, filter_name="ramp", circle=True)[::-1]
    assert wrong(gt.fbp(measured.A, measured.p), other) < 1e-6


def test_sart_comes_as_near_as_that_of_scikit_image(measured: Measured) -> None:
    """Its weights are others (a window along each ray, no sums of columns), so that the steps differ: what counts is
    how near to the head each comes before noise takes over."""
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    b, theta = measured.p.astype(float), np.rad2deg(measured.A.geometry.view_angles)
    theirs, ours, image = list[float](), list[float](), None
    for _ in range(4):
        image = transform.iradon_sart(b.T, theta=theta, image=image, relaxation=0.15)
        theirs.append(wrong(image[::-1], measured.truth))
    gt.sart(measured.A, b, 5, relaxation=0.3, callback=lambda s: ours.append(wrong(s.image, measured.truth)))
    assert min(ours) < 1.05 * min(theirs)


def astra_of(measured: Measured) -> tuple[Callable[[str, int], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """ASTRA on the host along the same rays: an algorithm after so many iterations, and the projection of an image."""
    astra = pytest.importorskip(
        "astra", reason="ASTRA is not installed: pip install astra-toolbox", exc_type=ImportError
    )
    shape = astra.create_vol_geom(N, N)
    scan = astra.create_proj_geom("parallel", 1.0, N, measured.A.geometry.view_angles)
    projector = astra.create_projector("linear", scan, shape)

    def run(algorithm: str, iterations: int) -> np.ndarray:
        made: dict[str, Any] = astra.astra_dict(algorithm)
        made["ProjectorId"] = projector
        made["ProjectionDataId"] = astra.data2d.create("-sino", scan, measured.p)
        made["ReconstructionDataId"] = astra.data2d.create("-vol", shape)
        astra.algorithm.run(astra.algorithm.create(made), iterations)
        return np.asarray(astra.data2d.get(made["ReconstructionDataId"]))[::-1]

    def forward(image: np.ndarray) -> np.ndarray:
        given = np.ascontiguousarray(image[::-1], dtype=np.float32)
        return np.asarray(astra.create_sino(given, projector)[1])

    return run, forward


@pytest.mark.parametrize("iterations", [1, 10, 50])
def test_sirt_is_that_of_astra(measured: Measured, any_device: gpuopt.Device, iterations: int) -> None:
    """Joseph's method for both, the same voxels and iterations; ASTRA computes in float32."""
    run, forward = astra_of(measured)
    assert apart(measured.A(measured.truth), forward(measured.truth)) < 1e-4
    theirs = run("SIRT", iterations)
    for A in (measured.A, gt.Projector(measured.A.geometry, measured.A.volume, device=any_device)):
        ours = np.asarray(gt.sirt(A, measured.p, iterations))
        assert np.linalg.norm(ours - theirs) < 5e-5 * np.linalg.norm(theirs)


def test_fbp_comes_as_near_as_that_of_astra(measured: Measured) -> None:
    """On the host ASTRA projects back along its rays, where others read between pixels: what counts is the head."""
    theirs = wrong(astra_of(measured)[0]("FBP", 1), measured.truth)
    assert wrong(gt.fbp(measured.A, measured.p), measured.truth) == pytest.approx(theirs, rel=0.03)
