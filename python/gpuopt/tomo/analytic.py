"""Reconstruction without iterations: filtered back projection of parallel beams and fans, Feldkamp's method for
cones."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.filters import ramp, require_window
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.kinds import Given
from gpuopt.tomo.limits import (
    LimitedAngleWarning,
    TruncationWarning,
    check_centre,
    check_edges,
    check_rows,
    outer_slices,
    warn,
)
from gpuopt.tomo.operators import GeometricOperator
from gpuopt.tomo.redundancy import Redundancy, fan_angles, fan_weights, parallel_weights
from gpuopt.tomo.rotation import Rotation, rotation_of
from gpuopt.tomo.scans import Cone, Parallel

AXES = ("avu", "vau")


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
    projections: Given,
    *,
    window: str = "ram-lak",
    axes: str = "avu",
    limited_angle: bool = False,
    interpolation: str = "linear",
) -> Given:
    """Filtered back projection of parallel beams, in 2D, or slice by slice in 3D (Kak and Slaney, Principles of
    Computerized Tomographic Imaging, 1988, chapter 3); fans are passed on to :func:`fdk`.

    ``projections`` have the shape ``A.geometry.shape``, or with ``axes`` "vau" (v, view, u); they are float32, of a
    :class:`NumpyProjector` float64 too. Their views may have any order and spacing, and count by the angle around them,
    which views at one angle share; they cover half a turn, or a full turn if the detector is displaced. Free vectors
    are taken where they are a plain rotation. Of a hole of more than 5 degrees and three usual steps a
    LimitedAngleWarning tells; one that is of more than 22.5 as well is refused. With ``limited_angle`` less will do:
    views count so that the mean of a round object stays, and edges along the missing rays are blurred. Objects that
    reach beyond the detector get a TruncationWarning, and so do slices beyond the centres of its outer rows, where what
    is read between rows falls to zero. NumPy arrays of parallel beams that turn about another column than the geometry
    says, by more than 1.5 pixels and 1 % of the columns, get a CentreWarning where noise below some 0.5 % of the
    largest value lets it be seen. ``window`` smooths the ramp filter: "ram-lak" (not at all), "shepp-logan", "cosine",
    "hann" or "hamming". A GPU filters rows of up to some 6000 pixels itself, and device arrays stay there; a CPU's rows
    are filtered by threads. ``interpolation`` between pixels is "linear"; what other toolboxes have besides, "nearest"
    and "cubic", is refused.

    Returns an image in 1/mm, of the projections' kind and dtype. Raises ParameterError, ArrayError, UnsupportedError.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(32, det=16), gt.Volume((12, 12)))
    >>> p = gt.sphere(5.0).project(A.geometry, 4)
    >>> image = gt.fbp(A, p, window="hann")
    >>> image.shape, bool(abs(image[4:8, 4:8].mean() - 1) < 0.05)
    ((12, 12), True)
    """
    turn = _rotation(A)
    scan = turn.scan
    if isinstance(scan, Cone) and scan.dimensions == 2:
        return fdk(A, projections, window=window, axes=axes, limited_angle=limited_angle, interpolation=interpolation)
    _require_linear(interpolation)
    if not isinstance(scan, Parallel):
        raise ParameterError(f"A: fbp is for parallel beams and fans, not for {A.geometry!r}; use fdk or os_sart")
    require_window(window)

    def make() -> _Way:
        du = scan.detector.du
        kernel = _Kernel(window, du, du, False, np.ones(1))
        return _way_of(A, turn, kernel, parallel_weights(scan, limited_angle))

    return _filtered(A, projections, axes, _way(A, (window, limited_angle), make))


@checked
def fdk(
    A: GeometricOperator,
    projections: Given,
    *,
    window: str = "ram-lak",
    axes: str = "avu",
    limited_angle: bool = False,
    interpolation: str = "linear",
) -> Given:
    """Feldkamp's method for cones on a circle, flat or on a cylinder about the source, and for fans (Feldkamp, Davis
    and Kress, J. Opt. Soc. Am. A 1, 612, 1984).

    A full turn, in which a displaced detector gets Wang's weights (Med. Phys. 29, 1634, 2002); or a short scan of at
    least half a turn and the whole fan, which gets Parker's (Med. Phys. 9, 254, 1982). Arguments, result and errors as
    in :func:`fbp`; helices, other cylinders and free vectors that are no plain circle are refused. What some views see
    beyond the centres of the detector's outer rows, or not at all, is too dark, without a warning.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.fan(48, sod=40.0, sdd=80.0, det=24, pixel=1.5), gt.Volume((12, 12)))
    >>> p = gt.sphere(5.0).project(A.geometry, 4)
    >>> image = gt.fdk(A, p)
    >>> image.shape, bool(abs(image[4:8, 4:8].mean() - 1) < 0.05)
    ((12, 12), True)
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
    require_window(window)

    def make() -> _Way:
        return _way_of(A, turn, _cone_kernel(scan, window), fan_weights(scan, limited_angle))

    return _filtered(A, projections, axes, _way(A, (window, limited_angle), make))


