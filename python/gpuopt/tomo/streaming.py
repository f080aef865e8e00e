"""Projections of data that do not fit a device: slabs of the volume and blocks of views pass through it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray, DeviceMemoryError
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.volume import Volume

_FLOAT = 4
_IMAGES, _DATA = 5, 3  # how many images and projections an iteration keeps
_LINE = 2 * 8 * _FLOAT  # bytes of the rays' tables for a column of a view, of projection and adjoint together
_TABLES = 1.5  # of them in an iteration: beside those of blocks, the projection of all views, which scales EM's image
_SUMS = 1 << 18  # bytes of sums that are not yet read
_MARGIN = 2  # zeros on each side of the copy of a volume
_ROWS_UP = 8  # Rows of that copy are padded to multiples of this.
_VIEWS_GATHERED = 64  # views in a launch of the adjoint, which reorders their projections first


@dataclass(frozen=True)
class Needs:
    """Bytes of an operator's arrays on a device, and of the memory that its plans take beside them."""

    image: int
    data: int
    copy: int
    """The image with zeros around it, or reordered projections; both use the same piece of memory."""
    lines: int
    """The rays' tables."""
    kept: int
    """What plans keep of smaller pieces: of the padded image, and of each block of reordered projections that was the
    largest so far. Blocks of one main axis hold the rays of the others, too."""
    fast: int = 0
    """Projections with zeros around them, or as OpenCL images, for voxel-driven back projection."""

    @classmethod
    def of(cls, shape: tuple[int, ...], views: int, geometry: Geometry, fast: bool = False) -> Needs:
        detector = geometry.detector
        *outer, ny, nx = (n + 2 * _MARGIN for n in shape)

        def up(count: int) -> int:
            return math.ceil(count / _ROWS_UP) * _ROWS_UP

        gathered, outgrown = views * detector.columns if detector.rows == 1 else 0, 0
        if outer:
            padded = max(ny * nx * up(outer[0]), outer[0] * nx * up(ny))
            of_a_view = detector.columns * up(detector.rows)
            gathered = max(gathered, min(views, _VIEWS_GATHERED) * of_a_view)
            outgrown = 2 * min(views, 2 * _VIEWS_GATHERED) * of_a_view
        else:
            padded = max(nx * up(ny), ny * up(nx))
        return cls(
            _FLOAT * math.prod(shape),
            _FLOAT * views * detector.rows * detector.columns,
            _FLOAT * max(padded, gathered),
            _LINE * views * detector.columns,
            _FLOAT * (padded + outgrown),
            _FLOAT * views * (detector.rows + 3) * (detector.columns + 3) if fast else 0,
        )

    @property
    def whole(self) -> int:
        return self.image + self.data + self.copy + self.lines + self.fast

    @property
    def largest(self) -> int:
        """The largest single piece of memory."""
        return max(self.image, self.data, self.copy)

    @property
    def iteration(self) -> int:
        """What an iteration of any algorithm takes at most if its data stay on the device."""
        tables = math.ceil(_TABLES * self.lines) + _SUMS
        return _IMAGES * self.image + _DATA * self.data + self.copy + self.kept + tables + self.fast


def spare(geometry: Geometry, volume: Volume, device: _core.Device, limit: int, fast: bool) -> int | None:
    """Bytes of ``limit`` that are left by an iteration whose data stay on the device; None if they do not fit."""
    needs = Needs.of(volume.shape, geometry.views, geometry, fast)
    return limit - needs.iteration if needs.iteration <= limit and needs.largest <= device.max_alloc_bytes else None


class Project(Protocol):
    """Enqueues a forward projection, its adjoint or a back projection on a device, for some views of a scan and a part
    of its volume; with ``accumulate`` it adds to the result."""

    def __call__(
        self, geometry: Geometry, volume: Volume, image: DeviceArray, data: DeviceArray, accumulate: bool
    ) -> None: ...


@dataclass(frozen=True)
class Parts:
    """The parts a scan is cut into: how many ``slices`` along the volume's first axis, and how many ``views``, are on
    the device at a time."""

    slices: int
    views: int

    @classmethod
    def of(cls, geometry: Geometry, volume: Volume, limit: int, largest: int, fast: bool = False) -> Parts:
        """The largest parts that fit ``limit`` bytes, no array of which takes more than ``largest``. Raises
        DeviceMemoryError, naming the bytes of the smallest parts."""
        slices, views = volume.shape[0], geometry.views
        while True:
            needs = Needs.of((slices, *volume.shape[1:]), views, geometry, fast)
            if needs.whole <= limit and needs.largest <= largest:
                return cls(slices, views)
            if slices == views == 1:
                raise DeviceMemoryError(
                    f"memory_limit: a slice of the volume and a view take {needs.whole:,} bytes, and only {limit:,} "
                    "may be used; give a higher limit, a smaller slice, or a smaller detector"
                )
            # A part of the image counts twice, for its padded copy.
            if views == 1 or (slices > 1 and 2 * needs.image >= needs.data):
                slices = math.ceil(slices / 2)
            else:
                views = math.ceil(views / 2)


class Streamed:
    """Projections of NumPy arrays in parts that fit a device."""

    def __init__(self, geometry: Geometry, volume: Volume, device: _core.Device, limit: int, fast: bool) -> None:
        self._geometry, self._volume, self._device = geometry, volume, device
        self._queue = _core.DeviceArithmetic(device)
        self.parts = Parts.of(geometry, volume, limit, device.max_alloc_bytes, fast)

    def forward(self, x: np.ndarray, out: np.ndarray, project: Project) -> None:
        """out = A x, one block of views after the other."""
        for block, scan in self._blocks():
            data = self._empty(scan.shape)
            for number, (slab, part) in enumerate(self._slabs()):
                project(scan, part, self._upload(x[slab]), data, number > 0)
            out[block] = data.to_numpy()

    def back(self, p: np.ndarray, out: np.ndarray, project: Project) -> None:
        """out = what ``project`` makes of p, one slab of the volume after the other."""
        for slab, part in self._slabs():
            image = self._empty(part.shape)
            for number, (block, scan) in enumerate(self._blocks()):
                project(scan, part, image, self._upload(p[block]), number > 0)
            out[slab] = image.to_numpy()

    def _upload(self, part: np.ndarray) -> DeviceArray:
        # The driver keeps the previous part while kernels work on it, and two parts may not fit.
        self._queue.finish()
        return _core.to_device(np.ascontiguousarray(part), self._device)

    def _blocks(self) -> Iterator[tuple[slice, Geometry]]:
        for first in range(0, self._geometry.views, self.parts.views):
            block = slice(first, min(first + self.parts.views, self._geometry.views))
            yield block, self._geometry.subset(block)

    def _slabs(self) -> Iterator[tuple[slice, Volume]]:
        count = self._volume.shape[0]
        for first in range(0, count, self.parts.slices):
            last = min(first + self.parts.slices, count)
            yield slice(first, last), self._volume.part(first, last)

    def _empty(self, shape: tuple[int, ...]) -> Any:
        return _core.empty(shape, np.dtype(np.float32), self._device)
