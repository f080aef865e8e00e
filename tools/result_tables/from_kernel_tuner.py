"""The tables of docs/from-kernel-tuner.md: Kernel Tuner's OpenCL examples, searched by it and by gpuopt in turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from .tables import Line, Table, markdown
from .values import ROOT, noted, significant

FILES = {
    name: f"results/cpu-2core/kernel-tuner-side-by-side-{key}.json"
    for name, key in (("PoCL", "pocl"), ("Intel", "intel"))
}
BOTH = ("gpuopt", "Kernel Tuner")
Entry = dict[str, Any]


@cache
def _made(path: str) -> Entry:
    made: Entry = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return made


def _examples() -> Iterator[tuple[str, Entry]]:
    """`PoCL, matmul` and what was found of it."""
    for runtime, path in FILES.items():
        for example, found in _made(noted(path))["examples"].items():
            yield f"{runtime}, `{example}`", found


def _between(values: list[float], digits: int) -> str:
    middle, low, high = (significant(value, digits) for value in values)
    return f"{middle} [{low}, {high}]"


def _levels(configuration: str) -> str:
    """`16 x 4, tiles 2 x 4`, or `256, vector 4, 64 groups`."""
    levels = dict(level.split("=") for level in configuration.split(", "))
    if "vector" in levels:
        return f"{levels['block_size_x']}, vector {levels['vector']}, {levels['num_blocks']} groups"
    block, tile = (f"{levels[f'{name}_size_x']} x {levels[f'{name}_size_y']}" for name in ("block", "tile"))
    return f"{block}, tiles {tile}"


def _best() -> list[Line]:
    """The best of each as it measured it itself."""
    return [
        [
            name,
            str(found["compared"]),
            *(f"{_levels(found[who]['best'])}: {_between(found[who]['ms_of_best_by'][who], 3)}" for who in BOTH),
            "yes" if found["same"] else "no",
            f"{_alike(found):.2f}",
        ]
        for name, found in _examples()
    ]


def _alike(found: Entry) -> float:
    """Spearman's correlation of the times by one tool with those by the other: 1 where both have the same order."""
    medians = [[median(times) for times in found[who]["ms_of_rounds"].values()] for who in BOTH]
    ranks = np.argsort(np.argsort(medians, axis=1), axis=1)
    return float(np.corrcoef(ranks)[0, 1])


def _alone() -> list[Line]:
    """Of two bests that differ: both, as one tool measured both, in rounds of the two alone."""
    return [
        [
            name,
            who,
            *(_between(alone[who]["ms_of_best_by"][whose], 3) for whose in BOTH),
            _between(alone[who]["theirs_by_ours"], 3),
            "yes" if alone[who]["they_overlap"] else "no",
        ]
        for name, found in _examples()
        if (alone := found.get("bests_alone"))
        for who in BOTH
    ]


def _load() -> list[Line]:
    """What the machine did beside the searches, and beside the rounds of two bests alone."""
    return [
        [name, *("" if one is None else _middle(one["others_load"]) for one in (found, found.get("bests_alone")))]
        for name, found in _examples()
    ]


def _middle(values: list[float]) -> str:
    return f"{median(values):.1f} [{min(values):.1f}, {max(values):.1f}]"


def _words(header: list[str], lines: Callable[[], list[Line]]) -> Table:
    return lambda: markdown(header, lines(), words=True)


TABLES = {
    "best": _words(
        [
            "runtime, example",
            "configurations",
            "best by gpuopt, ms",
            "best by Kernel Tuner, ms",
            "the same?",
            "order alike",
        ],
        _best,
    ),
    "alone": _words(
        [
            "runtime, example",
            "measured by",
            "gpuopt's best, ms",
            "Kernel Tuner's best, ms",
            "theirs by ours",
            "do the two overlap?",
        ],
        _alone,
    ),
    "load": _words(["runtime, example", "beside the searches", "beside the two alone"], _load),
}
