"""Pictures of the transposed product: bandwidth over sizes (Yang's Figure 12)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpuopt import papers
from gpuopt.lab.rows.groups import PAPER, Group
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.canvas import captioned_picture, provenance
from gpuopt.lab.show.gains import by_size, called, gains, save_all, step_name
from gpuopt.lab.show.sizes import contest, draw, legend_below, line_of, of_preset
from gpuopt.lab.show.style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bandwidths(study: StudyRows) -> Figure:
    """The transposed product's rate of reading A over its bytes, a line a step, a variant of ours, a call or a peer,
    under the read bandwidth measured beside them. Raises ValueError for rows of several devices."""
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
    ceilings = [(footprint_mb(group, {}), max(group.ceiling_rates().values(), default=0.0)) for group in groups]
    if any(rate for _, rate in ceilings):
        ax.plot(
            *zip(*ceilings, strict=True), color=INK, linewidth=1.4, linestyle="--", label="read bandwidth", zorder=1
        )
        legend_below(ax)
    ax.set_xlabel("MB of A, v and y", fontsize=9)
    ax.set_ylabel("GB/s", fontsize=9)
    return figure


def footprint_mb(group: Group, row: Row) -> float:
    return number_of(group.first, "footprint_bytes") * 1e-6


def save(study: StudyRows, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study into ``directory`` (made where missing): the papers' gains where their first
    steps ran, and bandwidths over sizes where there are several. Returns what was written."""
    several = len(by_size(study)) > 1
    return save_all(study, directory, {"gains": gains} | ({"bandwidths": bandwidths} if several else {}))
