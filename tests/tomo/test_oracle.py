"""The geometry of scans and the projections in plain NumPy, held against the oracle, which works out its own geometry:
every pair below is written down twice, once in the arguments of ``gpuopt.tomo`` and once in those of the oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt.tomo.scans import Cone
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs, reference_scan
from gpuopt.workloads.tomography.reference_scans import Grid, Scan, astra_scan, cone_scan, parallel_scan

ANGLES = np.array([0.35, 1.9, -2.2, 4.0])
TURN = 2 * math.pi


def tilted(kind: str) -> np.ndarray:
    """ASTRA's rows with detectors that are shifted, turned about all axes and mirrored; flat ones with askew pixels."""
    random, rows = np.random.default_rng(5), []
    for t in ANGLES:
        towards, along = np.array([math.sin(t), -math.cos(t), 0.1]), np.array([math.cos(t), math.sin(t), 0.07])
        u, v = -2.7 * (along + random.normal(0, 0.1, 3)), 3.1 * (np.array([0.1, -0.05, 1.0]) + random.normal(0, 0.1, 3))
        if kind == "cyl_cone_vec":
            v -= (v @ u) / (u @ u) * u
            u *= np.sign(np.cross(u, v) @ towards)  # the hollow side looks at the source
        source = (0.7 if kind == "parallel3d_vec" else 90) * towards + random.normal(0, 0.05, 3)
        rows.append([*source, *(-60 * towards + random.normal(0, 1, 3)), *u, *v, *([120.0] * (len(kind) == 12))])
    return np.array(rows)


VECTORS = {kind: tilted(kind) for kind in ("cone_vec", "cyl_cone_vec", "parallel3d_vec")}
DET, PIXEL, OFFSET = (7, 13), (3.1, 2.7), (1.3, -2.1)
FLAT: dict[str, Any] = {"sod": 90.0, "sdd": 150.0, "det": DET, "pixel": PIXEL, "offset": OFFSET}
FAN: dict[str, Any] = {"sod": 90.0, "sdd": 150.0, "det": 13, "pixel": 2.7, "offset": -2.1}
ROW = FLAT | {"det": (1, 13), "pixel": (1.0, 2.7), "offset": (0.0, -2.1), "plane": True}
HELIX = 0.4 + TURN * 1.3 * np.arange(6) / 6
ASTRA = {"DetectorRowCount": 7, "DetectorColCount": 13, "DetectorSpacingX": 2.7, "DetectorSpacingY": 3.1}

PAIRS: dict[str, tuple[gt.Geometry, Scan]] = {
    "parallel2d": (
        gt.parallel2d(5, 13, 2.7, -2.1),
        parallel_scan(math.pi * np.arange(5) / 5, (1, 13), (1.0, 2.7), (0.0, -2.1), plane=True),
    ),
    "parallel3d": (gt.parallel3d(ANGLES, DET, PIXEL, OFFSET), parallel_scan(ANGLES, DET, PIXEL, OFFSET)),
    "fan flat": (gt.fan(ANGLES, **FAN), cone_scan(ANGLES, **ROW)),
    "fan arc": (gt.fan(5, **FAN, curved=True), cone_scan(TURN * np.arange(5) / 5, **ROW, radius=150.0)),
    "fan radius": (gt.fan(ANGLES, **FAN, radius=110.0), cone_scan(ANGLES, **ROW, radius=110.0)),
    "circular": (gt.circular(5, **FLAT, z0=2.0), cone_scan(TURN * np.arange(5) / 5, **FLAT, z0=2.0)),
    "circular arc": (gt.circular(ANGLES, **FLAT, curved=True), cone_scan(ANGLES, **FLAT, radius=150.0)),
    "circular radius": (gt.circular(ANGLES, **FLAT, radius=70.0), cone_scan(ANGLES, **FLAT, radius=70.0)),
    "helical": (
        gt.helical(6, 1.3, **FLAT, pitch=9.0, start=0.4, z0=-1.5),
        cone_scan(HELIX, **FLAT, pitch=9.0, z0=-1.5, t_ref=0.4 + TURN * 1.3 * 5 / 12),
    ),
    "helical falling": (
        gt.helical(6, -1.3, **FLAT, pitch=-9.0, t_ref=0.2),
        cone_scan(0.4 - HELIX, **FLAT, pitch=-9.0, t_ref=0.2),
    ),
    "helical arc": (
        gt.helical(ANGLES, None, **FLAT, pitch=9.0, curved=True),
        cone_scan(ANGLES, **FLAT, pitch=9.0, t_ref=(0.35 + 4.0) / 2, radius=150.0),
    ),
    "helical radius": (
        gt.helical(ANGLES, None, **FLAT, pitch=9.0, t_ref=0.0, radius=240.0),
        cone_scan(ANGLES, **FLAT, pitch=9.0, radius=240.0),
    ),
    **{kind: (gt.from_vectors(rows, DET, kind), astra_scan(kind, rows, DET)) for kind, rows in VECTORS.items()},
    "astra cone": (
        gt.from_astra(
            {"type": "cone", "ProjectionAngles": ANGLES, "DistanceOriginSource": 90, "DistanceOriginDetector": 60}
            | ASTRA
        ),
        cone_scan(ANGLES, 90.0, 150.0, DET, PIXEL),
    ),
    "astra parallel3d": (
        gt.from_astra({"type": "parallel3d", "ProjectionAngles": ANGLES} | ASTRA),
        parallel_scan(ANGLES, DET, PIXEL),
    ),
    "astra cyl_cone_vec": (
        gt.from_astra({"type": "cyl_cone_vec", "Vectors": VECTORS["cyl_cone_vec"]} | ASTRA),
        astra_scan("cyl_cone_vec", VECTORS["cyl_cone_vec"], DET),
    ),
}
NAMES = list(PAIRS)


