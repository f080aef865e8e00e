"""A heat map of all combinations of the paper's optimizations that a study of GEM has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch, Rectangle

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import captioned_picture, legend_outside, provenance
from gpuopt.lab.show.style import INK, MODEL, WARNING
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.workloads.gem.gains import changes_from, gain_ends, gain_over_basic, group_with_basic
from gpuopt.workloads.gem.optimizations import IMAGE_ROW, names_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BY_IMAGE = ("IM", "IM + VASM2", "IM + VAVM2", "IM + VAVM4")
_BY_ROW = tuple(way.replace("IM", IMAGE_ROW) for way in _BY_IMAGE)
WAYS = ("scalar", "VASM2", "VASM4", "VAVM2", "VAVM4", *_BY_IMAGE, *_BY_ROW)
FACTORS = ("SPECIALIZED", "LOCAL", "VECTOR", "MATH", "ATOMS", "VERTEX", "REGISTER_SUM", "UNROLL")
VERTEX = {0: "vertex in global memory", 1: "in local memory (LM)", 2: "in registers (RP)"}
SHORT = {0: "global", 1: "LM", 2: "RP"}
CELL_INCHES = 0.29
HATCHED: dict[str, Any] = {"facecolor": "none", "edgecolor": "#bbbbbb", "hatch": "////", "linewidth": 0}

Line = tuple[int, int, str]  # SPECIALIZED, LOCAL, one of WAYS
Column = tuple[int, int, int, int]  # atoms staged, VERTEX, REGISTER_SUM, UNROLL
Cell = tuple[Line, Column]


@checked
def factorial(study: Study) -> Figure:
    """A heat map of the speed-up over the basic kernel in each combination of the paper's optimizations.

    Takes rows of the kernel `pairs` that differ in the parameters of ``FACTORS``, its other parameters as in most of
    them. What cannot run is hatched or, where all of its line cannot, told in the caption. Raises ParameterError as
    :func:`gpuopt.lab.gem_plots.optimizations`.
    """
    group, basic = group_with_basic(study)
    found, others = cells(group)
    gains = {cell: gain_over_basic(group, row, basic) for cell, row in found.items() if row["status"] == "ok"}
    if not gains:
        raise ParameterError(
            "study: no combination of it ran; sweep the kernel pairs at several levels of its switches"
        )
    running = {line for line, _ in gains}
    shown = {cell: row for cell, row in found.items() if cell[0] in running}
    down = sorted(running, key=lambda line: (line[0], _group_rank(line[1]), WAYS.index(line[2])))
    across = sorted({column for _, column in shown})
    figure, part = captioned_picture(
        f"GEM: speed-up over the basic kernel in {len(gains)} combinations, {group.subject}",
        1.95 + CELL_INCHES * len(down),
        [*_caption(found, shown, gains, others, len(down) * len(across)), provenance(group.rows)],
    )
    ax = part.subplots()
    top = 1.6 * max(1.2, *(max(1 / gain.mid, gain.mid) for gain in gains.values()))
    norm, colours = LogNorm(1 / top, top), colormaps["RdBu"]
    letters = _letters(shown.values())
    size = 8.5 if len(across) <= 14 else 7.0
    for cell, row in shown.items():
        at = (across.index(cell[1]), down.index(cell[0]))
        corner = (at[0] - 0.5, at[1] - 0.5)
        if cell in gains:
            fill = colours(norm(1 / gains[cell].mid))
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=fill, edgecolor="white", linewidth=1))
            ink = "white" if np.dot(fill[:3], (0.3, 0.59, 0.11)) < 0.45 else INK
            speed = 1 / gains[cell].mid
            said = significant(speed, 2 if speed < 1 else 3)
            ax.text(*at, said, ha="center", va="center", fontsize=size, color=ink)
        else:
            ax.add_patch(Rectangle(corner, 1, 1, **HATCHED))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
            ax.text(*at, letters[_reason(row)], ha="center", va="center", fontsize=size, color=WARNING, bbox=box)
    best = min(gains, key=lambda cell: gains[cell].mid)
    marked = [(own, INK, (0, (2, 1)))] if (own := _cell(basic)) in gains else []
    for cell, colour, dashes in [*marked, (best, MODEL, "solid")]:
        corner = (across.index(cell[1]) - 0.46, down.index(cell[0]) - 0.44)
        style: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 2.2, "linestyle": dashes}
        ax.add_patch(Rectangle(corner, 0.92, 0.88, zorder=5, **style))
    _frame(ax, across, down)
    bar = part.colorbar(ScalarMappable(norm, colours), ax=ax, pad=0.015, aspect=30, fraction=0.04)
    bar.ax.tick_params(labelsize=8.5, color=INK, which="both")
    bar.outline.set_visible(False)  # type: ignore[operator]
    plain_ticks(bar.ax, "y")
    legend_outside(part, _legend(f"best: {_named(gains[best], found[best], basic)}", bool(letters)), 3)
    return figure


def _legend(best: str, refused: bool) -> list[Artist]:
    frame: dict[str, Any] = {"facecolor": "none", "linewidth": 2.2}
    handles: list[Artist] = [
        Patch(edgecolor=MODEL, label=best, **frame),
        Patch(edgecolor=INK, linestyle=(0, (2, 1)), label="the basic kernel", **frame),
    ]
    return [*handles, Patch(label="cannot run", **HATCHED)] if refused else handles


def _caption(
    found: Mapping[Cell, Row],
    shown: Mapping[Cell, Row],
    gains: Mapping[Cell, Ratio],
    others: Sequence[tuple[str, int]],
    places: int,
) -> list[str]:
    """The width of the intervals, the short names, the levels that all cells share, gaps, and what cannot run."""
    fixed = ", ".join(f"{name}={level}" for name, level in others)
    halves = [100 * (hi - lo) / (2 * mid) for lo, mid, hi in map(gain_ends, gains.values()) if lo < hi]
    noise = f"Half of the 95 % intervals are narrower than ±{significant(float(np.median(halves)), 2)} %. "
    note = f"{noise if halves else ''}KS: flags tested in the kernel (off) or known to the compiler (on); MT: the "
    note += "largest work-groups; RA: the sum in a register; LU: the loop written out."
    note += f" In all cells {fixed}." if fixed else ""
    empty = places - len(shown)
    note += f" Empty: {empty} not asked for." if empty else ""
    refused = Counter(_reason(row) for row in shown.values() if row["status"] != "ok")
    letters = _letters(shown.values())
    hatched = [f"{letters[why]}: {count} cannot run, {why}." for why, count in refused.items()]
    left_out = {f"{line[2]} cannot run, {_reason(row)}." for (line, _), row in found.items() if (line, _) not in shown}
    return [note, " ".join([*hatched, *sorted(left_out)])]


def _letters(rows: Iterable[Row]) -> dict[str, str]:
    reasons = dict.fromkeys(_reason(row) for row in rows if row["status"] != "ok")
    return {reason: "abcdefghijklmnopqrstuvwxyz"[min(i, 25)] for i, reason in enumerate(reasons)}


def cells(group: Group) -> tuple[dict[Cell, Row], list[tuple[str, int]]]:
    """The rows of the factorial by their place in the picture, and the levels of all else that they share."""
    rows = [row for row in group.rows if row["variant"] == "pairs" and set(FACTORS) <= set(levels(row))]
    rows = [row for row in rows if _cell(row)[0][2] in WAYS]

    def others(row: Row) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, level) for name, level in levels(row).items() if name not in FACTORS))

    planes = Counter(map(others, rows))
    if not planes:
        return {}, []
    plane = max(planes, key=lambda plane: planes[plane])
    # The design has tiles of atoms without an unrolled loop; the NVIDIA-style set has both: it would be a column alone.
    in_design = [row for row in rows if levels(row)["ATOMS"] % 2 == 0 or levels(row)["UNROLL"] == 1]
    return {_cell(row): row for row in in_design if others(row) == plane}, list(plane)


def _cell(row: Row) -> Cell:
    own = levels(row)
    source = {"ATOMS": own["ATOMS"] // 2 * 2, "VECTOR": own["VECTOR"], "MATH": own["MATH"]}
    usual = {"ATOMS": 0, "VECTOR": 1, "MATH": 0}
    way = " + ".join(names_of({name: level for name, level in source.items() if level != usual[name]}))
    line = (own["SPECIALIZED"], own["LOCAL"], way or "scalar")
    return line, (own["ATOMS"] % 2, own["VERTEX"], own["REGISTER_SUM"], own["UNROLL"])


def _reason(row: Row) -> str:
    return f"{row['status']}: {row['reason'] or 'no reason was recorded'}".rstrip(".")


def _named(gain: Ratio, row: Row, basic: Row) -> str:
    return f"{' + '.join(names_of(changes_from(row, basic))) or 'the basic kernel'}, {gain}"


def _group_rank(local: int) -> tuple[bool, int]:
    return local == 0, local  # 0 means the largest


def _frame(ax: Axes, across: list[Column], down: list[Line]) -> None:
    ax.set_xlim(-0.5, len(across) - 0.5)
    ax.set_ylim(len(down) - 0.5, -0.5)
    under = [["RA"] * own + [f"LU{unroll}"] * (unroll > 1) for _, _, own, unroll in across]
    nothing = "-" if any(under) else ""  # beside columns that have names
    ax.set_xticks(range(len(across)), ["\n".join(words) or nothing for words in under], fontsize=8)
    ax.set_yticks(range(len(down)), [way for _, _, way in down], fontsize=8.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    style: dict[str, Any] = {"fontsize": 9, "color": INK, "annotation_clip": False}
    first = 0
    for i, (line, following) in enumerate(pairwise([*down, (-1, -1, "")])):
        if line[:2] == following[:2]:
            continue
        ax.axhline(i + 0.5, color=INK, linewidth=1, clip_on=False)
        groups = f"groups of {line[1]}" if line[1] else "MT on"
        said = f"KS {'on' if line[0] else 'off'}\n{groups}"
        middle = (first + i) / 2
        ax.annotate(
            said, (0, middle), (-76, 0), ax.get_yaxis_transform(), "offset points", ha="right", va="center", **style
        )
        first = i + 1
    homes = [column[:2] for column in across]
    for home in dict.fromkeys(homes):
        first, count = homes.index(home), homes.count(home)
        if first:
            ax.axvline(first - 0.5, color=INK, linewidth=1)
        said = (VERTEX if count > 3 else SHORT).get(home[1], str(home[1]))
        if home[0]:
            said = f"{said},\natoms LM"
        ax.annotate(
            said, (first + count / 2 - 0.5, 1), (0, 5), ax.get_xaxis_transform(), "offset points", ha="center", **style
        )
