"""A picture of the on-chip memories: how fast each kind serves work-items, and what the paper found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from gpuopt.checked import checked
from gpuopt.lab.rows.groups import OURS, PAPER
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show.canvas import (
    LIFT,
    Rows,
    captioned_picture,
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
    rows_of_families,
    skipped_text,
)
from gpuopt.lab.show.style import COLOURS, DOT, FAINT, HOLLOW, INK, bar_axes, paper_marks
from gpuopt.papers import findings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLACE = {"constant": 0, "local": 1, "image1d": 2, "image2d": 3, "cached": 4}


@checked
def cache_types(rows: Rows) -> Figure:
    """The best rate of each kind of on-chip memory, and how many times local memory's that is, beside the paper's.

    Takes rows of the families constant, local, image1d, image2d and cached; of the last the small working set's, which
    the L1 serves.
    """
    families = {"constant", "local", "image1d", "image2d", "cached"}
    good, failed = measured_points(rows_of_families(rows, families))
    title = "On-chip memories, read again and again"
    best: dict[tuple[int, int, str], Row] = {}
    doubted = [row for row in good if "suspicious" in row["flags"]]
    good = [row for row in good if "suspicious" not in row["flags"]]
    for row in good:
        key = _memory(row)
        best[key] = max(best.get(key, row), row, key=gb_s_of)
    if not best:
        return empty_picture(title, failed, doubted)
    keys = sorted(best)
    unit = next((best[key] for key in keys if key[0] == _PLACE["local"]), None)
    height = 1.9 + 0.42 * len(keys)
    lines = [findings.of("microbench")["caches"].sentence, skipped_text(failed, doubted), provenance(good)]
    figure, part = captioned_picture(title, height, lines)
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
            quoted = [(value.number, value.device) for value in findings.of("microbench")["caches"].values]
            for paper, _ in quoted:
                paper_marks(ax, [paper], y)
            said = ", ".join(f"{paper:g} {device}" for paper, device in sorted(quoted))  # one text: marks may be near
            first = (min(paper for paper, _ in quoted), y)
            ax.annotate(said, first, (-4, -13), "data", "offset points", fontsize=8, color=FAINT)
    most = max([*ratios, *(paper for paper, _ in quoted)])
    ax.set_xlim(-0.04 * most, 1.14 * most)
    ax.set_yticks(places, [""] * len(places))
    bar_axes(ax, places)
    ax.set_xlabel("times the rate of local memory", fontsize=9)
    handles: list[Artist] = [Line2D([], [], color=FAINT, linestyle="none", label="ratio here", **DOT)]
    return handles + ([Line2D([], [], label="ratio in the paper", **HOLLOW)] if quoted else [])
