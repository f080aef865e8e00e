"""What tells kernels apart, and problems of one kernel: hashes of a declaration, and of data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import numpy as np

from gpuopt.lab.kernels import recipe
from gpuopt.lab.kernels.arguments import Array, Value
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.frames import described
from gpuopt.lab.kernels.task import Arrays, Numbers, Task

_DIGITS = 16  # of the hash of data


def of_kernel(task: Task, code: Code) -> str:
    """A hash of text and declaration."""
    levels = {name: list(some) for name, some in code.space.levels.items()}
    told = [recipe.written(task, code, {}, {}), levels]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def of_plan(task: Task, code: Code) -> str:
    """A hash of what a kernel is run by beside its text, options and levels: its arguments, its stages in their order
    with the arguments and the launch of each, and the work that is declared."""
    told = recipe.written(task, code, {}, {})
    parts = [sorted(told["arguments"], key=json.dumps), told["stages"], told["work"]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def of_data(task: Task, numbers: Numbers, arrays: Arrays) -> str:
    """A hash of numbers, of what each value is in each round, and of the bytes of each array that is given or was
    drawn: the same in every process, whoever made the data."""
    made = hashlib.sha256()
    for one in task.arguments:
        if isinstance(one, Value):
            each = None if one.each is None else one.each.text
            made.update(json.dumps([one.name, described(one.dtype), each]).encode())
        elif isinstance(one, Array) and one.role != "scratch":
            made.update(json.dumps([one.name, one.role, described(one.dtype), task.shape(one, numbers)]).encode())
    for name, number in sorted(numbers.items()):
        made.update(json.dumps([name, None if isinstance(number, np.generic) else number]).encode())
        if isinstance(number, np.generic):
            _add(made, np.asarray(number))
    for name in sorted(arrays):
        made.update(json.dumps(name).encode())
        _add(made, arrays[name])
    return made.hexdigest()[:_DIGITS]


def _add(made: hashlib._Hash, array: np.ndarray) -> None:
    for part in _plain(array):
        made.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)


def _plain(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array, or of structs each of its fields: the bytes between them are anything."""
    if array.dtype.names is None:
        yield array
    else:
        for name in array.dtype.names:
            yield from _plain(array[name])
