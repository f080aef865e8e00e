"""What a filtered back projection cannot make good: directions that no view sees, and objects that reach beyond the
detector."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo.geometry import Detector, Geometry
from gpuopt.tomo.volume import Volume

_EDGE = 0.1  # A row is cut where its edge holds more than so much of its maximum.
_SIGNAL = 0.1  # Rows whose maximum is below so much of the largest hold noise; they are not looked at.
_MANY = 0.1  # An edge cuts the object where it cuts more than so many of the rows.
_NEARLY_CENTRED = 0.05  # An offset of so many widths, or half a pixel, is a correction of the rotation's centre.


class LimitedAngleWarning(UserWarning):
    """No view lies in a part of the angles that a filtered back projection needs. Edges of the object that lie along
    the missing rays are blurred, and values are right on the average of round objects alone."""


class TruncationWarning(UserWarning):
    """The object reaches beyond the detector. Values are too large, above all near the edge of what all views see."""


def warn(message: str, category: type[Warning]) -> None:
    """A warning at the line of the caller of this package."""
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
