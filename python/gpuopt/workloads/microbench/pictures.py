"""Pictures of a device from the rows of its microbenchmarks: one device a picture, what the papers found beside it.

The papers' figures are prose of Yang, Xiang, Mantor and Zhou, "Fixing Performance Bugs", ICPP 2012: its Figures 1, 2,
5, 7 and 13 came without numbers that could be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from gpuopt.lab.device import levels
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import OURS, PAPER
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show.canvas import (
    CYCLE,
    LIFT,
    MARKERS,
    Rows,
    byte_ticks,
    captioned_picture,
    decorate,
    empty_picture,
    family_of,
    gb_s_of,
    legend_outside,
    level_of,
    measured_points,
    provenance,
    rate_bars,
    rate_interval,
    rate_text,
    rate_ticks,
    rows_of_families,
    size_text,
    skipped_text,
    working_set_bytes,
)
from gpuopt.lab.show.ladder import COLOURS, DOT, FAINT, HOLLOW, INK, MODEL, bar_axes
from gpuopt.workloads.microbench.kernel_pictures import block_dimensions, roofline
from gpuopt.workloads.microbench.type_pictures import data_types, vector_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CACHES_IN_THE_PAPER = (
    "Yang et al. 2012, Figure 13: constant memory over local memory 2.05x on a GTX480 and 4.83x on an HD5870; textures"
    " above local memory on the HD5870, below it on the GTX480."
)


# ---------------------------------------------------------------- working sets


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
        key = (str(row["variant"]), level_of(row, "WIDTH", 1), str(row.get("dtype") or ""))
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


# ---------------------------------------------------------------- on-chip memories

_PLACE = {"constant": 0, "local": 1, "image1d": 2, "image2d": 3, "cached": 4}


def cache_types(rows: Rows) -> Figure:
    """The best rate of each kind of on-chip memory, and how many times local memory's that is, beside the paper's.

    Takes rows of the families constant, local, image1d, image2d and cached; of the last the small working set's, which
    the L1 serves.
    """
    families = {"constant", "local", "image1d", "image2d", "cached"}
    good, failed = measured_points(rows_of_families(rows, families))
    title = "On-chip memories, read again and again"
    best: dict[tuple[int, int, str], Row] = {}
    why = {"status": "suspicious", "reason": "twice the trips did not take twice the time"}
    failed += [{**row, **why} for row in good if "suspicious" in (row.get("flags") or [])]
    good = [row for row in good if "suspicious" not in (row.get("flags") or [])]
    for row in good:
        key = _memory(row)
        best[key] = max(best.get(key, row), row, key=gb_s_of)
    if not best:
        return empty_picture(title, failed)
    keys = sorted(best)
    unit = next((best[key] for key in keys if key[0] == _PLACE["local"]), None)
    height = 1.9 + 0.42 * len(keys)
    figure, part = captioned_picture(title, height, [CACHES_IN_THE_PAPER, skipped_text(failed), provenance(good)])
    axes = part.subplots(1, 2 if unit else 1, squeeze=False, width_ratios=[1.6, 1] if unit else [1])[0]
    places = [float(i) for i in range(len(keys))]
    colours = [COLOURS[OURS if key[0] == _PLACE["cached"] else PAPER] for key in keys]
    rates = [gb_s_of(best[key]) for key in keys]
    labels = [rate_text(rate) for rate in rates]
    rate_bars(axes[0], places, rates, [rate_interval(best[key]) for key in keys], colours, labels)
    axes[0].set_yticks(places, [key[2] for key in keys], fontsize=9)
    bar_axes(axes[0], places)
    axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: rate_text(value, 1) if value else "0"))
    axes[0].set_xlabel("rate at which work-items are served (more is faster)", fontsize=9)
    handles: list[Artist] = [
        Patch(color=COLOURS[PAPER], label="memories of the paper"),
        Patch(color=COLOURS[OURS], label="global memory, from its cache"),
    ]
    if unit is not None:
        handles += _ratios(axes[1], keys, [rate / gb_s_of(unit) for rate in rates], colours)
    legend_outside(part, handles, 3)
    return figure


def _memory(row: Row) -> tuple[int, int, str]:
    """Place, place within, and name of the memory that a row read."""
    family = family_of(row)
    if family == "constant":
        divergent = not level_of(row, "UNIFORM", 1)
        return _PLACE[family], int(divergent), "constant, divergent" if divergent else "constant, one address"
    if family == "local":
        stride = level_of(row, "STRIDE", 1)
        return _PLACE[family], stride, "local" if stride == 1 else f"local, stride {stride}"
    if family == "image2d":
        linear = level_of(row, "LINEAR", 0)
        return _PLACE[family], linear, "image 2D, linear" if linear else "image 2D, nearest"
    return (_PLACE[family], 0, "image 1D" if family == "image1d" else "global, cached")


def _ratios(ax: Axes, keys: list[tuple[int, int, str]], ratios: list[float], colours: list[str]) -> list[Artist]:
    places = [float(i) for i in range(len(keys))]
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    quoted: list[tuple[float, str]] = []
    for key, y, ratio, colour in zip(keys, places, ratios, colours, strict=True):
        ax.plot(ratio, y, color=colour, zorder=4, **DOT)
        ax.annotate(
            f"{ratio:.2f}",
            (ratio, y),
            (0, 7),
            "data",
            "offset points",
            ha="center",
            fontsize=8.5,
            color=INK,
            zorder=6,
            **LIFT,
        )
        if key[:2] == (_PLACE["constant"], 0):
            quoted = [(2.05, "GTX480"), (4.83, "HD5870")]
            for paper, device in quoted:
                ax.plot(paper, y, zorder=5, **HOLLOW)
                label = f"{paper:g} {device}"
                ax.annotate(label, (paper, y), (0, -13), "data", "offset points", ha="center", fontsize=8, color=FAINT)
    most = max([*ratios, *(paper for paper, _ in quoted)])
    ax.set_xlim(-0.04 * most, 1.14 * most)
    ax.set_yticks(places, [""] * len(places))
    bar_axes(ax, places)
    ax.set_xlabel("times the rate of local memory", fontsize=9)
    handles: list[Artist] = [Line2D([], [], color=FAINT, linestyle="none", label="ratio here", **DOT)]
    return handles + ([Line2D([], [], label="ratio in the paper", **HOLLOW)] if quoted else [])


# ---------------------------------------------------------------- files


def save(study: Study, directory: Path) -> list[Path]:
    """Writes the pictures of a microbenchmark study into ``directory``; returns what was written."""
    paths = []
    for draw in (data_types, working_set, block_dimensions, cache_types):
        paths.append(directory / f"{draw.__name__}.png")
        draw(study.points).savefig(paths[-1], dpi=150)
    return paths


__all__ = ["block_dimensions", "cache_types", "data_types", "roofline", "save", "working_set"]
