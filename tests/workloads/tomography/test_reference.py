"""The oracle of tomography by itself: golden geometry and convergence, ASTRA's documented rows, its own symmetries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpuopt import ArrayError, ParameterError
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_scans import Grid, Scan, astra_scan, cone_scan, parallel_scan
from rays import BILINEAR, VIEW

X = np.array([120.0, 80.0, 12.0])
R, D, T = 595.0, 1085.6, 0.7
DET, PIXEL = (64, 736), (1.0947, 1.2858)
HELIX: dict[str, Any] = {"angles": [T], "sod": R, "sdd": D, "det": DET, "pixel": PIXEL, "pitch": 23.0}

ANGLES = np.array([0.35, 1.9, -2.2, 4.0, 5.3])
CONE: dict[str, Any] = {"sod": 90.0, "sdd": 150.0, "det": (9, 13), "pixel": (3.1, 2.7), "offset": (1.3, -2.1)}
FAN = CONE | {"det": (1, 13), "pixel": (1.0, 2.7), "offset": (0.0, -2.1), "plane": True}


def rows_of(scan: Scan) -> np.ndarray:
    return np.concatenate([scan.source, scan.centre, scan.u, scan.v], axis=1)


def tilted(rows: np.ndarray) -> np.ndarray:
    """Rows of vectors with steps that are turned and askew."""
    return rows * np.random.default_rng(8).uniform(0.9, 1.1, rows.shape) + ([0] * 6 + [0.2, -0.1, 0.3, -0.2, 0.1, 0.1])


SCANS: dict[str, Scan] = {
    "parallel in a plane": parallel_scan(ANGLES, (1, 13), (1.0, 2.7), (0.0, -2.1), plane=True),
    "fan flat": cone_scan(ANGLES, **FAN),
    "fan arc": cone_scan(ANGLES, **FAN, radius=110.0),
    "parallel": parallel_scan(ANGLES, (9, 13), (3.1, 2.7), (1.3, -2.1)),
    "circle flat": cone_scan(ANGLES, **CONE),
    "helix flat": cone_scan(ANGLES, **CONE, pitch=6.0, t_ref=1.0),
    "helix Rc=D": cone_scan(ANGLES, **CONE, pitch=-6.0, z0=1.0, radius=150.0),
    "helix Rc=110": cone_scan(ANGLES, **CONE, pitch=6.0, radius=110.0),
    "helix Rc=70": cone_scan(ANGLES, **CONE, pitch=6.0, radius=70.0),
    "cone vectors": astra_scan("cone_vec", tilted(rows_of(cone_scan(ANGLES, **CONE))), (9, 13)),
    "parallel vectors": astra_scan(
        "parallel3d_vec", tilted(rows_of(parallel_scan(ANGLES, (9, 13), (2.7, 2.7)))), (9, 13)
    ),
}
NAMES = list(SCANS)


def grid_of(scan: Scan) -> Grid:
    if scan.plane:
        return Grid((8, 11), (2.0, 1.5), (1.0, -2.0))
    return Grid((7, 8, 11), (2.5, 2.0, 1.5), (0.5, 1.0, -2.0))


def images(scan: Scan, seed: int = 0) -> tuple[Grid, np.ndarray, np.ndarray]:
    random, grid = np.random.default_rng(seed), grid_of(scan)
    return grid, random.normal(size=grid.shape), random.normal(size=scan.shape)


@pytest.mark.parametrize(
    ("scan", "u", "v", "weight"),
    [
        (parallel_scan([T], DET, PIXEL), 143.318477, 12, 1 / (1.2858 * 1.0947)),
        (cone_scan(**HELIX | {"pitch": 0.0}), 268.771079, 22.504097, None),
        (cone_scan(**HELIX), 268.771079, 17.698733, 2.57433230),
        (cone_scan(**HELIX, radius=D), 263.473152, 17.180037, 2.35456345),
        (cone_scan(**HELIX, radius=540.0), 263.500924, 16.671241, 2.28556620),
        (cone_scan(**HELIX, radius=2000.0), 265.200799, 17.412495, 2.43344613),
    ],
)
def test_golden_geometry(scan: Scan, u: float, v: float, weight: float | None) -> None:
    at = oracle.project(scan, 0, X)
    assert (at.column - 735 / 2) * PIXEL[1] == pytest.approx(u, abs=1e-6)
    assert (at.row - 63 / 2) * PIXEL[0] == pytest.approx(v, abs=1e-6)
    if weight is not None:
        assert at.density == pytest.approx(weight, abs=5.1e-9)


def test_golden_weights_of_filtered_views() -> None:
    grid, r, length = Grid((1, 1, 1), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)), 16.118747, 596.358693
    flat, arc = cone_scan(**HELIX), cone_scan(**HELIX, radius=D)
    assert oracle.weights_at(flat, grid, X, 0, "fdk") == pytest.approx((R / (R - r)) ** 2, rel=1e-8)
    assert oracle.weights_at(arc, grid, X, 0, "fdk") == pytest.approx(1 / length**2, rel=1e-8)


def test_rows_that_astra_documents() -> None:
    """The conversion of "cone" and "parallel3d" to vectors that ASTRA's page on 3D geometries prints."""
    du, dv, origin_source, origin_detector = 1.3, 1.1, 90.0, 60.0
    cone, beams = [], []
    for t in ANGLES:
        steps = [math.cos(t) * du, math.sin(t) * du, 0, 0, 0, dv]
        source = [math.sin(t) * origin_source, -math.cos(t) * origin_source, 0]
        cone.append([*source, -math.sin(t) * origin_detector, math.cos(t) * origin_detector, 0, *steps])
        beams.append([math.sin(t), -math.cos(t), 0, 0, 0, 0, *steps])
    circle = cone_scan(ANGLES, origin_source, origin_source + origin_detector, (9, 13), (dv, du))
    np.testing.assert_allclose(rows_of(circle), cone, atol=1e-13)
    np.testing.assert_allclose(rows_of(parallel_scan(ANGLES, (9, 13), (dv, du))), beams, atol=1e-13)