def _cone_kernel(scan: Cone, window: str) -> _Kernel:
    detector, sod, sdd = scan.detector, scan.sod, scan.sdd
    u, v = detector.u, detector.v[:, np.newaxis]
    if scan.radius is None:
        spacing = detector.du * sod / sdd
        slant = sdd / np.sqrt(sdd**2 + u**2 + v**2)
    else:
        spacing = detector.du / sdd
        slant = sod * np.cos(fan_angles(scan, u)) * sdd / np.sqrt(sdd**2 + v**2)
    return _Kernel(window, spacing, spacing, scan.radius is not None, slant)


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


class _Way(NamedTuple):
    """How projections of an operator are filtered and back projected."""

    rows: RowFilter
    operator: GeometricOperator | None
    """What projects the filtered rows back; None: the operator itself."""
    scan: Geometry
    """The given scan by angles."""
    redundant: bool
    told: tuple[tuple[str, type[Warning]], ...]
    """What each call warns of."""


class _Known(NamedTuple):
    """The ways of an operator."""

    operator: weakref.ref[GeometricOperator]
    ways: dict[Any, _Way]


_known: dict[int, _Known] = {}  # by the operator's address: its equality may be a subclass's own
_MOST_WAYS = 4  # of an operator are kept


def _way(A: GeometricOperator, key: Any, make: Callable[[], _Way]) -> _Way:
    """What was made for an operator before, or is made now."""
    known = _known.get(id(A))
    if known is None or known.operator() is not A:  # another had its address, and a signal kept it from being dropped
        weakref.finalize(A, _known.pop, id(A), None).atexit = False
        known = _known[id(A)] = _Known(weakref.ref(A), {})
    ways = known.ways
    found = ways.get(key)
    if found is None:
        found = make()
        if len(ways) >= _MOST_WAYS:
            ways.clear()
        ways[key] = found
    for message, category in found.told:
        warn(message, category)
    return found


def _way_of(A: GeometricOperator, turn: Rotation, kernel: _Kernel, by: Redundancy) -> _Way:
    scan, detector = turn.scan, turn.scan.detector
    volume = turn.volume_of(A.volume)
    check_rows(scan, volume)
    columns = detector.columns + by.added
    right = math.copysign(1, detector.u_offset) > 0  # The far side is that of the offset.
    lead, trail = (by.added, 0) if right else (0, by.added)
    taps = ramp(columns, kernel.spacing, fan=kernel.fan)
    rows = RowFilter(
        (scan.views, detector.rows, detector.columns),
        by.weights,
        np.atleast_2d(kernel.slant),
        taps,
        kernel.window,
        kernel.scale,
        lead,
        trail,
        turn.rows_reversed,
        turn.columns_reversed,
    )
    wider: Geometry = scan
    if by.added:
        offset = detector.u_offset - math.copysign(by.added * detector.du / 2, detector.u_offset)
        wider = replace(scan, detector=replace(detector, columns=columns, u_offset=offset))
    operator = None if wider is A.geometry else A.with_scan(wider, volume)
    told = [(message, LimitedAngleWarning) for message in by.told]
    dark = [(message, TruncationWarning) for message in outer_slices(scan, volume)]
    return _Way(rows, operator, scan, by.redundant, (*told, *dark))


def _filtered(A: GeometricOperator, projections: Any, axes: str, way: _Way) -> Any:
    """Projections, weighted, filtered and back projected."""
    given = view_major(projections, axes)
    checks.shape("projections", given, A.geometry.shape, A.data_axes, "the geometry")
    if isinstance(given, np.ndarray):
        given = np.asarray(given)  # a matrix has two axes for ever
    if isinstance(given, np.ndarray) and isinstance(way.scan, Parallel) and given.dtype.kind == "f":
        check_centre(given, A.geometry, way.scan, way.rows.columns_reversed)
    operator = A if way.operator is None else way.operator
    image, large = _back_projected(operator, given, way, A.data_axes)
    if large:
        values = image if isinstance(image, np.ndarray) else image.to_numpy()
        if not np.isfinite(values).all():
            raise ArrayError(f"projections: filtered they are beyond {values.dtype}; scale them")
    # A wider scan may be on the host where A is on its device.
    return operator.backend.give(image, like=projections)


def _back_projected(operator: GeometricOperator, given: Any, way: _Way, axes: tuple[str, ...]) -> tuple[Any, bool]:
    """The image, and whether pixels are so large that it may not be finite."""
    weight = "none" if way.scan.parallel else "fdk"
    if (in_blocks := operator._in_blocks(given, way.rows, weight)) is not None:
        image, of_all = in_blocks
        return image, _judge(of_all, given, way, axes)
    q, facts = operator.backend.filtered(given, way.rows, axes)
    if isinstance(q, np.ndarray):
        q = q.reshape(operator.data_shape)
    if isinstance(facts, np.ndarray):
        large = _judge(facts, given, way, axes)
        return operator.back_project(q, weight), large
    # The device goes on while the host looks at what it found, which is read before: a queue is in order.
    found = facts.to_numpy()
    image = operator.back_project(q, weight)
    return image, _judge(found, given, way, axes)


def _judge(facts: np.ndarray, given: Any, way: _Way, axes: tuple[str, ...]) -> bool:
    """Raises ArrayError, naming the place, where projections hold NaN or infinity; looks at the detector's edges.
    Returns whether some are very large."""
    large = bool(facts[..., 3].any())
    if large:
        checks.floats("projections", given if isinstance(given, np.ndarray) else given.to_numpy(), axes)
    check_edges(facts, way.scan.detector, way.redundant)
    return large
