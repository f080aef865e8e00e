"""The words that tables, sentences and pictures use for a workload.

The words are ``LABELS`` in the module ``labels`` of a workload's room. The lab gets them by :func:`of` and so needs no
workload's name.
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


def _no_name(variant: str, parameters: Mapping[str, int]) -> str:
    return ""


def _no_subject(problem: str, sizes: Mapping[str, int]) -> str:
    return ""


def _as_named(problem: str, sizes: Mapping[str, int]) -> str:
    return problem


@dataclass(frozen=True)
class Labels:
    """The words of one workload.

    title
        What pictures call it; empty stands for its name.
    brought
        Whether it is none of gpuopt's, but a kernel that somebody brings: no paper measured it, and its variants are
        called by its name.
    other_accuracy, other_accuracy_meaning, other_accuracy_sentence
        For variants that round their inputs: the title of their section in a table, the remark below the table, and
        what a sentence adds about each of them.
    shows_error
        Whether a table shows the error beside the speed, because variants round differently.
    precision_of
        ``precision_of(parameters)`` returns the name of the precision that a configuration computes in; empty for the
        arrays' own.
    steps
        What a paper's steps are called, by preset; a step that is not listed is called by its preset.
    configuration
        ``configuration(variant, parameters)`` returns what a configuration without a preset is called; empty for the
        variant's name and the levels that tell it apart.
    subject
        ``subject(problem, sizes)`` returns what the problem is called in a title: the picture or molecule, and its
        size; empty for the problem's name with its sizes.
    """

    title: str = ""
    brought: bool = False
    other_accuracy: str = "ours, 16-bit values"
    other_accuracy_meaning: str = (
        "matrix values rounded to 16 bits, checked within that rounding; no plain call takes these unless asked"
    )
    other_accuracy_sentence: str = "Its matrix values are rounded to 16 bits"
    shows_error: bool = False
    precision_of: Callable[[Mapping[str, int]], str] = _no_precision
    steps: Mapping[str, str] = field(default_factory=dict)
    configuration: Callable[[str, Mapping[str, int]], str] = _no_name
    subject: Callable[[str, Mapping[str, int]], str] = _no_subject


def of(workload: object) -> Labels:
    """Return the words of a workload, or general ones where it has none of its own."""
    name = str(workload or "")
    return _own(name)


@functools.cache
def _own(name: str) -> Labels:
    if name not in _core.workload_names():  # a results file must not choose what is imported
        return Labels(brought=True, subject=_as_named) if name else Labels()
    module = f"gpuopt.workloads.{name}.labels"
    if importlib.util.find_spec(module) is None:
        return Labels()
    found: Labels = importlib.import_module(module).LABELS
    return found
