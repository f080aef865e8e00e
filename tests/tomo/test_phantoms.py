"""Phantoms against golden integrals and sums over their samples; noise and raw data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from gpuopt.tomo import checks

RAY = ((-100.0, 5.0, 3.0), (1.0, -0.05, -0.02))
EGG = gt.Ellipsoid(1.0, (30.0, 20.0, 10.0), (4.0, -2.0, 1.0), 0.3)
ANGLES = np.array([0.3, 1.4, -2.0])
SCANS: dict[str, gt.Geometry] = {
    "parallel2d": gt.parallel2d(ANGLES, 30, 2.0, 1.0),
    "fan arc": gt.fan(ANGLES, 200.0, 300.0, 30, 3.0, radius=250.0),
    "parallel3d": gt.parallel3d(ANGLES, (20, 30), 2.0),
    "circular": gt.circular(ANGLES, 200.0, 300.0, (20, 30), 3.0),
    "helical": gt.helical(ANGLES, None, 200.0, 300.0, (20, 30), 3.0, 20.0, True),
    "vectors": gt.from_astra(gt.circular(ANGLES, 200.0, 300.0, (20, 30), 3.0, offset=4.0).to_astra()),
}


def test_golden_integrals() -> None:
    assert gt.Phantom(EGG).line_integrals(*RAY) == pytest.approx(55.748619045, abs=5.1e-10)
    assert gt.blob(6.0, (4, -2, 1)).line_integrals(*RAY) == pytest.approx(9.719780907, abs=5.1e-10)


def test_golden_integrals_of_the_head() -> None:
    head = gt.shepp_logan()
    got = [float(head.line_integrals((0, 0, 0), axis)) for axis in np.eye(3)]
    assert got == pytest.approx([0.207675958, 0.492733620, 0.372276596], abs=5.1e-10)
    askew = ((-3, 0.1, -0.1), (1, 0, 0.05))
    assert head.line_integrals(*askew) == pytest.approx(0.216123094, abs=5.1e-10)
    original = gt.shepp_logan(contrast="original")
    assert original.line_integrals(*askew) == pytest.approx(0.075028879, abs=5.1e-10)


def test_the_head_in_millimetres() -> None:
    big = gt.shepp_logan(field=200.0, density=0.02)
    small = gt.shepp_logan()
    direction = (1.0, 0.2, 0.05)
    expected = 100 * 0.02 * small.line_integrals((-3, 0.1, -0.1), direction)
    assert big.line_integrals((-300, 10, -10), direction) == pytest.approx(expected)


def test_the_head_in_2d_is_cut_by_the_plane() -> None:
    volume = gt.Volume((64, 64), 2 / 64)
    flat = gt.shepp_logan(2).sample(volume)
    # In space some ellipsoids lie above or below the plane; those about z = 0 give the same ellipses.
    solid = gt.Phantom(gt.shepp_logan(3).bodies[:4]).sample(gt.Volume((1, 64, 64), 2 / 64))[0]
    flat_of_them = gt.Phantom(gt.shepp_logan(2).bodies[:4]).sample(volume)
    np.testing.assert_array_equal(flat_of_them, solid)
    assert flat.min() == pytest.approx(0, abs=1e-15)
    assert flat.max() == 1
    assert (flat != flat_of_them).sum() > 100
    # Rays across z see infinite cylinders.
    scan = gt.parallel3d([0.4], (3, 9), 0.2)
    np.testing.assert_allclose(
        gt.shepp_logan(2).project(scan, dtype=float)[0, 2],
        gt.shepp_logan(2).project(gt.parallel2d([0.4], 9, 0.2), dtype=float)[0],
        atol=1e-14,
    )


@pytest.mark.parametrize("body", [EGG, gt.Blob(8.0, (3.0, -1.0, 2.0), 0.7)])
def test_integrals_are_sums_of_the_density(body: gt.Body) -> None:
    """Along rays in random directions, from points before, inside and behind the body."""
    random = np.random.default_rng(4)
    phantom = gt.Phantom(body)
    step = 0.01
    lengths = np.arange(-150, 150, step)
    for _ in range(20):
        origin, direction = random.normal(0, 15, 3), random.normal(size=3)
        along = direction / np.linalg.norm(direction)
        density = body.density_at(origin[:, np.newaxis] + along[:, np.newaxis] * lengths)
        tolerance = 3 * step if isinstance(body, gt.Ellipsoid) else 1e-9
        assert phantom.line_integrals(origin, direction) == pytest.approx(density.sum() * step, abs=tolerance)
    masses = {gt.Ellipsoid: 4 / 3 * math.pi * 30 * 20 * 10, gt.Blob: 0.7 * (math.sqrt(math.pi) * 8) ** 3}
    volume = gt.Volume((60, 60, 70), 2.0, 0.1)
    mass = phantom.sample(volume, 2, float).sum() * volume.cell
    assert mass == pytest.approx(masses[type(body)], rel=2e-3)


@pytest.mark.parametrize("far", [1e2, 1e6, 1e8])
def test_sources_may_be_far(far: float) -> None:
    """By Pythagoras large squares would cancel: a synchrotron's source is 1e8 times as far away as a cell is large."""
    exact = 2 * math.sqrt(1 - 0.81)
    assert gt.sphere(1.0).line_integrals((far, 0.9, 0.0), (1, 0, 0)) == pytest.approx(exact, rel=1e-12)
    turned = gt.Phantom(gt.Ellipsoid(1.0, (2.0, 3.0, math.inf), turn=0.3))
    near = turned.line_integrals((0.0, 0.5, 0.0), (1, 0.1, 0.0))
    assert turned.line_integrals((10 * far, 0.5 + far, 0.0), (1, 0.1, 0.0)) == pytest.approx(
        near, rel=1e-15 * far + 1e-12
    )


