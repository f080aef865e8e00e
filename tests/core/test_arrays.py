"""Arrays of a device by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import _core

FILLED_AT_ONCE = 1 << 24  # bytes, by the driver; the rest is copied


@pytest.mark.parametrize("size", [0, 1, FILLED_AT_ONCE, FILLED_AT_ONCE + 1, 3 * FILLED_AT_ONCE - 5])
def test_a_fill_ends_where_the_array_does(device: gpuopt.Device, size: int) -> None:
    array = _core.empty((size,), np.dtype(np.uint8), device, True)
    array.fill_bytes(7)
    assert (array.to_numpy() == 7).all()
    assert array.guards_intact()
