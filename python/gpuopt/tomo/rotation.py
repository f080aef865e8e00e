"""Free vectors that are a plain rotation: the same scan as angles around an axis parallel to z, which filters need."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.detector import Detector, Frames
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.scans import Cone, Parallel
from gpuopt.tomo.vectors import Vectors
from gpuopt.tomo.volume import Volume

_PIXELS = 0.01  # No pixel and no source of a plain rotation lies farther from its place.
_SLANT = 1e-4  # rad; by so much may a direction of parallel beams be off


class Rotation(NamedTuple):
    """A scan by angles, and how a given scan differs from it."""

    scan: Geometry
    rows_reversed: bool = False
    """Whether the given rows run towards -z."""
    columns_reversed: bool = False
    """Whether the given columns run against the sense of the angles."""
    axis: tuple[float, float] = (0.0, 0.0)
    """Where the given scan turns about, (x, y) in mm."""

    def volume_of(self, volume: Volume) -> Volume:
        """A volume as it lies about the axis."""
        if not any(self.axis):
            return volume
        *z, y, x = volume.centre
        return Volume(volume.shape, volume.voxel, (*z, y - self.axis[1], x - self.axis[0]))


def rotation_of(geometry: Geometry) -> Rotation:
    """``geometry`` itself, or the rotation that free vectors are, up to a hundredth of a pixel. Raises ParameterError
    where they are none."""
    if not isinstance(geometry, Vectors):
        return Rotation(geometry)
    if geometry.parallel:
        return _parallel(geometry)
    return _circle(geometry)


def _refuse(why: str) -> ParameterError:
    return ParameterError(f"vectors: {why}, so that they are no plain rotation around z; use os_sart or sirt")


def _parallel(geometry: Vectors) -> Rotation:
    beam, centre, column, row = geometry.frames
    beam = beam / np.linalg.norm(beam, axis=1, keepdims=True)
    _agree("the direction of its beam leans along z", np.abs(beam[:, 2]), _SLANT)
    angles = np.arctan2(beam[:, 0], -beam[:, 1])
    e = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # What lies along the beam changes no projection.
    (across, along), (lean, height) = ((_dot(step[:, :2], e), step[:, 2]) for step in (column, row))
    detector, flips = _detector(geometry, across, height)
    pixel = _pixel(detector, geometry.dimensions)
    half = [detector.columns / 2, detector.rows / 2]
    _agree("its rows lean", np.maximum(half[0] * np.abs(along), half[1] * np.abs(lean)) / pixel)
    _agree("the size of its pixels differs", _spread(half[0] * across, half[1] * height) / pixel)
    _agree("the height of its detector differs", _spread(centre[:, 2]) / pixel)
    place = _dot(centre[:, :2], e)
    offset, axis = float(place.mean()), np.zeros(2)
    if _spread(place).max() > _PIXELS * pixel:
        fitted = np.linalg.lstsq(np.column_stack([np.ones(len(e)), e]), place, rcond=None)[0]
        offset, axis = float(fitted[0]), fitted[1:]
        _agree("its detector is shifted against the others", np.abs(place - offset - e @ axis) / pixel)
    detector = replace(detector, u_offset=offset, v_offset=float(centre[:, 2].mean()))
    return Rotation(
        Parallel(detector, geometry.dimensions, checks.frozen(angles)), *flips, (float(axis[0]), float(axis[1]))
    )


def _circle(geometry: Vectors) -> Rotation:
    source, centre, column, row = geometry.frames
    angles, sod, axis = _about(geometry)
    theta, e = (
        np.stack([first, second], axis=1)
        for first, second in ((np.sin(angles), -np.cos(angles)), (np.cos(angles), np.sin(angles)))
    )
    to_centre = centre[:, :2] - source[:, :2]
    depth, place = -_dot(to_centre, theta), _dot(to_centre, e) + _dot(source[:, :2] - axis, e)
    turned = np.zeros(geometry.views)
    if geometry.radius is not None:
        turned = np.arctan2(_dot(to_centre, e), depth)
        depth, place = np.full(geometry.views, geometry.radius), geometry.radius * turned
    tangent = np.sin(turned)[:, np.newaxis] * theta + np.cos(turned)[:, np.newaxis] * e
    detector, flips = _detector(geometry, _dot(column[:, :2], tangent), row[:, 2])
    lift = centre[:, 2] - source[:, 2]
    detector = replace(detector, u_offset=float(place.mean()), v_offset=float(lift.mean()))
    angles, height = checks.frozen(angles), float(source[:, 2].mean())
    sdd = float(depth.mean()) if geometry.radius is None else geometry.radius
    scan = Cone(detector, geometry.dimensions, angles, sod, sdd, geometry.radius, height)
    _compare(geometry.frames, scan, flips, axis)
    return Rotation(scan, *flips, axis)


def _about(geometry: Vectors) -> tuple[Float64Array, float, tuple[float, float]]:
    """The view angles of a cone, the distance of its source from the axis, and where the axis is (x, y)."""
    source, centre, _, _ = geometry.frames
    place = source[:, :2]
    pixel = _pixel(geometry.detector, geometry.dimensions)
    normal = geometry.frames.normals()
    normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    if geometry.radius is None:
        # A flat detector stands across the ray through the axis.
        ahead = normal * np.sign(_dot(source - centre, normal))[:, np.newaxis]
        angles = np.arctan2(ahead[:, 0], -ahead[:, 1])
        theta = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
        sod, axis = float(_dot(place, theta).mean()), np.zeros(2)
        if np.linalg.norm(place - sod * theta, axis=1).max() > _PIXELS * pixel:
            unit = np.tile(np.eye(2), (len(theta), 1))
            fitted = np.linalg.lstsq(np.column_stack([theta.ravel(), unit]), place.ravel(), rcond=None)[0]
            sod, axis = float(fitted[0]), fitted[1:]
        if sod <= 0:
            raise _refuse("the axis does not lie before the source")
        return angles, sod, (float(axis[0]), float(axis[1]))
    beside = np.linalg.norm((centre + geometry.radius * normal - source)[:, :2], axis=1)
    _agree("the axis of its cylinder does not pass through its source", beside / pixel)
    axis = np.zeros(2)
    if _spread(np.linalg.norm(place, axis=1)).max() > _PIXELS * pixel:
        squares = (place**2).sum(axis=1)
        axis = np.linalg.lstsq(np.column_stack([2 * place, np.ones(len(place))]), squares, rcond=None)[0][:2]
    out = place - axis
    sod = float(np.linalg.norm(out, axis=1).mean())
    if not sod:
        raise _refuse("the source lies on the axis")
    return np.arctan2(out[:, 0], -out[:, 1]), sod, (float(axis[0]), float(axis[1]))


def _detector(geometry: Vectors, across: Float64Array, height: Float64Array) -> tuple[Detector, tuple[bool, bool]]:
    """The detector of steps ``across`` along u and of a ``height`` along z, and whether rows and columns run back."""
    du, dv = float(np.abs(across).mean()), float(np.abs(height).mean())
    if not min(du, dv) > 0:
        raise _refuse("its rows do not stand across z")
    rows, columns = geometry.detector.rows, geometry.detector.columns
    return Detector(rows, columns, dv, du), (bool(height[0] < 0), bool(across[0] < 0))


def _pixel(detector: Detector, dimensions: int) -> float:
    """The shorter side of a pixel; a slice's row has none."""
    return detector.du if dimensions == 2 else min(detector.du, detector.dv)


