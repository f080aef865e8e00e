"""Whether a task tells right from wrong: results that are plainly wrong are held against its tolerance, before any
kernel runs."""

from __future__ import annotations

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.lab.kernels import tolerances
from gpuopt.lab.kernels.checks import flat
from gpuopt.lab.kernels.task import Arrays, Numbers, Task

ROUNDED = "inputs rounded to the next lower type"
PLAIN = ("zeros", "the mean everywhere", "the result moved on by one element")
OTHER = "the result for other data"


class TaskError(ParameterError):
    """A task whose tolerance lets wrong results through: nothing is judged by it."""


def audit(task: Task, numbers: Numbers, arrays: Arrays, exact: Arrays, allowed: Arrays, other: Arrays) -> list[str]:
    """Notes on what the task cannot tell; ``other`` are the right results for other data. Raises TaskError where a
    result that is plainly wrong would pass."""
    names = [one.name for one in task.results]
    reference, tolerance = flat(exact, names), flat(allowed, names)
    if reference.size == 0:
        raise TaskError(f"task: {task.name} has no result element for these sizes: all kernels pass; give larger sizes")
    wrong, notes = _wrong(task, arrays, reference), []
    wrong[OTHER] = flat(other, names)
    values, note = _of_rounded(task, numbers, arrays)
    notes += [note] if note else []
    if values is not None:
        limit = task.tolerance
        if limit is None or limit.magnitude is None:
            wrong[ROUNDED] = values
        elif tolerances.audited({ROUNDED: values}, reference, tolerance) and not np.array_equal(values, reference):
            notes.append(f"{ROUNDED} would pass: sums of so many terms cannot tell")
    # What equals the right result is no wrong one: a copy is its input, and the same data have the same result.
    same = [name for name, values in wrong.items() if name not in PLAIN and np.array_equal(values, reference)]
    if OTHER in same:
        notes.append("other seeds give the same result: a kernel that knows it cannot be told")
    wrong = {name: values for name, values in wrong.items() if name not in same}
    trivial = reference.size == 1 or bool((reference == reference[0]).all())
    through = tolerances.audited(wrong, reference, tolerance)
    if trivial:  # one number: it is its own mean, and moved on by one element it is itself
        through = [one for one in through if one not in PLAIN[1:]]
    if through:
        summed = ", or tolerance=lab.rounding(...) where they are summed" if through == [ROUNDED] else ""
        raise TaskError(
            f"task: {', '.join(through)} would pass within the tolerance of {task.name}; give a smaller tolerance, or "
            f"data that tell these from the right result{summed}"
        )
    return notes


def _wrong(task: Task, arrays: Arrays, reference: np.ndarray) -> dict[str, np.ndarray]:
    """Wrong results that need no reference."""
    finite = reference[np.isfinite(reference)]
    mean = finite.mean() if finite.size else 0
    made = (np.zeros_like(reference), np.full_like(reference, mean), np.roll(reference, 1))
    wrong = dict(zip(PLAIN, made, strict=True))
    for one in task.arrays:
        if one.is_given and arrays[one.name].dtype.kind in "fiu" and arrays[one.name].size == reference.size:
            wrong[f"{one.name} itself"] = arrays[one.name].reshape(-1)
    return wrong


def _of_rounded(task: Task, numbers: Numbers, arrays: Arrays) -> tuple[np.ndarray | None, str]:
    """The right results for rounded inputs; None, and perhaps why, where there are none. What is finite may be infinite
    as a lower type, which the task's own functions need not take."""
    lower, note = _rounded(task, arrays)
    if lower is None:
        return None, note
    try:
        return flat(task.right(numbers, lower)[0], [one.name for one in task.results]), ""
    except ParameterError as error:
        return None, f"{ROUNDED} were not tried: {error}"


def _rounded(task: Task, arrays: Arrays) -> tuple[Arrays | None, str]:
    """Inputs in the type below that of the results, or below their own where that is less; None, and perhaps why, where
    there is no such type."""
    floats = [one.dtype for one in task.results if one.dtype.kind == "f"]
    kinds = {one.name: one.dtype for one in task.arrays if one.is_given and one.dtype.kind == "f"}
    if not floats or not kinds:
        return None, ""
    result = max(floats, key=lambda dtype: dtype.itemsize)
    below = tolerances.LOWER.get(result.name)
    if below is None:
        wider = [name for name, kind in kinds.items() if kind.itemsize > result.itemsize]
        if not wider:
            return None, ""
        return None, f"{ROUNDED} were not tried: {wider[0]} is wider than {result}, below which there is none"
    rounded = dict(arrays)
    for name, kind in kinds.items():
        own = tolerances.LOWER.get(kind.name)
        if own is not None:
            least = min(np.dtype(own), np.dtype(below), key=lambda dtype: dtype.itemsize)
            with np.errstate(over="ignore"):
                rounded[name] = arrays[name].astype(least).astype(kind)
    return rounded, ""
