"""The matrix product as its users call it: kinds of arrays, strides, batches, precisions, and what it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, Configuration, ParameterError, UnsupportedError, _core
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.operation import prepare_gemm
from products import PLAIN, close, matrix

# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_plain_calls(device: gpuopt.Device, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    a, b, c = matrix(33, 21, dtype=dtype), matrix(21, 47, dtype=dtype), matrix(33, 47, dtype=dtype)
    result = gpuopt.gemm(a, b, device=device)
    close(result, a, b)
    assert result.flags.c_contiguous
    kept = c.copy()
    close(gpuopt.gemm(a, b, c, alpha=-2, beta=3, device=device), a, b, c, alpha=-2, beta=3)
    np.testing.assert_array_equal(c, kept)


def test_device_arrays_give_device_arrays(device: gpuopt.Device) -> None:
    host = [matrix(12, 30), matrix(30, 9), matrix(12, 9)]
    a, b, c = (gpuopt.to_device(array, device) for array in host)
    result = gpuopt.gemm(a, b, c, alpha=0.5, beta=-1, variant=PLAIN)
    assert isinstance(result, gpuopt.DeviceArray)
    assert result.device.index == device.index
    close(result, *host, alpha=0.5, beta=-1)
    np.testing.assert_array_equal(c.to_numpy(), host[2])
    out = _core.empty((12, 9), np.dtype(np.float32), device, True)
    assert gpuopt.gemm(a, b, out=out, variant=PLAIN) is out
    close(out, *host[:2])
    assert out.guards_intact()
    plan = prepare_gemm(a, b, out, PLAIN, C=c, beta=2)
    plan.run()
    close(out, *host, beta=2)


@pytest.mark.parametrize(("transpose_a", "transpose_b"), list(itertools.product([False, True], repeat=2)))
def test_transposes(device: gpuopt.Device, transpose_a: bool, transpose_b: bool) -> None:
    a = matrix(17, 40) if transpose_a else matrix(40, 17)
    b = matrix(23, 17) if transpose_b else matrix(17, 23)
    transposes = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    close(gpuopt.gemm(a, b, variant=PLAIN, device=device, **transposes), a, b, **transposes)


def test_a_matrix_by_itself(device: gpuopt.Device) -> None:
    a = matrix(25, 25)
    close(gpuopt.gemm(a, a, variant=PLAIN, device=device), a, a)
    close(gpuopt.gemm(a[:9], a[:9], transpose_b=True, variant=PLAIN, device=device), a[:9], a[:9], transpose_b=True)


def views() -> Iterator[tuple[str, np.ndarray]]:
    """Twenty rows of thirty that stand some way apart."""
    big = matrix(60, 90)
    yield "some columns", big[:20, 5:35]
    yield "every other row", big[1:41:2, :30]
    yield "backwards", big[19::-1, 60:]
    yield "one row again and again", np.broadcast_to(big[3, :30], (20, 30))
    yield "rows that overlap", np.lib.stride_tricks.as_strided(big, (20, 30), (4, 4))
    yield "a field of structures", matrix(20, 31).view([("x", "f4", 30), ("y", "f4")])["x"].reshape(20, 30)


@pytest.mark.parametrize("view", [pytest.param(view, id=name) for name, view in views()])
def test_rows_that_stand_apart(device: gpuopt.Device, view: np.ndarray) -> None:
    other, addend = matrix(30, 20), matrix(20, 20)
    close(gpuopt.gemm(view, other, variant=PLAIN, device=device), view, other)
    close(gpuopt.gemm(other, view, variant=PLAIN, device=device), other, view)
    whole = gpuopt.gemm(other, addend, view.T.copy(), beta=1, variant=PLAIN, device=device)
    same = gpuopt.gemm(addend, other, view, beta=1, transpose_a=True, transpose_b=True, variant=PLAIN, device=device)
    np.testing.assert_allclose(same, whole.T, atol=1e-5)


def test_columns_that_are_one_element_long(device: gpuopt.Device) -> None:
    big = matrix(40, 50)
    close(gpuopt.gemm(big[:, 3:4], big[:1, :], variant=PLAIN, device=device), big[:, 3:4], big[:1, :])
    row = big[5:6, :33]
    close(gpuopt.gemm(big[:33, :20].T.copy(), row.T, variant=PLAIN, device=device), big[:33, :20].T, row.T)


@pytest.mark.parametrize("place", ["columns", "rows", "backwards"])
def test_out_whose_rows_stand_apart(device: gpuopt.Device, place: str) -> None:
    a, b, big = matrix(14, 6), matrix(6, 11), np.full((40, 30), 7, np.float32)
    out = {"columns": big[3:17, 4:15], "rows": big[2:30:2, :11], "backwards": big[13::-1, 19:]}[place]
    assert gpuopt.gemm(a, b, out=out, variant=PLAIN, device=device) is out
    close(np.ascontiguousarray(out), a, b)
    assert np.count_nonzero(big != 7) == out.size


def test_aligned_arrays_are_used_as_they_lie(device: gpuopt.Device) -> None:
    """Results of one product are operands of the next, on a CPU without a copy; a wrong one would show."""
    a, b = matrix(64, 48), matrix(48, 80)
    once = gpuopt.gemm(a, b, variant=PLAIN, device=device)
    close(gpuopt.gemm(once, b, transpose_b=True, variant=PLAIN, device=device), once, b, transpose_b=True)
    close(gpuopt.gemm(once, once, transpose_b=True, variant=PLAIN, device=device), once, once, transpose_b=True)
    out = gpuopt.gemm(a, b, variant=PLAIN, device=device)
    gpuopt.gemm(a, b, once, alpha=2, beta=-1, out=out, variant=PLAIN, device=device)
    close(out, a, b, once, alpha=2, beta=-1)


@pytest.mark.parametrize("skip", [1, 4, 12, 128])
def test_arrays_at_any_address(device: gpuopt.Device, skip: int) -> None:
    """Of bytes that hold other things too, before and behind; a result there leaves them as they are."""

    def at(values: np.ndarray) -> np.ndarray:
        room = np.full(values.nbytes + 8192, 0xA5, np.uint8)
        start = -room.ctypes.data % 4096 + skip
        held = room[start : start + values.nbytes].view(np.float32).reshape(values.shape)
        held[...] = values
        return held

    a, b, c, out = (at(matrix(*shape)) for shape in ((37, 29), (29, 53), (37, 53), (37, 53)))
    for variant in (PLAIN, None):
        gpuopt.gemm(a, b, c, beta=-1, out=out, variant=variant, device=device)
        close(out, a, b, c, beta=-1)
        assert np.count_nonzero(out.base != 0xA5) <= out.nbytes
        assert (out.base[: -out.base.ctypes.data % 4096 + skip] == 0xA5).all()


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("of_a", "of_b", "of_c"), [((4,), (4,), (4,)), ((), (4,), ()), ((4,), (), ()), ((4,), (), (4,))]
)
def test_batches(device: gpuopt.Device, of_a: tuple[int, ...], of_b: tuple[int, ...], of_c: tuple[int, ...]) -> None:
    a, b, c = matrix(*of_a, 9, 15), matrix(*of_b, 15, 21), matrix(*of_c, 9, 21)
    close(gpuopt.gemm(a, b, c, alpha=3, beta=-2, variant=PLAIN, device=device), a, b, c, alpha=3, beta=-2)
    arrays = [gpuopt.to_device(array, device) for array in (a, b)]
    close(gpuopt.gemm(*arrays, variant=PLAIN), a, b)


def test_batches_that_stand_apart(device: gpuopt.Device) -> None:
    big = matrix(10, 40, 50)
    for a in (big[::3, :8, :12], big[::-2, 8:0:-1, :12], big[:8, :5, :12].swapaxes(0, 1), big[2:3, :7, :12]):
        b = matrix(len(a), 12, 6)
        close(gpuopt.gemm(a, b, variant=PLAIN, device=device), a, b)
    a, b, room = matrix(3, 8, 12), matrix(12, 6), np.zeros((8, 4, 9), np.float32)
    out = room.swapaxes(0, 1)[:3, :, 2:8]
    assert gpuopt.gemm(a, b, out=out, variant=PLAIN, device=device) is out
    close(np.ascontiguousarray(out), a, b)
    assert np.count_nonzero(room) == out.size


def test_transposed_batches(device: gpuopt.Device) -> None:
    a, b = matrix(3, 14, 5), matrix(3, 8, 14)
    both = {"transpose_a": True, "transpose_b": True}
    close(gpuopt.gemm(a, b, variant=PLAIN, device=device, **both), a, b, **both)


# ---------------------------------------------------------------- nothing to add up


ZEROS = [
    *(((0, 3), (3, 4)), ((3, 0), (0, 4)), ((3, 4), (4, 0)), ((0, 0), (0, 0)), ((0, 0), (0, 3))),
    *(((0, 2, 3), (0, 3, 4)), ((2, 3, 0), (2, 0, 4)), ((0, 2, 3), (3, 4)), ((2, 3), (0, 3, 4))),
]


@pytest.mark.parametrize(("of_a", "of_b"), ZEROS, ids=str)
def test_lengths_of_zero(device: gpuopt.Device, of_a: tuple[int, ...], of_b: tuple[int, ...]) -> None:
    a, b = np.ones(of_a, np.float32), np.ones(of_b, np.float32)
    expected = a @ b
    for variant in ("naive", "constant", "tile", "multiple_output"):
        np.testing.assert_array_equal(gpuopt.gemm(a, b, variant=variant, device=device), expected)
    c = np.full(expected.shape, 2, np.float32)
    out = np.full(expected.shape, np.nan, np.float32)
    assert gpuopt.gemm(a, b, c, beta=1.5, out=out, device=device) is out
    np.testing.assert_array_equal(out, expected + 1.5 * c)
    arrays = [gpuopt.to_device(array, device) for array in (a, b)]
    np.testing.assert_array_equal(gpuopt.gemm(*arrays).to_numpy(), expected)


def test_nan_of_an_addend_that_is_not_asked_for(device: gpuopt.Device) -> None:
    a, b, c = matrix(20, 8), matrix(8, 33), np.full((20, 33), np.nan, np.float32)
    for variant in ("naive", "unrolled", "vectorized", "tile", "constant"):
        close(gpuopt.gemm(a, b, c, beta=0, variant=variant, device=device), a, b)
    assert np.isnan(gpuopt.gemm(a, b, c, beta=1, device=device)).all()
    nothing = np.ones((20, 0), np.float32), np.ones((0, 33), np.float32)
    np.testing.assert_array_equal(gpuopt.gemm(*nothing, c, device=device), np.zeros_like(c))


def test_operands_that_are_not_asked_for(device: gpuopt.Device) -> None:
    """As in BLAS: with alpha 0 A and B are not read."""
    a, b, c = np.full((5, 6), np.nan, np.float32), np.full((6, 7), np.inf, np.float32), matrix(5, 7)
    np.testing.assert_array_equal(gpuopt.gemm(a, b, alpha=0, device=device), np.zeros((5, 7)))
    np.testing.assert_array_equal(gpuopt.gemm(a, b, c, alpha=0, beta=-2, device=device), -2 * c)


# ---------------------------------------------------------------- what is refused

A, B, C = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32), np.ones((3, 5), np.float32)
REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((A, A), {}, r"B: its shape is \(3, 4\), A's is \(3, 4\): 4 columns meet 3 rows; give a B of 4 rows"),
    ((A, B), {"transpose_b": True}, r"B: .*\(4, 5\), transposed, .*: 4 columns meet 5 rows; give a B of 4 columns"),
    ((A, B), {"transpose_a": True}, r"A's is \(3, 4\), transposed: 3 columns meet 4 rows"),
    ((A[0], B), {}, r"A: its shape is \(4,\); give a matrix"),
    ((A, B[None, None]), {}, r"B: its shape is \(1, 1, 4, 5\); give a matrix"),
    ((np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32)), {}, "B: it has 3 matrices, A has 2"),
    ((A, B, C.T.copy()), {"beta": 1}, r"C: its shape is \(5, 3\), the product's is \(3, 5\)"),
    ((A, B, C[None]), {}, r"C: its shape is \(1, 3, 5\)"),
    ((A, B, np.ones((), np.float32)), {}, r"C: its shape is \(\)"),
    ((A, B), {"beta": 2}, "C: beta is not 0 and there is no addend; give C, or leave beta at 0"),
    ((A, B.astype(np.float64)), {}, r"B: its dtype is float64, A is float32; use B\.astype\(np\.float32\)"),
    ((A, B, C.astype(np.float64)), {}, "C: its dtype is float64, A is float32"),
    ((A.astype(int), B.astype(int)), {}, "A: its dtype is int64; use float32 or float64"),
    ((A.astype(np.float16), B.astype(np.float16)), {}, "A: its dtype is float16; use float32 or float64"),
    ((A.astype(">f4"), B), {}, "A: its byte order"),
    (([[1.0]], B), {}, "A: it is a list; give an array or a DeviceArray"),
    ((A, None), {}, "B: it is None; give an array or a DeviceArray"),
    ((np.ones((4, 3), np.float32).T, B), {}, r"A: its rows are not contiguous; pass A\.T and transpose_a=True"),
    ((np.asfortranarray(A), B), {}, r"A: its rows are not contiguous; pass A\.T and transpose_a=True"),
    ((A, np.asfortranarray(B)), {}, r"B: its rows are not contiguous; pass B\.T and transpose_b=True"),
    ((np.asfortranarray(A.T), B), {"transpose_a": True}, r"pass A\.T and transpose_a=False"),
    ((np.ones((2, 4, 3), np.float32).swapaxes(1, 2), B), {}, r"pass A\.swapaxes\(-2, -1\) and transpose_a=True"),
    ((np.ones((3, 8), np.float32)[:, ::2], B), {}, r"A: its rows are not contiguous; use np\.ascontiguousarray\(A\)"),
    ((A, B, np.asfortranarray(C)), {}, r"C: its rows are not contiguous; use np\.ascontiguousarray\(C\)"),
    ((A, B), {"out": np.empty((5, 3), np.float32)}, r"out: its shape is \(5, 3\), the result's is \(3, 5\)"),
    ((A, B), {"out": np.empty((3, 5))}, "out: its dtype is float64, the result is float32"),
    ((A, B), {"out": np.empty((3, 10), np.float32)[:, ::2]}, "out: its rows are not contiguous"),
    (
        (A, B),
        {"out": np.lib.stride_tricks.as_strided(np.empty(9, np.float32), (3, 5), (4, 4))},
        "out: its rows overlap",
    ),
    ((A, B), {"out": np.broadcast_to(C[0], (3, 5))}, "out: it is read-only"),
    ((A, B), {"out": [[0.0]]}, "out: it is a list; give an array or a DeviceArray"),
]


@pytest.mark.parametrize(("arrays", "options", "words"), REFUSED)
def test_bad_arrays_are_named(
    any_device: gpuopt.Device, arrays: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArrayError, match=words):
        gpuopt.gemm(*arrays, device=any_device, **options)


def test_complex_numbers_are_refused(any_device: gpuopt.Device) -> None:
    with pytest.raises(UnsupportedError, match="A: complex numbers"):
        gpuopt.gemm(A.astype(complex), B.astype(complex), device=any_device)


def test_kinds_do_not_mix(any_device: gpuopt.Device) -> None:
    a, b = gpuopt.to_device(A, any_device), gpuopt.to_device(B, any_device)
    with pytest.raises(ArrayError, match="A and B are of different kinds"):
        gpuopt.gemm(a, B)  # type: ignore[type-var]
    with pytest.raises(ArrayError, match="A and C are of different kinds"):
        gpuopt.gemm(a, b, C)  # type: ignore[type-var]
    with pytest.raises(ArrayError, match="out: the inputs are DeviceArrays"):
        gpuopt.gemm(a, b, out=C.copy())  # type: ignore[type-var]
    with pytest.raises(ArrayError, match="out: the inputs are NumPy arrays"):
        gpuopt.gemm(A, B, out=gpuopt.to_device(C, any_device), device=any_device)  # type: ignore[type-var]


def test_arrays_of_two_devices_do_not_mix() -> None:
    devices = gpuopt.devices()
    if len(devices) < 2:
        pytest.skip("needs two devices")
    a, b = gpuopt.to_device(A, devices[0]), gpuopt.to_device(B, devices[1])
    with pytest.raises(ArrayError, match=r"B: it lies on .*, the operation runs on"):
        gpuopt.gemm(a, b)
    with pytest.raises(ArrayError, match="A: it lies on"):
        gpuopt.gemm(a, gpuopt.to_device(B, devices[0]), device=devices[1])


def test_out_shares_no_memory_with_operands(any_device: gpuopt.Device) -> None:
    big = matrix(30, 60)
    square = big[:, :30]
    for arrays, out in [
        ((square, big[:, 30:]), square),
        ((square, big[:, 30:]), big[:, 30:]),
        ((matrix(30, 30), matrix(30, 30), square), big[:, 15:45]),
        ((square, matrix(30, 30)), big[::-1, 29:59]),
    ]:
        with pytest.raises(ArrayError, match=r"out: it shares memory with [ABC]; give an array of its own"):
            gpuopt.gemm(*arrays, out=out, variant=PLAIN, device=any_device)
    # Neighbours in one array are apart.
    a, b = big[:, :20].copy(), matrix(20, 30)
    close(np.ascontiguousarray(gpuopt.gemm(big[:, :20], b, out=big[:, 20:50], variant=PLAIN, device=any_device)), a, b)
    on_device = gpuopt.to_device(matrix(8, 8), any_device)
    other = gpuopt.to_device(matrix(8, 8), any_device)
    for arrays in ((on_device, other), (other, on_device), (other, other, on_device)):
        with pytest.raises(ArrayError, match="out: it shares memory with"):
            gpuopt.gemm(*arrays, out=on_device, variant=PLAIN)  # type: ignore[type-var]


def test_lengths_at_which_kernels_would_lose_count_are_refused() -> None:
    def sizes(rows: int) -> tuple[Any, ...]:
        column = np.broadcast_to(np.float32(1), (rows, 1))
        return _core.gemm_sizes(column, np.ones((1, 1), np.float32), None, 0.0, False, False)

    assert sizes(2**31 - 4096)[2] == 2**31 - 4096
    with pytest.raises(ArrayError, match=r"A: its shape is .*; rows and columns are at most 2\^31 - 4096 each"):
        sizes(2**31 - 4095)


def test_bad_configurations_are_named(any_device: gpuopt.Device) -> None:
    with pytest.raises(ParameterError, match="gemm has none called 'fastest'"):
        gpuopt.gemm(A, B, variant="fastest", device=any_device)
    with pytest.raises(ParameterError, match="LOCAL_X: 5 is not one of its levels"):
        gpuopt.gemm(A, B, variant=Configuration("naive", LOCAL_X=5), device=any_device)
    with pytest.raises(UnsupportedError, match="X must be a multiple of Y"):
        gpuopt.gemm(A, B, variant=Configuration("tile", X=16, Y=32), device=any_device)


# ---------------------------------------------------------------- the oracle


def test_the_oracle_is_what_loops_compute() -> None:
    a, b, c = matrix(2, 4, 3, dtype="float64"), matrix(5, 3, dtype="float64"), matrix(2, 4, 5, dtype="float64")
    expected, sums = 2.5 * c, 2.5 * np.abs(c)
    for batch, i, j, k in np.ndindex(2, 4, 5, 3):
        expected[batch, i, j] += -3 * a[batch, i, k] * b[j, k]
        sums[batch, i, j] += 3 * abs(a[batch, i, k] * b[j, k])
    numbers = {"alpha": -3, "beta": 2.5, "transpose_b": True}
    np.testing.assert_allclose(oracle.product(a, b, c, **numbers), expected, rtol=1e-13)
    np.testing.assert_allclose(oracle.magnitude(a, b, c, **numbers), sums, rtol=1e-13)
    with pytest.raises(ValueError, match="no c to add"):
        oracle.product(a, b, beta=1, transpose_b=True)
    assert oracle.frobenius_error([[3.0, 4.0]], [[3.0, 5.0]]) == pytest.approx(1 / 34**0.5)


def test_distributions_are_what_they_say() -> None:
    with pytest.raises(ValueError, match="must be one of uniform"):
        oracle.operands("flat", 2, 2, 2)
    drawn = {
        "uniform": lambda a, spread: -1 <= a.min() < -0.9 < 0.9 < a.max() <= 1,
        "positive": lambda a, spread: 0 <= a.min() < 0.1 < 0.9 < a.max() <= 1,
        "normal": lambda a, spread: abs(a.mean()) < 0.1 and 0.9 < a.std() < 1.1 and np.abs(a).max() > 2.5,
        "spread15": lambda a, spread: 25 < spread < 31,
        "spread100": lambda a, spread: 190 < spread < 201,
        "scaled": lambda a, spread: spread > 60,
        "special": lambda a, spread: np.isnan(a).any() and np.isposinf(a).any() and np.isneginf(a).any(),
    }
    assert drawn.keys() == oracle.DISTRIBUTIONS.keys()
    for name in oracle.DISTRIBUTIONS:
        a, b = oracle.operands(name, 40, 30, 50, seed=1)
        assert (a.shape, b.shape, a.dtype) == ((40, 50), (50, 30), np.float32)
        again = oracle.operands(name, 40, 30, 50, seed=1)
        np.testing.assert_array_equal(a, again[0])
        exponents = np.log2(np.abs(a[np.isfinite(a) & (a != 0)], dtype=np.float64))
        spread = exponents.max() - exponents.min()
        assert drawn[name](a, spread), name
        assert (np.abs(oracle.product(a, b)[np.isfinite(oracle.product(a, b))]) < 2.0**127).all()
    assert not np.isfinite(oracle.operands("special", 40, 30, 50)[0]).all()
