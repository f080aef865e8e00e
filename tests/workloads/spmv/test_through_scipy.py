"""What SciPy computes of a DiaMatrix: whose results are matrices of the same device, and how refusals are told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse import linalg

import gpuopt
from gpuopt import ArrayError, DiaMatrix, ParameterError, UnsupportedError


def both(device: gpuopt.Device, shape: tuple[int, int] = (9, 7), length: int = 7, **options: Any) -> Any:
    """A matrix of which a diagonal lies outside, and SciPy's."""
    data = np.random.default_rng(3).uniform(-1, 1, (4, length)).astype(np.float32)
    theirs = sparse.dia_array((data, np.array([2, -3, 0, 40])), shape=shape)
    return DiaMatrix(theirs, device=device, **options), theirs


MATRICES: list[Callable[[Any], Any]] = [
    lambda M: M + M,
    lambda M: M - M.astype("float64").astype("float32"),
    lambda M: M + 0,
    lambda M: sum([M, M, M]),
    lambda M: M.multiply(M),
    lambda M: M * M,
    lambda M: M @ M.T,
    lambda M: abs(M),
    lambda M: round(M, 2),
    lambda M: M**2,
    lambda M: M.power(3),
    lambda M: M.multiply(np.ones((9, 7), np.float32)),
    lambda M: M.astype("float32"),
]


@pytest.mark.parametrize("length", [7, 4, 30])
@pytest.mark.parametrize("which", range(len(MATRICES)))
def test_diagonals_stay_on_the_device(any_device: gpuopt.Device, which: int, length: int) -> None:
    ours, theirs = both(any_device, length=length, stored="float16")
    theirs = sparse.dia_array(theirs.toarray())  # SciPy 1.17 transposes data longer than the matrix wrongly
    made = MATRICES[which](ours)
    assert isinstance(made, DiaMatrix)
    assert (made.device, made.stored, made.dtype) == (any_device, "float16", np.float32)
    np.testing.assert_allclose(made.toarray(), MATRICES[which](theirs).toarray(), rtol=1e-6, atol=1e-7)


OTHERS: list[Callable[[Any], Any]] = [
    lambda M: M.tocsr(),
    lambda M: M.tocsc(),
    lambda M: M.tocoo(),
    lambda M: M.tobsr(),
    lambda M: M.asformat("lil"),
    lambda M: M.astype(complex),
    lambda M: M + M.tocsr(),
    lambda M: M.tocsr() - M,
    lambda M: M.tocsr().T @ M,
    lambda M: M.T @ M.tocsr(),
    lambda M: M + np.ones((9, 7)),
    lambda M: np.ones((9, 7)) - M,
    lambda M: M / M,
    lambda M: M.maximum(-M),
    lambda M: M.sum(),
    lambda M: M.sum(axis=1),
    lambda M: M.mean(axis=0),
    lambda M: M.trace(-3),
    lambda M: M.count_nonzero(),
    lambda M: M[2, 4],
    lambda M: M[3:8, ::2],
]


@pytest.mark.parametrize("which", range(len(OTHERS)))
@pytest.mark.filterwarnings("ignore:.*divide:RuntimeWarning")
def test_all_else_is_scipys(any_device: gpuopt.Device, which: int) -> None:
    ours, theirs = both(any_device)
    made, wanted = OTHERS[which](ours), OTHERS[which](theirs.tocsr() if which >= len(OTHERS) - 2 else theirs)
    assert type(made) is type(wanted)
    dense = [found.toarray() if sparse.issparse(found) else found for found in (made, wanted)]
    np.testing.assert_allclose(dense[0], dense[1], rtol=1e-5)


def test_extremes(any_device: gpuopt.Device) -> None:
    ours, theirs = both(any_device)
    for name in ("max", "min", "nanmax", "nanmin"):
        assert getattr(ours, name)() == getattr(theirs.tocsr(), name)()
        rows = getattr(theirs.tocsr(), name)(axis=1).toarray()
        np.testing.assert_array_equal(getattr(ours, name)(axis=1).toarray(), rows)


