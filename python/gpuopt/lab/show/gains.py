"""What the steps of papers bring here, as speed-ups over each paper's first step, beside what they brought there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.patches import Patch

from gpuopt import files, labels, papers
from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import BESIDE, PAPER, Group, is_entry, where
from gpuopt.lab.rows.names import step_name
from gpuopt.lab.rows.ratios import Ratio, ratio_between
from gpuopt.lab.rows.schema import Row, field
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, significant
from gpuopt.lab.show.canvas import captioned_picture, legend_outside, provenance
from gpuopt.lab.show.fitting import wrapped
from gpuopt.lab.show.style import (
    COLOURS,
    FACE,
    FAINT,
    INK,
    WHISKER,
    bar_axes,
    error_sides,
    failure_text,
    interval_key,
    paper_key,
    paper_marks,
    shades,
)
from gpuopt.lab.show.ticks import plain_ticks

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROBLEM = ("workload", "problem", "data", "dtype", "sizes")  # what rows of one problem have in common
MOST_SIZES = 4  # of which gains are drawn
SHADES = shades(COLOURS[PAPER], MOST_SIZES)  # the largest size first
SLOT, BAR = 0.8, 0.72  # of a row: what its bars and the lane below them take together, and of its part what a bar does
ROW_INCHES, BAR_INCHES, LANE_INCHES = 0.22, 0.13, 0.14
HEAD_INCHES = 6.8  # of what stands above a panel, which begins right of the steps' names


# ---------------------------------------------------------------- gains beside the papers'


@dataclass(frozen=True)
class Gain:
    """How much faster a step is than its paper's first one, at one size: 1 / ratio, or the failed row alone."""

    size: str
    row: Row
    ratio: Ratio | None


Steps = Sequence[tuple[papers.Step, list[Gain]]]


def gains(study: StudyRows, keys: Sequence[str] | None = None) -> Figure:
    """The papers' steps as bars: the speed-up over each paper's first step, at up to four sizes, with its 95 %
    interval; in the lane below a step's bars a diamond, or a line from the least to the most, is what the paper
    printed. ``keys`` name some of the papers; None stands for all.

    Raises ParameterError for rows of several devices, or of one problem under several conditions (states of the caches,
    protocols), and where no paper's first step ran.
    """
    every = by_size(study)
    groups = every[-MOST_SIZES:][::-1]
    workload = str(groups[0].first["workload"])
    panels = []
    for paper in (paper for paper in papers.of(workload) if keys is None or paper.key in keys):
        steps = [
            (step, found) for step in paper.steps[1:] if (found := gains_over(groups, paper.steps[0].preset, step))
        ]
        if any(gain.ratio for _, found in steps for gain in found):
            panels.append((paper, steps))
    if not panels:
        raise ParameterError("study: no paper's first step ran beside others; sweep it with variants='all'")
    heights = [1.25 + sum(_row_inches(steps, len(found)) for _, found in steps) for _, steps in panels]
    title = f"{called(workload)}: what the papers' steps bring"
    bases = joined([f"{step_name(workload, paper.steps[0].preset)} for {paper.short}" for paper, _ in panels])
    lines = [
        f"Speed-ups are over {bases}.{smaller(len(every))}",
        provenance([row for group in groups for row in group.rows]),
    ]
    figure, part = captioned_picture(title, 0.9 + sum(heights), lines)
    axes = part.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    sizes = list(dict.fromkeys(gain.size for _, steps in panels for _, found in steps for gain in found))
    colours = dict(zip(sizes, SHADES, strict=False))
    for ax, (paper, steps) in zip(axes, panels, strict=True):
        _gain_panel(ax, steps, colours)
        head = wrapped(f"{paper.short}: {paper.title}", HEAD_INCHES, 9.5)
        ax.set_title("\n".join(head), fontsize=9.5, loc="left", color=INK, pad=16)
    axes[-1].set_xlabel("speed-up over the paper's first step (more is faster)", fontsize=9)
    handles: list[Artist] = [Patch(color=colour, label=size) for size, colour in colours.items()]
    handles.append(interval_key())
    if devices := {step.device for _, steps in panels for step, _ in steps if _printed(step)}:
        handles.append(paper_key(devices, "in the paper, or its least and most"))
    legend_outside(part, handles, 6)
    return figure


def smaller(sizes: int) -> str:
    """What a picture of the largest of so many sizes says of the others."""
    return f" The smallest {sizes - MOST_SIZES} of {sizes} sizes are not drawn." if sizes > MOST_SIZES else ""


def gains_over(groups: Sequence[Group], base: str, step: papers.Step) -> list[Gain]:
    """What the step brings over the preset ``base``, for each group where that ran."""
    found = []
    for group in groups:
        rows = {row["preset"]: row for row in group.rows if row["preset"]}
        first, row = rows.get(base), rows.get(step.preset)
        if first is None or row is None or first["status"] != "ok":
            continue
        ratio = ratio_between(group, row, first) if row["status"] == "ok" else None
        found.append(Gain(size_name(group), row, ratio))
    return found


def _printed(step: papers.Step) -> list[float]:
    """What the paper printed: a number, the least and the most, or a number and the most."""
    figures = step.figures
    return [end for end in (figures["speedup"], figures["speedup_least"], figures["speedup_most"]) if end]


