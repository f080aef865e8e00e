"""Rates over the size of the problem: a line a step, a variant of ours, a call or a peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS, ROUNDED, Group, section
from gpuopt.lab.rows.names import call_name
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.show.canvas import MARKERS, decorate, labelled
from gpuopt.lab.show.fitting import legend_columns, room_of
from gpuopt.lab.show.gains import lengths_of
from gpuopt.lab.show.style import COLOURS, shades
from gpuopt.lab.show.ticks import log_ticks, plain_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 1.02  # lines that nearly coincide, so that each one's intervals show
# Black and white in the shades of lines of one kind: a paper's lighter ones, and calls' darker, look like the other's.
PAPERS_SHADES, OTHER_SHADES = (0.6, 0.25), (0.25, 0.45)
LEGEND_SIZE = 8.0


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
            label = call_name(str(groups[0].first["workload"]), name) if kind == CALLS else name
            lines.append(line_of(groups, label, of_variant(name, kind), x or cube_side, kind, rate))
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
    for number, (line, colour) in enumerate(zip(lines, line_colours(lines), strict=True)):
        draw_line(ax, line, number, scale, colour)
    ax.set_xscale("log")
    ax.set_yscale("log")
    decorate(ax)
    if any(line.points for line in lines):
        plain_ticks(ax)
        legend_below(ax)


def line_colours(lines: Sequence[Line]) -> list[str]:
    """A colour a line: those of one kind have shades of its colour, as bars of it have the colour; the last of a
    paper's steps the darkest. Of the same lines the same, whether or not each has points."""
    of_kind = {kind: [line for line in lines if line.kind == kind] for kind in COLOURS}
    found: dict[int, str] = {}
    for kind, mine in of_kind.items():
        told = shades(COLOURS[kind], len(mine), *(PAPERS_SHADES if kind == PAPER else OTHER_SHADES))
        found |= dict(zip(map(id, mine), told[::-1] if kind == PAPER else told, strict=True))
    return [found[id(line)] for line in lines]


def draw_line(ax: Axes, line: Line, number: int, scale: float, colour: str) -> None:
    if not line.points:
        return
    x, mid, low, high = (list(column) for column in zip(*line.points, strict=True))
    style: dict[str, Any] = {"color": colour, "marker": MARKERS[number % len(MARKERS)]}
    style |= {"linestyle": {CALLS: ":", PEERS: "--"}.get(line.kind, "-"), "markersize": 5, "linewidth": 1.4}
    rates = [value / scale for value in mid]
    errors = [
        [(m - e) / scale for m, e in zip(mid, low, strict=True)],
        [(e - m) / scale for m, e in zip(mid, high, strict=True)],
    ]
    ax.errorbar(x, rates, yerr=[[max(0.0, e) for e in side] for side in errors], label=line.label, capsize=2, **style)


def legend_below(ax: Axes) -> None:
    """The legend of one of several axes, below it, in as many of two columns as fit."""
    handles = labelled(ax)
    style: dict[str, Any] = {"fontsize": LEGEND_SIZE, "frameon": False, "columnspacing": 1.2}
    columns = legend_columns(handles, 2, room_of(ax), LEGEND_SIZE)
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(-0.08, -0.13), ncols=columns, **style)


def size_ticks(ax: Axes, groups: Sequence[Group], *more: float) -> None:
    """Ticks at the problems' sizes; of one alone at plain numbers around it."""
    places = {*(cube_side(group, {}) for group in groups), *more}
    log_ticks(ax.xaxis, places, text=lambda place: f"{place:.0f}" if place >= 100 else f"{place:.3g}")


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
