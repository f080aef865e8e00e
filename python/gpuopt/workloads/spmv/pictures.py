"""Pictures of the diagonal sparse product: rates over the number of rows (Catanzaro's Figures 7 to 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from gpuopt import papers
from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS, ROUNDED, Group, section, uncached_gflop_s
from gpuopt.lab.rows.names import step_name
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import TERA
from gpuopt.lab.show.canvas import captioned_picture, decorate, legend_outside, provenance
from gpuopt.lab.show.gains import by_size, called, save_all
from gpuopt.lab.show.sizes import Line, contest, draw, draw_line, line_of, timed_rows
from gpuopt.lab.show.style import COLOURS, FAINT, INK, MODEL
from gpuopt.lab.show.ticks import plain_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS, PANEL_INCHES, CONTEST_INCHES = 3, 2.5, 4.6
BOUND: dict[str, Any] = {"color": INK, "linewidth": 1.2, "linestyle": "--"}
UNCACHED: dict[str, Any] = {"color": MODEL, "linewidth": 1.2, "linestyle": ":"}
OTHERS: dict[str, Any] = {"color": "#cccccc", "linewidth": 1.0, "zorder": 1}


def sizes(study: StudyRows) -> Figure:
    """Rates over the number of rows. Above, a panel a step of the article (its Figures 7 to 12): the step's curve with
    its 95 % intervals, the other steps in grey, and the step's bound, with caches and without. Below, the fastest of
    the article's steps and of ours, calls and peers. Raises ParameterError for rows of several devices, or of one
    problem under several conditions."""
    groups = by_size(study)
    everything = [row for group in groups for row in group.rows]
    fastest = max((number_of(row, "gflop_s") for group in groups for row in timed_rows(group)), default=0.0)
    scale, unit = (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")
    steps = _measured_steps(everything)
    lines = [_line(groups, step) for step in steps]
    deep = -(-len(steps) // ACROSS)
    caption = [
        "Above as Catanzaro 2010, Figures 7 to 12, a panel a step; grey: the other steps. Under its name: the "
        "article's average rate, of its bound without caches. Below: of each kind the fastest at each size.",
        provenance(everything),
    ]
    height = PANEL_INCHES * deep + CONTEST_INCHES
    figure, part = captioned_picture(f"{called('spmv')}: rates over sizes", height, caption)
    ratios = [PANEL_INCHES * deep, CONTEST_INCHES] if steps else [CONTEST_INCHES]
    parts = part.subfigures(len(ratios), 1, squeeze=False, height_ratios=ratios)[:, 0]
    if steps:
        panels = parts[0].subplots(deep, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
        for ax, step, line in zip(panels, steps, lines, strict=False):
            _panel(ax, groups, step, line, lines, scale)
        for ax in panels[len(steps) :]:
            ax.set_visible(False)
        plain_ticks(panels[0])
        for ax in panels[::ACROSS]:
            ax.set_ylabel(unit, fontsize=9)
        legend_outside(
            parts[0],
            [
                Line2D([], [], color=COLOURS[PAPER], marker="o", markersize=5, label="the step, 95 % interval"),
                Line2D([], [], label="its bound: the most this device allows", **BOUND),
                Line2D([], [], label="its bound if there were no cache", **UNCACHED),
            ],
            3,
        )
    below = parts[-1].subplots()
    draw(below, _contest(groups), scale)
    below.set_xlabel("rows of the matrix", fontsize=9)
    below.set_ylabel(unit, fontsize=9)
    return figure


def _measured_steps(rows: Sequence[Row]) -> list[papers.Step]:
    """The article's steps that ran, each kernel once: by the name that its rows have."""
    names = {row["preset"] for row in rows if row["status"] == "ok"}
    return [step for step in papers.load("spmv").steps if step.preset in names]


def _line(groups: Sequence[Group], step: papers.Step) -> Line:
    return line_of(groups, step_name("spmv", step.preset), lambda row: row["preset"] == step.preset, rows_of, PAPER)


def _contest(groups: Sequence[Group]) -> list[Line]:
    """The fastest of the article's steps and of ours, each call and each peer."""
    kinds = {PAPER: "the article's best", OURS: "ours, the fastest", ROUNDED: "ours with 16-bit values, the fastest"}
    lines = [line_of(groups, label, _of_kind(kind), rows_of, kind) for kind, label in kinds.items()]
    return [*lines, *(line for line in contest(groups, rows_of) if line.kind in (CALLS, PEERS))]


def _of_kind(kind: str) -> Callable[[Row], bool]:
    return lambda row: section(row) == kind


def _panel(
    ax: Axes, groups: Sequence[Group], step: papers.Step, line: Line, lines: Sequence[Line], scale: float
) -> None:
    for other in lines:
        if other is not line and other.points:
            ax.plot([x for x, *_ in other.points], [rate / scale for _, rate, *_ in other.points], **OTHERS)
    draw_line(ax, line, 0, scale, COLOURS[PAPER])
    for limit, style in ((_bound, BOUND), (uncached_gflop_s, UNCACHED)):
        if points := _limits(groups, step, limit):
            ax.plot([x for x, _ in points], [rate / scale for _, rate in points], zorder=2, **style)
    ax.set_xscale("log")
    ax.set_yscale("log")
    decorate(ax)
    ax.set_title(line.label, fontsize=9.5, loc="left", color=INK, pad=15)
    rate, bound = step.figures["gflop_s"], step.figures["bound_gflop_s"]
    said = f"{step.device}: {rate:g} of {bound:g} GFLOP/s" if rate and bound else "no number in the article"
    ax.text(0, 1.03, said, transform=ax.transAxes, fontsize=7.5, color=FAINT)


def _limits(
    groups: Sequence[Group], step: papers.Step, limit: Callable[[Row], float | None]
) -> list[tuple[float, float]]:
    """(rows, the rate that a bound allows) of each size where the step ran and declares that bound."""
    points = []
    for group in groups:
        for row in timed_rows(group):
            if row["preset"] == step.preset and section(row) == PAPER and (rate := limit(row)) is not None:
                points.append((rows_of(group, row), rate))
    return sorted(points)


def _bound(row: Row) -> float | None:
    return number_of(row, "gflop_s") * time_ms(row) / row["bound_ms"] if row["bound_ms"] else None


def rows_of(group: Group, row: Row) -> float:
    return float((group.first["sizes"] or {})["rows"])


def save(study: StudyRows, directory: str | Path) -> list[Path]:
    """Writes the picture of rates over sizes into ``directory`` (made where missing), where the study has several.
    Returns what was written."""
    return save_all(study, directory, {"sizes": sizes} if len(by_size(study)) > 1 else {})
