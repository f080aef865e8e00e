"""The page of compiled kernels: Jang's tables beside re-creations of them, other generations, and what was read of all
variants."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from gpuopt import papers
from gpuopt.configuration import complete

from .tables import Cell, Line, between, grid, markdown, paper_gain
from .values import ROOT, Points, Rows, noted, significant, sweeps

FILES = ("results/compiled/pocl.jsonl", "results/compiled/intel.jsonl", "results/compiled/h200.jsonl")
GENERATIONS = ("gfx90a", "gfx1030")
PRODUCTS = tuple(
    f"paper:{step}_image"
    for step in ("naive", "variable_reduction", "unroll4", "unroll8", "unroll16", "vector_type", "multiple_output")
)
PROJECTIONS = tuple(f"paper:{step}_image" for step in ("naive", "intrinsics", "alu", "vector_input", "vector_output"))
SPEEDS = {
    "gemm": Rows("results/h200/papers/gemm-sizes/rows.jsonl", "gemm_3072x"),
    "tomography": Rows("results/h200/papers/tomography-paper/rows.jsonl", ""),
    "gem": Rows("results/h200/papers/gem-steps/rows.jsonl", "capsid_8000x270336"),
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
    lines: list[Line] = []
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
    lines: list[Line] = []
    for preset in steps:
        gain = paper_gain(workload, preset.removesuffix("_image"))  # figures stand with the presets on buffers
        cells: list[Cell] = [_step(preset), gain, _speed(workload, preset, steps[0])]
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
        cells.append(f"{entry['registers']}, {entry['occupancy']}" if "occupancy" in entry else "")
        lines.append(cells)
    return lines


def _speed(workload: str, preset: str, first: str) -> Cell:
    """Measured on an H200, over the first step."""
    rows = SPEEDS[workload]
    return "1" if preset == first else rows.speedup(preset, first)


def _spills() -> list[Line]:
    """What the driver of the H200 says that its kernels spill, in the rows of sweeps."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for path in sweeps("results/h200"):
        for row in Points(path).summaries:
            if row["status"] == "ok" and row.get("spill_bytes"):
                kernels = found.setdefault((row["workload"], row["variant"]), {})
                kernels.setdefault(str(row["configuration"]), []).append(int(row["spill_bytes"]))
    return [
        (
            f"`{variant}` of {workload}",
            str(len(kernels)),
            between([each for of in kernels.values() for each in of], "d"),
        )
        for (workload, variant), kernels in found.items()
    ]


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
    ("do what work-groups do", "its work-items are for CPUs: one does what a work-group does"),
    ("bytes of local memory;", "more local memory than the chip has"),
    ("is not symmetric", "the matrix is not symmetric"),
    ("read_image", "the built-in library reads no images"),
    ("translate_sampler", "the built-in library reads no images"),
    ("Cannot select", "clang has no instruction for it (backend error)"),
    ("ran out of registers", "clang finds no registers (backend error)"),
    ("no registers from class", "clang finds no registers (backend error)"),
    ("Undefined external symbol", "clang's target lacks a function"),
    ("exit code 1", "clang fails"),
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
    """What an H200's own compiler makes of it."""
    return _entry(workload, f"paper:{preset}", "live", FILES[2])


def _loop(entry: Entry) -> str:
    return f"{entry['loop_alu']} ALU and {entry['loop_fetch']} fetches"


def _each(entry: Entry, name: str = "loop_alu") -> str:
    """A count of the loop for each multiply-add in it."""
    return significant(entry[name] / entry["loop_fma"], 3)


def _held(entry: Entry) -> str:
    return f"{entry['registers']} registers, {entry['occupancy']} wavefronts"


def _gains(workload: str, *steps: str, first: str = "basic") -> str:
    """Measured on an H200 over the first step."""
    told = [SPEEDS[workload].speedup(f"paper:{step}", f"paper:{first}") for step in steps]
    return ", ".join(str(gain).split(" ")[0] for gain in told)


def _causes() -> list[Line]:
    """Results that surprised, or whose reason was a guess, and what the compiled kernels say."""
    return [*_product_causes(), *_gem_causes(), *_projection_causes()]


def _product_causes() -> list[Line]:
    naive, reduced, four, unrolled, many = map(
        _gpu, ("naive", "variable_reduction", "unroll4", "unroll16", "multiple_output")
    )
    pictured, far = _gpu("naive_image"), _gpu("unroll16_image")
    blocks = {name: _gpu(f"block_{name}") for name in ("16x16", "32x8", "32x16", "32x32")}
    return [
        [
            "Products: `variable_reduction` changes nothing (printed 1.01)",
            f"The loop of `naive` has {_loop(naive)}, the other {_loop(reduced)}; "
            f"registers {naive['registers']} and {reduced['registers']}.",
            "shown: the compiler does it alone",
        ],
        [
            f"Products from buffers: unrolling gains {_gains('gemm', 'unroll4', 'unroll16', first='naive')} "
            "(printed 1.05 to 1.09)",
            f"Arithmetic for a multiply-add falls from {_each(naive)} to {_each(four)} (4 times) and {_each(unrolled)} "
            f"(16 times); {_held(naive)} become {_held(unrolled)}.",
            "shown: addresses and the bound are most of the plain loop's instructions, and unrolling removes them",
        ],
        [
            "Products from images: unrolling gains "
            f"{_gains('gemm', 'unroll4_image', 'unroll16_image', first='naive_image')} (printed 1.05 to 1.09)",
            f"Arithmetic for a multiply-add is {_each(pictured)} in the plain loop, {_each(far)} in that of 16; "
            "both have two fetches for it.",
            "shown: an image's addresses cost the loop little, so there is little to remove",
        ],
        [
            "Jang's rule that unrolling loses, since registers leave fewer threads, is inverted (1.04, from textures)",
            f"Plain: {_held(pictured)}. Unrolled 4 and 16 times: {_held(_gpu('unroll4_image'))}; {_held(far)}.",
            "refuted here: unrolling takes no wavefront away",
        ],
        [
            "Products of 512: eight outputs a work-item are slower than `unroll4`",
            f"{_held(many)}; `unroll4` {_held(four)}.",
            "added: besides too few work-items, a quarter of the wavefronts",
        ],
        [
            "Work-groups of Yang's product, over 16 x 16: 32 x 8, 32 x 16 and 32 x 32 gain "
            + _gains("gemm", "block_32x8", "block_32x16", "block_32x32", first="block_16x16"),
            "Fetches for a multiply-add: "
            + ", ".join(f"{name} {_each(entry, 'loop_fetch')}" for name, entry in blocks.items())
            + "; arithmetic "
            + ", ".join(_each(entry) for entry in blocks.values())
            + ".",
            "shown: 32 x 8 fetches more than 16 x 16, not less, and has more arithmetic around it",
        ],
    ]


