"""Pictures of how work-items are executed: branches taken apart, values that no longer fit in registers, and shapes of
work-groups of the activation matrix, beside what the papers found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.schema import Row, number_of
from gpuopt.lab.rows.table import quantity
from gpuopt.lab.show.canvas import (
    CYCLE,
    LIFT,
    MARKERS,
    Rows,
    captioned_picture,
    decorate,
    empty_picture,
    legend_outside,
    level_of,
    measured_points,
    provenance,
    rows_of_families,
    skipped_text,
)
from gpuopt.lab.show.style import FAINT, HOLLOW, INK, MODEL
from gpuopt.lab.show.ticks import POWERS_OF_TWO, log_ticks
from gpuopt.papers import findings
from gpuopt.workloads.microbench.questions import ACTIVATIONS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = MARKERS.replace("D", "")  # a diamond is a paper's
HELD = 0.9  # of the best rate: a line holds up to the last number of values that reaches it
Lines = Mapping[str, Mapping[int, float]]  # by label, a value over a level


def _trusted(rows: Rows, family: str) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of a family that count, those that failed, and those that are flagged suspicious."""
    good, failed = measured_points(rows_of_families(rows, {family}))
    doubted = [row for row in good if "suspicious" in row["flags"]]
    return [row for row in good if "suspicious" not in row["flags"]], failed, doubted


def _gflop_s(row: Row) -> float:
    return number_of(row, "gflop_s")


# ---------------------------------------------------------------- branches


@checked
def branches(rows: Rows) -> Figure:
    """How many times the time of uniform paths divergent ones take, over their number; and what a uniform branch costs.

    Takes rows of the family `branches`. Left: at the same PATHS and LENGTH, the rate where 64 neighbours take the same
    path over that where neighbours take different ones. Right: the rate without a branch (PATHS=1) over that of uniform
    paths.
    """
    title = "Branches: paths taken by neighbouring work-items"
    good, failed, doubted = _trusted(rows, "branches")
    rates: dict[str, dict[tuple[int, int], float]] = {}
    for row in good:
        label = f"{level_of(row, 'LENGTH')} multiply-adds a path, {row['dtype']}"
        key = (level_of(row, "PATHS"), level_of(row, "DIVERGENT"))
        rates.setdefault(label, {})[key] = max(rates.get(label, {}).get(key, 0.0), _gflop_s(row))
    apart: dict[str, dict[int, float]] = {}
    branch: dict[str, dict[int, float]] = {}
    for label, at in sorted(rates.items()):
        alike = {paths: rate for (paths, divergent), rate in at.items() if not divergent}
        apart[label] = {
            paths: alike[paths] / rate for (paths, own), rate in sorted(at.items()) if own and paths in alike
        }
        if 1 in alike:
            branch[label] = {paths: 100 * (alike[1] / rate - 1) for paths, rate in sorted(alike.items()) if paths > 1}
    if not any(apart.values()) and not any(branch.values()):
        return empty_picture(title, failed, doubted)
    printed = findings.of("microbench")
    said = [printed[name].sentence for name in ("divergence", "divergence_amd", "branch")]
    figure, part = captioned_picture(title, 4.6, [*said, skipped_text(failed, doubted), provenance(good)])
    left, right = part.subplots(1, 2, width_ratios=[1.3, 1])
    styles = {label: _style(number) for number, label in enumerate(apart)}
    _over_levels(left, apart, styles, "paths", "{:.3g}x")
    most = max((paths for line in apart.values() for paths in line), default=2)
    left.set_yscale("log", base=2)
    left.plot([1, most], [1, most], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    low, high = left.get_ylim()
    left.set_ylim(min(low, 0.8), high * 1.3)
    log_ticks(left.yaxis, POWERS_OF_TWO)
    left.set_ylabel("time, times that of uniform paths", fontsize=9)
    _over_levels(right, branch, styles, "paths, the same for 64 neighbours", "{:.0f} %")
    right.axhline(0, color=INK, linewidth=1, zorder=1)
    for value in printed["branch"].values:
        right.axhline(value.number, color=FAINT, linewidth=1, linestyle=":", zorder=1)
    right.set_ylabel("time above no branch, %", fontsize=9)
    dashes = Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3)), label="as many times as paths")
    dots = Line2D([], [], color=FAINT, linewidth=1, linestyle=":", label="at most in the paper")
    lines = [Line2D([], [], label=label, **style) for label, style in styles.items()]
    legend_outside(part, [*lines, dashes, dots], 4)
    return figure


