"""Pictures of matrix products: rates over sizes (Jang's Figure 4), unrolling by size (his Figure 8), the steps over a
CPU's loop (his Table 2), rates over the width of B (Yang's Figure 16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuopt import papers
from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS, Group, row_named
from gpuopt.lab.rows.names import step_name
from gpuopt.lab.rows.ratios import ratio_by_one_clock
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import TERA, joined
from gpuopt.lab.show.canvas import (
    MARKERS,
    captioned_picture,
    decorate,
    legend_outside,
    provenance,
)
from gpuopt.lab.show.gains import (
    MOST_SIZES,
    by_size,
    called,
    ends_of,
    gains,
    gains_over,
    save_all,
    size_name,
    smaller,
)
from gpuopt.lab.show.sizes import (
    APART,
    Line,
    contest,
    cube_side,
    draw,
    draw_line,
    legend_below,
    line_colours,
    line_of,
    of_preset,
    of_variant,
    size_ticks,
    timed_rows,
)
from gpuopt.lab.show.style import ASIDE, COLOURS, HOLLOW, INK, bar_axes, error_sides, interval_key, paper_key, shades
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.workloads.gemm.peers import SERIAL_LOOP
from gpuopt.workloads.gemm.problem import CALLED_STEPS
from gpuopt.workloads.gemm.shapes_picture import is_of_shapes, shapes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
JANG = ("jang2009", "jang2009_textures")
SATURATED = 0.95  # of the best rate
RING: dict[str, Any] = {"marker": "o", "markersize": 11, "mfc": "none", "mec": INK, "linestyle": "none"}
CONSTANT = ("paper:constant", "paper:constant_two_queues")
UNROLLED = ("paper:unroll4", "paper:unroll8", "paper:unroll16")


def sizes(study: StudyRows) -> Figure:
    """Rates over the size: Jang's ladders over the number of work-items (his Figure 4), from buffers and, where they
    ran, from textures, with a ring where a step saturates; and the best of the papers' steps, ours, whole calls and
    peers over the side of a cube of as many products.

    Raises ParameterError for rows of several devices, or of one problem under several conditions.
    """
    groups = by_size(study)
    scale, unit = _unit(groups)
    ladders = {key: _ladder(groups, key) for key in JANG}
    ladders = {key: lines for key, lines in ladders.items() if any(line.points for line in lines)}
    told = [f"{papers.load('gemm', key).short}: {_told(lines)}." for key, lines in ladders.items()]
    figure, part = captioned_picture(
        f"{called('gemm')}: rates over sizes",
        10.4 if len(ladders) > 1 else 6.2,
        [
            f"Over work-items: Jang et al. 2009. {_note('jang2009', 'Figure 4')} Over sizes: of the papers' "
            "steps and of each variant of ours the fastest at each size.",
            f"Rings: the fewest work-items at which a step has {SATURATED:.0%} of its best rate. {' '.join(told)}",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    if len(ladders) > 1:
        upper, lower = part.subfigures(2, 1, squeeze=False)[:, 0]
        left, right = list(upper.subplots(1, len(ladders))), lower.subplots()
    else:
        first, right = part.subplots(1, 2)
        left = [first]
    for ax, (key, lines) in zip(left, ladders.items(), strict=False):
        draw(ax, lines, scale)
        for line in lines:
            if (found := _saturation(line)) is not None:
                rate = next(rate for x, rate, *_ in line.points if x == found)
                ax.plot(found, rate / scale, label=f"{SATURATED:.0%} of its best rate", zorder=6, **RING)
        legend_below(ax)
        ax.set_title(papers.load("gemm", key).short, fontsize=10, loc="left", color=INK)
    for ax in left:
        ax.set_xlabel("work-items", fontsize=9)
    left[0].set_ylabel(unit, fontsize=9)
    draw(right, contest(groups), scale)
    size_ticks(right, groups)
    right.set_xlabel("cube root of M N K", fontsize=9)
    right.set_title("The fastest of each kind", fontsize=10, loc="left", color=INK)
    return figure


def saturations(study: StudyRows) -> dict[str, float | None]:
    """The fewest work-items at which each step of Jang's ladders has 95 % of its best rate, by preset; None where that
    is the largest size only, and rates still rise. Steps timed at one size alone are left out. Raises ParameterError
    for rows of several devices, or of one problem under several conditions."""
    groups = by_size(study)
    found = {}
    for key in JANG:
        for step, line in zip(papers.load("gemm", key).steps, _ladder(groups, key), strict=True):
            if len(line.points) > 1:
                found[step.preset] = _saturation(line)
    return found


def _ladder(groups: Sequence[Group], key: str) -> list[Line]:
    """A line a step, over work-items."""
    steps = papers.load("gemm", key).steps
    return [line_of(groups, step_name("gemm", s.preset), of_preset(s.preset), _work_items, PAPER) for s in steps]


def _saturation(line: Line) -> float | None:
    if len(line.points) < 2:
        return None
    best = max(rate for _, rate, *_ in line.points)
    first = next(x for x, rate, *_ in line.points if rate >= SATURATED * best)
    return None if first == line.points[-1][0] else first


def _told(lines: Sequence[Line]) -> str:
    """`naive at 65536, multiple output still rises`."""
    several = [(line.label, _saturation(line)) for line in lines if len(line.points) > 1]
    words = [f"{label} at {found:.0f}" if found else f"{label} still rises" for label, found in several]
    return ", ".join(words) or "one size alone"


def _note(key: str, begins: str) -> str:
    """What a paper's data say of one of its figures."""
    return next(note for note in papers.load("gemm", key).notes if note.startswith(begins))


