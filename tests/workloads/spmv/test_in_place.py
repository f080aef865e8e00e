"""A SciPy matrix that is multiplied once: a CPU reads it where it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from gpuopt import _core
from gpuopt.configuration import complete
from workloads.spmv.cases import SHAPES, matrix_of
from workloads.spmv.small import laplacian, vector


def placed(data: np.ndarray, begin: int) -> np.ndarray:
    """The same values, beginning so many elements behind an aligned address, NaN around them."""
    room = np.full(data.size + 64 + begin, np.nan, data.dtype)
    start = -room.ctypes.data % 256 // data.itemsize + begin
    made = room[start : start + data.size].reshape(data.shape)
    made[...] = data
    return made


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_matrices_are_read_where_they_are(device: gpuopt.Device, name: str, transpose: bool) -> None:
    for number, dtype in enumerate(("float32", "float64")):
        data, offsets, shape = matrix_of(name, dtype)
        data = placed(data, 3 * number + len(name))
        given = data.copy()
        A = sparse.dia_array((data, offsets), shape=shape)
        x, y = vector(shape[not transpose], dtype=dtype), vector(shape[transpose], dtype=dtype, seed=5)
        dense = A.toarray().astype(
            float
        )  # SciPy's own transpose is wrong where data are longer than the matrix is wide
        wanted = (dense.T if transpose else dense) @ x.astype(float)
        eps = 4 * (len(offsets) + 2) * np.finfo(dtype).eps
        plain = gpuopt.spmv(A, x, transpose=transpose, device=device)
        np.testing.assert_allclose(plain, wanted, atol=eps, rtol=0)
        columns = gpuopt.spmv(A, x[:, np.newaxis], y[:, np.newaxis], beta=-2, transpose=transpose, device=device)
        np.testing.assert_allclose(columns[:, 0], wanted - 2 * y, atol=eps, rtol=0)
        np.testing.assert_array_equal(data, given)


def test_a_matrix_that_changed_is_read_again(device: gpuopt.Device) -> None:
    A, x = laplacian(), vector(200)
    before = gpuopt.spmv(A, x, device=device)
    A.data *= 2
    np.testing.assert_array_equal(gpuopt.spmv(A, x, device=device), 2 * before)


def test_nothing_is_copied_on_a_cpu(device: gpuopt.Device) -> None:
    A, x = laplacian(), vector(200)
    handle = _core.DiaMatrix(A.data, A.offsets, A.shape, device, in_place=True)
    levels = complete("spmv", gpuopt.Configuration("unpacked")).parameters
    product = _core.HostProduct(handle, 1, 1.0, 0.0, "unpacked", levels)
    before = product.multiply(handle, x, None, None)
    A.data *= 2
    after = product.multiply(handle, x, None, None)
    np.testing.assert_array_equal(after, 2 * before if device.type == "cpu" else before)


def test_a_result_in_the_matrix_itself(device: gpuopt.Device) -> None:
    data = placed(np.random.default_rng(0).random((2, 4096), np.float32), 0)
    A, x = sparse.dia_array((data, [0, -1]), shape=(4096, 4096)), vector(4096)
    wanted = A @ x
    found = gpuopt.spmv(A, x, out=A.data[1], device=device)
    assert np.shares_memory(found, A.data)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_matrix_larger_than_a_buffer_may_be(device: gpuopt.Device) -> None:
    most = device.max_alloc_bytes
    if most > 2**36:
        pytest.skip("no array is so large")
    data = np.zeros((1, most // 4 + 1024), np.float32)  # pages that nobody touches
    with pytest.raises(gpuopt.DeviceMemoryError, match="the matrix"):
        gpuopt.spmv(sparse.dia_array((data, [0]), shape=(10, 10)), vector(10), device=device)


def test_packed_matrices_go_back_to_scipys_form(device: gpuopt.Device) -> None:
    for name in SHAPES:
        data, offsets, shape = matrix_of(name, "float32")
        M, x = gpuopt.DiaMatrix((data, offsets), shape, device=device), vector(shape[1])
        wanted = sparse.dia_array((data, offsets), shape=shape) @ x
        for variant in ("sliced", "unpacked", "basic", "aligned", "unpacked"):  # two products are kept
            np.testing.assert_allclose(gpuopt.spmv(M, x, variant=variant), wanted, atol=1e-4)
            np.testing.assert_allclose(M.toarray(), sparse.dia_array((data, offsets), shape=shape).toarray())
