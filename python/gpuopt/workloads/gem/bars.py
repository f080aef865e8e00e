"""Bars of gains over GEM's basic kernel, beside the product of the parts' gains and what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpuopt import papers
from gpuopt.lab.rows.groups import PAPER, section
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import legend_outside
from gpuopt.lab.show.style import (
    COLOURS,
    FACE,
    FAINT,
    INK,
    LANE,
    LIMIT,
    PRODUCT,
    WHISKER,
    bar_axes,
    error_sides,
    failure_text,
    interval_key,
    paper_key,
    paper_marks,
)
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.workloads.gem.gains import gain_ends

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

# Right of the bars: a heading, where its numbers end in points, their colour.
COLUMNS = (("here", 44.0, INK), ("product", 92.0, INK), ("paper", 140.0, FAINT), ("product", 188.0, FAINT))
ROW_INCHES, BAR_HEIGHT = 0.34, 0.46


@dataclass(frozen=True)
class Bar:
    label: str
    row: Row | None
    gain: Ratio | None
    preset: str = ""
    parts: int = 0
    product: float | None = None
    paper: float | None = None
    paper_product: float | None = None


def panels_below(part: SubFigure, panels: Sequence[tuple[str, list[Bar]]], columns: int) -> None:
    """Panels of bars one below the other, each with its heading, on one axis; the legend has so many columns."""
    counts, every = [len(bars) for _, bars in panels], [bar for _, bars in panels for bar in bars]
    drawn = part.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=counts)[:, 0]
    drawn[0].set_xscale("log")
    drawn[0].set_xlim(*reach(every))
    for ax, (head, bars) in zip(drawn, panels, strict=True):
        panel(ax, bars)
        ax.set_title(head, fontsize=10, loc="left", color=INK)
    drawn[-1].set_xlabel("speed-up over the basic kernel (more is faster)", fontsize=9)
    legend_outside(part, marks(every), columns)


def panel(ax: Axes, bars: list[Bar]) -> None:
    places = [float(i) for i in range(len(bars))]
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    texts: list[tuple[str, ...]] = []
    for bar, y in zip(bars, places, strict=True):
        if bar.gain is not None:
            low, mid, high = gain_ends(bar.gain)
            colour = COLOURS[section(bar.row) if bar.row else PAPER]
            ax.barh(y, mid - 1, BAR_HEIGHT, left=1, color=colour, zorder=FACE)
            ax.errorbar(mid, y, xerr=error_sides(low, mid, high), **WHISKER)
        elif bar.row is not None:
            failure_text(ax, bar.row, y)
        if bar.product is not None:
            ax.vlines(bar.product, y - 0.38, y + 0.38, color=FAINT, linewidth=1.6, zorder=LIMIT)
        if bar.paper is not None:
            paper_marks(ax, [bar.paper], y + LANE)
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


def marks(bars: list[Bar]) -> list[Artist]:
    colours = {section(bar.row): None for bar in bars if bar.row is not None and bar.gain is not None}
    handles: list[Artist] = [Patch(color=COLOURS[name], label=name) for name in colours]
    if any(bar.gain is not None and bar.gain.lo for bar in bars):
        handles.append(interval_key())
    if any(bar.product for bar in bars):
        handles.append(Line2D([], [], label="product of the parts' gains, here", **PRODUCT))
    if any(bar.paper for bar in bars):
        handles.append(paper_key(step.device for step in papers.load("gem").steps))
    return handles


def reach(bars: list[Bar]) -> tuple[float, float]:
    seen = [1.0]
    for bar in bars:
        seen += [*(gain_ends(bar.gain) if bar.gain else ()), *filter(None, (bar.product, bar.paper))]
    return min(seen) / 1.12, max(seen) * 1.12
