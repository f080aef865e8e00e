"""A DiaMatrix as its users know it from SciPy: each answer is that of ``scipy.sparse.dia_array``, its dtype too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from gpuopt import ArrayError, ParameterError, UnsupportedError

# Shape, offsets (in no order, some outside the matrix) and the length of data.
LAYOUTS = {
    "square": ((40, 40), [0, 3, -1], 40),
    "wide": ((30, 47), [20, 0, -29, 46, -30, 60], 47),
    "tall": ((47, 30), [-20, 0, 5, 30, -46, -90], 30),
    "narrow data": ((25, 40), [-3, 10, 0, 39, 22], 28),
    "long data": ((25, 20), [0, 1, -24], 64),
    "no diagonal": ((7, 5), [], 5),
    "none inside": ((7, 5), [9, -9], 5),
    "no rows": ((0, 5), [0, 1], 5),
    "no columns": ((5, 0), [0, -1], 0),
}


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest, device: gpuopt.Device) -> np.dtype[Any]:
    if request.param == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    return np.dtype(request.param)


@pytest.fixture(params=LAYOUTS)
def theirs(request: pytest.FixtureRequest, dtype: np.dtype[Any]) -> sparse.dia_array:
    shape, offsets, length = LAYOUTS[request.param]
    data = np.random.default_rng(5).uniform(-1, 1, (len(offsets), length)).astype(dtype)
    return sparse.dia_array((data, np.array(offsets, dtype=np.int64)), shape=shape)


@pytest.fixture
def ours(theirs: sparse.dia_array, device: gpuopt.Device) -> gpuopt.DiaMatrix:
    return gpuopt.DiaMatrix(theirs, device=device)


def same(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array) -> None:
    """Both are one matrix, bit for bit."""
    assert (ours.shape, ours.dtype, ours.nnz, ours.ndim) == (theirs.shape, theirs.dtype, theirs.nnz, theirs.ndim)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray(), strict=True)


def test_what_a_matrix_is(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array) -> None:
    """SciPy 1.17's own transpose of diagonals longer than the matrix is wrong, and counts what short ones leave out."""
    same(ours, theirs)
    for turned in (ours.T, ours.transpose(), ours.transpose((1, 0))):
        np.testing.assert_array_equal(turned.toarray(), theirs.toarray().T, strict=True)
        assert turned.nnz == theirs.nnz
        same(turned.T, theirs)


def test_diagonals(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array) -> None:
    np.testing.assert_array_equal(ours.diagonal(), theirs.diagonal(), strict=True)
    for k in (-100, -47, -46, -29, -20, -1, 0, 3, 5, 10, 22, 39, 46, 47, 100):
        np.testing.assert_array_equal(ours.diagonal(k), theirs.diagonal(k), strict=True)
        np.testing.assert_array_equal(ours.T.diagonal(-k), ours.diagonal(k), strict=True)


FACTORS = [
    2,
    -0.1,
    True,
    0,
    1e30,
    np.float32(0.3),
    np.float64(0.3),
    np.int16(-3),
    np.int64(7),
    np.array(1.5),
    np.bool_(1),
]


@pytest.mark.parametrize("factor", FACTORS, ids=repr)
def test_multiples(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array, factor: Any, device: gpuopt.Device) -> None:
    same(ours * factor, theirs * factor)
    same(factor * ours, factor * theirs)
    if factor != 0 and device.fp64:
        same(ours / factor, theirs / factor)
    same(-ours, -theirs)


def test_infinite_factors_leave_what_is_no_entry(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array) -> None:
    same(ours * np.inf, theirs * np.inf)
    same((ours.T * np.inf).T, theirs * np.inf)


def test_multiples_multiply(device: gpuopt.Device) -> None:
    data = np.ones((2, 30), np.float32)
    matrix = gpuopt.DiaMatrix((data, np.array([0, 2])), (30, 30), device=device, stored="float16")
    made = -(3 * matrix)
    assert (made.device, made.stored) == (matrix.device, "float16")
    np.testing.assert_array_equal(made @ np.ones(30, np.float32), -3 * (matrix @ np.ones(30, np.float32)))
    data[:] = 7
    assert matrix.toarray().max() == 1


