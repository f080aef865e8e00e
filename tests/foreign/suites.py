"""Test suites of other packages, imported from where they are installed and run on gpuopt through an adapter.

An adapter's table says for each of their cases whether it is run or, by a reason, why not; one that is in no table is
skipped by name, so that a new version of a package cannot hide any. No code of theirs is here.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest

Reasons = Mapping[str, Collection[str]]  # why, and the cases of which that holds


def installed(module: str) -> Any:
    """A test module of an installed package, None where the package has none."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def cases(names: Collection[str], found: Collection[str], reasons: Reasons, package: str) -> list[Any]:
    """A pytest parameter for each case that is to run, is left out, or is known to neither; skipped where it must."""
    refused = {name: why for why, group in reasons.items() for name in group}
    assert not set(names) & set(refused), "a case is either run or not"
    if not found:
        return [pytest.param("", marks=pytest.mark.skip(reason=f"this {package} was installed without its tests"))]
    made = []
    for name in sorted({*names, *found}):
        if name not in found:
            why = f"not in this version of {package}"
        else:
            why = refused.get(name, "" if name in names else f"new in {package}: not looked at yet")
        made.append(pytest.param(name, marks=[pytest.mark.skip(reason=why)] if why else []))
    return made


def calls(function: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The arguments of each call that a function's parametrize marks ask for."""
    axes = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names = (
                [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else mark.args[0]
            )
            axes.append([dict(zip(names, row if len(names) > 1 else [row], strict=True)) for row in mark.args[1]])
    for row in itertools.product(*axes):
        yield {name: value for part in row for name, value in part.items()}
