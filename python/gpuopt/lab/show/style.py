"""How pictures look: colours, marks, widths, and the parts of axes that several of them draw."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpuopt import files
from gpuopt.lab.rows.groups import (
    CALLS,
    OURS,
    PAPER,
    PEERS,
    ROUNDED,
)
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart by readers with any common colour vision, and by lightness in print.
COLOURS = {PAPER: "#0072B2", OURS: "#E69F00", ROUNDED: "#CC79A7", CALLS: "#56B4E9", PEERS: "#009E73"}
INK, FAINT, WARNING, MODEL = "#222222", "#6b6b6b", "#8a3b00", "#D55E00"
BAR_HEIGHT = 0.62
NAME_WIDTH, REASON_WIDTH, REASON_LINES = 28, 56, 2
WIDTH_INCHES, ROW_INCHES = 10.0, 0.48

# What lies on what. The plain form is bars or dots, their bound and their interval. A bound that moves and what a paper
# printed are a second, lighter layer: behind the first, or in a lane below a bar, so that nothing strikes through one.
ASIDE, LIMIT, FACE, SURE = 1.2, 1.5, 2.0, 4.0
LANE = 0.4  # from the middle of a bar's row to its lane, in rows

TICK: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 11, "markeredgewidth": 2.2, "linestyle": "none"}
PRODUCT: dict[str, Any] = TICK | {"color": FAINT, "markeredgewidth": 1.6}
DOT: dict[str, Any] = {"marker": "o", "markersize": 8}
STAIRS: dict[str, Any] = {"color": MODEL, "linewidth": 1.3, "alpha": 0.8}
FLAT: dict[str, Any] = {"marker": "|", "markersize": 8, "markeredgewidth": 1.8, "color": MODEL, "linestyle": "none"}
BEYOND: dict[str, Any] = {"marker": ">", "markersize": 6, "linestyle": "none"}
HOLLOW: dict[str, Any] = {"marker": "D", "markersize": 5, "mfc": "none", "mec": FAINT, "linestyle": "none"}
WHISKER: dict[str, Any] = {"ecolor": INK, "elinewidth": 1.2, "capsize": 3, "zorder": SURE}


def shades(colour: str, count: int, dark: float = 0.0, light: float = 0.75) -> list[str]:
    """So many shades of a colour, the darkest first, from so much black in it to so much white: what they stand for is
    all of one kind. One alone is the colour itself."""
    parts = [-dark + (light + dark) * number / (count - 1) for number in range(count)] if count > 1 else [0.0]
    red, green, blue = to_rgb(colour)

    def mixed(one: float, part: float) -> float:
        return one + abs(part) * ((part > 0) - one)

    return [to_hex((mixed(red, part), mixed(green, part), mixed(blue, part))) for part in parts[:count]]


def interval_key() -> Line2D:
    """What a legend says of whiskers."""
    return Line2D([], [], color=INK, marker="|", markersize=6, linewidth=1.2, label="95 % interval")


def paper_key(devices: Iterable[str], what: str = "in the paper") -> Line2D:
    """What a legend says of a paper's diamonds."""
    return Line2D([], [], label=f"{what} ({joined(sorted(set(devices)))})", **HOLLOW)


def paper_marks(ax: Axes, printed: Sequence[float], y: float) -> None:
    """What a paper printed, in the lane at ``y``: a diamond, or the least and the most with a line between them."""
    ax.plot(printed, [y] * len(printed), color=FAINT, linewidth=1.0, zorder=ASIDE)
    ax.plot(printed, [y] * len(printed), zorder=ASIDE, **HOLLOW)


def drawable(study: StudyRows) -> StudyRows:
    """The study with words that fonts can draw, whoever wrote its rows."""
    return StudyRows([{name: _drawable(value) for name, value in row.items()} for row in study.rows])


def _drawable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {name: _drawable(part) for name, part in value.items()}
    return value


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
