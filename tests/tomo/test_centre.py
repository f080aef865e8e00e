"""The axis of rotation: of heads off the middle, with noise, over half a turn and a whole one, cut off; bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError

COLUMNS, VIEWS = 256, 90
HALF, WHOLE = np.arange(VIEWS) * math.pi / VIEWS, np.arange(2 * VIEWS) * math.pi / VIEWS


def head(angles: Any, offset: float, field: float = 100.0, noise: float = 0.01, columns: int = COLUMNS) -> np.ndarray:
    """The sinogram of a head of 0.92 ``field`` pixels, each the mean of what it sees, with noise of a part of the
    largest number."""
    clean = gt.shepp_logan(2, field=field).project(gt.parallel2d(angles, columns, 1.0, offset, units="rad"), 3, float)
    random = np.random.default_rng(abs(int(10 * offset)))
    return clean + random.normal(0, noise * clean.max(), clean.shape)


@pytest.mark.parametrize("part", [-0.3, -0.17, -0.031, 0.0, 0.0007, 0.12, 0.3])
def test_within_a_tenth_of_a_pixel(part: float) -> None:
    offset = part * COLUMNS
    for angles in (HALF, WHOLE):
        assert gt.find_centre(head(angles, offset), angles) == pytest.approx(offset, abs=0.1)


def test_a_whole_turn_that_the_detector_sees_half_of() -> None:
    """The head reaches beyond the detector on one side."""
    for offset in (-0.3 * COLUMNS, 0.22 * COLUMNS):
        p = head(WHOLE, offset, field=250.0)
        assert p[:, 0].max() > 0 or p[:, -1].max() > 0
        assert gt.find_centre(p, WHOLE) == pytest.approx(offset, abs=0.1)


@pytest.mark.parametrize(
    "angles",
    [
        np.linspace(0, math.pi, 91),
        np.linspace(0, math.pi, 91)[::-1] + 0.4,
        np.linspace(-0.2, math.pi + 0.3, 143),
        np.random.default_rng(3).permutation(np.linspace(0, 2 * math.pi, 200, endpoint=False)),
        np.arange(91) * math.pi / 91,
        np.concatenate([HALF, HALF]),
    ],
    ids=["both ends", "falling", "more", "shuffled", "odd", "twice"],
)
def test_angles_of_any_order(angles: np.ndarray) -> None:
    assert gt.find_centre(head(angles, 12.3), angles) == pytest.approx(12.3, abs=0.1)


TURN = np.concatenate([np.arange(300.0, 360), np.arange(120.0)])


@pytest.mark.parametrize(
    "degrees",
    [
        np.arange(144) * 137.5,
        np.arange(200) * 137.50776405,
        -np.arange(320) * 137.5,
        np.arange(180) * 362.0,
        TURN,
        TURN[::-1],
        np.roll(TURN, 30) + 720,
        np.concatenate([TURN, TURN + 360]),
        np.concatenate([np.arange(250.0, 360, 2), np.arange(0.0, 72, 2)]),
    ],
    ids=["golden", "unrepeated", "repeated", "a turn a view", "wrapped", "falling", "begun between", "twice", "wide"],
)
def test_angles_of_many_turns_are_places_on_one(degrees: np.ndarray) -> None:
    p = head(np.deg2rad(degrees), 12.3)
    assert gt.find_centre(p, degrees, units="deg") == pytest.approx(12.3, abs=0.1)


@pytest.mark.parametrize(
    ("step", "views"), [(137.5, 8), (137.5, 24), (72.0, 5), (40.0, 9), (177.0, 2), (15.0, 12), (11.0, 17)]
)
def test_views_that_mirror_nothing_are_not_compared(step: float, views: int) -> None:
    degrees = np.arange(views) * step
    with pytest.raises(
        ParameterError, match=r"no two views lie half a turn apart, .* views of at most 3 usual steps and 10 degrees"
    ):
        gt.find_centre(head(np.deg2rad(degrees), 12.3), degrees, units="deg")


def test_views_far_apart_of_which_some_are_mirror_images() -> None:
    for views in (8, 12):
        angles = np.arange(views) * 2 * math.pi / views
        assert gt.find_centre(head(angles, 12.3), angles) == pytest.approx(12.3, abs=0.1)


@pytest.mark.parametrize("views", [32, 10])
def test_angles_of_an_encoder_are_as_near_as_it_reads(views: int) -> None:
    """A coarse turn whose views are half a turn apart but for hundredths of a degree was refused."""
    angles = np.deg2rad(np.arange(views) * 360 / views + np.random.default_rng(5).normal(0, 0.01, views))
    assert gt.find_centre(head(angles, 12.3), angles) == pytest.approx(12.3, abs=0.1)


@pytest.mark.parametrize(
    "degrees",
    [np.linspace(0, 179.99, 13), np.concatenate([[0.0], np.arange(4.0, 180.0)])],
    ids=["coarse", "views missing beside an end"],
)
def test_ends_of_half_a_turn_that_meet(degrees: np.ndarray) -> None:
    p = head(np.deg2rad(degrees), 12.3)
    assert gt.find_centre(p, degrees, units="deg") == pytest.approx(12.3, abs=0.2)


def test_what_it_returns_is_the_offset_of_a_geometry() -> None:
    true = gt.parallel2d(90, 64, 0.5, offset=3.2)
    p = gt.shepp_logan(2, field=20.0).project(true, 3)
    found = gt.find_centre(p, gt.parallel2d(90, 64, 0.5)) * 0.5
    assert found == pytest.approx(3.2, abs=0.05)
    assert gt.find_centre(p, 90) * 0.5 == found
    disc, volume = gt.sphere(8.0, (3.0, 1.0, 0.0)), gt.Volume((40, 40), 0.6)
    b = disc.project(true, 3, float)
    image = gt.fbp(gt.NumpyProjector(gt.parallel2d(90, 64, 0.5, gt.find_centre(b, 90) * 0.5), volume), b)
    expected = disc.sample(volume, 4, float)
    assert np.linalg.norm(image - expected) < 0.2 * np.linalg.norm(expected)


def test_several_rows() -> None:
    scan = gt.parallel3d(90, (6, 96), 1.0, (0.0, -7.4))
    p = gt.shepp_logan(3, field=40.0).project(scan, 2)
    assert gt.find_centre(p, scan) == pytest.approx(-7.4, abs=0.05)


def test_rows_that_are_not_used_may_hold_anything() -> None:
    p = np.repeat(head(WHOLE, 2.0)[:, np.newaxis], 31, axis=1)
    found = gt.find_centre(p, WHOLE)
    p[:, 1::2] = np.nan
    assert gt.find_centre(p, WHOLE) == found
    p[7, 12, 5] = np.inf
    with pytest.raises(ArrayError, match="projections: view 7, v 12, u 5 holds NaN or infinity; repair"):
        gt.find_centre(p, WHOLE)


def narrow(columns: int, offset: float, seed: int) -> tuple[gt.Geometry, np.ndarray]:
    """An ellipse that a few columns see, with 1 % of noise."""
    random = np.random.default_rng(seed)
    scan = gt.parallel2d(np.linspace(0, math.pi, 60), columns, 1.0, offset)
    centre = (random.uniform(-0.8, 0.8), random.uniform(-0.8, 0.8), 0.0)
    p = gt.Phantom(gt.Ellipsoid(1.0, (2.5, 1.2, math.inf), centre, random.uniform(0, 3))).project(scan, 4, float)
    return scan, p + 0.01 * p.max() * random.standard_normal(p.shape)


def test_columns_too_few_to_be_alike_by_chance_are_not_compared() -> None:
    """Two numbers always correlate."""
    for seed in range(20):
        offset = np.random.default_rng(100 + seed).uniform(-1, 1)
        scan, p = narrow(10, offset, seed)
        assert gt.find_centre(p, scan) == pytest.approx(offset, abs=0.2)


def test_no_answer_lies_beyond_the_end_of_the_search() -> None:
    for offset, limit, told in ((0.9, 0.05, "limit=0.05 ends the search"), (0.3, 0.01, "limit=0.01 ends the search")):
        scan, p = narrow(16, offset, 0)
        with pytest.raises(ArrayError, match=f"{told}.*give a larger limit, or the axis"):
            gt.find_centre(p, scan, limit)
    scan, p = narrow(8, 1.4, 0)
    with pytest.raises(ArrayError, match=r"1\.5 pixels off, where they hardly overlap, .* give the axis by hand"):
        gt.find_centre(p, scan)


@pytest.mark.parametrize("angles", [HALF, WHOLE], ids=["half", "whole"])
def test_numbers_of_any_magnitude(angles: np.ndarray) -> None:
    """A scale changes nothing, as long as no digits are lost."""
    p = head(angles, 12.3)
    found = gt.find_centre(p, angles)
    for power in (-900, -300, -250, 250, 300, 900, 1016):
        assert gt.find_centre(np.ldexp(p, power), angles) == found
    single = p.astype(np.float32)
    for power in (-100, 100, 120):
        assert gt.find_centre(np.ldexp(single, power), angles) == gt.find_centre(single, angles)


def test_bad_input() -> None:
    p = head(HALF[::2], 0.0, columns=64, field=25.0)
    for wrong, error, words in (
        ((p[0], 45), ArrayError, r"projections: their shape is \(64,\)"),
        ((p[:, :5], 45), ArrayError, "projections: 45 views of 5 columns"),
        ((p[:0], 45), ArrayError, "projections: 0 views"),
        ((p.astype(int), 45), ArrayError, "projections: its dtype is"),
        ((p, 44), ParameterError, "geometry: it has 44 views, the projections 45"),
        ((p, np.linspace(0, 2.5, 45)), ParameterError, "angles span 143.2 degrees, and no two views lie half a turn"),
        ((p, np.zeros(45)), ParameterError, "no two views lie half a turn"),
        ((p, gt.fan(45, 100.0, 150.0, 64, 1.0)), ParameterError, "geometry: <fan.* is not of parallel beams"),
        ((p, 45, 0.5), ParameterError, "limit: 0.5"),
        ((np.zeros_like(p), 45), ArrayError, "show nothing in common"),
    ):
        with pytest.raises(error, match=words):
            gt.find_centre(*wrong)
    for units in ("rad", "deg"):
        with pytest.raises(ParameterError, match="units: the angles of a geometry are in radians"):
            gt.find_centre(p, gt.parallel2d(45, 64), units=units)


@pytest.mark.parametrize("limit", [0.1, 0.16])
def test_an_axis_beyond_the_limit_is_not_the_end_of_the_search(limit: float) -> None:
    p = head(HALF, 0.17 * COLUMNS)
    with pytest.raises(ArrayError, match="the axis lies beyond; give a larger limit"):
        gt.find_centre(p, HALF, limit)
    assert gt.find_centre(p, HALF, 0.2) == pytest.approx(0.17 * COLUMNS, abs=0.1)
