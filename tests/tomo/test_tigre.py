"""Scans of TIGRE: where its kernels have the source and the pixels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError

VIEWS = 7
TURN = np.linspace(0.2, 0.2 + 2 * np.pi, VIEWS, endpoint=False)
RANDOM = np.random.default_rng(26)


def geometry(**more: Any) -> SimpleNamespace:
    """As ``tigre.geometry`` has it, in its order of axes."""
    facts = {"mode": "cone", "accuracy": 0.5, "DSO": 100.0, "DSD": 160.0}
    grid = {"nVoxel": np.array([6, 8, 10]), "dVoxel": np.array([1.5, 1.0, 0.5])}
    pixels = {"nDetector": np.array([5, 7]), "dDetector": np.array([2.0, 3.0])}
    whole = {"sVoxel": np.array([9.0, 8.0, 5.0]), "sDetector": np.array([10.0, 21.0])}
    return SimpleNamespace(**facts | grid | pixels | whole | more)


MOVED = {
    "DSO": np.linspace(95, 105, VIEWS),
    "offOrigin": np.array([3.0, -2.0, 1.0]),
    "offDetector": RANDOM.uniform(-2, 2, (VIEWS, 2)),
    "rotDetector": np.array([0.02, -0.03, 0.05]),
    "COR": RANDOM.uniform(-1, 1, VIEWS),
}


def rotation(order: str, angles: np.ndarray) -> np.ndarray:
    """Matrices (views, 3, 3) by SciPy, which turns about the axes of the body in the order of capital letters."""
    transform = pytest.importorskip("scipy.spatial.transform")
    return np.asarray(transform.Rotation.from_euler(order, angles).as_matrix())


@pytest.mark.parametrize("moved", [{}, MOVED], ids=["plain", "moved"])
@pytest.mark.parametrize("euler", [False, True], ids=["angle", "three"])
def test_each_ray_is_that_of_tigre(moved: dict[str, Any], euler: bool) -> None:
    """As the kernels compute it: a point of the detector is tilted, moved along the beam, displaced, turned, and all is
    moved by the axis's offset along the turned y."""
    geo = geometry(**moved)
    angles = np.stack([TURN, 0.1 * np.sin(TURN), 0.05 * np.cos(TURN)], axis=1) if euler else TURN
    scan, volume = gt.from_tigre(geo, angles)
    full = angles if euler else np.stack([TURN, 0 * TURN, 0 * TURN], axis=1)
    turn, tilt = rotation("ZYZ", full), rotation("ZYX", np.tile(moved.get("rotDetector", np.zeros(3)), (VIEWS, 1)))
    off = np.broadcast_to(moved.get("offDetector", 0.0), (VIEWS, 2))
    aside = np.broadcast_to(moved.get("COR", 0.0), VIEWS)
    for view in range(VIEWS):
        sod = np.broadcast_to(geo.DSO, VIEWS)[view]
        axis = aside[view] * np.array([-np.sin(full[view, 0]), np.cos(full[view, 0]), 0])
        source = turn[view] @ [sod, 0, 0] + axis
        for row, column in ((0, 0), (4, 6), (1, 5)):
            pixel = tilt[view] @ [0, 3.0 * (column - 3), 2.0 * (row - 2)] + [sod - 160.0, off[view, 1], off[view, 0]]
            pixel = turn[view] @ pixel + axis
            for part in (0.3, 0.6):
                found = scan.project(source + part * (pixel - source), view)
                np.testing.assert_allclose([found.row, found.column], [row, column], atol=1e-9)
    assert volume.shape == (6, 8, 10)
    assert volume.voxel == (1.5, 1.0, 0.5)
    assert volume.centre == tuple(moved.get("offOrigin", np.zeros(3)))


def test_a_plain_scan_is_ours_a_quarter_of_a_turn_later(device: gpuopt.Device) -> None:
    scan, volume = gt.from_tigre(geometry(offDetector=np.array([1.0, 4.0])), TURN)
    ours = gt.circular(TURN + np.pi / 2, 100.0, 160.0, (5, 7), (2.0, 3.0), offset=(1.0, 4.0))
    image = RANDOM.uniform(size=volume.shape).astype(np.float32)
    expected = gt.Projector(ours, volume, device=device)(image)
    np.testing.assert_allclose(gt.Projector(scan, volume, device=device)(image), expected, atol=1e-4 * expected.max())


