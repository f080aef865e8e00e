"""Pictures of copy bandwidth by data type, beside what the papers found (Yang et al. 2012, Figures 1 and 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpuopt.checked import checked
from gpuopt.lab.rows.groups import OURS, PAPER
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import joined
from gpuopt.lab.show.canvas import (
    MARKERS,
    Rows,
    captioned_picture,
    decorate,
    empty_picture,
    gb_s_of,
    legend_outside,
    level_of,
    measured_points,
    provenance,
    rate_bars,
    rate_interval,
    rate_text,
    rows_of_families,
    size_text,
    skipped_text,
    working_set_bytes,
)
from gpuopt.lab.show.points import OPENCL_NAMES
from gpuopt.lab.show.style import COLOURS, FAINT, INK, bar_axes, shades
from gpuopt.lab.show.ticks import POWERS_OF_TWO, log_ticks
from gpuopt.papers import findings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What OpenCL calls NumPy's types; bytes of each.
SCALARS = {scalar: (name, np.dtype(scalar).itemsize) for scalar, name in OPENCL_NAMES.items()}


@checked
def data_types(rows: Rows) -> Figure:
    """Copy bandwidth by data type: over the element's size on the left, each slow type beside its mend on the right.

    Takes rows of the family `copy`. A dot is `copy` with the fewest elements a work-item that were measured, as the
    paper's kernel; the best of all copies is the ceiling. Mends are `copy_packed` for scalars below 4 bytes and
    `copy_staged` for structs. Raises ParameterError for rows of several devices, as every picture here.
    """
    good, failed = measured_points(rows_of_families(rows, {"copy"}))
    largest = max(map(working_set_bytes, good), default=0)
    good = [
        row for row in good if 2 * working_set_bytes(row) > largest
    ]  # sizes are rounded to whole elements of each type
    title = "Copy bandwidth by data type"
    if not good:
        return empty_picture(title, failed)
    plain: dict[tuple[str, int, int], list[Row]] = {}
    mended: dict[tuple[str, int, int], Row] = {}
    for row in good:
        kind, width, struct = _type(row)
        if row["variant"] == "copy":
            plain.setdefault((kind, width, struct), []).append(row)
        elif row["variant"] in ("copy_packed", "copy_staged"):
            key = (kind, width, int(row["variant"] == "copy_staged"))
            mended[key] = max(mended.get(key, row), row, key=gb_s_of)
    plain_dots = {key: _as_the_paper(same) for key, same in plain.items()}
    best = max(good, key=gb_s_of)
    pairs = [key for key in sorted(mended, key=_type_order) if key in plain_dots]
    ahead = {level_of(row, "AHEAD", 1) for row in plain_dots.values()}
    told = "one element a work-item" if ahead <= {1} else f"AHEAD={joined([str(a) for a in sorted(ahead)])}"
    height = max(4.6, 1.9 + 0.42 * len(pairs))
    about = f"arrays of {size_text(largest)}" if largest else ""
    printed = findings.of("microbench")["types"].sentence
    figure, part = captioned_picture(title, height, [printed, skipped_text(failed), provenance(good, about)])
    axes = part.subplots(1, 2 if pairs else 1, squeeze=False, width_ratios=[1.5, 1] if pairs else [1])[0]
    handles = _type_dots(axes[0], plain_dots, mended, best, told)
    if pairs:
        handles += _mends(axes[1], pairs, plain_dots, mended, best)
    legend_outside(part, handles, 5)
    return figure


def _type(row: Row) -> tuple[str, int, int]:
    width = 1 if row["variant"] == "copy_packed" else level_of(row, "WIDTH", 1)
    return str(row.get("dtype")), width, level_of(row, "STRUCT", 0)


def _bytes_of(dtype: str, width: int) -> int:
    return SCALARS.get(dtype, (dtype, np.dtype(dtype).itemsize))[1] * width


def vector_name(dtype: str, width: int) -> str:
    return SCALARS.get(dtype, (dtype, 0))[0] + (str(width) if width > 1 else "")


def _held(key: tuple[str, int, int]) -> int:
    """Bytes of an element in memory: a vector of three takes the room of three here, as the kernels address it."""
    return _bytes_of(key[0], key[1])


def _type_order(key: tuple[str, int, int]) -> tuple[int, int, int]:
    return _held(key), list(SCALARS).index(key[0]) if key[0] in SCALARS else len(SCALARS), key[2]


def _as_the_paper(same: list[Row]) -> Row:
    """The fastest of those with the fewest elements a work-item, as the paper's copy kernel has one."""
    fewest = min(level_of(row, "AHEAD", 1) for row in same)
    return max((row for row in same if level_of(row, "AHEAD", 1) == fewest), key=gb_s_of)


