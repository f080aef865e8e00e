"""The page of compiled kernels: Jang's tables beside re-creations of them, other generations, and what was read of all
variants."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from gpuopt import papers
from gpuopt.configuration import complete

from .tables import Cell, Line, grid, markdown, paper_gain
from .values import ROOT, Rows, noted, significant

FILES = ("results/compiled/pocl.jsonl", "results/compiled/intel.jsonl")
GENERATIONS = ("gfx90a", "gfx1030")
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
    ("ran out of registers", "clang finds no registers (backend error)"),
    ("no registers from class", "clang finds no registers (backend error)"),
    ("Undefined external symbol", "clang's target lacks a function"),
    ("exit code 1", "clang fails"),
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


def _gpu(preset: str, workload: str = "gemm") -> Entry:
    """For the H200's generation, by clang and ptxas."""
    return _entry(workload, f"paper:{preset}", "sm_90")


def _loop(entry: Entry) -> str:
    return f"{entry['loop_alu']} ALU and {entry['loop_fetch']} fetches"


def _each(entry: Entry, name: str) -> str:
    """A count of the loop for each multiply-add in it."""
    return significant(entry[name] / entry["loop_fma"], 2)


def _causes() -> list[Line]:
    """Results that surprised, or whose reason was a guess, and what the compiled kernels say."""
    gemm = {name: _gpu(name) for name in ("naive", "variable_reduction", "unroll4", "unroll16", "multiple_output")}
    gem = {name: _gpu(name, "gem") for name in ("basic", "register_accumulator", "register_preloading", "local_memory")}
    blocks = {name: _gpu(f"block_{name}") for name in ("16x16", "32x8", "32x16", "32x32")}
    naive, four, unrolled, many = (gemm[name] for name in ("naive", "unroll4", "unroll16", "multiple_output"))
    basic, preloaded = gem["basic"], gem["register_preloading"]
    summed, local = gem["register_accumulator"], gem["local_memory"]
    return [
        [
            "Products: `variable_reduction` changes nothing on an H200 (printed 1.01)",
            f"The loop of `naive` has {_loop(naive)}, the other {_loop(gemm['variable_reduction'])}; "
            f"registers {naive['registers']} and {gemm['variable_reduction']['registers']}.",
            "shown: the compiler does it alone",
        ],
        [
            "Products: unrolling gains 3.16 to 3.38 from buffers (printed 1.05 to 1.09)",
            f"Arithmetic for a multiply-add falls from {_each(naive, 'loop_alu')} to {_each(unrolled, 'loop_alu')}, "
            f"and a loop has {unrolled['loop_fetch']} fetches on their way instead of {naive['loop_fetch']}; "
            f"registers stay at {unrolled['registers']}.",
            "shown: half as many instructions explain a part; the rest is fetches that wait together (inferred)",
        ],
        [
            "Jang's rule that unrolling loses, since registers leave fewer threads, is inverted (1.04)",
            f"Unrolled 4 and 16 times: {four['registers']} and {unrolled['registers']} registers, "
            f"{four['occupancy']} and {unrolled['occupancy']} wavefronts; without, {naive['occupancy']}.",
            "refuted here: unrolling takes no wavefront away",
        ],
        [
            "Products of 512: eight outputs a work-item are slower than `unroll4`",
            f"{many['registers']} registers: {many['occupancy']} wavefronts fit, of `unroll4` {four['occupancy']}.",
            "added: besides too few work-items, a quarter of the wavefronts",
        ],
        [
            "Work-groups of Yang's product: 32 x 8 gains less than 32 x 16",
            "Fetches for a multiply-add: "
            + ", ".join(f"{name} {_each(entry, 'loop_fetch')}" for name, entry in blocks.items())
            + ".",
            "shown: 32 x 8 fetches more than 16 x 16, not less",
        ],
        [
            "GEM: a sum in a register gains 1.07 (printed 1.3)",
            f"The loop's {basic['loop_store']} store goes, and {basic['loop_fetch']} fetches become "
            f"{summed['loop_fetch']}, of {basic['loop_instructions']} instructions in all.",
            "shown: the loop is arithmetic, so little is left to gain",
        ],
        [
            "GEM: preloading into registers gains 1.23 (printed 1.6)",
            f"{basic['loop_alu']} ALU become {preloaded['loop_alu']}, {basic['loop_fetch']} fetches "
            f"{preloaded['loop_fetch']}; {preloaded['registers']} registers in place of {basic['registers']} leave "
            f"{preloaded['occupancy']} wavefronts of {basic['occupancy']}.",
            "shown: fewer instructions gain, fewer wavefronts take some of it back",
        ],
        [
            "GEM: local memory gains 1.11 (printed 2.3)",
            f"{basic['loop_fetch'] - local['loop_fetch']} of {basic['loop_fetch']} fetches become reads of local "
            "memory.",
            "shown: most fetches stay",
        ],
    ]


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
    "causes": lambda: markdown(["measured", "compiled", "so"], _causes(), words=True),
    "reasons": grid(["reason", "target", "kernels"], _why),
}
