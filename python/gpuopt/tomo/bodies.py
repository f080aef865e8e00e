"""Bodies whose line integrals are known exactly: ellipsoids and blobs. Lengths are in mm, densities in 1/mm; points and
centres are (x, y, z). NumPy computes in fp64."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real, unsupported
from gpuopt.point_arrays import ReadOnly
from gpuopt.tomo import checks
from gpuopt.tomo.bodies_on_device import Shape
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.kinds import Lengths, Numbers


@checked
class Body(ABC):
    """Anything whose density is known everywhere. Bodies add up in a :class:`Phantom`.

    Points and directions are arrays (3, ...): sums over a first axis of 3 are several times faster than over a last
    one. A subclass defines the three methods below.

    Examples
    --------
    >>> ball = gt.Ellipsoid(1.0, 5.0)
    >>> isinstance(ball, gt.Body)
    True
    >>> low, high = ball.box()
    >>> high
    array([5., 5., 5.])
    """

    @abstractmethod
    def density_at(self, points: Float64Array) -> Float64Array:
        """Density (...,) in 1/mm at points (3, ...) in mm."""

    @abstractmethod
    def integral(self, origin: Float64Array, direction: Float64Array) -> Float64Array:
        """Line integrals (n,) along lines through ``origin`` (3, n) or (3, 1), mm; ``direction`` (3, n) of length 1."""

    @abstractmethod
    def box(self) -> tuple[Float64Array, Float64Array]:
        """Two opposite corners (3,) in mm of a box outside which the density is 0 or negligible."""


@checked
@dataclass(frozen=True, eq=False, init=False)
class Ellipsoid(ReadOnly, Body):
    """An ellipsoid of constant ``density`` in 1/mm about ``centre`` (x, y, z). ``axes`` (a, b, c) are its semi-axes in
    mm, or one for all; if one is infinite it is a cylinder.

    ``turn`` is the angle in radians by which it is turned counter-clockwise about z through its centre; or a rotation
    matrix (3, 3) whose columns are the directions of the axes. Raises ParameterError, ArrayError.

    Examples
    --------
    >>> cylinder = gt.Ellipsoid(0.5, axes=(2.0, 3.0, np.inf), centre=(1.0, 0.0, 0.0))
    >>> cylinder.density_at(np.array([[1.0, 4.0], [0.0, 0.0], [0.0, 0.0]]))
    array([0.5, 0. ])
    >>> through = np.array([[1.0], [-9.0], [0.0]]), np.array([[0.0], [1.0], [0.0]])  # a line along y
    >>> cylinder.integral(*through)
    array([3.])
    """

    density: float
    axes: tuple[float, ...]
    centre: Float64Array
    rotation: Float64Array

    def __init__(self, density: float, axes: Lengths, centre: Numbers = (0.0, 0.0, 0.0), turn: Numbers = 0.0) -> None:
        object.__setattr__(self, "density", checks.number("density", density, "1/mm"))
        semi = [
            math.inf if isinstance(value, Real) and value == math.inf else checks.length(name, value)
            for name, value in checks.each("axes", axes, "xyz")
        ]
        object.__setattr__(self, "axes", tuple(semi))
        object.__setattr__(self, "centre", _place(centre))
        object.__setattr__(self, "rotation", _rotation(turn))

    @property
    def _to_unit(self) -> Float64Array:
        """M = diag(1 / axes) rotation^T: takes the body to the unit sphere."""
        scaled: Float64Array = self.rotation.T / np.array(self.axes)[:, np.newaxis]
        return scaled

    def _shape(self) -> Shape:
        return Shape(self._to_unit, self.centre, 2 * self.density, False)

    def density_at(self, points: Float64Array) -> Float64Array:
        inside = (np.tensordot(self._to_unit, _from(points, self.centre), 1) ** 2).sum(axis=0) <= 1
        return np.where(inside, self.density, 0.0)

    def integral(self, origin: Float64Array, direction: Float64Array) -> Float64Array:
        """Line integrals (n,) along lines through ``origin`` (3, n) or (3, 1), mm; ``direction`` (3, n) of length 1.
        Raises ParameterError for lines along an infinite axis."""
        origin, direction = _rays(origin, direction)
        q, e = self._to_unit @ _from(origin, self.centre), self._to_unit @ direction
        ee = (e * e).sum(axis=0)
        if not ee.all():
            if not direction.any(axis=0).all():
                raise ParameterError("direction: one is zero; give directions of length 1")
            raise ParameterError("direction: a ray runs along the infinite axis of a cylinder; tilt one of them")
        # As Blob's; the second time takes away what the first one rounds.
        for _ in range(2):
            q = q - (q * e).sum(axis=0) / ee * e
        found: Float64Array = self.density * 2 * np.sqrt(np.maximum(1 - (q * q).sum(axis=0), 0) / ee)
        return found

    def box(self) -> tuple[Float64Array, Float64Array]:
        with np.errstate(invalid="ignore"):
            half = np.sqrt(np.nansum((self.rotation * np.array(self.axes)) ** 2, axis=1))
        return self.centre - half, self.centre + half


@checked
@dataclass(frozen=True, eq=False, init=False)
class Blob(ReadOnly, Body):
    """``density exp(-|x - centre|^2 / width^2)``. It is smooth, so that errors of discretisation fall fast with the
    size of voxels and pixels. ``width`` and ``centre`` (x, y, z) are in mm, ``density`` in 1/mm. Raises ParameterError,
    ArrayError.

    Examples
    --------
    >>> smooth = gt.Blob(2.0, centre=(1.0, 0.0, 0.0))
    >>> smooth.density_at(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 0.0]])).round(3)
    array([1.   , 0.368])
    >>> through = np.array([[0.0], [-9.0], [0.0]]), np.array([[0.0], [1.0], [0.0]])  # a line along y
    >>> smooth.integral(*through).round(3)
    array([2.761])
    """

    width: float
    centre: Float64Array
    density: float

    def __init__(self, width: float, centre: Numbers = (0.0, 0.0, 0.0), density: float = 1.0) -> None:
        object.__setattr__(self, "width", checks.length("width", width))
        object.__setattr__(self, "centre", _place(centre))
        object.__setattr__(self, "density", checks.number("density", density, "1/mm"))

    def _shape(self) -> Shape:
        factor = self.density * math.sqrt(math.pi) * self.width
        return Shape(np.eye(3) / self.width, self.centre, factor, True)

    def density_at(self, points: Float64Array) -> Float64Array:
        squared: Float64Array = (_from(points, self.centre) ** 2).sum(axis=0)
        return self.density * np.exp(-squared / self.width**2)

    def integral(self, origin: Float64Array, direction: Float64Array) -> Float64Array:
        # The distance by the foot of the perpendicular; by Pythagoras large squares would cancel, for sources are far.
        origin, direction = _rays(origin, direction)
        away = _from(origin, self.centre)
        away = away - (away * direction).sum(axis=0) * direction
        squared: Float64Array = (away**2).sum(axis=0)
        return self.density * math.sqrt(math.pi) * self.width * np.exp(-squared / self.width**2)

    def box(self) -> tuple[Float64Array, Float64Array]:
        half = 7 * self.width  # exp(-49) is 5e-22
        return self.centre - half, self.centre + half


def shapes_of(bodies: Sequence[Body]) -> list[Shape]:
    """Bodies as a device takes them. Raises UnsupportedError for those that are no ellipsoids and no blobs."""
    shapes = []
    for body in bodies:
        if not isinstance(body, Ellipsoid | Blob):
            raise unsupported(f"device: a {type(body).__name__} is projected by NumPy alone; leave device out")
        shapes.append(body._shape())
    return shapes


def _place(centre: Numbers) -> Float64Array:
    place = checks.vector("centre", centre, "(x, y, z) in mm")
    if len(place) != 3:
        raise ArrayError(f"centre: it has {len(place)} coordinates; give (x, y, z)")
    return checks.frozen(np.array([checks.place("centre", x, "(x, y, z) in mm") for x in place.tolist()]))


def _rotation(turn: Numbers) -> Float64Array:
    if not isinstance(turn, np.ndarray | list | tuple):
        angle = checks.number("turn", turn, "radians, or a rotation matrix (3, 3)")
        sin, cos = math.sin(angle), math.cos(angle)
        return checks.frozen(np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]))
    matrix = real("turn", turn, "radians about z, or an orthogonal matrix (3, 3)")
    if matrix.shape != (3, 3) or not np.allclose(matrix.T @ matrix, np.eye(3), atol=1e-9):
        raise ParameterError("turn: it is not a rotation; give radians about z, or an orthogonal matrix (3, 3)")
    return checks.frozen(matrix)


def _rays(origin: Float64Array, direction: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Both in fp64, where they belong together: (3, n) each, or an origin (3,) or (3, 1) of all directions."""
    begin, along = real("origin", origin, "(3, n)"), real("direction", direction, "(3, n)")
    fit = all(one.ndim in (1, 2) and len(one) == 3 for one in (begin, along))
    if not fit or begin.shape[1:] not in ((), (1,), along.shape[1:]):
        raise ArrayError(
            f"direction: its shape is {along.shape}, that of origin {begin.shape}; give (3, n) both, or one origin "
            "(3, 1) of all"
        )
    return begin.reshape(3, *[1] * (along.ndim - 1)) if begin.size == 3 else begin, along


def _from(points: Float64Array, centre: Float64Array) -> Float64Array:
    points = real("points", points, "(3, ...), x, y and z in mm")
    if not points.ndim or len(points) != 3:
        raise ArrayError(f"points: their shape is {points.shape}; give (3, ...), x, y and z in mm")
    return points - centre.reshape(3, *[1] * (points.ndim - 1))
