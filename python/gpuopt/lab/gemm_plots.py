"""Pictures of dense products: the papers' gains beside ours, and rates over the size of the problem.

The papers are Jang, Do, Pien and Kaeli, "Architecture-Aware Optimization Targeting Multithreaded Stream Computing",
GPGPU-2, 2009, and Yang, Xiang, Mantor and Zhou, "Fixing Performance Bugs", ICPP 2012. Their Figures 4, 7, 8 and 12 have
no numbers: those of tables and text are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from gpuopt import papers

from .canvas import CYCLE, _decorate, _facts, _legend, _plain_ticks, _sheet
from .plots import FAINT, HOLLOW, INK, WHISKER, _common, _failure, _sides
from .ratios import Ratio, ratio_between
from .results import Row
from .study import CALLS, OURS, PAPER, PEERS, ROUNDED, Group, Study, section
from .table import TERA, joined, significant

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JANG, YANG = "jang2009", "yang2012"
MARKERS = "osD^vPX<>"
SHADES = ("#0072B2", "#56B4E9", "#A8D8F0", "#D9EEF8")  # the largest size first
MOST_SIZES = len(SHADES)  # of which gains are drawn
UNROLLED = ("paper:unroll4", "paper:unroll8", "paper:unroll16")
SLOT, BAR = 0.8, 0.72  # of a row: what its bars take together, and of its part what a bar does
ROW_INCHES, BAR_INCHES = 0.22, 0.13

LONG = {
    "paper:variable_reduction": "variable reduction",
    "paper:unroll4": "unrolled 4 times",
    "paper:unroll8": "unrolled 8 times",
    "paper:unroll16": "unrolled 16 times",
    "paper:vector_type": "vector type (float4)",
    "paper:multiple_output": "multiple output (8 x float4)",
    "paper:constant": "constant memory, 16 x 128",
    "paper:f2": "float2",
    "paper:tlp": "columns shared, 32 x 8",
    "paper:tlp_f2": "both, 32 x 8",
    "paper:tlp_hd5870": "columns shared, 64 x 4",
    "paper:tlp_f2_hd5870": "both, 64 x 4",
}


# ---------------------------------------------------------------- gains beside the papers'


@dataclass(frozen=True)
class _Gain:
    """How much faster a step is than its paper's first one, at one size: 1 / ratio, or the failed row alone."""

    size: str
    row: Row
    ratio: Ratio | None


def gains(study: Study, keys: Sequence[str] = (JANG, YANG)) -> Figure:
    """The papers' steps as bars: the speed-up over each paper's first step, at up to four sizes, with its 95 %
    interval; a diamond, or a line from the least to the most, is what the paper printed.

    Raises ValueError for rows of several devices, and where no paper's first step ran.
    """
    groups = _by_size(study)[-MOST_SIZES:][::-1]
    workload = str(groups[0].first.get("workload"))
    panels = []
    for paper in (paper for paper in papers.of(workload) if paper.key in keys):
        steps = [(step, found) for step in paper.steps[1:] if (found := _gains(groups, paper.steps[0].preset, step))]
        if any(gain.ratio for _, found in steps for gain in found):
            panels.append((paper, steps))
    if not panels:
        raise ValueError("study: no paper's first step ran beside others; sweep it with variants='all'")
    heights = [1.1 + sum(ROW_INCHES + BAR_INCHES * len(found) for _, found in steps) for _, steps in panels]
    title = f"{_called(workload)}: what the papers' steps bring"
    bases = joined([f"{_name(paper.steps[0].preset)} for {_authors(paper)}" for paper, _ in panels])
    lines = [f"Speed-ups are over {bases}.", _facts([row for group in groups for row in group.rows])]
    figure, part = _sheet(title, 0.9 + sum(heights), lines)
    axes = part.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    sizes = list(dict.fromkeys(gain.size for _, steps in panels for _, found in steps for gain in found))
    colours = dict(zip(sizes, SHADES, strict=False))
    for ax, (paper, steps) in zip(axes, panels, strict=True):
        _gain_panel(ax, steps, colours)
        ax.set_title(f"{_authors(paper)}: {paper.title}", fontsize=9.5, loc="left", color=INK)
    axes[-1].set_xlabel("speed-up over the paper's first step (more is faster)", fontsize=9)
    handles: list[Artist] = [Patch(color=colour, label=size) for size, colour in colours.items()]
    handles.append(Line2D([], [], color=INK, marker="|", markersize=6, linewidth=1.2, label="95 % interval"))
    devices = sorted({step.device for _, steps in panels for step, _ in steps})
    handles.append(Line2D([], [], label=f"in the paper ({joined(devices)})", **HOLLOW))
    _legend(part, handles, 5)
    return figure


