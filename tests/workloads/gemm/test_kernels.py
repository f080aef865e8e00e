"""Every GEMM variant and level at awkward sizes, transposed or not, in both dtypes, held against fp64."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core, papers
from gpuopt.configuration import complete
from gpuopt.workloads.common import rounding
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.operation import prepare_gemm
from gpuopt.workloads.gemm.precision import FORMS

Size = tuple[int, int, int]

# M, N, K: below every tile, odd, even, beyond tiles on each side, flat, tall and deep. Rows of the first and third are
# aligned: kernels that load widely are two programs.
SIZES: list[Size] = [(64, 64, 64), (1, 1, 1), (128, 4, 256), (37, 53, 29), (130, 67, 259), (3, 301, 5), (301, 3, 33)]
AWKWARD = (130, 67, 259)
VARIANTS = [variant.name for variant in gpuopt.variants("gemm")]


def allowed(configuration: Configuration, k: int, magnitude: np.ndarray, dtype: str) -> np.ndarray:
    """The error that a product of this configuration may have."""
    if configuration.variant == "tensor":
        levels = complete("gemm", configuration).parameters
        form = next((f for f in FORMS.values() if f.parameters.items() <= levels.items()), None)
        if form is None or levels["PROMOTE"] == 0:
            pytest.skip(f"{configuration} has no accuracy of its own")
        return form.tolerance(k) * magnitude
    return rounding.tolerance(magnitude, k, dtype)


def check(
    device: gpuopt.Device,
    configuration: Configuration,
    sizes: list[Size],
    dtype: str = "float32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    addend: bool = False,
    batch: int = 0,
) -> None:
    """Products of these sizes into poisoned memory between guards; skips where the device or a rule refuses."""
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    for m, n, k in sizes:
        draw = np.random.default_rng(m + n + k)

        def matrix(rows: int, columns: int, draw: np.random.Generator = draw) -> np.ndarray:
            return draw.uniform(-1, 1, (batch, rows, columns) if batch else (rows, columns)).astype(dtype)

        a = matrix(k, m) if transpose_a else matrix(m, k)
        b = matrix(n, k) if transpose_b else matrix(k, n)
        c = matrix(m, n) if addend else None
        numbers = {"alpha": -1.5, "beta": 0.5} if addend else {}
        out = _core.empty((batch, m, n) if batch else (m, n), np.dtype(dtype), device, True)
        out.fill_bytes(0xFF)
        on_device = [None if array is None else _core.to_device(array, device, True) for array in (a, b, c)]
        transposes = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        try:
            plan = prepare_gemm(*on_device[:2], out, configuration, C=on_device[2], **numbers, **transposes)  # type: ignore[arg-type]
        except UnsupportedError as error:
            pytest.skip(str(error))
        plan.run()
        exact = oracle.product(a, b, c, **numbers, **transposes)  # type: ignore[arg-type]
        magnitude = oracle.magnitude(a, b, c, **numbers, **transposes)  # type: ignore[arg-type]
        error = np.abs(out.to_numpy() - exact)
        assert (error <= allowed(configuration, k, magnitude, dtype)).all(), (m, n, k)
        assert out.guards_intact(), (m, n, k)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_size(device: gpuopt.Device, variant: str) -> None:
    check(device, Configuration(variant), SIZES)


# Every transpose in one dtype, half of them with an addend: a program each.
FORMS_OF_PRODUCTS = [("float32", True, False, True), ("float64", False, True, True), ("float64", True, True, False)]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("dtype", "transpose_a", "transpose_b", "addend"), FORMS_OF_PRODUCTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_form(
    device: gpuopt.Device, variant: str, dtype: str, transpose_a: bool, transpose_b: bool, addend: bool
) -> None:
    configuration = Configuration(variant)
    check(device, configuration, [AWKWARD, (37, 53, 29)], dtype, transpose_a, transpose_b, addend)
    check(device, configuration, [(33, 18, 65)], dtype, transpose_a, transpose_b, addend, batch=3)


@pytest.mark.thin(3)
@pytest.mark.parametrize(("dtype", "transpose_a", "transpose_b", "addend"), FORMS_OF_PRODUCTS)
def test_parts_of_k(device: gpuopt.Device, dtype: str, transpose_a: bool, transpose_b: bool, addend: bool) -> None:
    for parts in (4, 64):
        sizes = [(5, 3, 1024), (37, 29, 515), (37, 53, 29)]
        check(device, Configuration("register_tile", SPLIT=parts), sizes, dtype, transpose_a, transpose_b, addend)


# What levels are tried beside where the standard ones write out loops that take seconds to compile.
LEAN_LEVELS = {"packed": {"ROWS": 4, "WIDTH": 4}}


def every_level() -> list[Configuration]:
    """Every level of every parameter beside these."""
    found = []
    for variant in gpuopt.variants("gemm"):
        base = {p.name: p.standard for p in variant.parameters} | LEAN_LEVELS.get(variant.name, {})
        found += [Configuration(variant.name, **{**base, p.name: n}) for p in variant.parameters for n in p.levels]
    return list(dict.fromkeys(found))


@pytest.mark.thin(12)
@pytest.mark.parametrize("configuration", every_level(), ids=str)
def test_every_level(device: gpuopt.Device, configuration: Configuration) -> None:
    check(device, configuration, [AWKWARD])


def draws() -> list[Configuration]:
    """One of all combinations of a variant's levels; a rule may forbid it."""
    found = []
    for variant in gpuopt.variants("gemm"):
        draw = random.Random(variant.name)
        found.append(Configuration(variant.name, **{p.name: draw.choice(p.levels) for p in variant.parameters}))
    return found


@pytest.mark.thin(2)
@pytest.mark.parametrize("configuration", draws(), ids=str)
def test_levels_combined(device: gpuopt.Device, configuration: Configuration) -> None:
    check(device, configuration, [AWKWARD], transpose_b=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_runs_as_it_stands(device: gpuopt.Device, variant: str) -> None:
    """No variant is skipped everywhere: a device refuses one for want of tensor cores, or of local memory, alone."""
    shapes = ((5, 6), (6, 7), (5, 7))
    a, b, out = (gpuopt.to_device(np.ones(shape, np.float32), device) for shape in shapes)
    reason = None
    if variant == "tensor" and "cl_nv_device_attribute_query" not in device.extensions:
        reason = "no tensor cores"
    elif variant == "packed" and device.local_bytes < 2**16:
        reason = "of local memory"
    if reason:
        with pytest.raises(UnsupportedError, match=reason):
            prepare_gemm(a, b, out, variant)
        return
    prepare_gemm(a, b, out, variant).run()
    np.testing.assert_array_equal(out.to_numpy(), np.full((5, 7), 6, np.float32))


# ---------------------------------------------------------------- what a plan is made of

LEAN = [Configuration("naive", LOCAL_X=16, LOCAL_Y=1), Configuration("constant", HEIGHT=8, DEPTH=32, LOCAL=64)]


@pytest.mark.parametrize("configuration", LEAN, ids=str)
@pytest.mark.parametrize("size", [(65_600, 2, 3), (70_001, 1, 40)])
def test_more_rows_than_a_launch_has_groups(device: gpuopt.Device, size: Size, configuration: Configuration) -> None:
    check(device, configuration, [size], transpose_a=True, addend=True)


def test_more_matrices_than_a_launch_has_groups(device: gpuopt.Device) -> None:
    check(device, LEAN[0], [(1, 2, 3)], batch=65_537)
    a, b = np.ones((2, 3), np.float32), np.ones((65_540, 3, 1), np.float32)
    b[-1] = 5
    result = gpuopt.gemm(a, b, variant=LEAN[1], device=device)
    assert result.shape == (65_540, 2, 1)
    assert (result[:-1] == 3).all()
    assert (result[-1] == 15).all()


def test_a_plan_repeats(device: gpuopt.Device) -> None:
    """Sums over panels begin anew; the addend stays what it was."""
    draw = np.random.default_rng(5)
    host = [draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((40, 70), (70, 50), (40, 50))]
    a, b, c = (gpuopt.to_device(array, device) for array in host)
    for configuration in LEAN:
        out = _core.empty((40, 50), np.dtype(np.float32), device, True)
        plan = prepare_gemm(a, b, out, configuration, C=c, beta=2)
        plan.run()
        once = out.to_numpy()
        plan.sample(2, batch=2)
        np.testing.assert_array_equal(out.to_numpy(), once)
        np.testing.assert_array_equal(c.to_numpy(), host[2])


SMALL_TILES = {"ROWS": 4, "VECTORS": 2, "WIDTH": 4, "DEPTH": 128}


@pytest.mark.parametrize(("panels", "items"), [(1, 1), (8, 4)])
def test_packed_blocks_and_parts(device: gpuopt.Device, panels: int, items: int) -> None:
    """Several blocks down and across, several parts of k that meet in the result, edges of each, and one A for all."""
    configuration = Configuration("packed", **SMALL_TILES, PANELS=panels, ITEMS=items)
    check(device, configuration, [(70, 90, 300), (128, 64, 384), (5, 130, 129)], addend=True)
    check(device, configuration, [(70, 90, 300), (3, 7, 256)], transpose_a=True, transpose_b=True, addend=True, batch=2)
    draw = np.random.default_rng(6)
    a, b = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((31, 150), (3, 150, 21)))
    result = gpuopt.gemm(a, b, variant=configuration, device=device)
    np.testing.assert_allclose(result, a @ b, atol=1e-4)


