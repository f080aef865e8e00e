"""Shapes and offsets as large as whole numbers go: refused or right, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuopt

LARGE = """
import sys
import numpy as np
import gpuopt
A = gpuopt.DiaMatrix((np.ones((3, 5), np.float32), np.array([-1, 0, 1])), (2**62, 2**62), device=int(sys.argv[1]))
print(A.symmetric)
"""
BANDS = np.ones((3, 5), np.float32), np.array([-1, 0, 1])


def test_a_shape_that_no_memory_holds(device: gpuopt.Device) -> None:
    """It used to launch 2^62 work-items, which PoCL ends the process for."""
    run = subprocess.run(
        [sys.executable, "-c", LARGE, str(device.index)], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 1
    assert "ArrayError: shape: " in run.stderr


@pytest.mark.parametrize("shape", [(2**40 + 1, 3), (3, 2**62), (2**63 - 1, 2**63 - 1)])
def test_shapes_beyond_2_to_the_40(any_device: gpuopt.Device, shape: tuple[int, int]) -> None:
    with pytest.raises(gpuopt.ArrayError, match="at most 2\\^40"):
        gpuopt.DiaMatrix(BANDS, shape, device=any_device)


@pytest.mark.parametrize("indexed", ["row", "column"])
def test_the_largest_shape(any_device: gpuopt.Device, indexed: str) -> None:
    """What was given is five columns wide: the rest of 2^40 rows is zeros, and nobody looks at them."""
    n = 2**40
    data = BANDS[0].copy()
    A = gpuopt.DiaMatrix((data, BANDS[1]), (n, n), device=any_device, indexed=indexed)
    assert A.stored_entries == 3 * n - 2
    assert A.grid_width == 0
    assert not A.symmetric  # the last column has no mirrored entry
    if indexed == "row":
        data[0, 0] = 0  # outside
        data[2, 4] = 0
    else:
        data[0, 4] = 0
        data[2, 0] = 0
    assert gpuopt.DiaMatrix((data, BANDS[1]), (n, n), device=any_device, indexed=indexed).symmetric


@pytest.mark.parametrize("dtype", ["i1", "i2", ">i4", "i8", ">i8", "u1", "u2", "u4", "u8"])
def test_offsets_of_any_whole_numbers(any_device: gpuopt.Device, dtype: str) -> None:
    data = np.arange(1, 11, dtype=np.float32).reshape(2, 5)
    A = gpuopt.DiaMatrix((data, np.array([2, 0], dtype)), (5, 5), device=any_device)
    np.testing.assert_array_equal(A.toarray(), np.diag(data[1]) + np.diag(data[0, 2:], 2))


def test_offsets_that_are_no_whole_numbers(any_device: gpuopt.Device) -> None:
    data = np.ones((1, 5), np.float32)
    for offsets, told in (
        (np.array([0.5]), "their dtype is float64; use whole numbers"),
        (np.array([True]), "their dtype is bool; use whole numbers"),
        (np.array([2**63], np.uint64), "one is 9223372036854775808"),
    ):
        with pytest.raises(gpuopt.ArrayError, match=f"^offsets: {told}"):
            gpuopt.DiaMatrix((data, offsets), (5, 5), device=any_device)


def test_offsets_at_the_ends_of_64_bits(any_device: gpuopt.Device) -> None:
    data = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    A = gpuopt.DiaMatrix((data, np.array([-(2**63), 0, 2**63 - 1])), (5, 5), device=any_device)
    assert A.offsets.tolist() == [0]
    assert A.stored_entries == 5
    np.testing.assert_array_equal(A @ np.ones(5, np.float32), data[1])
    np.testing.assert_array_equal(A.T @ np.ones(5, np.float32), data[1])


def test_more_slices_than_a_launch_has_groups(device: gpuopt.Device) -> None:
    rows = 32 * 65_537 + 5
    data = np.random.default_rng(1).integers(-9, 9, (2, rows)).astype(np.float32)
    A = gpuopt.DiaMatrix((data, [0, 3]), (rows, rows), device=device)
    x = np.random.default_rng(2).integers(-9, 9, rows).astype(np.float32)
    want = data[0] * x
    want[:-3] += data[1, 3:] * x[3:]
    configuration = gpuopt.Configuration("sliced", SLICE=32, WIDTH=4)
    np.testing.assert_array_equal(gpuopt.spmv(A, x, variant=configuration, device=device), want)
    np.testing.assert_array_equal(A.to_scipy().data[0], data[0])


def test_more_diagonals_than_a_launch_has_groups(device: gpuopt.Device) -> None:
    """Of a square of 32,769 rows, whose diagonals are all there and whose first column alone is not empty."""
    n = 32_769
    column = np.zeros((2 * n - 1, 1), np.float32)
    offsets = np.arange(1 - n, n)
    column[n - 1] = 4

    def matrix() -> gpuopt.DiaMatrix:
        return gpuopt.DiaMatrix((column, offsets), (n, n), device=device)

    assert matrix().symmetric
    column[0] = 3  # of the last row; its mirrored place is on the last diagonal
    assert not matrix().symmetric


@pytest.mark.parametrize("variant", ["symmetric", "tiles"])
def test_more_tiles_below_each_other_than_a_launch_has_groups(device: gpuopt.Device, variant: str) -> None:
    grid, lines = 8, 4 * 65_536 + 3
    rows = grid * lines
    rng = np.random.default_rng(3)
    offsets = np.array([-grid, -1, 0, 1, grid])
    upper = rng.integers(-9, 9, (3, rows)).astype(np.float32)
    data = np.zeros((5, rows), np.float32)
    data[2:] = upper
    data[1, :-1], data[0, :-grid] = upper[1, 1:], upper[2, grid:]
    A = gpuopt.DiaMatrix((data, offsets), (rows, rows), device=device)
    x = rng.integers(-9, 9, rows).astype(np.float32)
    want = upper[0] * x
    for k, o in ((1, 1), (2, grid)):
        want[:-o] += upper[k, o:] * x[o:]
        want[o:] += upper[k, o:] * x[:-o]
    configuration = gpuopt.Configuration(variant, TILE_X=32, TILE_Y=4, ROWS=1)
    np.testing.assert_array_equal(gpuopt.spmv(A, x, variant=configuration, device=device), want)


def test_more_columns_than_kernels_count(any_device: gpuopt.Device, tmp_path: Path) -> None:
    A = gpuopt.DiaMatrix((np.ones((1, 1), np.float32), [0]), (1, 1), device=any_device)
    columns = 2**31 - 15
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(1, columns))  # sparse: nothing is written
    with pytest.raises(gpuopt.ArrayError, match=f"^x: it has {columns} columns; give at most {columns - 1} at once"):
        gpuopt.spmv(A, x, device=any_device)


def test_columns_that_are_taken_one_after_the_other_have_a_limit(any_device: gpuopt.Device) -> None:
    A = gpuopt.DiaMatrix((np.ones((1, 2), np.float32), [0]), (2, 2), device=any_device)
    x = np.ones((2, 70_000), np.float32)
    with pytest.raises(gpuopt.UnsupportedError, match="70000 columns, which it takes one after the other"):
        gpuopt.spmv(A, x, variant="interior", device=any_device)
    np.testing.assert_array_equal(A @ x, x)