def test_parallel_beams_and_images_that_move(device: gpuopt.Device) -> None:
    scan, volume = gt.from_tigre(geometry(mode="parallel", COR=0.5), TURN)
    ours = gt.parallel3d(TURN + np.pi / 2, (5, 7), (2.0, 3.0), offset=(0.0, 0.5))
    image = RANDOM.uniform(size=volume.shape).astype(np.float32)
    expected = gt.Projector(ours, volume, device=device)(image)
    np.testing.assert_allclose(gt.Projector(scan, volume, device=device)(image), expected, atol=1e-4 * expected.max())

    places = RANDOM.uniform(-1, 1, (VIEWS, 3))
    together, volume = gt.from_tigre(geometry(offOrigin=places), TURN)
    for view in range(VIEWS):
        alone, there = gt.from_tigre(geometry(offOrigin=places[view]), TURN)
        point = np.array([0.7, -1.1, 2.0])
        a = together.project(point + volume.centre[::-1], view)
        b = alone.project(point + there.centre[::-1], view)
        np.testing.assert_allclose([a.row, a.column], [b.row, b.column], atol=1e-9)


def test_fdk_takes_its_arrays(device: gpuopt.Device) -> None:
    """A ball off the axis comes back where it was."""
    geo = geometry(nVoxel=[16, 16, 16], dVoxel=[1, 1, 1], nDetector=[32, 32], dDetector=[1.2, 1.2], sVoxel=None)
    geo.sDetector = None
    scan, volume = gt.from_tigre(geo, np.linspace(0, 2 * np.pi, 60, endpoint=False))
    z, y, x = np.mgrid[:16, :16, :16] - 7.5
    image = ((x - 3) ** 2 + (y + 2) ** 2 + (z - 1) ** 2 < 9).astype(np.float32)
    A = gt.Projector(scan, volume, device=device)
    back = gt.fdk(A, A(image))
    weight = np.clip(back, 0, None)
    middle = [float((axis * weight).sum() / weight.sum()) for axis in (x, y, z)]
    np.testing.assert_allclose(middle, (3, -2, 1), atol=0.3)


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"DSO": None}, ParameterError, "geometry: it has no DSO"),
        ({"nVoxel": [6, 8]}, ArrayError, r"geometry.nVoxel: its shape is \(2,\); give \(z, y, x\)"),
        ({"nVoxel": [6, 8, 10.5]}, ParameterError, "geometry.nVoxel: .*; give whole numbers"),
        ({"sVoxel": [6, 8, 10]}, ParameterError, "geometry.sVoxel: .*nVoxel times dVoxel is another"),
        ({"offDetector": np.zeros((4, 2))}, ArrayError, r"geometry.offDetector: its shape is \(4, 2\)"),
        ({"COR": np.zeros(3)}, ArrayError, "geometry.COR: .*give a number, or one for each of 7 views"),
        ({"COR": np.nan}, ArrayError, "^geometry.COR: it holds NaN"),
        ({"DSO": np.nan}, ArrayError, "^geometry.DSO: it holds NaN"),
        ({"DSD": np.inf}, ArrayError, "^geometry.DSD: it holds NaN or infinity"),
        ({"offOrigin": [0, np.nan, 0]}, ArrayError, "^geometry.offOrigin: it holds NaN"),
        ({"offDetector": [np.nan, 0]}, ArrayError, "^geometry.offDetector: it holds NaN"),
        ({"rotDetector": [0, 0, np.nan]}, ArrayError, "^geometry.rotDetector: it holds NaN"),
        ({"offOrigin": [0, 1e300, 0]}, ParameterError, "^geometry.offOrigin: it is out of range"),
        ({"DSO": -60.0}, ParameterError, "^geometry.DSO: it is -60 in view 0; give a distance above 0"),
        ({"DSO": [60.0] * 6 + [0.0]}, ParameterError, "^geometry.DSO: it is 0 in view 6"),
        ({"DSD": -90.0}, ParameterError, "^geometry.DSD: it is -90 in view 0"),
        ({"dVoxel": [1, -1, 1], "sVoxel": None}, ParameterError, "^geometry.dVoxel: .*; give sizes above 0"),
        ({"dDetector": [0, 1], "sDetector": None}, ParameterError, "^geometry.dDetector: .*; give sizes above 0"),
        ({"nVoxel": [0, 8, 10], "sVoxel": None}, ParameterError, "^geometry.nVoxel: .*at least 1"),
        ({"mode": "fan"}, ParameterError, "mode 'fan' is not known"),
        ({"mode": "parallel", "rotDetector": [0, 0.1, 0]}, gpuopt.UnsupportedError, "rotDetector is not 0"),
        ({"DSD": 0.0, "DSO": 0.0}, ParameterError, "view 0"),
        ({"nDetector": [5, 1e300], "sDetector": None}, ParameterError, "too many"),
    ],
)
def test_what_is_no_such_scan_is_refused(more: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gt.from_tigre(geometry(**more), TURN)
    with pytest.raises(ArrayError, match=r"angles: their shape is \(2, 2\)"):
        gt.from_tigre(geometry(), [[0.0, 1.0], [1.0, 2.0]])
