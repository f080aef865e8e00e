"""Objects of a JSON file from elsewhere, each with its place in the file, so that a message can name it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.lab.kernels.expressions import LARGEST


class Part:
    """An object and its place, such as ``KernelSpecification.Arguments[2]``. An entry that is null counts as absent.

    What reads an entry raises ParameterError, which names the place, for one that is absent or of another type.
    """

    def __init__(self, found: Any, place: str) -> None:
        if not isinstance(found, dict):
            raise ParameterError(f"{place}: it is {_called(found)}; an object is due")
        self._found, self.place = found, place

    def at(self, name: str) -> str:
        """The place of an entry."""
        return f"{self.place}.{name}" if self.place else name

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""
        return self._found.get(name) is not None

    def is_list(self, name: str) -> bool:
        """Whether there is such an entry, and it is a list."""
        return isinstance(self._found.get(name), list)

    def part(self, name: str) -> Part:
        """An object within this one."""
        return Part(self._entry(name), self.at(name))

    def parts(self, name: str) -> list[Part]:
        """A list of objects; none where there is no such entry."""
        return [Part(one, f"{self.at(name)}[{index}]") for index, one in enumerate(self.listed(name))]

    def listed(self, name: str) -> list[Any]:
        """A list; an empty one where there is no such entry."""
        found = self._found.get(name)
        if found is None:
            return []
        if not isinstance(found, list):
            raise ParameterError(f"{self.at(name)}: it is {_called(found)}; a list is due")
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        found = self._entry(name, default)
        if not isinstance(found, str):
            raise ParameterError(f"{self.at(name)}: it is {_called(found)}; a text is due")
        return found

    def one_of(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of these words."""
        found = self.text(name, default)
        if found not in known:
            raise ParameterError(f"{self.at(name)}: {found[:40]!r} is not supported; one of {', '.join(known)} is")
        return found

    def number(self, name: str, default: float | None = None) -> int | float:
        """A finite number of 64 bits, with a sign or without."""
        found = self._entry(name, default)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise ParameterError(f"{self.at(name)}: it is {_called(found)}; a number is due")
        if not (math.isfinite(found) if isinstance(found, float) else -LARGEST <= found < 2 * LARGEST):
            raise ParameterError(f"{self.at(name)}: it is not finite, or has more than 64 bits")
        return found

    def arithmetic(self, name: str, default: str | None = None) -> str:
        """A whole number or an expression, as text."""
        found = self._entry(name, default)
        return as_arithmetic(found, self.at(name))

    def _entry(self, name: str, default: Any = None) -> Any:
        found = self._found.get(name)
        if found is None and default is None:
            raise ParameterError(f"{self.at(name)}: there is none; it is required")
        return default if found is None else found


def as_arithmetic(found: Any, place: str) -> str:
    """The text of a whole number or an expression. Raises ParameterError, which names the place."""
    if isinstance(found, str):
        return found
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) >= LARGEST:
        raise ParameterError(f"{place}: it is {_called(found)}; a whole number of 64 bits or a text is due")
    return str(found)


def _called(found: Any) -> str:
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return words.get(type(found), f"the number {found:g}" if isinstance(found, float) else "a whole number")
