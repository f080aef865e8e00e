"""Examples in docstrings: every public name has one that runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpuopt

PARTS = ("io", "lab", "microbench", "molecule", "problems", "tomo")
MODULES = {name: importlib.import_module(name) for name in ("gpuopt", *(f"gpuopt.{part}" for part in PARTS))}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public(module: ModuleType) -> dict[str, Any]:
    """Functions and classes of a module's ``__all__``; an error is shown where it is raised."""
    named = {name: getattr(module, name) for name in module.__all__}
    return {
        name: each
        for name, each in named.items()
        if callable(each) and not (inspect.isclass(each) and issubclass(each, (Exception, Warning)))
    }


NAMES = [f"{module}.{name}" for module, here in MODULES.items() for name in public(here)]


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What an example may use without an import; it runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    shown = {"gpuopt": gpuopt, "np": np, "io": MODULES["gpuopt.io"], "problems": MODULES["gpuopt.problems"]}
    return {
        **shown,
        "gt": MODULES["gpuopt.tomo"],
        "lab": MODULES["gpuopt.lab"],
        "microbench": MODULES["gpuopt.microbench"],
        "molecule": MODULES["gpuopt.molecule"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_it_says(name: str, known: dict[str, Any]) -> None:
    module, _, last = name.rpartition(".")
    text = inspect.getdoc(getattr(MODULES[module], last)) or ""
    example = doctest.DocTestParser().get_doctest(text, known, name, None, None)
    assert example.examples, f"{name}: its docstring has no example"
    told: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=told.append)
    assert not outcome.failed, "".join(told)