def test_matrices_of_unlike_data_are_added(any_device: gpuopt.Device) -> None:
    """SciPy 1.17 cannot, where data of one are narrower, and repeats those of one column."""
    (narrow, theirs), (wide, others) = (both(any_device, length=length) for length in (4, 30))
    thin, ones = both(any_device, length=1)
    np.testing.assert_array_equal((thin + wide).toarray(), ones.toarray() + others.toarray())
    np.testing.assert_array_equal((ones - wide).toarray(), ones.toarray() - others.toarray())
    np.testing.assert_array_equal((narrow + wide).toarray(), theirs.toarray() + others.toarray())
    np.testing.assert_array_equal((narrow - wide.T.T).toarray(), theirs.toarray() - others.toarray())


@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4)])
@pytest.mark.parametrize("lengths", [(5, 5), (5, 3), (3, 5), (3, 3)])
def test_sums_have_scipys_dtype(any_device: gpuopt.Device, shape: tuple[int, int], lengths: tuple[int, int]) -> None:
    """SciPy 1.17 adds data of one width into those of the first, and of unlike widths into new ones."""
    mine, other = (min(length, shape[1]) for length in lengths)
    theirs = sparse.dia_array((np.ones((2, mine), np.float32), [0, 1]), shape=shape)
    addend = sparse.dia_array((np.full((1, other), 0.1), [0]), shape=shape)
    ours = DiaMatrix(theirs, device=any_device)
    for made, wanted in ((ours + addend, theirs + addend), (ours - addend, theirs - addend)):
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made.toarray(), wanted.toarray())


@pytest.mark.parametrize("form", ["dia", "csr"])
def test_a_matrix_of_scipys_from_the_left_multiplies_as_matrices_do(any_device: gpuopt.Device, form: str) -> None:
    """``*`` of its matrices is the product, of its arrays that of the elements; the left one decides."""
    ours, theirs = both(any_device, shape=(7, 7))
    values = np.random.default_rng(1).uniform(-1, 1, (7, 7)).astype(np.float32)
    matrix, array = sparse.csr_matrix(values).asformat(form), sparse.csr_array(values).asformat(form)
    for left in (matrix, array):
        np.testing.assert_allclose((left * ours).toarray(), (left * theirs).toarray(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose((ours * left).toarray(), (theirs * left).toarray(), rtol=1e-5, atol=1e-6)
    assert np.abs((matrix * ours - array * ours).toarray()).max() > 0.1
    with pytest.raises(ParameterError, match=r"^x: "):
        sparse.csr_matrix((3, 3)) * ours


def test_products_without_a_diagonal_inside_are_zeros(any_device: gpuopt.Device) -> None:
    """SciPy 1.17 ends in an error of its own there."""
    far, beyond = (DiaMatrix((np.ones((1, 3), np.float32), [offset]), (3, 3), device=any_device) for offset in (2, 3))
    identity = sparse.eye_array(3, dtype=np.float64, format="dia")
    for made in (far @ far, beyond @ beyond.T, beyond @ identity, identity @ beyond):
        assert isinstance(made, DiaMatrix)
        np.testing.assert_array_equal(made.toarray(), np.zeros((3, 3)))
    assert (beyond @ identity).dtype == np.float64
    empty = DiaMatrix((np.zeros((1, 0), np.float32), [4]), (4, 7), device=any_device)
    np.testing.assert_array_equal((empty.T @ empty).toarray(), np.zeros((7, 7)))
    with pytest.raises(ParameterError, match=r"^x: "):
        beyond @ sparse.eye_array(4, format="dia")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (((1, 1), [1], (3, 3)), ((1, 1), [1], (3, 3))),
        (((1, 2), [2], (2, 3)), ((1, 1), [0], (3, 3))),
        (((2, 4), [-2, 0], (2, 1)), ((2, 1), [1, 2], (1, 3))),
        (((1, 3), [0], (3, 3)), ((1, 1), [0], (3, 3))),
        (((1, 3), [-2], (3, 3)), ((1, 3), [-1], (3, 3))),
        (((1, 2), [-1], (3, 4)), ((2, 3), [2, -3], (4, 3))),
    ],
    ids=["none given", "none given on the left", "outside", "some meet", "beside each other", "wide and narrow"],
)
def test_products_of_entries_that_do_not_meet_are_zeros(any_device: gpuopt.Device, one: Any, other: Any) -> None:
    """SciPy 1.17 ends in an error of its own in some such cases."""
    a, b = (sparse.dia_array((np.ones(data, np.float32), at), shape=shape) for data, at, shape in (one, other))
    M, N = DiaMatrix(a, device=any_device), DiaMatrix(b, device=any_device)
    for made in (M @ N, M @ b, a @ N):
        assert isinstance(made, DiaMatrix)
        np.testing.assert_array_equal(made.toarray(), a.toarray() @ b.toarray())


