"""Projections in plain NumPy: golden convergence, exact adjoints, sums by hand, and their symmetries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from gpuopt.tomo import numpy_kernels as kernels
from gpuopt.tomo.operators import WEIGHTS
from rays import BILINEAR, VIEW

ANGLES = np.array([0.35, 1.9, -2.2, 4.0, 5.3])
CONE: dict[str, Any] = {"sod": 90.0, "sdd": 150.0, "det": (9, 13), "pixel": (3.1, 2.7), "offset": (1.3, -2.1)}


def tilted(rows: np.ndarray) -> np.ndarray:
    """ASTRA's rows with steps that are turned and askew."""
    return rows * np.random.default_rng(8).uniform(0.9, 1.1, rows.shape) + ([0] * 6 + [0.2, -0.1, 0.3, -0.2, 0.1, 0.1])


# Odd and even sizes, offsets, a pitch, tilts.
SCANS: dict[str, gt.Geometry] = {
    "parallel2d": gt.parallel2d(ANGLES, 13, 2.7, offset=-2.1),
    "fan flat": gt.fan(ANGLES, 90.0, 150.0, 13, 2.7, offset=-2.1),
    "fan arc": gt.fan(ANGLES, 90.0, 150.0, 13, 2.7, radius=110.0, offset=-2.1),
    "parallel3d": gt.parallel3d(ANGLES, (9, 13), (3.1, 2.7), (1.3, -2.1)),
    "circular flat": gt.circular(ANGLES, **CONE),
    "helical flat": gt.helical(ANGLES, None, **CONE, pitch=6.0),
    "helical Rc=D": gt.helical(ANGLES, None, **CONE, pitch=-6.0, curved=True),
    "helical Rc=110": gt.helical(ANGLES, None, **CONE, pitch=6.0, radius=110.0),
    "cone vectors": gt.from_vectors(tilted(gt.circular(ANGLES, **CONE).to_astra()["Vectors"]), (9, 13)),
    "parallel vectors": gt.from_vectors(
        tilted(gt.parallel3d(ANGLES, (9, 13), 2.7).to_astra()["Vectors"]), (9, 13), "parallel3d_vec"
    ),
    "fan vectors": gt.from_astra(gt.fan(ANGLES, 90.0, 150.0, 13, 2.7, offset=-2.1).to_astra()),
    "parallel2d vectors": gt.from_astra(gt.parallel2d(ANGLES, 13, 2.7, offset=-2.1).to_astra()),
}
NAMES = list(SCANS)


def volume_of(scan: gt.Geometry) -> gt.Volume:
    if scan.dimensions == 2:
        return gt.Volume((8, 11), (2.0, 1.5), (1.0, -2.0))
    return gt.Volume((7, 8, 11), (2.5, 2.0, 1.5), (0.5, 1.0, -2.0))


def images(scan: gt.Geometry, seed: int = 0) -> tuple[gt.Volume, np.ndarray, np.ndarray]:
    random, volume = np.random.default_rng(seed), volume_of(scan)
    return volume, random.normal(size=volume.shape), random.normal(size=scan.shape)


@pytest.fixture(scope="module")
def ball_scan() -> gt.Geometry:
    return gt.circular(2 * np.pi * np.arange(16) / 16 + 0.1, 500, 1000, (96, 96), 1.2)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (gt.sphere(18.0, (3.3, -2.7, 1.9)), {16: 0.0983, 32: 0.0511, 64: 0.0248}),
        (gt.blob(8.0, (3.3, -2.7, 1.9)), {16: 0.0544, 32: 0.0139, 64: 0.00348}),
    ],
    ids=["sphere", "blob"],
)
def test_golden_convergence_of_joseph(ball_scan: gt.Geometry, body: gt.Phantom, expected: dict[int, float]) -> None:
    exact = body.project(ball_scan, dtype=float)
    for n, error in expected.items():
        volume = gt.Volume((n, n, n), 64 / n)
        got = kernels.joseph(ball_scan, volume, body.sample(volume, dtype=float))
        found = np.linalg.norm(got - exact) / np.linalg.norm(exact)
        assert found == pytest.approx(error, rel=0, abs=0.6 * 10 ** math.floor(math.log10(error) - 2))


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_is_exact(name: str) -> None:
    scan = SCANS[name]
    volume, x, y = images(scan)
    ax, aty = kernels.joseph(scan, volume, x), kernels.joseph_adjoint(scan, volume, y)
    assert np.linalg.norm(ax) > 1
    error = abs(np.vdot(ax, y) - np.vdot(x, aty)) / (np.linalg.norm(ax) * np.linalg.norm(y))
    assert error < 1e-15 * math.sqrt(x.size)