def _gem_causes() -> list[Line]:
    basic, split, summed, preloaded, local = (
        _gpu(name, "gem")
        for name in ("basic", "kernel_splitting", "register_accumulator", "register_preloading", "local_memory")
    )
    return [
        [
            f"GEM: kernel splitting gains {_gains('gem', 'kernel_splitting')} alone",
            f"{_loop(basic)} become {_loop(split)}, {basic['loop_special']} special functions {split['loop_special']}; "
            f"{basic['occupancy']} and {split['occupancy']} wavefronts.",
            "shown: the cases that a kernel of one model leaves out are most of its instructions",
        ],
        [
            f"GEM: a sum in a register gains {_gains('gem', 'register_accumulator')} (printed 1.3)",
            f"The loop's {basic['loop_store']} store goes, and {basic['loop_fetch']} fetches become "
            f"{summed['loop_fetch']}, of {basic['loop_instructions']} instructions in all.",
            "shown: the loop is arithmetic, so little is left to gain",
        ],
        [
            f"GEM: preloading into registers gains {_gains('gem', 'register_preloading')} (printed 1.6)",
            f"{_loop(basic)} become {_loop(preloaded)}; {_held(preloaded)} in place of {_held(basic)}.",
            "in part: so few instructions less do not make it; fetches after each store, which wait, may (inferred). "
            "Fewer wavefronts do no harm",
        ],
        [
            f"GEM: local memory gains {_gains('gem', 'local_memory')}, less than registers (printed 1.4 times as much)",
            f"{_loop(local)} and {local['loop_local']} reads of local memory; from registers {_loop(preloaded)}.",
            "shown: the same fetches go, but its own reads and addresses come; it holds more wavefronts "
            f"({local['occupancy']}, not {preloaded['occupancy']}), so they are not the reason",
        ],
    ]


def _projection_causes() -> list[Line]:
    naive, merged, arithmetic, vectors = (
        _gpu(name, "tomography") for name in ("naive_image", "intrinsics_image", "alu_image", "vector_output_image")
    )
    return [
        [
            "Back projection: intrinsics and fewer operations gain "
            f"{_gains('tomography', 'intrinsics_image', 'alu_image', first='naive_image')}",
            f"The loop has {naive['loop_alu']} ALU, with them {merged['loop_alu']} and {arithmetic['loop_alu']}; "
            f"{_held(naive)}, {_held(merged)}, {_held(arithmetic)}.",
            "shown: the compiler leaves nothing for them to save",
        ],
        [
            "Back projection: four outputs a work-item take "
            f"{_gains('tomography', 'vector_output_image', first='naive_image')} times the speed of one",
            f"{_held(vectors)} in place of {_held(naive)}; ALU for an output "
            f"{significant(vectors['loop_alu'] / 4, 3)} in place of {naive['loop_alu']}.",
            "shown: half the wavefronts, hardly fewer instructions",
        ],
    ]


PRINTED = [
    *("step", "ALU", "used, %", "fetch", "ALU:fetch", "GPR", "groups", "used, %", "fetch", "groups:fetch", "GPR"),
    "in the loop: groups, fetch",
]
ELSEWHERE = [
    *("step", "printed gain", "H200's gain [95 % CI]"),
    *(f"{name}: {what}" for name in GENERATIONS for what in ("ALU, fetch in the loop", "registers, wavefronts")),
    *(f"{name}: ALU, fetch in the loop" for name in ("PoCL", "Intel", "H200")),
    "H200: registers, wavefronts",
]
TABLES = {
    "products": grid(PRINTED, lambda: _printed("gemm", PRODUCTS)),
    "products-elsewhere": grid(ELSEWHERE, lambda: _elsewhere("gemm", PRODUCTS)),
    "projections": grid(PRINTED, lambda: _printed("tomography", PROJECTIONS)),
    "projections-elsewhere": grid(ELSEWHERE, lambda: _elsewhere("tomography", PROJECTIONS)),
    "counts": lambda: grid(["workload", *_targets()], _counts)(),
    "causes": lambda: markdown(["measured", "compiled", "so"], _causes(), words=True),
    "spills": grid(["variant", "configurations that spill", "bytes"], _spills),
    "reasons": grid(["reason", "target", "kernels"], _why),
}
