"""A row of a made-up table of variants."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any


def variant(*parameters: tuple[str, Sequence[int], int], half: bool = False, name: str = "made_up") -> Any:
    rows = [SimpleNamespace(name=n, levels=list(x), standard=s, alters_accuracy=False) for n, x, s in parameters]
    rows += [SimpleNamespace(name="HALF", levels=[0, 1], standard=0, alters_accuracy=True)] if half else []
    return SimpleNamespace(name=name, parameters=rows, input_properties=[])