def test_values_come_back_from_every_stored_form(device: gpuopt.Device) -> None:
    """Products pack the matrix into slices, and leave what was given."""
    theirs = sparse.dia_array(
        (np.random.default_rng(7).uniform(size=(3, 70)).astype(np.float32), [-1, 0, 12]), shape=(83, 70)
    )
    for variant in gpuopt.variants("spmv"):
        ours = gpuopt.DiaMatrix(theirs, device=device)
        try:
            gpuopt.spmv(ours, np.ones(70, np.float32), variant=variant.name)
        except UnsupportedError:
            continue
        same(ours, theirs)
        same(ours.T.T, theirs)


def test_row_indexed_data(device: gpuopt.Device) -> None:
    values = np.array([[np.nan, 1, 2], [3, 4, 5], [6, 7, np.inf]], np.float32)
    ours = gpuopt.DiaMatrix((values, np.array([-1, 0, 1])), (3, 3), device=device, indexed="row")
    np.testing.assert_array_equal(ours.toarray(), [[3, 6, 0], [1, 4, 7], [0, 2, 5]])
    np.testing.assert_array_equal((2 * ours).diagonal(1), [12, 14])
    short = gpuopt.DiaMatrix((values, np.array([-1, 0, 1])), (5, 5), device=device, indexed="row")
    assert (short.nnz, short.stored_entries) == (8, 13)


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_products_from_the_left(ours: gpuopt.DiaMatrix, theirs: sparse.dia_array, rows: int | None) -> None:
    shape = theirs.shape[:1] if rows is None else (rows, theirs.shape[0])
    x = np.random.default_rng(6).uniform(-1, 1, shape).astype(theirs.dtype)
    kept = x.copy()
    tolerance = 1e-5 if theirs.dtype == np.float32 else 1e-13
    for given in (x, np.asfortranarray(x)):
        made = given @ ours
        assert made.dtype == theirs.dtype
        np.testing.assert_allclose(made, x @ theirs.toarray(), atol=tolerance)
    np.testing.assert_array_equal(x, kept)
    right = np.ascontiguousarray(np.random.default_rng(8).uniform(-1, 1, (theirs.shape[1], 4)).astype(theirs.dtype))
    np.testing.assert_allclose(ours @ right, theirs @ right, atol=tolerance)


def test_what_is_read_only_receives_nothing(ours: gpuopt.DiaMatrix) -> None:
    out = np.zeros(ours.shape, ours.dtype)
    out.flags.writeable = False
    with pytest.raises(gpuopt.ArrayError, match="out: it is read-only"):
        ours.toarray(out=out)


@pytest.mark.parametrize("x", [np.float16, object, 3, "a"])
def test_what_is_no_array_from_the_left(ours: gpuopt.DiaMatrix, x: object) -> None:
    with pytest.raises(gpuopt.ArrayError, match="x: it is "):
        x @ ours  # type: ignore[operator]


def test_device_arrays_from_the_left(device: gpuopt.Device) -> None:
    theirs = sparse.dia_array((np.ones((2, 9), np.float32), [0, -1]), shape=(8, 9))
    ours = gpuopt.DiaMatrix(theirs, device=device)
    x = np.arange(8, dtype=np.float32)
    made = gpuopt.to_device(x, device) @ ours
    assert isinstance(made, gpuopt.DeviceArray)
    np.testing.assert_array_equal(made.to_numpy(), x @ theirs)
    with pytest.raises(UnsupportedError, match=r"^x: a DeviceArray of two axes is not transposed; use M\.T @ x"):
        gpuopt.to_device(np.ones((3, 8), np.float32), device) @ ours


class Answers:
    def __rmul__(self, other: Any) -> str:
        return f"{type(other).__name__} from the left"

    __rmatmul__ = __rmul__