def test_rotations() -> None:
    turned = gt.Ellipsoid(
        1.0, EGG.axes, EGG.centre, [[math.cos(0.3), -math.sin(0.3), 0], [math.sin(0.3), math.cos(0.3), 0], [0, 0, 1]]
    )
    assert gt.Phantom(turned).line_integrals(*RAY) == pytest.approx(55.748619045, abs=5.1e-10)
    # Counter-clockwise seen from above: a quarter turn brings the long axis to y.
    upright = gt.Phantom(gt.Ellipsoid(1.0, (30.0, 20.0, 10.0), turn=math.pi / 2))
    assert upright.line_integrals((0, 0, 0), (0, 1, 0)) == pytest.approx(60)
    eighth = gt.Phantom(gt.Ellipsoid(1.0, (30.0, 20.0, 10.0), turn=math.pi / 4))
    assert eighth.line_integrals((0, 0, 0), (1, 1, 0)) == pytest.approx(60)


@pytest.mark.parametrize("name", list(SCANS))
def test_projections_are_integrals_along_the_rays(name: str) -> None:
    scan = SCANS[name]
    phantom = gt.sphere(12.0, (4.0, -3.0, 0.0), 0.5) + gt.blob(5.0, (-6.0, 5.0, 0.0))
    got = phantom.project(scan, dtype=float)
    assert got.shape == scan.shape
    for view in range(3):
        np.testing.assert_allclose(got[view], phantom.line_integrals(*scan.rays(view)), atol=1e-12)
    assert (got > 1).any()
    assert phantom.project(scan).dtype == np.float32


@pytest.mark.parametrize("name", list(SCANS))
def test_supersampled_projections_are_means_over_pixels(name: str) -> None:
    scan = SCANS[name]
    smooth = gt.blob(9.0, (2.0, -3.0, 0.0))
    one, three, nine = (smooth.project(scan, times, float) for times in (1, 3, 9))
    # The mean over a pixel differs from its middle by pixel^2 / 24 of the curvature; three points leave a ninth of it.
    assert np.abs(three - nine).max() < 0.2 * np.abs(one - nine).max()
    assert 0 < np.abs(one - nine).max() < 0.05 * one.max()
    fine = smooth.project(scan.refined(3), dtype=float)
    rows = (20, 3) if scan.dimensions == 3 else ()
    split = fine.reshape(3, *rows, 30, 3)
    np.testing.assert_allclose(split.mean(axis=(2, 4) if rows else 2), three, atol=1e-13)


