"""Short names of parameters, the same within a table or a picture, and the names of rows made of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

SHORT = 3  # characters of a name that is short already
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEVELS = re.compile(r"[^()]*\(\w+=[^,()]+(?:, \w+=[^,()]+)*\)")
_NAME = re.compile(r"\b(\w+)(?==)")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """A short name for each parameter: the initials of its words, `bsx` of `block_size_x`; the whole name where it has
    few letters, or where another parameter has these initials."""
    listed = list(dict.fromkeys(names))
    initials = {name: name if len(name) <= SHORT else _initials(name) for name in listed}
    counts = Counter(initials.values())
    return {
        name: short if short and counts[short] == 1 and (short == name or short not in listed) else name
        for name, short in initials.items()
    }


def _initials(name: str) -> str:
    return "".join(word if word.isdigit() else word[0] for word in _WORDS.findall(name))


def has_levels(label: str) -> bool:
    """Whether a row's name tells levels: `naive(ROWS=2, UNROLL=4)`."""
    return _LEVELS.match(label) is not None


def named_in(labels: Iterable[str]) -> list[str]:
    """The parameters that names of rows tell the levels of."""
    return list(dict.fromkeys(name for label in labels if has_levels(label) for name in _NAME.findall(label)))


def in_short(label: str, short: Mapping[str, str]) -> str:
    """A row's name with short names of its parameters."""
    return _NAME.sub(lambda found: short.get(found[1], found[1]), label) if has_levels(label) else label


def legend(short: Mapping[str, str]) -> str:
    """What short names stand for: `bsx is block_size_x, ul is use_local`."""
    return ", ".join(f"{said} is {name}" for name, said in short.items() if said != name)
