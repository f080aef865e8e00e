"""Rates over the size of the problem: a line a step, a variant of ours, a call or a peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS, ROUNDED, Group, section
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.show.canvas import CYCLE, MARKERS, decorate, plain_ticks
from gpuopt.lab.show.gains import lengths_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 1.02  # lines that nearly coincide, so that each one's intervals show


@dataclass(frozen=True)
class Line:
    """A step, a variant of ours, a call or a peer over sizes: (x, rate, low, high) a point."""

    label: str
    points: list[tuple[float, float, float, float]]
    kind: str


def contest(
    groups: Sequence[Group],
    x: Callable[[Group, Row], float] | None = None,
    rate: Callable[[Row], float] | None = None,
) -> list[Line]:
    """The fastest of the papers' steps, each of ours, calls and peers."""
    lines = [line_of(groups, "the papers' best", lambda row: section(row) == PAPER, x or cube_side, PAPER, rate)]
    for kind in (OURS, ROUNDED, CALLS, PEERS):
        names = dict.fromkeys(str(row["variant"]) for group in groups for row in group.section(kind))
        for name in names:
            lines.append(line_of(groups, name, of_variant(name, kind), x or cube_side, kind, rate))
    return lines


def line_of(
    groups: Sequence[Group],
    label: str,
    mine: Callable[[Row], bool],
    x: Callable[[Group, Row], float],
    kind: str,
    rate: Callable[[Row], float] | None = None,
) -> Line:
    """The fastest of the rows that are ``mine`` in each group."""
    points = []
    for group in groups:
        row = min(filter(mine, timed_rows(group)), key=time_ms, default=None)
        if row is None:
            continue
        mid, median = rate(row) if rate else number_of(row, "gflop_s"), time_ms(row)
        low, high = (mid * median / (end or median) for end in (row["ci_hi_ms"], row["ci_lo_ms"]))
        points.append((x(group, row), mid, low, high))
    return Line(label, sorted(points), kind)


def draw(ax: Axes, lines: Sequence[Line], scale: float) -> None:
    drawn = [line for line in lines if line.points]
    for number, line in enumerate(drawn):
        draw_line(ax, line, number, scale)
    ax.set_xscale("log")
    ax.set_yscale("log")
    decorate(ax)
    if drawn:
        plain_ticks(ax)
        legend_below(ax)


def draw_line(ax: Axes, line: Line, number: int, scale: float) -> None:
    if not line.points:
        return
    x, mid, low, high = (list(column) for column in zip(*line.points, strict=True))
    style: dict[str, Any] = {"color": CYCLE[number % len(CYCLE)], "marker": MARKERS[number % len(MARKERS)]}
    style |= {"linestyle": {CALLS: ":", PEERS: "--"}.get(line.kind, "-"), "markersize": 5, "linewidth": 1.4}
    rates = [value / scale for value in mid]
    errors = [
        [(m - e) / scale for m, e in zip(mid, low, strict=True)],
        [(e - m) / scale for m, e in zip(mid, high, strict=True)],
    ]
    ax.errorbar(x, rates, yerr=[[max(0.0, e) for e in side] for side in errors], label=line.label, capsize=2, **style)


def legend_below(ax: Axes) -> None:
    ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(-0.08, -0.13), ncols=2, columnspacing=1.2)


def size_ticks(ax: Axes, groups: Sequence[Group], *more: float) -> None:
    places = sorted({*(cube_side(group, {}) for group in groups), *more})
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(places, [f"{place:.0f}" for place in places])


# ---------------------------------------------------------------- rows


def timed_rows(group: Group) -> list[Row]:
    return [row for row in group.rows if row["status"] == "ok" and row["median_ms"] and row["gflop_s"]]


def cube_side(group: Group, row: Row) -> float:
    """The side of a cube of as many products as the group's problem has."""
    side: float = prod(lengths_of(group)) ** (1 / 3)
    return round(side, 6)


def of_preset(name: str) -> Callable[[Row], bool]:
    return lambda row: row["preset"] == name


def of_variant(name: str, kind: str) -> Callable[[Row], bool]:
    return lambda row: row["variant"] == name and section(row) == kind