def test_a_scan_of_another_kind_sees_the_same_body() -> None:
    """Cones of a flat and of a curved detector, where their pixels look at the same point."""
    egg = gt.Phantom(EGG)
    flat = gt.circular([0.7], 200.0, 300.0, (21, 31), 3.0)
    arc = gt.circular([0.7], 200.0, 300.0, (2001, 31), (0.01, 3.0), True)
    rays = flat.rays(0)
    at = arc.project(rays.origin + 200 * rays.direction, 0)
    near = np.abs(at.column - np.round(at.column)) < 1e-3
    assert near[:, 15].all()
    np.testing.assert_allclose(
        egg.project(flat, dtype=float)[0, 10, 15], egg.project(arc, dtype=float)[0, 1000, 15], atol=1e-12
    )


@pytest.mark.parametrize("photons", [1e10, 1e12, 1e13, 1e15, 1e18])
def test_noise_has_the_deviation_of_its_counts_however_many(photons: float) -> None:
    line = 0.3
    noisy = gt.poisson_noise(np.full(20_000, line), photons, seed=5)
    assert np.std(noisy - line) == pytest.approx(np.exp(line / 2) / np.sqrt(photons), rel=0.03)


def test_noise() -> None:
    clean = np.full((4, 50, 60), 1.5, dtype=np.float32)
    noisy = gt.poisson_noise(clean, 1e4, seed=3)
    assert noisy.dtype == np.float32
    np.testing.assert_array_equal(noisy, gt.poisson_noise(clean, 1e4, seed=3))
    assert (noisy != gt.poisson_noise(clean, 1e4, seed=4)).any()
    # The variance of -ln(c) is 1 / mean count, to second order.
    counts = 1e4 * math.exp(-1.5)
    assert noisy.std() == pytest.approx(1 / math.sqrt(counts), rel=0.03)
    assert noisy.mean() == pytest.approx(1.5, abs=1e-3)
    dark = gt.poisson_noise(np.full((1, 5), 40.0), 100.0)
    np.testing.assert_allclose(dark, math.log(100.0))


def test_noise_of_many_axes() -> None:
    assert gt.poisson_noise(np.zeros((1,) * 64, np.float32), 100.0).shape == (1,) * 64


