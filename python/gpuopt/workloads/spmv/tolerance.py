"""How far a configuration's product may be from the reference."""

from __future__ import annotations

import functools
from math import frexp
from typing import TYPE_CHECKING

import numpy as np

from gpuopt.configuration import Configuration
from gpuopt.workloads.spmv import reference as oracle

if TYPE_CHECKING:
    from scipy.sparse import dia_array


class Tolerance:
    """The largest error allowed for each element, larger where a configuration stores the matrix in 16 bits."""

    def __init__(self, matrix: dia_array, x: np.ndarray, standard: np.ndarray) -> None:
        self._matrix, self._x, self._standard = matrix, x, standard

    def __call__(self, configuration: Configuration) -> np.ndarray:
        return self._rounded if configuration.parameters.get("HALF") == 1 else self._standard

    @functools.cached_property
    def _rounded(self) -> np.ndarray:
        """Of values that were scaled so that the largest is just below 2^15, as far as powers of two go, and rounded to
        fp16: by half a unit in the last of 11 bits, or of the smallest subnormal number, 2^-24."""
        data, offsets, shape = self._matrix.data, self._matrix.offsets, self._matrix.shape
        columns = oracle.dia_abs_sum(np.broadcast_to(np.float32(1), data.shape), offsets, shape, self._x)
        largest = max((float(np.abs(diagonal).max(initial=0)) for diagonal in data), default=0.0)
        power = min(15 - frexp(largest)[1], 120 if data.dtype == np.float32 else 1000)
        rounding = 2.0**-11 * oracle.dia_abs_sum(data, offsets, shape, self._x) + np.ldexp(columns, -25 - power)
        return self._standard + rounding
