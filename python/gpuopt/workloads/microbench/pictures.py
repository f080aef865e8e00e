"""Pictures of a device from the rows of its microbenchmarks: one device a picture, what the papers found beside it.

What the papers found is read from ``papers/findings/microbench.json``. The figures of Yang 2012 (1, 2, 5, 7, 9 and 13)
have no numbers of their own: those of the text are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from gpuopt import files
from gpuopt.checked import checked
from gpuopt.lab.device import levels
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show.canvas import (
    CYCLE,
    LIFT,
    MARKERS,
    Rows,
    captioned_picture,
    decorate,
    empty_picture,
    gb_s_of,
    legend_outside,
    level_of,
    measured_points,
    provenance,
    rate_interval,
    rate_text,
    rows_of_families,
    size_text,
    skipped_text,
    working_set_bytes,
)
from gpuopt.lab.show.style import INK, MODEL
from gpuopt.lab.show.ticks import byte_ticks, rate_ticks
from gpuopt.workloads.microbench.cache_pictures import cache_types
from gpuopt.workloads.microbench.execution_pictures import activation_matrix, branches, knee, registers
from gpuopt.workloads.microbench.kernel_pictures import block_dimensions, roofline
from gpuopt.workloads.microbench.type_pictures import data_types, vector_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---------------------------------------------------------------- working sets


@checked
def working_set(rows: Rows) -> Figure:
    """Read rate over working set, a line a variant and width, with the levels found in the best of them.

    Takes rows of the family `cached` (`read` where there are none) with `sizes["bytes"]`; of several configurations of
    a line's the fastest counts at each size.
    """
    cached = rows_of_families(rows, {"cached"})
    good, failed = measured_points(cached or rows_of_families(rows, {"read"}))
    good = [row for row in good if working_set_bytes(row)]
    title = "Read rate over working set"
    if not good:
        return empty_picture(title, failed)
    lines: dict[tuple[str, int, str], dict[int, Row]] = {}
    top: dict[int, Row] = {}
    for row in good:
        key = (str(row["variant"]), level_of(row, "WIDTH", 1), str(row["dtype"] or ""))
        size = working_set_bytes(row)
        for line in (lines.setdefault(key, {}), top):
            line[size] = max(line.get(size, row), row, key=gb_s_of)
    found = levels.find([(size, gb_s_of(row), *rate_interval(row)) for size, row in sorted(top.items())])
    note = "Levels are those of the fastest line at each size; a knee is the largest set at its plateau's rate."
    figure, part = captioned_picture(title, 5.4, [note, skipped_text(failed), provenance(good)])
    ax = part.subplots()
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    handles: list[Artist] = []
    dtypes = {key[2] for key in lines}
    for number, (key, line) in enumerate(sorted(lines.items())):
        colour, marker = CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)]
        at = sorted(line)
        low, high = zip(*(rate_interval(line[size]) for size in at), strict=True)
        ax.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0)
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.3}
        ax.plot(at, [gb_s_of(line[size]) for size in at], zorder=3, **style)
        label = f"{key[0]}, {vector_name(key[2], key[1]) if len(dtypes) > 1 else f'WIDTH={key[1]}'}"
        handles.append(Line2D([], [], label=label, **style))
    _draw_levels(ax, found, sorted(top))
    handles.append(Line2D([], [], color=MODEL, linewidth=2.2, label="level found"))
    handles.append(Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3)), label="knee"))
    decorate(ax)
    byte_ticks(ax, min(top), max(top))
    rate_ticks(ax)
    ax.set_xlabel("working set, bytes", fontsize=9)
    ax.set_ylabel("read rate (more is faster)", fontsize=9)
    legend_outside(part, handles, 4)
    return figure


def _draw_levels(ax: Axes, found: list[levels.Level], sizes: Sequence[int]) -> None:
    left, raised = float(sizes[0]), 0
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom / 1.6, top * 1.9)
    for number, level in enumerate(found):
        right = level.bytes or float(sizes[-1])
        ax.plot([left, right], [level.rate_gb_s] * 2, color=MODEL, linewidth=2.2, alpha=0.9, zorder=4)
        words = "memory " if number == len(found) - 1 else ""
        middle = float(np.sqrt(left * right))
        ax.annotate(
            f"{words}{rate_text(level.rate_gb_s)}", (middle, level.rate_gb_s), (0, 9), "data", "offset points",
            ha="center",
            fontsize=9, color=MODEL, fontweight="bold", zorder=7, **LIFT,
        )  # fmt: skip
        if level.bytes:
            raised = 14 - raised if left > sizes[0] and level.bytes < 8 * left else 0  # clear of its neighbour
            ax.axvline(level.bytes, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
            ax.annotate(
                size_text(level.bytes), (level.bytes, 0), (4, 6 + raised), ax.get_xaxis_transform(), "offset points",
                fontsize=9, color=INK, fontweight="bold", zorder=7, **LIFT,
            )  # fmt: skip
            left = level.bytes


# ---------------------------------------------------------------- files


@checked
def save(study: Study, directory: str | Path) -> list[Path]:
    """Writes the pictures of a microbenchmark study into ``directory`` (made where missing); returns what was
    written."""
    paths, target = [], files.made_folder(directory)
    for draw in (data_types, working_set, block_dimensions, activation_matrix, cache_types, branches, registers):
        paths.append(target / f"{draw.__name__}.png")
        draw(study.points).savefig(paths[-1], dpi=150)
    return paths


__all__ = [
    "activation_matrix",
    "block_dimensions",
    "branches",
    "cache_types",
    "data_types",
    "knee",
    "registers",
    "roofline",
    "save",
    "working_set",
]