def test_raw_data_become_line_integrals() -> None:
    random = np.random.default_rng(1)
    p = random.uniform(0, 3, (3, 4, 5))
    dark, beam = random.uniform(90, 110, (4, 5)), random.uniform(9000, 11000, (4, 5))
    raw = dark + beam * np.exp(-p)
    np.testing.assert_allclose(gt.normalise(raw, dark + beam, dark), p, rtol=1e-12)
    assert gt.normalise(raw.astype(np.uint16), dark + beam, dark).dtype == np.float32
    np.testing.assert_allclose(gt.normalise(raw.astype(np.uint16), dark + beam, dark), p, atol=3e-3)
    drifting = random.uniform(0.9, 1.1, (3, 1, 1)) * np.ones((3, 4, 5))
    np.testing.assert_allclose(gt.normalise(drifting * np.exp(-p), drifting), p, rtol=1e-12)
    for order in "<>":
        read = gt.normalise(raw.astype(f"{order}f8"), dark + beam, dark)
        assert read.dtype == np.float64
        np.testing.assert_allclose(read, p, rtol=1e-12)
        assert gt.normalise(raw.astype(f"{order}f4"), dark + beam, dark).dtype == np.float32
    halves = np.full((1, 5), 1000.0, np.float16)  # their own digits say nothing of the result's
    assert gt.normalise(halves, 1333.0, 0.25)[0, 0] == pytest.approx(-math.log(999.75 / 1332.75), rel=1e-6)
    # A pixel without light, or below the dark level, gets the floor.
    np.testing.assert_allclose(gt.normalise(np.array([[0.0, -5.0]]), 100.0, 1.0, floor=1e-4), -math.log(1e-4))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: gt.Ellipsoid(1.0, (1, 2)), r"axes: .* has 2 entries; give \(x, y, z\)"),
        (lambda: gt.Ellipsoid(1.0, (1, 2, 0)), "axes along z: 0"),
        (lambda: gt.Ellipsoid(math.nan, 1.0), "density: nan"),
        (lambda: gt.Ellipsoid(1.0, 1.0, (0, 0)), "centre: it has 2"),
        (lambda: gt.Ellipsoid(1.0, 1.0, turn=np.ones((3, 3))), "turn: it is not a rotation"),
        (lambda: gt.Blob(-1.0), "width: -1.0"),
        (lambda: gt.Phantom([]), "bodies: give at least one"),
        (lambda: gt.Phantom([3]), "bodies: it is a list; give a list of Body"),
        (lambda: gt.shepp_logan(4), "dimensions: 4"),
        (lambda: gt.shepp_logan(contrast="low"), "contrast: 'low'"),
        (lambda: gt.shepp_logan(field=0), "field: 0"),
        (lambda: gt.Ellipsoid(1.0, 1e-200), "axes along x: 1e-200 mm is out of range"),
        (lambda: gt.Ellipsoid(1.0, (1, 1e13, 1)), "axes along y: .* is out of range"),
        (lambda: gt.Ellipsoid(1.0, 1.0, (0, 1e200, 0)), r"^centre: 1e\+200 is out of range"),
        (lambda: gt.sphere(-1), "^radius: -1 cannot be"),
        (lambda: gt.sphere(1e-200), "^radius: 1e-200 mm is out of range"),
        (lambda: gt.sphere(math.inf), "^radius: inf is no number"),
        (lambda: gt.sphere(1.0, density=math.nan), "^density: nan"),
        (lambda: gt.blob(1e200), r"^width: 1e\+200 mm is out of range"),
        (lambda: gt.blob(1e-200), "^width: 1e-200 mm is out of range"),
        (lambda: gt.blob(math.inf), "^width: inf is no number"),
        (lambda: gt.shepp_logan(field=1e-12), "^field: 1e-12 mm is out of range; give 1e-10 to"),
        (lambda: gt.sphere(3.0) + 3, "^other: it is 3; give a Phantom"),
        (lambda: gt.sphere(3.0) + gt.Ellipsoid(1.0, 1.0), "^other: it is an Ellipsoid; give a Phantom"),
        (lambda: gt.sphere(3.0).line_integrals((0, 0), (1, 0)), r"^origin: its shape is \(2,\)"),
        (lambda: gt.sphere(3.0).line_integrals((0, 0, 0), (1, 0)), r"^direction: its shape is \(2,\)"),
        (lambda: gt.sphere(3.0).line_integrals((0, 0, 0), (0, 0, 0)), "direction: one is zero"),
        (lambda: gt.sphere(3.0).line_integrals((0, math.nan, 0), (1, 0, 0)), "^origin: a coordinate is NaN"),
        (lambda: gt.sphere(3.0).line_integrals((-math.inf, 0, 0), (1, 0, 0)), "^origin: .*infinite"),
        (lambda: gt.sphere(3.0).line_integrals((1e200, 0, 0), (1, 0, 0)), r"^origin: .*beyond 1e\+100 mm"),
        (lambda: gt.sphere(3.0).line_integrals((0, 0, 0), [(1, 0, 0), (math.nan, 0, 1)]), "^direction: .*is NaN"),
        (lambda: gt.blob(3.0).line_integrals((0, 0, 0), (math.inf, 0, 0)), "^direction: .*infinite"),
        (lambda: gt.shepp_logan(2).line_integrals((0, 0, 0), (0, 0, 1)), "direction: a ray runs along"),
        (lambda: gt.Ellipsoid(1.0, 1.0).integral(np.zeros((3, 1)), np.zeros((3, 1))), "direction: one is zero"),
        (lambda: gt.Ellipsoid(1.0, 1.0).integral(np.zeros((3, 2, 4)), np.ones((3, 2, 4))), r"give \(3, n\) both"),
        (lambda: gt.Blob(1.0).integral(np.zeros((3, 1)), np.ones((3, 2, 4))), r"give \(3, n\) both"),
        (lambda: gt.sphere(3.0).sample(gt.Volume((2, 2)), 0), "supersample: 0"),
        (lambda: gt.sphere(3.0).project(gt.Volume((2, 2))), "geometry: it is a Volume; give a Geometry"),
        (lambda: gt.sphere(3.0).sample(gt.Volume((2, 2)), dtype=np.uint8), "dtype: uint8 is not offered"),
        (lambda: gt.shepp_logan(2).project(gt.parallel2d(4, 8), dtype=int), "dtype: int64 is not offered"),
        (lambda: gt.shepp_logan(2).project(gt.parallel2d(4, 8), dtype=complex), "dtype: complex128 is not offered"),
        (lambda: gt.poisson_noise(np.zeros((2, 2)), 0), "photons: 0"),
        (lambda: gt.poisson_noise(np.ones((2, 2)), 9e18), r"^photons: 9e\+18 are more than can be counted"),
        (lambda: gt.poisson_noise(np.array([[np.nan]]), 10.0), "projections: axis 0 0, axis 1 0 holds NaN"),
        (lambda: gt.poisson_noise(np.array([[-1e3]]), 10.0), "projections: view 0 amplifies"),
        (lambda: gt.poisson_noise(np.zeros((2, 2), int), 10.0), "projections: its dtype"),
        (lambda: gt.normalise(np.ones((2, 3, 4)), np.ones((3, 3))), r"flat: its shape is \(3, 3\)"),
        (lambda: gt.normalise(np.ones((2, 3)), 9.0, np.nan), "^dark: 1 of 1 values are NaN"),
        (lambda: gt.normalise(np.ones((2, 3)), 9.0, [1.0, np.inf, 2.0]), "^dark: 1 of 3 values are NaN"),
        (lambda: gt.normalise(np.ones((2, 3)), 1.0, [1.0, 0.0, 2.0]), "flat: 2 of 3 values are not above dark"),
        (
            lambda: gt.normalise(np.full((2, 3), np.nan), 1.0),
            "raw: view 0, u 0 holds NaN .* first of 6",
        ),
        (lambda: gt.normalise(np.ones((2, 3)), 1.0, floor=0), "floor: 0 is not a transmission"),
        (lambda: gt.normalise(np.ones(3), 1.0), "raw: it is"),
    ],
)
def test_bad_input_is_named(call: Any, word: str) -> None:
    with pytest.raises((ParameterError, ArrayError), match=word):
        call()