def _row_inches(steps: Steps, bars: int) -> float:
    """What a step takes: its bars, and in a panel where the paper has numbers a lane for them."""
    return ROW_INCHES + BAR_INCHES * bars + (LANE_INCHES if any(_printed(step) for step, _ in steps) else 0.0)


def _gain_panel(ax: Axes, steps: Steps, colours: dict[str, str]) -> None:
    ax.set_xscale("log")
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    seen, most = [1.0], max(1, *(len(found) for _, found in steps))
    lane = LANE_INCHES / _row_inches(steps, most) if any(_printed(step) for step, _ in steps) else 0.0
    for y, (step, found) in enumerate(steps):
        height = (SLOT - lane) / most
        for i, gain in enumerate(found):
            at = y - SLOT / 2 + (i + 0.5) * height
            if gain.ratio is None:
                failure_text(ax, gain.row, at)
                continue
            low, mid, high = ends_of(gain.ratio)
            seen += [low, high]
            ax.barh(at, mid - 1, height * BAR, left=1, color=colours[gain.size], zorder=FACE)
            ax.errorbar(mid, at, xerr=error_sides(low, mid, high), **WHISKER)
            ax.annotate(
                significant(mid), (1, at), (26, 0), ax.get_yaxis_transform(), "offset points", fontsize=7.5,
                color=INK, va="center", ha="right", annotation_clip=False,
            )  # fmt: skip
        ends = _printed(step)
        seen += ends
        if ends:
            paper_marks(ax, ends, y + SLOT / 2 - lane / 2)
            said = (", up to " if step.figures["speedup"] else " to ").join(f"{end:g}" for end in ends)
            ax.annotate(
                said, (1, y), (114, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5, color=FAINT,
                va="center", ha="right", annotation_clip=False,
            )  # fmt: skip
    for heading, points in (("here", 26.0), ("paper", 114.0)):
        ax.annotate(
            heading, (1, -0.75), (points, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5, color=FAINT,
            va="center", ha="right", annotation_clip=False,
        )  # fmt: skip
    ax.set_xlim(min(seen) / 1.12, max(seen) * 1.12)
    places = [float(y) for y in range(len(steps))]
    ax.set_yticks(places, [step_name(step.workload, step.preset) for step, _ in steps], fontsize=9)
    bar_axes(ax, places)
    plain_ticks(ax, "x")


# ---------------------------------------------------------------- rows


def by_size(study: StudyRows) -> list[Group]:
    """The groups of rows, the smallest problem first."""
    return sorted(in_order(study), key=lambda group: (prod(lengths_of(group)), group.sizes))


def in_order(study: StudyRows) -> list[Group]:
    """The groups of rows in the order in which they were measured. Raises ParameterError for rows of several devices
    or dtypes, and of one problem under several conditions: in two states of the caches, say, or by two protocols."""
    groups = study.groups()
    if not groups:
        raise ParameterError("study: it has no rows to draw; run lab.sweep first")
    places = {(group.device, str(group.first["driver"]), group.dtype) for group in groups}
    units = {unit for group in groups if (unit := group.first["unit"])}  # rows of earlier versions do not tell theirs
    variants = [row for row in study.rows if is_entry(row) and row["role"] not in ("peer", "call")]
    platforms = {platform for row in variants if (platform := row["platform"])}
    several = max(len(places), len(units), len(platforms))
    if several > 1:
        raise ParameterError(f"study: rows of {several} devices or dtypes; make a Study of one's rows")
    of_problem: dict[Hashable, list[Row]] = {}
    for group in groups:
        of_problem.setdefault(where(group.first, PROBLEM), []).append(group.first)
    for rows in of_problem.values():
        if told := _apart(rows):
            raise ParameterError(f"study: rows of {rows[0]['problem']} with {told}; make a Study of one's rows")
    return groups


def _apart(rows: Sequence[Row]) -> str:
    """What tells the groups of one problem from each other: `cache_state cold and hot`; empty for one group."""
    values = {name: {str(field(row, name) or "unknown") for row in rows} for name in BESIDE}
    return "; ".join(f"{name} {joined(sorted(found))}" for name, found in values.items() if len(found) > 1)


def lengths_of(group: Group) -> list[int]:
    """M, N and K, or rows and columns."""
    sizes = group.first["sizes"] or {}
    return [int(length) for name, length in sizes.items() if name != "checked"]


def size_name(group: Group) -> str:
    """`1024`, `64 x 128 x 256`."""
    lengths = lengths_of(group)
    return str(lengths[0]) if len(set(lengths)) == 1 else " x ".join(map(str, lengths))


def ends_of(gain: Ratio) -> tuple[float, float, float]:
    """How many times as fast: low, middle, high."""
    mid = 1 / gain.mid
    return (1 / gain.hi, mid, 1 / gain.lo) if gain.lo and gain.hi else (mid, mid, mid)


def called(workload: str) -> str:
    """What a workload is called in a title."""
    return labels.of(workload).title or workload


def save_all(study: StudyRows, directory: str | Path, drawn: Mapping[str, Callable[[StudyRows], Figure]]) -> list[Path]:
    """Writes each picture to ``directory``/NAME.png (the folder is made where missing); gains are left out where no
    paper's first step ran. Returns what was written."""
    target = files.made_folder(directory)
    paths = []
    for name, draw in drawn.items():
        try:
            figure = draw(study)
        except ValueError:  # no paper's first step was asked for
            if draw is not gains:
                raise
            continue
        paths.append(target / f"{name}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths
