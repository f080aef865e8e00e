"""What a filtered back projection cannot make good: directions that no view sees, objects that reach beyond the
detector, an axis that lies elsewhere than the geometry says."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.detector import Detector
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.scans import Parallel
from gpuopt.tomo.volume import Volume

_EDGE = 0.1  # A row is cut where its edge holds more than so much of its maximum.
_SIGNAL = 0.1  # Rows whose maximum is below so much of the largest hold noise; they are not looked at.
_MANY = 0.1  # An edge cuts the object where it cuts more than so many of the rows.
_ROWS = 4  # whose centres of mass are looked at
_FEWEST = 8  # views that say where the axis is
_EMPTY = 0.02  # of the largest value: the edges of an object that is seen whole
_CONSTANT = 0.08  # by which the mass of a whole object may differ between views
_ON_ITS_WAY = 0.5  # pixels that centres of mass may lie off the sine which they follow
_OFF = 1.5  # pixels, and 1 % of the columns, by which the axis may be off without a word
_NEARLY_CENTRED = 0.05  # An offset of so many widths, or half a pixel, is a correction of the rotation's centre.


class LimitedAngleWarning(UserWarning):
    """No view lies in a part, of more than 5 degrees and three usual steps, of the angles that a filtered back
    projection needs. Edges of the object that lie along the missing rays are blurred, and values are right on the
    average of round objects alone."""


class TruncationWarning(UserWarning):
    """The object reaches beyond the detector. Values are too large, above all near the edge of what all views see."""


class CentreWarning(UserWarning):
    """The projections turn about another column of the detector than the geometry says. Edges come out doubled."""

    column: float | None = None
    """The one they turn about."""


def warn(message: str | Warning, category: type[Warning]) -> None:
    """A warning at the line of the caller of this package; ``message`` may be one of its ``category``."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gpuopt":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def check_rows(scan: Geometry, volume: Volume) -> None:
    """Raises ParameterError where no row of the detector sees the volume in any view: its image would be zeros."""
    if scan.dimensions == 2:
        return
    d = scan.detector
    for view in range(scan.views):
        row = scan.project(volume.corners(), view).row
        if row.min() < d.rows and row.max() > -1:  # Pixels are read between rows, and half a pixel beyond the last.
            return
    low, high = (d.v_offset + sign * d.rows * d.dv / 2 for sign in (-1, 1))
    raise ParameterError(
        f"offset: the detector reaches from v = {low:.4g} to {high:.4g} mm, where no view sees the volume; give offset "
        "as (v, u), or move the volume"
    )


def outer_slices(scan: Geometry, volume: Volume) -> list[str]:
    """What to say of slices of parallel beams that lie beyond the centres of the detector's outer rows."""
    if scan.dimensions == 2 or not scan.parallel:
        return []
    low, high = scan.detector.v[[0, -1]]
    slack = 1e-6 * scan.detector.dv
    beyond = int(((volume.z < low - slack) | (volume.z > high + slack)).sum())
    if not beyond:
        return []
    lie = "lies" if beyond == 1 else "lie"
    return [
        f"volume: {checks.counted(beyond, 'slice')} of {volume.shape[0]} {lie} beyond the centres of the detector's "
        f"outer rows, z = {low:.4g} to {high:.4g} mm; values fall to zero there, over a row"
    ]


def check_edges(facts: np.ndarray, detector: Detector, redundant: bool) -> None:
    """Looks at both edges of projections, whose detector is ``detector``, by the largest, the first and the last value
    of each row, along the last axis of ``facts``.

    ``redundant`` says that weights let the far side of a displaced detector stand for the near one. Where they do not,
    raises ParameterError if a displaced detector's near edge cuts the object. Any other cut is a TruncationWarning.
    """
    largest = facts[..., 0]
    left, right = _cut(facts[..., 1], largest), _cut(facts[..., 2], largest)
    near, far = (left, right) if detector.u_offset > 0 else (right, left)
    width, offset = detector.columns * detector.du, abs(detector.u_offset)
    displaced = offset > max(detector.du / 2, _NEARLY_CENTRED * width)
    if near > _MANY and not redundant and displaced:
        raise ParameterError(
            f"offset: the detector's middle lies {offset:.4g} mm from the axis, and its near edge cuts the object in "
            f"{near:.0%} of the rows; only a full turn of views can be weighted for that; use os_sart or sirt"
        )
    cut = far if redundant else max(near, far)
    if cut > _MANY:
        warn(
            f"projections: the object reaches an edge of the detector in {cut:.0%} of the rows, and is cut off there; "
            "values come out too large near the edge of what all views see; use os_sart over a volume that holds the "
            "whole object",
            TruncationWarning,
        )


def _cut(edge: np.ndarray, largest: np.ndarray) -> float:
    """The part of the rows whose value at an edge is far from zero."""
    signal = largest > max(0.0, _SIGNAL * float(largest.max()))
    return float((edge[signal] > _EDGE * largest[signal]).mean()) if signal.any() else 0.0


def _covered(angles: np.ndarray) -> float:
    """From the first view around the circle to the last; angles of free vectors may jump at half a turn."""
    places = np.sort(angles % (2 * math.pi))
    return float(2 * math.pi - np.diff(places, append=places[0] + 2 * math.pi).max())


def check_centre(projections: np.ndarray, geometry: Geometry, scan: Parallel, columns_reversed: bool) -> None:
    """Warns where the projections of ``geometry``, which is ``scan`` by angles, turn about another column than it says.

    The centre of mass of an object that all views see whole lies at c + a cos t + b sin t, and c is the axis. Nothing
    is said where masses or centres do not behave like that: of a part of an object, of few views or of noise.
    """
    t = scan.angles
    if len(t) < _FEWEST or _covered(t) < 0.9 * math.pi:
        return
    rows = projections.reshape(len(t), -1, projections.shape[-1])
    picked = np.unique(np.linspace(0, rows.shape[1] - 1, min(_ROWS, rows.shape[1])).round().astype(int))
    columns = np.arange(rows.shape[-1])
    sines = np.stack([np.ones_like(t), np.cos(t), np.sin(t)], axis=1)
    found = []
    for row in picked:
        p = rows[:, row].astype(np.float64)
        if not np.abs(p[:, [0, -1]]).max() <= _EMPTY * p.max() < np.inf:
            continue  # a part of the object, NaN, infinity, or nothing
        p = np.ldexp(p, -np.frexp(np.abs(p).max())[1])  # sums of numbers of at most 1 are finite
        p -= (p[:, :1] + p[:, -1:]) / 2  # a background has its centre in the detector's middle
        mass = p.sum(axis=1)
        if not mass.min() > 0 or np.ptp(mass) > _CONSTANT * mass.mean():
            continue
        centres = p @ columns / mass
        axis, *_ = np.linalg.lstsq(sines, centres, rcond=None)
        if np.abs(centres - sines @ axis).max() < _ON_ITS_WAY:
            found.append(float(axis[0]))
    if not found:
        return
    detector, middle = scan.detector, (scan.detector.columns - 1) / 2
    aside = detector.u_offset / detector.du
    here, said = float(np.median(found)), middle + (aside if columns_reversed else -aside)  # of the given columns
    if abs(here - said) > max(_OFF, 0.01 * detector.columns):
        if isinstance(geometry, Parallel):
            how = f"make it with an offset of {(middle - here) * detector.du:.3g} mm along u, or see find_centre"
        else:
            how = f"give geometry.shifted(0, {said - here:.3g})"
        warning = CentreWarning(
            f"projections: they turn about column {here:.1f} of the detector, and the geometry has its axis at column "
            f"{said:.1f}; {how}"
        )
        warning.column = here
        warn(warning, CentreWarning)