@pytest.mark.parametrize("length", [5e-324, 1e-200, 1.0, 1e200, 1e308])
def test_directions_have_any_length(length: float) -> None:
    direction = length * np.array([1, -1, 0.0])
    assert gt.sphere(1.0).line_integrals((0, 0, 0), direction) == pytest.approx(2)
    assert gt.sphere(1.0).line_integrals(np.zeros((0, 3)), direction).shape == (0,)


def test_small_and_large_bodies() -> None:
    for size in (1e-12, 1e12):
        for origin in (0.0, 1e13, 1e100):
            for body in (gt.sphere(size), gt.blob(size), gt.Phantom(gt.Ellipsoid(1.0, (size, 1e12, 1e-12)))):
                assert np.isfinite(body.line_integrals((0, origin, 0), (1, 0, 0)))


def test_axes_that_are_matrices_are_named() -> None:
    with pytest.raises(ParameterError, match=r"^axes along x: csr_array is no number"):
        gt.Ellipsoid(1.0, sp.csr_array(np.eye(12)))  # type: ignore[arg-type]


def test_a_phantom_prints_in_a_line() -> None:
    assert repr(gt.shepp_logan(3)) == "<Phantom: 10 bodies>"
    assert repr(gt.sphere(1.0)) == "<Phantom: 1 body>"
    assert dir(gt) == sorted(gt.__all__)


