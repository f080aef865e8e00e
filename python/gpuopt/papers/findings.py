"""What papers found that is no step of theirs, for the pictures of one workload: ``papers/findings/<workload>.json``.

A file is read and checked at the first question.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from gpuopt import papers
from gpuopt._core import Error, ParameterError

SCHEMA = 1


@dataclass(frozen=True)
class Value:
    """A printed number: its unit, and the device that it is of."""

    number: float
    unit: str
    device: str


@dataclass(frozen=True)
class Finding:
    """What a paper says at one place, in our words, and the numbers in it."""

    paper: str  # its key
    where: str  # figure, table or section
    says: str
    values: tuple[Value, ...]

    @property
    def sentence(self) -> str:
        """`Yang et al. 2012, Figure 13: ...`."""
        return f"{papers.short(self.paper)}, {self.where}: {self.says}"


@functools.cache
def of(workload: str) -> Mapping[str, Finding]:
    """Return the findings for a workload's pictures by name. Raises ParameterError where there are none."""
    file = resources.files(papers).joinpath("findings", f"{workload}.json")
    if not file.is_file():
        raise ParameterError(f"workload: there are no findings for {workload!r}")
    return parse(file.read_text(encoding="utf-8"), f"findings/{workload}.json")


def parse(text: str, name: str) -> dict[str, Finding]:
    """Return the findings in ``text``. Raises Error, which says what is wrong in the file ``name``."""
    try:
        document = json.loads(text)
        if set(document) != {"schema", "findings"} or document["schema"] != SCHEMA:
            raise ValueError(f"it has {sorted(document)}, not findings of schema {SCHEMA}")
        return {key: _finding(key, entry) for key, entry in document["findings"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ParameterError) as error:
        raise Error(f"{name}: {error}") from error


def _finding(key: str, entry: Mapping[str, Any]) -> Finding:
    found = Finding(**{**entry, "values": tuple(Value(**value) for value in entry["values"])})
    papers.short(found.paper)  # raises for an unknown one
    texts = (found.where, found.says, *(text for value in found.values for text in (value.unit, value.device)))
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"{key}: where, says, unit and device are texts")
    if not all(type(value.number) in (int, float) and value.number > 0 for value in found.values):
        raise ValueError(f"{key}: a number is no positive one")
    return found
