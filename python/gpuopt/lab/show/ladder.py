"""The ladder: the steps of a study as bars with their bounds, and each step's share of its bound beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpuopt import labels
from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.groups import (
    OURS,
    PAPER,
    PEERS,
    SECTIONS,
    Group,
    counted_unit,
    section,
    section_title,
    share_of_bound,
)
from gpuopt.lab.rows.paper_figures import paper_figure
from gpuopt.lab.rows.schema import Number, Row, number_of, time_ms
from gpuopt.lab.rows.short_names import has_levels, in_short, legend, named_in, short_names
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import TERA, significant
from gpuopt.lab.show.canvas import captioned, labelled, legend_outside, sheet_inches
from gpuopt.lab.show.certainty import refusals
from gpuopt.lab.show.header import cache_words, title
from gpuopt.lab.show.style import (
    ASIDE,
    BAR_HEIGHT,
    BEYOND,
    COLOURS,
    DOT,
    FACE,
    FAINT,
    FLAT,
    INK,
    LANE,
    LIMIT,
    MODEL,
    NAME_WIDTH,
    ROW_INCHES,
    STAIRS,
    TICK,
    WHISKER,
    WIDTH_INCHES,
    Picture,
    bar_axes,
    drawable,
    error_sides,
    failure_text,
    interval_key,
    paper_key,
    paper_marks,
)
from gpuopt.lab.show.tables import shown, unsaid

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import SubFigure

FARTHEST = 150.0  # percent of the bound without caches that the shares' axis shows
FARTHEST_BOUND = 2.5  # the rates' axis ends at so many times the fastest; a bound beyond is an arrow at its end
SECTION_GAP = 0.45  # empty bar slots between the sections


@checked
@dataclass(frozen=True)
class Metric:
    """What the bars show: `value(row)` at the row's median; every rate here is inversely proportional to time."""

    label: str
    value: Callable[[Row], float]

    def at(self, row: Row, at_ms: float) -> float:
        """The rate the row would have if it took `at_ms`."""
        return self.value(row) * time_ms(row) / at_ms


