"""The picture of time against energy: what is fastest, what takes least, and what no other is better than in both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.energies import is_ranked, ranked_j
from gpuopt.lab.rows.groups import OURS, SECTIONS, Group, section, section_title
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import captioned_picture, decorate, legend_outside, provenance
from gpuopt.lab.show.energies import SOURCES, joule_unit
from gpuopt.lab.show.header import title
from gpuopt.lab.show.style import COLOURS, FAINT, INK, MODEL, drawable
from gpuopt.lab.show.ticks import plain_ticks

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMED = 20  # of more points, the front and those with the least energy have names
LOG_FROM = 4.0  # times the least: an axis of a larger range is logarithmic
NAMES_AT = 1.045  # where names begin, in widths of the axes
NAME_INCHES, FRAME_INCHES, LEAST_INCHES = 0.215, 1.0, 3.2  # of a panel: a name, what is around the axes, at least
LEADER: dict[str, Any] = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "alpha": 0.6, "relpos": (0, 0.5)}
RING: dict[str, Any] = {"linestyle": "none", "mfc": "none", "mew": 1.8, "markersize": 15, "zorder": 6}
MARKS: dict[str, dict[str, Any]] = {
    "fastest": {"marker": "o", "mec": INK, **RING},
    "least energy": {"marker": "s", "mec": MODEL, **RING},
}
FRONT: dict[str, Any] = {"color": MODEL, "linewidth": 1.4, "drawstyle": "steps-post"}


@checked
def energy_plot(study: StudyRows) -> Figure:
    """Each variant's time a run and its net energy a run, one panel for each problem and device.

    The line is the front: of what lies on it, no other variant is both faster and takes less. Bars are the 95 %
    interval of the time and what the loops of the energy differ by. Times are in ms, energies in J, mJ or uJ. What
    takes hardly more power than the idle device (net below 1 % of gross) has no place; the caption says how many do.
    Raises ParameterError where nothing has one: `lab.sweep(..., energy=True)` measures energies. Needs matplotlib.

    Examples
    --------
    >>> row = {"kind": "summary", "role": "variant", "status": "ok", "workload": "tmv", "meter": "nvml"}
    >>> costs = {"naive": (2.0, 0.5), "row_parts": (1.0, 0.4)}
    >>> figure = lab.energy_plot(lab.Study(row | {"variant": name, "median_ms": ms, "net_j": joules}
    ...                                    for name, (ms, joules) in costs.items()))
    >>> figure.get_axes()[0].get_ylabel()
    'energy of a run, net mJ'
    """
    groups = drawable(study).groups()
    panels = [(group, rows) for group in groups if (rows := _measured(group))]
    idle = [(group, row) for group in groups for row in group.rows if row["status"] == "ok" and _idles(row)]
    if not panels and idle:
        raise ParameterError(f"study: {_hardly(len(idle))}; measure a larger problem")
    if not panels:
        raise ParameterError("study: no energy of it was measured; lab.sweep(..., energy=True) does so")
    heights = [_inches(min(len(rows), MOST_NAMED)) for _, rows in panels]
    hidden = sum(max(0, len(rows) - MOST_NAMED) for _, rows in panels)
    everything = [row for _, rows in panels for row in rows]
    meters = dict.fromkeys(SOURCES.get(str(row["meter"]), str(row["meter"])) for row in everything)
    about = f"Net energy: by {', '.join(meters)}, without what the idle device takes."
    about += f" {hidden} points have no name: those with the most energy." if hidden else ""
    about += _left_out(idle)
    about += " *: doubtful, as --explain says." if any(row["energy_note"] for row in everything) else ""
    figure, part = captioned_picture("Time and energy of a run", sum(heights) + 0.9, [about, provenance(everything)])
    axes = part.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (group, rows) in zip(axes, panels, strict=True):
        _panel(ax, group, rows)
    titles = {name: _titles(name, everything) for name in SECTIONS}
    handles: list[Artist] = [
        Line2D([], [], marker="o", linestyle="none", color=COLOURS[name], label=label)
        for name, label in titles.items()
        if label
    ]
    drawn = " drawn" if idle else ""
    handles += [Line2D([], [], label=name + drawn, **{**style, "markersize": 10}) for name, style in MARKS.items()]
    handles.append(Line2D([], [], label=f"the front: nothing{drawn} is better in both", **FRONT))
    legend_outside(part, handles, len(handles))
    return figure


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points than which no other has both less time and less energy, the fastest first."""
    found: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not found or point[1] < found[-1][1]:
            found.append(point)
    return found


def _titles(name: str, rows: Sequence[Row]) -> str:
    """What the workloads with rows in a section call it; empty where there are none."""
    told = dict.fromkeys(section_title(name, str(row["workload"])) for row in rows if section(row) == name)
    return " / ".join(told)


def _inches(names: int) -> float:
    return max(LEAST_INCHES, FRAME_INCHES + NAME_INCHES * names)


