"""Reconstruction without iterations: filtered back projection of parallel beams and fans, Feldkamp's method for
cones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError, UnsupportedError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.filters import filter_rows, ramp
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.operators import GeometricOperator
from gpuopt.tomo.scans import Cone, Parallel

AXES = ("avu", "vau")

_SPARSE = 3  # A gap between views of more than so many mean steps is where the scan begins and ends.
_MISSING = math.pi / 8  # With a wider gap in half a turn of parallel beams filtered back projection makes no sense.
_VIEWS_AT_ONCE = 16


def view_major(p: Any, axes: str) -> Any:
    """``p`` with the views first: ``p`` itself where ``axes`` is "avu", a reordered copy of (v, view, u) where it is
    "vau". Raises ParameterError, ArrayError."""
    if axes not in AXES:
        raise ParameterError(f"axes: {axes!r} is not known; give 'avu' for (view, v, u) or 'vau' for (v, view, u)")
    if axes == "avu":
        return p
    if not isinstance(p, np.ndarray) or p.ndim != 3:
        raise ArrayError(
            "projections: axes='vau' needs a NumPy array (v, view, u); reorder others to (view, v, u) yourself"
        )
    return np.ascontiguousarray(p.swapaxes(0, 1))


@checked
def fbp(A: GeometricOperator, projections: Any, *, window: str = "ram-lak", axes: str = "avu") -> Any:
    """Filtered back projection of parallel beams, in 2D, or slice by slice in 3D; fans are passed on to :func:`fdk`.

    ``projections`` have the shape ``A.geometry.shape``; their views may have any order and spacing, and cover at least
    half a turn. ``window`` smooths the ramp filter: "ram-lak" (not at all), "shepp-logan", "cosine", "hann" or
    "hamming". Filtering runs on the host. Returns an image in 1/mm, of the projections' kind and dtype. Raises
    ParameterError, ArrayError, UnsupportedError.
    """
    geometry = _geometry(A)
    if isinstance(geometry, Cone) and geometry.dimensions == 2:
        return fdk(A, projections, window=window, axes=axes)
    if not isinstance(geometry, Parallel):
        raise UnsupportedError(f"fbp: it is for parallel beams and fans, not for {geometry!r}; use fdk or os_sart")
    arc = _Arc.of(geometry.angles, math.pi)
    if arc.gap > max(_MISSING, _SPARSE * arc.step):
        raise ParameterError(
            f"angles: no view lies in {math.degrees(arc.gap):.3g} degrees of the half turn that fbp needs; use sirt"
        )
    du = geometry.detector.du
    weights = arc.shares(closed=True)[:, np.newaxis, np.newaxis]
    return _filtered(A, projections, axes, weights, np.ones(1), ramp(geometry.detector.columns, du), window, du)


@checked
def fdk(A: GeometricOperator, projections: Any, *, window: str = "ram-lak", axes: str = "avu") -> Any:
    """Feldkamp's method for cones on a circle, flat or on a cylinder about the source, and for fans.

    A full turn, or a short scan of at least half a turn and the whole fan, which gets Parker's weights. Arguments,
    result and errors as in :func:`fbp`; helices, free vectors and other cylinders raise UnsupportedError.
    """
    geometry = _geometry(A)
    if not isinstance(geometry, Cone) or np.ptp(geometry.z):
        raise UnsupportedError(f"fdk: it is for cones on a circle and fans, not for {geometry!r}; use fbp or os_sart")
    if geometry.radius not in (None, geometry.sdd):
        raise UnsupportedError(
            f"fdk: the detector's radius is {geometry.radius:g} mm; it is for flat ones and those about the source "
            f"({geometry.sdd:g} mm); use os_sart"
        )
    detector, sod, sdd = geometry.detector, geometry.sod, geometry.sdd
    u, v = detector.u, detector.v[:, np.newaxis]
    if geometry.radius is None:
        alpha = np.arctan(u / sdd)
        spacing = scale = detector.du * sod / sdd
        slant = sdd / np.sqrt(sdd**2 + u**2 + v**2)
    else:
        alpha = u / sdd
        spacing = scale = detector.du / sdd
        slant = sod * np.cos(alpha) * sdd / np.sqrt(sdd**2 + v**2)
    taps = ramp(detector.columns, spacing, fan=geometry.radius is not None)
    arc = _Arc.of(geometry.angles, 2 * math.pi)
    if arc.gap <= _SPARSE * arc.step:
        weights = arc.shares(closed=True)[:, np.newaxis, np.newaxis] / 2
    else:
        weights = (arc.shares(closed=False)[:, np.newaxis] * _parker(arc, alpha))[:, np.newaxis]
    return _filtered(A, projections, axes, weights, slant, taps, window, scale)


def _geometry(A: Any) -> Geometry:
    if not isinstance(A, GeometricOperator):
        raise ParameterError(f"A: {type(A).__name__} has no geometry, which the filter needs; use sirt or cgls")
    return A.geometry


def parker(turned: Float64Array, alpha: Float64Array, half: float) -> Float64Array:
    """Parker's weights (views, columns) of a short scan over pi + 2 ``half``: the two measurements of a ray that is
    measured twice share the weight 1.

    ``turned`` (views,) is the angle since the first view; ``alpha`` (columns,) the fan angle, negated where the view
    angles decrease; ``half`` at least the largest fan angle.
    """
    b, a = turned[:, np.newaxis], alpha
    # At the edge of the fan a ramp's width may be 0; then its value is never used.
    rise, fall = (4 * np.maximum(half + sign * a, 1e-12) for sign in (1, -1))
    weights = np.where(b > math.pi + 2 * a, np.sin(np.pi * (math.pi + 2 * half - b) / fall) ** 2, 1.0)
    weights = np.where(b < 2 * (half + a), np.sin(np.pi * b / rise) ** 2, weights)
    found: Float64Array = np.where(b > math.pi + 2 * half, 0.0, weights)
    return found


def _parker(arc: _Arc, alpha: Float64Array) -> Float64Array:
    span = arc.span + arc.step
    half = (span - math.pi) / 2
    widest = float(np.abs(alpha).max())
    if half < widest - 1e-9:
        raise ParameterError(
            f"angles: they cover {math.degrees(span):.4g} degrees; a short scan of this fan needs "
            f"{math.degrees(math.pi + 2 * widest):.4g}; use sirt, or cut columns off"
        )
    return parker(arc.turned, arc.sense * alpha, half)


@dataclass(frozen=True, eq=False)
class _Arc:
    """View angles around a circle that repeats after ``period``, in the scan's sense of rotation, beginning behind the
    widest gap."""

    order: np.ndarray
    """The views' indices in this order."""
    along: Float64Array
    """Their angles in this order, rising from 0."""
    gap: float
    """The widest gap between neighbours, rad."""
    step: float
    """The mean of the other gaps, rad; 0 where there is a single view."""
    sense: int
    """1 where the angles rise, -1 where they fall."""

    @classmethod
    def of(cls, angles: Float64Array, period: float) -> _Arc:
        sense = -1 if len(angles) > 1 and np.median(np.diff(angles)) < 0 else 1
        # Without rounding, an angle just below 0 or the period would open a gap of nearly a whole period.
        place = np.round(sense * (angles - angles[0]) / period, 12) % 1 * period
        order = np.argsort(place, kind="stable")
        sorted_places = place[order]
        gaps = np.diff(sorted_places, append=sorted_places[0] + period)
        widest = int(np.argmax(gaps))
        distinct = int((gaps > 0).sum())
        step = (period - gaps[widest]) / (distinct - 1) if distinct > 1 else 0.0
        order = np.roll(order, -widest - 1)
        along = (place[order] - place[order[0]]) % period
        return cls(order, along, float(gaps[widest]), float(step), sense)

    @property
    def span(self) -> float:
        """From the first view to the last, rad."""
        return float(self.along[-1])

    @property
    def turned(self) -> Float64Array:
        """The angle of each view since the first one."""
        return self._by_view(self.along)

    def shares(self, closed: bool) -> Float64Array:
        """The angle around each view that is nearer to it than to other views; where the arc is not ``closed``, the
        first and the last view reach half a step beyond it."""
        end = self.gap if closed else self.step
        gaps = np.concatenate([[end], np.diff(self.along), [end]])
        return self._by_view((gaps[1:] + gaps[:-1]) / 2)

    def _by_view(self, values: Float64Array) -> Float64Array:
        found = np.empty(len(values))
        found[self.order] = values
        return found


def _filtered(
    A: GeometricOperator,
    projections: Any,
    axes: str,
    weights: Float64Array,
    slant: Float64Array,
    taps: Float64Array,
    window: str,
    scale: float,
) -> Any:
    """Projections times ``slant`` (rows, columns) and ``weights`` (views, rows, columns), filtered and back projected.
    Both factors broadcast: any of their axes may have length 1.
    """
    geometry, given = A.geometry, view_major(projections, axes)
    checks.shape("projections", given, geometry.shape, A.data_axes, "the geometry")
    p = A.backend.host(given)
    pixels = (geometry.detector.rows, geometry.detector.columns)
    rows = p.reshape(geometry.views, *pixels)
    filtered = np.empty_like(rows)
    for first in range(0, geometry.views, _VIEWS_AT_ONCE):
        some = slice(first, first + _VIEWS_AT_ONCE)
        weighted = (rows[some] * (weights[some] * slant)).astype(p.dtype, copy=False)
        filtered[some] = filter_rows(weighted, taps, window, scale)
    q = A.backend.take(filtered.reshape(geometry.shape), "projections", geometry.shape, A.data_axes)
    image = A.back_project(q, "none" if geometry.parallel else "fdk")
    return A.backend.give(image, like=projections)