def _gains(groups: Sequence[Group], base: str, step: papers.Step) -> list[_Gain]:
    found = []
    for group in groups:
        rows = {row.get("preset"): row for row in group.rows if row.get("preset")}
        first, row = rows.get(base), rows.get(step.preset)
        if first is None or row is None or first["status"] != "ok":
            continue
        ratio = ratio_between(group, row, first) if row["status"] == "ok" else None
        found.append(_Gain(_size_name(group), row, ratio))
    return found


def _gain_panel(ax: Axes, steps: list[tuple[papers.Step, list[_Gain]]], colours: dict[str, str]) -> None:
    ax.set_xscale("log")
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    seen = [1.0]
    for y, (step, found) in enumerate(steps):
        height = SLOT / max(len(found), 1)
        for i, gain in enumerate(found):
            at = y - SLOT / 2 + (i + 0.5) * height
            if gain.ratio is None:
                _failure(ax, gain.row, at)
                continue
            low, mid, high = _ends(gain.ratio)
            seen += [low, high]
            ax.barh(at, mid - 1, height * BAR, left=1, color=colours[gain.size], zorder=2)
            ax.errorbar(mid, at, xerr=_sides(low, mid, high), **WHISKER)
            ax.annotate(
                significant(mid), (1, at), (26, 0), ax.get_yaxis_transform(), "offset points", fontsize=7.5,
                color=INK, va="center", ha="right", annotation_clip=False,
            )  # fmt: skip
        printed = step.figures
        ends = [end for end in (printed["speedup"], printed["speedup_least"], printed["speedup_most"]) if end]
        seen += ends
        if ends:
            ax.plot(ends, [y] * len(ends), color=INK, linewidth=1.2, zorder=5)
            ax.plot(ends, [y] * len(ends), zorder=6, **HOLLOW)
            said = (", up to " if printed["speedup"] else " to ").join(f"{end:g}" for end in ends)
            ax.annotate(
                said, (1, y), (104, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5, color=FAINT,
                va="center", ha="right", annotation_clip=False,
            )  # fmt: skip
    for heading, points in (("here", 26.0), ("paper", 104.0)):
        ax.annotate(
            heading, (1, -0.75), (points, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5, color=FAINT,
            va="center", ha="right", annotation_clip=False,
        )  # fmt: skip
    ax.set_xlim(min(seen) / 1.12, max(seen) * 1.12)
    places = [float(y) for y in range(len(steps))]
    ax.set_yticks(places, [_name(step.preset) for step, _ in steps], fontsize=9)
    _common(ax, places)
    _plain_ticks(ax, "x")


# ---------------------------------------------------------------- over sizes


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
    groups = _by_size(study)
    fastest = max((row["gflop_s"] for group in groups for row in _timed(group)), default=0.0)
    scale, unit = (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")
    figure, part = _sheet(
        f"{_called('gemm')}: rates over sizes",
        6.2,
        [
            "Left as Jang et al. 2009, Figure 4: on an HD 3870 rates rose with the number of work-items up to a "
            "saturation. Right: of the papers' steps and of each variant of ours the fastest at each size.",
            _facts([row for group in groups for row in group.rows]),
        ],
    )
    left, right = part.subplots(1, 2)
    ladder = [step.preset for step in papers.load("gemm", JANG).steps]
    threads = [_line(groups, _name(name), _of_preset(name), _work_items, PAPER) for name in ladder]
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
    groups = _by_size(study)
    figure, part = _sheet(
        f"{_called('gemm')}: unrolling by size",
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
            for gain in _gains([group], "paper:naive", steps[name]):
                if gain.ratio is not None:
                    low, mid, high = _ends(gain.ratio)
                    points.append((_side(group, {}), mid, low, high))
        _draw_line(ax, _Line(_name(name), points, PAPER), number, 1.0)
        if (printed := steps[name].figures["speedup"]) is not None:
            ax.plot(3072, printed, zorder=5, **HOLLOW | {"mec": CYCLE[number]})
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    _size_ticks(ax, groups, 3072)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("cube root of M N K", fontsize=9)
    ax.set_ylabel("speed-up over naive", fontsize=9)
    _decorate(ax)
    handles = [*ax.get_legend_handles_labels()[0], Line2D([], [], label="in the paper (HD 3870)", **HOLLOW)]
    _legend(part, handles, 4)
    return figure


def bandwidths(study: Study) -> Figure:
    """The transposed product's rate of reading A over its bytes, a line a step, a variant of ours, a call or a peer,
    under the read bandwidth measured beside them. Raises ValueError for rows of several devices."""
    groups = _by_size(study)
    figure, part = _sheet(
        f"{_called('tmv')}: bandwidth over sizes",
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
    lines = [_line(groups, _name(name), _of_preset(name), _footprint, PAPER, gb_s) for name in names]
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


# ---------------------------------------------------------------- files


def save(study: Study, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study of GEMM into ``directory`` (made where missing): the papers' gains where their
    first steps ran, and rates over sizes where there are several. Returns what was written."""
    several = len(_by_size(study)) > 1
    return _saved(study, directory, {"gains": gains} | ({"sizes": sizes, "unrolling": unrolling} if several else {}))


def save_tmv(study: Study, directory: str | Path) -> list[Path]:
    """The same of a study of the transposed product."""
    several = len(_by_size(study)) > 1
    return _saved(study, directory, {"gains": gains} | ({"bandwidths": bandwidths} if several else {}))


def _saved(study: Study, directory: str | Path, drawn: dict[str, Callable[[Study], Figure]]) -> list[Path]:
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
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


# ---------------------------------------------------------------- rows


def _by_size(study: Study) -> list[Group]:
    """The groups of rows, the smallest problem first."""
    groups = study.groups()
    if not groups:
        raise ValueError("study: it has no rows to draw; run lab.sweep first")
    places = {(group.device, str(group.first.get("driver")), group.dtype) for group in groups}
    if len(places) > 1:
        raise ValueError(f"study: rows of {len(places)} devices or dtypes; make a Study of one's rows")
    return sorted(groups, key=lambda group: (prod(_lengths(group)), group.sizes))


def _lengths(group: Group) -> list[int]:
    sizes = group.first.get("sizes") or {}
    return [int(length) for name, length in sizes.items() if name != "checked"]


def _size_name(group: Group) -> str:
    lengths = _lengths(group)
    return str(lengths[0]) if len(set(lengths)) == 1 else " x ".join(map(str, lengths))


def _timed(group: Group) -> list[Row]:
    return [row for row in group.rows if row["status"] == "ok" and row.get("median_ms") and row.get("gflop_s")]


def _side(group: Group, row: Row) -> float:
    return round(prod(_lengths(group)) ** (1 / 3), 6)


def _footprint(group: Group, row: Row) -> float:
    return float(group.first["footprint_bytes"]) * 1e-6


def _work_items(group: Group, row: Row) -> float:
    return float(prod(row["global_size"]))


def _of_preset(name: str) -> Callable[[Row], bool]:
    return lambda row: row.get("preset") == name


def _of_variant(name: str, kind: str) -> Callable[[Row], bool]:
    return lambda row: row["variant"] == name and section(row) == kind


def _ends(gain: Ratio) -> tuple[float, float, float]:
    """How many times as fast: low, middle, high."""
    mid = 1 / gain.mid
    return (1 / gain.hi, mid, 1 / gain.lo) if gain.lo and gain.hi else (mid, mid, mid)


def _name(preset: str) -> str:
    short = preset.removeprefix("paper:")
    if short.startswith("block_"):
        return short.removeprefix("block_").replace("x", " x ")
    return LONG.get(preset, short.replace("_", " "))


def _authors(paper: papers.Paper) -> str:
    return {JANG: "Jang et al. 2009", YANG: "Yang et al. 2012"}.get(paper.key, paper.key)


def _called(workload: str) -> str:
    return {"gemm": "Matrix product", "tmv": "Transposed matrix times vector"}.get(workload, workload)


__all__ = ["bandwidths", "gains", "save", "save_tmv", "sizes", "unrolling"]
