"""The inputs that peers see: a copy of the problem's, which is put back as it was after each of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuopt._core import MismatchError, ParameterError
from gpuopt.checked import unmasked
from gpuopt.problem import AnyPeer, Problem

PART = 1 << 24  # bytes compared at once


@dataclass(frozen=True)
class _Array:
    """An array among the copied inputs, and what it was."""

    name: str
    held: np.ndarray
    original: np.ndarray

    def put_back(self) -> list[str]:
        """The name, where it had changed. Raises MismatchError where it cannot be what it was."""
        changed = not _same(self.held, self.original)
        try:
            self.held.flags.writeable = True  # as copies are
            if changed:
                self._reshape()
                np.copyto(self.held, self.original)
        except (ValueError, TypeError, AttributeError) as error:
            raise MismatchError(f"it changes its inputs: {self.name}, which cannot be put back ({error})") from error
        return [self.name] if changed else []

    def _reshape(self) -> None:
        if self.held.dtype != self.original.dtype:
            raise TypeError(f"its dtype is {self.held.dtype} now")
        if self.held.size != self.original.size:
            self.held.resize(self.original.shape, refcheck=False)
        elif self.held.shape != self.original.shape:
            self.held.shape = self.original.shape


@dataclass(frozen=True)
class _Holder:
    """A list or dictionary among the copied inputs, or an object's attributes, and what stood in it."""

    name: str
    held: dict[Any, Any] | list[Any]
    content: dict[Any, Any] | list[Any]

    def put_back(self) -> list[str]:
        """The names of the inputs that had changed: its own, or of what it held where it has none."""
        now, before = (dict(enumerate(each)) if isinstance(each, list) else each for each in (self.held, self.content))
        changed = [key for key in {**before, **now} if now.get(key, self) is not before.get(key, self)]
        if changed:
            self.held.clear()
        if changed and isinstance(self.held, dict):
            self.held.update(before)
        elif changed and isinstance(self.held, list):
            self.held.extend(before.values())
        return [self.name or str(key) for key in changed]


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Bit by bit: NaN are numbers like others."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    mine, theirs = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (one, other))
    parts = [slice(start, start + PART) for start in range(0, mine.size, PART)]
    return all(np.array_equal(mine[part], theirs[part]) for part in parts)


def check_names(peers: Sequence[AnyPeer]) -> None:
    """Raises ParameterError where two peers have one name: rows are told apart by it."""
    names = [peer.name for peer in peers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ParameterError(f"peers: two are called {twice!r}; give each a name of its own")


class PeerInputs:
    """``problem`` is the one that peers are given: its inputs are copies, which they share, since inputs may take half
    of the memory."""

    def __init__(self, problem: Problem) -> None:
        originals = dict(problem.inputs)
        held = copy.deepcopy(originals)
        self.problem = replace(problem, inputs=held)
        self._parts = list(_parts("", held, originals, set()))

    def put_back(self) -> list[str]:
        """Makes the inputs what they were, and returns the names of those that had changed."""
        return list(dict.fromkeys(name for part in self._parts for name in part.put_back()))

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
        found = np.array(unmasked("fetch", peer.fetch(peer.run(state))))  # a copy: it may be a part of what is put back
        inputs.check()
        return found

    return state, result


def _parts(name: str, held: Any, original: Any, seen: set[int]) -> Iterator[_Array | _Holder]:
    """What may change: arrays, and what holds them, at any depth. A part is named by the input that it belongs to."""
    if id(held) in seen:
        return
    seen.add(id(held))
    if isinstance(held, np.ndarray):
        yield _Array(name, held, original)
    elif isinstance(held, list | tuple):
        if isinstance(held, list):
            yield _Holder(name, held, list(held))
        for one, other in zip(held, original, strict=True):
            yield from _parts(name, one, other, seen)
    else:
        both = held, original
        holder, before = (each if isinstance(each, dict) else getattr(each, "__dict__", None) for each in both)
        if isinstance(holder, dict) and isinstance(before, dict):
            yield _Holder(name, holder, dict(holder))
            for key in list(holder):
                yield from _parts(name or str(key), holder[key], before[key], seen)
