"""How far a result may be from its reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.timing.verification import distances

ROOM = 8  # times the error of the reference computed in the output's own type
LEAST = 64  # roundings: OpenCL allows functions some units in the last place each, and NumPy sums in pairs
LEAST_HALF = 8  # of float16, where so many would be no test
Reference = Callable[..., Any]


@dataclass(frozen=True)
class Tolerance:
    """What is allowed: ``absolute`` for each element, or ``terms`` roundings of sums of ``magnitude``."""

    absolute: float | None = None
    magnitude: Reference | None = None
    terms: str | int | None = None


@checked
def within(absolute: float) -> Tolerance:
    """The same absolute error for each element; 0 for results that must be exact. Raises ParameterError for what is
    negative or not finite.

    Examples
    --------
    >>> lab.within(1e-3).absolute
    0.001
    """
    return allowed(absolute, "absolute")


def allowed(absolute: float, what: str) -> Tolerance:
    """The same of the argument ``what``, which the error names."""
    if not 0 <= absolute < float("inf"):
        raise ParameterError(f"{what}: it is {absolute}; give a finite number of at least 0")
    return Tolerance(absolute=absolute)


@checked
def rounding(magnitude: Reference, terms: str | int) -> Tolerance:
    """What rounding may cost sums in the output's type: 4 sqrt(terms) u times the sum of magnitudes, u being the unit
    roundoff.

    ``magnitude`` is called as the reference and returns the same with the absolute values of what is summed, finite
    wherever the reference is; ``terms`` is an expression, the number of terms. Rounding errors of random sign stay
    within it in any order of summation, as Higham and Mary show ("A New Approach to Probabilistic Rounding Error
    Analysis", 2019); no sum in a lower precision does. Many numbers that are nearly equal, added one after the other,
    may err by more.

    Examples
    --------
    >>> limit = lab.rounding(lambda x: np.abs(x).sum(), "n")
    >>> float(limit.magnitude(np.array([1.0, -2.0]))), limit.terms
    (3.0, 'n')
    """
    return Tolerance(magnitude=magnitude, terms=terms)


def of_own_type(exact: np.ndarray, rough: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The tolerance of a result of ``dtype``: 8 times the largest error, relative to an element and the outputs' usual
    size, that the reference itself makes in that type, and at least 64 roundings. Whole numbers must be exact."""
    if dtype.kind != "f":
        return np.zeros(exact.shape)
    finite = np.isfinite(exact)
    largest = float(np.abs(exact[finite]).max(initial=0.0)) or 1.0  # its square may be more than fp64 holds
    usual = largest * float(np.sqrt(np.mean(np.square(exact[finite] / largest)))) if finite.any() else 0.0
    half = np.where(finite, np.abs(exact), 0.0) / 2 + usual / 2  # of the size, which may be more, too
    with np.errstate(all="ignore"):
        errors = np.abs(rough.astype(np.float64) - exact)[finite] / 2
        errors /= np.maximum(half[finite], np.finfo(np.float64).tiny)
    least = (LEAST if dtype.itemsize > 2 else LEAST_HALF) * float(np.finfo(dtype).eps) / 2
    own = float(errors[np.isfinite(errors)].max(initial=0.0))
    allowed = np.minimum(max(ROOM * min(own, 2.0**-3), least) * half, np.finfo(np.float64).max / 2) * 2
    result: np.ndarray = np.maximum(allowed, _least_step(dtype))
    return result


def _least_step(dtype: np.dtype[Any]) -> float:
    """How far numbers of a type lie apart next to zero; of float32, whose smallest numbers devices may take for zero,
    the least of those that they keep."""
    info = np.finfo(dtype)
    return float(info.tiny if dtype.name == "float32" else info.smallest_subnormal)


def of_rounding(name: str, exact: np.ndarray, magnitude: np.ndarray, terms: int, dtype: np.dtype[Any]) -> np.ndarray:
    """The tolerance of :func:`rounding` for a result of this name, 0 where it is not finite. Raises ParameterError
    where the result is finite and what is allowed is not: any kernel would pass there, or none."""
    if dtype.kind != "f":
        return np.zeros(magnitude.shape)
    finite = np.isfinite(exact)
    with np.errstate(over="ignore"):
        allowed = 4 * max(1.0, terms) ** 0.5 * float(np.finfo(dtype).eps) / 2 * np.abs(magnitude)
    if (endless := finite & ~np.isfinite(allowed)).any():
        at = tuple(int(i) for i in np.argwhere(endless)[0])
        raise ParameterError(
            f"magnitude: of {name} it is {magnitude[at]:g} at {at}, and allows no finite error, where the reference is "
            "finite; return finite numbers there"
        )
    return np.where(finite, allowed, 0.0)


LOWER = {"float64": "float32", "float32": "float16"}


def audited(wrong: Mapping[str, np.ndarray], exact: np.ndarray, tolerance: np.ndarray) -> list[str]:
    """The names of wrong results that the tolerance lets through: a task that has one tells right from wrong badly.
    Infinities and NaN where the right result has them are right."""
    through = []
    for name, values in wrong.items():
        with np.errstate(all="ignore"):
            error = distances(values, exact)
            same = (values == exact) | (np.isnan(values) & np.isnan(exact))
        if bool((same | (np.isfinite(exact) & (error <= tolerance))).all()):
            through.append(name)
    return through
