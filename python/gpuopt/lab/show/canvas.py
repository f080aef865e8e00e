"""What the pictures share: rows read as points with a rate, a sheet with its caption, bars and units."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patheffects import withStroke

from gpuopt._core import ParameterError
from gpuopt.lab.rows.given_rows import usable
from gpuopt.lab.rows.groups import PAPER
from gpuopt.lab.rows.schema import ResultsError, Row, field, levels
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, quantity, significant
from gpuopt.lab.show.fitting import legend_columns, width_of, wrapped
from gpuopt.lab.show.style import (
    COLOURS,
    FACE,
    FAINT,
    INK,
    WARNING,
    WHISKER,
    WIDTH_INCHES,
    Picture,
    error_sides,
    shades,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase, SubFigure

Rows = StudyRows | Iterable[Mapping[str, Any]]  # what a picture is asked with; `variant_rows` completes them

# The ladder's palette, grey, and the palette darker: no colour that marks have, which are of bounds and levels.
MARKERS = "osD^vPX<>"
CYCLE = (*COLOURS.values(), "#999999", *(shades(colour, 2, dark=0.5)[0] for colour in COLOURS.values()))
TITLE_SIZE, CAPTION_SIZE, LEGEND_SIZE = 12.0, 8.0, 8.5
MARGIN_INCHES = 0.12  # beside a title and a caption
FOOT_INCHES, LINE_INCHES, TITLE_INCHES = (
    0.16,
    0.165,
    0.2,
)  # of a caption beside its lines, of each, of a title's further
LIFT: dict[str, Any] = {"path_effects": [withStroke(linewidth=2.6, foreground="white")]}
REASON = 84  # characters of a failure's reason in a caption


# ---------------------------------------------------------------- rows


def variant_rows(rows: Rows) -> list[Row]:
    """The rows of variants, with every field. Raises ParameterError where they are of several devices, ResultsError for
    a value of another type than its field's."""
    given = rows.rows if isinstance(rows, StudyRows) else [usable(row, number) for number, row in enumerate(rows)]
    mine = [row for row in given if row["kind"] not in ("environment", "energy") and row["role"] in (None, "variant")]
    devices = {str(row["device"] or "") for row in mine}
    if len(devices) > 1:
        raise ParameterError(
            f"rows: they are of {len(devices)} devices, a picture is of one: {', '.join(sorted(devices))}"
        )
    return mine


def family_of(row: Row) -> str:
    """The row's family, guessed from the variant's name for rows that do not say it."""
    if row["family"]:
        return str(row["family"])
    name = str(row["variant"] or "")
    return {"reread": "cached"}.get(name.partition("_")[0], name.partition("_")[0])


def rows_of_families(rows: Rows, families: set[str]) -> list[Row]:
    return [row for row in variant_rows(rows) if family_of(row) in families]


