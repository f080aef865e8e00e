"""Rates and gains of dense products over the size of the problem: Jang's Figures 4 and 8, Yang's Figure 12."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from gpuopt import papers

from .canvas import CYCLE, _decorate, _facts, _legend, _plain_ticks, _sheet
from .gemm_gains import JANG, by_size, called, ends_of, gains_over, lengths_of, step_name
from .plots import HOLLOW, INK
from .results import Row
from .study import CALLS, OURS, PAPER, PEERS, ROUNDED, Group, Study, section
from .table import TERA

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vPX<>"
APART = 1.02  # lines that nearly coincide, so that each one's intervals show
UNROLLED = ("paper:unroll4", "paper:unroll8", "paper:unroll16")


@dataclass(frozen=True)
class _Line:
    """A step, a variant of ours, a call or a peer over sizes: (x, rate, low, high) a point."""

    label: str
    points: list[tuple[float, float, float, float]]
    kind: str


def sizes(study: Study) -> Figure:
    """Rates over the size: left Jang's ladder over the number of work-items (his Figure 4), right the best of the
    papers' steps, ours, whole calls and peers over the side of a cube of as many products.

    Raises ValueError for rows of several devices.
    """
    groups = by_size(study)
    fastest = max((row["gflop_s"] for group in groups for row in _timed(group)), default=0.0)
    scale, unit = (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")
    figure, part = _sheet(
        f"{called('gemm')}: rates over sizes",
        6.2,
        [
            "Left as Jang et al. 2009, Figure 4: on an HD 3870 rates rose with the number of work-items up to a "
            "saturation. Right: of the papers' steps and of each variant of ours the fastest at each size.",
            _facts([row for group in groups for row in group.rows]),
        ],
    )
    left, right = part.subplots(1, 2)
    ladder = [step.preset for step in papers.load("gemm", JANG).steps]
    threads = [_line(groups, step_name(name), _of_preset(name), _work_items, PAPER) for name in ladder]
    _draw(left, threads, scale)
    left.set_xlabel("work-items", fontsize=9)
    left.set_ylabel(unit, fontsize=9)
    left.set_title("The ladder of Jang et al.", fontsize=10, loc="left", color=INK)
    _draw(right, _contest(groups), scale)
    _size_ticks(right, groups)
    right.set_xlabel("cube root of M N K", fontsize=9)
    right.set_title("The fastest of each kind", fontsize=10, loc="left", color=INK)
    return figure


def unrolling(study: Study) -> Figure:
    """Jang's Figure 8: the speed-up of the loop unrolled 4, 8 and 16 times over the naive one, by size; diamonds are
    his Table 2's, at 3072. Raises ValueError for rows of several devices."""
    groups = by_size(study)
    figure, part = _sheet(
        f"{called('gemm')}: unrolling by size",
        4.6,
        [
            "Jang et al. 2009, Figure 8: on an HD 3870 unrolling 4 times is best at small sizes, 16 times gains as the "
            "size grows.",
            _facts([row for group in groups for row in group.rows]),
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
                    points.append((_side(group, {}) * APART**number, mid, low, high))
        _draw_line(ax, _Line(step_name(name), points, PAPER), number, 1.0)
        if (printed := steps[name].figures["speedup"]) is not None:
            ax.plot(3072, printed, zorder=5, **HOLLOW | {"mec": CYCLE[number]})
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    _size_ticks(ax, groups, 3072)
    ax.set_xlabel("cube root of M N K", fontsize=9)
    ax.set_ylabel("speed-up over naive", fontsize=9)
    _decorate(ax)
    handles = [*ax.get_legend_handles_labels()[0], Line2D([], [], label="in the paper (HD 3870)", **HOLLOW)]
    _legend(part, handles, 4)
    return figure


def bandwidths(study: Study) -> Figure:
    """The transposed product's rate of reading A over its bytes, a line a step, a variant of ours, a call or a peer,
    under the read bandwidth measured beside them. Raises ValueError for rows of several devices."""
    groups = by_size(study)
    figure, part = _sheet(
        f"{called('tmv')}: bandwidth over sizes",
        6.4,
        [
            "Yang et al. 2012, Figure 12: a column a work-item leaves most of a GPU idle; sharing columns helps.",
            _facts([row for group in groups for row in group.rows]),
        ],
    )
    ax = part.subplots()

    def gb_s(row: Row) -> float:
        return float(row["footprint_bytes"]) / float(row["median_ms"]) * 1e-6

    names = [step.preset for step in papers.load("tmv").steps]
    lines = [_line(groups, step_name(name), _of_preset(name), _footprint, PAPER, gb_s) for name in names]
    _draw(ax, [*lines, *_contest(groups, _footprint, gb_s)[1:]], 1.0)
    ceilings = [(_footprint(group, {}), max(group.ceiling_rates().values(), default=0.0)) for group in groups]
    if any(rate for _, rate in ceilings):
        ax.plot(
            *zip(*ceilings, strict=True), color=INK, linewidth=1.4, linestyle="--", label="read bandwidth", zorder=1
        )
        _legend_below(ax)
    ax.set_xlabel("MB of A, v and y", fontsize=9)
    ax.set_ylabel("GB/s", fontsize=9)
    return figure


def _contest(
    groups: Sequence[Group],
    x: Callable[[Group, Row], float] | None = None,
    rate: Callable[[Row], float] | None = None,
) -> list[_Line]:
    """The fastest of the papers' steps, each of ours, calls and peers."""
    lines = [_line(groups, "the papers' best", lambda row: section(row) == PAPER, x or _side, PAPER, rate)]
    for kind in (OURS, ROUNDED, CALLS, PEERS):
        names = dict.fromkeys(str(row["variant"]) for group in groups for row in group.section(kind))
        for name in names:
            lines.append(_line(groups, name, _of_variant(name, kind), x or _side, kind, rate))
    return lines


def _line(
    groups: Sequence[Group],
    label: str,
    mine: Callable[[Row], bool],
    x: Callable[[Group, Row], float],
    kind: str,
    rate: Callable[[Row], float] | None = None,
) -> _Line:
    """The fastest of the rows that are ``mine`` in each group."""
    points = []
    for group in groups:
        row = min(filter(mine, _timed(group)), key=lambda row: float(row["median_ms"]), default=None)
        if row is None:
            continue
        mid, median = rate(row) if rate else float(row["gflop_s"]), float(row["median_ms"])
        low, high = (mid * median / float(row.get(key) or median) for key in ("ci_hi_ms", "ci_lo_ms"))
        points.append((x(group, row), mid, low, high))
    return _Line(label, sorted(points), kind)


def _draw(ax: Axes, lines: Sequence[_Line], scale: float) -> None:
    drawn = [line for line in lines if line.points]
    for number, line in enumerate(drawn):
        _draw_line(ax, line, number, scale)
    ax.set_xscale("log")
    ax.set_yscale("log")
    _decorate(ax)
    if drawn:
        _plain_ticks(ax)
        _legend_below(ax)


def _draw_line(ax: Axes, line: _Line, number: int, scale: float) -> None:
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


def _legend_below(ax: Axes) -> None:
    ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(-0.08, -0.13), ncols=2, columnspacing=1.2)


def _size_ticks(ax: Axes, groups: Sequence[Group], *more: float) -> None:
    places = sorted({*(_side(group, {}) for group in groups), *more})
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(places, [f"{place:.0f}" for place in places])


# ---------------------------------------------------------------- rows


def _timed(group: Group) -> list[Row]:
    return [row for row in group.rows if row["status"] == "ok" and row.get("median_ms") and row.get("gflop_s")]


def _side(group: Group, row: Row) -> float:
    return round(prod(lengths_of(group)) ** (1 / 3), 6)


def _footprint(group: Group, row: Row) -> float:
    return float(group.first["footprint_bytes"]) * 1e-6


def _work_items(group: Group, row: Row) -> float:
    return float(prod(row["global_size"]))


def _of_preset(name: str) -> Callable[[Row], bool]:
    return lambda row: row.get("preset") == name


def _of_variant(name: str, kind: str) -> Callable[[Row], bool]:
    return lambda row: row["variant"] == name and section(row) == kind
