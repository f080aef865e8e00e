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


class Raising:
    def __index__(self) -> int:
        raise RuntimeError("no number today")


def test_a_byte_is_any_whole_number_from_0_to_255(device: gpuopt.Device) -> None:
    array = gpuopt.to_device(np.zeros(3, np.uint8), device)
    for byte in (3, np.uint8(4), np.int64(255)):
        array.fill_bytes(byte)
        assert (array.to_numpy() == byte).all()
    for wrong in (True, np.True_, 256, -1, np.int64(-1), 2.0, 10**30, "3", None, Raising()):
        with pytest.raises(gpuopt.ParameterError, match="byte: it is no byte"):
            array.fill_bytes(wrong)


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


def test_numpy_gets_a_copy_and_never_an_array_of_objects(device: gpuopt.Device) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    d = gpuopt.to_device(a, device)
    for made in (np.asarray(d), np.array(d), np.stack([d, d])[1]):
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made, a)
    assert np.asarray(d, dtype=np.float64).dtype == np.float64
    np.asarray(d)[0, 0] = 7
    np.testing.assert_array_equal(d.to_numpy(), a)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(gpuopt.ParameterError, match="copy: a DeviceArray lies in a device's memory"):
            np.asarray(d, copy=False)
    with pytest.raises(gpuopt.ParameterError, match="copy: it is no flag"):
        d.__array__(copy="never")


def test_matrices_are_multiplied_where_they_lie(device: gpuopt.Device) -> None:
    a, b = (np.random.default_rng(k).normal(size=(5, 5)).astype(np.float32) for k in range(2))
    A, B = (gpuopt.to_device(each, device) for each in (a, b))
    product = A @ B
    assert isinstance(product, gpuopt.DeviceArray)
    np.testing.assert_allclose(product.to_numpy(), a @ b, rtol=1e-4, atol=1e-5)
    for mixed in (lambda: a @ B, lambda: A @ b):
        with pytest.raises(gpuopt.Error, match=r"^[AB]: "):
            mixed()
    with pytest.raises(TypeError):
        np.add(A, 1)  # nothing is copied unseen


@pytest.mark.parametrize("size", [1, 3, 1000, 12345])
@pytest.mark.parametrize("of", [1, 7, 1000, 99999])
def test_a_pattern_fills_an_array(device: gpuopt.Device, size: int, of: int) -> None:
    pattern = np.random.default_rng(of).integers(0, 256, of, np.uint8)
    array = _core.empty((size,), np.dtype(np.uint8), device, True)
    array.fill_repeated(pattern)
    np.testing.assert_array_equal(array.to_numpy(), np.resize(pattern, size))
    assert array.guards_intact()


def test_a_pattern_is_a_contiguous_array_with_elements(device: gpuopt.Device) -> None:
    array = _core.empty((10,), np.dtype(np.float32), device, True)
    for pattern in (np.zeros(0, np.uint8), np.zeros((4, 4), np.float32)[:, :2], array):
        with pytest.raises(gpuopt.ArrayError, match="pattern"):
            array.fill_repeated(pattern)  # type: ignore[arg-type]
    with pytest.raises(gpuopt.ArrayError, match=r"^pattern: masks of masked arrays"):
        array.fill_repeated(np.ma.masked_array([1, 2], [False, True], np.float32))
