"""The rows of a filtered back projection: weighted and filtered, in threads on the host or in a kernel on a device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.filters import convolved, host_response, response_of

_ROWS_AT_ONCE = 48  # of a thread: rows of 2500 floats stay in its cache
_LARGE = 1e15  # smaller ones, filtered, are float32's in scans of up to a thousand kilometres; as in filter.cl
_ALONE = 1 << 17  # Fewer pixels are filtered before threads have started.


@dataclass(frozen=True, eq=False)
class RowFilter:
    """How projections (views, rows, columns) become filtered ones (views, rows, lead + columns + trail).

    Rows and columns that are reversed in what is given come out in order. A pixel is multiplied by its weight and its
    slant, then its row is convolved with the taps.
    """

    shape: tuple[int, int, int]
    weights: Float64Array
    """(views, columns), or (views, 1)."""
    slants: Float64Array
    """(rows, columns); either axis may have length 1."""
    taps: Float64Array
    window: str
    scale: float
    lead: int = 0
    trail: int = 0
    rows_reversed: bool = False
    columns_reversed: bool = False
    _made: dict[int, _core.RowFilter] = field(default_factory=dict)
    _tables: dict[int, tuple[DeviceArray, DeviceArray]] = field(default_factory=dict)

    @property
    def wide(self) -> int:
        """Columns of the result."""
        return self.lead + self.shape[2] + self.trail

    @property
    def in_place(self) -> bool:
        """Whether the result may overwrite what is filtered."""
        return not (self.lead or self.trail or self.rows_reversed or self.columns_reversed)

    def of_views(self, views: slice) -> RowFilter:
        """The filter of some views alone. It shares this one's tables of rows and frequencies on devices."""
        count = len(range(*views.indices(self.shape[0])))
        return replace(self, shape=(count, *self.shape[1:]), weights=self.weights[views], _made={})

    # ------------------------------------------------------------ on the host

    def on_host(self, projections: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Filtered projections (views, rows, wide), of the dtype of those given, and what was found of each row (views,
        rows, 4): its largest value, the first, the last, and 1 where one is beyond 1e15, infinite or NaN, else 0."""
        rows = projections.reshape(self.shape)
        rows = rows[:, :: -1 if self.rows_reversed else 1, :: -1 if self.columns_reversed else 1]
        out = np.empty((*self.shape[:2], self.wide), rows.dtype)
        facts = np.empty((*self.shape[:2], 4))
        length, response = host_response(self.taps, self.window, self.scale, rows.dtype)
        weights, slants = (by.astype(rows.dtype) for by in (self.weights, self.slants))

        def work(block: tuple[slice, slice]) -> None:
            views, some = block
            here = rows[views, some]
            _look(here, facts[views, some])
            padded = np.zeros((*here.shape[:2], self.wide), rows.dtype)
            own = padded[..., self.lead : self.lead + self.shape[2]]
            with np.errstate(invalid="ignore", over="ignore"):
                np.multiply(here, weights[views, np.newaxis], out=own)
                own *= slants if len(slants) == 1 else slants[some]
                out[views, some] = convolved(padded, response, length)

        in_threads(work, list(self._blocks()), rows.size)
        return out, facts

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        views, rows, _ = self.shape
        at_once = max(1, _ROWS_AT_ONCE // rows)
        for first in range(0, views, at_once):
            for row in range(0, rows, _ROWS_AT_ONCE):
                yield slice(first, first + at_once), slice(row, row + _ROWS_AT_ONCE)

    # ------------------------------------------------------------ on a device

    def fits(self, device: Device) -> bool:
        """Whether a row's transform fits the local memory of a device that filters faster than its host."""
        return device.type != "cpu" and _core.transform_length(device, 2 * self.wide - 1) > 0

    def on_device(self, projections: DeviceArray, out: DeviceArray) -> DeviceArray:
        """Enqueues the filter of device arrays, and does not wait on a GPU; returns what it finds of each row, (views
        rows, 4), as :meth:`on_host`. ``out`` may be ``projections`` where it is ``in_place``."""
        return self.prepare(projections.device).start(projections, out)

    def prepare(self, device: Device) -> _core.RowFilter:
        """The filter on a device, made once."""
        made = self._made.get(device.index)
        if made is None:
            made = self._made[device.index] = self._make(device)
        return made

    def _make(self, device: Device) -> _core.RowFilter:
        tables = self._tables.get(device.index)
        if tables is None:
            length = _core.transform_length(device, 2 * self.wide - 1)
            half = response_of(self.taps, self.window, self.scale, length) / length
            response = np.concatenate([half, half[1 : (length + 1) // 2][::-1]])
            tables = _on_device(self.slants, device), _on_device(response, device)
            self._tables[device.index] = tables
        return _core.RowFilter(
            _on_device(self.weights, device),
            *tables,
            shape=self.shape,
            lead=self.lead,
            trail=self.trail,
            rows_reversed=self.rows_reversed,
            columns_reversed=self.columns_reversed,
        )


def _on_device(table: Float64Array, device: Device) -> DeviceArray:
    return _core.to_device(np.ascontiguousarray(table, np.float32), device)


def _look(rows: np.ndarray, facts: np.ndarray) -> None:
    facts[..., 0], facts[..., 1], facts[..., 2] = rows.max(axis=-1), rows[..., 0], rows[..., -1]
    # The minimum and the maximum show NaN and infinity without a mask.
    facts[..., 3] = ~((facts[..., 0] <= _LARGE) & (rows.min(axis=-1) >= -_LARGE))


def in_threads(work: Any, blocks: list[Any], elements: int) -> None:
    """``work(block)`` for each block, in as many threads as there are cores where it pays."""
    threads = min(len(os.sched_getaffinity(0)), len(blocks))
    if threads < 2 or elements < _ALONE:
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, blocks):
            pass
