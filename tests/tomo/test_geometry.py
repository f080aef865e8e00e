"""Scans: golden values, each against the others and its own rays."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from scans import ANGLES, DET, HELIX, NAMES, PIXEL, SCANS, D, R, T, points

X = np.array([120.0, 80.0, 12.0])


def coordinates(scan: gt.Geometry, view: int = 0) -> tuple[float, float, float]:
    at, d = scan.project(X, view), scan.detector
    return (at.column - (d.columns - 1) / 2) * d.du, (at.row - (d.rows - 1) / 2) * d.dv, float(at.density)


@pytest.mark.parametrize(
    ("scan", "u", "v", "weight"),
    [
        (gt.parallel3d([T], DET, PIXEL), 143.318477, 12, 1 / (1.2858 * 1.0947)),
        (gt.circular([T], R, D, DET, PIXEL), 268.771079, 22.504097, None),
        (gt.helical([T], **HELIX), 268.771079, 17.698733, 2.57433230),
        (gt.helical([T], **HELIX, curved=True), 263.473152, 17.180037, 2.35456345),
        (gt.helical([T], **HELIX, radius=540.0), 263.500924, 16.671241, 2.28556620),
        (gt.helical([T], **HELIX, radius=2000.0), 265.200799, 17.412495, 2.43344613),
    ],
)
def test_golden_geometry(scan: gt.Geometry, u: float, v: float, weight: float | None) -> None:
    got = coordinates(scan)
    assert got[0] == pytest.approx(u, abs=1e-6)
    assert got[1] == pytest.approx(v, abs=1e-6)
    if weight is not None:
        assert got[2] == pytest.approx(weight, abs=5.1e-9)


def test_golden_parts_and_indices() -> None:
    scan = gt.helical([T], **HELIX, curved=True)
    s, depth, w = scan._turned(X, 0)
    assert (s, R - depth) == pytest.approx((143.318477, 16.118747), abs=5.1e-7)
    assert scan.z[0] == pytest.approx(2.562395, abs=5.1e-7)
    assert w == X[2] - scan.z[0]
    assert math.atan2(s, depth) == pytest.approx(0.242698187, abs=5.1e-10)
    assert math.hypot(s, depth) == pytest.approx(596.358693, abs=5.1e-7)
    at = scan.project(X, 0)
    assert (at.column, at.row) == pytest.approx((572.409902, 47.193831), abs=5.1e-7)
    assert scan.normalised_pitch == pytest.approx(23 / (64 * 1.0947 * R / D))


@pytest.mark.parametrize("name", NAMES)
def test_points_on_a_ray_fall_on_its_pixel(name: str) -> None:
    scan = SCANS[name]
    for view in range(scan.views):
        rays = scan.rays(view)
        assert rays.direction.shape == (*scan.shape[1:], 3)
        np.testing.assert_allclose(np.linalg.norm(rays.direction, axis=-1), 1, rtol=1e-14)
        for length in (0.8 * R, 1.1 * R):
            at = scan.project(rays.origin + length * rays.direction, view)
            rows, columns = np.indices((scan.detector.rows, scan.detector.columns)).reshape(2, *scan.shape[1:])
            np.testing.assert_allclose(at.row, rows, rtol=0, atol=1e-9)
            np.testing.assert_allclose(at.column, columns, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_density_is_that_of_rays(name: str) -> None:
    """Across a ray, pixel indices change as fast as the density says."""
    scan, step = SCANS[name], 1e-3
    for view in range(scan.views):
        for x in points(scan, 8):
            if scan.parallel:
                beam = -np.atleast_3d(scan.frames.source)[view].ravel()
            else:
                beam = x - scan.frames.source[view]
            beam = beam / np.linalg.norm(beam)
            across = [np.cross(beam, [0, 0, 1.0])]
            across[0] /= np.linalg.norm(across[0])
            across.append(np.cross(beam, across[0]))
            change = []
            for direction in across[: scan.dimensions - 1]:
                ahead, behind = (scan.project(x + sign * step * direction, view) for sign in (1, -1))
                moved = [ahead.column - behind.column, ahead.row - behind.row]
                change.append(np.array(moved[: scan.dimensions - 1]) / (2 * step))
            assert abs(np.linalg.det(change)) == pytest.approx(scan.project(x, view).density, rel=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_rays_are_those_of_the_definition(name: str) -> None:
    scan = SCANS[name]
    d = scan.detector
    if "vectors" in name:
        table = scan.to_astra()["Vectors"]
        source, centre, column, row = table.reshape(scan.views, 4, 3).transpose(1, 0, 2)
        pixel = centre[1] + (7 - 45) * column[1] + (5 - 19.5) * row[1]
        expected = -source[1] if scan.parallel else pixel - source[1]
    else:
        t = ANGLES[1]
        u = d.u_offset + (7 - 45) * d.du
        v = 0.0 if scan.dimensions == 2 else d.v_offset + (5 - 19.5) * d.dv
        theta, e = np.array([math.sin(t), -math.cos(t), 0]), np.array([math.cos(t), math.sin(t), 0])
        up = np.array([0, 0, 1.0])
        if scan.parallel:
            pixel, expected = u * e + v * up, -theta
        else:
            zs = scan.z[1]
            if scan.radius is None:
                pixel = (R - D) * theta + u * e + (zs + v) * up
            else:
                g, rc = u / scan.radius, scan.radius
                pixel = (R - D + rc - rc * math.cos(g)) * theta + rc * math.sin(g) * e + (zs + v) * up
            expected = pixel - R * theta - zs * up
    rays = scan.rays(1)
    place = (7,) if scan.dimensions == 2 else (5, 7)
    np.testing.assert_allclose(rays.direction[place], expected / np.linalg.norm(expected), atol=1e-14)
    origin = np.broadcast_to(rays.origin, rays.direction.shape)[place]
    away = np.cross(pixel - origin, rays.direction[place])
    np.testing.assert_allclose(away, 0, atol=1e-9)


def test_a_helix_without_pitch_is_a_circle() -> None:
    circle = gt.circular(7, R, D, DET, PIXEL, True, z0=2.0)
    helix = gt.helical(7, 1, R, D, DET, PIXEL, 0.0, True, z0=2.0)
    np.testing.assert_array_equal(circle.angles, helix.angles)
    np.testing.assert_array_equal(circle.z, helix.z)


def test_a_helix_rises_by_its_pitch() -> None:
    helix = gt.helical(8, 2, R, D, DET, PIXEL, 23.0, start=0.4, z0=1.0)
    np.testing.assert_allclose(np.diff(helix.angles), math.pi / 2)
    np.testing.assert_allclose(np.diff(helix.z), 23 / 4)
    assert helix.angles[0] == pytest.approx(0.4)
    assert (helix.z[0] + helix.z[-1]) / 2 == pytest.approx(1.0)
    falling = gt.helical(8, -2, R, D, DET, PIXEL, 23.0, t_ref=0.0)
    np.testing.assert_allclose(falling.angles, -np.arange(8) * math.pi / 2)
    np.testing.assert_allclose(falling.z, 23 * falling.angles / (2 * math.pi))
    many = gt.helical(np.arange(1000) * 0.1, None, R, D, DET, PIXEL, 23.0)
    assert many.views == 1000


def test_angles_that_are_no_array_are_refused_by_name() -> None:
    ragged: Any = [[1.0], [2.0, 3.0]]
    with pytest.raises(gpuopt.ArrayError, match=r"^views: it cannot be read as an array"):
        gt.helical(ragged, None, sod=9, sdd=20, det=(2, 2), pixel=1, pitch=1)
    with pytest.raises(gpuopt.ArrayError, match=r"^theta: it cannot be read as an array"):
        gt.from_skimage(ragged, (4, 4))


COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(partial(lambda number, value: pickle.loads(pickle.dumps(value, number)), number) for number in range(2, 6)),
]


class Own(gt.Body):
    """A ball of somebody's own, who writes to its arrays."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, self.pair = table, (table, [table])

    def density_at(self, points: np.ndarray) -> np.ndarray:
        self.table[0] += 1
        return np.full(points.shape[1:], self.table[0])

    def integral(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return self.density_at(direction)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(3, -1.0), np.ones(3)


class Slotted(Own):
    __slots__ = ("radius",)


class Bare(gt.Body):
    """Without a dict's entries."""

    __slots__ = ("table",)
    density_at, integral, box = Own.density_at, Own.integral, Own.box


class Tinted(gt.Ellipsoid):
    __slots__ = ("colour",)

    def __init__(self, colour: np.ndarray) -> None:
        super().__init__(1.0, 2.0)
        object.__setattr__(self, "colour", colour)
        object.__setattr__(self, "tones", colour)


class Restored:
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, restored=True)


