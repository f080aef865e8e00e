"""What rounding may cost a sum of products, whatever the order of summation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNIT_ROUNDOFF = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


def unit_roundoff(dtype: str | np.dtype[Any]) -> float:
    """Return half the distance from 1 to the next number. Raises ``ValueError`` but for float16, float32, float64."""
    name = np.dtype(dtype).name
    if name not in UNIT_ROUNDOFF:
        raise ValueError(f"dtype is {name}, but must be one of {', '.join(UNIT_ROUNDOFF)}")
    return UNIT_ROUNDOFF[name]


def tolerance(abs_sum: ArrayLike, terms: int, dtype: str | np.dtype[Any]) -> NDArray[np.float64]:
    """Return the absolute error, element by element, that correct sums of ``terms`` products in ``dtype`` stay within.

    ``(terms + 2) u sum|a||b|`` with u the unit roundoff: the worst case of any order of summation, and a scaling of the
    result. ``abs_sum`` holds the sums of magnitudes.
    """
    return (terms + 2) * unit_roundoff(dtype) * np.asarray(abs_sum, dtype=np.float64)
