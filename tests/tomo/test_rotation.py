"""Free vectors that are a plain rotation are filtered as the scan by angles that they are; others are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ParameterError
from gpuopt.tomo.rotation import rotation_of

VIEWS, DET = 40, (4, 40)
BODY = gt.sphere(9.0, (1.0, -2.0, 0.5))
VOLUME = gt.Volume((2, 16, 16))
SCANS: dict[str, gt.Geometry] = {
    "flat": gt.circular(VIEWS, 80.0, 130.0, DET, (1.1, 1.0), offset=(0.5, 3.0), z0=0.7),
    "short": gt.circular(np.arange(VIEWS) * 0.095 - 1, 80.0, 130.0, DET, (1.1, 1.0)),
    "arc": gt.circular(VIEWS, 80.0, 130.0, DET, (1.1, 1.0), True, offset=(0.5, -3.0)),
    "parallel": gt.parallel3d(VIEWS, DET, (1.1, 0.8), offset=(0.5, 1.0)),
}


def filtered(scan: gt.Geometry, p: np.ndarray, volume: gt.Volume = VOLUME) -> np.ndarray:
    return np.asarray((gt.fbp if scan.parallel else gt.fdk)(gt.NumpyProjector(scan, volume), p))


@pytest.mark.parametrize("name", list(SCANS))
def test_vectors_are_filtered_as_the_scan_that_they_are(name: str) -> None:
    scan = SCANS[name]
    p = BODY.project(scan, dtype=float)
    np.testing.assert_allclose(filtered(gt.from_astra(scan.to_astra()), p), filtered(scan, p), atol=1e-9)


@pytest.mark.parametrize("name", list(SCANS))
def test_an_axis_beside_the_origin(name: str) -> None:
    """What turns about another place sees a volume that lies as much elsewhere."""
    scan = SCANS[name]
    astra = scan.to_astra()
    moved = np.array([4.0, -3.0, 0.0])
    astra["Vectors"] = astra["Vectors"].copy()
    for first in (3,) if scan.parallel else (0, 3):
        astra["Vectors"][:, first : first + 3] += moved
    p = BODY.project(scan, dtype=float)
    there = gt.Volume(VOLUME.shape, centre=(0.0, -3.0, 4.0))
    got = filtered(gt.from_astra(astra), p, there)
    np.testing.assert_allclose(got, filtered(scan, p), atol=1e-7)


@pytest.mark.parametrize("name", list(SCANS))
@pytest.mark.parametrize("reversed_axes", [(1, 2), (1,), (2,)])
def test_rows_and_columns_may_run_back(name: str, reversed_axes: tuple[int, ...]) -> None:
    scan = SCANS[name]
    if name == "arc" and reversed_axes != (1, 2):
        pytest.skip("such a cylinder would turn its back to the source")
    astra = scan.to_astra()
    table = astra["Vectors"] = astra["Vectors"].copy()
    for axis in reversed_axes:
        table[:, {1: slice(9, 12), 2: slice(6, 9)}[axis]] *= -1
    p = BODY.project(scan, dtype=float)
    got = filtered(gt.from_astra(astra), np.ascontiguousarray(np.flip(p, reversed_axes)))
    np.testing.assert_allclose(got, filtered(scan, p), atol=1e-9)


def test_a_detector_of_parallel_beams_may_stand_askew() -> None:
    """It may lie anywhere along its beam, and be turned about z: what counts is how it stands across the beam."""
    scan = SCANS["parallel"]
    astra = scan.to_astra()
    table = astra["Vectors"] = astra["Vectors"].copy()
    table[:, 3:6] += np.linspace(-50, 50, VIEWS)[:, np.newaxis] * table[:, :3]
    table[:, 6:9] += 0.3 * table[:, :3]
    table[:, :3] *= 7.0
    p = BODY.project(scan, dtype=float)
    np.testing.assert_allclose(filtered(gt.from_astra(astra), p), filtered(scan, p), atol=1e-9)


def turned_about_x(table: np.ndarray, parallel: bool) -> None:
    turn = np.array([[1, 0, 0], [0, math.cos(0.02), math.sin(0.02)], [0, -math.sin(0.02), math.cos(0.02)]])
    for first in (0, 3, 6, 9):
        table[:, first : first + 3] = table[:, first : first + 3] @ turn


def shifted(table: np.ndarray, parallel: bool) -> None:
    table[7, 3:6] += 0.2 * table[7, 6:9]


def drifting(table: np.ndarray, parallel: bool) -> None:
    table[:, 3:6] += np.linspace(0, 2, VIEWS)[:, np.newaxis] * table[:, 6:9]


def rising(table: np.ndarray, parallel: bool) -> None:
    for first in (3,) if parallel else (0, 3):
        table[:, first + 2] += np.linspace(0, 3, VIEWS)


def larger(table: np.ndarray, parallel: bool) -> None:
    table[3, 6:9] *= 1.02


def rolled(table: np.ndarray, parallel: bool) -> None:
    table[:, 6:9] += 0.02 * table[:, 9:12]


@pytest.mark.parametrize("name", ["flat", "arc", "parallel"])
@pytest.mark.parametrize("change", [turned_about_x, shifted, drifting, rising, larger, rolled])
def test_vectors_that_are_no_plain_rotation(name: str, change: Callable[[np.ndarray, bool], None]) -> None:
    scan = SCANS[name]
    if name == "arc" and change is rolled:
        pytest.skip("such a cylinder is refused when it is made")
    astra: Any = scan.to_astra()
    astra["Vectors"] = astra["Vectors"].copy()
    change(astra["Vectors"], scan.parallel)
    vectors = gt.from_astra(astra)
    with pytest.raises(ParameterError, match=r"vectors: view \d+: .* no plain rotation around z; use os_sart or sirt"):
        filtered(vectors, BODY.project(vectors, dtype=float))


@pytest.mark.parametrize("pixel", [1e-3, 1.0, 200.0])
@pytest.mark.parametrize("name", ["fan", "circular", "arc", "parallel2d", "parallel3d"])
def test_a_hundredth_of_a_pixel_is_that_of_any_pixel(name: str, pixel: float) -> None:
    """In whatever unit lengths are given; and the row of a slice has no height."""
    cone: Any = (VIEWS, 80 * pixel, 130 * pixel)
    scan: gt.Geometry = {
        "fan": gt.fan(*cone, 40, pixel),
        "circular": gt.circular(*cone, DET, pixel),
        "arc": gt.circular(*cone, DET, pixel, True),
        "parallel2d": gt.parallel2d(VIEWS, 40, pixel),
        "parallel3d": gt.parallel3d(VIEWS, DET, pixel),
    }[name]
    for part in (0.008, 0.014):
        astra: Any = scan.to_astra()
        table = astra["Vectors"] = astra["Vectors"].copy()
        first = scan.dimensions
        table[7, first : 2 * first] += part * table[7, 2 * first : 3 * first]
        vectors = gt.from_astra(astra)
        if part < 0.01:
            found = rotation_of(vectors).scan
            assert found.detector.u_offset == pytest.approx(0, abs=0.01 * pixel)
        else:
            with pytest.raises(ParameterError, match=r"vectors: view 7: .* by 0\.01\d* pixels"):
                rotation_of(vectors)


def test_vectors_of_a_displaced_detector_get_its_weights() -> None:
    scan = gt.circular(90, 80.0, 130.0, (2, 60), 0.5, offset=(0.0, 10.0))
    vectors = gt.from_astra(scan.to_astra())
    assert rotation_of(vectors).scan.detector.u_offset == pytest.approx(10.0)
    cylinder = gt.Phantom([gt.Ellipsoid(1.0, (14.0, 14.0, math.inf))])
    volume = gt.Volume((1, 28, 28))
    image = filtered(vectors, cylinder.project(vectors, dtype=float), volume)
    away = np.linalg.norm(volume.points()[..., :2], axis=-1)
    assert image[away < 12].mean() == pytest.approx(1, abs=0.01)


def test_a_helix_and_other_cylinders_are_refused() -> None:
    det: Any = (80.0, 130.0, DET, 1.0)
    for scan, word in (
        (gt.helical(VIEWS, 1, *det, 5.0), "A: fdk is for .*<helical.* os_sart"),
        (gt.circular(VIEWS, *det, radius=100.0), "A: its detector's radius is 100 mm"),
        (gt.from_astra(gt.helical(VIEWS, 1, *det, 5.0).to_astra()), "vectors: view .* no plain rotation"),
        (gt.from_astra(gt.circular(VIEWS, *det, radius=100.0).to_astra()), "vectors: view .* axis of its cylinder"),
    ):
        with pytest.raises(ParameterError, match=word):
            filtered(scan, BODY.project(scan, dtype=float))


@pytest.mark.parametrize("views", [7, 11, 97, 360])
@pytest.mark.parametrize("sdd", [200.1, 1000.3, 949.075])
def test_arcs_about_the_source_of_any_radius(views: int, sdd: float) -> None:
    """The mean of equal distances may be another number than they are."""
    scan = gt.circular(views, sdd / 2, sdd, (2, 8), 1.0, curved=True)
    p = np.zeros(scan.shape)
    p[..., 3:5] = 1
    volume = gt.Volume((1, 2, 2))
    np.testing.assert_allclose(
        filtered(gt.from_astra(scan.to_astra()), p, volume), filtered(scan, p, volume), atol=1e-9
    )