class Told(gt.Body, Restored):
    def __init__(self) -> None:
        self.radius = 2.0

    density_at, integral, box = Own.density_at, Own.integral, Own.box


@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_scans_and_bodies_never_change_either(copied: Callable[[Any], Any]) -> None:
    scan = gt.circular(6, 60.0, 120.0, (5, 8), 2.0)
    free = gt.from_vectors(np.column_stack([*scan.frames]), (5, 8))
    ball, blob = gt.Ellipsoid(1, 2.0), gt.Blob(2.0)
    for _ in range(2):  # and copies of copies
        scan, free, (ball, blob) = copied(scan), copied(free), copied(gt.Phantom([ball, blob])).bodies
        kept = [scan.angles, scan.z, *scan.frames, *free.frames, ball.centre, ball.rotation, blob.centre]
        assert not any(array.flags.writeable for array in kept)
    assert np.allclose(scan.angles, np.arange(6) * np.pi / 3)
    assert not copied(gt.parallel2d([0.0, 1.0], 4)).angles.flags.writeable


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_a_body_of_ones_own_leaves_its_arrays_as_they_are(copied: Callable[[Any], Any]) -> None:
    table, fixed = np.zeros(3), np.zeros(3)
    fixed.flags.writeable = False
    slotted, bare = Slotted(table), Bare()
    slotted.radius, bare.table = 3.0, table
    for own in (Own(table), slotted, bare):
        made = copied(copied(own))
        made.density_at(np.zeros((3, 2)))
        assert made.table.flags.writeable
        assert (made.table is table) == (copied is copy.copy)
    assert copied(slotted).radius == 3.0
    table[0] = 1
    assert copied(Told()).restored
    assert not copy.copy(Own(fixed)).table.flags.writeable
    tinted = copied(copied(Tinted(table)))
    assert tinted.colour.flags.writeable
    assert tinted.tones.flags.writeable
    assert not tinted.centre.flags.writeable
    table[0] = 2


@pytest.mark.parametrize("view", [4, -5])
def test_views_that_are_none(view: int) -> None:
    scan = gt.parallel2d(4, 6)
    np.testing.assert_array_equal(scan.rays(-1).direction, scan.rays(3).direction)
    with pytest.raises(gpuopt.ParameterError, match=r"^view: .* is none; give one from -4 to 3$"):
        scan.rays(view)
