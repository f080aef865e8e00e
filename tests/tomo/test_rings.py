"""Rings: stripes of sinograms go, and what is none stays."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError

VIEWS, COLUMNS = 120, 384
SCAN = gt.parallel2d(VIEWS, COLUMNS, 1.0)
STRIPES = (115, 211, 251)


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    """A head, the mean over each pixel as detectors see it."""
    return gt.shepp_logan(2, field=365.0).project(SCAN, 3)


@pytest.mark.parametrize("width", [1, 2])
def test_stripes_go(clean: np.ndarray, width: int) -> None:
    striped = clean.copy()
    height = 0.05 * clean.max()
    for column in STRIPES:
        striped[:, column : column + width] += height
    before, after = striped - clean, gt.remove_rings(striped) - gt.remove_rings(clean)
    for column in STRIPES:
        at = slice(column, column + width)
        assert np.abs(after[:, at]).mean() < np.abs(before[:, at]).mean() / 5


def test_rings_of_the_image_go(clean: np.ndarray) -> None:
    A = gt.NumpyProjector(SCAN, gt.Volume((60, 60), 1.0))
    striped = clean.copy()
    striped[:, 207] += 0.05 * clean.max()
    whole = gt.fbp(A, clean)
    ring, left = (gt.fbp(A, p) - whole for p in (striped, gt.remove_rings(striped)))
    y, x = np.meshgrid(A.volume.y, A.volume.x, indexing="ij")
    on = np.abs(np.hypot(x, y) - 15.5) < 0.7
    assert abs(left[on].mean()) < abs(ring[on].mean()) / 5


def test_what_has_no_stripes_stays(clean: np.ndarray) -> None:
    changed = gt.remove_rings(clean)
    assert changed.dtype == np.float32
    assert np.linalg.norm(changed - clean) < 0.01 * np.linalg.norm(clean)
    noisy = clean + np.random.default_rng(1).normal(0, 0.01 * clean.max(), clean.shape).astype(np.float32)
    assert np.linalg.norm(gt.remove_rings(noisy) - noisy) < 0.01 * np.linalg.norm(noisy)


def test_each_row_by_itself(clean: np.ndarray) -> None:
    striped = clean + np.where(np.arange(COLUMNS) == 77, np.float32(3), np.float32(0))
    both = np.stack([clean, striped], axis=1)
    kept = both.copy()
    found = gt.remove_rings(both, 7)
    np.testing.assert_array_equal(found[:, 0], gt.remove_rings(clean, 7))
    np.testing.assert_array_equal(found[:, 1], gt.remove_rings(striped, 7))
    np.testing.assert_array_equal(both, kept)


def test_bad_input(clean: np.ndarray) -> None:
    assert gt.remove_rings(clean[:0]).shape == (0, COLUMNS)
    assert gt.remove_rings(clean[:, :2]).shape == (VIEWS, 2)
    for wrong, error, words in (
        ((clean[0],), ArrayError, r"projections: their shape is \(384,\)"),
        ((clean.astype(int),), ArrayError, "projections: its dtype"),
        ((np.full_like(clean, np.nan),), ArrayError, "holds NaN"),
        ((clean, 2), ParameterError, "size: a median over 2 columns"),
        ((clean, 0), ParameterError, "size: 0"),
        ((clean, COLUMNS + 1), ParameterError, "size: a median over 385 columns does not fit 384 columns"),
    ):
        with pytest.raises(error, match=words):
            gt.remove_rings(*wrong)


def test_parts_are_the_whole(clean: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what takes long, between which signals are answered."""
    striped = clean.astype(np.float32) + np.linspace(0, 1, COLUMNS, dtype=np.float32) ** 8
    taps = gt.ramp(COLUMNS, 1.0)
    whole = gt.remove_rings(striped), gt.filter_rows(striped, taps)
    monkeypatch.setattr("gpuopt.tomo.rings._AT_ONCE", 1000)
    monkeypatch.setattr("gpuopt.tomo.filters._AT_ONCE", 1000)
    np.testing.assert_array_equal(gt.remove_rings(striped), whole[0])
    np.testing.assert_array_equal(gt.filter_rows(striped, taps), whole[1])
