"""Phantoms at the points of volumes: means over a voxel, in parts that take little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt.tomo import phantoms


def test_samples() -> None:
    volume = gt.Volume((6, 8, 10), (2.0, 1.5, 1.0), (0.5, 1.0, -1.0))
    phantom = gt.sphere(4.0, (0.0, 1.0, 0.5), 2.0) + gt.blob(3.0, (1.0, 0.0, 1.0))
    points = volume.points()
    away = np.linalg.norm(points - [0, 1, 0.5], axis=-1)
    expected = np.where(away <= 4, 2.0, 0) + np.exp(-((points - [1, 0, 1]) ** 2).sum(axis=-1) / 9)
    np.testing.assert_allclose(phantom.sample(volume, dtype=float), expected, atol=1e-13)
    assert phantom.sample(volume).dtype == np.float32
    fine = phantom.sample(volume.refined(2), dtype=float).reshape(6, 2, 8, 2, 10, 2).mean(axis=(1, 3, 5))
    np.testing.assert_allclose(phantom.sample(volume, 2, float), fine, atol=1e-13)
    flat = gt.Volume((8, 10), (1.5, 1.0), (1.0, -1.0))
    np.testing.assert_allclose(phantom.sample(flat, 3, float), _flat_means(phantom, flat), atol=1e-13)


def test_samples_in_parts_are_those_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = gt.sphere(4.0, (0.0, 1.0, 0.5), 2.0) + gt.blob(0.4, (1.0, 0.0, 1.0))
    volumes = gt.Volume((6, 8, 10), (2.0, 1.5, 1.0), (0.5, 1.0, -1.0)), gt.Volume((8, 10), (1.5, 1.0), (1.0, -1.0))
    for volume, times in ((volumes[0], 1), (volumes[0], 3), (volumes[1], 1), (volumes[1], 4)):
        monkeypatch.setattr(phantoms, "_POINTS_AT_ONCE", 10**9)
        whole = both.sample(volume, times, float)
        for points in (0, 50, 170):
            monkeypatch.setattr(phantoms, "_POINTS_AT_ONCE", points)
            np.testing.assert_allclose(both.sample(volume, times, float), whole, rtol=0, atol=1e-13)


def test_finer_samples_take_little_memory() -> None:
    tracemalloc.start()
    try:
        gt.shepp_logan(3, field=48.0).sample(gt.Volume((1, 48, 48)), 10)
        assert tracemalloc.get_traced_memory()[1] < 10e6  # of all points of the slice one coordinate takes 18 MB
    finally:
        tracemalloc.stop()


def _flat_means(phantom: gt.Phantom, flat: gt.Volume) -> np.ndarray:
    fine = phantom.sample(gt.Volume((1, 24, 30), (1.0, 0.5, 1 / 3), (0.0, *flat.centre)), dtype=float)[0]
    return fine.reshape(8, 3, 10, 3).mean(axis=(1, 3))
