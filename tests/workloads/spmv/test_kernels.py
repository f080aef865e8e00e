"""What the harness does not ask of SpMV's kernels: an addend, several columns, and the scale of values in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration
from gpuopt.workloads.spmv import reference as oracle
from workloads.spmv.cases import matrix_of, tolerance

ROUNDING = [v.name for v in gpuopt.variants("spmv") if any(p.alters_accuracy for p in v.parameters)]


@pytest.mark.parametrize("variant", ROUNDING)
def test_rounded_values_are_scaled_back(device: gpuopt.Device, variant: str) -> None:
    """Powers of two are 16-bit values exactly: whatever the scale, alpha and the addend must not show it."""
    _, offsets, shape = matrix_of("symmetric-within-a-tile", "float32")
    data = np.where(offsets[:, None] == 0, 2.0**20, 2.0**18).astype(np.float32) * np.ones((1, shape[1]), np.float32)
    draw = np.random.default_rng(3)
    x, y = (draw.uniform(-1, 1, (n, 3)).astype(np.float32) for n in shape)
    matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
    result = gpuopt.spmv(matrix, x, y, alpha=-0.5, beta=2, variant=Configuration(variant, HALF=1))
    for c in range(3):
        expected = -0.5 * oracle.dia_spmv(data, offsets, shape, x[:, c]) + 2 * y[:, c]
        assert (np.abs(result[:, c] - expected) <= tolerance(data, offsets, shape, x[:, c]) + 1e-6).all()


@pytest.mark.parametrize("variant", ["local_offsets", "vectorized", "image"])
@pytest.mark.parametrize("diagonals", [256, 257])
def test_the_listings_hold_256_offsets(device: gpuopt.Device, variant: str, diagonals: int) -> None:
    if variant == "image" and not device.image_support:
        pytest.skip(f"{device.name} has no images")
    offsets, rows = np.arange(diagonals) - 100, 613
    draw = np.random.default_rng(4)
    data, x = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((diagonals, rows), rows))
    matrix = gpuopt.DiaMatrix((data, offsets), (rows, rows), device=device)
    if diagonals > 256:
        with pytest.raises(gpuopt.UnsupportedError, match="257 diagonals; the article's array holds 256 offsets"):
            gpuopt.spmv(matrix, x, variant=variant)
        return
    off = np.abs(gpuopt.spmv(matrix, x, variant=variant) - oracle.dia_spmv(data, offsets, (rows, rows), x))
    assert (off <= tolerance(data, offsets, (rows, rows), x)).all()


@pytest.mark.parametrize("name", ["wide", "grid", "symmetric-grid", "no-rows", "no-diagonals"])
@pytest.mark.parametrize("columns", [0, 1, 2, 7, 16, 33])
@pytest.mark.parametrize("variant", ["columns", "columns_sliced", "interior"])
def test_spmv_of_several_columns(device: gpuopt.Device, variant: str, columns: int, name: str) -> None:
    data, offsets, shape = matrix_of(name, "float32")
    draw = np.random.default_rng(2)
    x = draw.uniform(-1, 1, (shape[1], columns)).astype(np.float32)
    y = draw.uniform(-1, 1, (shape[0], columns)).astype(np.float32)
    matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
    result = gpuopt.spmv(matrix, x, y, alpha=2, beta=-1, variant=variant)
    assert result.shape == (shape[0], columns)
    for c in range(columns):
        expected = 2 * oracle.dia_spmv(data, offsets, shape, x[:, c]) - y[:, c]
        assert (np.abs(result[:, c] - expected) <= 3 * tolerance(data, offsets, shape, x[:, c]) + 1e-6).all()
