"""What each microbenchmark writes, in plain NumPy: a module a kind of question, a function a variant, named as it is.

A module may also have ``source_<variant>(elements, width, dtype, random)`` where a variant wants data of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """What a kernel is given: the flat source, the scalars in a line of it, trips round its loop, its parameters, and
    how many scalars it writes."""

    source: np.ndarray
    width: int
    trips: int
    parameters: Mapping[str, int]
    outputs: int

    def __getitem__(self, parameter: str) -> int:
        return self.parameters[parameter]


@dataclass(frozen=True)
class Expected:
    """The values written, and the largest absolute error allowed for each."""

    values: np.ndarray
    tolerance: float | np.ndarray = 0.0


def expected(variant: str, case: Case) -> Expected:
    """What ``variant`` writes for ``case``."""
    found: Expected = _find(variant)(case)
    return found


def has_own_source(variant: str) -> bool:
    """Whether a variant wants data of its own."""
    return _find(f"source_{variant}", None) is not None


def source(variant: str, elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """The data a variant is run on: its own where it wants such, else random bits of ordinary size, also for ""."""
    own = _find(f"source_{variant}", None)
    if own is not None:
        made: np.ndarray = own(elements, width, dtype, random)
        return made
    block = min(elements, 1 << 20)  # repeated: memory cannot compress it, and the host makes it in no time
    if dtype.kind == "f":
        values = random.uniform(0.5, 1.5, block).astype(dtype)
    else:
        info = np.iinfo(dtype)
        values = random.integers(info.min, info.max, block, dtype=dtype, endpoint=True)
    return np.resize(values, elements)


_MISSING = object()


def _find(name: str, default: Any = _MISSING) -> Any:
    from gpuopt.workloads.microbench.reference import arithmetic, bandwidth, blocks, caches, execution, patterns

    for module in (bandwidth, patterns, blocks, caches, arithmetic, execution):
        if hasattr(module, name):
            return getattr(module, name)
    if default is _MISSING:
        raise NotImplementedError(f"no reference of the microbenchmark {name}")
    return default
