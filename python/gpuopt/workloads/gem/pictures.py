"""Pictures of GEM: the paper's optimizations alone and together, all their combinations, and a surface coloured by its
potential.

The paper is Daga, Scogland and Feng, "Architecture-Aware Optimization on a 1600-core Graphics Processor", ICPADS 2011.
The bars of its Figures 6 to 8 have no numbers: those of its text are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from gpuopt import papers
from gpuopt.configuration import Configuration
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import PAPER, Group, section
from gpuopt.lab.rows.ratios import Ratio, ratio_between
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.table import joined, significant
from gpuopt.lab.show.canvas import captioned_picture, legend_outside, plain_ticks, provenance
from gpuopt.lab.show.style import (
    BAR_HEIGHT,
    COLOURS,
    FAINT,
    HOLLOW,
    INK,
    MODEL,
    TICK,
    WARNING,
    WHISKER,
    bar_axes,
    error_sides,
    failure_text,
)
from gpuopt.workloads.gem.gains import (
    BASIC,
    Stack,
    altered_levels,
    changes_from,
    gain_ends,
    gain_over_basic,
    group_with_basic,
    paper_product,
    parts_of,
    product_of_gains,
    short_name,
    stacking,
)
from gpuopt.workloads.gem.surface_picture import surface

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AMD, NVIDIA = "paper:amd_best", "paper:nvidia_style"
LONG = {
    "MT": "max. threads",
    "KS": "kernel splitting",
    "RA": "register accumulator",
    "LM": "vertex in local memory",
    "RP": "register preloading",
    "IM": "image memory",
    "LU2": "loop unrolled 2 times",
    "LU4": "loop unrolled 4 times",
    "VASM2": "float2 loads, scalar math",
    "VASM4": "float4 loads, scalar math",
    "VAVM2": "float2 loads and math",
    "VAVM4": "float4 loads and math",
}
WAYS = {(1, 0): "scalar", (4, 0): "VASM4", (2, 1): "VAVM2", (4, 1): "VAVM4"}  # by VECTOR and MATH
VERTEX = {0: "vertex in global memory", 1: "in local memory (LM)", 2: "in registers (RP)"}
ATOMS = {0: "global", 1: "local", 2: "image", 3: "image,\nlocal"}
FACTORS = ("SPECIALIZED", "LOCAL", "VECTOR", "MATH", "VERTEX", "ATOMS")
# Right of the bars: a heading, where its numbers end in points, their colour.
COLUMNS = (("here", 44.0, INK), ("product", 92.0, INK), ("paper", 140.0, FAINT), ("product", 188.0, FAINT))
ROW_INCHES, CELL_INCHES = 0.3, 0.29


# ---------------------------------------------------------------- the paper's figures


def optimizations(study: Study) -> Figure:
    """The paper's Figures 6 to 8 of this device: each optimization alone, some together, and the best of each style.

    Speed-ups are over the paper's basic kernel, paired over blocks; a diamond is the paper's number where its text has
    one, a black tick what the gains of the parts, measured alone here, would give if they multiplied. Raises ValueError
    for a study without a good row of ``paper:basic``, or of several devices or problems.
    """
    group, basic = group_with_basic(study)
    bars = [_bar(group, basic, step) for step in papers.load("gem").steps if step.preset != BASIC]
    bars = [bar for bar in bars if bar.row is not None]
    sets = [bar for bar in bars if bar.preset in (AMD, NVIDIA)]
    best = study.best()
    if best is not None and best in group.rows:
        name = str(best["preset"] or best["variant"]).removeprefix("paper:").replace("_", " ")
        sets.insert(0, _Bar(f"best here: {name}", best, gain_over_basic(group, best, basic)))
    panels = [
        ("Alone (Figure 6)", [bar for bar in bars if bar.parts == 1]),
        ("Together (Figure 7)", [bar for bar in bars if bar.parts > 1 and bar not in sets]),
        ("Whole sets (Figure 8)", sets),
    ]
    panels = [panel for panel in panels if panel[1]]
    counts = [len(panel[1]) + 2.2 for panel in panels]
    title = f"GEM: what each optimization brings, {group.problem}"
    exact = f"The best here is {Configuration(str(best['variant']), **altered_levels(best))}. " if best else ""
    lines = [f"{exact}{_styles(group)}.", provenance(group.rows)]
    figure, part = captioned_picture(title, 1.1 + ROW_INCHES * sum(counts), lines)
    axes = part.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=counts)[:, 0]
    axes[0].set_xscale("log")
    axes[0].set_xlim(*_reach([bar for _, drawn in panels for bar in drawn]))
    for ax, (head, drawn) in zip(axes, panels, strict=True):
        _panel(ax, drawn)
        ax.set_title(head, fontsize=10, loc="left", color=INK)
    axes[-1].set_xlabel("speed-up over the basic kernel (more is faster)", fontsize=9)
    legend_outside(part, _marks([bar for _, drawn in panels for bar in drawn]), 5)
    return figure


@dataclass(frozen=True)
class _Bar:
    label: str
    row: Row | None
    gain: Ratio | None
    preset: str = ""
    parts: int = 0
    product: float | None = None
    paper: float | None = None
    paper_product: float | None = None


def _bar(group: Group, basic: Row, step: papers.Step) -> _Bar:
    row = next((row for row in group.rows if row["preset"] == step.preset), None)
    parts = parts_of(step.configuration.parameters)
    names = [short_name(part) for part in parts]
    good = row is not None and row["status"] == "ok"
    return _Bar(
        label={AMD: "AMD-style set", NVIDIA: "NVIDIA-style set"}.get(
            step.preset, f"{LONG[names[0]]}, {names[0]}" if len(names) == 1 else " + ".join(names)
        ),
        row=row,
        gain=gain_over_basic(group, row, basic) if row is not None and good else None,
        preset=step.preset,
        parts=len(parts),
        product=product_of_gains(group, basic, parts) if len(parts) > 1 else None,
        paper=step.figures["speedup"],
        paper_product=paper_product(parts) if len(parts) > 1 and step.figures["speedup"] else None,
    )


def _panel(ax: Axes, bars: list[_Bar]) -> None:
    places = [float(i) for i in range(len(bars))]
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    texts: list[tuple[str, ...]] = []
    for bar, y in zip(bars, places, strict=True):
        if bar.gain is not None:
            low, mid, high = gain_ends(bar.gain)
            colour = COLOURS[section(bar.row) if bar.row else PAPER]
            ax.barh(y, mid - 1, BAR_HEIGHT, left=1, color=colour, zorder=2)
            ax.errorbar(mid, y, xerr=error_sides(low, mid, high), **WHISKER)
        elif bar.row is not None:
            failure_text(ax, bar.row, y)
        if bar.product is not None:
            ax.vlines(bar.product, y - 0.42, y + 0.42, color=INK, linewidth=2.2, zorder=4)
        if bar.paper is not None:
            ax.plot(bar.paper, y, zorder=5, **HOLLOW)
        told = (1 / bar.gain.mid if bar.gain else None, bar.product, bar.paper, bar.paper_product)
        texts.append(tuple("" if value is None else significant(value) for value in told))
    for (heading, points, colour), column in zip(COLUMNS, zip(*texts, strict=True), strict=True):
        for y, text in [(-0.85, heading), *zip(places, column, strict=True)] if any(column) else []:
            style: dict[str, Any] = {
                "color": FAINT if y < 0 else colour,
                "va": "center",
                "ha": "right",
                "fontsize": 8.5,
            }
            at: dict[str, Any] = {
                "xycoords": ax.get_yaxis_transform(),
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            ax.annotate(text, (1, y), (points, 0), **at, **style)
    ax.set_yticks(places, [bar.label for bar in bars], fontsize=9)
    bar_axes(ax, places)
    plain_ticks(ax, "x")


def _marks(bars: list[_Bar]) -> list[Artist]:
    colours = {section(bar.row): None for bar in bars if bar.row is not None and bar.gain is not None}
    handles: list[Artist] = [Patch(color=COLOURS[name], label=name) for name in colours]
    if any(bar.gain is not None and bar.gain.lo for bar in bars):
        handles.append(Line2D([], [], color=INK, marker="|", markersize=6, linewidth=1.2, label="95 % interval"))
    if any(bar.product for bar in bars):
        handles.append(Line2D([], [], label="product of the parts' gains, here", **TICK))
    if any(bar.paper for bar in bars):
        devices = {step.device for step in papers.load("gem").steps}
        handles.append(Line2D([], [], label=f"in the paper ({joined(sorted(devices))})", **HOLLOW))
    return handles


def _reach(bars: list[_Bar]) -> tuple[float, float]:
    seen = [1.0]
    for bar in bars:
        seen += [*(gain_ends(bar.gain) if bar.gain else ()), *filter(None, (bar.product, bar.paper))]
    return min(seen) / 1.12, max(seen) * 1.12


def _styles(group: Group) -> str:
    said = "In the paper, the AMD-style set was 1.65 times as fast as the NVIDIA-style one"
    rows = [next((r for r in group.rows if r["preset"] == p and r["status"] == "ok"), None) for p in (AMD, NVIDIA)]
    return f"{said}; here {ratio_between(group, rows[0], rows[1])}" if rows[0] and rows[1] else said


# ---------------------------------------------------------------- all combinations


def factorial(study: Study) -> Figure:
    """A heat map of the speed-up over the basic kernel in each combination of five of the paper's switches.

    Takes rows of the kernel `pairs` that differ in SPECIALIZED, LOCAL, VERTEX, ATOMS and the way of loads and math
    (scalar, VASM4, VAVM2, VAVM4), its other parameters as in most of them. What cannot run is hatched, with its reason
    in the caption. Raises ValueError as :func:`optimizations`.
    """
    group, basic = group_with_basic(study)
    cells, others = _cells(group)
    gains = {cell: gain_over_basic(group, row, basic) for cell, row in cells.items() if row["status"] == "ok"}
    if not gains:
        raise ValueError("study: no combination of it ran; sweep the kernel pairs at several levels of its switches")
    blocks = list(product(*(sorted({cell[i] for cell in cells}) for i in range(2))))
    ways = [way for way in WAYS if any(cell[2:4] == way for cell in cells)]
    across: list[tuple[int, ...]] = list(
        product(sorted({cell[4] for cell in cells}), sorted({cell[5] for cell in cells}))
    )
    down: list[tuple[int, ...]] = [(*block, *way) for block in blocks for way in ways]
    reasons = Counter(_reason(row) for row in cells.values() if row["status"] != "ok")
    letters = {reason: "abcdefghijklmnopqrstuvwxyz"[min(i, 25)] for i, reason in enumerate(reasons)}
    hatched = [f"{letters[why]}: {count} cannot run, {why}." for why, count in reasons.items()]
    note = _factorial_note(gains.values(), others, len(down) * len(across) - len(cells))
    lines = [note, " ".join(hatched), provenance(group.rows)]
    title = f"GEM: speed-up over the basic kernel in {len(gains)} combinations, {group.problem}"
    figure, part = captioned_picture(title, 1.75 + CELL_INCHES * len(down), lines)
    ax = part.subplots()
    top = 1.6 * max(1.2, *(max(1 / gain.mid, gain.mid) for gain in gains.values()))
    norm, colours = LogNorm(1 / top, top), colormaps["RdBu"]
    best = min(gains, key=lambda cell: gains[cell].mid)
    for cell, row in cells.items():
        at = (across.index(cell[4:]), down.index(cell[:4]))
        corner = (at[0] - 0.5, at[1] - 0.5)
        if cell in gains:
            fill = colours(norm(1 / gains[cell].mid))
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=fill, edgecolor="white", linewidth=1))
            ink = "white" if np.dot(fill[:3], (0.3, 0.59, 0.11)) < 0.45 else INK
            ax.text(*at, significant(1 / gains[cell].mid), ha="center", va="center", fontsize=8.5, color=ink)
        else:
            ax.add_patch(Rectangle(corner, 1, 1, facecolor="none", edgecolor="#bbbbbb", hatch="////", linewidth=0))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
            ax.text(*at, letters[_reason(row)], ha="center", va="center", fontsize=8.5, color=WARNING, bbox=box)
    marked = [(basic_cell, INK, (0, (2, 1)))] if (basic_cell := _cell(basic)) in gains else []
    for cell, colour, line in [*marked, (best, MODEL, "solid")]:
        corner = (across.index(cell[4:]) - 0.46, down.index(cell[:4]) - 0.44)
        style: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 2.2, "linestyle": line}
        ax.add_patch(Rectangle(corner, 0.92, 0.88, zorder=5, **style))
    _frame(ax, across, down, len(ways))
    bar = part.colorbar(ScalarMappable(norm, colours), ax=ax, pad=0.015, aspect=30, fraction=0.04)
    bar.ax.tick_params(labelsize=8.5, color=FAINT, which="both")
    bar.outline.set_visible(False)  # type: ignore[operator]
    plain_ticks(bar.ax, "y")
    frame: dict[str, Any] = {"facecolor": "none", "linewidth": 2.2}
    handles: list[Artist] = [
        Patch(edgecolor=MODEL, label=f"best: {_named(gains[best], cells[best], basic)}", **frame),
        Patch(edgecolor=INK, linestyle=(0, (2, 1)), label="the basic kernel", **frame),
    ]
    if reasons:
        handles.append(Patch(facecolor="none", edgecolor="#bbbbbb", hatch="////", linewidth=0, label="cannot run"))
    legend_outside(part, handles, 3)
    return figure


def _factorial_note(gains: Iterable[Ratio], others: Sequence[tuple[str, int]], empty: int) -> str:
    """The caption: the width of the intervals, the short names, the levels that all cells share, and gaps."""
    fixed = ", ".join(f"{name}={level}" for name, level in others)
    halves = [100 * (hi - lo) / (2 * mid) for lo, mid, hi in map(gain_ends, gains) if lo < hi]
    widths = f"narrower than ±{significant(float(np.median(halves)), 2)} %" if halves else ""
    noise = f"Half of the 95 % intervals are {widths}. " if halves else ""
    note = f"{noise}KS: flags tested in the kernel (off) or known to the compiler (on); MT: work-items in a group."
    return note + (f" In all cells {fixed}." if fixed else "") + (f" Empty: {empty} not asked for." if empty else "")


def _cells(group: Group) -> tuple[dict[tuple[int, ...], Row], list[tuple[str, int]]]:
    """The rows of the factorial by their levels of `FACTORS`, and the levels of all else that they share."""
    rows = [row for row in group.rows if row["variant"] == "pairs" and set(FACTORS) <= set(levels(row))]
    rows = [row for row in rows if (levels(row)["VECTOR"], levels(row)["MATH"]) in WAYS]

    def others(row: Row) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, level) for name, level in levels(row).items() if name not in FACTORS))

    planes = Counter(map(others, rows))
    if not planes:
        return {}, []
    plane = max(planes, key=lambda plane: planes[plane])
    return {_cell(row): row for row in rows if others(row) == plane}, list(plane)


def _cell(row: Row) -> tuple[int, ...]:
    own = levels(row)
    return tuple(own[name] for name in FACTORS)


def _reason(row: Row) -> str:
    return f"{row['status']}: {row['reason'] or 'no reason was recorded'}".rstrip(".")


def _named(gain: Ratio, row: Row, basic: Row) -> str:
    return f"{' + '.join(map(short_name, parts_of(changes_from(row, basic)))) or 'the basic kernel'}, {gain}"


def _frame(ax: Axes, across: list[tuple[int, ...]], down: list[tuple[int, ...]], ways: int) -> None:
    ax.set_xlim(-0.5, len(across) - 0.5)
    ax.set_ylim(len(down) - 0.5, -0.5)
    ax.set_xticks(range(len(across)), [ATOMS.get(atoms, str(atoms)) for _, atoms in across], fontsize=8.5)
    ax.set_yticks(range(len(down)), [WAYS[cell[2], cell[3]] for cell in down], fontsize=8.5)
    ax.set_xlabel("atoms from", fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for i, (left, right) in enumerate(pairwise([*down, (-1, -1)])):
        if left[:2] != right[:2]:
            ax.axhline(i + 0.5, color=INK, linewidth=1, clip_on=False)
            said = f"KS {'on' if left[0] else 'off'}\nMT {left[1]}"
            ax.annotate(
                said, (0, i - ways / 2 + 0.5), (-52, 0), ax.get_yaxis_transform(), "offset points", fontsize=9,
                color=INK, ha="right", va="center", annotation_clip=False,
            )  # fmt: skip
    homes = [vertex for vertex, _ in across]
    for vertex in dict.fromkeys(homes):
        first, count = homes.index(vertex), homes.count(vertex)
        if first:
            ax.axvline(first - 0.5, color=INK, linewidth=1)
        said = VERTEX.get(vertex, str(vertex))
        ax.annotate(
            said, (first + count / 2 - 0.5, 1), (0, 5), ax.get_xaxis_transform(), "offset points", fontsize=9,
            color=INK, ha="center", annotation_clip=False,
        )  # fmt: skip


# ---------------------------------------------------------------- files


def save(study: Study, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study of GEM into ``directory`` (made where missing), the factorial's where as
    many of its cells were asked for as five switches of two levels have; returns what was written: nothing of a study
    without its basic kernel."""
    if sum(row["preset"] == BASIC and row["status"] == "ok" for row in study.summary) != 1:
        return []
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    drawn = [optimizations]
    cells, _ = _cells(group_with_basic(study)[0])
    if len(cells) >= 2**5:
        drawn.append(factorial)
    paths = [target / f"{draw.__name__}.png" for draw in drawn]
    for draw, path in zip(drawn, paths, strict=True):
        draw(study).savefig(path, dpi=150)
    return paths


__all__ = ["Stack", "factorial", "optimizations", "save", "stacking", "surface"]
