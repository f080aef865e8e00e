"""Arrays of a device by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import _core

PIECE = 256 << 20  # bytes, moved without a look at signals
FILLED_AT_ONCE = 1 << 24  # bytes, by the driver; the rest is copied


@pytest.mark.parametrize("size", [0, 1, FILLED_AT_ONCE, FILLED_AT_ONCE + 1, 3 * FILLED_AT_ONCE - 5])
def test_a_fill_ends_where_the_array_does(device: gpuopt.Device, size: int) -> None:
    array = _core.empty((size,), np.dtype(np.uint8), device, True)
    array.fill_bytes(7)
    assert (array.to_numpy() == 7).all()
    assert array.guards_intact()


@pytest.mark.parametrize("apart", [2, -2])
def test_rows_apart_that_are_more_than_is_moved_at_once(device: gpuopt.Device, apart: int) -> None:
    rows, cols = (PIECE // 4 + 30_000) // 1000, 1000
    a, b = np.arange(rows, dtype=np.float32).reshape(rows, 1), np.arange(cols, dtype=np.float32).reshape(1, cols)
    room = np.zeros((2 * rows, cols + 1), np.float32)
    out = room[::apart, 1:]  # no kernel works in it: it begins where no vector does
    gpuopt.gemm(a, b, out=out, device=device)
    last = [0, 1, rows // 2, rows - 2, rows - 1]
    assert (out[last] == a[last] * b).all()
    assert not room[1 if apart > 0 else 0 :: 2].any()
    total = gpuopt.gemm(out, np.ones((cols, 1), np.float32), device=device)
    np.testing.assert_allclose(total, a * b.sum(), rtol=1e-5)
