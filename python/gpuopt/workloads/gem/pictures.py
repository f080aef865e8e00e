"""Pictures of GEM: the paper's optimizations alone and together, all their combinations, the ways to the best of them,
and a surface coloured by its potential.

The paper is Daga, Scogland and Feng, "Architecture-Aware Optimization on a 1600-core Graphics Processor", ICPADS 2011.
The bars of its Figures 6 to 8 have no numbers: those of its text are drawn.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpuopt import files, labels, papers
from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.ratios import Ratio, ratio_between
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.show.canvas import captioned_picture, provenance
from gpuopt.workloads.gem.bars import ROW_INCHES, Bar, panels_below
from gpuopt.workloads.gem.factorial_picture import cells, factorial
from gpuopt.workloads.gem.gains import (
    BASIC,
    Stack,
    altered_levels,
    gain_over_basic,
    group_with_basic,
    paper_product,
    product_of_gains,
    stacking,
)
from gpuopt.workloads.gem.optimizations import STAGED, names_of
from gpuopt.workloads.gem.problem import CALL, call_of
from gpuopt.workloads.gem.stacking import Replay, replay
from gpuopt.workloads.gem.stacking_picture import ways
from gpuopt.workloads.gem.surface_picture import surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AMD, NVIDIA = "paper:amd_best", "paper:nvidia_style"
SETS = {AMD: "AMD-style set", NVIDIA: "NVIDIA-style set"}
LONG = {
    "MT": "max. threads",
    "KS": "kernel splitting",
    "RA": "register accumulator",
    "LM": "vertex in local memory",
    STAGED: "or atoms in local memory",
    "RP": "register preloading",
    "IM": "image memory",
    "LU2": "loop unrolled 2 times",
    "LU4": "loop unrolled 4 times",
    "VASM2": "float2 loads, scalar math",
    "VASM4": "float4 loads, scalar math",
    "VAVM2": "float2 loads and math",
    "VAVM4": "float4 loads and math",
}


@checked
def optimizations(study: Study) -> Figure:
    """The paper's Figures 6 to 8 of this device: each optimization alone, some together, the best of each style, and
    whole calls with allocation and transfers, as the paper timed them.

    Speed-ups are over the paper's basic kernel (of whole calls: over the call with it), paired over blocks. Below a bar
    a diamond is the paper's number where its text has one; behind it a tick is what the gains of the parts, measured
    alone here, would give if they multiplied. Raises ParameterError for a study without a good row of ``paper:basic``,
    or of several devices or problems.
    """
    group, basic = group_with_basic(study)
    bars = [_bar(group, basic, step) for step in papers.load("gem").steps if step.preset != BASIC]
    bars = [bar for bar in bars if bar.row is not None]
    sets = [bar for bar in bars if bar.preset in SETS]
    best = study.best()
    if best is not None and best in group.rows:
        sets.insert(0, Bar(f"best here: {group.label(best)}", best, gain_over_basic(group, best, basic)))
    panels = [
        ("Alone (Figure 6)", [bar for bar in bars if bar.parts == 1]),
        ("Together (Figure 7)", [bar for bar in bars if bar.parts > 1 and bar not in sets]),
        ("Whole sets (Figure 8)", sets),
        ("Whole calls, with allocation and transfers", _calls(group)),
    ]
    panels = [one for one in panels if one[1]]
    counts = [len(drawn) + 2.2 for _, drawn in panels]
    title = f"GEM: what each optimization brings, {group.subject}"
    exact = f"The best here is {_exactly(best)}. " if best else ""
    figure, part = captioned_picture(
        title, 1.1 + ROW_INCHES * sum(counts), [*filter(None, [exact + _styles(group)]), provenance(group.rows)]
    )
    panels_below(part, panels, 5)
    return figure


def _exactly(row: Row) -> str:
    """The row by the names of the paper's optimizations, or as a configuration."""
    name = str(row["variant"])
    return labels.of("gem").configuration(name, levels(row)) or str(Configuration(name, **altered_levels(row)))


def _bar(group: Group, basic: Row, step: papers.Step) -> Bar:
    row = next((row for row in group.rows if row["preset"] == step.preset), None)
    names = names_of(step.configuration.parameters)
    alone, good = len(names) == 1, row is not None and row["status"] == "ok"
    label = f"{LONG[names[0]]}, {names[0]}" if alone and names[0] != STAGED else " + ".join(names)
    return Bar(
        label=SETS.get(step.preset, LONG[STAGED] if names == (STAGED,) else label),
        row=row,
        gain=gain_over_basic(group, row, basic) if row is not None and good else None,
        preset=step.preset,
        parts=len(names),
        product=None if alone else product_of_gains(group, basic, names),
        paper=step.figures["speedup"],
        paper_product=None if alone or not step.figures["speedup"] else paper_product(names),
    )


def _calls(group: Group) -> list[Bar]:
    """Whole calls over the call of the basic kernel."""
    rows = {str(row["variant"]): row for row in group.rows if row["role"] == "call"}
    basic = rows.get(call_of(BASIC))
    if basic is None or basic["status"] != "ok":
        return []
    named = {**{call_of(preset): name for preset, name in SETS.items()}, CALL: "as plain calls choose"}
    found = [(name, rows[call]) for call, name in named.items() if call in rows]
    return [Bar(name, row, _over(group, row, basic)) for name, row in found]


def _over(group: Group, row: Row, reference: Row) -> Ratio | None:
    return ratio_between(group, row, reference) if row["status"] == "ok" else None


def _styles(group: Group) -> str:
    rows = [next((r for r in group.rows if r["preset"] == p and r["status"] == "ok"), None) for p in (AMD, NVIDIA)]
    if rows[0] is None or rows[1] is None:
        return ""
    return f"The AMD-style set over the NVIDIA-style one: {ratio_between(group, rows[0], rows[1])}."


# ---------------------------------------------------------------- files


@checked
def save(study: Study, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study of GEM into ``directory`` (made where missing) and returns what was written:
    nothing of a study without its basic kernel, or of several devices or problems. Where combinations were asked for,
    as many as five switches of two levels have, there is a picture of them; where all of the paper's were, the ways to
    the best of them, and what they find as text."""
    if sum(row["preset"] == BASIC and row["status"] == "ok" for row in study.summary) != 1:
        return []
    try:
        group, _ = group_with_basic(study)
    except ParameterError:  # of several devices or problems
        return []
    target = files.made_folder(directory)
    drawn = {"optimizations": optimizations(study)}
    if len(cells(group)[0]) >= 2**5:
        drawn["factorial"] = factorial(study)
    text: list[Path] = []
    with suppress(ValueError):  # not all combinations
        drawn["ways"] = ways(study)
        text = [target / "ways.txt"]
        files.write(text[0], [f"{replay(study)}\n".encode()])
    paths = [target / f"{name}.png" for name in drawn]
    for figure, path in zip(drawn.values(), paths, strict=True):
        figure.savefig(path, dpi=150)
    return [*paths, *text]


__all__ = ["Replay", "Stack", "factorial", "optimizations", "replay", "save", "stacking", "surface", "ways"]
