"""The grid of voxels that an image is given on."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.kinds import Lengths, Shape

_MOST_UNLIKE = 1e6


@checked
@dataclass(frozen=True, init=False, repr=False)
class Volume:
    """A grid of voxels: ``shape`` (z, y, x), or (y, x) of a slice at z = 0; ``voxel`` sizes and ``centre`` in mm.

    ``voxel`` and ``centre`` are one number for all axes, or one for each in the order of the shape. Along an axis of n
    voxels of size d with the centre c, voxel i has its centre at c + (i - (n - 1) / 2) d. Raises ParameterError, naming
    the axis.

    Examples
    --------
    >>> volume = gt.Volume((4, 8), voxel=0.5)
    >>> volume
    <Volume: 4 y x 8 x, voxel 0.5 mm>
    >>> volume.y
    array([-0.75, -0.25,  0.25,  0.75])
    >>> volume.shape, volume.size, volume.cell, volume.contains(np.array([1.9, 0.9, 0.0])), volume.points().shape
    ((4, 8), 32, 0.25, True, (4, 8, 3))
    >>> volume.part(1, 3).y, volume.refined(2).shape
    (array([-0.25,  0.25]), (8, 16))
    """

    shape: tuple[int, ...]
    voxel: tuple[float, ...]
    centre: tuple[float, ...]

    def __init__(self, shape: Shape, voxel: Lengths = 1.0, centre: Lengths = 0.0) -> None:
        if isinstance(shape, np.ndarray):
            shape = shape.tolist()
        if not isinstance(shape, (tuple, list)) or len(shape) not in (2, 3):
            raise ParameterError(
                f"shape: {reprlib.repr(shape)} is not the shape of an image; give (z, y, x), or (y, x) of a slice"
            )
        axes = checks.IMAGE_AXES[len(shape)]
        sizes = tuple(checks.count(*one, checks.MOST_CELLS) for one in checks.each("shape", shape, axes))
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "voxel", tuple(checks.length(*one) for one in checks.each("voxel", voxel, axes)))
        object.__setattr__(self, "centre", tuple(checks.place(*one) for one in checks.each("centre", centre, axes)))
        if max(self.voxel) > _MOST_UNLIKE * min(self.voxel):
            raise ParameterError(
                f"voxel: its edges are {min(self.voxel):.4g} and {max(self.voxel):.4g} mm; give edges of which none is "
                f"more than {_MOST_UNLIKE:g} times another"
            )

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many voxels."""
        return math.prod(self.shape)

    @property
    def cell(self) -> float:
        """The volume V of a voxel in mm^3; in 2D its area in mm^2."""
        return math.prod(self.voxel)

    @property
    def x(self) -> Float64Array:
        """Centres along x (x,), mm."""
        return self._along(-1)

    @property
    def y(self) -> Float64Array:
        """Centres along y (y,), mm."""
        return self._along(-2)

    @property
    def z(self) -> Float64Array:
        """Centres along z (z,), mm; in 2D the single value 0."""
        return self._along(0) if self.ndim == 3 else np.zeros(1)

    def _along(self, axis: int) -> Float64Array:
        return checks.centres(self.shape[axis], self.voxel[axis], self.centre[axis])

    @property
    def affine(self) -> Float64Array:
        """The matrix (4, 4) that takes a voxel's index (x, y, z, 1) to its centre in mm; in 2D z is 0."""
        found = np.eye(4)
        for column in range(self.ndim):
            axis = self.ndim - 1 - column
            size, middle = self.voxel[axis], self.centre[axis]
            found[column, 3] = middle - (self.shape[axis] - 1) / 2 * size
            found[column, column] = size
        return found

    def points(self) -> Float64Array:
        """Centres of all voxels, ``(*shape, 3)`` as (x, y, z) in mm. They take 24 bytes a voxel: for small volumes."""
        grid = np.stack(np.broadcast_arrays(self.x, self.y[:, None], self.z[:, None, None]))
        return np.moveaxis(grid if self.ndim == 3 else grid[:, 0], 0, -1)

    def corners(self) -> Float64Array:
        """Corners (8, 3) of the box as (x, y, z) in mm; in 2D those of the slice, each twice."""
        low, high = self._box()
        pick = np.indices((2, 2, 2)).reshape(3, 8).T
        return np.where(pick, high, low)

    def contains(self, point: np.ndarray) -> bool:
        """Whether a point (x, y, z) in mm lies in the box. Raises ArrayError."""
        place = checks.vector("point", point, "(x, y, z) in mm")
        if len(place) != 3:
            raise ArrayError(f"point: it has {len(place)} coordinates; give (x, y, z)")
        low, high = self._box()
        return bool(((low <= place) & (place <= high)).all())

    def _box(self) -> tuple[Float64Array, Float64Array]:
        middle, half = np.zeros(3), np.zeros(3)
        for axis in range(self.ndim):
            column = self.ndim - 1 - axis
            middle[column], half[column] = self.centre[axis], self.shape[axis] * self.voxel[axis] / 2
        return middle - half, middle + half

    def part(self, first: int, last: int) -> Volume:
        """The part from ``first`` to ``last`` (exclusive) along the first axis; its voxels stay where they are.
        Raises ParameterError."""
        n = self.shape[0]
        if not 0 <= first < last <= n:
            name = "last" if 0 <= first < n else "first"
            raise ParameterError(
                f"{name}: {first} to {last} is not a range of the {n} slices; give 0 <= first < last <= {n}"
            )
        middle = self.centre[0] + ((first + last - 1) / 2 - (n - 1) / 2) * self.voxel[0]
        return Volume((last - first, *self.shape[1:]), self.voxel, (middle, *self.centre[1:]))

    def refined(self, times: int) -> Volume:
        """The same box with ``times`` as many voxels along each axis. Raises ParameterError."""
        times = checks.count("times", times)
        return Volume(
            tuple(times * n for n in self.shape), tuple(size / times for size in self.voxel), centre=self.centre
        )

    def __repr__(self) -> str:
        axes = checks.IMAGE_AXES[self.ndim]
        sizes = " x ".join(f"{n} {axis}" for n, axis in zip(self.shape, axes, strict=True))
        edges = self.voxel[:1] if len(set(self.voxel)) == 1 else self.voxel
        voxel = " x ".join(f"{size:g}" for size in edges)
        centre = f", centre {self.centre}" if any(self.centre) else ""
        return f"<Volume: {sizes}, voxel {voxel} mm{centre}>"
