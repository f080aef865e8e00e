"""Scans of TIGRE."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real, unsupported
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.kinds import Numbers
from gpuopt.tomo.vectors import Vectors, from_vectors
from gpuopt.tomo.volume import Volume


@checked
def from_tigre(geometry: object, angles: Numbers, *, units: str | None = None) -> tuple[Vectors, Volume]:
    """The scan and the image of TIGRE's geometry and its angles: ``gt.Projector(*gt.from_tigre(geo, angles))``.

    ``geometry`` is an object with the attributes of ``tigre.geometry`` in their order (z, y, x) and (v, u): nVoxel,
    dVoxel, nDetector, dDetector, DSO, DSD, and where it has them offOrigin, offDetector, rotDetector, COR and mode
    ("cone" or "parallel"); lengths in mm, rotations in radians, one for all views or each. ``angles`` are (views,)
    or (views, 3), Euler's of z, y, z; ``units`` as in :func:`circular`. Images [z, y, x] and projections
    [view, v, u] are the same arrays here and there: ``gt.fdk(A, projections)``. An image that moves from view to view
    stands here, and the scan moves. Raises ParameterError, ArrayError; UnsupportedError for a rotated detector of
    parallel beams.

    The frame is that of TIGRE's kernels (Biguri, Dosanjh, Hancock and Soleimani, Biomed. Phys. Eng. Express 2, 055010,
    2016): at the angle 0 the source lies at x = DSO and u runs along y; growing angles turn both counter-clockwise.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> geo = SimpleNamespace(DSO=1000.0, DSD=1536.0, nDetector=[4, 6], dDetector=[0.8, 0.8], nVoxel=[4, 8, 8],
    ...                       dVoxel=[1.0, 1.0, 1.0], offDetector=[0.0, 2.0])
    >>> gt.from_tigre(geo, [0.0, 1.0, 2.0])
    (<cone vectors: 3 views, flat, 4 rows x 6 columns of 0.8 x 0.8 mm>, <Volume: 4 z x 8 y x 8 x, voxel 1 mm>)
    """
    turns = _euler(angles, units)
    views = len(turns)
    mode = getattr(geometry, "mode", None) or "cone"
    if mode not in ("cone", "parallel"):
        raise ParameterError(f"geometry: its mode {mode!r:.60} is not known; give 'cone' or 'parallel'")
    shape, voxel = _grid(geometry, "Voxel", ("z", "y", "x"))
    det, (dv, du) = _grid(geometry, "Detector", ("v", "u"))
    source, detector = (_a_view(geometry, name, views)[:, 0] for name in ("DSO", "DSD"))
    origin = _a_view(geometry, "offOrigin", views, 3)[:, ::-1]
    offset = _a_view(geometry, "offDetector", views, 2)
    tilts = _a_view(geometry, "rotDetector", views, 3)
    if mode == "cone":
        _require_ahead("DSO", source)
        _require_ahead("DSD", detector)
    elif tilts.any():
        raise unsupported("geometry: rotDetector is not 0, of which TIGRE's parallel beams make other rays; give 0")

    # Before it turns, the source lies at (DSO, 0, 0), the detector's middle at (DSO - DSD, u, v).
    turn = _about("z", turns[:, 0]) @ _about("y", turns[:, 1]) @ _about("z", turns[:, 2])
    tilted = turn @ _about("z", tilts[:, 0]) @ _about("y", tilts[:, 1]) @ _about("x", tilts[:, 2])
    aside = _a_view(geometry, "COR", views) * _about("z", turns[:, 0])[:, :, 1] - (origin - origin[0])
    middle = np.stack([source - detector, offset[:, 1], offset[:, 0]], axis=1)
    centre = np.einsum("vij,vj->vi", turn, middle) + aside
    start = source[:, np.newaxis] * turn[:, :, 0] + aside if mode == "cone" else -turn[:, :, 0]
    table = np.hstack([start, centre, du * tilted[:, :, 1], dv * tilted[:, :, 2]])
    scan = from_vectors(table, det, "cone_vec" if mode == "cone" else "parallel3d_vec")
    return scan, Volume(shape, voxel, tuple(float(along) for along in origin[0, ::-1]))


def _euler(angles: Numbers, units: str | None) -> Float64Array:
    """Angles about z, y and z again (views, 3), in radians."""
    given = real("angles", angles, "(views,) or (views, 3)")
    if given.ndim == 1:
        given = np.stack([given, np.zeros_like(given), np.zeros_like(given)], axis=1)
    if given.ndim != 2 or not len(given) or given.shape[1] != 3:
        raise ArrayError(f"angles: their shape is {given.shape}; give (views,) or (views, 3)")
    return np.stack([checks.angles("angles", column, 2 * np.pi, units=units) for column in given.T], axis=1)


def _grid(geometry: object, of: str, axes: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Counts and sizes of voxels or pixels. Raises ParameterError, also where they are not those of the whole."""
    counts, sizes = (_entries(geometry, kind + of, axes) for kind in "nd")
    if (counts != np.rint(counts)).any() or (counts < 1).any():
        raise ParameterError(f"geometry.n{of}: it is {counts.tolist()}; give whole numbers, of at least 1")
    if (sizes <= 0).any():
        raise ParameterError(f"geometry.d{of}: it is {sizes.tolist()}; give sizes above 0")
    if getattr(geometry, f"s{of}", None) is not None:
        whole = _entries(geometry, f"s{of}", axes)
        if not np.allclose(whole, counts * sizes, rtol=1e-4, atol=0):
            raise ParameterError(
                f"geometry.s{of}: it is {whole.tolist()}, n{of} times d{of} is another; mend one of them"
            )
    return tuple(map(int, counts)), tuple(map(float, sizes))


