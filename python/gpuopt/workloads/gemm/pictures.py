"""Pictures of matrix products: rates over sizes (Jang's Figure 4) and unrolling by size (his Figure 8)."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from gpuopt import papers
from gpuopt.lab.rows.groups import PAPER, Group
from gpuopt.lab.rows.schema import Row, number_of
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import TERA
from gpuopt.lab.show.canvas import CYCLE, captioned_picture, decorate, legend_outside, provenance
from gpuopt.lab.show.gains import by_size, called, ends_of, gains, gains_over, save_all, step_name
from gpuopt.lab.show.sizes import (
    APART,
    Line,
    contest,
    cube_side,
    draw,
    draw_line,
    line_of,
    of_preset,
    size_ticks,
    timed_rows,
)
from gpuopt.lab.show.style import HOLLOW, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure
UNROLLED = ("paper:unroll4", "paper:unroll8", "paper:unroll16")


def sizes(study: StudyRows) -> Figure:
    """Rates over the size: left Jang's ladder over the number of work-items (his Figure 4), right the best of the
    papers' steps, ours, whole calls and peers over the side of a cube of as many products.

    Raises ValueError for rows of several devices.
    """
    groups = by_size(study)
    fastest = max((number_of(row, "gflop_s") for group in groups for row in timed_rows(group)), default=0.0)
    scale, unit = (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")
    figure, part = captioned_picture(
        f"{called('gemm')}: rates over sizes",
        6.2,
        [
            "Left as Jang et al. 2009, Figure 4: on an HD 3870 rates rose with the number of work-items up to a "
            "saturation. Right: of the papers' steps and of each variant of ours the fastest at each size.",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    left, right = part.subplots(1, 2)
    ladder = [step.preset for step in papers.load("gemm", "jang2009").steps]
    threads = [line_of(groups, step_name("gemm", name), of_preset(name), _work_items, PAPER) for name in ladder]
    draw(left, threads, scale)
    left.set_xlabel("work-items", fontsize=9)
    left.set_ylabel(unit, fontsize=9)
    left.set_title("The ladder of Jang et al.", fontsize=10, loc="left", color=INK)
    draw(right, contest(groups), scale)
    size_ticks(right, groups)
    right.set_xlabel("cube root of M N K", fontsize=9)
    right.set_title("The fastest of each kind", fontsize=10, loc="left", color=INK)
    return figure


def unrolling(study: StudyRows) -> Figure:
    """Jang's Figure 8: the speed-up of the loop unrolled 4, 8 and 16 times over the naive one, by size; diamonds are
    his Table 2's, at 3072. Raises ValueError for rows of several devices."""
    groups = by_size(study)
    figure, part = captioned_picture(
        f"{called('gemm')}: unrolling by size",
        4.6,
        [
            "Jang et al. 2009, Figure 8: on an HD 3870 unrolling 4 times is best at small sizes, 16 times gains as the "
            "size grows.",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    ax = part.subplots()
    steps = papers.steps("gemm")
    for number, name in enumerate(UNROLLED):
        points = []
        for group in groups:
            for gain in gains_over([group], "paper:naive", steps[name]):
                if gain.ratio is not None:
                    low, mid, high = ends_of(gain.ratio)
                    points.append((cube_side(group, {}) * APART**number, mid, low, high))
        draw_line(ax, Line(step_name("gemm", name), points, PAPER), number, 1.0)
        if (printed := steps[name].figures["speedup"]) is not None:
            ax.plot(3072, printed, zorder=5, **HOLLOW | {"mec": CYCLE[number]})
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    size_ticks(ax, groups, 3072)
    ax.set_xlabel("cube root of M N K", fontsize=9)
    ax.set_ylabel("speed-up over naive", fontsize=9)
    decorate(ax)
    handles = [*ax.get_legend_handles_labels()[0], Line2D([], [], label="in the paper (HD 3870)", **HOLLOW)]
    legend_outside(part, handles, 4)
    return figure


def _work_items(group: Group, row: Row) -> float:
    assert row["global_size"] is not None  # a paper's step is a kernel of ours
    return float(prod(row["global_size"]))


def save(study: StudyRows, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study into ``directory`` (made where missing): the papers' gains where their first
    steps ran, and rates over sizes where there are several. Returns what was written."""
    several = len(by_size(study)) > 1
    return save_all(study, directory, {"gains": gains} | ({"sizes": sizes, "unrolling": unrolling} if several else {}))