def volumes(geometry: gt.Geometry) -> tuple[gt.Volume, Grid]:
    numbers = (8, 11), (2.0, 1.5), (1.0, -2.0)
    if geometry.dimensions == 3:
        numbers = (5, 8, 11), (2.5, 2.0, 1.5), (0.5, 1.0, -2.0)  # type: ignore[assignment]
    return gt.Volume(*numbers), Grid(*numbers)


def places(geometry: gt.Geometry) -> np.ndarray:
    found = np.random.default_rng(2).uniform(-18, 18, (40, 3))
    return found * (1, 1, geometry.dimensions - 2)


def same_scan(one: Scan, other: Scan, tolerance: float = 1e-11) -> None:
    for name in ("source", "centre", "u", "v"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=tolerance, err_msg=name)
    for name in ("rows", "columns", "parallel", "radius", "plane", "shape"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("name", NAMES)
def test_frames_and_shapes(name: str) -> None:
    geometry, scan = PAIRS[name]
    found = geometry.frames
    for mine, theirs in zip(found, (scan.source, scan.centre, scan.u, scan.v), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-11)
    assert (geometry.shape, geometry.parallel, geometry.radius) == (scan.shape, scan.parallel, scan.radius)


@pytest.mark.parametrize("name", NAMES)
def test_points_fall_on_the_same_pixels(name: str) -> None:
    geometry, scan = PAIRS[name]
    x = places(geometry)
    for view in range(scan.views):
        found, expected = geometry.project(x, view), oracle.project(scan, view, x)
        np.testing.assert_allclose(found.column, expected.column, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.row, expected.row, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.density, expected.density, rtol=1e-11)
        assert (expected.density > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_rays_are_the_same_lines(name: str) -> None:
    geometry, scan = PAIRS[name]
    for view in range(scan.views):
        start, direction = oracle.rays(scan, view)
        found = geometry.rays(view)
        turned = -1 if scan.parallel else 1  # parallel rays run from the detector's side in the oracle
        np.testing.assert_allclose(found.direction.reshape(-1, 3), turned * direction, atol=1e-13)
        between = np.broadcast_to(found.origin, found.direction.shape).reshape(-1, 3) - start
        np.testing.assert_allclose(np.cross(between, direction), 0, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if PAIRS[name][1].radius is None])
def test_matrices_take_points_to_the_same_pixels(name: str) -> None:
    geometry, scan = PAIRS[name]
    volume, grid = volumes(geometry)
    voxels = np.arange(volume.size)
    index = np.stack([*np.unravel_index(voxels, volume.shape)[::-1], np.zeros(volume.size)][:3], axis=1)
    for view in range(scan.views):
        column, row, w = geometry.matrices(volume)[view] @ np.append(index, np.ones((volume.size, 1)), axis=1).T
        expected = oracle.project(scan, view, grid.centres(voxels))
        np.testing.assert_allclose(column / w, expected.column, rtol=0, atol=1e-9)
        np.testing.assert_allclose(row / w, expected.row, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(PAIRS[name][0], Cone)])
def test_weights_of_filtered_views(name: str) -> None:
    geometry, scan = PAIRS[name]
    assert isinstance(geometry, Cone)
    x, (_, grid) = places(geometry), volumes(geometry)
    for view in range(scan.views):
        expected = oracle.weights_at(scan, grid, x, view, "fdk")
        np.testing.assert_allclose(geometry.fdk_weight(x, view), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["fan flat", "fan arc", "fan radius"])
