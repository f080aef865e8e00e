"""Scans of every kind, and points that they see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gpuopt
import gpuopt.tomo as gt

R, D, T = 595.0, 1085.6, 0.7
DET, PIXEL = (64, 736), (1.0947, 1.2858)
HELIX: dict[str, Any] = {
    "turns": None,
    "sod": R,
    "sdd": D,
    "det": DET,
    "pixel": PIXEL,
    "pitch": 23.0,
    "t_ref": 0.0,
}
ANGLES = np.array([T, 0.1, 2.9, -1.3])


def tilted() -> np.ndarray:
    """Rows of ASTRA's cone_vec: a detector that is shifted, turned about all axes and mirrored, its pixels askew."""
    random = np.random.default_rng(5)
    rows = []
    for t in ANGLES:
        theta, e = np.array([math.sin(t), -math.cos(t), 0]), np.array([math.cos(t), math.sin(t), 0])
        jitter = random.normal(0, 0.1, (4, 3))
        source, centre = R * theta + 30 * jitter[0], (R - D) * theta + 30 * jitter[1]
        rows.append(np.concatenate([source, centre, -1.3 * (e + jitter[2]), 1.1 * (np.array([0, 0, 1]) + jitter[3])]))
    return np.array(rows)


SCANS: dict[str, gt.Geometry] = {
    "parallel2d": gt.parallel2d(ANGLES, 91, 1.3, offset=4.0),
    "parallel3d": gt.parallel3d(ANGLES, (40, 91), (1.1, 1.3), offset=(-2.0, 4.0)),
    "fan flat": gt.fan(ANGLES, R, D, 91, 1.3, offset=-3.0),
    "fan arc": gt.fan(ANGLES, R, D, 91, 1.3, curved=True, offset=-3.0),
    "fan arc 540": gt.fan(ANGLES, R, D, 91, 1.3, radius=560.0, offset=-3.0),
    "circular flat": gt.circular(ANGLES, R, D, (40, 91), (1.1, 1.3), offset=(7.0, 5.0), z0=3.0),
    "helical flat": gt.helical(ANGLES, None, R, D, (40, 91), (1.1, 1.3), -17.0, offset=(7.0, 5.0)),
    "helical Rc=D": gt.helical(ANGLES, None, R, D, (40, 91), (1.1, 1.3), 17.0, True, offset=(7.0, 5.0)),
    "helical Rc=540": gt.helical(ANGLES, None, R, D, (40, 91), (1.1, 1.3), 17.0, radius=540.0, offset=(7.0, 5.0)),
    "helical Rc=2000": gt.helical(ANGLES, None, R, D, (40, 91), (1.1, 1.3), 17.0, radius=2000.0, offset=(7.0, 5.0)),
    "cone vectors": gt.from_vectors(tilted(), (40, 91)),
    "parallel vectors": gt.from_vectors(tilted() * ([1e-2] * 3 + [1] * 9), (40, 91), "parallel3d_vec"),
}
NAMES = list(SCANS)


def points(scan: gt.Geometry, count: int = 60) -> np.ndarray:
    found = np.random.default_rng(2).uniform(-40, 40, (count, 3))
    if scan.dimensions == 2:
        found[:, 2] = 0
    return found


def interpolated(device: gpuopt.Device, atol: float, image: np.ndarray) -> float:
    """How far an image that was projected back may lie from NumPy's: a GPU's textures round places to 1/256 of a pixel,
    which is at most 1/512 of the step between neighbours in each of two directions, and a filtered row has steps of
    about three times its image's largest value; on an H200 it was 0.9 % of that value."""
    return 0.012 * float(np.abs(image).max()) if device.type == "gpu" else atol
