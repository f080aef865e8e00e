"""Reconstruction without iterations: filtered back projection of parallel beams and fans, Feldkamp's method for
cones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.filters import filter_rows, ramp
from gpuopt.tomo.limits import check_edges, check_rows
from gpuopt.tomo.operators import GeometricOperator
from gpuopt.tomo.redundancy import Redundancy, fan_angles, fan_weights, parallel_weights
from gpuopt.tomo.rotation import Rotation, rotation_of
from gpuopt.tomo.scans import Cone, Parallel

AXES = ("avu", "vau")

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
def fbp(
    A: GeometricOperator,
    projections: Any,
    *,
    window: str = "ram-lak",
    axes: str = "avu",
    limited_angle: bool = False,
    interpolation: str = "linear",
) -> Any:
    """Filtered back projection of parallel beams, in 2D, or slice by slice in 3D; fans are passed on to :func:`fdk`.

    ``projections`` have the shape ``A.geometry.shape``. Their views may have any order and spacing, and count by the
    angle around them; they cover half a turn, or a full turn if the detector is displaced. Free vectors are taken where
    they are a plain rotation. With ``limited_angle`` less will do: views count so that the mean of a round object
    stays, a LimitedAngleWarning says what is missing, and edges along the missing rays are blurred. Objects that reach
    beyond the detector get a TruncationWarning. ``window`` smooths the ramp filter: "ram-lak" (not at all),
    "shepp-logan", "cosine", "hann" or "hamming". Filtering runs on the host. ``interpolation`` between pixels is
    "linear"; what other toolboxes have besides, "nearest" and "cubic", is refused.

    Returns an image in 1/mm, of the projections' kind and dtype. Raises ParameterError, ArrayError, UnsupportedError.
    """
    turn = _rotation(A)
    scan = turn.scan
    if isinstance(scan, Cone) and scan.dimensions == 2:
        return fdk(A, projections, window=window, axes=axes, limited_angle=limited_angle, interpolation=interpolation)
    _require_linear(interpolation)
    if not isinstance(scan, Parallel):
        raise ParameterError(f"A: fbp is for parallel beams and fans, not for {A.geometry!r}; use fdk or os_sart")
    du = scan.detector.du
    kernel = _Kernel(window, du, du, False, np.ones(1))
    return _filtered(A, turn, projections, axes, kernel, parallel_weights(scan, limited_angle))


@checked
def fdk(
    A: GeometricOperator,
    projections: Any,
    *,
    window: str = "ram-lak",
    axes: str = "avu",
    limited_angle: bool = False,
    interpolation: str = "linear",
) -> Any:
    """Feldkamp's method for cones on a circle, flat or on a cylinder about the source, and for fans.

    A full turn, in which a displaced detector gets Wang's weights; or a short scan of at least half a turn and the
    whole fan, which gets Parker's. Arguments, result and errors as in :func:`fbp`; helices, other cylinders and free
    vectors that are no plain circle are refused.
    """
    _require_linear(interpolation)
    turn = _rotation(A)
    scan = turn.scan
    if not isinstance(scan, Cone) or np.ptp(scan.z):
        raise ParameterError(f"A: fdk is for cones on a circle and fans, not for {A.geometry!r}; use fbp or os_sart")
    if scan.radius not in (None, scan.sdd):
        raise ParameterError(
            f"A: its detector's radius is {scan.radius:g} mm; fdk is for flat ones and those about the source "
            f"({scan.sdd:g} mm); use os_sart"
        )
    detector, sod, sdd = scan.detector, scan.sod, scan.sdd
    u, v = detector.u, detector.v[:, np.newaxis]
    if scan.radius is None:
        spacing = scale = detector.du * sod / sdd
        slant = sdd / np.sqrt(sdd**2 + u**2 + v**2)
    else:
        spacing = scale = detector.du / sdd
        slant = sod * np.cos(fan_angles(scan, u)) * sdd / np.sqrt(sdd**2 + v**2)
    kernel = _Kernel(window, spacing, scale, scan.radius is not None, slant)
    return _filtered(A, turn, projections, axes, kernel, fan_weights(scan, limited_angle))


def _require_linear(interpolation: str) -> None:
    if interpolation != "linear":
        raise ParameterError(
            f"interpolation: {interpolation!r} is not offered; projections are read linearly between pixels: give "
            "'linear', or projections with more pixels"
        )


def _rotation(A: Any) -> Rotation:
    if not isinstance(A, GeometricOperator):
        raise ParameterError(f"A: {type(A).__name__} has no geometry, which the filter needs; use sirt or cgls")
    return rotation_of(A.geometry)


class _Kernel(NamedTuple):
    """What rows are filtered with."""

    window: str
    spacing: float
    """The distance of its samples."""
    scale: float
    fan: bool
    """Whether it is an angle."""
    slant: Float64Array
    """Factors (rows, columns) of all views; either axis may have length 1."""


def _filtered(
    A: GeometricOperator, turn: Rotation, projections: Any, axes: str, kernel: _Kernel, by: Redundancy
) -> Any:
    """Projections, weighted, filtered and back projected."""
    given, scan, detector = view_major(projections, axes), turn.scan, turn.scan.detector
    checks.shape("projections", given, A.geometry.shape, A.data_axes, "the geometry")
    p = A.backend.host(given, A.data_axes)
    rows = turn.rows_of(p.reshape(scan.views, detector.rows, detector.columns))
    check_rows(scan, turn.volume_of(A.volume))
    check_edges(rows, detector, by.redundant)
    columns = detector.columns + by.added
    right = math.copysign(1, detector.u_offset) > 0  # The far side is that of the offset.
    own = slice(by.added, None) if right else slice(0, detector.columns)
    taps = ramp(columns, kernel.spacing, fan=kernel.fan)
    filtered = np.zeros((scan.views, detector.rows, columns), p.dtype)
    for first in range(0, scan.views, _VIEWS_AT_ONCE):
        some = slice(first, first + _VIEWS_AT_ONCE)
        filtered[some, :, own] = rows[some] * (by.weights[some, np.newaxis] * kernel.slant)
        filtered[some] = filter_rows(filtered[some], taps, kernel.window, kernel.scale)
    if by.added:
        offset = detector.u_offset - math.copysign(by.added * detector.du / 2, detector.u_offset)
        scan = replace(scan, detector=replace(detector, columns=columns, u_offset=offset))
    if scan is not A.geometry:
        A = A.with_scan(scan, turn.volume_of(A.volume))
    q = A.backend.take(filtered.reshape(A.data_shape), "projections", A.data_shape, A.data_axes)
    return A.backend.give(A.back_project(q, "none" if scan.parallel else "fdk"), like=projections)