def test_what_narrow_data_leave_out_is_no_entry(any_device: gpuopt.Device) -> None:
    ours, theirs = both(any_device, length=4)
    with np.errstate(divide="ignore"):  # of zeros beside the matrix
        pairs = [(ours**-1, theirs**-1), (abs(ours), abs(theirs)), (ours.to_scipy(), theirs)]
    for made, wanted in pairs:
        np.testing.assert_array_equal(made.toarray(), wanted.toarray())
        assert made.nnz == wanted.nnz
    assert ours.tocsr().nnz == ours.nnz == theirs.nnz


@pytest.mark.parametrize("length", [1, 4, 7, 30])
def test_what_goes_to_scipy_is_taken_back(any_device: gpuopt.Device, length: int) -> None:
    ours, theirs = both(any_device, length=length)
    for matrix in (ours, ours.T):
        host = matrix.to_scipy()
        np.testing.assert_array_equal(DiaMatrix(host, device=any_device).toarray(), matrix.toarray())
        x = np.arange(matrix.shape[1], dtype=np.float32)
        np.testing.assert_array_equal(gpuopt.spmv(host, x, device=any_device), matrix @ x)
    np.testing.assert_array_equal(ours.to_scipy().toarray(), theirs.toarray())


def test_a_copy_is_the_matrix_itself(any_device: gpuopt.Device) -> None:
    ours, theirs = both(any_device)
    assert ours.copy() is ours.asformat("dia") is ours.asformat(None) is ours
    host = ours.to_scipy()
    host.data[:] = 7
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_dense_arrays_in_either_order_and_in_place(any_device: gpuopt.Device) -> None:
    ours, theirs = both(any_device)
    assert ours.toarray("F").flags.f_contiguous
    out = np.full((9, 7), 5, np.float32)
    assert ours.todense(out=out) is out
    np.testing.assert_array_equal(out, theirs.toarray())


def test_solvers_take_it_as_it_is(device: gpuopt.Device) -> None:
    data = np.outer([-1, 4, -1], np.ones(50)).astype(np.float32)
    ours = DiaMatrix((data, np.array([-1, 0, 1])), (50, 50), device=device)
    b = np.arange(50.0)
    for solve in (linalg.cg, linalg.gmres, linalg.bicgstab):
        x, info = solve(ours, b, rtol=1e-5)
        assert info == 0
        np.testing.assert_allclose(ours.to_scipy() @ x, b, atol=1e-3)
    np.testing.assert_allclose(ours.rmatvec(b + 1j), ours.T.to_scipy() @ (b + 1j), rtol=1e-5)


