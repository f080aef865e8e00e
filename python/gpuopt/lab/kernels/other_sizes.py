"""Sizes and values that a kernel is tried at beside those it was given for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpuopt.lab.kernels.arguments import Value
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Numbers, Task


def free_sizes(task: Task, levels: Levels, numbers: Numbers) -> list[str]:
    """The names of the sizes that no array of the task fixes; none, where whole numbers that a task brings may be
    places in any array."""
    brought = [one for one in task.arrays if one.data is not None]
    if any(one.dtype.kind != "f" for one in brought):
        return []
    fixed = {name for one in brought for part in one.shape for name in part.names}
    names = task.sizes_wanted([*levels])
    return [name for name in names if isinstance(numbers.get(name), int) and name not in fixed]


def other_sizes(
    free: Sequence[str], levels: Levels, given: dict[str, Any], numbers: Numbers
) -> Iterator[dict[str, Any]]:
    """Of all sizes in ``free`` at once: one less, one more, a prime, half, a work-group and one more, and one. Of each
    alone: one less and half, so that sizes that are equal as given are told apart; and two sets of sizes that all
    differ. Whether the kernel takes them is for the caller to see. ``given`` are sizes and values by name, ``numbers``
    all."""
    group = max((int(level) for level in levels.values() if isinstance(level, int)), default=64)
    together: list[Callable[[int], int]] = [
        lambda n: n - 1,
        lambda n: n + 1,
        _prime_below,
        lambda n: n // 2,  # of sizes that must be multiples of something
        lambda n: min(n, group + 1),
        lambda n: 1,
    ]
    own = {name: int(numbers[name]) for name in free}
    tried = [{name: change(n) for name, n in own.items()} for change in together]
    for change in (together[0], together[3]):
        tried += [{**own, name: change(n)} for name, n in own.items()]
    tried += [_apart(own), {name: n >> place for place, (name, n) in enumerate(own.items())}]
    seen = {tuple(own.values())}
    for sizes in tried:
        least = {name: max(1, n) for name, n in sizes.items()}
        if tuple(least.values()) not in seen:
            seen.add(tuple(least.values()))
            yield {**given, **least}


def other_values(task: Task, levels: Levels, numbers: Numbers) -> Iterator[tuple[str, Any]]:
    """Names of values that are no sizes, each with another value near that of ``numbers``: three quarters of a real
    number, so that its sign stays, and a whole one nearer to 0 by one; of a struct, of all of its real fields. See
    :func:`kept_values` for those that are left."""
    for one in _no_sizes(task, levels):
        given = numbers[one.name]
        if one.dtype.names:
            changed = np.array(given, one.dtype)
            for field in one.dtype.names:
                if changed[field].dtype.kind == "f":
                    changed[field] = _nearby(changed[field])
            yield one.name, changed[()]
        elif one.dtype.kind == "f":
            yield one.name, float(_nearby(given))
        elif abs(given) > 1:
            yield one.name, given - 1 if given > 0 else given + 1


def kept_values(task: Task, levels: Levels, numbers: Numbers) -> list[str]:
    """Names of values, or of fields of theirs, of which no other is tried: 0, 1 and -1 may be flags, and whole numbers
    of a struct places, for which nobody can declare what they may be."""
    kept = []
    for one in _no_sizes(task, levels):
        if one.dtype.names:
            kept += [f"{one.name}.{field}" for field in one.dtype.names if one.dtype[field].base.kind != "f"]
        elif one.dtype.kind != "f" and abs(numbers[one.name]) <= 1:
            kept.append(one.name)
    return kept


def _no_sizes(task: Task, levels: Levels) -> list[Value]:
    sizes = task.sizes_wanted([*levels])
    return [one for one in task.values if one.name not in sizes and one.each is None]


def _nearby(number: Any) -> Any:
    return np.where(np.asarray(number) == 0, 0.5, 0.75 * np.asarray(number))


def _apart(sizes: dict[str, int]) -> dict[str, int]:
    """The sizes, each less by as little as makes it differ from those before it."""
    found: dict[str, int] = {}
    for name, n in sizes.items():
        least = n - 1
        while least in found.values():
            least -= 1
        found[name] = least
    return found


def _prime_below(n: int) -> int:
    for candidate in range(n - 2, 1, -1):
        if all(candidate % factor for factor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 1