def test_a_helix_rises_by_its_pitch() -> None:
    turns = cone_scan([0.5, 0.5 + 2 * math.pi, 0.5 - math.pi], **CONE, pitch=6.0, z0=2.0, t_ref=0.5)
    np.testing.assert_allclose(turns.source[:, 2], [2.0, 8.0, -1.0])
    np.testing.assert_allclose(turns.centre[:, 2], [3.3, 9.3, 0.3])
    np.testing.assert_allclose(turns.source[0, :2], turns.source[1, :2], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_points_on_a_ray_fall_on_its_pixel(name: str) -> None:
    scan = SCANS[name]
    rows, columns = np.indices((scan.rows, scan.columns)).reshape(2, -1)
    for view in range(scan.views):
        start, direction = oracle.rays(scan, view)
        for length in (80.0, 105.0):
            at = oracle.project(scan, view, start + length * direction)
            np.testing.assert_allclose(at.row, rows, rtol=0, atol=1e-10)
            np.testing.assert_allclose(at.column, columns, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_density_is_that_of_rays(name: str) -> None:
    """Across a ray, pixel indices change as fast as the density says."""
    scan, step, dimensions = SCANS[name], 1e-3, 1 if SCANS[name].plane else 2
    for view in range(scan.views):
        for x in np.random.default_rng(2).uniform(-15, 15, (8, 3)) * (1, 1, dimensions - 1):
            beam = -scan.source[view] if scan.parallel else x - scan.source[view]
            one = np.cross(beam, [0, 0, 1.0])
            change = []
            for across in (one, np.cross(beam, one))[:dimensions]:
                by = step * across / np.linalg.norm(across)
                ahead, behind = (oracle.project(scan, view, x + sign * by) for sign in (1, -1))
                moved = [ahead.column - behind.column, ahead.row - behind.row]
                change.append(np.array(moved[:dimensions]) / (2 * step))
            assert abs(np.linalg.det(change)) == pytest.approx(oracle.project(scan, view, x).density, rel=1e-7)


@pytest.mark.parametrize("one", ["sphere", "blob"])
def test_golden_convergence_of_joseph(one: str) -> None:
    """Against line integrals by the definition of the bodies: a chord of the sphere, a Gaussian of the distance."""
    scan = cone_scan(2 * np.pi * np.arange(16) / 16 + 0.1, 500, 1000, (96, 96), (1.2, 1.2))
    middle, radius, width = np.array([3.3, -2.7, 1.9]), 18.0, 8.0
    expected = {
        "sphere": {16: 0.0983, 32: 0.0511, 64: 0.0248},
        "blob": {16: 0.0544, 32: 0.0139, 64: 0.00348},
    }[one]
    exact = []
    for view in range(scan.views):
        start, direction = oracle.rays(scan, view)
        squared = (np.cross(middle - start, direction) ** 2).sum(axis=1)
        if one == "sphere":
            exact.append(2 * np.sqrt(np.maximum(radius**2 - squared, 0)))
        else:
            exact.append(math.sqrt(math.pi) * width * np.exp(-squared / width**2))
    exact = np.array(exact).reshape(scan.shape)
    for n, error in expected.items():
        grid = Grid((n, n, n), (64 / n,) * 3, (0.0, 0.0, 0.0))
        squared = ((grid.centres(np.arange(n**3)) - middle) ** 2).sum(axis=1)
        image = (squared <= radius**2).astype(float) if one == "sphere" else np.exp(-squared / width**2)
        got = oracle.joseph(scan, grid, image.reshape(grid.shape))
        found = np.linalg.norm(got - exact) / np.linalg.norm(exact)
        assert found == pytest.approx(error, rel=0, abs=0.6 * 10 ** math.floor(math.log10(error) - 2))


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_is_exact(name: str) -> None:
    scan = SCANS[name]
    grid, x, y = images(scan)
    ax, aty = oracle.joseph(scan, grid, x), oracle.joseph_adjoint(scan, grid, y)
    assert np.linalg.norm(ax) > 1
    error = abs(np.vdot(ax, y) - np.vdot(x, aty)) / (np.linalg.norm(ax) * np.linalg.norm(y))
    assert error < 1e-15 * math.sqrt(x.size)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_the_matrix(name: str) -> None:
    scan = SCANS[name]
    grid, x, y = images(scan)
    rows = np.concatenate([oracle.joseph_rows(scan, grid, view) for view in range(scan.views)])
    np.testing.assert_allclose(rows @ x.ravel(), oracle.joseph(scan, grid, x).ravel(), atol=1e-12)
    np.testing.assert_allclose(rows.T @ y.ravel(), oracle.joseph_adjoint(scan, grid, y).ravel(), atol=1e-12)
    assert rows.min() == 0
    # A ray's weights add up to its length in the box, to half a step and half a voxel at either end.
    edges = np.array(grid.shape) * grid.voxel
    lengths = rows.sum(axis=1)
    assert lengths.max() < np.linalg.norm(edges) + 2 * max(grid.voxel)
    assert lengths.max() > 0.5 * edges.max()


def test_a_ray_along_an_axis_adds_voxels() -> None:
    grid = Grid((4, 5, 6), (3.0, 2.0, 1.5), (0.0, 0.0, 0.0))
    x = np.random.default_rng(1).normal(size=grid.shape)
    along_y = parallel_scan([0.0], (4, 6), (3.0, 1.5))
    np.testing.assert_allclose(oracle.joseph(along_y, grid, x)[0], 2.0 * x.sum(axis=1), atol=1e-12)
    along_x = parallel_scan([math.pi / 2], (4, 5), (3.0, 2.0))
    np.testing.assert_allclose(oracle.joseph(along_x, grid, x)[0], 1.5 * x.sum(axis=2), atol=1e-12)
    along_z = astra_scan("parallel3d_vec", [[0, 0, 1.0, 0, 0, 0, 1.5, 0, 0, 0, 2.0, 0]], (5, 6))
    np.testing.assert_allclose(oracle.joseph(along_z, grid, x)[0], 3.0 * x.sum(axis=0), atol=1e-12)


def test_rays_between_voxels_interpolate() -> None:
    grid = Grid((4, 6), (2.0, 1.5), (0.0, 0.0))
    x = np.random.default_rng(1).normal(size=grid.shape)
    # A quarter of a voxel aside; the last ray lies half a voxel beyond the outermost centre.
    scan = parallel_scan([0.0], (1, 6), (1.0, 1.5), (0.0, 0.375), plane=True)
    columns = 2.0 * x.sum(axis=0)
    expected = 0.75 * columns + 0.25 * np.append(columns[1:], 0)
    np.testing.assert_allclose(oracle.joseph(scan, grid, x)[0], expected, atol=1e-12)
    # Through the middle by hand: 45 degrees pass more voxels of 1.5 mm than of 2, so that planes of x count.
    total = 0.0
    for i in range(6):
        j = 1.5 + (i - 2.5) * 0.75
        low = math.floor(j)
        total += sum(weight * x[k, i] for k, weight in ((low, low + 1 - j), (low + 1, j - low)) if 0 <= k < 4)
    diagonal = parallel_scan([-math.pi / 4], (1, 1), (1.0, 1.0), plane=True)
    assert oracle.joseph(diagonal, grid, x)[0, 0] == pytest.approx(1.5 * math.sqrt(2) * total)


def test_bilinear_reaches_a_pixel_beyond_the_edge() -> None:
    rows, columns = np.array(list(BILINEAR)).T
    np.testing.assert_allclose(oracle.bilinear(VIEW, rows, columns), list(BILINEAR.values()), atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_make_back_projection_an_adjoint(name: str) -> None:
    """Of a smooth projection on pixels far finer than voxels: the transpose of Joseph's projector, voxel by voxel."""
    coarse = SCANS[name]
    times = (1 if coarse.plane else 8, 8)
    scan = replace(
        coarse, rows=coarse.rows * times[0], columns=coarse.columns * 8, u=coarse.u / 8, v=coarse.v / times[0]
    )
    grid = Grid(*(numbers[scan.plane :] for numbers in ((3, 4, 5), (1.6, 1.8, 2.0), (0.3, 0.3, 0.3))))
    u, v = np.linspace(-1, 1, scan.columns), np.linspace(-1, 1, scan.rows)[:, np.newaxis]
    smooth = 1 + 0.3 * u * (2 + v) / 3
    y = np.broadcast_to(smooth, (scan.views, *smooth.shape)).reshape(scan.shape)
    one, other = oracle.back_project(scan, grid, y), oracle.joseph_adjoint(scan, grid, y)
    np.testing.assert_allclose(one, other, rtol=0.03)
    assert one.sum() / other.sum() == pytest.approx(1, abs=3e-3)


def test_voxels_that_a_cylinder_cannot_see_get_nothing() -> None:
    """The source is outside the cylinder, whose columns reach around beyond what it sees."""
    scan = replace(cone_scan([0.0], 600.0, 1100.0, (8, 91), (1.3, 1.3), radius=500.0), columns=2200)
    grid = Grid((1, 1, 2), (1.0, 1.0, 600.0), (0.0, -300.0, 300.0))
    for weight in oracle.WEIGHTS:
        image = oracle.back_project(scan, grid, np.ones(scan.shape), weight)
        assert image[0, 0, 0] > 0
        assert image[0, 0, 1] == 0


def test_limits() -> None:
    """A huge radius is flat, a huge distance parallel."""
    grid = grid_of(SCANS["circle flat"])
    x = np.random.default_rng(0).normal(size=grid.shape)
    for one, other, tolerance in (
        (cone_scan(ANGLES, **CONE), cone_scan(ANGLES, **CONE, radius=1e10), 1e-6),
        (
            parallel_scan(ANGLES, (9, 13), (2.7, 2.7), (0.4, -1.0)),
            cone_scan(ANGLES, 1e10, 1e10, (9, 13), (2.7, 2.7), (0.4, -1.0)),
            1e-5,
        ),
    ):
        p = oracle.joseph(one, grid, x)
        np.testing.assert_allclose(oracle.joseph(other, grid, x), p, atol=tolerance)
        back = oracle.back_project(one, grid, p)
        np.testing.assert_allclose(oracle.back_project(other, grid, p), back, atol=100 * tolerance)


def test_voxels_lie_where_their_index_says() -> None:
    grid = Grid((4, 6, 10), (2.0, 1.0, 0.5), (1.0, 2.0, 3.0))
    corners = grid.centres([0, 9, 50, 180, 239])
    np.testing.assert_allclose(corners[0], [3 - 0.5 * 4.5, 2 - 2.5, 1 - 3])
    np.testing.assert_allclose(corners[1] - corners[0], [9 * 0.5, 0, 0])
    np.testing.assert_allclose(corners[2] - corners[0], [0, 5 * 1.0, 0])
    np.testing.assert_allclose(corners[3] - corners[0], [0, 0, 3 * 2.0])
    np.testing.assert_allclose(corners[4], [3 + 0.5 * 4.5, 2 + 2.5, 1 + 3])
    assert grid.cell == 1.0
    flat = Grid((6, 10), (0.5, 0.5), (2.0, 3.0))
    np.testing.assert_allclose(flat.centres([13]), [[3 + 0.5 * (3 - 4.5), 2 + 0.5 * (1 - 2.5), 0]])
    assert flat.cell == 0.25


def test_bad_input_is_named() -> None:
    scan = SCANS["circle flat"]
    grid, x, y = images(scan)
    with pytest.raises(ArrayError, match=r"image: its shape is \(7, 8\); give \(7, 8, 11\)"):
        oracle.joseph(scan, grid, x[..., 0])
    with pytest.raises(ArrayError, match=r"projections: its shape is \(5, 9, 12\); give \(5, 9, 13\)"):
        oracle.back_project(scan, grid, y[..., 1:])
    with pytest.raises(ArrayError, match="projections: its shape is"):
        oracle.joseph_adjoint(scan, grid, y.swapaxes(0, 1))
    with pytest.raises(ParameterError, match="weight: 'ramp'"):
        oracle.back_project(scan, grid, y, "ramp")
