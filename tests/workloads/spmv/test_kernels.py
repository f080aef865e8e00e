"""Every workload x variant x parameters x size, from the tables, held against fp64."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.lab.device.bandwidth import BandwidthTest, family
from gpuopt.workloads.spmv import reference as oracle
from gpuopt.workloads.spmv.operation import prepare_spmv
from levels import draws, every_level

# Rows, columns, offsets, length of SciPy's data; each is awkward in its own way.
SHAPES = {
    "one": (1, 1, [0], 1),
    "below-a-group": (37, 37, [-3, 0, 5], 37),
    "unsorted": (513, 513, [7, -120, 0, 77, -1], 513),
    "wide": (53, 211, [200, -50, 0, 9, 150], 211),
    "tall": (211, 53, [-200, 50, 0, -9], 53),
    "short-data": (130, 130, [0, 2, -2], 61),
    "long-data": (67, 67, [0, 66, -66, 1], 300),
    "beyond-the-edge": (40, 40, [0, 40, -40, 1000, -5], 40),
    "many-diagonals": (300, 300, list(range(-150, 150)), 300),
    "no-diagonals": (9, 9, [], 9),
    "no-rows": (0, 5, [0], 5),
    "no-columns": (5, 0, [0], 3),
}


def grid_offsets(width: int, radius: int) -> list[int]:
    return [dy * width + dx for dx, dy in oracle.disk_steps(radius).tolist()]


# Matrices of grids, for variants that need one; every second is symmetric.
GRIDS = {
    "grid": (71 * 23, 71 * 23, grid_offsets(71, 5), 71 * 23),
    "symmetric-grid": (71 * 23, 71 * 23, grid_offsets(71, 5), 71 * 23),
    "grid-within-a-tile": (30, 30, grid_offsets(6, 1), 30),
    "symmetric-within-a-tile": (30, 30, grid_offsets(6, 1), 30),
    "even-grid": (64 * 21, 64 * 21, grid_offsets(64, 5), 64 * 21),
    "symmetric-even-grid": (256 * 40, 256 * 40, grid_offsets(256, 5), 256 * 40),
    "torn-grid": (1000, 1000, grid_offsets(33, 3), 1000),
    "symmetric-torn-grid": (1000, 1000, grid_offsets(33, 3), 1000),
    "wide-grid": (900, 1400, grid_offsets(90, 2), 1400),
    "symmetric-line": (700, 700, [-9, -1, 0, 1, 9], 700),
    "far-line": (5000, 5000, [-9, 0, 9, 4800], 5000),
    "symmetric-without-main": (5000, 5000, [-4500, -64, 64, 4500], 5000),
}

# For levels, whose programs have the diagonals written out: a third of them compiles three times as fast.
FEW = {"symmetric-few": (256 * 40, 256 * 40, grid_offsets(256, 3), 256 * 40)}


def matrix_of(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    rows, columns, offsets, length = (SHAPES | GRIDS | FEW)[name]
    data = np.random.default_rng(0).uniform(-1, 1, (len(offsets), length)).astype(dtype)
    if name.startswith("symmetric"):
        for k, offset in enumerate(offsets):
            if offset > 0:  # A[i, i+o] stands at column i+o, its mirror A[i+o, i] at column i
                data[offsets.index(-offset), : length - offset] = data[k, offset:]
    return data, np.array(offsets, dtype=np.int64), (rows, columns)


def rounded(data: np.ndarray) -> np.ndarray:
    """What 16-bit storage keeps of values in [-1, 1]: their largest is brought just below 2^15 by a power of two."""
    largest = float(np.abs(data).max(initial=0.0))
    scale = 2.0 ** (14 - math.floor(math.log2(largest))) if largest else 1.0
    return (data * scale).astype(np.float16).astype(np.float64) / scale


def tolerance(data: np.ndarray, offsets: np.ndarray, shape: tuple[int, int], x: np.ndarray) -> np.ndarray:
    unit = 2.0**-24 if data.dtype == np.float32 else 2.0**-53
    return 2 * (len(offsets) + 2) * unit * oracle.dia_abs_sum(data, offsets, shape, x)


def check_product(device: gpuopt.Device, name: str, dtype: str, configuration: Configuration) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    data, offsets, shape = matrix_of(name, dtype)
    x = np.random.default_rng(1).uniform(-1, 1, shape[1]).astype(dtype)
    matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
    assert matrix.symmetric == (name.startswith("symmetric") or name in ("one", "no-diagonals"))
    on_device = gpuopt.to_device(x, device)
    out = _core.empty((shape[0],), np.dtype(dtype), device, True)
    out.fill_bytes(0xFF)
    try:
        plan = prepare_spmv(matrix, on_device, out, configuration)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))
    plan.run()
    exact = data.astype(np.float64)
    if configuration.parameters.get("HALF") == 1:
        exact = rounded(data)
    expected = oracle.dia_spmv(exact, offsets, shape, x.astype(np.float64))
    error = np.abs(out.to_numpy() - expected)
    assert (error <= tolerance(data, offsets, shape, x)).all()
    assert out.guards_intact()


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", [*SHAPES, *GRIDS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("variant", [v.name for v in gpuopt.variants("spmv")])
def test_spmv_variant_at_every_size(device: gpuopt.Device, variant: str, dtype: str, name: str) -> None:
    check_product(device, name, dtype, gpuopt.configuration.complete("spmv", Configuration(variant)))


@pytest.mark.thin(4)
@pytest.mark.parametrize("configuration", every_level("spmv"), ids=str)
def test_spmv_every_level(device: gpuopt.Device, configuration: Configuration) -> None:
    check_product(device, "symmetric-few", "float32", configuration)


@pytest.mark.thin(4)
@pytest.mark.parametrize("configuration", draws("spmv"), ids=str)
def test_spmv_levels_combined(device: gpuopt.Device, configuration: Configuration) -> None:
    check_product(device, "symmetric-few", "float32", configuration)


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


@pytest.mark.parametrize("variant", [v.name for v in gpuopt.variants("spmv")])
def test_each_variant_runs_somewhere(device: gpuopt.Device, variant: str) -> None:
    """No variant is skipped everywhere: on this matrix the only excuse is a feature that the device lacks."""
    row = next(v for v in gpuopt.variants("spmv") if v.name == variant)
    data, offsets, shape = matrix_of("symmetric-grid", "float32")
    matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
    x = np.ones(shape[1], np.float32)
    if "images" in row.needs and not device.image_support:
        with pytest.raises(gpuopt.UnsupportedError, match="images"):
            gpuopt.spmv(matrix, x, variant=variant)
        return
    result = gpuopt.spmv(matrix, x, variant=variant)
    np.testing.assert_allclose(result, oracle.dia_spmv(data, offsets, shape, x), atol=1e-4)


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


def test_bandwidth_kernels_move_what_they_say(device: gpuopt.Device) -> None:
    test = BandwidthTest(device, 1_000_000)
    for configuration in family(device):
        plan = test.prepare(configuration)
        test.target.fill_bytes(0xFF)
        plan.run()
        written = not np.isnan(test.target.to_numpy()).all()
        assert written == configuration.variant.startswith("copy")


def test_files_and_rows_agree() -> None:
    """A variant is one file and one row: no file without a row, no row without a file."""
    paths = set(_core.kernel_paths())
    rows = {v.source for name in _core.workload_names() for v in gpuopt.variants(name)}
    helpers = {path for path in paths if path.startswith("common/") or "/passes/" in path or "/include/" in path}
    assert rows <= paths
    assert paths - helpers == rows


def test_entry_points_stand_in_their_files() -> None:
    for name in _core.workload_names():
        for variant in gpuopt.variants(name):
            assert f" {variant.entry_point}(" in _core.kernel_source(variant.source)
            assert all(p.standard in p.levels for p in variant.parameters)
