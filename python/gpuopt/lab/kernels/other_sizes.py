"""Sizes that a kernel is tried at beside those it was given for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Numbers, Task


def other_sizes(task: Task, levels: Levels, given: dict[str, Any], numbers: Numbers) -> Iterator[dict[str, Any]]:
    """One less, a prime, half, a work-group and one more, and one, of all sizes that no array of the task fixes;
    whether the kernel takes them is for the caller to see. ``given`` are sizes and values by name, ``numbers`` all."""
    names = [name for name in task.sizes_wanted([*levels]) if isinstance(numbers.get(name), int)]
    fixed = {part.text for one in task.arrays if one.data is not None for part in one.shape}
    free = [name for name in names if name not in fixed]
    group = max((int(level) for level in levels.values() if isinstance(level, int)), default=64)
    changes: list[Callable[[int], int]] = [
        lambda n: n - 1,
        _prime_below,
        lambda n: n // 2,  # of sizes that must be multiples of something
        lambda n: min(n, group + 1),
        lambda n: 1,
    ]
    seen = {tuple(numbers[name] for name in free)}
    for change in changes:
        sizes = {name: max(1, change(int(numbers[name]))) for name in free}
        if tuple(sizes.values()) not in seen and free:
            seen.add(tuple(sizes.values()))
            yield {**given, **sizes}


def _prime_below(n: int) -> int:
    for candidate in range(n - 2, 1, -1):
        if all(candidate % factor for factor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 1
