"""Arithmetic where arrays lie: operators, axpy, dot, norm, rows, transposes, copies for other libraries."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt.arrays import Transposed

SHAPES = [(0,), (1,), (7,), (1025,), (3, 5), (2, 0, 3), (2, 3, 257)]


def drawn(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request: pytest.FixtureRequest, any_device: gpuopt.Device) -> Any:
    if request.param is np.float64 and not any_device.fp64:
        pytest.skip("no float64 here")
    return request.param


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
def test_two_arrays_give_what_numpy_gives(any_device: gpuopt.Device, dtype: Any, shape: Any, op: Any) -> None:
    x, y = drawn(shape, dtype), drawn(shape, dtype, 1)
    made = op(gpuopt.to_device(x, any_device), gpuopt.to_device(y, any_device))
    assert made.shape == shape
    np.testing.assert_array_equal(made.to_numpy(), op(x, y), strict=True)


@pytest.mark.parametrize("number", [0, 1, -3, 0.1, np.float32(2.5), np.int64(4), math.inf, math.nan])
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
def test_a_number_on_either_side(any_device: gpuopt.Device, dtype: Any, number: Any, op: Any) -> None:
    x = np.append(drawn((70,), dtype), [0, -0.0, np.inf, np.nan]).astype(dtype)
    d, known = gpuopt.to_device(x, any_device), dtype(number)
    with np.errstate(invalid="ignore"):
        pairs = ((op(d, number), op(x, known)), (op(number, d), op(known, x)))
    for made, wanted in pairs:
        np.testing.assert_array_equal(made.to_numpy(), wanted, strict=True)
        if op is operator.mul and number == 1:
            np.testing.assert_array_equal(np.signbit(made.to_numpy()[:-1]), np.signbit(x[:-1]))
    np.testing.assert_array_equal(np.signbit((-d).to_numpy()[:-1]), np.signbit(-x[:-1]))


def test_axpy_rounds_once_and_writes_where_it_is_told(any_device: gpuopt.Device, dtype: Any) -> None:
    x, y = drawn((1000,), dtype), drawn((1000,), dtype, 1)
    d, e = gpuopt.to_device(x, any_device), gpuopt.to_device(y, any_device)
    made = gpuopt.axpy(0.1, d, e)
    exact = np.longdouble(dtype(0.1)) * x + y
    np.testing.assert_allclose(made.to_numpy(), exact, rtol=0, atol=np.spacing(np.abs(exact).max().astype(dtype)) / 2)
    np.testing.assert_array_equal(e.to_numpy(), y)
    assert gpuopt.axpy(0.1, d, e, out=e).shares_memory(e)
    np.testing.assert_array_equal(e.to_numpy(), made.to_numpy())


@pytest.mark.parametrize("shape", SHAPES)
def test_dot_and_norm(any_device: gpuopt.Device, dtype: Any, shape: Any) -> None:
    x, y = drawn(shape, dtype), drawn(shape, dtype, 1)
    d, e = gpuopt.to_device(x, any_device), gpuopt.to_device(y, any_device)
    wanted = math.fsum((x.astype(np.longdouble) * y).ravel())
    assert gpuopt.dot(d, e) == pytest.approx(wanted, rel=1e-12, abs=1e-12 * max(1, x.size))
    assert gpuopt.norm(d) == pytest.approx(math.sqrt(math.fsum((x.astype(np.longdouble) ** 2).ravel())), rel=1e-12)


def test_long_sums_keep_their_digits(any_device: gpuopt.Device) -> None:
    x = np.full(3_000_001, 0.1, np.float32)
    assert gpuopt.dot(*[gpuopt.to_device(x, any_device)] * 2) == pytest.approx(len(x) * float(x[0]) ** 2, rel=1e-10)


Refused = tuple[Callable[[gpuopt.DeviceArray], object], type[Exception], str]
REFUSED: list[Refused] = [
    (lambda d: d + np.ones(3, np.float32), gpuopt.ArrayError, "other: it is a NumPy array.*to_device"),
    (lambda d: np.ones(3, np.float32) * d, gpuopt.ArrayError, "other: it is a NumPy array"),
    (lambda d: d + gpuopt.to_device(np.ones(4, np.float32), d.device), gpuopt.ArrayError, "y: its shape is"),
    (lambda d: d * gpuopt.to_device(np.ones(3), d.device), gpuopt.ArrayError, "y: its dtype is float64"),
    (lambda d: d + 1e39, gpuopt.ParameterError, "float32 ends"),
    (lambda d: d * 10**400, gpuopt.ParameterError, "more than a float64 holds"),
    (lambda d: d + "1", TypeError, "unsupported operand"),
    (lambda d: d + True, TypeError, "unsupported operand"),
    (lambda d: d * 1j, TypeError, "unsupported operand"),
    (lambda d: d + None, TypeError, "unsupported operand"),
    (lambda d: gpuopt.axpy(1.0, d, np.ones(3, np.float32)), gpuopt.ArrayError, "y: it is an array"),
    (lambda d: gpuopt.axpy(1.0, d, d, out=gpuopt.to_device(np.ones(2, np.float32))), gpuopt.ArrayError, "out: "),
    (lambda d: gpuopt.norm(gpuopt.to_device(np.ones(3, np.int32), d.device)), gpuopt.ArrayError, "x: its dtype is int"),
    (lambda d: d[3], gpuopt.ArrayError, "row 3 of 3"),
    (lambda d: d[1.0:2.0], gpuopt.ArrayError, "index: it is no slice of whole rows"),
    (lambda d: d["a":], TypeError, "index: it is no slice of whole rows"),
    (lambda d: d[::0], gpuopt.ArrayError, "index: it is no slice of whole rows"),
    (lambda d: d[-4], IndexError, "row -4 of 3"),
    (lambda d: d[::2], gpuopt.ArrayError, "index: .* step is 2"),
    (lambda d: d[0, 0], gpuopt.ArrayError, "index: .* not by tuple"),
    (lambda d: d[None], gpuopt.ArrayError, "index: .* not by NoneType"),
    (lambda d: d[True], gpuopt.ArrayError, "index: .* not by bool"),
    (lambda d: d == d[:3], gpuopt.ArrayError, "other: .* not compared; use np.array_equal"),
    (lambda d: d != 1.0, gpuopt.ArrayError, "other: .* not compared"),
    (lambda d: np.ones(3, np.float32) == d, gpuopt.ArrayError, "other: .* not compared"),
    (lambda d: 1.0 in d, gpuopt.ArrayError, "other: .* not compared"),
    (bool, gpuopt.ArrayError, "self: .* ambiguous"),
]


@pytest.mark.parametrize("case", REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_says_why(device: gpuopt.Device, case: Refused) -> None:
    call, error, words = case
    with pytest.raises(error, match=words):
        call(gpuopt.to_device(np.ones(3, np.float32), device))


def test_arrays_are_known_by_who_they_are(device: gpuopt.Device) -> None:
    a, b = (gpuopt.to_device(np.ones(3, np.float32), device) for _ in range(2))
    assert a in [a, b]
    assert len({a, b, a}) == 2
    assert a != "a"
    assert a is not None
    assert np.array_equal(a, b)


def test_rows_are_copies(any_device: gpuopt.Device) -> None:
    x = np.arange(60, dtype=np.int16).reshape(5, 4, 3)
    d = gpuopt.to_device(x, any_device)
    for index in (0, 4, -1, np.int64(2), slice(1, 4), slice(None), slice(4, 1), slice(-2, None), slice(3, 99)):
        np.testing.assert_array_equal(d[index].to_numpy(), x[index], strict=True)
    row = d[1]
    row.fill_bytes(0)
    np.testing.assert_array_equal(d.to_numpy(), x)
    assert len(list(d)) == 5
    assert d[0][1][2].to_numpy() == x[0, 1, 2]
    with pytest.raises(IndexError, match="without dimensions"):
        d[0][1][2][0]


def test_transposes_are_for_products(any_device: gpuopt.Device) -> None:
    a, b, v = drawn((5, 7)), drawn((5, 6), seed=1), drawn((5,), seed=2)
    A, B, V = (gpuopt.to_device(each, any_device) for each in (a, b, v))
    for made, wanted in (
        (A.T @ B, a.T @ b),
        (A.T @ V, a.T @ v),
        (A @ A.T, a @ a.T),
        (A.T @ gpuopt.to_device(drawn((9, 5), seed=3), any_device).T, a.T @ drawn((9, 5), seed=3).T),
    ):
        assert isinstance(made, gpuopt.DeviceArray)
        np.testing.assert_allclose(made.to_numpy(), wanted, rtol=1e-5, atol=1e-5)
    assert (A.T.shape, A.T.ndim, A.T.dtype, A.T.device.index) == ((7, 5), 2, np.float32, any_device.index)
    assert A.T.T.shares_memory(A)
    assert V.T.shares_memory(V)
    assert repr(A.T).endswith(".T")
    for copied in (A.T.to_numpy(), np.asarray(A.T)):
        np.testing.assert_array_equal(copied, a.T)
    assert isinstance(A.T, Transposed)
    with pytest.raises(AttributeError, match="of one matrix"):
        A.T.T = B
    with pytest.raises(gpuopt.ArrayError, match="T: its shape"):
        _ = gpuopt.to_device(drawn((2, 2, 2)), any_device).T
    for mixed in (lambda: A.T @ b, lambda: a @ A.T):
        with pytest.raises(gpuopt.ArrayError, match="other: it is a NumPy array"):
            mixed()
    for wrong in (lambda: A.T @ 3, lambda: 3 @ A.T, lambda: np.add(A.T, 1)):
        with pytest.raises(TypeError):
            wrong()


def test_transposes_are_copied_as_their_matrices_are(any_device: gpuopt.Device) -> None:
    A = gpuopt.to_device(drawn((2, 3)), any_device)
    turned = copy.copy(A.T)
    assert isinstance(turned, Transposed)
    assert turned.T is A
    for whole in (copy.deepcopy, pickle.dumps):
        for one in (A, A.T):
            with pytest.raises(TypeError, match=r"DeviceArray: .* neither copied nor pickled"):
                whole(one)


def test_other_libraries_get_a_copy(any_device: gpuopt.Device) -> None:
    x = drawn((3, 4))
    d = gpuopt.to_device(x, any_device)
    made = np.from_dlpack(d)
    np.testing.assert_array_equal(made, x)
    d.fill_bytes(0)
    np.testing.assert_array_equal(made, x)
    with pytest.raises(BufferError, match="copy=False"):
        d.__dlpack__(copy=False)
    assert d.__dlpack_device__() == (1, 0)


def test_arrays_of_two_devices_are_refused() -> None:
    devices = gpuopt.devices()
    if len(devices) < 2:
        pytest.skip("one device here")
    one, other = (gpuopt.to_device(np.ones(3, np.float32), each) for each in devices[:2])
    with pytest.raises(gpuopt.ArrayError, match="bring both to one device"):
        one + other


def test_arguments_of_dlpack_are_looked_at(any_device: gpuopt.Device) -> None:
    x = drawn((3, 4))
    d = gpuopt.to_device(x, any_device)
    for given in (
        {"max_version": (1, 0)},
        {"max_version": (0, 8)},
        {"max_version": (2**70, 0)},
        {"max_version": (1, 2**31)},
        {"max_version": (-(2**70), 2**70)},
        {"max_version": (np.int64(1), np.uint8(0))},
        {"dl_device": (1, 0)},
        {"copy": True},
        {"copy": None},
    ):
        assert d.__dlpack__(**given) is not None
    for name, value in (("copy", False), ("dl_device", (2, 0)), ("dl_device", (1, 1)), ("stream", 1), ("stream", -1)):
        with pytest.raises(BufferError, match=f"^{name}: "):
            d.__dlpack__(**{name: value})
    for name, value in (
        *(("copy", "no"), ("copy", 1), ("stream", "legacy"), ("stream", 1.5), ("stream", True)),
        *(
            ("dl_device", 1),
            ("dl_device", (1, "cpu")),
            ("dl_device", (1, 0, 0)),
            ("max_version", 1),
            ("max_version", "1.0"),
        ),
    ):
        with pytest.raises(gpuopt.ParameterError, match=f"^{name}: "):
            d.__dlpack__(**{name: value})


def test_what_an_array_takes_over_is_named_by_what_is_wrong_with_it(any_device: gpuopt.Device) -> None:
    d = gpuopt.to_device(drawn((3, 4)), any_device)
    wanted = r"give a NumPy array of dtype float32 and shape \(3, 4\)"
    for values, told in (
        (np.ones((3, 4)), "its dtype is float64"),
        (np.ones((4, 3), np.float32), r"its shape is \(4, 3\)"),
        (d, "it is a DeviceArray"),
    ):
        with pytest.raises(gpuopt.ArrayError, match=f"values: {told}; {wanted}"):
            d.copy_from(values)  # type: ignore[arg-type]
    with pytest.raises(gpuopt.ArrayError, match="values: masks of masked arrays"):
        d.copy_from(np.ma.masked_array(drawn((3, 4)), mask=np.ones((3, 4), bool)))


@pytest.mark.parametrize("dtype", ["bool", "longdouble", ">f4"])
def test_pinned_memory_of_a_dtype_that_devices_lack(any_device: gpuopt.Device, dtype: str) -> None:
    with pytest.raises(gpuopt.ArrayError, match=r"^dtype: .*; give ") as refused:
        gpuopt.pinned_empty(3, dtype, any_device)
    assert "astype" not in str(refused.value)


def test_rows_of_more_digits_than_python_prints() -> None:
    x = gpuopt.to_device(np.ones(3, np.float32))
    for index in (10**5000, -(10**5000)):
        with pytest.raises(gpuopt.ArrayError, match="index: row of 16610 bits of 3"):
            x[index]


def test_an_array_without_rows_says_so() -> None:
    for shape in ((0,), (0, 3)):
        x = gpuopt.to_device(np.zeros(shape, np.float32))
        with pytest.raises(IndexError, match=r"^index: row 0 of none; the array's first length is 0"):
            x[0]


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="long floats are float64 here")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_beyond_float64_is_refused(dtype: type) -> None:
    x, beyond = gpuopt.to_device(np.ones(3, dtype)), np.longdouble("1e400")
    told = "it is more than a float64 holds"
    for name, call in (
        ("other", lambda: x * beyond),
        ("other", lambda: beyond * x),
        ("other", lambda: x - beyond),
        ("other", lambda: x * Fraction(10**400)),
        ("a", lambda: gpuopt.axpy(beyond, x, x)),
        ("a", lambda: gpuopt.axpy(Fraction(10**400), x, x)),  # type: ignore[arg-type]
    ):
        with pytest.raises(gpuopt.ParameterError, match=f"^{name}: {told}"):
            call()
    np.testing.assert_array_equal((x * np.longdouble("inf")).to_numpy(), np.inf)
    np.testing.assert_array_equal((x * np.longdouble(1.5)).to_numpy(), 1.5)