def test_half_a_fan_is_the_angle_of_the_far_edge(name: str) -> None:
    geometry, scan = PAIRS[name]
    assert isinstance(geometry, Cone)
    middles = oracle.pixels(reference_scan(geometry.refined(999)), 0)[0]  # the outermost lies 1.35 um from the edge
    beams = middles - scan.source[0]
    angles = np.arctan2(np.linalg.norm(np.cross(beams, -scan.source[0]), axis=1), beams @ -scan.source[0])
    assert geometry.half_fan == pytest.approx(angles.max(), abs=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_oracle_is_told_of_a_geometry(name: str) -> None:
    """The adapter of problems and tests, also of subsets and of finer pixels."""
    geometry, scan = PAIRS[name]
    same_scan(reference_scan(geometry), scan)
    volume, grid = volumes(geometry)
    assert reference_inputs(geometry, volume)[1] == grid
    some = reference_scan(geometry.subset([2, 0]))
    for part, whole in ((some.source, scan.source), (some.centre, scan.centre), (some.u, scan.u), (some.v, scan.v)):
        np.testing.assert_allclose(part, whole[[2, 0]], rtol=0, atol=1e-11)
    fine = reference_scan(geometry.refined(3))
    np.testing.assert_allclose(3 * fine.u, scan.u, atol=1e-11)
    np.testing.assert_allclose(fine.centre, scan.centre, atol=1e-11)
    coarse = oracle.pixels(fine, 1)[:: 1 if scan.plane else 3, ::3]
    assert coarse.shape == oracle.pixels(scan, 1).shape
    middle = oracle.pixels(fine, 1)[0 if scan.plane else 1 :: 1 if scan.plane else 3, 1::3]
    np.testing.assert_allclose(middle, oracle.pixels(scan, 1), atol=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if not PAIRS[name][1].plane])
def test_rows_for_astra_are_the_same_scan(name: str) -> None:
    geometry, scan = PAIRS[name]
    made = geometry.to_astra()
    assert len(made["Vectors"][0]) == (13 if scan.radius else 12)
    same_scan(astra_scan(made["type"], made["Vectors"], (made["DetectorRowCount"], made["DetectorColCount"])), scan)


def test_voxels_lie_at_the_same_places() -> None:
    for name in ("fan flat", "circular"):
        volume, grid = volumes(PAIRS[name][0])
        voxels = np.arange(volume.size)
        np.testing.assert_allclose(volume.points().reshape(-1, 3), grid.centres(voxels), atol=1e-13)
        index = np.stack([*np.unravel_index(voxels, volume.shape)[::-1], np.zeros(volume.size)][:3], axis=1)
        found = volume.affine @ np.append(index, np.ones((volume.size, 1)), axis=1).T
        np.testing.assert_allclose(found[:3].T, grid.centres(voxels), atol=1e-13)
        assert volume.cell == pytest.approx(grid.cell)
        part = volume.part(1, 4)
        first = math.prod(volume.shape[1:])
        np.testing.assert_allclose(part.points().reshape(-1, 3), grid.centres(voxels[first : 4 * first]), atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_the_numpy_projector(name: str) -> None:
    geometry, scan = PAIRS[name]
    volume, grid = volumes(geometry)
    random = np.random.default_rng(3)
    x, p = random.normal(size=volume.shape), random.normal(size=geometry.shape)
    A = gt.NumpyProjector(geometry, volume)
    np.testing.assert_allclose(A(x), oracle.joseph(scan, grid, x), rtol=0, atol=1e-10)
    np.testing.assert_allclose(A.T(p), oracle.joseph_adjoint(scan, grid, p), rtol=0, atol=1e-10)
    for weight in oracle.WEIGHTS:
        expected = oracle.back_project(scan, grid, p, weight)
        found = A.back_project(p, weight)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    fast = gt.NumpyProjector(geometry, volume, "fast")
    np.testing.assert_allclose(fast.T(p), oracle.back_project(scan, grid, p, "adjoint"), rtol=0, atol=1e-10)
    # Both see something: the image is not beside the detector.
    assert np.linalg.norm(A(x)) > 10
    assert np.abs(A.back_project(p, "none")).max() > 1


@pytest.mark.parametrize("name", NAMES)
def test_exact_projections_of_a_sphere(name: str) -> None:
    """Chords by the definition, along the oracle's rays."""
    geometry, scan = PAIRS[name]
    middle, radius = np.array([4.0, -3.0, 0.0]), 9.0
    found = gt.sphere(radius, tuple(middle), 0.5).project(geometry, dtype=float)
    for view in range(scan.views):
        start, direction = oracle.rays(scan, view)
        squared = (np.cross(middle - start, direction) ** 2).sum(axis=1)
        chords = 0.5 * 2 * np.sqrt(np.maximum(radius**2 - squared, 0))
        np.testing.assert_allclose(found[view].ravel(), chords, atol=1e-6)
        assert chords.max() > 1