@checked
def ladder(study: StudyRows, ax: Axes | None = None) -> Figure:
    """The steps of `study` as bars with their bounds, and beside them each step's share of its bound and the paper's.

    Left: the rate of each configuration, call or peer with its 95 % interval, a black tick at the configuration's own
    bound, and as stairs behind the bars the bound that moves with what the inner loop asks for, as if there were no
    cache; what failed keeps its place, with the reason. Right: percent of bound, here (filled), and in a lane below it
    the share of the bound without caches, here and in the paper (hollow): that compares across devices. Several devices
    or problems are drawn one under the other; of each, where there are many rows, those of the table. Rows have the
    names of the table.

    With `ax` (one group only) the bars alone are drawn into it. Returns the figure. Raises ParameterError for a study
    without rows.
    """
    groups = drawable(study).groups()
    if not groups:
        raise ParameterError("study: it has no rows to draw; run lab.sweep first")
    if ax is not None:
        if len(groups) > 1:
            raise ParameterError(f"ax: the study has {len(groups)} groups of rows, one axes holds one; leave ax out")
        handles = _bars(ax, groups[0])
        ax.legend(handles=handles, fontsize="small", frameon=False, loc="best")
        figure = ax.get_figure(root=True)
        assert figure is not None
        return figure
    drawn = [_of_the_table(group) for group in groups]
    captions = [_caption(group, len(whole.rows) - len(group.rows)) for whole, group in zip(groups, drawn, strict=True)]
    heights = [
        _height(group) + sheet_inches(title(group), [caption]) for group, caption in zip(drawn, captions, strict=True)
    ]
    figure = Picture(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained", facecolor="white")
    parts = figure.subfigures(len(groups), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, group, caption in zip(parts, drawn, captions, strict=True):
        _panels(part, group, caption)
    return figure


def _of_the_table(group: Group) -> Group:
    """The group with the rows that its table shows; of many configurations the fastest."""
    return group.with_rows([row for name in SECTIONS for row in shown(group, name)])


def _panels(whole: SubFigure, group: Group, caption: str) -> None:
    part = captioned(whole, title(group), _height(group), [caption])
    shares = any(_has_share(row) for row in group.rows)
    left, *rest = part.subplots(1, 2 if shares else 1, squeeze=False, width_ratios=[1.75, 1] if shares else [1])[0]
    handles = _bars(left, group)
    for right in rest:
        handles += _shares(right, group)
    legend_outside(part, handles, 4)


def _has_share(row: Row) -> bool:
    """Whether the panel of shares has anything to show of a row, measured here or printed in its paper."""
    figure = paper_figure(row)
    here = row["status"] == "ok" and share_of_bound(row) is not None
    return here or (figure is not None and figure.pct_bound is not None)


# ---------------------------------------------------------------- the two panels


def _bars(ax: Axes, group: Group) -> list[Artist]:
    metric = _metric(group.rows)
    places = _places(group.rows)
    timed = [row for row in group.rows if row["status"] == "ok" and row["median_ms"]]
    reach = max([_extent(metric, row) for row in timed], default=1.0)
    fastest = max([metric.at(row, row["ci_lo_ms"] or time_ms(row)) for row in timed], default=reach)
    reach = min(reach, FARTHEST_BOUND * fastest)
    ax.set_xlim(0, reach * 1.14)
    for row, y in zip(group.rows, places, strict=True):
        if row not in timed:
            failure_text(ax, row, y)
            continue
        value = metric.value(row)
        ax.barh(y, value, BAR_HEIGHT, color=COLOURS[section(row)], zorder=FACE)
        if row["ci_lo_ms"] and row["ci_hi_ms"]:
            low, high = metric.at(row, row["ci_hi_ms"]), metric.at(row, row["ci_lo_ms"])
            ax.errorbar(value, y, xerr=error_sides(low, value, high), **WHISKER)
        if row["bound_ms"]:
            bound = metric.at(row, row["bound_ms"])
            if bound > reach * 1.14:
                ax.plot(reach * 1.12, y, color=INK, zorder=LIMIT, label="bound beyond the axis", **BEYOND)
            ends = y - BAR_HEIGHT / 2 - 0.1, y + BAR_HEIGHT / 2 + 0.1
            ax.vlines(bound, *ends, color=INK, linewidth=2.2, zorder=LIMIT)
        _value_label(ax, metric, row, y, reach * 1.14)
    stairs = _stairs(metric, group.rows, places)
    for line in stairs:
        ax.plot(*line, zorder=ASIDE, **STAIRS)
    ax.set_yticks(places, _names(group)[0], fontsize=9)
    bar_axes(ax, places)
    ax.set_xlabel(f"{metric.label}   (more is faster)", fontsize=9)
    workload = str(group.first["workload"])
    handles: list[Artist] = [
        Patch(color=COLOURS[name], label=section_title(name, workload)) for name in SECTIONS if group.section(name)
    ]
    if any(row["bound_ms"] for row in timed):
        known = any(row["profile"] for row in timed)
        said = "bound: the most this device allows" if known else "bound of its memory alone: it has no profile"
        handles.append(Line2D([], [], label=said, **TICK))
    handles += labelled(ax)
    if any(x <= reach * 1.14 for line, _ in stairs for x in line):
        handles.append(Line2D([], [], label="bound if there were no cache", **STAIRS))
    if any(row["ci_lo_ms"] for row in timed):
        handles.append(interval_key())
    return handles


def _stairs(metric: Metric, rows: list[Row], places: list[float]) -> list[tuple[list[float], list[float]]]:
    """The bound without caches from bar to bar, as lines (x, y) that break where a row has none."""
    lines: list[tuple[list[float], list[float]]] = []
    last = None
    for row, y in zip(rows, places, strict=True):
        if row["status"] != "ok" or not row["uncached_ms"] or not row["median_ms"]:
            continue
        if last is None or y - last > 1:
            lines.append(([], []))
        x = metric.at(row, row["uncached_ms"])
        lines[-1][0].extend([x, x])
        lines[-1][1].extend([y - 0.5, y + 0.5])
        last = y
    return lines


def _shares(ax: Axes, group: Group) -> list[Artist]:
    places = _places(group.rows)
    quoted: set[str] = set()
    measured = [row for row in group.rows if row["status"] == "ok"]
    shared = [row for row in measured if share_of_bound(row) is not None]
    modelled = [float(row["pct_uncached"]) for row in shared if row["pct_uncached"]]
    # With caches a step may be far beyond that bound: what lies past the axis is an arrow at its end.
    limit = max(100.0, min(max(modelled, default=0.0), FARTHEST))
    side: list[tuple[float, str, str, str]] = []
    for row, y in zip(group.rows, places, strict=True):
        share = share_of_bound(row) if row["status"] == "ok" else None
        if share is not None:
            colour = COLOURS[section(row)]
            low, high = row["pct_lo"] or share, row["pct_hi"] or share
            ax.errorbar(share, y, xerr=error_sides(low, share, high), color=colour, clip_on=False, **DOT, **WHISKER)
            limit = max(limit, high)
        figure = paper_figure(row)
        paper = figure.pct_bound if figure else None
        if figure is not None and paper is not None:
            quoted.add(figure.device)
            paper_marks(ax, [paper], y + LANE)
            limit = max(limit, paper)
        uncached = row["pct_uncached"] if share is not None else None
        if uncached is not None and uncached > FARTHEST:
            said = "no-cache share beyond the axis"
            ax.plot(FARTHEST, y + LANE, color=MODEL, zorder=LIMIT, label=said, **BEYOND)
        elif uncached is not None:
            ax.plot(uncached, y + LANE, zorder=LIMIT, **FLAT)
        alike = share if uncached is None else min(uncached, FARTHEST)
        if alike is not None and paper is not None:
            ax.plot([alike, paper], [y + LANE] * 2, color=FAINT, linewidth=0.8, zorder=ASIDE)
        here, model, there = ("" if value is None else f"{value:.0f}" for value in (share, uncached, paper))
        side.append((y, here, model, there))
    ax.set_xlim(0, limit * 1.05)
    ax.axvline(100, color=INK, linewidth=1, zorder=1)
    _columns(ax, side, here=bool(shared), modelled=bool(modelled), quoted=bool(quoted))
    ax.set_yticks(places, [""] * len(places))
    bar_axes(ax, places)
    ax.set_xlabel("percent of its own bound", fontsize=9)
    handles: list[Artist] = []
    if shared:
        handles.append(Line2D([], [], color=FAINT, linestyle="none", label="share of bound, here", **DOT))
    if modelled:
        handles.append(Line2D([], [], label="share of the no-cache bound, here", **FLAT))
    handles += labelled(ax)
    if quoted:
        handles.append(paper_key(quoted, f"{'the same' if modelled else 'share of bound,'} in the paper"))
    return handles


def _columns(ax: Axes, side: list[tuple[float, str, str, str]], *, here: bool, modelled: bool, quoted: bool) -> None:
    """The shares as numbers, right of the axes: a column a bound."""
    columns = [("here", INK, here, 22.0), ("no cache", MODEL, modelled, 52.0), ("paper", FAINT, quoted, 38.0)]
    points = 0.0
    for column, (heading, colour, drawn, gap) in enumerate(columns):
        if not drawn:
            continue
        points += gap
        for y, *texts in [(-0.8, heading, heading, heading), *side]:
            ax.annotate(
                texts[column],
                (1, y),
                (points, 0),
                ax.get_yaxis_transform(),
                "offset points",
                color=FAINT if y < 0 and colour == INK else colour,
                va="center",
                ha="right",
                fontsize=8.5,
                annotation_clip=False,
            )


def _value_label(ax: Axes, metric: Metric, row: Row, y: float, span: float) -> None:
    """Writes the rate inside a long bar, else right of it, past the bounds where one would strike through it."""
    text = significant(metric.value(row))
    end = metric.at(row, row["ci_lo_ms"] or time_ms(row))
    pad, room = 0.012 * span, 0.022 * span * (len(text) + 1)
    start = metric.at(row, row["ci_hi_ms"] or time_ms(row))
    if start > 2.5 * room:
        colour = "white" if section(row) in (PAPER, PEERS) else INK
        ax.text(start - pad, y, text, ha="right", va="center", fontsize=9, color=colour, zorder=6)
        return
    for line in sorted(metric.at(row, limit) for limit in (row["bound_ms"], row["uncached_ms"]) if limit):
        if end - pad < line < end + pad + room:
            end = line
    ax.text(end + pad, y, text, ha="left", va="center", fontsize=9, color=INK, zorder=6)


# ---------------------------------------------------------------- what is said around them


def _metric(rows: list[Row]) -> Metric:
    timed = [row for row in rows if row["status"] == "ok" and row["median_ms"]]
    own = counted_unit(rows)
    rates: list[tuple[Number, str]] = [("gflop_s", "GFLOP/s"), ("gb_s", "GB/s")]
    if own:
        rates = [("gop_s", f"G {own}/s")]
    for name, label in rates:
        if timed and all(row[name] for row in timed):
            tera = label == "GFLOP/s" and max(number_of(row, name) for row in timed) >= TERA
            return _rate("TFLOP/s", name, 1e3) if tera else _rate(label, name)
    return Metric("runs a second", lambda row: 1000.0 / time_ms(row))


def _rate(label: str, name: Number, scale: float = 1.0) -> Metric:
    return Metric(label, lambda row: number_of(row, name) / scale)


def _extent(metric: Metric, row: Row) -> float:
    times = (row["median_ms"], row["ci_lo_ms"], row["bound_ms"], row["uncached_ms"])
    return metric.at(row, min(filter(None, times)))


def _places(rows: list[Row]) -> list[float]:
    out: list[float] = []
    for index, row in enumerate(rows):
        gap = SECTION_GAP if index and section(row) != section(rows[index - 1]) else 0.0
        out.append(out[-1] + 1 + gap if out else 0.0)
    return out


def _names(group: Group) -> tuple[list[str], str]:
    """What stands beside the bars, the names of the table, and what short names in it stand for: parameters have them
    in all labels where one label would have to be cut."""
    told = [_name(group, row, {}) for row in group.rows]
    if all(whole for _, whole in told):
        return [text for text, _ in told], ""
    short = short_names(named_in(map(group.label, group.rows)))
    return [_name(group, row, short)[0] for row in group.rows], legend(short)


def _name(group: Group, row: Row, short: Mapping[str, str]) -> tuple[str, bool]:
    """The row's name on at most two lines, with its levels on three in all, and whether that is all of it; the table
    holds what does not fit."""
    name, levels = in_short(group.label(row), short), ""
    if has_levels(name):
        name, _, inside = name.partition("(")
        if labels.of(row["workload"]).brought and len({one["variant"] for one in group.section(OURS)}) == 1:
            return _of_lines([], textwrap.wrap(inside.rstrip(")"), NAME_WIDTH))  # the title has the kernel's name
        levels = f"({inside}"
    # A space after each underscore lets a long identifier break there.
    lines = [line.replace("_ ", "_") for line in textwrap.wrap(name.replace("_", "_ "), NAME_WIDTH)]
    cut = len(lines) > 2
    return _of_lines([lines[0], f"{lines[1]} …"] if cut else lines, textwrap.wrap(levels, NAME_WIDTH))


def _of_lines(lines: list[str], more: list[str]) -> tuple[str, bool]:
    """The lines, and as many more as make three, the last of which shows that something is left out."""
    room = 3 - len(lines)
    cut = more if len(more) <= room else [*more[: room - 1], f"{more[room - 1]} …"]
    return "\n".join([*lines, *cut]), len(more) <= room


def _height(group: Group) -> float:
    """Of title, bars and legend, in inches."""
    return 2.2 + ROW_INCHES * (len(group.rows) + SECTION_GAP * (len({section(row) for row in group.rows}) - 1))


def _caption(group: Group, hidden: int) -> str:
    row = group.first
    date = max((str(r["time_utc"])[:10] for r in group.rows if r["time_utc"]), default="")
    facts = [
        group.device,
        f"driver {row['driver']}" if row["driver"] else "",
        cache_words(group),
        f"protocol {row['protocol']}" if row["protocol"] else "",
        date,
        f"gpuopt {row['gpuopt_version']}" if row["gpuopt_version"] else "",
        unsaid(group) if labels.of(row["workload"]).brought else "",
        _names(group)[1],
        f"{hidden} slower or failed rows are left out" if hidden else "",
        f"NO VERDICTS: {why}" if (why := refusals(group.rows)) else "",
    ]
    return " · ".join(filter(None, facts))