def test_a_ray_along_an_axis_adds_voxels() -> None:
    volume = gt.Volume((4, 5, 6), (3.0, 2.0, 1.5))
    x = np.random.default_rng(1).normal(size=volume.shape)
    along_y = gt.parallel3d([0.0], (4, 6), (3.0, 1.5))
    np.testing.assert_allclose(kernels.joseph(along_y, volume, x)[0], 2.0 * x.sum(axis=1), atol=1e-12)
    along_x = gt.parallel3d([math.pi / 2], (4, 5), (3.0, 2.0))
    np.testing.assert_allclose(kernels.joseph(along_x, volume, x)[0], 1.5 * x.sum(axis=2), atol=1e-12)
    rows = np.array([[0, 0, 1.0, 0, 0, 0, 1.5, 0, 0, 0, 2.0, 0]])
    along_z = gt.from_vectors(rows, (5, 6), "parallel3d_vec")
    np.testing.assert_allclose(kernels.joseph(along_z, volume, x)[0], 3.0 * x.sum(axis=0), atol=1e-12)


def test_rays_between_voxels_interpolate() -> None:
    volume = gt.Volume((4, 6), (2.0, 1.5))
    x = np.random.default_rng(1).normal(size=volume.shape)
    # A quarter of a voxel aside; the last ray lies half a voxel beyond the outermost centre.
    scan = gt.parallel2d([0.0], 6, 1.5, offset=0.375)
    got = kernels.joseph(scan, volume, x)[0]
    columns = 2.0 * x.sum(axis=0)
    np.testing.assert_allclose(got, 0.75 * columns + 0.25 * np.append(columns[1:], 0), atol=1e-12)
    # Through the middle by hand: 45 degrees pass more voxels of 1.5 mm than of 2, so that planes of x count.
    total = 0.0
    for i in range(6):
        j = 1.5 + (i - 2.5) * 0.75
        low = math.floor(j)
        total += sum(weight * x[k, i] for k, weight in ((low, low + 1 - j), (low + 1, j - low)) if 0 <= k < 4)
    diagonal = gt.parallel2d([-math.pi / 4], 1, 1.0)
    assert kernels.joseph(diagonal, volume, x)[0, 0] == pytest.approx(1.5 * math.sqrt(2) * total)


def test_bilinear_reaches_a_pixel_beyond_the_edge() -> None:
    rows, columns = np.array(list(BILINEAR)).T
    np.testing.assert_allclose(kernels.bilinear(VIEW, rows, columns), list(BILINEAR.values()), atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_back_projection_is_the_sum_of_its_definition(name: str) -> None:
    scan = SCANS[name]
    volume, _, y = images(scan)
    stacked = y.reshape(scan.views, scan.detector.rows, scan.detector.columns)
    index = (3, 5) if scan.dimensions == 2 else (2, 3, 5)
    place = volume.points()[index]
    sums = {"adjoint": 0.0, "none": 0.0, "fdk": 0.0}
    for view in range(scan.views):
        at = scan.project(place, view)
        value = float(kernels.bilinear(stacked[view], at.row, at.column))
        sums["none"] += value
        sums["adjoint"] += value * volume.cell * float(at.density)
        sums["fdk"] += value * float(scan.fdk_weight(place, view) if hasattr(scan, "fdk_weight") else 1)
    assert abs(sums["none"]) > 0.1
    for weight, expected in sums.items():
        assert kernels.back_project(scan, volume, y, weight)[index] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["parallel2d", "fan flat", "parallel3d", "circular flat", "helical Rc=110"])
