"""Every workload x variant x parameters x size, from the tables, held against fp64."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.lab.bounds import BandwidthTest
from gpuopt.ops import prepare_spmv
from gpuopt.reference import spmv as oracle

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


def configurations(workload: str) -> Iterator[Configuration]:
    for variant in gpuopt.variants(workload):
        for levels in itertools.product(*(p.levels for p in variant.parameters)):
            yield Configuration(variant.name, **dict(zip((p.name for p in variant.parameters), levels, strict=True)))


def matrix_of(shape: tuple[int, int, list[int], int], dtype: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    data = random.uniform(-1, 1, (len(shape[2]), shape[3])).astype(dtype)
    return data, np.array(shape[2], dtype=np.int64)


def tolerance(data: np.ndarray, offsets: np.ndarray, shape: tuple[int, int], x: np.ndarray) -> np.ndarray:
    unit = 2.0**-24 if data.dtype == np.float32 else 2.0**-53
    return 2 * (len(offsets) + 2) * unit * oracle.dia_abs_sum(data, offsets, shape, x)


def check_product(
    device: gpuopt.Device, shape: tuple[int, int, list[int], int], dtype: str, configuration: Configuration
) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    data, offsets = matrix_of(shape, dtype)
    size = shape[:2]
    x = np.random.default_rng(1).uniform(-1, 1, size[1]).astype(dtype)
    matrix = gpuopt.DiaMatrix((data, offsets), size, device=device)
    on_device = gpuopt.to_device(x, device)
    out = _core.empty((size[0],), np.dtype(dtype), device, True)
    out.fill_bytes(0xFF)
    try:
        plan = prepare_spmv(matrix, on_device, out, configuration)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))
    plan.run()
    expected = oracle.dia_spmv(data.astype(np.float64), offsets, size, x.astype(np.float64))
    error = np.abs(out.to_numpy() - expected)
    assert (error <= tolerance(data, offsets, size, x)).all()
    assert out.guards_intact()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("variant", [v.name for v in gpuopt.variants("spmv")])
def test_spmv_variant_at_every_size(device: gpuopt.Device, variant: str, dtype: str, name: str) -> None:
    check_product(device, SHAPES[name], dtype, gpuopt.configuration.complete("spmv", Configuration(variant)))


@pytest.mark.parametrize("configuration", list(configurations("spmv")), ids=str)
def test_spmv_every_level(device: gpuopt.Device, configuration: Configuration) -> None:
    check_product(device, SHAPES["unsorted"], "float32", configuration)


@pytest.mark.parametrize("configuration", list(configurations("microbench")), ids=str)
def test_bandwidth_kernels_move_what_they_say(device: gpuopt.Device, configuration: Configuration) -> None:
    test = BandwidthTest(device, 1_000_000)
    try:
        plan = test.prepare(configuration)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))
    test.target.fill_bytes(0xFF)
    plan.run()
    written = not np.isnan(test.target.to_numpy()).all()
    assert written == configuration.variant.startswith("copy")


def test_files_and_rows_agree() -> None:
    """A variant is one file and one row: no file without a row, no row without a file."""
    paths = set(_core.kernel_paths())
    rows = {v.source for name in _core.workload_names() for v in gpuopt.variants(name)}
    helpers = {path for path in paths if path.startswith("common/") or "/passes/" in path}
    assert rows <= paths
    assert paths - helpers == rows


def test_entry_points_stand_in_their_files() -> None:
    for name in _core.workload_names():
        for variant in gpuopt.variants(name):
            assert f" {variant.entry_point}(" in _core.kernel_source(variant.source)
            assert all(p.standard in p.levels for p in variant.parameters)