def _unit(groups: Sequence[Group]) -> tuple[float, str]:
    fastest = max((number_of(row, "gflop_s") for group in groups for row in timed_rows(group)), default=0.0)
    return (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")


def unrolling(study: StudyRows) -> Figure:
    """Jang's Figure 8: the speed-up of the loop unrolled 4, 8 and 16 times over the naive one, by size; diamonds are
    his Table 2's. Raises ParameterError for rows of several devices, or of one problem under several conditions."""
    groups = by_size(study)
    figure, part = captioned_picture(
        f"{called('gemm')}: unrolling by size",
        4.6,
        [
            f"Jang et al. 2009. {_note('jang2009', 'Figure 8')}",
            provenance([row for group in groups for row in group.rows]),
        ],
    )
    ax = part.subplots()
    steps, sides, lines = papers.steps("gemm"), list[float](), list[Line]()
    for number, name in enumerate(UNROLLED):
        points = []
        for group in groups:
            for gain in gains_over([group], "paper:naive", steps[name]):
                if gain.ratio is not None:
                    low, mid, high = ends_of(gain.ratio)
                    points.append((cube_side(group, {}) * APART**number, mid, low, high))
        lines.append(Line(step_name("gemm", name), points, PAPER))
    for number, (name, line, colour) in enumerate(zip(UNROLLED, lines, line_colours(lines), strict=True)):
        draw_line(ax, line, number, 1.0, colour)
        printed, side = steps[name].figures["speedup"], steps[name].figures["side"]
        if printed is not None and side is not None:
            sides.append(side)
            ax.plot(side, printed, zorder=5, **HOLLOW | {"mec": colour})
    ax.axhline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    size_ticks(ax, groups, *sides)
    ax.set_xlabel("cube root of M N K", fontsize=9)
    ax.set_ylabel("speed-up over naive", fontsize=9)
    decorate(ax)
    handles = [*ax.get_legend_handles_labels()[0], paper_key(["HD 3870"])]
    legend_outside(part, handles, 4)
    return figure


def over_cpu(study: StudyRows) -> Figure:
    """How many times as fast as the host's serial loop Jang's steps are, and whole calls of his first and last step,
    which hold the transfers; at up to four sizes, with 95 % intervals. Diamonds are his Table 2's.

    Raises ParameterError for rows of several devices, or of one problem under several conditions, and where the loop
    was not timed beside them.
    """
    every = [group for group in by_size(study) if row_named(group, SERIAL_LOOP)]
    groups = every[-MOST_SIZES:]
    if not groups:
        raise ParameterError(f"study: {SERIAL_LOOP!r} was not timed; sweep a size at which it takes seconds at most")
    entries: list[tuple[str, Callable[[Row], bool], float | None]] = []
    for step in (step for key in JANG for step in papers.load("gemm", key).steps):
        entries.append((step_name("gemm", step.preset), of_preset(step.preset), step.figures["speedup_over_cpu"]))
    for preset in CALLED_STEPS:
        name = f"gpuopt.gemm(A, B, variant={preset!r})"
        entries.append((f"{step_name('gemm', preset)}, whole call", of_variant(name, CALLS), None))
    loops = dict.fromkeys(str(row["options"]) for group in groups if (row := row_named(group, SERIAL_LOOP)))
    about = [
        f"The loop on the host: {joined(list(loops))}.{smaller(len(every))}",
        provenance([group.first for group in groups]),
    ]
    figure, part = captioned_picture(
        f"{called('gemm')}: steps over a CPU's serial loop", 1.4 + 0.3 * len(entries), about
    )
    ax = part.subplots()
    for number, (group, colour) in enumerate(zip(groups, shades(COLOURS[PAPER], len(groups))[::-1], strict=True)):
        loop = row_named(group, SERIAL_LOOP)
        style: dict[str, Any] = {"color": colour, "marker": MARKERS[number], "linestyle": "none"}
        points = []
        for y, (_, mine, _) in enumerate(entries):
            row = min(filter(mine, timed_rows(group)), key=time_ms, default=None)
            ratio = ratio_by_one_clock(group, row, loop) if row is not None and loop is not None else None
            if ratio is not None:
                points.append((y, *ends_of(ratio)))
        for y, low, mid, high in points:
            ax.errorbar(mid, y, xerr=error_sides(low, mid, high), capsize=2, **style)
        ax.plot([], [], label=size_name(group), **style)
    for y, (_, _, printed) in enumerate(entries):
        if printed is not None:
            ax.plot(printed, y, zorder=ASIDE, **HOLLOW)
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    places = [float(y) for y in range(len(entries))]
    ax.set_yticks(places, [name for name, *_ in entries], fontsize=9)
    bar_axes(ax, places)
    plain_ticks(ax, "x")
    ax.set_xlabel("times as fast as the loop", fontsize=9)
    handles = [*ax.get_legend_handles_labels()[0], interval_key(), paper_key(["HD 3870", "Core 2 Duo"])]
    legend_outside(part, handles, 5)
    return figure


def widths(study: StudyRows) -> Figure:
    """Yang's Figure 16: rates over the width of B, A staying as it is: products by constant memory, `register_tile` and
    peers. Raises ParameterError for rows of several devices, or of one problem under several conditions, and where no
    two problems differ in the width alone."""
    groups = of_varied_width(by_size(study))
    if not groups:
        raise ParameterError("study: no two of its products differ in the width of B alone")
    scale, unit = _unit(groups)
    facts = groups[0].first["sizes"] or {}
    figure, part = captioned_picture(
        f"{called('gemm')}: rates over the width of B, A of {facts['M']} x {facts['K']}",
        5.2,
        [
            f"Yang et al. 2012. {_note('yang2012', 'Figure 16')}",
            provenance([r for group in groups for r in group.rows]),
        ],
    )
    ax = part.subplots()
    lines = [line_of(groups, step_name("gemm", name), of_preset(name), _width, PAPER) for name in CONSTANT]
    for name in ("constant", "register_tile"):
        lines.append(line_of(groups, f"{name}, ours", of_variant(name, OURS), _width, OURS))
    for name in dict.fromkeys(str(row["variant"]) for group in groups for row in group.section(PEERS)):
        lines.append(line_of(groups, name, of_variant(name, PEERS), _width, PEERS))
    draw(ax, lines, scale)
    ax.set_xlabel("columns of B", fontsize=9)
    ax.set_ylabel(unit, fontsize=9)
    return figure


def of_varied_width(groups: Sequence[Group]) -> list[Group]:
    """The groups whose products have the same A and differ in the width of B, the narrowest first; of several such
    families the largest, none where there is none."""
    families: dict[tuple[int, int], dict[int, Group]] = {}
    for group in groups:
        given = group.first["sizes"] or {}
        if "batch" not in given:
            families.setdefault((given["M"], given["K"]), {})[given["N"]] = group
    largest = max(families.values(), key=len, default={})
    return [largest[width] for width in sorted(largest)] if len(largest) > 1 else []


def _width(group: Group, row: Row) -> float:
    return float((group.first["sizes"] or {})["N"])


def _work_items(group: Group, row: Row) -> float:
    assert row["global_size"] is not None  # a paper's step is a kernel of ours
    return float(prod(row["global_size"]))


def save(study: StudyRows, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study into ``directory`` (made where missing): the papers' gains where their first
    steps ran, the steps over a CPU's loop where that was timed, and with several sizes rates over them; of a study of
    `shapes` these beside libraries. Returns what was written."""
    groups = by_size(study)
    drawn: dict[str, Callable[[StudyRows], Figure]] = {"gains": gains}
    if any(row_named(group, SERIAL_LOOP) for group in groups):
        drawn["over_cpu"] = over_cpu
    if is_of_shapes(study):
        return save_all(study, directory, drawn | {"shapes": shapes})
    if len(groups) > 1:
        drawn |= {"sizes": sizes, "unrolling": unrolling}
    if of_varied_width(groups):
        drawn["widths"] = widths
    return save_all(study, directory, drawn)