@pytest.mark.parametrize("body", [gt.Ellipsoid(1.0, (5.0, 4.0, 3.0)), gt.Blob(5.0)])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_one_origin_of_all_lines(body: gt.Body, count: int) -> None:
    rng = np.random.default_rng(count)
    origin, direction = np.array([1.0, 2.0, -9.0]), rng.normal(size=(3, count))
    direction[2] += 4
    direction /= np.linalg.norm(direction, axis=0)
    want = [body.integral(origin, one) for one in direction.T]
    np.testing.assert_allclose(body.integral(origin, direction), want)
    np.testing.assert_allclose(body.integral(origin[:, np.newaxis], direction), want)
    np.testing.assert_allclose(body.integral(origin[:, np.newaxis], direction[:, 0]), want[0])


class Cube(gt.Body):
    """A body of somebody's own."""

    def __init__(self, corners: Any, density: Any = None, integral: Any = None) -> None:
        self.corners, self.density, self.along = corners, density, integral

    def density_at(self, points: np.ndarray) -> Any:
        return np.ones(points.shape[1:]) if self.density is None else self.density

    def integral(self, origin: np.ndarray, direction: np.ndarray) -> Any:
        return self.along

    def box(self) -> Any:
        return self.corners


CORNERS = np.full(3, -3.0), np.full(3, 3.0)


def test_any_two_opposite_corners_are_a_box() -> None:
    low, high = CORNERS
    for corners in ((low, high), (high, low), (np.array([-3, 3, -3]), np.array([3, -3, 3]))):
        assert gt.Phantom(Cube(corners)).sample(gt.Volume((4, 4, 4))).sum() == 64


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (Cube(None), r"Cube.box: its shape is \(\); return \(2, 3\)"),
        (Cube(([-3, -3], [3, 3])), r"Cube.box: its shape is \(2, 2\)"),
        (Cube((np.full(3, np.nan), np.ones(3))), "Cube.box: it returned NaN"),
        (Cube(CORNERS, np.ones(4)), r"Cube.density_at: its shape is \(4,\); return \(1, 4, 4\)"),
        (Cube(CORNERS, "dense"), "Cube.density_at: it cannot be read"),
        (Cube(CORNERS, None, np.ones(7)), r"Cube.integral: its shape is \(7,\)"),
        (Cube(CORNERS, None, [np.nan] * 3), "Cube.integral: it returned NaN"),
    ],
)
def test_answers_of_bodies_are_looked_at(body: gt.Body, said: str) -> None:
    phantom, asks_for_rays = gt.Phantom(body), "integral" in said
    with pytest.raises(ArrayError, match=said):
        phantom.project(gt.parallel2d(2, 3)) if asks_for_rays else phantom.sample(gt.Volume((4, 4, 4)))


@pytest.mark.parametrize(
    "call",
    [
        lambda p: gt.poisson_noise(p, 1000.0),
        lambda p: gt.normalise(p, 2.0),
        lambda p: gt.filter_rows(p, np.ones(p.shape[1])),
        gt.remove_rings,
        lambda p: gt.find_centre(p, len(p)),
    ],
)
def test_projections_of_more_than_memory_holds_are_refused_at_once(call: Any) -> None:
    with pytest.raises(gpuopt.Error, match="memory does not hold"):
        call(np.broadcast_to(np.float32(1), (2**23, 2**22)))


def test_values_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between which signals are answered."""
    monkeypatch.setattr(checks, "_AT_ONCE", 5)
    whole = np.zeros((4, 7, 6))
    for given in (whole, whole.transpose(2, 0, 1), np.broadcast_to(np.zeros(6), (4, 7, 6)), np.zeros(()), whole[:0]):
        checks.finite("p", given, "abc", "mend it")
    whole[2, 5, 3] = whole[3, 1, 2] = np.inf
    for given, place in ((whole, "a 2, b 5, c 3"), (whole.transpose(2, 0, 1), "a 2, b 3, c 1")):
        with pytest.raises(ArrayError, match=f"p: {place} holds NaN or infinity, as the first of 2; mend it"):
            checks.finite("p", given, "abc", "mend it")