def _style(number: int) -> dict[str, Any]:
    """How the line of this number is drawn, the same in all panels."""
    colour, marker = CYCLE[number % len(CYCLE)], MARKS[number % len(MARKS)]
    return {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.3}


def _over_levels(ax: Axes, lines: Lines, styles: Mapping[str, dict[str, Any]], what: str, last: str) -> None:
    """Lines over powers of two; the last value of each stands beside it where it lies apart from the others'."""
    ax.set_xscale("log", base=2)
    for label, line in lines.items():
        ax.plot(list(line), list(line.values()), zorder=3, **styles[label])
    if ends := [max(line.items()) for line in lines.values() if line]:
        at, value = max(ends, key=lambda end: end[1])
        ax.annotate(last.format(value), (at, value), (0, 7), "data", "offset points", ha="right", fontsize=8.5, **LIFT)
    every = sorted({at for line in lines.values() for at in line})
    log_ticks(ax.xaxis, every, POWERS_OF_TWO, text=lambda value: f"{value:g}")
    decorate(ax)
    ax.set_xlabel(what, fontsize=9)


# ---------------------------------------------------------------- registers


@checked
def knee(line: Mapping[int, float]) -> int | None:
    """The largest number of values whose rate is within a tenth of the line's best; None where the last one's still
    is. Raises ParameterError for a line without points, or with numbers that are not finite."""
    if not line or not all(math.isfinite(at) and math.isfinite(rate) for at, rate in line.items()):
        raise ParameterError("line: it has no points, or such that are not finite; give rates by numbers of values")
    best = max(line.values())
    held = max(at for at, rate in line.items() if rate >= HELD * best)
    return held if held < max(line) else None


def spills(row: Row) -> bool:
    """Whether the compiler said that values are kept in memory."""
    return bool(row["spill_bytes"])


@checked
def registers(rows: Rows) -> Figure:
    """The rate of multiply-adds over the number of values that a work-item holds at once, with each line's knee.

    Takes rows of the family `registers`, a line a combination of CHAINED, LOCAL, dtype. Hollow marks are kernels that
    spill, as far as the compiler tells.
    """
    title = "Live values of a work-item"
    good, failed, doubted = _trusted(rows, "registers")
    lines: dict[str, dict[int, Row]] = {}
    for row in good:
        what = "each waits for the one before" if level_of(row, "CHAINED") else "independent"
        label = f"{what}, {level_of(row, 'LOCAL', 256)} work-items, {row['dtype']}"
        live = level_of(row, "LIVE")
        before = lines.setdefault(label, {}).get(live, row)
        lines[label][live] = max(before, row, key=_gflop_s)
    if not lines:
        return empty_picture(title, failed, doubted)
    printed = findings.of("microbench")
    said = [printed[name].sentence for name in ("registers", "throttled")]
    notes = [f"Knee: the last number of values within {100 - 100 * HELD:.0f} % of a line's best. {_told(good)}"]
    figure, part = captioned_picture(title, 4.8, [*said, *notes, skipped_text(failed, doubted), provenance(good)])
    ax = part.subplots()
    handles: list[Artist] = []
    for number, (label, line) in enumerate(sorted(lines.items())):
        colour, marker = CYCLE[number % len(CYCLE)], MARKS[number % len(MARKS)]
        at = sorted(line)
        ax.plot(at, [_gflop_s(line[one]) for one in at], color=colour, linewidth=1.3, zorder=3)
        for one in at:
            face = "white" if spills(line[one]) else colour
            ax.plot(one, _gflop_s(line[one]), color=colour, marker=marker, mfc=face, markersize=5.5, zorder=4)
        wall = knee({one: _gflop_s(line[one]) for one in at})
        end = f"holds to {wall}" if wall else f"holds to {at[-1]}, the last"
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=5.5, label=f"{label}: {end}"))
        if wall:
            ax.plot(wall, _gflop_s(line[wall]), marker="o", markersize=12, mfc="none", mec=MODEL, mew=1.8, zorder=5)
    ax.set_ylim(0, max(_gflop_s(row) for line in lines.values() for row in line.values()) * 1.15)
    for value in printed["registers"].values:
        ax.axvline(value.number, color=FAINT, linewidth=1.2, linestyle=":", zorder=1)
        label = f"{value.number:g}, {value.device}"
        where = (value.number, 0.97)
        ax.annotate(label, where, (4, 0), ax.get_xaxis_transform(), "offset points", fontsize=8.5, color=FAINT, **LIFT)
    handles.append(Line2D([], [], color=MODEL, marker="o", mfc="none", markersize=9, linestyle="none", label="knee"))
    if any(spills(row) for row in good):
        handles.append(Line2D([], [], color=INK, marker="o", mfc="white", linestyle="none", label="spills"))
    decorate(ax)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value * 1e9, "flop/s") if value else "0"))
    ax.set_xlabel("values live at once, a work-item", fontsize=9)
    ax.set_ylabel("multiply-adds, 2 flop each (more is faster)", fontsize=9)
    legend_outside(part, handles, 2)
    return figure


