"""What the harness does not ask of GEMM's kernels: the work and the launches of plans, refusals, special numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core
from gpuopt.workloads.common import rounding
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.operation import prepare_gemm
from workloads.gemm.cases import FORMS_OF_PRODUCTS, LEAN, PLAIN, SMALL_TILES

VARIANTS = [variant.name for variant in gpuopt.variants("gemm")]


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
    elif variant == "vector" and device.type != "cpu":
        reason = "what work-groups do"
    if reason:
        with pytest.raises(UnsupportedError, match=reason):
            prepare_gemm(a, b, out, variant)
        return
    prepare_gemm(a, b, out, variant).run()
    np.testing.assert_array_equal(out.to_numpy(), np.full((5, 7), 6, np.float32))


# ---------------------------------------------------------------- what a plan is made of


def test_more_matrices_than_a_launch_has_groups(device: gpuopt.Device) -> None:
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


def test_two_queues_keep_their_order(device: gpuopt.Device) -> None:
    """Whatever the queues overlap: sums of one tile of rows alternate between them, runs follow each other without a
    wait, several threads run plans, and what is read next comes after both queues."""
    draw = np.random.default_rng(8)
    a, b = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((8, 1000), (1000, 3000)))
    arrays = [gpuopt.to_device(array, device) for array in (a, b)]
    two = Configuration("constant", HEIGHT=8, DEPTH=32, TILES=1, LOCAL=64, QUEUES=2)
    one = Configuration("constant", HEIGHT=8, DEPTH=32, TILES=1, LOCAL=64, QUEUES=1)
    outs = [_core.empty((8, 3000), np.dtype(np.float32), device, True) for _ in range(3)]
    plans = [
        prepare_gemm(*arrays, out, configuration) for out, configuration in zip(outs, (one, two, two), strict=True)
    ]
    plans[0].run()
    expected = outs[0].to_numpy()  # the same additions in the same order
    np.testing.assert_allclose(expected, a.astype(np.float64) @ b, atol=1e-3)
    assert len(plans[1].kernels) == 1 + 2 * 32
    plans[1].start()
    np.testing.assert_array_equal(outs[1].to_numpy(), expected)
    with ThreadPoolExecutor(2) as threads:
        times = list(threads.map(lambda plan: plan.sample(3, batch=3), plans[1:]))
    for out, samples in zip(outs[1:], times, strict=True):
        assert min(samples["device_ms"]) > 0
        np.testing.assert_array_equal(out.to_numpy(), expected)


@pytest.mark.parametrize(("panels", "items", "by_pass"), [(1, 1, 1), (8, 4, 1), (4, 2, 0)])
def test_packed_shares_one_matrix_of_a_batch(device: gpuopt.Device, panels: int, items: int, by_pass: int) -> None:
    configuration = Configuration("packed", **SMALL_TILES, PANELS=panels, ITEMS=items, PASS=by_pass)
    draw = np.random.default_rng(6)
    a, b = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((31, 150), (3, 150, 21)))
    result = gpuopt.gemm(a, b, variant=configuration, device=device)
    np.testing.assert_allclose(result, a @ b, atol=1e-4)


@pytest.mark.parametrize("by_pass", [0, 1])
def test_packed_asks_for_what_it_packs(any_device: gpuopt.Device, by_pass: int) -> None:
    m, n, k = 64, 96, 256
    a, b, out = (_core.empty(shape, np.dtype(np.float32), any_device) for shape in ((m, k), (k, n), (m, n)))
    plan = prepare_gemm(a, b, out, Configuration("packed", **SMALL_TILES, PANELS=4, PASS=by_pass))
    assert [kernel["entry_point"] for kernel in plan.kernels] == ["gemm_pack_a", "gemm_packed"][1 - by_pass :]
    down = (plan.work["bytes"]["local"] / 4 - m // 4 * n * k) / (k * n)  # how often B is packed
    assert down == round(down) >= 1
    assert plan.work["bytes"]["requested"] == 4 * (m * k * (2 * by_pass + n // 8) + down * k * n + 3 * m * n)


@pytest.mark.parametrize("tiles", [0, 1])
def test_launches_of_constant_panels(device: gpuopt.Device, tiles: int) -> None:
    configuration = Configuration("constant", HEIGHT=8, DEPTH=64, TILES=tiles, LOCAL=64)
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
    elsewhere = {"tensor"} if any_device.type == "cpu" else {"tensor", "packed", "vector"}  # the last are for CPUs
    works = {variant: prepare_gemm(a, b, out, variant).work for variant in VARIANTS if variant not in elsewhere}
    for work in works.values():
        assert work["flops"] == 2 * m * n * k
        assert work["bytes"]["dram"] == 4 * (m * k + k * n + m * n)
    with_addend = prepare_gemm(a, b, out, "naive", C=c, beta=1).work
    assert with_addend["bytes"]["dram"] == 4 * (m * k + k * n + 2 * m * n)
    products = m * n * k
    requested = {variant: (work["bytes"]["requested"] - 4 * m * n) / products for variant, work in works.items()}
    assert requested["naive"] == requested["unrolled"] == 8
    assert requested["vectorized"] == 5  # 16 bytes of A and 64 of B for 16 multiply-adds
    assert requested["multiple_output"] == 1.5
    assert requested["tile"] == 0.5
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
    assert ran >= len(VARIANTS) - (2 if device.type == "cpu" else 3)


def test_combinations_are_many() -> None:
    """The harness's forms hold every pair of transposes."""
    assert {form.transposes for form in FORMS_OF_PRODUCTS} | {PLAIN.transposes} == {"nn", "nt", "tn", "tt"}


@pytest.mark.parametrize("transpose_b", [False, True])
def test_long_sums_of_vectors_stay_accurate(device: gpuopt.Device, transpose_b: bool) -> None:
    """As those of tiles: a batch is not divided along k."""
    draw, k = np.random.default_rng(0), 1 << 18
    a, b = draw.random((2, 1, k), np.float32), draw.random((2, k, 3), np.float32)
    exact = np.array([one.astype(float) @ other.astype(float) for one, other in zip(a, b, strict=True)])
    given = b.swapaxes(1, 2).copy() if transpose_b else b
    found = gpuopt.gemm(a, given, transpose_b=transpose_b, device=device)
    assert np.abs(found / exact - 1).max() < 2e-6
