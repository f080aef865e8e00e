"""Oracle of the matrix product alpha op(A) op(B) + beta C, and operands that tell correct products from others.

Matrices are (rows, columns), or (batch, rows, columns); op is the transpose where asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64Array = NDArray[np.float64]


def product(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Float64Array:
    """Return ``alpha op(a) op(b) + beta c`` in fp64. ``c`` is not read where ``beta`` is 0, nor are ``a`` and ``b``
    where ``alpha`` is. Raises ``ValueError`` for shapes that do not fit, and for beta without ``c``."""
    if beta != 0 and c is None:
        raise ValueError("beta is not 0, but there is no c to add")
    # Inf and NaN are answers, and no reason for a warning.
    with np.errstate(invalid="ignore", over="ignore"):
        left, right = _operand(a, transpose_a), _operand(b, transpose_b)
        result = np.zeros_like(left, shape=_shape(left, right)) if alpha == 0 else alpha * (left @ right)
        if beta != 0:
            result = result + beta * np.asarray(c, dtype=np.float64)
    return np.asarray(result, dtype=np.float64)


def magnitude(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Float64Array:
    """Return ``|alpha| |op(a)| |op(b)| + |beta| |c|`` in fp64: what rounding errors scale with (see
    ``gpuopt.workloads.common.rounding``). Arguments and errors as in :func:`product`."""
    addend = None if c is None else np.abs(c)
    return product(np.abs(a), np.abs(b), addend, abs(alpha), abs(beta), transpose_a, transpose_b)


def frobenius_error(result: ArrayLike, exact: ArrayLike) -> float:
    """Return the norm of the difference over that of ``exact``, both by the square root of the sum of squares."""
    exact = np.asarray(exact, dtype=np.float64)
    return float(np.linalg.norm(np.asarray(result, dtype=np.float64) - exact) / np.linalg.norm(exact))


def _operand(matrix: ArrayLike, transposed: bool) -> Float64Array:
    array = np.asarray(matrix, dtype=np.float64)
    return array.swapaxes(-2, -1) if transposed else array


def _shape(left: Float64Array, right: Float64Array) -> tuple[int, ...]:
    return (*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1])


# ---------------------------------------------------------------- operands


def operands(
    distribution: str, m: int, n: int, k: int, seed: int = 0, dtype: str | np.dtype[Any] = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    """Return A (m, k) and B (k, n) drawn from one of ``DISTRIBUTIONS``. Raises ``ValueError`` for another one."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution is {distribution!r}, but must be one of {', '.join(DISTRIBUTIONS)}")
    a, b = DISTRIBUTIONS[distribution](np.random.default_rng(seed), m, n, k)
    with np.errstate(under="ignore"):
        return a.astype(dtype), b.astype(dtype)


Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int, int, int], Pair]


def _uniform(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
    return draw.uniform(-1, 1, (m, k)), draw.uniform(-1, 1, (k, n))


def _positive(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
    return draw.uniform(0, 1, (m, k)), draw.uniform(0, 1, (k, n))


def _normal(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
    return draw.normal(size=(m, k)), draw.normal(size=(k, n))


def _spread(of_a: float, of_b: float) -> Draw:
    """Magnitudes of all powers of two up to these, evenly."""

    def drawn(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
        a, b = _uniform(draw, m, n, k)
        return np.sign(a) * 2.0 ** draw.uniform(-of_a, of_a, (m, k)), np.sign(b) * 2.0 ** draw.uniform(
            -of_b, of_b, (k, n)
        )

    return drawn


def _rows_badly_scaled(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
    a, b = _uniform(draw, m, n, k)
    return a * 2.0 ** draw.uniform(-40, 40, (m, 1)), b * 2.0 ** draw.uniform(-40, 40, (1, n))


def _special(draw: np.random.Generator, m: int, n: int, k: int) -> Pair:
    """Some rows of A and columns of B hold an infinity or a NaN, some elements are denormal in fp32."""
    a, b = _normal(draw, m, n, k)
    a[draw.uniform(size=a.shape) < 0.1] *= 2.0**-130
    for value in (np.inf, -np.inf, np.nan):
        a[draw.integers(m), draw.integers(k)] = value
        b[draw.integers(k), draw.integers(n)] = value
    return a, b


# Of "spread100", B's exponents stay small: products of two such numbers overflow fp32 itself.
DISTRIBUTIONS: dict[str, Draw] = {
    "uniform": _uniform,
    "positive": _positive,
    "normal": _normal,
    "spread15": _spread(15, 15),
    "spread100": _spread(100, 15),
    "scaled": _rows_badly_scaled,
    "special": _special,
}