WRONG: list[tuple[Callable[[DiaMatrix], Any], type[Exception], str]] = [
    (lambda M: M + 1, UnsupportedError, "^other: SciPy does not offer it"),
    (lambda M: M + np.ones(3), ParameterError, "^other: SciPy does not take this"),
    (lambda M: M + "a", UnsupportedError, "^other: "),
    (lambda M: np.ones((2, 2)) - M, ParameterError, "^other: "),
    (lambda M: M + np.ma.masked_array(np.ones((9, 7)), True), ArrayError, "^other: masks"),
    (lambda M: M.multiply(None), TypeError, "^other: SciPy does not take this"),
    (lambda M: M.multiply("a"), ParameterError, "^other: SciPy does not"),
    (lambda M: M @ M, ParameterError, "^x: SciPy does not take this"),
    (lambda M: M.sum(axis=5), ParameterError, "^axis: "),
    (lambda M: M.mean(axis=1.5), TypeError, "^axis: "),
    (lambda M: M.count_nonzero(axis=0), UnsupportedError, "^axis: "),
    (lambda M: M.trace(1.5), ParameterError, "^offset: it is 1.5"),  # type: ignore[arg-type]
    (lambda M: M.astype("no dtype"), TypeError, "^dtype: "),
    (lambda M: M.asformat("xyz"), ParameterError, "^format: "),
    (lambda M: M[9, 0], IndexError, r"^index: .*shape \(9, 7\)"),
    (lambda M: M["a"], ParameterError, "^index: "),
    (bool, ParameterError, r"^M: .*ambiguous; ask M.count_nonzero\(\), and give SciPy's functions M.tocsr\(\)"),
    (sparse.triu, ParameterError, r"^M: .* give SciPy's functions M.tocsr\(\)"),
    (lambda M: M.toarray("K"), ParameterError, "^order: 'K'"),
    (lambda M: M.toarray("C", np.ones((9, 7), np.float32)), ParameterError, "^order: 'C'"),
    (lambda M: M.toarray(out=np.ones((9, 7))), ArrayError, "^out: .*float64; give"),
]


@pytest.mark.filterwarnings("ignore:`triu` is switching:DeprecationWarning")  # of SciPy 1.18
@pytest.mark.parametrize(("use", "error", "message"), WRONG)
def test_what_is_wrong_is_named(
    any_device: gpuopt.Device, use: Callable[[DiaMatrix], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        use(both(any_device)[0])
    assert isinstance(caught.value, gpuopt.Error)


def test_rows_are_not_walked(any_device: gpuopt.Device) -> None:
    """Each would copy the matrix."""
    with pytest.raises(TypeError):
        list(both(any_device)[0])


@pytest.mark.parametrize("dtype", ["foo", "U3", "i4,f4"])
def test_a_dtype_of_no_numbers_is_told_as_such(any_device: gpuopt.Device, dtype: str) -> None:
    ours, _ = both(any_device)
    for use in (ours.sum, partial(ours.sum, 0, out=np.ones(6, np.float32)), partial(ours.power, 2)):
        with pytest.raises(ParameterError, match=r"^dtype: "):
            use(dtype=dtype)
    with pytest.raises(ParameterError, match=r"^dtype: "):
        ours.mean(dtype="foo")  # of others SciPy takes the mean


def test_a_casting_that_is_none_is_told_as_such(any_device: gpuopt.Device) -> None:
    ours, _ = both(any_device)
    for casting in ("foo", None):
        for dtype in (np.int8, ours.dtype):
            with pytest.raises(ParameterError, match=r"^casting: "):
                ours.astype(dtype, casting=casting)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^dtype: "):
        ours.astype(np.int8, casting="no")


def test_an_out_of_the_wrong_shape_is_told_as_such(any_device: gpuopt.Device) -> None:
    ours, _ = both(any_device)
    with pytest.raises(ParameterError, match=r"^out: "):
        ours.sum(axis=0, out=np.zeros(2))
    with pytest.raises(ParameterError, match=r"^axis: "):
        ours.sum(axis=7, out=np.zeros(2))
    with pytest.raises(ParameterError, match=r"^axis: "):
        ours.sum(axis=np.zeros((6, 6)), out=np.zeros(2))