def test_other_kinds_of_objects_may_answer(any_device: gpuopt.Device) -> None:
    matrix = gpuopt.DiaMatrix((np.ones((1, 5), np.float32), np.array([0])), (4, 5), device=any_device)
    assert matrix * Answers() == matrix @ Answers() == "DiaMatrix from the left"


WRONG: list[tuple[Callable[[gpuopt.DiaMatrix], Any], type[Exception], str]] = [
    (lambda M: M * "2", ParameterError, "^factor: it is str, no number"),
    (lambda M: M * None, TypeError, "^factor: it is NoneType, no number"),
    (lambda M: M * [1, 2], ParameterError, "^factor: it is list"),
    (
        lambda M: M * np.ones(5, np.float32),
        ParameterError,
        r"^factor: it is an array of shape \(5,\), no number.*M @ x",
    ),
    (lambda M: np.ones(5, np.float32) * M, ParameterError, "^factor: it is an array"),
    (lambda M: M * 1j, UnsupportedError, "^factor: it is complex"),
    (lambda M: np.complex64(1) * M, UnsupportedError, "^factor: it is complex"),
    (lambda M: M * 10**400, ParameterError, "^factor: it is too large"),
    (lambda M: M * np.longdouble(2), UnsupportedError, "^factor: with it the values would be"),
    (lambda M: M * np.ma.masked_array(2.0, True), ArrayError, "mask"),
    (lambda M: M / 0, ParameterError, "^divisor: it is 0"),
    (lambda M: M / np.float64(0), ParameterError, "^divisor: it is 0"),
    (lambda M: M / "2", ParameterError, "^divisor: it is str"),
    (lambda M: M.transpose((0, 1)), ParameterError, r"^axes: \(0, 1\) are not \(1, 0\)"),
    (lambda M: M.diagonal(1.5), ParameterError, "^k: it is 1.5; give a whole number"),
    (lambda M: np.ones(5, np.float32) @ M, ArrayError, r"^x: its shape is \(5,\), A's is \(4, 5\)"),
    (lambda M: np.ones((4, 3), np.float32) @ M, ArrayError, r"^x: its shape is \(4, 3\), A's is \(4, 5\)"),
    (lambda M: np.ones((2, 3, 4), np.float32) @ M, ArrayError, "^x: its shape is"),
    (lambda M: np.ones(4) @ M, ArrayError, "^x: its dtype is float64"),
    (lambda M: [1.0] * 4 @ M, ArrayError, "^x: "),
    (lambda M: 3 @ M, ArrayError, "^x: "),
]


def test_a_shape_beside_scipys_own(any_device: gpuopt.Device) -> None:
    theirs = sparse.dia_array(np.eye(3, 4, dtype=np.float32))
    same: list[Any] = [(3, 4), [3, 4], (np.int64(3), 4)]
    for shape in same:
        assert gpuopt.DiaMatrix(theirs, shape, device=any_device).shape == (3, 4)
    for shape in ((4, 4), (7, 1), (3, 3), (4, 3)):
        with pytest.raises(ArrayError, match=r"^shape: it is \(.*\), the matrix's own is \(3, 4\); leave it out"):
            gpuopt.DiaMatrix(theirs, shape, device=any_device)


def test_scipys_data_are_indexed_by_column(any_device: gpuopt.Device) -> None:
    theirs = sparse.dia_array(np.eye(3, dtype=np.float32))
    with pytest.raises(ParameterError, match=r"^indexed: a SciPy matrix is indexed by column"):
        gpuopt.DiaMatrix(theirs, device=any_device, indexed="row")


@pytest.mark.parametrize(("use", "error", "message"), WRONG)
def test_what_is_wrong_is_named(
    any_device: gpuopt.Device, use: Callable[[gpuopt.DiaMatrix], Any], error: type[Exception], message: str
) -> None:
    matrix = gpuopt.DiaMatrix((np.ones((1, 5), np.float32), np.array([0])), (4, 5), device=any_device)
    with pytest.raises(error, match=message) as caught:
        use(matrix)
    assert isinstance(caught.value, gpuopt.Error)