def _told(rows: list[Row]) -> str:
    """What the compiler told of registers and memory."""
    counted = [row["registers"] for row in rows if row["registers"]]
    most = f"at most {max(counted)} registers a work-item" if counted else "no registers told"
    spilled = sorted({level_of(row, "LIVE") for row in rows if spills(row)})
    told = any(row["spill_bytes"] is not None for row in rows)
    words = f"spilled from {spilled[0]} on" if spilled else "nothing spilled" if told else "no spilling told"
    return f"The compiler: {most}, {words}."


# ---------------------------------------------------------------- the activation matrix


@checked
def activation_matrix(rows: Rows) -> Figure:
    """The rate of the activation matrix by shape of work-group, held against 16x16: a line a size, form and dtype.

    Takes rows of the family `cache_reuse` with MATH above 0 (the forms of ``microbench.activation_matrix``).
    """
    title = "The activation matrix by shape of work-groups"
    good, failed, doubted = _trusted(rows, "cache_reuse")
    good, failed, doubted = ([row for row in some if _form(row)] for some in (good, failed, doubted))
    lines: dict[_Line, dict[tuple[int, int], float]] = {}
    for row in good:
        key = _form(row), (row["sizes"] or {}).get("width", 0), str(row["dtype"])
        lines.setdefault(key, {})[level_of(row, "LOCAL_X"), level_of(row, "LOCAL_Y")] = _gflop_s(row)
    lines = {key: line for key, line in lines.items() if (16, 16) in line}
    if not lines:
        return empty_picture(title, failed, doubted)
    shapes = sorted(
        {shape for line in lines.values() for shape in line}, key=lambda shape: (shape[0] * shape[1], shape)
    )
    found = findings.of("microbench")["activation"]
    figure, part = captioned_picture(title, 4.8, [found.sentence, skipped_text(failed, doubted), provenance(good)])
    ax = part.subplots()
    handles: list[Artist] = []
    several = len({dtype for _, _, dtype in lines}) > 1
    for number, ((form, size, dtype), line) in enumerate(sorted(lines.items(), key=_by_form)):
        style = _style(number)
        usual = line[16, 16]
        measured = [shape for shape in shapes if shape in line]
        ax.plot([shapes.index(at) for at in measured], [line[at] / usual for at in measured], zorder=3, **style)
        best = max(measured, key=lambda at, line=line: line[at])  # type: ignore[misc]
        of = f" {dtype}" if several else ""
        name = f"{form}{of}, N={size}: best {best[0]}x{best[1]}, {line[best] / usual:.2f}"
        handles.append(Line2D([], [], label=f"{name}; 16x16 {quantity(usual * 1e9, 'flop/s')}", **style))
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    for value in found.values if (8, 32) in shapes else ():
        ax.plot(shapes.index((8, 32)), 1 + value.number / 100, zorder=5, **HOLLOW)
        handles.append(Line2D([], [], label=f"at most in the paper, {value.device}", **HOLLOW))
    for number, (x, y) in enumerate(shapes[1:], 1):
        if x * y != shapes[number - 1][0] * shapes[number - 1][1]:
            ax.axvline(number - 0.5, color=FAINT, linewidth=0.8, zorder=1)
    ax.set_xticks(range(len(shapes)), [f"{x}x{y}" for x, y in shapes], rotation=90)
    ax.set_ylim(bottom=0)
    decorate(ax)
    ax.set_xlabel("work-items in x and y; groups of 256, of 512, of 1024", fontsize=9)
    ax.set_ylabel("rate, times that of 16x16 (more is faster)", fontsize=9)
    legend_outside(part, handles, 2)
    return figure


def _form(row: Row) -> str:
    """The name of a row's form, empty for the product alone."""
    names = {level: name for name, level in ACTIVATIONS.items()}
    level = level_of(row, "MATH", 0)
    return names.get(level, "") if level else ""


_Line = tuple[str, int, str]  # form, size and dtype


def _by_form(item: tuple[_Line, Any]) -> tuple[int, int, str]:
    form, size, dtype = item[0]
    return ACTIVATIONS[form], size, dtype


__all__ = ["activation_matrix", "branches", "knee", "registers"]
