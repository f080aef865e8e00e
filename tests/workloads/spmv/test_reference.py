"""The SpMV oracle against dense products, against SciPy, and against golden counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import dia_array

from gpuopt.workloads.spmv import reference as oracle

# rows, columns, offsets in any order and beyond the edges, how much longer the stored data are than the columns
MATRICES = {
    "square": (7, 7, (-1, 0, 2), 0),
    "wide": (4, 9, (6, -2, 0, 3, -3, 8), 0),
    "tall": (9, 4, (3, -8, 0, -5, 1), 0),
    "short_data": (6, 8, (0, 5, -4, 2), -3),
    "long_data": (6, 8, (0, 5, -4, 2), 4),
    "beyond_the_edge": (5, 6, (17, -5, 0, 6, -900), 0),
    "one_diagonal": (3, 3, (1,), 0),
    "no_diagonals": (3, 5, (), 0),
    "no_rows": (0, 5, (0, 2), 0),
    "no_columns": (5, 0, (0, -2), 0),
    "many_diagonals": (300, 310, tuple(range(-150, 160)), 0),
}


def made(name, dtype=np.float64):
    rows, columns, offsets, excess = MATRICES[name]
    random = np.random.default_rng(len(name))
    data = random.uniform(-1, 1, (len(offsets), columns + excess)).astype(dtype)
    return data, np.array(offsets, dtype=np.int64), (rows, columns)


def dense(data, offsets, shape):
    matrix = np.zeros(shape)
    for k, offset in enumerate(offsets):
        for column in range(min(shape[1], data.shape[1])):
            if 0 <= column - offset < shape[0]:
                matrix[column - offset, column] = data[k, column]
    return matrix


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("k", [None, 1, 3])
def test_product_is_the_dense_one(name, k):
    data, offsets, shape = made(name)
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, shape[1] if k is None else (shape[1], k))
    y = random.uniform(-1, 1, (shape[0], *x.shape[1:]))
    kept = y.copy()
    matrix = dense(data, offsets, shape)
    np.testing.assert_allclose(oracle.dia_spmv(data, offsets, shape, x), matrix @ x, rtol=1e-13, atol=1e-12)
    got = oracle.dia_spmv(data, offsets, shape, x, y, alpha=-2, beta=0.5)
    np.testing.assert_allclose(got, -2 * matrix @ x + 0.5 * y, rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(y, kept)
    magnitudes = oracle.dia_abs_sum(data, offsets, shape, x, y, alpha=-2, beta=0.5)
    np.testing.assert_allclose(magnitudes, 2 * np.abs(matrix) @ np.abs(x) + 0.5 * np.abs(y), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, (_, _, offsets, _) in MATRICES.items() if offsets])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scipy_agrees_within_the_tolerance(name, dtype):
    data, offsets, shape = made(name, dtype)
    x = np.random.default_rng(2).uniform(-1, 1, shape[1]).astype(dtype)
    matrix = dia_array((data, offsets), shape=shape)
    reference = oracle.dia_spmv(data, offsets, shape, x)
    allowed = oracle.tolerance(oracle.dia_abs_sum(data, offsets, shape, x), len(offsets), dtype)
    assert (np.abs(matrix @ x - reference) <= allowed).all()
    stored = dense(np.ones_like(data), offsets, shape).sum()
    assert oracle.dia_range_count(offsets, shape, stored=data.shape[1]) == stored

    z = np.random.default_rng(3).uniform(-1, 1, shape[0]).astype(dtype)
    # SciPy's arrays of A with negated offsets are the row-indexed arrays of A transposed.
    padded = np.zeros((len(offsets), shape[1]), dtype=dtype)
    padded[:, : data.shape[1]] = data[:, : shape[1]]
    stored = oracle.column_indexed(padded, -offsets, shape[::-1])
    transposed = oracle.dia_spmv(stored, -offsets, shape[::-1], z)
    np.testing.assert_allclose(transposed, dense(data, offsets, shape).T @ z, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MATRICES)
def test_layouts_convert_both_ways(name):
    data, offsets, shape = made(name)
    values = oracle.row_indexed(data, offsets, shape)
    matrix = dense(data, offsets, shape)
    assert values.shape == (len(offsets), shape[0])
    for k, offset in enumerate(offsets):
        for row in range(shape[0]):
            inside = 0 <= row + offset < shape[1]
            assert values[k, row] == (matrix[row, row + offset] if inside else 0)
    back = oracle.column_indexed(values, offsets, shape)
    np.testing.assert_array_equal(dense(back, offsets, shape), matrix)
    np.testing.assert_array_equal(oracle.row_indexed(back, offsets, shape), values)


def test_counts_of_the_article():
    steps = oracle.disk_steps(5)
    assert len(steps) == 81
    bands = [int((steps[:, 1] == dy).sum()) for dy in range(-5, 6)]
    assert bands == [1, 7, 9, 9, 9, 11, 9, 9, 9, 7, 1]
    offsets = steps @ (1, 321)
    assert (np.diff(offsets) > 0).all()
    rows = 321 * 481
    assert rows == 154_401
    assert oracle.neighbour_count(steps, (321, 481)) == 12_367_269
    assert oracle.dia_range_count(offsets, (rows, rows)) == 12_450_597
    pitch = -(-rows // 32) * 32
    assert (pitch, 81 * pitch, 81 * pitch * 4) == (154_432, 12_508_992, 50_035_968)


def test_counts_of_the_golden_image():
    steps = oracle.disk_steps(5)
    assert oracle.neighbour_count(steps, (24, 20)) == 31_560
    assert oracle.dia_range_count(steps @ (1, 24), (480, 480)) == 34_674
    # Steps longer than the grid lead nowhere.
    assert oracle.neighbour_count([[0, 0], [3, 0], [0, -9]], (3, 2)) == 6


def test_tolerance_is_the_documented_bound():
    assert oracle.tolerance([1.0], 81, "float32")[0] == 2 * 83 * 2.0**-24
    assert oracle.tolerance([3.0], 1, np.float64)[0] == 3 * 2 * 3 * 2.0**-53
    with pytest.raises(ValueError, match="int32"):
        oracle.tolerance([1.0], 1, np.int32)


def test_infinities_and_stored_zeros():
    data, offsets, shape = np.array([[0.0, 2.0, 3.0]]), [0], (3, 3)
    got = oracle.dia_spmv(data, offsets, shape, np.array([np.inf, np.inf, np.nan]))
    assert np.isnan(got[[0, 2]]).all()
    assert got[1] == np.inf
    # Outside the diagonals nothing is stored, so nothing is multiplied.
    got = oracle.dia_spmv(np.ones((1, 3)), [2], shape, np.array([np.inf, np.nan, 1.0]))
    np.testing.assert_array_equal(got, [1, 0, 0])
    # With beta = 0 the addend is not read.
    got = oracle.dia_spmv(np.ones((1, 3)), [0], shape, np.ones(3), np.full(3, np.nan))
    np.testing.assert_array_equal(got, np.ones(3))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"x": np.ones(4)}, "x has shape"),
        ({"offsets": [0, 0]}, "twice"),
        ({"offsets": [0]}, "must be"),
        ({"y": np.ones(4), "beta": 1}, "y has shape"),
        ({"beta": 1}, "no y"),
    ],
)
def test_bad_input_is_named(change, word):
    given = {"data": np.ones((2, 3)), "offsets": [0, 1], "shape": (3, 3), "x": np.ones(3), **change}
    with pytest.raises(ValueError, match=word):
        oracle.dia_spmv(**given)
    with pytest.raises(ValueError, match="rows"):
        oracle.column_indexed(np.ones((1, 4)), [0], (3, 3))