def test_vectors_weight_voxels_as_the_scan_that_they_are(name: str) -> None:
    scan = SCANS[name]
    volume, _, y = images(scan)
    vectors = gt.from_astra(scan.to_astra())
    np.testing.assert_allclose(kernels.back_project(vectors, volume, y), kernels.back_project(scan, volume, y))


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_make_back_projection_an_adjoint(name: str) -> None:
    """Of a smooth projection on pixels far finer than voxels: the transpose of Joseph's projector, voxel by voxel."""
    scan = SCANS[name].refined(8)
    volume = gt.Volume((3, 4, 5)[3 - scan.dimensions :], (1.6, 1.8, 2.0)[3 - scan.dimensions :], 0.3)
    u, v = np.linspace(-1, 1, scan.detector.columns), np.linspace(-1, 1, scan.detector.rows)[:, np.newaxis]
    smooth = 1 + 0.3 * u * (2 + v) / 3
    y = np.broadcast_to(smooth, (scan.views, *smooth.shape)).reshape(scan.shape)
    one, other = kernels.back_project(scan, volume, y), kernels.joseph_adjoint(scan, volume, y)
    np.testing.assert_allclose(one, other, rtol=0.03)
    assert one.sum() / other.sum() == pytest.approx(1, abs=3e-3)


def test_voxels_that_a_cylinder_cannot_see_get_nothing() -> None:
    """The source is outside the cylinder, whose columns reach around beyond what it sees."""
    scan = gt.circular([0.0], 600.0, 1100.0, (8, 91), 1.3, radius=500.0)
    table = scan.to_astra()["Vectors"]
    wide = gt.from_vectors(table, (8, 1950), "cyl_cone_vec")
    volume = gt.Volume((1, 1, 2), (1.0, 1.0, 600.0), (0.0, -300.0, 300.0))
    for weight in WEIGHTS:
        image = kernels.back_project(wide, volume, np.ones(wide.shape), weight)
        assert image[0, 0, 0] > 0
        assert image[0, 0, 1] == 0


def test_quarter_turns_permute() -> None:
    """A volume turned with the scan looks the same: for 90 degrees, voxel by voxel."""
    angles = 0.2 + np.arange(8) * math.pi / 4
    volume = gt.Volume((5, 12, 12), 1.5)
    x = np.random.default_rng(3).normal(size=volume.shape)
    turned = np.rot90(x, 1, axes=(2, 1))  # counter-clockwise seen from above: x to y
    for scan in (
        gt.parallel3d(angles, (6, 14), 1.7, offset=0.4),
        gt.circular(angles, **CONE),
        gt.circular(angles, **CONE, radius=110.0),
    ):
        p = kernels.joseph(scan, volume, x)
        np.testing.assert_allclose(kernels.joseph(scan, volume, turned), np.roll(p, 2, axis=0), atol=1e-10)
        back = kernels.back_project(scan, volume, p)
        np.testing.assert_allclose(
            kernels.back_project(scan, volume, np.roll(p, 2, axis=0)), np.rot90(back, 1, axes=(2, 1)), atol=1e-8
        )


