"""How pictures look: colours, marks, widths, and the parts of axes that several of them draw."""

from __future__ import annotations

import io
import textwrap
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.figure import Figure

from gpuopt import files
from gpuopt.lab.rows.groups import (
    CALLS,
    OURS,
    PAPER,
    PEERS,
    ROUNDED,
)
from gpuopt.lab.rows.schema import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart by readers with any common colour vision, and by lightness in print.
COLOURS = {PAPER: "#0072B2", OURS: "#E69F00", ROUNDED: "#CC79A7", CALLS: "#56B4E9", PEERS: "#009E73"}
INK, FAINT, WARNING, MODEL = "#222222", "#6b6b6b", "#8a3b00", "#D55E00"
BAR_HEIGHT = 0.62
NAME_WIDTH, REASON_WIDTH, REASON_LINES = 28, 56, 2
CAPTION_WIDTH, USUAL_ROWS = 150, 3
WIDTH_INCHES, ROW_INCHES, CAPTION_INCHES = 10.0, 0.48, 0.36  # a caption of two lines
LINE_INCHES = 0.165  # of a further one


TICK: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 11, "markeredgewidth": 2.2, "linestyle": "none"}
DOT: dict[str, Any] = {"marker": "o", "markersize": 8}
STAIRS: dict[str, Any] = {"color": MODEL, "linewidth": 1.8}
FLAT: dict[str, Any] = {"marker": "|", "markersize": 12, "markeredgewidth": 2.2, "color": MODEL, "linestyle": "none"}
BEYOND: dict[str, Any] = {"marker": ">", "markersize": 7}
HOLLOW: dict[str, Any] = {"marker": "D", "markersize": 8, "mfc": "none", "mec": INK, "linestyle": "none"}
WHISKER: dict[str, Any] = {"ecolor": INK, "elinewidth": 1.2, "capsize": 3, "zorder": 4}


class Picture(Figure):
    """A Figure that a notebook shows whether or not pyplot was ever imported."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's; a file appears whole or not at all. Raises WriteError where it cannot be written."""
        if isinstance(fname, str | PathLike):
            save_whole(self, fname, **options)
        else:
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def save_whole(figure: Figure, path: str | PathLike[str], **options: Any) -> None:
    """Writes any figure to a file as ``savefig`` does, whole or not at all: matplotlib and what it writes by leave half
    a picture on a full disk, and some of it without an error. Raises WriteError."""
    target = Path(path)
    kind = options.pop("format", None) or target.suffix[1:] or rcParams["savefig.format"]
    buffer = io.BytesIO()
    Figure.savefig(figure, buffer, format=kind, **options)
    files.write(target if target.suffix else target.with_name(f"{target.name}.{kind}"), [buffer.getvalue()])


def error_sides(low: float, mid: float, high: float) -> list[list[float]]:
    return [[max(0.0, mid - low)], [max(0.0, high - mid)]]


def bar_axes(ax: Axes, places: list[float]) -> None:
    ax.set_ylim(places[-1] + 0.6, -0.6)
    open_axes(ax)


def open_axes(ax: Axes) -> None:
    """No frame but the line below, no ticks beside the names of what is drawn, and a faint grid across."""
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8.5, color=FAINT)
    ax.grid(axis="x", color="#dddddd", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def failure_text(ax: Axes, row: Row, y: float) -> None:
    reason = str(row["reason"] or "no reason was recorded")
    lines = textwrap.wrap(f"{row['status']}: {reason}", REASON_WIDTH)
    if len(lines) > REASON_LINES:
        rest = textwrap.shorten(" ".join(lines[REASON_LINES - 1 :]), REASON_WIDTH, placeholder=" …")
        lines = [*lines[: REASON_LINES - 1], rest]
    style: dict[str, Any] = {"va": "center", "fontsize": 8.5, "style": "italic", "color": WARNING}
    ax.text(0.012, y, "\n".join(lines), transform=ax.get_yaxis_transform(), **style)