def test_packed_asks_for_what_it_packs(any_device: gpuopt.Device) -> None:
    m, n, k = 64, 96, 256
    a, b, out = (_core.empty(shape, np.dtype(np.float32), any_device) for shape in ((m, k), (k, n), (m, n)))
    plan = prepare_gemm(a, b, out, Configuration("packed", **SMALL_TILES, PANELS=4))
    assert [kernel["entry_point"] for kernel in plan.kernels] == ["gemm_pack_a", "gemm_packed"]
    down = (plan.work["bytes"]["local"] / 4 - m // 4 * n * k) / (k * n)  # how often B is packed
    assert down == round(down) >= 1
    assert plan.work["bytes"]["requested"] == 4 * (m * k * (2 + n // 8) + down * k * n + 3 * m * n)


@pytest.mark.parametrize("tiles", [0, 1])
def test_panels_of_constant_memory(device: gpuopt.Device, tiles: int) -> None:
    configuration = Configuration("constant", HEIGHT=8, DEPTH=64, TILES=tiles, LOCAL=64)
    check(device, configuration, [(1, 1, 1), (8, 5, 64), (9, 5, 65), (530, 70, 130)], transpose_a=True)
    a = gpuopt.to_device(np.ones((530, 130), np.float32), device)
    b, out = (
        gpuopt.to_device(np.ones((130, 4), np.float32), device),
        gpuopt.to_device(np.ones((530, 4), np.float32), device),
    )
    launches = len(prepare_gemm(a, b, out, configuration).kernels) - 1
    assert launches == (67 * 3 if tiles else -(-67 // 32) * 3)


def test_too_many_panels_are_refused(any_device: gpuopt.Device) -> None:
    a, b = np.zeros((1, 1 << 12), np.float32), np.zeros((1 << 12, 1), np.float32)
    a = np.repeat(a, 8 * 600, axis=0)
    with pytest.raises(UnsupportedError, match="76800 panels, a launch each"):
        gpuopt.gemm(a, b, variant=Configuration("constant", HEIGHT=8, DEPTH=32, TILES=1), device=any_device)


def test_a_plan_says_what_it_does(any_device: gpuopt.Device) -> None:
    m, n, k = 64, 96, 128
    shapes = ((m, k), (k, n), (m, n), (m, n))
    a, b, c, out = (_core.empty(shape, np.dtype(np.float32), any_device) for shape in shapes)
    works = {variant: prepare_gemm(a, b, out, variant).work for variant in VARIANTS if variant != "tensor"}
    for work in works.values():
        assert work["flops"] == 2 * m * n * k
        assert work["bytes"]["dram"] == 4 * (m * k + k * n + m * n)
    with_addend = prepare_gemm(a, b, out, "naive", C=c, beta=1).work
    assert with_addend["bytes"]["dram"] == 4 * (m * k + k * n + 2 * m * n)
    products = m * n * k
    requested = {variant: work["bytes"]["requested"] / products for variant, work in works.items()}
    assert requested["naive"] == requested["unrolled"] == 8
    assert requested["vectorized"] == 5  # 16 bytes of A and 64 of B for 16 multiply-adds
    assert requested["multiple_output"] == 1.5
    assert requested["tile"] == 0.5
    assert works["tile"]["bytes"]["local"] == (8 + 0.5) * products
    assert works["constant"]["bytes"]["constant"] == 4 * products
    scaled = prepare_gemm(a, b, out, "naive", C=c, alpha=0, beta=1)
    assert scaled.work["flops"] == 0
    assert scaled.work["bytes"] == {"dram": 4 * 2 * m * n}


def test_a_batch_that_shares_a_matrix_reads_it_once(any_device: gpuopt.Device) -> None:
    a, b, out = (_core.empty(shape, np.dtype(np.float32), any_device) for shape in ((7, 9), (5, 9, 8), (5, 7, 8)))
    work = prepare_gemm(a, b, out, "naive").work
    assert work["flops"] == 5 * 2 * 7 * 8 * 9
    assert work["bytes"]["dram"] == 4 * (7 * 9 + 5 * 9 * 8 + 5 * 7 * 8)


# ---------------------------------------------------------------- the protocol's distributions

FINITE = [name for name in oracle.DISTRIBUTIONS if name != "special"]


@pytest.mark.parametrize("distribution", FINITE)
def test_distributions(device: gpuopt.Device, distribution: str) -> None:
    """Errors of plain products stay within the worst case of any order, whatever the operands; at small K here."""
    for k in (64, 256):
        a, b = oracle.operands(distribution, 48, 40, k, seed=k)
        exact, magnitude = oracle.product(a, b), oracle.magnitude(a, b)
        for variant in ("naive", "vectorized"):
            result = gpuopt.gemm(a, b, variant=variant, device=device)
            assert (np.abs(result - exact) <= rounding.tolerance(magnitude, k, "float32")).all()
            assert oracle.frobenius_error(result, exact) < 2e-6


def test_infinities_and_nan_go_where_numpy_puts_them(device: gpuopt.Device) -> None:
    """Inf and NaN stay in their rows and columns, past every edge; numbers too small for fp32's exponents may be 0."""
    a, b = oracle.operands("special", 67, 35, 101)
    exact, finite = oracle.product(a, b), np.isfinite(oracle.product(a, b))
    assert 0 < np.count_nonzero(~finite) < finite.size
    magnitude = oracle.magnitude(np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0))[finite]
    allowance = rounding.tolerance(magnitude, 101, "float32") + 101 * 2.0**-124
    ran = 0
    for variant in (name for name in VARIANTS if name != "tensor"):  # which refuses them
        try:
            result = gpuopt.gemm(a, b, variant=variant, device=device)
        except UnsupportedError:
            continue
        ran += 1
        np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
        np.testing.assert_array_equal(result[np.isinf(exact)], exact[np.isinf(exact)])
        assert (np.abs(result[finite] - exact[finite]) <= allowance).all()
    assert ran >= len(VARIANTS) - 2


@pytest.mark.thin(3)
@pytest.mark.parametrize("preset", papers.figures("gemm"))
def test_the_papers_presets(device: gpuopt.Device, preset: str) -> None:
    check(device, papers.preset("gemm", preset), [(37, 53, 29)])


def test_combinations_are_many() -> None:
    """The forms above hold every pair of a transpose and a dtype's addend that kernels are compiled for."""
    assert {(a, b) for _, a, b, _ in FORMS_OF_PRODUCTS} | {(False, False)} == set(
        itertools.product([False, True], repeat=2)
    )
