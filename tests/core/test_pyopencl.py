"""Arrays that pyopencl and gpuopt share."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, ParameterError, UnsupportedError

cl = pytest.importorskip("pyopencl")
arrays = pytest.importorskip("pyopencl.array")


def test_what_one_library_writes_the_other_reads(any_device: gpuopt.Device) -> None:
    d = gpuopt.to_device(np.arange(6, dtype=np.float32).reshape(2, 3), any_device)
    theirs = gpuopt.to_pyopencl(d)
    assert (theirs.shape, theirs.dtype) == (d.shape, d.dtype)
    np.testing.assert_array_equal(theirs.get(), d.to_numpy())
    d.copy_from(np.full((2, 3), 7, np.float32))
    np.testing.assert_array_equal(theirs.get(), np.full((2, 3), 7, np.float32))
    theirs.set(np.eye(2, 3, dtype=np.float32))
    theirs.queue.finish()
    np.testing.assert_array_equal((2 * d).to_numpy(), 2 * np.eye(2, 3, dtype=np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_an_array_of_pyopencl_is_taken_as_it_lies(any_device: gpuopt.Device, dtype: type) -> None:
    if dtype is np.float64 and not any_device.fp64:
        pytest.skip("the device has no float64")
    host = np.arange(35).reshape(5, 7).astype(dtype)
    theirs = arrays.to_device(gpuopt.pyopencl_queue(any_device), host)
    ours = gpuopt.from_pyopencl(theirs, any_device)
    np.testing.assert_array_equal(ours.to_numpy(), host)
    ours.copy_from(host[::-1].copy())
    np.testing.assert_array_equal(theirs.get(), host[::-1])
    del theirs
    gc.collect()
    np.testing.assert_array_equal(ours.to_numpy(), host[::-1])


def test_memory_of_the_host_stays(any_device: gpuopt.Device) -> None:
    """A buffer on an array of the host does not keep it."""
    queue, n = gpuopt.pyopencl_queue(any_device), 1 << 16
    host = np.full(n, 3, np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    lent = arrays.Array(queue, (n,), np.float32, data=cl.Buffer(queue.context, flags, hostbuf=host))
    ours = gpuopt.from_pyopencl(lent, any_device)
    del lent, host
    gc.collect()
    others = [np.full(n, 9, np.float32) for _ in range(6)]
    np.testing.assert_array_equal(ours.to_numpy(), np.full(n, 3, np.float32))
    assert len(others) == 6


def test_products_of_shared_arrays(any_device: gpuopt.Device) -> None:
    a = np.random.default_rng(1).uniform(-1, 1, (33, 17)).astype(np.float32)
    queue = gpuopt.pyopencl_queue(any_device)
    left, right = (gpuopt.from_pyopencl(arrays.to_device(queue, one), any_device) for one in (a, a.T.copy()))
    np.testing.assert_allclose((left @ right).to_numpy(), a @ a.T, rtol=0, atol=1e-5)


def test_shared_memory_is_not_given_to_others(any_device: gpuopt.Device) -> None:
    """Freed memory goes to a pool, from which the next array of that size is made."""
    host = np.arange(1024, dtype=np.float32)
    d = gpuopt.to_device(host, any_device)
    theirs = gpuopt.to_pyopencl(d)
    del d
    gc.collect()
    others = [gpuopt.to_device(np.zeros(1024, np.float32), any_device) for _ in range(8)]
    np.testing.assert_array_equal(theirs.get(), host)
    assert len(others) == 8


def test_another_array_of_the_same_memory_is_known_as_such(any_device: gpuopt.Device) -> None:
    """An operation that would write over what it reads is refused, whichever object says where it lies."""
    host = np.random.default_rng(2).uniform(-1, 1, (37, 37)).astype(np.float32)
    d, other = (gpuopt.to_device(host, any_device) for _ in range(2))
    theirs = gpuopt.to_pyopencl(d)
    one, two = gpuopt.from_pyopencl(theirs, any_device), gpuopt.from_pyopencl(theirs, any_device)
    for a, b in ((d, one), (one, d), (one, two)):
        assert a.shares_memory(b)
        with pytest.raises(ArrayError, match="out: it"):
            gpuopt.gemm(other, a, out=b)
        with pytest.raises(ArrayError, match="out: it"):
            gpuopt.tmv(a, gpuopt.to_device(host[0], any_device), out=b)
    assert not one.shares_memory(other)
    whole = cl.Buffer(theirs.queue.context, cl.mem_flags.READ_WRITE, 65536)
    first, last, all_of_it = (
        gpuopt.from_pyopencl(arrays.Array(theirs.queue, (count,), np.float32, data=part), any_device)
        for count, part in ((4096, whole[:16384]), (4096, whole[49152:]), (16384, whole))
    )
    assert first.shares_memory(all_of_it)
    assert last.shares_memory(all_of_it)
    assert not first.shares_memory(last)


def test_a_sum_is_not_written_over_a_part_of_its_addend(any_device: gpuopt.Device) -> None:
    A = gpuopt.DiaMatrix((np.ones((1, 4096), np.float32), [0]), (4096, 4096), device=any_device)
    queue = gpuopt.pyopencl_queue(any_device)
    whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 65536)
    x = gpuopt.to_device(np.ones(4096, np.float32), any_device)
    y, shifted, same = (
        gpuopt.from_pyopencl(arrays.Array(queue, (4096,), np.float32, data=whole[at : at + 16384]), any_device)
        for at in (0, 4096, 0)
    )
    y.copy_from(np.full(4096, 2, np.float32))
    with pytest.raises(ArrayError, match="out: it shares a part of its memory with y"):
        gpuopt.spmv(A, x, y, beta=1, out=shifted)
    for operands in ((x, y), (y, x)):
        with pytest.raises(ArrayError, match="out: it shares a part of its memory with"):
            gpuopt.axpy(1.0, *operands, out=shifted)
    assert (gpuopt.spmv(A, x, y, beta=1, out=same).to_numpy() == 3).all()


def test_the_same_queue_each_time(any_device: gpuopt.Device) -> None:
    first, second = gpuopt.pyopencl_queue(any_device), gpuopt.pyopencl_queue(any_device)
    assert first == second
    assert first.context.int_ptr == gpuopt.to_pyopencl(gpuopt.to_device(np.ones(1), any_device)).queue.context.int_ptr


def test_memory_that_cannot_be_shared(any_device: gpuopt.Device) -> None:
    queue = gpuopt.pyopencl_queue(any_device)
    whole = arrays.to_device(queue, np.zeros((4, 6), np.float32))
    with pytest.raises(ArrayError, match="array: its strides are"):
        gpuopt.from_pyopencl(whole.T, any_device)
    with pytest.raises(ArrayError, match="array: it begins 24 bytes into its buffer"):
        gpuopt.from_pyopencl(whole[1], any_device)
    with pytest.raises(ParameterError, match=r"array: ndarray is no pyopencl\.array\.Array"):
        gpuopt.from_pyopencl(np.zeros(3), any_device)
    with pytest.raises(ArrayError, match=r"array: .*no elements"):
        gpuopt.to_pyopencl(gpuopt.to_device(np.zeros((0, 3), np.float32), any_device))
    read_only = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY, 64)
    with pytest.raises(ArrayError, match="may not both read and write"):
        gpuopt.from_pyopencl(arrays.Array(queue, (16,), np.float32, data=read_only), any_device)
    hidden = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.HOST_NO_ACCESS, 64)
    with pytest.raises(ArrayError, match="the host may not both read and write"):
        gpuopt.from_pyopencl(arrays.Array(queue, (16,), np.float32, data=hidden), any_device)
    short = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 32)
    with pytest.raises(ArrayError, match="array: its memory has 32 bytes; give one of at least 64"):
        gpuopt.from_pyopencl(arrays.Array(queue, (16,), np.float32, data=short), any_device)
    other = cl.Context([cl.Device.from_int_ptr(queue.device.int_ptr, retain=True)])
    theirs = arrays.to_device(cl.CommandQueue(other), np.ones(3, np.float32))
    with pytest.raises(ArrayError, match="array: its memory is of another context"):
        gpuopt.from_pyopencl(theirs, any_device)


def test_without_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(UnsupportedError, match="pyopencl: it is not installed"):
        gpuopt.pyopencl_queue()
