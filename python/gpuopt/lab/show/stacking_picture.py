"""The picture of how optimizations stack: each alone, on average and in company; all together; and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import LIFT, captioned_picture, legend_outside
from gpuopt.lab.show.style import COLOURS, FAINT, INK, MODEL, WHISKER, Picture, bar_axes, error_sides
from gpuopt.lab.show.ticks import plain_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_INCHES, FRAME_INCHES = 0.25, 1.9  # of a mark's line, and of title, axis and legend
APART = 0.45  # lines between one factor and the next

MARKS: dict[str, dict[str, Any]] = {
    "alone": {"marker": "o", "color": COLOURS[PAPER], "label": "alone: over all off"},
    "mean": {"marker": "s", "color": INK, "label": "mean over all settings of the others"},
    "company": {"marker": "D", "color": COLOURS[OURS], "label": "in company: all on, over all but this"},
    "product": {"marker": "o", "color": COLOURS[PAPER], "mfc": "none", "label": "all, if the gains alone multiplied"},
    "together": {"marker": "D", "color": COLOURS[PEERS], "label": "all together, as measured"},
}
# No colour of the gains beside them.
PAIRS = {"more than the product": COLOURS[CALLS], "less than the product": MODEL, "undecided": FAINT}


@dataclass(frozen=True)
class Gain:
    """How many times as fast, with the ends of its 95 % interval where there is one."""

    times: float
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Line:
    """A name, and below one another the gains of it by their kind, a key of ``MARKS``."""

    name: str
    gains: dict[str, Gain]


@dataclass(frozen=True)
class Pair:
    """What a pair brings beyond the product of the two, and the verdict on that."""

    name: str
    gain: Gain
    verdict: str


def picture(title: str, lines: Sequence[Line], pairs: Sequence[Pair], caption: Sequence[str]) -> Picture:
    """Gains of factors and of all on the left, and on the right those of pairs over their product."""
    count = max(sum(len(line.gains) + APART for line in lines), len(pairs) * (1 + APART))
    figure, part = captioned_picture(title, FRAME_INCHES + LINE_INCHES * count, list(caption))
    axes = part.subplots(1, 2 if pairs else 1, squeeze=False, width_ratios=[1.6, 1] if pairs else [1])[0]
    _gains(axes[0], lines)
    if pairs:
        _pairs(axes[1], pairs)
    kinds = dict.fromkeys(kind for line in lines for kind in line.gains)
    handles = [Line2D([], [], linestyle="none", markersize=7, **MARKS[kind]) for kind in kinds]
    words = dict.fromkeys(pair.verdict for pair in pairs)
    handles += [
        Line2D([], [], linestyle="none", marker="o", markersize=7, color=colour, label=f"pair: {word}")
        for word, colour in PAIRS.items()
        if word in words
    ]
    legend_outside(part, [*handles], 3)
    return figure


def _gains(ax: Axes, lines: Sequence[Line]) -> None:
    y, places, drawn = 0.0, [], []
    for line in lines:
        places.append(y + (len(line.gains) - 1) / 2)
        for kind, gain in line.gains.items():
            style = {key: value for key, value in MARKS[kind].items() if key != "label"}
            drawn.append((y, gain, style))
            y += 1
        y += APART
    _marks(ax, drawn)
    ax.set_yticks(places, [line.name for line in lines], fontsize=9)
    bar_axes(ax, [y - 1 - APART])
    ax.set_xlabel("times as fast", fontsize=9)


def _pairs(ax: Axes, pairs: Sequence[Pair]) -> None:
    places = [index * (1 + APART) for index in range(len(pairs))]
    marks = [{"marker": "o", "color": PAIRS.get(pair.verdict, FAINT)} for pair in pairs]
    _marks(ax, [(y, pair.gain, style) for y, pair, style in zip(places, pairs, marks, strict=True)])
    ax.set_yticks(places, [pair.name for pair in pairs], fontsize=9)
    bar_axes(ax, places)
    ax.set_xlabel("both, over the product of the two", fontsize=9)


def _marks(ax: Axes, drawn: Sequence[tuple[float, Gain, dict[str, Any]]]) -> None:
    """Marks with their intervals and numbers on a logarithmic axis, and a line where nothing is gained."""
    ends = [end for _, gain, _ in drawn for end in (gain.lo or gain.times, gain.hi or gain.times)]
    low, high = min([1.0, *ends]), max([1.0, *ends])
    room = max(high / low, 1.05) ** 0.06
    ax.set_xscale("log")
    ax.set_xlim(low / room, high * room**4)  # the numbers stand on the right
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    for y, gain, style in drawn:
        lo, hi = gain.lo or gain.times, gain.hi or gain.times
        ax.errorbar(gain.times, y, xerr=error_sides(lo, gain.times, hi), markersize=7, **style, **WHISKER)
        ax.annotate(
            f"{significant(gain.times)}x",
            (hi, y),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
            zorder=6,
            **LIFT,
        )
    plain_ticks(ax, "x")
