"""A small matrix and vectors."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse


def laplacian(n: int = 200, dtype: str = "float32") -> sparse.dia_array:
    """Five points on a grid ten wide: symmetric, and its offsets show the grid, so that every variant may run."""
    main, side = np.full(n, 4.0), np.full(n, -1.0)
    return sparse.dia_array((np.array([side, side, main, side, side], dtype=dtype), [-10, -1, 0, 1, 10]), shape=(n, n))


def vector(*shape: int, dtype: str = "float32", seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)
