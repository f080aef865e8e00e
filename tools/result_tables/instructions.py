"""The page of compiled kernels: Jang's tables beside re-creations of them, other generations, and what was read of all
variants."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from gpuopt import papers
from gpuopt.configuration import complete

from .tables import Cell, Line, grid, paper_gain
from .values import ROOT, Rows, noted, significant

FILES = ("results/compiled/pocl.jsonl", "results/compiled/intel.jsonl")
GENERATIONS = ("gfx90a", "gfx1100", "sm_90")
PRODUCTS = tuple(
    f"paper:{step}_image"
    for step in ("naive", "variable_reduction", "unroll4", "unroll8", "unroll16", "vector_type", "multiple_output")
)
PROJECTIONS = tuple(f"paper:{step}_image" for step in ("naive", "intrinsics", "alu", "vector_input", "vector_output"))
SPEEDS = {
    "gemm": Rows("results/h200/papers/gemm-sizes/rows.jsonl", "gemm_3072x"),
    "tomography": Rows("results/h200/papers/tomography-paper/rows.jsonl", ""),
}
Entry = dict[str, Any]


@cache
def _entries(path: str) -> list[Entry]:
    return [json.loads(line) for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


def _entry(workload: str, preset: str, target: str, path: str = FILES[0]) -> Entry:
    """The kernel of a paper's step. Raises ValueError where it is not there."""
    label = str(complete(workload, papers.preset(workload, preset)))
    for entry in _entries(noted(path)):
        if (entry["workload"], entry["label"], entry["target"]) == (workload, label, target):
            return entry
    raise ValueError(f"{path}: no {label} of {workload} for {target}")


def _number(entry: Entry, name: str) -> Cell:
    value = entry.get(name)
    return None if value is None else str(value) if isinstance(value, int) else significant(value, 3)


def _step(preset: str) -> str:
    return preset.removeprefix("paper:").removesuffix("_image").replace("_", " ")


def _printed(workload: str, steps: tuple[str, ...]) -> list[Line]:
    """What was printed for the HD 3870, and what clang makes of the same steps for the HD 5870."""
    lines = []
    for preset in steps:
        figure = papers.figures(workload).get(preset, {})
        entry = _entry(workload, preset, "cypress")
        used = entry.get("utilization")
        loop = f"{entry['loop_groups']}, {entry['loop_fetch']}" if "loop_fetch" in entry else entry.get("reason", "")
        lines.append(
            [
                _step(preset),
                *(_figure(figure, name) for name in ("alu", "alu_pct", "fetch", "alu_per_fetch", "registers")),
                _number(entry, "groups"),
                None if used is None else significant(100 * used, 2),
                _number(entry, "fetch"),
                _number(entry, "alu_per_fetch"),
                _number(entry, "registers"),
                loop,
            ]
        )
    return lines


def _figure(figure: Any, name: str) -> Cell:
    value = figure.get(name)
    return None if value is None else f"{value:g}"


def _elsewhere(workload: str, steps: tuple[str, ...]) -> list[Line]:
    """The same kernels on other chips: arithmetic and fetches of the innermost loop, registers, wavefronts."""
    lines = []
    for preset in steps:
        cells: list[Cell] = [_step(preset), paper_gain(workload, preset), _speed(workload, preset, steps[0])]
        for target in GENERATIONS:
            entry = _entry(workload, preset, target)
            if "registers" not in entry:
                cells += ["", ""]
                continue
            cells.append(f"{entry.get('loop_alu', '-')}, {entry.get('loop_fetch', '-')}")
            cells.append(f"{entry['registers']}, {entry.get('occupancy', '-')}")
        for path in FILES:
            entry = _entry(workload, preset, "live", path)
            cells.append(f"{entry['loop_alu']}, {entry['loop_fetch']}" if "loop_alu" in entry else "")
        lines.append(cells)
    return lines


def _speed(workload: str, preset: str, first: str) -> Cell:
    """Measured on an H200, over the first step."""
    rows = SPEEDS[workload]
    return "1" if preset == first else rows.speedup(preset, first)


def _counts() -> list[Line]:
    """How many kernels have numbers, of all that there are; a line a workload and target."""
    told: Counter[tuple[str, str]] = Counter()
    every: Counter[tuple[str, str]] = Counter()
    for path in FILES:
        for entry in _entries(noted(path)):
            where = path.split("/")[-1].split(".")[0]
            key = (entry["workload"], f"live, {where}" if entry["target"] == "live" else entry["target"])
            every[key] += 1
            told[key] += "reason" not in entry
    targets = list(dict.fromkeys(target for _, target in every))
    workloads = list(dict.fromkeys(workload for workload, _ in every))
    return [
        [workload, *(f"{told[workload, target]} of {every[workload, target]}" for target in targets)]
        for workload in workloads
    ]


def _targets() -> list[str]:
    found: dict[str, None] = {}
    for path in FILES:
        where = path.split("/")[-1].split(".")[0]
        for entry in _entries(path):
            found[f"live, {where}" if entry["target"] == "live" else entry["target"]] = None
    return list(found)


_REASONS = (  # beginnings or parts of reasons, and what they are
    ("written in PTX", "written in PTX, which this chip does not read"),
    ("no tensor cores", "tensor cores through PTX alone"),
    ("is not symmetric", "the matrix is not symmetric"),
    ("read_image", "the built-in library reads no images"),
    ("translate_sampler", "the built-in library reads no images"),
    ("Cannot select", "clang has no instruction for it (backend error)"),
    ("exit code 1", "clang fails"),
    ("several columns", "for several columns alone"),
    ("local memory", "more local memory than the chip has"),
)


def _why() -> list[Line]:
    """Why kernels have no numbers."""
    found: Counter[tuple[str, str]] = Counter()
    for path in FILES:
        for entry in _entries(noted(path)):
            if reason := entry.get("reason"):
                words = next((said for part, said in _REASONS if part in reason), reason[:90])
                target = "the device" if entry["target"] == "live" else entry["target"]
                found[words, target] += 1
    return [[words, target, str(count)] for (words, target), count in sorted(found.items(), key=lambda each: -each[1])]


PRINTED = [
    *("step", "ALU", "used, %", "fetch", "ALU:fetch", "GPR", "groups", "used, %", "fetch", "groups:fetch", "GPR"),
    "in the loop: groups, fetch",
]
ELSEWHERE = [
    *("step", "printed gain", "H200's gain [95 % CI]"),
    *(f"{name}: {what}" for name in GENERATIONS for what in ("ALU, fetch in the loop", "registers, wavefronts")),
    *(f"{name}: ALU, fetch in the loop" for name in ("PoCL", "Intel")),
]
TABLES = {
    "products": grid(PRINTED, lambda: _printed("gemm", PRODUCTS)),
    "products-elsewhere": grid(ELSEWHERE, lambda: _elsewhere("gemm", PRODUCTS)),
    "projections": grid(PRINTED, lambda: _printed("tomography", PROJECTIONS)),
    "projections-elsewhere": grid(ELSEWHERE, lambda: _elsewhere("tomography", PROJECTIONS)),
    "counts": lambda: grid(["workload", *_targets()], _counts)(),
    "reasons": grid(["reason", "target", "kernels"], _why),
}
