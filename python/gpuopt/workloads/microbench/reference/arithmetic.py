"""Operations in registers: recurrences, iterated step by step in fp64 or in wrapping integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected
from gpuopt.workloads.microbench.reference.patterns import rounding

STEPS = 16  # of each chain in a trip
STARTS = 16  # elements that chains start from
NATIVE = 1e-4  # relative error allowed to a native function, whose accuracy no standard says
Function = Callable[[np.ndarray], np.ndarray]


def _starts(case: Case, ahead: int | np.ndarray) -> np.ndarray:
    """Element ``ahead`` of each work-item that differs: (chains if many, items, lanes)."""
    elements = case.source.reshape(-1, case.parameters.get("WIDTH", 1))[:STARTS]
    items = np.arange(min(len(elements), case.outputs))
    return np.asarray(elements[(items + np.asarray(ahead)[..., None]) % len(elements)])


def _chains(case: Case) -> np.ndarray:
    return np.arange(case.parameters.get("CHAINS", 1))


def _iterated(
    case: Case, x: np.ndarray, function: Function, slope: Function | float, accuracy: float
) -> tuple[np.ndarray, np.ndarray]:
    """``x = function(x)`` for all steps, and what a kernel may be off by: each step adds ``accuracy`` of its result and
    changes the earlier error by its slope. Stops early where steps change nothing any more."""
    error = np.zeros_like(x)
    for _ in range(case.trips * STEPS):
        following = function(x)
        grown = error * np.abs(slope(x) if callable(slope) else slope) + accuracy * np.abs(following)
        if np.array_equal(following, x) and np.allclose(grown, error, rtol=1e-6, atol=0):
            break
        x, error = following, grown
    return x, error


def _added(case: Case, x: np.ndarray, error: np.ndarray) -> Expected:
    """Sums over chains and lanes, in fp32 at least: each addition rounds, and then the result."""
    dtype = case.source.dtype
    values, errors, sizes = x.sum(axis=(0, 2)), error.sum(axis=(0, 2)), np.abs(x).sum(axis=(0, 2))
    adding = float(np.finfo(np.promote_types(dtype, np.float32)).eps) * x.shape[0] * x.shape[2]
    errors = errors + (adding + float(np.finfo(dtype).eps)) * sizes
    return Expected(np.resize(values, case.outputs), np.resize(errors, case.outputs))


def source_fma(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """Coefficients below 1: x stays between 1/2 and 2, and an error of long ago fades."""
    if dtype.kind != "f":  # no row is for it
        return np.ones(elements, dtype)
    return np.resize(random.uniform(0.9375, 0.96875, min(elements, 1 << 20)).astype(dtype), elements)


source_fma_add = source_waves = source_fma


def fma(case: Case) -> Expected:
    x, y, z = (_starts(case, i).astype(np.float64) for i in (_chains(case), _chains(case).size, _chains(case).size + 1))
    eps = float(np.finfo(case.source.dtype).eps)
    return _added(case, *_iterated(case, x, lambda x: x * y + (1 - z), np.abs(y).max(), eps))


waves = fma


def fma_add(case: Case) -> Expected:
    """Chains in turn by multiply-adds and by ``w = z - w``, which comes back after two steps but for their rounding."""
    chains = _chains(case)
    x, y, z = (_starts(case, i).astype(np.float64) for i in (chains, chains.size, chains.size + 1))
    eps = float(np.finfo(case.source.dtype).eps)
    values, errors = _iterated(case, x[::2], lambda x: x * y + (1 - z), np.abs(y).max(), eps)
    all_values, all_errors = x.copy(), np.full_like(x, 2 * eps)
    all_values[::2], all_errors[::2] = values, errors
    return _added(case, all_values, all_errors)


def int_mad(case: Case) -> Expected:
    chains = _chains(case)
    word = np.dtype(f"u{case.source.itemsize}")
    x, y, z, w = (_starts(case, i).view(word) for i in (chains, chains + 1, chains.size, chains.size + 1))
    for _ in range(case.trips * STEPS):
        x = x * y + z
        y = y * x + w
    sums = (x + y).sum(axis=(0, 2), dtype=word).view(case.source.dtype)
    return Expected(np.resize(sums, case.outputs))


def int_xorshift(case: Case) -> Expected:
    word = np.dtype(f"u{case.source.itemsize}")
    left, right, left_again = (word.type(n) for n in ((13, 17, 5) if word.itemsize == 4 else (13, 7, 17)))
    x = _starts(case, _chains(case)).view(word)
    for _ in range(case.trips * STEPS):
        x = x ^ (x << left)
        x = x ^ (x >> right)
        x = x ^ (x << left_again)
    return Expected(np.resize(x.sum(axis=(0, 2), dtype=word).view(case.source.dtype), case.outputs))


def _one_to_two(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    if dtype.kind != "f":  # no row is for it
        return np.ones(elements, dtype)
    return np.resize(random.uniform(1, 2, min(elements, 1 << 20)).astype(dtype), elements)


source_native_rsqrt = source_rsqrt = source_native_recip = source_divide = _one_to_two
source_native_exp2 = source_native_sin = source_sqrt = _one_to_two


def _addends(case: Case) -> np.ndarray:
    return _starts(case, _chains(case).size).astype(np.float64)


def _special(case: Case, function: Function, slope: Function, native: bool = False) -> Expected:
    """Of ``x = function(x) + z``, a contraction."""
    x, z = _starts(case, _chains(case)).astype(np.float64), _addends(case)
    accuracy = NATIVE if native else 4 * float(np.finfo(case.source.dtype).eps)
    return _added(case, *_iterated(case, x, lambda x: function(x) + z, slope, accuracy))


def rsqrt(case: Case) -> Expected:
    return _special(case, lambda x: x**-0.5, lambda x: -0.5 * x**-1.5)


def native_rsqrt(case: Case) -> Expected:
    return _special(case, lambda x: x**-0.5, lambda x: -0.5 * x**-1.5, native=True)


def native_recip(case: Case) -> Expected:
    return _special(case, lambda x: 1 / x, lambda x: -1 / x**2, native=True)


def divide(case: Case) -> Expected:
    z = _addends(case)
    return _special(case, lambda x: z / x, lambda x: -z / x**2)


def native_exp2(case: Case) -> Expected:
    return _special(case, lambda x: 2**-x, lambda x: -np.log(2) * 2**-x, native=True)


def native_sin(case: Case) -> Expected:
    return _special(case, np.sin, np.cos, native=True)


def sqrt(case: Case) -> Expected:
    return _special(case, np.sqrt, lambda x: 0.5 * x**-0.5)


WARP = 32  # work-items that multiply together


def _on_tensor_cores(case: Case, packed: int) -> Expected:
    """Of ``D = A B + D``, D 16 x 8: item 4 g + t of a warp holds of A rows g and g + 8, of B column g, of D these
    rows and columns 2 t and 2 t + 1. A word of A or B is ``packed`` neighbours in k."""
    lanes, chains = np.arange(WARP), _chains(case)
    bits = case.source[:STARTS].view(np.uint32)
    g, t = np.divmod(lanes, 4)

    def signs(register: int, half: int) -> np.ndarray:
        bit = 17 if half or packed == 1 else 1
        return 1.0 - 2.0 * (bits[(lanes + register) % bits.size] >> bit & 1)

    depth = 8 * packed
    a, b = np.zeros((16, depth)), np.zeros((depth, 8))
    for half in range(packed):
        for across in range(2):  # registers whose k lies half the depth further on
            k = packed * (t + 4 * across) + half
            for down in range(2):
                a[g + 8 * down, k] = signs(2 * across + down, half)
            b[k, g] = signs(4 + across, half)
    j = np.arange(4)
    products = case.trips * STEPS * (a @ b)[g[:, None] + 8 * (j // 2), 2 * t[:, None] + j % 2]
    starts = (bits[(lanes + chains[:, None]) % bits.size] & 255)[..., None] + j
    values = (starts + products).sum(axis=(0, 2))
    reach = (starts + np.abs(products)).sum(axis=(0, 2)).max()
    return Expected(np.resize(values, case.outputs), rounding(case, case.trips * STEPS + 4 * chains.size, float(reach)))


def mma_fp16(case: Case) -> Expected:
    return _on_tensor_cores(case, packed=2)


mma_bf16 = mma_fp16


def mma_tf32(case: Case) -> Expected:
    return _on_tensor_cores(case, packed=1)


def nothing(case: Case) -> Expected:
    return Expected(case.source[:1])
