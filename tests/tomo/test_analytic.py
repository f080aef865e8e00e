"""Filtered back projection and Feldkamp's method: golden means, short scans, filters, bad input."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from gpuopt.tomo.filters import WINDOWS
from gpuopt.tomo.redundancy import Arc, fan_weights, parker

R, D, COLUMNS, DU = 500.0, 1000.0, 192, 1.2
BALL = gt.sphere(18.0, (6.0, -4.0, 3.0))
HALF_FAN = math.atan(COLUMNS * DU / (2 * D))
SHORT = np.arange(200) * (math.pi + 2 * HALF_FAN) / 200


def mean_in_the_ball(scan: gt.Geometry, algorithm: Callable[..., np.ndarray]) -> float:
    """Of the voxels of 64^3 that lie in 0.8 of the ball: these alone are reconstructed, from the rows they need."""
    part = gt.Volume((30, 30, 30), 1.0, (3.0, -4.0, 6.0))
    whole = gt.Volume((64, 64, 64))
    assert np.isin(part.x, whole.x).all()
    assert np.isin(part.z, whole.z).all()
    inside = np.linalg.norm(part.points() - [6, -4, 3], axis=-1) <= 0.8 * 18
    assert inside.sum() == (np.linalg.norm(whole.points() - [6, -4, 3], axis=-1) <= 0.8 * 18).sum()
    image = algorithm(gt.NumpyProjector(scan, part), BALL.project(scan, dtype=float))
    return float(image[inside].mean())


@pytest.mark.parametrize(
    ("scan", "algorithm", "mean"),
    [
        # Rows are filtered apart, so that those of the 160 that no such voxel reads are left out.
        (gt.circular(360, R, D, (64, COLUMNS), DU), gt.fdk, 0.99973),
        (gt.circular(360, R, D, (64, COLUMNS), DU, curved=True), gt.fdk, 0.99981),
        (gt.circular(SHORT, R, D, (64, COLUMNS), DU), gt.fdk, 0.9997),
        (gt.circular(-SHORT, R, D, (64, COLUMNS), DU), gt.fdk, 0.9997),
        (gt.parallel3d(180, (32, COLUMNS), DU), gt.fbp, 0.99983),
    ],
    ids=["flat", "cylinder", "Parker", "Parker falling", "parallel"],
)
def test_golden_means(scan: gt.Geometry, algorithm: Callable[..., np.ndarray], mean: float) -> None:
    got = mean_in_the_ball(scan, algorithm)
    assert got == pytest.approx(1, abs=1e-3)
    assert got == pytest.approx(mean, abs=6e-6 if round(mean, 4) != mean else 6e-5)


def disc_scan(kind: str, angles: Any = None) -> gt.Geometry:
    views = {"parallel": 90, "flat": 180, "arc": 180}[kind] if angles is None else angles
    if kind == "parallel":
        return gt.parallel2d(views, 64, 1.0, 0.25)
    return gt.fan(views, 100.0, 150.0, 72, 1.5, curved=kind == "arc", offset=0.3)


DISC = gt.sphere(14.0, (3.0, -2.0, 0.0))
FLAT = gt.Volume((48, 48))


@pytest.mark.parametrize("kind", ["parallel", "flat", "arc"])
def test_slices(kind: str) -> None:
    """fbp of parallel beams and fans in 2D; fdk is the same for fans; the middle of a cone is its fan."""
    scan = disc_scan(kind)
    p = DISC.project(scan)
    image = gt.fbp(gt.NumpyProjector(scan, FLAT), p)
    assert image.dtype == np.float32
    away = np.linalg.norm(FLAT.points() - [3, -2, 0], axis=-1)
    assert image[away < 11].mean() == pytest.approx(1, abs=3e-3)
    assert abs(image[(away > 17) & (away < 24)].mean()) < 0.02
    assert gt.fbp(gt.NumpyProjector(scan, FLAT), p.astype(float)).dtype == np.float64
    if kind == "parallel":
        return
    A = gt.NumpyProjector(scan, FLAT)
    np.testing.assert_array_equal(gt.fdk(A, p), image)
    cone = gt.circular(180, 100.0, 150.0, (1, 72), 1.5, curved=kind == "arc", offset=(0.0, 0.3))
    solid = gt.fdk(gt.NumpyProjector(cone, gt.Volume((1, 48, 48))), p[:, np.newaxis])
    np.testing.assert_allclose(solid[0], image, atol=1e-6)


def test_views_may_come_in_any_order_and_more_than_once() -> None:
    """A turn, half of it, a few turns over the same angles, and views in a random order give one image."""
    half = np.arange(60) * math.pi / 60
    random = np.random.default_rng(0)
    image: np.ndarray | None = None
    for angles in (half, random.permutation(half), half + math.pi, np.concatenate([half, half + math.pi])):
        scan = gt.parallel2d(angles, 64)
        got = gt.fbp(gt.NumpyProjector(scan, FLAT), DISC.project(scan, dtype=float))
        image = got if image is None else image
        np.testing.assert_allclose(got, image, atol=1e-9)
    turn = np.arange(90) * 2 * math.pi / 90
    cone = None
    for angles in (turn, random.permutation(turn), -turn, np.concatenate([turn, turn + 2 * math.pi])[:-1]):
        scan = disc_scan("flat", angles)
        got = gt.fdk(gt.NumpyProjector(scan, FLAT), DISC.project(scan, dtype=float))
        cone = got if cone is None else cone
        np.testing.assert_allclose(got, cone, atol=1e-9)


def test_uneven_views_count_by_their_share() -> None:
    random = np.random.default_rng(1)
    angles = np.sort(np.arange(200) + random.uniform(-0.4, 0.4, 200)) * math.pi / 200
    scan = gt.parallel2d(angles, 64)
    image = gt.fbp(gt.NumpyProjector(scan, FLAT), DISC.project(scan, dtype=float))
    away = np.linalg.norm(FLAT.points() - [3, -2, 0], axis=-1)
    assert image[away < 11].mean() == pytest.approx(1, abs=3e-3)
    assert image[away < 11].std() < 0.03


@pytest.mark.parametrize("kind", ["flat", "arc"])
@pytest.mark.parametrize("more", [0.0, 0.5])
def test_short_scans(kind: str, more: float) -> None:
    """Of half a turn and the fan, or of more; in either sense, from anywhere, in any order."""
    half_fan = disc_scan(kind).half_fan + more
    angles = np.arange(200) * (math.pi + 2 * half_fan) / 200
    away = np.linalg.norm(FLAT.points() - [3, -2, 0], axis=-1)
    for turned in (angles, 1.7 - angles, np.random.default_rng(2).permutation(angles)):
        scan = disc_scan(kind, turned)
        image = gt.fdk(gt.NumpyProjector(scan, FLAT), DISC.project(scan, dtype=float))
        assert image[away < 11].mean() == pytest.approx(1, abs=4e-3)
        assert image[away < 11].std() < 0.03


@pytest.mark.parametrize("half", [0.2, 0.5])
def test_parkers_weights_share_rays_that_are_seen_twice(half: float) -> None:
    alpha = np.linspace(-0.2, 0.2, 9) * 0.999
    b = np.linspace(0, math.pi + 2 * half, 400)
    weights = parker(b, alpha, half)
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert (weights[[0, -1]] < 1e-9).all()
    for column, a in enumerate(alpha):
        again = b + math.pi - 2 * a
        seen = again <= math.pi + 2 * half
        assert seen.any()
        other = parker(again[seen], np.array([-a]), half)[:, 0]
        np.testing.assert_allclose(weights[seen, column] + other, 1, atol=1e-12)
        alone = (b >= 2 * (half + a)) & (b <= math.pi + 2 * a)
        np.testing.assert_array_equal(weights[alone, column], 1)


def short_scan(kind: str, views: int = 24) -> gt.Geometry:
    """Half a turn and the fan of a displaced detector, which is all that its angles cover."""
    half = gt.fan(1, 80.0, 80.0, 48, 0.79, kind == "arc", offset=7.0).half_fan
    angles = 0.2 + np.arange(views) * (math.pi + 2 * half) / views
    return gt.fan(angles, 80.0, 80.0, 48, 0.79, kind == "arc", offset=7.0)


@pytest.mark.parametrize("kind", ["flat", "arc"])
def test_a_short_scan_is_the_same_in_any_order(kind: str) -> None:
    scan, volume = short_scan(kind), gt.Volume((32, 32), 0.5)
    p = (gt.blob(2.0, (1.0, 3.0, 0.0)) + gt.blob(1.0, (-4.0, 1.0, 0.0))).project(scan, dtype=float)
    image = gt.fdk(gt.NumpyProjector(scan, volume), p)
    for order in (np.arange(24)[::-1], np.random.default_rng(4).permutation(24)):
        again = gt.fdk(gt.NumpyProjector(scan.subset(order), volume), p[order])
        np.testing.assert_allclose(again, image, atol=1e-10 * image.max())


@pytest.mark.parametrize("falling", [False, True])
def test_both_measurements_of_a_ray_weigh_1_together(falling: bool) -> None:
    step = math.pi / 150  # of which rays that are measured again lie whole numbers apart
    angles = 0.3 + np.arange(175) * step
    scan = gt.fan(-angles if falling else angles, 80.0, 80.0, 19, 40 * step, curved=True)
    weights = fan_weights(scan, False).weights / step
    np.testing.assert_allclose(weights, weights[::-1, ::-1], atol=1e-9)  # what begins the scan weighs as what ends it
    for column in range(19):
        again = np.arange(175) + 150 - (-1 if falling else 1) * (column - 9)
        seen = again < 175
        assert seen.any()
        np.testing.assert_allclose(weights[seen, column] + weights[again[seen], 18 - column], 1, atol=1e-9)


def test_the_ramp() -> None:
    taps = gt.ramp(6, 0.5)
    np.testing.assert_allclose(taps, [1.0, -4 / math.pi**2, 0, -4 / (9 * math.pi**2), 0, -4 / (25 * math.pi**2)])
    fan = gt.ramp(6, 0.1, fan=True)
    n = np.arange(1, 6, 2)
    np.testing.assert_allclose(fan[n], gt.ramp(6, 0.1)[n] * (n * 0.1 / np.sin(n * 0.1)) ** 2)
    # In frequency it is |f|, without the offset that a ramp cut off there has.
    many = gt.ramp(4096, 1.0)
    for f in (0.0, 0.05, 0.2, 0.5):
        assert many[0] + 2 * (many[1:] * np.cos(2 * np.pi * f * np.arange(1, 4096))).sum() == pytest.approx(f, abs=2e-4)


@pytest.mark.parametrize("columns", [1, 2, 7, 31, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_filtering_is_a_convolution(columns: int, dtype: Any) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 2, columns)).astype(dtype)
    taps = np.random.default_rng(1).normal(size=columns)
    got = gt.filter_rows(rows, taps, scale=0.7)
    assert got.dtype == dtype
    i = np.arange(columns)
    matrix = 0.7 * taps[np.abs(i[:, np.newaxis] - i)]
    np.testing.assert_allclose(got, rows.astype(float) @ matrix, atol=1e-12 if dtype is np.float64 else 1e-5)


def test_windows() -> None:
    w = np.array([0.0, 0.25, 0.5, 1.0])
    expected = {
        "ram-lak": [1, 1, 1, 1],
        "shepp-logan": [1, np.sin(np.pi / 8) / (np.pi / 8), np.sin(np.pi / 4) / (np.pi / 4), 2 / np.pi],
        "cosine": [1, np.cos(np.pi / 8), np.cos(np.pi / 4), 0],
        "hann": [1, 0.5 + 0.5 * np.cos(np.pi / 4), 0.5, 0],
        "hamming": [1, 0.54 + 0.46 * np.cos(np.pi / 4), 0.54, 0.08],
    }
    assert set(expected) == set(WINDOWS)
    impulse = np.zeros((1, 33))
    impulse[0, 16] = 1
    for name, values in expected.items():
        np.testing.assert_allclose(WINDOWS[name](w), values, atol=1e-15)
        # A filter of a unit tap leaves the window's own response.
        response = gt.filter_rows(impulse, np.eye(33)[0], name)
        assert response[0, 16] == pytest.approx(WINDOWS[name](np.linspace(0, 1, 2001)).mean(), abs=0.02)
    A, p = gt.NumpyProjector(disc_scan("parallel"), FLAT), DISC.project(disc_scan("parallel"), dtype=float)
    noisy = gt.poisson_noise(0.05 * p, 1e3)
    spread = [gt.fbp(A, noisy, window=name)[20:28, 20:28].std() for name in expected]
    assert spread == sorted(spread, reverse=True)[:3] + spread[3:]
    assert max(spread[3:]) < spread[1]


def test_projections_by_rows() -> None:
    scan = gt.parallel3d(20, (3, 24), 2.0)
    A = gt.NumpyProjector(scan, gt.Volume((3, 20, 20), 2.0))
    p = gt.sphere(15.0).project(scan)
    sinograms = np.ascontiguousarray(p.swapaxes(0, 1))
    np.testing.assert_array_equal(gt.fbp(A, sinograms, axes="vau"), gt.fbp(A, p))
    np.testing.assert_array_equal(np.asarray(gt.sirt(A, sinograms, 2, axes="vau")), gt.sirt(A, p, 2).image)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda A, p: gt.fbp(A, p, window="box"), ParameterError, "window: 'box'"),
        (lambda A, p: gt.fbp(A, p, axes="uva"), ParameterError, "axes: 'uva'"),
        (lambda A, p: gt.fbp(A, p, axes="vau"), ArrayError, "axes='vau' needs"),
        (lambda A, p: gt.fbp(A, p[:, 1:]), ArrayError, "projections: its axis u has 63 entries, the geometry 64"),
        (lambda A, p: gt.fbp(A, p.tolist()), ArrayError, "projections: list is not a NumPy array"),
        (lambda A, p: gt.fbp(A, p.astype(int)), ArrayError, "projections: its dtype is <i8"),
        (lambda A, p: gt.fbp(A, np.where(p > 20, np.nan, p)), ArrayError, r"projections: .* holds NaN"),
        (lambda A, p: gt.fdk(A, p), ParameterError, "A: fdk is for cones on a circle and fans.*fbp"),
        (lambda A, p: gt.fbp("A", p), ParameterError, "A: it is 'A'; give a GeometricOperator"),
    ],
)
def test_bad_input_of_fbp(call: Any, error: type[Exception], word: str) -> None:
    scan = disc_scan("parallel")
    with pytest.raises(error, match=word):
        call(gt.NumpyProjector(scan, FLAT), DISC.project(scan, dtype=float))


TURN = 2 * math.pi


@pytest.mark.parametrize(
    ("kind", "angles", "on_end", "offset"),
    [
        ("parallel", np.arange(45) * math.pi / 45, 0.0, 0.0),
        ("parallel", np.arange(45) * math.pi / 45, math.pi, 0.0),
        ("parallel", np.arange(60) * TURN / 60, TURN, 12.0),
        ("flat", np.arange(60) * TURN / 60, 0.0, 0.0),
        ("arc", np.arange(60) * TURN / 60, TURN, 18.0),
        ("flat", np.arange(60) * TURN / 90, 0.0, 0.0),
        ("flat", -np.arange(60) * TURN / 90, TURN, 0.0),
    ],
    ids=["half turn", "half turns on end", "displaced", "turn", "displaced fan", "short", "short, turns later"],
)
def test_repeated_views_count_alike(kind: str, angles: np.ndarray, on_end: float, offset: float) -> None:
    """Passes of one scan, each with its own noise, give the mean of their images, in any order of the views."""

    def operator(angles: np.ndarray) -> gt.NumpyProjector:
        if kind == "parallel":
            return gt.NumpyProjector(gt.parallel2d(angles, 64, offset=offset, units="rad"), FLAT)
        fan = gt.fan(angles, 100.0, 150.0, 72, 1.5, curved=kind == "arc", offset=offset, units="rad")
        return gt.NumpyProjector(fan, FLAT)

    passes, random, once = 4, np.random.default_rng(3), operator(angles)
    p = DISC.project(once.geometry, 4, dtype=np.float64) + random.normal(0, 0.3, (passes, *once.data_shape))
    mean = np.mean([gt.fbp(once, one) for one in p], axis=0)
    if on_end == math.pi:
        p[1::2] = p[1::2, :, ::-1].copy()
    p, turned = p.reshape(-1, p.shape[-1]), np.concatenate([angles + i * on_end for i in range(passes)])
    for order in (np.arange(len(p)), random.permutation(len(p))):
        np.testing.assert_allclose(gt.fbp(operator(turned[order]), p[order]), mean, atol=1e-8 * np.abs(mean).max())


def test_places_of_views() -> None:
    for period in (math.pi, TURN):
        step = period / 40
        even = np.arange(40) * step
        for around in (0.0, 1e-15, 1e-9, 1e-6):  # on both sides of where the period ends, too
            near = np.concatenate([even, even + around, even - around])
            np.testing.assert_allclose(Arc.of(near, period).shares(closed=True), step / 3, rtol=1e-4)
        uneven = np.r_[0, 1, 1, 1, 5, 9] * step  # 3 steps from place to place in the mean
        np.testing.assert_allclose(Arc.of(uneven, period).shares(closed=False)[:4] / step, [2, *[2.5 / 3] * 3])


def test_dense_views_are_not_at_one_place() -> None:
    dense = np.linspace(0, 1e-4, 3000)
    arc = Arc.of(dense, math.pi)
    assert arc.at[-1] == 2999
    np.testing.assert_allclose(arc.shares(closed=False), dense[1], rtol=1e-4)
    # Among views that lie wide apart, places of dense ones stay far narrower than a step.
    among = Arc.of(np.concatenate([np.deg2rad(np.arange(180)), 1 + 10 * dense]), math.pi)
    width = [np.ptp(among.along[among.at == place]) for place in range(among.at[-1] + 1)]
    assert max(width) < 1e-3 * math.pi / len(width)
    assert among.shares(closed=True).sum() == pytest.approx(math.pi)


@pytest.mark.parametrize("interpolation", ["nearest", "cubic"])
@pytest.mark.parametrize("scan", [gt.parallel2d(12, 15), gt.fan(12, 60.0, 90.0, 15, 1.0)])
def test_other_interpolation_is_refused_by_name(scan: gt.Geometry, interpolation: str) -> None:
    A, p = gt.NumpyProjector(scan, gt.Volume((8, 8))), np.zeros(scan.shape)
    with pytest.raises(ParameterError, match=f"interpolation: '{interpolation}' is not offered"):
        gt.fbp(A, p, interpolation=interpolation)
    np.testing.assert_array_equal(gt.fbp(A, p, interpolation="linear"), gt.fbp(A, p))


def test_scans_that_have_no_filter_are_named() -> None:
    volume, p = gt.Volume((2, 8, 8)), np.ones((6, 2, 9))
    det: Any = (100.0, 150.0, (2, 9), 2.0)
    circle = gt.circular(6, *det)
    for scan, algorithm, word in (
        (gt.helical(6, 1, *det, 5.0), gt.fdk, "A: fdk is for .*<helical"),
        (gt.circular(6, *det, radius=120.0), gt.fdk, "A: its detector's radius is 120 mm.*150 mm"),
        (circle, gt.fbp, "A: fbp is for .*<circular"),
        (gt.from_astra(circle.to_astra()), gt.fbp, "A: fbp is for .*<cone vectors"),
    ):
        with pytest.raises(ParameterError, match=word):
            algorithm(gt.NumpyProjector(scan, volume), p)
    for scan, algorithm, word in (
        (gt.circular(np.arange(6) * 0.5, *det), gt.fdk, r"angles: they cover 171.9 degrees; .* needs 186.1; use sirt"),
        (gt.circular([0.1], *det), gt.fdk, "angles: they cover 0 degrees"),
        (gt.parallel3d([0.1], (2, 9)), gt.fbp, "angles: no view lies in 180 degrees"),
        (gt.parallel3d(np.arange(6) * 0.2, (2, 9)), gt.fbp, "angles: no view lies in 123 degrees of the half turn"),
    ):
        with pytest.raises(ParameterError, match=word):
            algorithm(gt.NumpyProjector(scan, volume), np.ones(scan.shape))


@dataclasses.dataclass(unsafe_hash=True)
class Labelled(gt.NumpyProjector):
    """An operator whose equality is of a field of its own."""

    label: str

    def __init__(self, geometry: gt.Geometry, volume: gt.Volume, label: str) -> None:
        super().__init__(geometry, volume)
        self.label = label


def test_filters_are_kept_by_the_operator_itself() -> None:
    volume, ball = gt.Volume((8, 8)), gt.sphere(3.0)
    scans = [gt.parallel2d(12, 8, pixel=pixel) for pixel in (1.0, 2.0)]
    operators = [Labelled(scan, volume, "mine") for scan in scans]
    assert operators[0] == operators[1]
    for scan, operator in zip(scans, operators, strict=True):
        p = ball.project(scan, 4)
        np.testing.assert_array_equal(gt.fbp(operator, p), gt.fbp(gt.NumpyProjector(scan, volume), p))


def test_slices_beyond_the_outer_rows_are_told() -> None:
    scan, column = gt.parallel3d(60, (4, 64)), gt.Phantom(gt.Ellipsoid(1.0, (20.0, 20.0, math.inf)))
    p = column.project(scan, 2)
    whole = gt.fbp(gt.NumpyProjector(scan, gt.Volume((4, 32, 32))), p)
    np.testing.assert_allclose(whole.mean(axis=(1, 2)), whole.mean(), rtol=1e-6)
    fine = gt.NumpyProjector(scan, gt.Volume((8, 32, 32), voxel=(0.5, 1.0, 1.0)))
    for _ in range(2):
        with pytest.warns(gt.TruncationWarning, match=r"volume: 2 slices of 8 lie beyond .* z = -1.5 to 1.5 mm"):
            found = gt.fbp(fine, p)
    np.testing.assert_allclose(found.mean(axis=(1, 2)), whole.mean() * np.array([0.75, *[1] * 6, 0.75]), rtol=1e-5)


@pytest.mark.parametrize("kind", ["parallel", "flat", "arc"])
@pytest.mark.parametrize("sign", [1, -1])
def test_very_large_projections_have_an_image_or_are_refused(kind: str, sign: int, any_device: gpuopt.Device) -> None:
    """Filtered rows may leave the dtype before the image does."""
    scan, volume = disc_scan(kind, 24 if kind == "parallel" else 36), gt.Volume((16, 16))
    p = sign * gt.sphere(6.0).project(scan, 2, dtype=float)
    device = gt.Projector(scan, volume, device=any_device)
    for A, dtype in ((gt.NumpyProjector(scan, volume), np.float64), (device, np.float32)):
        small, most = gt.fbp(A, p.astype(dtype)), float(np.finfo(dtype).max / np.abs(p).max())
        said = []
        for part in (1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.5, 0.99):
            try:
                image = gt.fbp(A, (p * (most * part)).astype(dtype))
            except ArrayError as error:
                said.append(str(error))
            else:
                np.testing.assert_allclose(image / most / part, small, atol=1e-4)
        assert set(said) <= {f"projections: filtered they are beyond {np.dtype(dtype)}; scale them"}
        assert len(said) < 6
        assert said or kind != "arc"
