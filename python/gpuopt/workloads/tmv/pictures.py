"""Pictures of the transposed product: bandwidth over sizes (Yang's Figure 12), and what his steps gain there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpuopt import papers
from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import PAPER, Group
from gpuopt.lab.rows.names import step_name
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.canvas import captioned_picture, decorate, provenance
from gpuopt.lab.show.gains import by_size, called, ends_of, gains, gains_over, save_all
from gpuopt.lab.show.sizes import (
    APART,
    Line,
    contest,
    draw,
    draw_line,
    legend_below,
    line_colours,
    line_of,
    of_preset,
)
from gpuopt.lab.show.style import INK
from gpuopt.lab.show.ticks import plain_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bandwidths(study: StudyRows) -> Figure:
    """The transposed product's rate of reading A over its bytes, a line a step, a variant of ours, a call or a peer,
    under the read bandwidth measured beside them. Raises ParameterError for rows of several devices, or of one problem
    under several conditions."""
    groups = by_size(study)
    figure, part = captioned_picture(
        f"{called('tmv')}: bandwidth over sizes",
        6.4,
        [
            "Yang et al. 2012, Figure 12: a column a work-item leaves most of a GPU idle; sharing columns helps.",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    ax = part.subplots()

    def gb_s(row: Row) -> float:
        return number_of(row, "footprint_bytes") / time_ms(row) * 1e-6

    names = [step.preset for step in papers.load("tmv").steps]
    lines = [line_of(groups, step_name("tmv", name), of_preset(name), footprint_mb, PAPER, gb_s) for name in names]
    draw(ax, [*lines, *contest(groups, footprint_mb, gb_s)[1:]], 1.0)
    reads = [(footprint_mb(group, {}), rate) for group in groups if (rate := _read_gb_s(group)) is not None]
    if reads:
        ax.plot(*zip(*reads, strict=True), color=INK, linewidth=1.4, linestyle="--", label="read bandwidth", zorder=1)
        legend_below(ax)
    ax.set_xlabel("MB of A, v and y", fontsize=9)
    ax.set_ylabel("GB/s", fontsize=9)
    return figure


def speedups(study: StudyRows) -> Figure:
    """What each step gains over the naive one, over the bytes of the product, with 95 % intervals. Raises
    ParameterError for rows of several devices, or of one problem under several conditions, and where the naive step did
    not run."""
    groups = by_size(study)
    base, *steps = papers.load("tmv").steps
    figure, part = captioned_picture(
        f"{called('tmv')}: gains over {step_name('tmv', base.preset)}, by size",
        5.0,
        [
            "Yang et al. 2012, Figure 12: float2 alone is not very effective on small matrices, as it takes work-items "
            "away; shared columns always gain; both together gain most, 2.0 to 5.0 times on a GTX 480 (32 x 8) and 2.5 "
            "to 3.8 times on an HD 5870 (64 x 4).",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    ax, lines = part.subplots(), list[Line]()
    for number, step in enumerate(steps):
        points = []
        for group in groups:
            for gain in gains_over([group], base.preset, step):
                if gain.ratio is not None:
                    low, mid, high = ends_of(gain.ratio)
                    points.append((footprint_mb(group, gain.row) * APART**number, mid, low, high))
        lines.append(Line(step_name("tmv", step.preset), points, PAPER))
    for number, (line, colour) in enumerate(zip(lines, line_colours(lines), strict=True)):
        draw_line(ax, line, number, 1.0, colour)
    if not ax.containers:
        raise ParameterError("study: the naive step did not run beside others; sweep it with variants='all'")
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    decorate(ax)
    plain_ticks(ax)
    legend_below(ax)
    ax.set_xlabel("MB of A, v and y", fontsize=9)
    ax.set_ylabel("speed-up (more is faster)", fontsize=9)
    return figure


def footprint_mb(group: Group, row: Row) -> float:
    return number_of(group.first, "footprint_bytes") * 1e-6


def _read_gb_s(group: Group) -> float | None:
    """The best rate of the kernels that read alone, None where none was measured: a cache may copy faster."""
    rates = [rate for name, rate in group.ceiling_rates().items() if name.startswith("read")]
    return max(rates, default=None)


def save(study: StudyRows, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study into ``directory`` (made where missing): the papers' gains where their first
    steps ran; bandwidths, and speed-ups over the first step, over sizes where there are several. Returns what was
    written."""
    groups = by_size(study)
    steps = papers.load("tmv").steps
    stepped = any(gain.ratio for step in steps[1:] for gain in gains_over(groups, steps[0].preset, step))
    drawn = {"gains": gains} | ({"bandwidths": bandwidths} if len(groups) > 1 else {})
    return save_all(study, directory, drawn | ({"speedups": speedups} if len(groups) > 1 and stepped else {}))
