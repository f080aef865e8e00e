"""What the pictures share: rows read as points with a rate, a sheet with its caption, bars, ticks and units."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import PAPER
from gpuopt.lab.rows.schema import Row, complete, field, levels
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, quantity, significant
from gpuopt.lab.show.style import (
    CAPTION_WIDTH,
    COLOURS,
    FAINT,
    INK,
    LINE_INCHES,
    MODEL,
    WARNING,
    WHISKER,
    WIDTH_INCHES,
    Picture,
    error_sides,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

Rows = StudyRows | Iterable[Mapping[str, Any]]  # what a picture is asked with; `variant_rows` completes them

# The ladder's palette, then the two colours of Okabe and Ito that it leaves for marks, then grey.
MARKERS = "osD^vPX<>"
CYCLE = (*COLOURS.values(), MODEL, INK, "#999999")
FOOT_INCHES = 0.16  # of a caption, beside its lines
LIFT: dict[str, Any] = {"path_effects": [withStroke(linewidth=2.6, foreground="white")]}
REASON = 84  # characters of a failure's reason in a caption


# ---------------------------------------------------------------- rows


def variant_rows(rows: Rows) -> list[Row]:
    """The rows of variants, with every field. Raises ParameterError where they are of several devices."""
    given = rows.rows if isinstance(rows, StudyRows) else [complete(row) for row in rows]
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
    """What was measured and what failed, a row a configuration: its summary, else the last good row, else a failure."""
    last: dict[Hashable, Row] = {}
    for row in rows:
        parts = (row["params"] or {}, row["sizes"] or {})
        key = (row["variant"], row["dtype"], *(tuple(sorted(part.items())) for part in parts))
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


def level_of(row: Row, name: str, default: int) -> int:
    return int(levels(row).get(name, default))


# ---------------------------------------------------------------- the sheet


def captioned_picture(title: str, height: float, lines: list[str]) -> tuple[Picture, SubFigure]:
    """A figure with its title, its caption in a strip of its own, and the part between for the axes."""
    caption = [part for line in lines for part in textwrap.wrap(line, CAPTION_WIDTH)]
    foot_inches = FOOT_INCHES + LINE_INCHES * len(caption)
    whole = height + foot_inches
    figure = Picture(figsize=(WIDTH_INCHES, whole), layout="constrained", facecolor="white")
    part, foot = figure.subfigures(2, 1, squeeze=False, height_ratios=[height, foot_inches])[:, 0]
    foot.text(0.012, 0.5, "\n".join(caption), fontsize=8, color=FAINT, va="center", linespacing=1.35)
    part.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left", color=INK)
    return figure, part


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


def legend_outside(part: SubFigure, handles: list[Artist], columns: int) -> None:
    part.legend(
        handles=handles, loc="outside lower left", ncols=columns, fontsize=8.5, frameon=False, columnspacing=1.4
    )


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
        ax.barh(y, rate, height, color=colour, zorder=2)
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


def plain_ticks(ax: Axes, which: str = "xy") -> None:
    """Ticks of a log axis as plain numbers: 1, 2 and 5 a decade where there are few decades."""
    for axis in (axis for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)) if name in which):
        low, high = sorted(axis.get_view_interval())
        decades = np.log10(high / low)
        steps = (1, 2, 5) if decades < 3.2 else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        axis.set_major_locator(FixedLocator([m * 10.0**p for p in powers for m in steps]))
        axis.set_minor_locator(NullLocator())
        large = high >= 1e6
        axis.set_major_formatter(
            FuncFormatter(lambda value, _, large=large: _short(value) if large else f"{value:,.10g}")
        )


def _short(value: float) -> str:
    """Large counts as 500 k, 20 M."""
    size, suffix = (1e6, " M") if value >= 1e6 else (1e3, " k") if value >= 1e3 else (1, "")
    return f"{value / size:,.10g}{suffix}"


def rate_ticks(ax: Axes) -> None:
    plain_ticks(ax, "y")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: rate_text(value, 1)))


def byte_ticks(ax: Axes, low: float, high: float) -> None:
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = max(1, -(-(last - first) // 10))
    ax.xaxis.set_major_locator(FixedLocator([2.0**p for p in range(first, last + 1, step)]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))


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
