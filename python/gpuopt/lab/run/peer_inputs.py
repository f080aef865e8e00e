"""The inputs that peers see: a copy of the problem's, which is put back as it was after each of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuopt._core import MismatchError
from gpuopt.problem import AnyPeer, Problem

PART = 1 << 24  # bytes compared at once


@dataclass(frozen=True)
class _Leaf:
    """A value among the inputs: where it stands, what it is in the copy, and what it was."""

    name: str
    holder: dict[str, Any] | None  # None: in a list or tuple
    key: str
    held: Any
    original: Any

    def put_back(self) -> bool:
        """Whether it had changed."""
        changed = self.holder is not None and self.holder.get(self.key) is not self.held
        if changed and self.holder is not None:
            self.holder[self.key] = self.held
        if isinstance(self.held, np.ndarray) and not _same(self.held, self.original):
            self.held.flags.writeable = True
            np.copyto(self.held, self.original)
            changed = True
        return changed


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Bit by bit: NaN are numbers like others."""
    mine, theirs = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (one, other))
    parts = [slice(start, start + PART) for start in range(0, mine.size, PART)]
    return all(np.array_equal(mine[part], theirs[part]) for part in parts)


class PeerInputs:
    """``problem`` is the one that peers are given: its inputs are copies, which they share, since inputs may take half
    of the memory."""

    def __init__(self, problem: Problem) -> None:
        originals = dict(problem.inputs)
        held = copy.deepcopy(originals)
        self.problem = replace(problem, inputs=held)
        self._leaves = list(_leaves("", held, originals, set()))

    def put_back(self) -> list[str]:
        """Makes the inputs what they were, and returns the names of those that had changed."""
        return list(dict.fromkeys(leaf.name for leaf in self._leaves if leaf.put_back()))

    def check(self) -> None:
        """The same. Raises MismatchError where any had changed."""
        if changed := self.put_back():
            raise MismatchError(f"it changes its inputs: {', '.join(changed)}")


def made(peer: AnyPeer, inputs: PeerInputs) -> tuple[Any, Callable[[], np.ndarray]]:
    """The peer's state, and what computes its result anew. Both raise MismatchError where the peer changes its inputs,
    and whatever the peer raises."""
    inputs.put_back()  # what others did since
    state = peer.prepare(inputs.problem)
    inputs.check()

    def result() -> np.ndarray:
        inputs.put_back()
        found = np.array(peer.fetch(peer.run(state)))  # a copy: it may be a part of what is put back
        inputs.check()
        return found

    return state, result


def _leaves(name: str, held: Any, original: Any, seen: set[int]) -> Iterator[_Leaf]:
    """What stands in a dictionary, in the attributes of an object, or in a list, at any depth."""
    if id(held) in seen:
        return
    seen.add(id(held))
    if isinstance(held, (list, tuple)):
        for one, other in zip(held, original, strict=True):
            if isinstance(one, np.ndarray):
                yield _Leaf(name, None, "", one, other)
            else:
                yield from _leaves(name, one, other, seen)
        return
    holder = held if isinstance(held, dict) else getattr(held, "__dict__", None)
    if not isinstance(holder, dict):
        return
    before = original if isinstance(original, dict) else vars(original)
    for key in list(holder):
        inner = name or str(key)  # named by the input, whatever of it changed
        yield _Leaf(inner, holder, key, holder[key], before[key])
        if not isinstance(holder[key], np.ndarray):
            yield from _leaves(inner, holder[key], before[key], seen)