def _type_dots(
    ax: Axes,
    plain: dict[tuple[str, int, int], Row],
    mended: dict[tuple[str, int, int], Row],
    best: Row,
    told: str,
) -> list[Artist]:
    kinds = [kind for kind in SCALARS if any(key[0] == kind for key in plain)]
    handles: list[Artist] = []
    ax.set_xscale("log", base=2)
    # Of the bars' colour for types as they are: their marks tell them apart, and their places.
    for number, (kind, colour) in enumerate(zip(kinds, shades(COLOURS[PAPER], len(kinds), 0.6, 0.4), strict=True)):
        marker = MARKERS[number % len(MARKERS)]
        aside = 2.0 ** (0.045 * (number - (len(kinds) - 1) / 2))  # types of one size stand beside each other
        for struct, face, line in ((0, colour, "-"), (1, "white", ":")):
            keys = sorted((key for key in plain if key[0] == kind and key[2] == struct), key=_type_order)
            xs, ys = [_held(key) * aside for key in keys], [gb_s_of(plain[key]) for key in keys]
            style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 6, "mfc": face, "linewidth": 1}
            ax.plot(xs, ys, linestyle=line, zorder=4, **style)
        handles.append(
            Line2D([], [], color=colour, marker=marker, markersize=6, linewidth=1, label=vector_name(kind, 1))
        )
    if any(key[2] for key in plain):
        handles.append(
            Line2D([], [], color=FAINT, marker="o", mfc="white", markersize=6, linestyle=":", label="as a struct")
        )
    rate = gb_s_of(best)
    ax.axhline(rate, color=INK, linewidth=1.2, zorder=1)
    ax.annotate(
        f"best copy: {rate_text(rate)}, {_said(best)}", (0.01, rate), (0, 4), ax.get_yaxis_transform(), "offset points",
        fontsize=8.5, color=INK,
    )  # fmt: skip
    ax.set_ylim(0, rate * 1.13)
    sizes = sorted({_held(key) for key in (*plain, *mended)})
    shown = [size for size in sizes if size & (size - 1) == 0 or size in (3, 12, 20)]
    log_ticks(ax.xaxis, shown, POWERS_OF_TWO, text=lambda value: f"{value:.0f}")
    ax.set_xlim(sizes[0] / 1.35, max(sizes[-1], 2 * sizes[0]) * 1.35)
    decorate(ax)
    ax.set_xlabel(f"bytes of an element   ({told})", fontsize=9)
    ax.set_ylabel("copied, read and written, GB/s (more is faster)", fontsize=9)
    return handles


def _said(row: Row) -> str:
    kind, width, struct = _type(row)
    if row["variant"] == "copy_packed":
        return f"{vector_name(kind, 1)} by {level_of(row, 'BYTES', 16)} bytes"
    if row["variant"] == "copy_staged":
        return f"struct of {width} {vector_name(kind, 1)} through local memory"
    ahead = level_of(row, "AHEAD", 1)
    return (f"struct of {width} {vector_name(kind, 1)}" if struct else vector_name(kind, width)) + (
        f", {ahead} a work-item" if ahead > 1 else ""
    )


def _mends(
    ax: Axes,
    pairs: list[tuple[str, int, int]],
    plain: dict[tuple[str, int, int], Row],
    mended: dict[tuple[str, int, int], Row],
    best: Row,
) -> list[Artist]:
    """Bars of each type as it is and mended, one under the other."""
    places = [float(i) for i in range(len(pairs))]
    limit = gb_s_of(best)
    for shift, table, colour in ((-0.19, plain, COLOURS[PAPER]), (0.19, mended, COLOURS[OURS])):
        rows = [table[key] for key in pairs]
        rates = [gb_s_of(row) for row in rows]
        labels = [f"{100 * rate / limit:.0f} %" for rate in rates]
        shifted = [place + shift for place in places]
        intervals = [rate_interval(row) for row in rows]
        rate_bars(ax, shifted, rates, intervals, [colour] * len(rows), labels, 0.36, limit, inner=True)
    ax.axvline(limit, color=INK, linewidth=1.2, zorder=1)
    names = [f"struct of {key[1]}\n{vector_name(key[0], 1)}" if key[2] else vector_name(key[0], 1) for key in pairs]
    ax.set_yticks(places, names, fontsize=8.5)
    bar_axes(ax, places)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.set_xlabel("GB/s, and share of the best copy", fontsize=9)
    return [
        Patch(color=COLOURS[PAPER], label="the type itself"),
        Patch(color=COLOURS[OURS], label="mended: packed, or staged in local memory"),
    ]