def _entries(geometry: object, name: str, axes: tuple[str, ...]) -> Float64Array:
    what = f"({', '.join(axes)})"
    found = checks.vector(f"geometry.{name}", _given(geometry, name), what)
    if len(found) != len(axes):
        raise ArrayError(f"geometry.{name}: its shape is {found.shape}; give {what}")
    return found


def _a_view(geometry: object, name: str, views: int, each: int = 1) -> Float64Array:
    """An attribute's numbers (views, each), zeros where it is left out."""
    given = _given(geometry, name) if name.startswith("DS") else getattr(geometry, name, None)
    found = real(f"geometry.{name}", 0.0 if given is None else given, "numbers")
    if not np.isfinite(found).all():
        raise ArrayError(f"geometry.{name}: it holds NaN or infinity; give numbers")
    if (np.abs(found) > checks.LONGEST).any():
        raise ParameterError(f"geometry.{name}: it is out of range; give {-checks.LONGEST:g} to {checks.LONGEST:g}")
    if each == 1 and found.shape in ((views,), (views, 1)):
        found = found.reshape(views, 1)
    try:
        return np.broadcast_to(found, (views, each))
    except ValueError as error:
        one = "a number" if each == 1 else f"({each},)"
        what = f"geometry.{name}: its shape is {found.shape}; give {one}, or one for each of {views} views"
        raise ArrayError(what) from error


def _require_ahead(name: str, distances: Float64Array) -> None:
    if (distances <= 0).any():
        view = int(np.flatnonzero(distances <= 0)[0])
        raise ParameterError(f"geometry.{name}: it is {distances[view]:g} in view {view}; give a distance above 0")


def _given(geometry: object, name: str) -> Any:
    if (given := getattr(geometry, name, None)) is None:
        raise ParameterError(f"geometry: it has no {name}; give TIGRE's geometry with all of its lengths")
    return given


def _about(axis: str, angles: Float64Array) -> Float64Array:
    """Rotations (views, 3, 3), counter-clockwise seen from the axis's positive end."""
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    found = np.broadcast_to(np.eye(3), (len(angles), 3, 3)).copy()
    found[:, first, first] = found[:, second, second] = np.cos(angles)
    found[:, second, first] = np.sin(angles)
    found[:, first, second] = -np.sin(angles)
    return found