def _measured(group: Group) -> list[Row]:
    rows = [row for row in group.rows if row["status"] == "ok" and is_ranked(row)]
    return sorted(rows, key=_joules)


def _idles(row: Row) -> bool:
    return ranked_j(row) == math.inf


def _hardly(count: int) -> str:
    return f"{count} variant{' takes' if count == 1 else 's take'} hardly more power than the idle device"


def _left_out(idle: Sequence[tuple[Group, Row]]) -> str:
    """How many have no place in the picture, and the fastest of them, of each problem."""
    if not idle:
        return ""
    first: dict[str, str] = {}
    for group, row in sorted(idle, key=lambda one: time_ms(one[1])):
        first.setdefault(f"{title(group)}, {group.device}", f"{group.label(row)}, {significant(time_ms(row))} ms")
    told = [name if len(first) == 1 else f"{name} ({where})" for where, name in first.items()]
    return f" Not drawn: {_hardly(len(idle))}; the fastest: {'; '.join(told)}."


def _joules(row: Row) -> float:
    return float(row["net_j"] or 0.0)


def _panel(ax: Axes, group: Group, rows: list[Row]) -> None:
    scale, heading = joule_unit(group)
    points = [(time_ms(row), _joules(row) / scale) for row in rows]
    for which, values in (("x", [x for x, _ in points]), ("y", [y for _, y in points])):
        _axis(ax, which, values)
    best = front(points)
    ends = [(best[0][0], ax.get_ylim()[1]), *best, (ax.get_xlim()[1], best[-1][1])]
    ax.plot([x for x, _ in ends], [y for _, y in ends], zorder=2, **FRONT)
    for row, (x, y) in zip(rows, points, strict=True):
        half = y * (row["apart_pct"] or 0.0) / 200
        sides = [[max(0.0, x - (row["ci_lo_ms"] or x))], [max(0.0, (row["ci_hi_ms"] or x) - x)]]
        ax.errorbar(x, y, xerr=sides, yerr=half, ecolor=INK, elinewidth=0.9, linestyle="none", zorder=3)
        ax.plot(x, y, "o", markersize=7, color=COLOURS.get(section(row), COLOURS[OURS]), zorder=4)
    ax.plot(*min(points), **MARKS["fastest"])
    ax.plot(*points[0], **MARKS["least energy"])
    first = sorted(zip(rows, points, strict=True), key=lambda one: one[1] not in best)[:MOST_NAMED]
    _names(ax, group, sorted(first, key=lambda one: one[1][1]), heading.split()[-1])
    ax.set_title(f"{title(group)}, {group.device}", fontsize=9.5, loc="left", color=INK, pad=12)
    ax.set_xlabel("time of a run, ms (less is faster)", fontsize=9)
    ax.set_ylabel(f"energy of a run, {heading}", fontsize=9)
    decorate(ax)


def _axis(ax: Axes, which: str, values: list[float]) -> None:
    """Logarithmic where the values span much, and with some room around them."""
    least, most = min(values), max(values)
    if most > LOG_FROM * least:
        ax.set(**{f"{which}scale": "log"})
        ax.set(**{f"{which}lim": (least / (most / least) ** 0.08, most * (most / least) ** 0.08)})
        plain_ticks(ax, which)
    else:
        room = 0.1 * (most - least) or 0.1 * most
        ax.set(**{f"{which}lim": (least - room, most + room)})


def _names(ax: Axes, group: Group, named: Sequence[tuple[Row, tuple[float, float]]], unit: str) -> None:
    """The names in a column on the right, each as near to its point's height as the others let it, with a line."""
    step = NAME_INCHES / (_inches(len(named)) - FRAME_INCHES)
    to_axes = ax.transScale + ax.transLimits
    heights = [float(to_axes.transform(point)[1]) for _, point in named]
    for (row, point), place in zip(named, spread_out(heights, step), strict=True):
        told = f"{group.label(row)}  {significant(point[0])} ms, {significant(point[1])} {unit}"
        doubt = " *" if row["energy_note"] else ""
        ax.annotate(
            told + doubt, point, (NAMES_AT, place), "data", "axes fraction", fontsize=8.5, color=INK, va="center",
            annotation_clip=False, arrowprops=LEADER,
        )  # fmt: skip


def spread_out(heights: Sequence[float], step: float) -> list[float]:
    """Places from 0 to 1 for heights in ascending order, at least ``step`` apart where that many fit, and as near to
    them as can be (in the mean square: neighbours that are too near share their mean)."""
    room = max(0.0, 1 - step * (len(heights) - 1))
    pools: list[list[float]] = []
    for number, height in enumerate(heights):
        pools.append([min(max(height - number * step, 0.0), room)])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    levels = [fmean(pool) for pool in pools for _ in pool]
    return [level + number * step for number, level in enumerate(levels)]
