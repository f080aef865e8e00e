"""The ways to the best combination of the paper's optimizations: hill climbing in every order, and elimination."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from gpuopt.checked import checked
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show.canvas import captioned_picture, provenance
from gpuopt.workloads.gem.bars import ROW_INCHES, Bar, panels_below
from gpuopt.workloads.gem.gains import Kernels, gain_over_basic, group_with_basic, kernels
from gpuopt.workloads.gem.optimizations import AXES, levels_of
from gpuopt.workloads.gem.stacking import Axes, Found, replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDS = 12  # of hill climbing, at most: the best and the worst
NAME = 46  # characters of a bar's label


@checked
def ways(study: Study, axes: Axes = AXES) -> Figure:
    """Where hill climbing ends, in how many orders of the axes, what the paper's elimination keeps step by step, and
    the fastest of all combinations; ticks are the products of the parts' gains. Arguments and errors as of
    :func:`gpuopt.lab.gem_plots.replay`."""
    group, basic = group_with_basic(study)
    found = replay(study, axes)
    rows = kernels(group, basic)
    orders, ends = found.climbing.orders, found.climbing.ends
    shown = ends if len(ends) <= ENDS else (*ends[: ENDS // 2], *ends[-ENDS // 2 :])
    climbed = [_bar(group, basic, rows, end.found, f"{_percent(end.orders, orders)}: ") for end in shown]
    eliminated = [_bar(group, basic, rows, one) for one in found.beside_splitting.kept]
    panels = [
        (f"Fastest of all {found.cells:,} combinations", [_bar(group, basic, rows, found.best)]),
        (f"Where hill climbing ends, by its share of {orders:,} orders", climbed),
        ("Elimination, step by step", eliminated),
    ]
    counts = [len(bars) + 2.2 for _, bars in panels]
    worst = ends[-1]
    lines = [
        f"Hill climbing takes each of {len(found.axes)} axes once. One of its best orders: {', '.join(ends[0].order)}; "
        f"one of its worst: {', '.join(worst.order)}.",
        *([f"The {len(ends) - len(shown)} ends between are left out."] if len(shown) < len(ends) else []),
        provenance(group.rows),
    ]
    figure, part = captioned_picture(f"GEM: ways to combine, {group.subject}", 1.1 + ROW_INCHES * sum(counts), lines)
    panels_below(part, panels, 3)
    return figure


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else f"{share:.1g} %"


def _bar(group: Group, basic: Row, rows: Kernels, found: Found, lead: str = "") -> Bar:
    levels: dict[str, int] = {}
    for name in found.names:
        levels |= levels_of(name)
    row = rows[frozenset(levels.items())]
    label = lead + textwrap.shorten(" + ".join(found.names) or "the basic kernel", NAME, placeholder=" ...")
    return Bar(label, row, gain_over_basic(group, row, basic), product=found.product if len(found.names) > 1 else None)