def measured_points(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """What was measured and what failed, a row a configuration of a problem: its summary, else the last good row, else
    a failure."""
    last: dict[Hashable, Row] = {}
    for row in rows:
        parts = (row["params"] or {}, row["sizes"] or {})
        key = (row["problem"], row["variant"], row["dtype"], *(tuple(sorted(part.items())) for part in parts))
        rank = (row["status"] == "ok" and has_rate(row), row["kind"] == "summary")
        before = last.get(key)
        if before is None or rank >= (before["status"] == "ok" and has_rate(before), before["kind"] == "summary"):
            last[key] = row
    good = [row for row in last.values() if row["status"] == "ok" and has_rate(row)]
    return good, [row for row in last.values() if row["status"] != "ok"]


def has_rate(row: Row) -> bool:
    return bool(row["gflop_s"]) or gb_s_of(row) > 0


def gb_s_of(row: Row) -> float:
    """What the row moved a second, in GB: from memory, or where nothing came from there from what it read instead."""
    if row["gb_s"]:
        return float(row["gb_s"])
    moved = [float(count) for name, count in (row["bytes"] or {}).items() if name != "requested" and count]
    return max(moved) / row["median_ms"] * 1e-6 if moved and row["median_ms"] else 0.0


def rate_interval(row: Row) -> tuple[float, float]:
    """The row's rate at both ends of its 95 % interval."""
    rate, median = gb_s_of(row), row["median_ms"]
    low, high = row["ci_lo_ms"], row["ci_hi_ms"]
    return (rate * median / high, rate * median / low) if median and low and high else (rate, rate)


def working_set_bytes(row: Row) -> int:
    return (row["sizes"] or {}).get("bytes") or 0


def level_of(row: Row, name: str, default: int | None = None) -> int:
    """A level of the row. Raises ResultsError where it is no whole number, or neither there nor by default."""
    level = levels(row).get(name, default)
    if not isinstance(level, int):
        raise ResultsError(f"rows: that of {row['configuration'] or row['variant']} has no level {name}; leave it out")
    return level


# ---------------------------------------------------------------- the sheet


def captioned_picture(title: str, height: float, lines: list[str]) -> tuple[Picture, SubFigure]:
    """A figure with its title, its caption in a strip of its own, and the part between for the axes."""
    whole = height + sheet_inches(title, lines)
    figure = Picture(figsize=(WIDTH_INCHES, whole), layout="constrained", facecolor="white")
    return figure, captioned(figure, title, height, lines)


def captioned(whole: FigureBase, title: str, height: float, lines: Sequence[str]) -> SubFigure:
    """The part for axes of a figure, or of a part of one, of so much height and :func:`sheet_inches`. Title and caption
    are broken where they would leave the picture."""
    head, caption = _title_lines(title), _caption_lines(lines)
    heights = [height + TITLE_INCHES * (len(head) - 1), FOOT_INCHES + LINE_INCHES * len(caption)]
    # The caption has a strip of its own: the layout engine places a legend and a figure label over one another.
    part: SubFigure
    part, foot = whole.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
    at = MARGIN_INCHES / WIDTH_INCHES
    foot.text(at, 0.5, "\n".join(caption), fontsize=CAPTION_SIZE, color=FAINT, va="center", linespacing=1.35)
    part.suptitle("\n".join(head), fontsize=TITLE_SIZE, fontweight="bold", x=at, ha="left", color=INK)
    return part


def sheet_inches(title: str, lines: Sequence[str]) -> float:
    """What a caption and all of a title but its first line take."""
    return TITLE_INCHES * (len(_title_lines(title)) - 1) + FOOT_INCHES + LINE_INCHES * len(_caption_lines(lines))


def _title_lines(title: str) -> list[str]:
    return wrapped(title, WIDTH_INCHES - 2 * MARGIN_INCHES, TITLE_SIZE, bold=True) or [""]


def _caption_lines(lines: Iterable[str]) -> list[str]:
    return [part for line in lines for part in wrapped(line, WIDTH_INCHES - 2 * MARGIN_INCHES, CAPTION_SIZE)]


def empty_picture(title: str, failed: list[Row], doubted: Sequence[Row] = ()) -> Picture:
    """A picture that says why there is nothing in it; arguments as of :func:`skipped_text`."""
    figure, part = captioned_picture(title, 2.0, [skipped_text(failed, doubted), provenance([*failed, *doubted])])
    part.text(0.5, 0.45, "nothing was measured", ha="center", va="center", fontsize=11, style="italic", color=WARNING)
    return figure


def skipped_text(failed: list[Row], doubted: Sequence[Row] = ()) -> str:
    """`3 points unsupported: needs images`, a part a status, with the commonest reason; ``doubted`` are good rows that
    are flagged suspicious, and left out for that."""
    told = [(str(row["status"]), str(row["reason"] or "no reason given")) for row in failed]
    told += [("suspicious", "the rate depends on the number of trips") for _ in doubted]
    parts = []
    for status in dict.fromkeys(status for status, _ in told):
        reasons = Counter(reason for word, reason in told if word == status)
        (reason, held), count = reasons.most_common(1)[0], reasons.total()
        more = f" and {count - held} for other reasons" if count > held else ""
        said = textwrap.shorten(reason, REASON, placeholder=" …")
        parts.append(f"{count} point{'s' if count > 1 else ''} {status}: {said}{more}")
    return ". ".join(parts)


def provenance(rows: list[Row], about: str = "") -> str:
    """Device, driver, protocol, date and version, as under the ladder."""
    if not rows:
        return ""

    def told(key: str, word: str) -> str:
        told = dict.fromkeys(str(value) for row in rows if (value := field(row, key)))
        return joined([f"{word}{value}" for value in told])

    date = max((str(row["time_utc"])[:10] for row in rows if row["time_utc"]), default="")
    facts = [told("device", ""), told("driver", "driver "), told("protocol", "protocol "), date]
    return " · ".join(filter(None, [*facts, told("gpuopt_version", "gpuopt "), about]))


def legend_outside(part: SubFigure, handles: Sequence[Artist], columns: int) -> None:
    """A legend below the axes in so many columns, or as many as fit."""
    columns = legend_columns(handles, columns, width_of(part) - MARGIN_INCHES, LEGEND_SIZE)
    style: dict[str, Any] = {"fontsize": LEGEND_SIZE, "frameon": False, "columnspacing": 1.4}
    part.legend(handles=list(handles), loc="outside lower left", ncols=columns, **style)


def labelled(*every: Axes) -> list[Artist]:
    """What axes hold that has a label, once each: what is drawn with one stands in the legend."""
    found: dict[str, Artist] = {}
    for ax in every:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(str(label), handle)
    return list(found.values())


# ---------------------------------------------------------------- axes


def rate_bars(
    ax: Axes,
    places: Sequence[float],
    rates: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    colours: Sequence[str],
    labels: Sequence[str],
    height: float = 0.62,
    reach: float = 0.0,
    inner: bool = False,
) -> None:
    """Horizontal bars on an axis to `reach` at least, labelled on their right or, with `inner`, in long ones."""
    reach = max([reach, *(high for _, high in intervals)]) * 1.16
    ax.set_xlim(0, reach)
    for y, rate, (low, high), colour, label in zip(places, rates, intervals, colours, labels, strict=True):
        ax.barh(y, rate, height, color=colour, zorder=FACE)
        if high > low:
            ax.errorbar(rate, y, xerr=error_sides(low, rate, high), **WHISKER)
        inside = inner and rate > reach / 2
        at, shift, side = (low, -4, "right") if inside else (high, 4, "left")
        ink = "white" if inside and colour == COLOURS[PAPER] else INK
        style: dict[str, Any] = {"color": ink, "zorder": 6} | ({} if inside else LIFT)
        ax.annotate(label, (at, y), (shift, 0), "data", "offset points", va="center", ha=side, fontsize=8.5, **style)


def decorate(ax: Axes) -> None:
    ax.grid(color="#dddddd", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8.5, color=FAINT)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def rate_text(gb_s: float, digits: int = 3) -> str:
    """`3.90 TB/s`; with one digit `4 TB/s`."""
    text = quantity(gb_s * 1e9, "B/s")
    if digits == 3:
        return text
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}"


def size_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1023.5 or unit == "GiB":
            return f"{significant(count, 2).removesuffix('.0')} {unit}"
        count /= 1024
    raise AssertionError("unreachable")
