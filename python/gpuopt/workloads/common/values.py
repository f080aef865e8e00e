"""What problems are filled with."""

from __future__ import annotations

from typing import Any

import numpy as np


def uniform(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return values in [-1, 1), made in ``dtype`` itself."""
    values = random.random(shape, dtype=dtype)
    values *= 2
    values -= 1
    return values
