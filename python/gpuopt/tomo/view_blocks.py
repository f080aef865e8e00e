"""Filtered back projections in blocks of views: the device works on some while others go up."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, ProjectorPlan
from gpuopt.configuration import Configuration
from gpuopt.tomo import on_device
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.volume import Volume

BLOCKS = 8  # of a scan: the first one goes up before the device has work
LEAST_BYTES = 64 << 20  # of a block: smaller copies take longer a byte
_TURNS = 3  # one is written while the device works on the one before, and another may be left
FLOAT32 = np.dtype(np.float32)


class ViewBlocks:
    """The blocks of one scan, filtered by ``rows``; their plans are made once. ``configuration`` is that of the whole
    scan."""

    def __init__(
        self,
        geometry: Geometry,
        volume: Volume,
        rows: RowFilter,
        weight: str,
        configuration: Configuration | None,
        device: Device,
    ) -> None:
        views, each = geometry.views, views_at_once(rows)
        self._slices = [slice(first, min(first + each, views)) for first in range(0, views, each)]
        self._scans = [geometry.subset(np.arange(views)[some]) for some in self._slices]
        self._filters = [rows.of_views(some) for some in self._slices]
        self._plans: list[ProjectorPlan | None] = [None] * len(self._slices)
        self._volume, self._weight, self._device = volume, weight, device
        self._shape, self._wide, self._in_place = rows.shape, rows.wide, rows.in_place  # they may outlive ``rows``
        self._configuration = on_device.whole_configuration(geometry, volume, device, configuration)

    def run(self, projections: np.ndarray) -> tuple[DeviceArray, list[DeviceArray]]:
        """The image of C-contiguous projections, and what was found of each block's rows, as of
        :meth:`RowFilter.on_device`. The device may still be at work."""
        views = {some.stop - some.start for some in self._slices}
        data = {count: [self._empty(count, self._shape[2]) for _ in range(_TURNS)] for count in views}
        filtered = {count: None if self._in_place else self._empty(count, self._wide) for count in views}
        image = _core.empty(self._volume.shape, FLOAT32, self._device)
        copies = _core.CopiesBeside(self._device)
        found = []
        given = projections.reshape(self._shape)
        for number, some in enumerate(self._slices):
            count = some.stop - some.start
            here = data[count][number % _TURNS]
            copies.upload(given[some], here)
            out = filtered[count] or here
            found.append(self._filters[number].on_device(here, out))
            self._plan(number, out, image).start(image, out)
            copies.used(here)
        return image, found

    def _plan(self, number: int, projections: DeviceArray, image: DeviceArray) -> ProjectorPlan:
        plan = self._plans[number]
        if plan is None:
            plan = self._plans[number] = on_device.plan_exchangeable(
                self._scans[number],
                self._volume,
                projections,
                image,
                self._weight,
                self._configuration,
                accumulate=number > 0,
            )
        return plan

    def _empty(self, views: int, columns: int) -> DeviceArray:
        return _core.empty((views, self._shape[1], columns), FLOAT32, self._device)


def views_at_once(rows: RowFilter) -> int:
    """Views of a block; those of the scan where it goes in one."""
    views, high, wide = rows.shape
    return min(views, max(-(-views // BLOCKS), -(-LEAST_BYTES // (4 * high * wide))))


def goes_in_blocks(given: Any, rows: RowFilter, device: Device) -> bool:
    """Whether these projections are large enough, and lie where copies may go on beside kernels."""
    return (
        isinstance(given, np.ndarray)
        and given.flags.c_contiguous
        and rows.fits(device)
        and views_at_once(rows) < rows.shape[0]
    )
