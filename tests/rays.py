"""Scans, plans along their rays between guards, and what these are held against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gpuopt
from gpuopt import Configuration, _core
from gpuopt import tomo as gt
from gpuopt.tomo import on_device

FLOAT = np.dtype(np.float32)
Scan = tuple[gt.Geometry, gt.Volume]


def tilted(kind: str) -> gt.Geometry:
    """Views whose rows lean every way."""
    rows = []
    for angle in (0.1, 2.3, math.pi / 4, 3.9, 5.2, 1.3):
        towards = np.array([math.sin(angle), -math.cos(angle), 0.1])
        column, row = np.array([math.cos(angle), math.sin(angle), 0.05]), np.array([0.1, -0.05, 1.0])
        if kind == "cyl_cone_vec":
            row = np.cross(np.cross(column, row), column)
            if np.cross(column, row) @ towards < 0:
                column = -column
            column, row = column / np.linalg.norm(column), row / np.linalg.norm(row)
        source = -towards if kind == "parallel3d_vec" else 300 * towards
        rows.append([*source, *(-100 * towards), *(1.3 * column), *(1.1 * row)] + [380.0] * (kind == "cyl_cone_vec"))
    return gt.from_vectors(rows, (25, 30), kind)


ANGLES = np.array([0.1, math.pi / 4, 1.9, 3.0, 5.5])
SCANS: dict[str, Scan] = {
    "cone": (
        gt.circular(ANGLES, 300, 500, (25, 37), (1.6, 1.7), offset=(1.0, -2.0)),
        gt.Volume((15, 20, 23), (1.2, 1.0, 1.1), (0.5, 3, -2)),
    ),
    "truncated": (gt.circular(5, 300, 500, (9, 11), (1.6, 1.7), offset=(8.0, 9.0)), gt.Volume((15, 20, 23))),
    "helix": (gt.helical(6, 1.3, 300, 500, (21, 40), (1.9, 1.7), 20, curved=True), gt.Volume((17, 20, 21), 1.1)),
    "any_radius": (gt.circular(5, 300, 500, (21, 40), (1.9, 1.7), radius=350), gt.Volume((17, 20, 21), 1.1)),
    "parallel3d": (gt.parallel3d(8, (15, 31), (1.1, 0.9)), gt.Volume((13, 20, 21))),
    "parallel2d": (gt.parallel2d(12, 41, 0.8, offset=0.3), gt.Volume((20, 27), 1.1)),
    "fan": (gt.fan(12, 60.0, 90.0, 33, 1.5, offset=0.4), gt.Volume((20, 20), 1.2)),
    "arc": (gt.fan(12, 60.0, 90.0, 33, 1.5, True), gt.Volume((20, 21), 1.2)),
    "steep": (gt.circular(4, 40, 60, (60, 40), (2.5, 1.7)), gt.Volume((25, 12, 13))),
    "wide": (gt.circular(5, 12, 24, (9, 60), (2.5, 1.7)), gt.Volume((7, 12, 13), 0.8)),
    "coarse_voxels": (gt.circular(4, 300, 500, (60, 70), 0.5), gt.Volume((3, 4, 5), 6.0)),
    "fine_voxels": (gt.circular(4, 300, 500, (7, 9), 8.0), gt.Volume((30, 40, 41), 0.7)),
    "one_voxel": (gt.circular(3, 300, 500, (3, 3), 4.0), gt.Volume((1, 1, 1), 3.0)),
    # Wider than a work-item's part of a plane; one slice of three dimensions; rays to both sides of their source.
    "plane": (gt.fan(7, 300, 500, 171, 1.3, offset=1.7), gt.Volume((67, 131), (1.1, 0.9), (3, -2))),
    "slice": (gt.parallel3d(7, (1, 33), 0.9), gt.Volume((1, 20, 23), (0.4, 1.2, 1.1))),
    "slice_fan": (gt.circular(7, 300, 500, (1, 33), 1.9), gt.Volume((1, 20, 23), 1.1, (0, 2, 1))),
    "high_slice": (gt.parallel3d(7, (1, 33), 0.9, offset=(0.2, 0.0)), gt.Volume((1, 20, 23), 1.1)),
    "wide_fan": (gt.fan(5, 12, 24, 60, 1.7), gt.Volume((12, 13), 0.8)),
    **{kind: (tilted(kind), gt.Volume((15, 16, 17), 1.1)) for kind in ("cone_vec", "parallel3d_vec", "cyl_cone_vec")},
}
UPRIGHT = {"cone", "truncated", "helix", "any_radius", "parallel3d", "coarse_voxels", "fine_voxels", "one_voxel"}
UPRIGHT |= {"high_slice", "slice", "slice_fan"}
PLANAR = {"parallel2d", "fan", "arc", "plane", "slice", "slice_fan"}


def random(scan: Scan, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """An image and projections of mean 0."""
    draw = np.random.default_rng(seed)
    return tuple(draw.standard_normal(shape).astype(np.float32) for shape in (scan[1].shape, scan[0].shape))  # type: ignore[return-value]


def apart(found: Any, expected: Any) -> float:
    """The distance of two images as a part of the second's length."""
    one, other = (np.asarray(image, dtype=np.float64).ravel() for image in (found, expected))
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def planned(
    device: gpuopt.Device, scan: Scan, configuration: Configuration, given: np.ndarray, accumulate: bool = False
) -> tuple[np.ndarray, _core.ProjectorPlan]:
    """The result of a plan whose arrays have guards around them."""
    family = next(v.family for v in gpuopt.variants("tomography") if v.name == configuration.variant)
    geometry, volume = scan
    to_image = family == "adjoint"
    out = _core.empty(volume.shape if to_image else geometry.shape, FLOAT, device, True)
    if accumulate:
        _core.DeviceArithmetic(device).fill(out, 2.0)
    else:
        out.fill_bytes(0xFF)
    taken = gpuopt.to_device(given, device)
    image, data = (out, taken) if to_image else (taken, out)
    kernels = on_device.kernel_geometry(geometry, volume)
    name, parameters = configuration.variant, configuration.parameters
    plan = _core.prepare_joseph(None, image, data, kernels, accumulate=accumulate, variant=name, parameters=parameters)
    plan.prepared.run()
    assert out.guards_intact()
    return out.to_numpy(), plan


# A view, and what its bilinear interpolation is at (row, column), up to a pixel beyond the edge.
VIEW = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
BILINEAR = {
    (0, 0): 1.0,
    (1, 2): 32.0,
    (0.5, 1): 9.0,
    (0.25, 0.5): 0.75 * 1.5 + 0.25 * 12,
    (-0.25, 1): 1.5,
    (1.5, 2.5): 8.0,
    (-1, 0): 0.0,
    (0, 3): 0.0,
    (-7.5, 1): 0.0,
    (1e30, 1): 0.0,
    (0, -1e30): 0.0,
    (2, 2): 0.0,
    (1.75, 2): 8.0,
}