def _compare(given: Frames, scan: Cone, flips: tuple[bool, bool], axis: tuple[float, float]) -> None:
    """Refuses vectors of which a source or a pixel lies elsewhere than the scan has it."""
    d, signs = scan.detector, [-1 if flip else 1 for flip in flips]
    pixel, at = _pixel(d, scan.dimensions), np.array([*axis, 0.0])
    for what, ours, theirs, times in (
        ("its source lies beside the circle of the others", scan.frames.source + at, given.source, 1.0),
        ("its detector lies elsewhere than the others", scan.frames.centre + at, given.centre, 1.0),
        ("its rows are turned or stretched", signs[1] * scan.frames.column, given.column, d.columns / 2),
        ("its columns are turned or stretched", signs[0] * scan.frames.row, given.row, d.rows / 2),
    ):
        _agree(what, times * np.linalg.norm(ours - theirs, axis=1) / pixel)


def _agree(what: str, wrong: Float64Array, most: float = _PIXELS) -> None:
    view = int(np.argmax(wrong))
    if wrong[view] > most:
        much = f"{wrong[view]:.3g} pixels" if most == _PIXELS else f"{math.degrees(wrong[view]):.3g} degrees"
        raise _refuse(f"view {view}: {what}, by {much}")


def _spread(*values: Float64Array) -> Float64Array:
    """How far each view is from the mean of all, of several values the farthest."""
    found: Float64Array = np.max([np.abs(value - value.mean()) for value in values], axis=0)
    return found


def _dot(a: np.ndarray, b: np.ndarray) -> Float64Array:
    found: Float64Array = (a * b).sum(axis=-1)
    return found
