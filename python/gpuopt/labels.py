"""The words that tables, sentences and pictures use for a workload.

A workload's room may have a module ``labels`` with ``LABELS``; code of the lab asks :func:`of` and knows no workload by
name. A kernel of the user's own gets its words by :func:`register`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpuopt import _core


def _no_precision(parameters: Mapping[str, int]) -> str:
    return ""


@dataclass(frozen=True)
class Labels:
    """The words of one workload.

    title
        What pictures call it; empty stands for its name.
    other_accuracy, other_accuracy_meaning, other_accuracy_sentence
        The title of the section of variants that round their inputs, what a footer says of it, and what a sentence
        adds about each of them.
    shows_error
        Whether variants differ in what they round, so that the error stands beside the speed.
    precision_of
        The name of the precision that a configuration's parameters mean, beside the arrays' own; empty for theirs.
    steps
        What pictures call a paper's steps, by preset; others are called by their preset.
    """

    title: str = ""
    other_accuracy: str = "ours, 16-bit values"
    other_accuracy_meaning: str = (
        "matrix values rounded to 16 bits, checked within that rounding; no plain call takes these unless asked"
    )
    other_accuracy_sentence: str = "Its matrix values are rounded to 16 bits"
    shows_error: bool = False
    precision_of: Callable[[Mapping[str, int]], str] = _no_precision
    steps: Mapping[str, str] = field(default_factory=dict)


_registered: dict[str, Labels] = {}


def register(workload: str, labels: Labels) -> None:
    """Gives a workload its words; later calls replace earlier ones."""
    _registered[workload] = labels


def of(workload: object) -> Labels:
    """The words of a workload; the default ones where it has none of its own."""
    name = str(workload or "")
    return _registered.get(name) or _own(name)


@functools.cache
def _own(name: str) -> Labels:
    if name not in _core.workload_names():  # a name may come from a file, and only our own rooms are looked into
        return Labels()
    module = f"gpuopt.workloads.{name}.labels"
    if importlib.util.find_spec(module) is None:
        return Labels()
    found: Labels = importlib.import_module(module).LABELS
    return found
