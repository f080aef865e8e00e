"""Whether a result is right: compared with its reference, element by element, before and after timing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import Device, Fences, MismatchError, UnsupportedError
from gpuopt.configuration import Configuration, table_of
from gpuopt.lab.timing.fields import Errors, VerifiedErrors
from gpuopt.problem import BoundPlan, ManyOutputs, Problem, own_inputs


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    word = f"u{a.dtype.itemsize}"
    return np.array_equal(np.ascontiguousarray(a).view(word), np.ascontiguousarray(b).view(word))


def compare(result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> Errors:
    """Errors of ``result`` against the float64 ``reference``; raises MismatchError naming the worst element.

    Infinities and NaN must stand where the reference has them. ``max_ulp`` is in units of the last place of
    ``result``'s dtype, ``max_of_tol`` the largest error as a part of what is allowed there. What must agree exactly and
    has the same dtype is compared bit by bit.
    """
    result = _native(result)
    if result.shape != reference.shape:
        raise MismatchError(f"the result's shape is {result.shape}, the reference's {reference.shape}")
    if not tolerance.any() and result.dtype == reference.dtype and _same_bits(result, reference):
        return Errors(max_abs=0.0, max_rel=0.0, max_ulp=0.0, max_of_tol=0.0, l2_rel=0.0, tol=0.0)
    got, wanted = result.reshape(-1), reference.reshape(-1)
    allowed = np.broadcast_to(tolerance, result.shape).reshape(-1) if tolerance.ndim else tolerance
    found = _Errors()
    for start in range(0, got.size, PART):
        part = slice(start, start + PART)
        found.add(start, got[part], wanted[part], allowed[part] if tolerance.ndim else allowed)
    if found.wrong:
        at = tuple(int(i) for i in np.unravel_index(found.worst, result.shape))
        limit = float(allowed[found.worst] if tolerance.ndim else allowed)
        raise MismatchError(
            f"{found.wrong} of {result.size} elements are off; the worst, {at}, is {_shown(got[found.worst])} "
            f"instead of {_shown(wanted[found.worst])} (allowed {limit:.3g})"
        )
    return {
        "max_abs": found.max_abs,
        "max_rel": found.max_rel,
        "max_ulp": found.max_ulp,
        "max_of_tol": found.max_of_tol,
        "l2_rel": found.squares.root_over(found.scale),
        "tol": float(np.max(tolerance, initial=0.0)) if result.size else 0.0,
    }


def _native(values: np.ndarray) -> np.ndarray:
    """In the machine's byte order, and at most as wide as the reference."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The absolute differences, in float64. Those of whole numbers are exact before they become so: float64 does not
    tell large ones apart, and their own type may not hold them."""
    if np.result_type(a, b).kind in "iu":
        exact = np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)
        return np.asarray(exact, dtype=np.float64)
    return np.asarray(np.abs(np.subtract(a, b, dtype=np.float64)))


def _shown(number: np.generic) -> str:
    return str(number) if number.dtype.kind in "iu" else f"{float(number):.9g}"


TINY = 1e-140  # sums of squares from here to its inverse lose nothing, and neither do quotients of two of them
PART = 1 << 16  # elements compared at once: a dozen fp64 temporaries of so many stay in a cache


@dataclass
class _Squares:
    """A sum of squares, ``total`` times 4 to the power ``exponent``: squares of float64 may leave float64."""

    total: float = 0.0
    exponent: int = 0

    def add(self, values: np.ndarray) -> None:
        """Adds the squares of these, of which infinities and NaN count nothing."""
        exponent, total = 0, _squares(values)
        if not TINY < total < 1 / TINY:
            largest = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
            if not largest:
                return
            exponent = math.frexp(largest)[1]
            total = _squares(np.ldexp(values[np.isfinite(values)], -exponent))
        common = max(exponent, self.exponent) if self.total else exponent
        self.total = math.ldexp(self.total, 2 * (self.exponent - common)) + math.ldexp(total, 2 * (exponent - common))
        self.exponent = common

    def root_over(self, other: _Squares) -> float:
        """The root of this sum over that of another; 0 where the other is."""
        if not other.total:
            return 0.0
        with np.errstate(over="ignore"):  # errors of 1e300 where 1e-300 is right
            return float(np.ldexp(math.sqrt(self.total / other.total), self.exponent - other.exponent))


@dataclass
class _Errors:
    """The errors of parts of an array, put together."""

    wrong: int = 0
    worst: int = 0
    worst_error: float = -1.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: float = 0.0
    max_of_tol: float = 0.0
    squares: _Squares = field(default_factory=_Squares)
    scale: _Squares = field(default_factory=_Squares)

    def add(self, start: int, result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):  # random bytes may be a NaN that signals
            alike = bool((result == reference).all())  # as most exact results of large problems are; none is a NaN then
        if alike:
            self.scale.add(reference.astype(np.float64, copy=False))
        elif not self._add_finite(result, reference, tolerance):
            self._add_any(start, result, reference, tolerance)

    def _add_finite(self, result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> bool:
        """Adds what is finite and right; returns False, and adds nothing, where something is not."""
        with np.errstate(all="ignore"):
            error = distances(result, reference)
            if not np.isfinite(error.max()) or not (error <= tolerance).all():
                return False
            self._largest(result.dtype, error, np.abs(reference.astype(np.float64, copy=False)), tolerance)
        return True

    def _add_any(self, start: int, result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> None:
        finite = np.isfinite(reference)
        with np.errstate(all="ignore"):
            same = np.where(np.isnan(reference), np.isnan(result), result == reference)
            error = np.where(finite, distances(result, reference), np.where(same, 0.0, np.inf))
        wrong = ~(error <= np.where(finite, tolerance, 0.0))  # NaN errors count as wrong
        if wrong.any():
            self.wrong += int(wrong.sum())
            seen = np.where(np.isnan(error), np.inf, error)
            at = int(np.argmax(seen))
            if seen[at] > self.worst_error:
                self.worst, self.worst_error = start + at, float(seen[at])
            return
        with np.errstate(all="ignore"):
            self._largest(result.dtype, error, np.abs(np.where(finite, reference, 0.0).astype(np.float64)), tolerance)

    def _largest(self, dtype: np.dtype[Any], error: np.ndarray, scale: np.ndarray, tolerance: np.ndarray) -> None:
        """Adds errors, of which none is wrong, of results whose references have these sizes."""
        tiny = np.finfo(np.float64).tiny
        relative = error / np.maximum(scale, tiny)
        if not scale.all():
            relative = relative[scale > 0]
        self.max_abs = max(self.max_abs, float(error.max()))
        self.max_rel = max(self.max_rel, float(relative.max(initial=0.0)))
        self.max_ulp = max(self.max_ulp, float((error / _last_places(scale, dtype)).max()))
        self.max_of_tol = max(self.max_of_tol, float((error / np.maximum(tolerance, tiny)).max()))
        self.squares.add(error)
        self.scale.add(scale)


def _squares(values: np.ndarray) -> float:
    """The sum of squares, by one thread: of so short arrays others cost more than they save."""
    return float(np.einsum("i,i", values, values))


_EXPONENTS = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}  # the bits of an exponent, by bytes of a float


def _last_places(scale: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """What a unit in the last place is for numbers of these sizes in a dtype: as ``np.spacing``, in a quarter of its
    time, and infinite where the dtype has no such number."""
    if dtype.kind != "f":
        return np.ones(1)
    kind, word = np.finfo(dtype), f"u{dtype.itemsize}"
    powers = (scale.astype(dtype).view(word) & np.array(_EXPONENTS[dtype.itemsize], word)).view(dtype)
    units: np.ndarray = powers.astype(np.float64) * float(kind.eps)
    return np.asarray(np.maximum(units, float(kind.smallest_subnormal)))


def verify(bound: BoundPlan, problem: Problem, configuration: Configuration) -> VerifiedErrors:
    """Poisons the output, runs once, and holds the result against the reference and the guard zones. Raises
    MismatchError."""
    tolerance = problem.tolerance_for(configuration)
    if bound.checks is not None:
        own: Errors = bound.checks.verify(problem.reference, tolerance)
        return {**own, "canary_ok": True}
    assert not isinstance(bound.output, ManyOutputs)
    bound.output.fill_bytes(0xFF)
    (bound.proof or bound.prepared).run()
    errors = compare(problem.seen(bound.output.to_numpy()), problem.reference, tolerance)
    if not bound.output.guards_intact():
        raise MismatchError("the kernel wrote outside its output")
    return {**errors, "canary_ok": True}


def verify_awkward(problem: Problem, configuration: Configuration, device: Device) -> list[str]:
    """Holds the configuration against the small problems beside this one, of awkward sizes, as :func:`verify_fenced`
    does. Returns why it was not held against one of them that is for such a variant. Raises MismatchError, which names
    the problem."""
    notes = []
    for small in problem.awkward():
        try:
            verify_fenced(small, configuration, device)
        except UnsupportedError as error:
            if small.is_for(table_of(small.workload)[configuration.variant]):
                notes.append(f"{configuration} was not verified on {small.name} too: {error}")
        except MismatchError as error:
            raise MismatchError(f"on the small problem {small.name}: {error}") from error
    return notes


def verify_fenced(problem: Problem, configuration: Configuration, device: Device) -> None:
    """Holds the configuration against a problem with a plan of its own. On CPU devices all of its buffers lie between
    protected pages, and behind inputs are NaN. Raises MismatchError, and what the problem's ``prepare`` raises."""
    with own_inputs(), Fences() as fences:
        verify(problem.prepare(configuration, device), problem, configuration)
        if not fences.intact():
            raise MismatchError("the kernel read or wrote outside its inputs, its output or its scratch memory")


def check_again(bound: BoundPlan, problem: Problem, configuration: Configuration) -> None:
    """After timing: one more sample writes over poison, and the result must still be right, so a plan that writes
    nothing any more shows, as accumulation and races do. Where timed runs store nothing, one that stores is run."""
    if bound.checks is not None:
        bound.checks.again(problem.reference, problem.tolerance_for(configuration))
        return
    assert not isinstance(bound.output, ManyOutputs)
    bound.output.fill_bytes(0xFF)
    if bound.proof is not None:
        bound.proof.run()
    else:
        bound.prepared.sample(1)
    compare(problem.seen(bound.output.to_numpy()), problem.reference, problem.tolerance_for(configuration))
    if not bound.output.guards_intact():
        raise MismatchError("the kernel wrote outside its output while it was timed")