@pytest.mark.parametrize("name", NAMES)
def test_maps_are_linear_and_views_independent(name: str) -> None:
    scan = SCANS[name]
    volume, x, y = images(scan)
    _, x2, y2 = images(scan, 1)
    for apply, a, b in ((kernels.joseph, x, x2), (kernels.joseph_adjoint, y, y2), (kernels.back_project, y, y2)):
        whole = apply(scan, volume, 2 * a - 3 * b)
        np.testing.assert_allclose(whole, 2 * apply(scan, volume, a) - 3 * apply(scan, volume, b), atol=1e-10)
    ragged = [np.array([3, 0]), np.array([4]), np.array([1, 2])]
    p = kernels.joseph(scan, volume, x)
    for views in ragged:
        np.testing.assert_array_equal(kernels.joseph(scan.subset(views), volume, x), p[views])
    for apply in (kernels.back_project, kernels.joseph_adjoint):
        parts = sum(apply(scan.subset(views), volume, y[views]) for views in ragged)
        np.testing.assert_allclose(parts, apply(scan, volume, y), atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_slabs_are_parts_of_the_volume(name: str) -> None:
    scan = SCANS[name]
    volume, _, y = images(scan)
    back = kernels.back_project(scan, volume, y)
    parts = [kernels.back_project(scan, volume.part(*ends), y) for ends in ((0, 3), (3, volume.shape[0]))]
    np.testing.assert_allclose(np.concatenate(parts), back, atol=1e-10)


def test_limits_of_the_projector() -> None:
    """An endless radius is flat, an endless distance parallel, vectors are their scan."""
    volume = gt.Volume((7, 8, 11), (2.5, 2.0, 1.5))
    x = np.random.default_rng(0).normal(size=volume.shape)
    flat = gt.circular(ANGLES, **CONE)
    pairs = [
        (flat, gt.circular(ANGLES, **CONE, radius=1e10), 1e-6),
        (flat, gt.from_astra(flat.to_astra()), 1e-10),
        (SCANS["helical Rc=110"], gt.from_astra(SCANS["helical Rc=110"].to_astra()), 1e-10),
        (gt.parallel3d(ANGLES, (9, 13), 2.7), gt.circular(ANGLES, 1e10, 1e10, (9, 13), 2.7), 1e-5),
    ]
    for one, other, tolerance in pairs:
        p = kernels.joseph(one, volume, x)
        np.testing.assert_allclose(kernels.joseph(other, volume, x), p, atol=tolerance)
        back = kernels.back_project(one, volume, p)
        np.testing.assert_allclose(kernels.back_project(other, volume, p), back, atol=100 * tolerance)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = SCANS["helical Rc=D"]
    volume, x, y = images(scan)
    p, back = kernels.joseph(scan, volume, x), kernels.joseph_adjoint(scan, volume, y)
    monkeypatch.setattr(kernels, "_SAMPLES_AT_ONCE", 1)
    np.testing.assert_array_equal(kernels.joseph(scan, volume, x), p)
    np.testing.assert_allclose(kernels.joseph_adjoint(scan, volume, y), back, atol=1e-12)


def test_bad_input_is_named() -> None:
    scan = SCANS["circular flat"]
    volume, x, y = images(scan)
    with pytest.raises(ArrayError, match=r"image: its axis y has 9 entries, the volume 8; give \(z, y, x\)"):
        kernels.joseph(scan, volume, np.zeros((7, 9, 11)))
    with pytest.raises(ArrayError, match=r"image: its shape is \(7, 8\)"):
        kernels.joseph(scan, volume, x[..., 0])
    with pytest.raises(ArrayError, match="projections: its axis u has 12 entries, the geometry 13"):
        kernels.back_project(scan, volume, y[..., 1:])
    with pytest.raises(ArrayError, match=r'projections: its axis view has 9 .* say axes="vau"'):
        kernels.joseph_adjoint(scan, volume, y.swapaxes(0, 1))
    with pytest.raises(ParameterError, match="weight: 'ramp'"):
        kernels.back_project(scan, volume, y, "ramp")
    with pytest.raises(ParameterError, match="volume: it has 2 axes"):
        kernels.joseph(scan, gt.Volume((3, 3)), np.zeros((3, 3)))
