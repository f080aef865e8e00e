"""Filtered back projections in blocks of views: the device works on some while others go up."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, ProjectorPlan
from gpuopt.configuration import Configuration
from gpuopt.tomo import on_device
from gpuopt.tomo.device_backend import FLOAT32
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.volume import Volume

MOST = 8  # blocks: the device waits for the first alone
LEAST = 4  # of fewer, the buffers that take turns would hold more than all projections
LEAST_BYTES = 64 << 20  # of a block: smaller copies take longer a byte
TURNS = 3  # buffers: of what is written, what is worked on, and what is worked on next


class ViewBlocks:
    """The blocks of one scan, with plans of their back projection, which are made once. ``configuration`` is that of
    the whole scan; None: what is fastest."""

    def __init__(
        self,
        geometry: Geometry,
        volume: Volume,
        views: int,
        weight: str,
        configuration: Configuration | None,
        device: Device,
    ) -> None:
        """``views`` is how many a block has; the last may have fewer."""
        of = range(0, geometry.views, views)
        self._slices = [slice(first, min(first + views, geometry.views)) for first in of]
        self._scans = [geometry.subset(np.arange(geometry.views)[some]) for some in self._slices]
        self._plans: list[ProjectorPlan] = []
        self._filters = weakref.WeakKeyDictionary[RowFilter, list[RowFilter]]()
        self._volume, self._weight, self._device = volume, weight, device
        self._configuration = on_device.whole_configuration(geometry, volume, device, configuration)

    def run(self, projections: np.ndarray, rows: RowFilter) -> tuple[DeviceArray, np.ndarray]:
        """The image of C-contiguous projections that ``rows`` filters, and what was found of all rows, as of
        :meth:`RowFilter.on_host`. The device may still be at work."""
        given = projections.reshape(rows.shape)
        image = _core.empty(self._volume.shape, FLOAT32, self._device)
        data = self._buffers(rows, rows.shape[2], TURNS)
        out = data if rows.in_place else self._buffers(rows, rows.wide, 1)  # kernels come in order: one is enough
        filters = self._filters_of(rows)
        plans = self._plans_of(image, out)
        copies = _core.CopiesBeside(self._device)  # when all else is there
        facts = np.empty((*rows.shape[:2], 4), np.float32)
        found: DeviceArray | None = None  # of the block before
        for number, some in enumerate(self._slices):
            here, filtered = data[number], out[number]
            copies.upload(given[some], here)
            if found is not None:
                copies.download(found, facts[self._slices[number - 1]].reshape(found.shape))
            found = filters[number].on_device(here, filtered)
            copies.used(found)
            plans[number].start(image, filtered)
            copies.used(here)
        if found is not None:
            copies.download(found, facts[self._slices[-1]].reshape(found.shape))
        return image, facts

    def _buffers(self, rows: RowFilter, columns: int, turns: int) -> list[DeviceArray]:
        """One for each block: ``turns`` of them take turns, and a shorter last block has its own."""
        shapes = [(some.stop - some.start, rows.shape[1], columns) for some in self._slices]
        alike = [shape for shape in shapes if shape == shapes[0]]
        made = [_core.empty(shape, FLOAT32, self._device) for shape in alike[:turns]]
        found = [made[number % turns] for number in range(len(alike))]
        return [*found, *(_core.empty(shape, FLOAT32, self._device) for shape in shapes[len(alike) :])]

    def _filters_of(self, rows: RowFilter) -> list[RowFilter]:
        found = self._filters.get(rows)
        if found is None:
            found = self._filters[rows] = [rows.of_views(some) for some in self._slices]
        for part in found:
            part.prepare(self._device)
        return found

    def _plans_of(self, image: DeviceArray, projections: list[DeviceArray]) -> list[ProjectorPlan]:
        if not self._plans:
            self._plans = [
                on_device.plan_exchangeable(
                    scan, self._volume, data, image, self._weight, self._configuration, accumulate=number > 0
                )
                for number, (scan, data) in enumerate(zip(self._scans, projections, strict=True))
            ]
        return self._plans


def views_at_once(rows: RowFilter) -> int:
    """Views of a block; those of the scan where it goes as one."""
    views, high, wide = rows.shape
    count = min(MOST, views, 4 * views * high * wide // LEAST_BYTES)
    return views if count < LEAST else -(-views // count)


def goes_in_blocks(given: Any, rows: RowFilter, device: Device) -> bool:
    """Whether these projections are large enough, and lie where copies may go on beside kernels."""
    return (
        isinstance(given, np.ndarray)
        and given.flags.c_contiguous
        and rows.fits(device)
        and views_at_once(rows) < rows.shape[0]
    )
