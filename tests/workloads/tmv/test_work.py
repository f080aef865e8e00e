"""The work that tmv's plans declare, held against its loops: elements of v that are staged once for a group or read for
each vector of columns, sums of parts, columns that fill no group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from gpuopt.workloads.tmv.operation import prepare_tmv

ROWS, COLS, ELEMENT = 301, 77, 4


def work_of(device: gpuopt.Device, variant: str, cols: int = COLS, **levels: int) -> dict[str, Any]:
    A, v, out = (_core.empty(shape, np.dtype(np.float32), device) for shape in ((ROWS, cols), (ROWS,), (cols,)))
    work: Any = prepare_tmv(A, v, out, complete("tmv", Configuration(variant, **levels))).work
    assert work["flops"] == 2 * ROWS * cols
    assert work["bytes"]["dram"] == ELEMENT * (ROWS * cols + ROWS + cols)
    return work


@pytest.mark.parametrize(("variant", "width", "down"), [("naive", 1, 1), ("f2", 2, 1), ("tlp", 1, 4), ("tlp_f2", 2, 4)])
def test_v_is_staged_once_a_group(any_device: gpuopt.Device, variant: str, width: int, down: int) -> None:
    across = 32
    work = work_of(any_device, variant, LOCAL_X=across, **({"LOCAL_Y": down} if down > 1 else {}))
    lanes = 32 if "nvidia" in any_device.platform.lower() else 64
    loaded = local = 0
    for group in range(0, COLS, across * width):
        items = -(-(min(COLS, group + across * width) - group) // width)
        loaded += ROWS + ROWS * (min(COLS, group + across * width) - group)
        local += ROWS  # written
        # Each of `down` rows of work-items reads an element for every row of A: once where all of a subgroup do.
        local += ROWS * -(-items // min(lanes, across))
        if down > 1:  # sums: written by all, read by the first row of work-items
            local += down * across * width + (down - 1) * across * width
    assert work["bytes"]["requested"] == ELEMENT * (loaded + COLS)
    assert work["bytes"]["local"] == ELEMENT * local


def test_sums_of_parts_are_written_and_read(any_device: gpuopt.Device) -> None:
    work = work_of(any_device, "row_parts", PARTS=4, LOCAL=128, UNROLL=2, WIDTH=4, ACROSS=32)
    items = 32  # 77 columns are no whole vectors: a work-item's four lie 32 apart
    aligned = work_of(any_device, "row_parts", cols=76, PARTS=4, LOCAL=128, UNROLL=2, WIDTH=4, ACROSS=32)
    step = 128 // 32 * 2
    quarter = -(-ROWS // 4)
    part = -(-quarter // step) * step
    parts = -(-ROWS // part)
    assert parts == 4
    assert aligned["bytes"]["requested"] == ELEMENT * (ROWS * 76 + ROWS * 19 + 2 * parts * 76 + 76)
    # Two sums for each column of a part: written, and read by the second pass.
    assert work["bytes"]["requested"] == ELEMENT * (ROWS * COLS + ROWS * items + 2 * parts * COLS + COLS)


def test_a_strip_reads_v_once(any_device: gpuopt.Device) -> None:
    work = work_of(any_device, "row_blocks", STRIP=512, ITEMS=2, WIDTH=4)
    assert work["bytes"]["requested"] == ELEMENT * (ROWS * COLS + ROWS + 2 * 2 * COLS + COLS)
    assert "local" not in work["bytes"]
