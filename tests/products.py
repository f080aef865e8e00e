"""What tests of matrix products share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import Configuration
from gpuopt.configuration import complete
from gpuopt.workloads.common import rounding
from gpuopt.workloads.gemm import reference as oracle

# One program for most of what is not about kernels.
PLAIN = complete("gemm", Configuration("naive", LOCAL_X=16, LOCAL_Y=1))
DRAW = np.random.default_rng(7)


def matrix(*shape: int, dtype: str = "float32") -> np.ndarray:
    return DRAW.uniform(-1, 1, shape).astype(dtype)


def close(result: Any, a: Any, b: Any, c: Any = None, **numbers: Any) -> None:
    """Asserts that a result is the product, within the worst case of rounding."""
    values = result if isinstance(result, np.ndarray) else result.to_numpy()
    exact, magnitude = oracle.product(a, b, c, **numbers), oracle.magnitude(a, b, c, **numbers)
    k = a.shape[-2] if numbers.get("transpose_a") else a.shape[-1]
    assert values.shape == exact.shape
    assert values.dtype == a.dtype
    assert (np.abs(values - exact) <= rounding.tolerance(magnitude, k, a.dtype)).all()
