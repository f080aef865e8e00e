"""Pictures of a device from the rows of its microbenchmarks: one device a picture, what the papers found beside it.

The papers' figures are prose of Yang, Xiang, Mantor and Zhou, "Fixing Performance Bugs", ICPP 2012: its Figures 1, 2,
5, 7 and 13 came without numbers that could be drawn.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from . import levels
from .plots import (
    CAPTION_WIDTH,
    COLOURS,
    DOT,
    FAINT,
    HOLLOW,
    INK,
    MODEL,
    WARNING,
    WHISKER,
    WIDTH_INCHES,
    Picture,
    _common,
    _sides,
)
from .points import OPENCL_NAMES
from .results import Row
from .study import OURS, PAPER, Study, section
from .table import joined, quantity, significant

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Rows = Study | Iterable[Mapping[str, Any]]

# The ladder's palette, then the two colours of Okabe and Ito that it leaves for marks, then grey.
CYCLE = (*COLOURS.values(), MODEL, INK, "#999999")
MARKERS = "osD^vPX<>"
LINE_INCHES, FOOT_INCHES = 0.165, 0.16  # of a caption: a line, and the rest
LIFT: dict[str, Any] = {"path_effects": [withStroke(linewidth=2.6, foreground="white")]}
REASON = 84  # characters of a failure's reason in a caption

# What OpenCL calls NumPy's types; bytes of each.
SCALARS = {scalar: (name, np.dtype(scalar).itemsize) for scalar, name in OPENCL_NAMES.items()}

TYPES_IN_THE_PAPER = (
    "Yang et al. 2012, Figures 1 and 2: on a GTX480 only float, float2 and float4 copy well, all others much slower; on"
    " an HD5870 float2 is best and all is good up to float16. With both mends every type is close to the peak on both."
)
CACHES_IN_THE_PAPER = (
    "Yang et al. 2012, Figure 13: constant memory over local memory 2.05x on a GTX480 and 4.83x on an HD5870; textures"
    " above local memory on the HD5870, below it on the GTX480."
)

# A kernel: what it does, and what the paper found with it.
BLOCKS = {
    "copy2d": ("no reuse", "GTX480: 32x8 beats 16x16 by up to 8 %, 8x32 loses; HD5870 wants 64 across"),
    "transpose": ("no reuse", "not in the paper: either loads or stores stride"),
    "transpose_tile": ("through local tiles", "not in the paper: loads and stores both go along rows"),
    "tiled": ("matrix product, local tiles", "GTX480: 32x16 beats 16x16 by 12 %, 32x32 loses to it"),
    "cache_reuse": ("pairwise distances, reuse in caches", "GTX480: 8x32 beats 16x16 by up to 77 %"),
}


# ---------------------------------------------------------------- the five pictures


def data_types(rows: Rows) -> Figure:
    """Copy bandwidth by data type: over the element's size on the left, each slow type beside its mend on the right.

    Takes rows of the family `copy`. A dot is `copy` with the fewest elements a work-item that were measured, as the
    paper's kernel; the best of all copies is the ceiling. Mends are `copy_packed` for scalars below 4 bytes and
    `copy_staged` for structs. Raises ValueError for rows of several devices, as every picture here.
    """
    good, failed = _points(_of(rows, {"copy"}))
    largest = max(map(_bytes, good), default=0)
    good = [row for row in good if 2 * _bytes(row) > largest]  # sizes are rounded to whole elements of each type
    title = "Copy bandwidth by data type"
    if not good:
        return _nothing(title, failed)
    plain: dict[tuple[str, int, int], list[Row]] = {}
    mended: dict[tuple[str, int, int], Row] = {}
    for row in good:
        kind, width, struct = _type(row)
        if row["variant"] == "copy":
            plain.setdefault((kind, width, struct), []).append(row)
        elif row["variant"] in ("copy_packed", "copy_staged"):
            key = (kind, width, int(row["variant"] == "copy_staged"))
            mended[key] = max(mended.get(key, row), row, key=_gb_s)
    plain_dots = {key: _as_the_paper(same) for key, same in plain.items()}
    best = max(good, key=_gb_s)
    pairs = [key for key in sorted(mended, key=_type_order) if key in plain_dots]
    ahead = {_level(row, "AHEAD", 1) for row in plain_dots.values()}
    told = "one element a work-item" if ahead <= {1} else f"AHEAD={joined([str(a) for a in sorted(ahead)])}"
    height = max(4.6, 1.9 + 0.42 * len(pairs))
    about = f"arrays of {_size(largest)}" if largest else ""
    figure, part = _sheet(title, height, [TYPES_IN_THE_PAPER, _skipped(failed), _facts(good, about)])
    axes = part.subplots(1, 2 if pairs else 1, squeeze=False, width_ratios=[1.5, 1] if pairs else [1])[0]
    handles = _type_dots(axes[0], plain_dots, mended, best, told)
    if pairs:
        handles += _mends(axes[1], pairs, plain_dots, mended, best)
    _legend(part, handles, 5)
    return figure


def working_set(rows: Rows) -> Figure:
    """Read rate over working set, a line a variant and width, with the levels found in the best of them.

    Takes rows of the family `cached` (`read` where there are none) with `sizes["bytes"]`; of several configurations of
    a line's the fastest counts at each size.
    """
    cached = _of(rows, {"cached"})
    good, failed = _points(cached or _of(rows, {"read"}))
    good = [row for row in good if _bytes(row)]
    title = "Read rate over working set"
    if not good:
        return _nothing(title, failed)
    lines: dict[tuple[str, int, str], dict[int, Row]] = {}
    top: dict[int, Row] = {}
    for row in good:
        key = (str(row["variant"]), _level(row, "WIDTH", 1), str(row.get("dtype") or ""))
        size = _bytes(row)
        for line in (lines.setdefault(key, {}), top):
            line[size] = max(line.get(size, row), row, key=_gb_s)
    found = levels.find([(size, _gb_s(row), *_interval(row)) for size, row in sorted(top.items())])
    note = "Levels are those of the fastest line at each size; a knee is the largest set at its plateau's rate."
    figure, part = _sheet(title, 5.4, [note, _skipped(failed), _facts(good)])
    ax = part.subplots()
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    handles: list[Artist] = []
    dtypes = {key[2] for key in lines}
    for number, (key, line) in enumerate(sorted(lines.items())):
        colour, marker = CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)]
        at = sorted(line)
        low, high = zip(*(_interval(line[size]) for size in at), strict=True)
        ax.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0)
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.3}
        ax.plot(at, [_gb_s(line[size]) for size in at], zorder=3, **style)
        label = f"{key[0]}, {_vector(key[2], key[1]) if len(dtypes) > 1 else f'WIDTH={key[1]}'}"
        handles.append(Line2D([], [], label=label, **style))
    _draw_levels(ax, found, sorted(top))
    handles.append(Line2D([], [], color=MODEL, linewidth=2.2, label="level found"))
    handles.append(Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3)), label="knee"))
    _decorate(ax)
    _byte_ticks(ax, min(top), max(top))
    _rate_ticks(ax)
    ax.set_xlabel("working set, bytes", fontsize=9)
    ax.set_ylabel("read rate (more is faster)", fontsize=9)
    _legend(part, handles, 4)
    return figure


def block_dimensions(rows: Rows) -> Figure:
    """A heat map of work-group shapes for each kernel of `BLOCKS` that was measured, each held against its 16x16.

    Takes rows with the parameters LOCAL_X and LOCAL_Y. Where a kernel was measured at several sizes or types, those
    with the most shapes (then the largest) are drawn.
    """
    everything = [row for row in _rows(rows) if row.get("variant") in BLOCKS and _shape(row)]
    good, failed = _points(everything)
    title = "Work-group shapes"
    if not good:
        return _nothing(title, failed)
    panels = {name: _one_case([row for row in good if row["variant"] == name]) for name in BLOCKS}
    panels = {name: same for name, same in panels.items() if same}
    refused = {name: {_shape(row) for row in failed if row["variant"] == name} for name in panels}
    columns = 2 if len(panels) > 1 else 1
    down = -(-len(panels) // columns)
    note = (
        "A number is the rate in percent of the same kernel's with 16x16 work-items, or of the best where that was not"
        " measured; colour runs from none to the kernel's best rate. Findings: Yang et al. 2012, V.B."
    )
    drawn = [row for same in panels.values() for row in same]
    cases = {(str(row.get("dtype")), _bytes(row), (row.get("sizes") or {}).get("width")) for row in drawn}
    about = [
        f"{dtype}, {_size(size)}" + (f" in rows of {width}" if width else "")
        for dtype, size, width in sorted(cases, key=str)
        if size
    ]
    lines = [note, _skipped(failed), _facts(drawn, "; ".join(about))]
    figure, part = _sheet(title, 1.1 + 3.8 * down, lines)
    grid = part.subplots(down, columns, squeeze=False)
    for ax, (name, same) in zip(grid.flat, panels.items(), strict=False):
        _heat_map(ax, name, same, refused[name])
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    frame: dict[str, Any] = {"facecolor": "none", "linewidth": 2.2}
    handles: list[Artist] = [
        Patch(edgecolor=MODEL, label="best here", **frame),
        Patch(edgecolor=INK, linestyle=(0, (2, 1)), label="16x16, the usual choice", **frame),
    ]
    if any(refused.values()):
        handles.append(Line2D([], [], color=FAINT, marker="x", markersize=5, linestyle="none", label="did not run"))
    _legend(part, handles, 4)
    return figure


def cache_types(rows: Rows) -> Figure:
    """The best rate of each kind of on-chip memory, and how many times local memory's that is, beside the paper's.

    Takes rows of the families constant, local, image1d, image2d and cached; of the last the small working set's, which
    the L1 serves.
    """
    families = {"constant", "local", "image1d", "image2d", "cached"}
    good, failed = _points(_of(rows, families))
    title = "On-chip memories, read again and again"
    best: dict[tuple[int, int, str], Row] = {}
    why = {"status": "suspicious", "reason": "twice the trips did not take twice the time"}
    failed += [{**row, **why} for row in good if "suspicious" in (row.get("flags") or [])]
    good = [row for row in good if "suspicious" not in (row.get("flags") or [])]
    for row in good:
        key = _memory(row)
        best[key] = max(best.get(key, row), row, key=_gb_s)
    if not best:
        return _nothing(title, failed)
    keys = sorted(best)
    unit = next((best[key] for key in keys if key[0] == _PLACE["local"]), None)
    height = 1.9 + 0.42 * len(keys)
    figure, part = _sheet(title, height, [CACHES_IN_THE_PAPER, _skipped(failed), _facts(good)])
    axes = part.subplots(1, 2 if unit else 1, squeeze=False, width_ratios=[1.6, 1] if unit else [1])[0]
    places = [float(i) for i in range(len(keys))]
    colours = [COLOURS[OURS if key[0] == _PLACE["cached"] else PAPER] for key in keys]
    rates = [_gb_s(best[key]) for key in keys]
    labels = [_rate(rate) for rate in rates]
    _bars(axes[0], places, rates, [_interval(best[key]) for key in keys], colours, labels)
    axes[0].set_yticks(places, [key[2] for key in keys], fontsize=9)
    _common(axes[0], places)
    axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: _rate(value, 1) if value else "0"))
    axes[0].set_xlabel("rate at which work-items are served (more is faster)", fontsize=9)
    handles: list[Artist] = [
        Patch(color=COLOURS[PAPER], label="memories of the paper"),
        Patch(color=COLOURS[OURS], label="global memory, from its cache"),
    ]
    if unit is not None:
        handles += _ratios(axes[1], keys, [rate / _gb_s(unit) for rate in rates], colours)
    _legend(part, handles, 3)
    return figure


def roofline(rows_of_workload: Rows, ceilings: Mapping[str, Mapping[str, Any]]) -> Figure:
    """GFLOP/s over flop per byte: measured ceilings as roofs, the configurations of one workload as points.

    ``ceilings`` maps names to ``{"rate": ..., "unit": ...}``: units of bytes ("GB/s", "TB/s") are slopes, units of
    flop ("GFLOP/s", "TFLOP/s") flat roofs. A point's flop per byte are the compulsory bytes from memory that its
    kernel declares, so that a slope of a cache may be passed without contradiction. Raises ValueError for a ceiling
    without a rate or with another unit.
    """
    slopes, roofs = _ceilings(ceilings)
    good, failed = _points(_rows(rows_of_workload))
    named = [(row, _intensity(row)) for row in good]
    points = sorted(((row, at) for row, at in named if at), key=lambda point: float(point[0]["gflop_s"]))
    first = points[0][0] if points else {}
    about = ", ".join(str(first[key]) for key in ("problem", "dtype") if first.get(key))
    title = f"Roofline: {first.get('workload') or ''}" + (f", {about}" if about else "")
    if not points:
        return _nothing("Roofline", failed)
    note = "Flop per byte: of the compulsory traffic, each byte once. Ceilings were measured on this device."
    height = max(5.2, 1.8 + 0.2 * len(points))
    figure, part = _sheet(title, height, [note, _skipped(failed), _facts([row for row, _ in points])])
    ax = part.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    handles = _roofs(ax, slopes, roofs, [at for _, at in points], [float(row["gflop_s"]) for row, _ in points])
    for row, at in points:
        ax.plot(at, float(row["gflop_s"]), color=COLOURS[section(row)], zorder=5, mec="white", mew=0.6, **DOT)
    _label_points(ax, points, height)
    used = [name for name in COLOURS if name in {section(row) for row, _ in points}]
    marks = [Line2D([], [], color=COLOURS[name], linestyle="none", label=name, **DOT) for name in used]
    _decorate(ax)
    _plain_ticks(ax)
    ax.set_xlabel("flop per byte of memory traffic", fontsize=9)
    ax.set_ylabel("GFLOP/s (more is faster)", fontsize=9)
    _legend(part, [*marks, *handles], 4)
    return figure


def save(study: Study, directory: Path) -> list[Path]:
    """Writes the pictures of a microbenchmark study into ``directory``; returns what was written."""
    paths = []
    for draw in (data_types, working_set, block_dimensions, cache_types):
        paths.append(directory / f"{draw.__name__}.png")
        draw(study.points).savefig(paths[-1], dpi=150)
    return paths


# ---------------------------------------------------------------- rows


def _rows(rows: Rows) -> list[Row]:
    given = rows.rows if isinstance(rows, Study) else [dict(row) for row in rows]
    mine = [row for row in given if row.get("kind") != "environment" and row.get("role") in (None, "variant")]
    devices = {str(row.get("device") or "") for row in mine}
    if len(devices) > 1:
        raise ValueError(f"rows: they are of {len(devices)} devices, a picture is of one: {', '.join(sorted(devices))}")
    return mine


def _family(row: Row) -> str:
    """The row's family, guessed from the variant's name for rows that do not say it."""
    if row.get("family"):
        return str(row["family"])
    name = str(row.get("variant") or "")
    return {"reread": "cached"}.get(name.partition("_")[0], name.partition("_")[0])


def _of(rows: Rows, families: set[str]) -> list[Row]:
    return [row for row in _rows(rows) if _family(row) in families]


def _points(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """What was measured and what failed, a row a configuration: its summary, else the last good row, else a failure."""
    last: dict[Hashable, Row] = {}
    for row in rows:
        parts = (row.get("params") or {}, row.get("sizes") or {})
        key = (row.get("variant"), row.get("dtype"), *(tuple(sorted(part.items())) for part in parts))
        rank = (row.get("status") == "ok" and _has_rate(row), row.get("kind") == "summary")
        before = last.get(key)
        if before is None or rank >= (before["status"] == "ok" and _has_rate(before), before.get("kind") == "summary"):
            last[key] = row
    good = [row for row in last.values() if row.get("status") == "ok" and _has_rate(row)]
    return good, [row for row in last.values() if row.get("status") != "ok"]


def _has_rate(row: Row) -> bool:
    return bool(row.get("gflop_s")) or _gb_s(row) > 0


def _gb_s(row: Row) -> float:
    """What the row moved a second, in GB: from memory, or where nothing came from there from what it read instead."""
    if row.get("gb_s"):
        return float(row["gb_s"])
    moved = [float(count) for name, count in (row.get("bytes") or {}).items() if name != "requested" and count]
    return max(moved) / float(row["median_ms"]) * 1e-6 if moved and row.get("median_ms") else 0.0


def _interval(row: Row) -> tuple[float, float]:
    """The row's rate at both ends of its 95 % interval."""
    rate, median = _gb_s(row), row.get("median_ms")
    low, high = row.get("ci_lo_ms"), row.get("ci_hi_ms")
    return (rate * median / high, rate * median / low) if median and low and high else (rate, rate)


def _bytes(row: Row) -> int:
    return int((row.get("sizes") or {}).get("bytes") or 0)


def _level(row: Row, name: str, default: int) -> int:
    value = (row.get("params") or {}).get(name, default)
    return int(value)


def _shape(row: Row) -> tuple[int, int] | None:
    params = row.get("params") or {}
    return (int(params["LOCAL_X"]), int(params["LOCAL_Y"])) if {"LOCAL_X", "LOCAL_Y"} <= set(params) else None


def _one_case(rows: list[Row]) -> list[Row]:
    """The rows of one size and type: of the one with the most shapes, then the largest."""
    cases: dict[Hashable, list[Row]] = {}
    for row in rows:
        cases.setdefault((row.get("dtype"), tuple(sorted((row.get("sizes") or {}).items()))), []).append(row)
    return max(cases.values(), key=lambda same: (len(same), _bytes(same[0])), default=[])


# ---------------------------------------------------------------- data types


def _type(row: Row) -> tuple[str, int, int]:
    width = 1 if row["variant"] == "copy_packed" else _level(row, "WIDTH", 1)
    return str(row.get("dtype")), width, _level(row, "STRUCT", 0)


def _bytes_of(dtype: str, width: int) -> int:
    return SCALARS.get(dtype, (dtype, np.dtype(dtype).itemsize))[1] * width


def _vector(dtype: str, width: int) -> str:
    return SCALARS.get(dtype, (dtype, 0))[0] + (str(width) if width > 1 else "")


def _held(key: tuple[str, int, int]) -> int:
    """Bytes of an element in memory: a vector of three takes the room of three here, as the kernels address it."""
    return _bytes_of(key[0], key[1])


def _type_order(key: tuple[str, int, int]) -> tuple[int, int, int]:
    return _held(key), list(SCALARS).index(key[0]) if key[0] in SCALARS else len(SCALARS), key[2]


def _as_the_paper(same: list[Row]) -> Row:
    """The fastest of those with the fewest elements a work-item, as the paper's copy kernel has one."""
    fewest = min(_level(row, "AHEAD", 1) for row in same)
    return max((row for row in same if _level(row, "AHEAD", 1) == fewest), key=_gb_s)


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
    for number, kind in enumerate(kinds):
        colour, marker = CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)]
        aside = 2.0 ** (0.045 * (number - (len(kinds) - 1) / 2))  # types of one size stand beside each other
        for struct, face, line in ((0, colour, "-"), (1, "white", ":")):
            keys = sorted((key for key in plain if key[0] == kind and key[2] == struct), key=_type_order)
            xs, ys = [_held(key) * aside for key in keys], [_gb_s(plain[key]) for key in keys]
            style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 6, "mfc": face, "linewidth": 1}
            ax.plot(xs, ys, linestyle=line, zorder=4, **style)
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=6, linewidth=1, label=_vector(kind, 1)))
    if any(key[2] for key in plain):
        handles.append(
            Line2D([], [], color=FAINT, marker="o", mfc="white", markersize=6, linestyle=":", label="as a struct")
        )
    rate = _gb_s(best)
    ax.axhline(rate, color=INK, linewidth=1.2, zorder=1)
    ax.annotate(
        f"best copy: {_rate(rate)}, {_said(best)}", (0.01, rate), (0, 4), ax.get_yaxis_transform(), "offset points",
        fontsize=8.5, color=INK,
    )  # fmt: skip
    ax.set_ylim(0, rate * 1.13)
    sizes = sorted({_held(key) for key in (*plain, *mended)})
    shown = [size for size in sizes if size & (size - 1) == 0 or size in (3, 12, 20)]
    ax.xaxis.set_major_locator(FixedLocator(shown))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    ax.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
    _decorate(ax)
    ax.set_xlabel(f"bytes of an element   ({told})", fontsize=9)
    ax.set_ylabel("copied, read and written, GB/s (more is faster)", fontsize=9)
    return handles


def _said(row: Row) -> str:
    kind, width, struct = _type(row)
    if row["variant"] == "copy_packed":
        return f"{_vector(kind, 1)} by 16 bytes"
    if row["variant"] == "copy_staged":
        return f"struct of {width} {_vector(kind, 1)} through local memory"
    ahead = _level(row, "AHEAD", 1)
    return (f"struct of {width} {_vector(kind, 1)}" if struct else _vector(kind, width)) + (
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
    limit = _gb_s(best)
    for shift, table, colour in ((-0.19, plain, COLOURS[PAPER]), (0.19, mended, COLOURS[OURS])):
        rows = [table[key] for key in pairs]
        rates = [_gb_s(row) for row in rows]
        labels = [f"{100 * rate / limit:.0f} %" for rate in rates]
        shifted = [place + shift for place in places]
        intervals = [_interval(row) for row in rows]
        _bars(ax, shifted, rates, intervals, [colour] * len(rows), labels, 0.36, limit, inner=True)
    ax.axvline(limit, color=INK, linewidth=1.2, zorder=1)
    names = [f"struct of {key[1]}\n{_vector(key[0], 1)}" if key[2] else _vector(key[0], 1) for key in pairs]
    ax.set_yticks(places, names, fontsize=8.5)
    _common(ax, places)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.set_xlabel("GB/s, and share of the best copy", fontsize=9)
    return [
        Patch(color=COLOURS[PAPER], label="the type itself"),
        Patch(color=COLOURS[OURS], label="mended: packed to 16 bytes, or staged in local memory"),
    ]


# ---------------------------------------------------------------- working sets


def _draw_levels(ax: Axes, found: list[levels.Level], sizes: Sequence[int]) -> None:
    left, raised = float(sizes[0]), 0
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom / 1.6, top * 1.9)
    for number, level in enumerate(found):
        right = level.bytes or float(sizes[-1])
        ax.plot([left, right], [level.rate_gb_s] * 2, color=MODEL, linewidth=2.2, alpha=0.9, zorder=4)
        words = "memory " if number == len(found) - 1 else ""
        middle = float(np.sqrt(left * right))
        ax.annotate(
            f"{words}{_rate(level.rate_gb_s)}", (middle, level.rate_gb_s), (0, 9), "data", "offset points", ha="center",
            fontsize=9, color=MODEL, fontweight="bold", zorder=7, **LIFT,
        )  # fmt: skip
        if level.bytes:
            raised = 14 - raised if left > sizes[0] and level.bytes < 8 * left else 0  # clear of its neighbour
            ax.axvline(level.bytes, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
            ax.annotate(
                _size(level.bytes), (level.bytes, 0), (4, 6 + raised), ax.get_xaxis_transform(), "offset points",
                fontsize=9, color=INK, fontweight="bold", zorder=7, **LIFT,
            )  # fmt: skip
            left = level.bytes


def _byte_ticks(ax: Axes, low: float, high: float) -> None:
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = max(1, -(-(last - first) // 10))
    ax.xaxis.set_major_locator(FixedLocator([2.0**p for p in range(first, last + 1, step)]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _size(value)))


def _rate_ticks(ax: Axes) -> None:
    _plain_ticks(ax, "y")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _rate(value, 1)))


def _plain_ticks(ax: Axes, which: str = "xy") -> None:
    """Ticks of a log axis as plain numbers: 1, 2 and 5 a decade where there are few decades."""
    for axis in (axis for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)) if name in which):
        low, high = sorted(axis.get_view_interval())
        decades = np.log10(high / low)
        steps = (1, 2, 5) if decades < 3.2 else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        axis.set_major_locator(FixedLocator([m * 10.0**p for p in powers for m in steps]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


# ---------------------------------------------------------------- shapes of work-groups


def _heat_map(ax: Axes, name: str, rows: list[Row], refused: set[tuple[int, int] | None]) -> None:
    what, finding = BLOCKS[name]
    flops = all(row.get("gflop_s") for row in rows) and name in ("tiled", "cache_reuse")
    value: Callable[[Row], float] = (lambda row: float(row["gflop_s"])) if flops else _gb_s
    rates = {shape: value(row) for row in rows if (shape := _shape(row))}
    best = max(rates, key=lambda shape: rates[shape])
    usual = rates.get((16, 16))
    across = sorted({shape[0] for shape in (*rates, *refused) if shape})
    down = sorted({shape[1] for shape in (*rates, *refused) if shape})
    cells = np.full((len(down), len(across)), np.nan)
    for (x, y), rate in rates.items():
        cells[down.index(y), across.index(x)] = rate
    ax.imshow(cells, cmap="Blues", vmin=0, vmax=rates[best] * 1.45, aspect="auto", origin="lower")
    size = 8.5 if len(across) <= 8 else 7
    for (x, y), rate in rates.items():
        text = f"{100 * rate / (usual or rates[best]):.0f}"
        at = (across.index(x), down.index(y))
        ax.text(*at, text, ha="center", va="center", fontsize=size, color=INK)
    for x, y in (shape for shape in refused if shape and shape not in rates):
        ax.plot(across.index(x), down.index(y), color=FAINT, marker="x", markersize=5, linestyle="none")
    for shape, colour, line in (((16, 16), INK, (0, (2, 1))), (best, MODEL, "solid")):
        if shape in rates:
            corner = (across.index(shape[0]) - 0.46, down.index(shape[1]) - 0.46)
            style: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 2.2, "linestyle": line}
            ax.add_patch(Rectangle(corner, 0.92, 0.92, zorder=5, **style))
    ax.set_xticks(range(len(across)), [str(x) for x in across], fontsize=8.5)
    ax.set_yticks(range(len(down)), [str(y) for y in down], fontsize=8.5)
    ax.set_xlabel("LOCAL_X", fontsize=8.5)
    ax.set_ylabel("LOCAL_Y", fontsize=8.5)
    ax.tick_params(length=0, color=FAINT)
    ax.spines[:].set_visible(False)
    unit = f"{quantity(rates[best] * 1e9, 'flop/s')}" if flops else _rate(rates[best])
    gain = f", {rates[best] / usual:.2f} of 16x16" if usual else ""
    head = f"{name}: {what}\nbest {best[0]}x{best[1]}, {unit}{gain}"
    ax.set_title(head, fontsize=10, loc="left", color=INK, pad=20)
    ax.annotate(finding, (0, 1), (0, 6), "axes fraction", "offset points", fontsize=8, color=FAINT)


# ---------------------------------------------------------------- on-chip memories

_PLACE = {"constant": 0, "local": 1, "image1d": 2, "image2d": 3, "cached": 4}


def _memory(row: Row) -> tuple[int, int, str]:
    """Place, place within, and name of the memory that a row read."""
    family = _family(row)
    if family == "constant":
        divergent = not _level(row, "UNIFORM", 1)
        return _PLACE[family], int(divergent), "constant, divergent" if divergent else "constant, one address"
    if family == "local":
        stride = _level(row, "STRIDE", 1)
        return _PLACE[family], stride, "local" if stride == 1 else f"local, stride {stride}"
    if family == "image2d":
        linear = _level(row, "LINEAR", 0)
        return _PLACE[family], linear, "image 2D, linear" if linear else "image 2D, nearest"
    return (_PLACE[family], 0, "image 1D" if family == "image1d" else "global, cached")


def _ratios(ax: Axes, keys: list[tuple[int, int, str]], ratios: list[float], colours: list[str]) -> list[Artist]:
    places = [float(i) for i in range(len(keys))]
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    quoted: list[tuple[float, str]] = []
    for key, y, ratio, colour in zip(keys, places, ratios, colours, strict=True):
        ax.plot(ratio, y, color=colour, zorder=4, **DOT)
        ax.annotate(
            f"{ratio:.2f}",
            (ratio, y),
            (0, 7),
            "data",
            "offset points",
            ha="center",
            fontsize=8.5,
            color=INK,
            zorder=6,
            **LIFT,
        )
        if key[:2] == (_PLACE["constant"], 0):
            quoted = [(2.05, "GTX480"), (4.83, "HD5870")]
            for paper, device in quoted:
                ax.plot(paper, y, zorder=5, **HOLLOW)
                label = f"{paper:g} {device}"
                ax.annotate(label, (paper, y), (0, -13), "data", "offset points", ha="center", fontsize=8, color=FAINT)
    most = max([*ratios, *(paper for paper, _ in quoted)])
    ax.set_xlim(-0.04 * most, 1.14 * most)
    ax.set_yticks(places, [""] * len(places))
    _common(ax, places)
    ax.set_xlabel("times the rate of local memory", fontsize=9)
    handles: list[Artist] = [Line2D([], [], color=FAINT, linestyle="none", label="ratio here", **DOT)]
    return handles + ([Line2D([], [], label="ratio in the paper", **HOLLOW)] if quoted else [])


# ---------------------------------------------------------------- roofline


def _ceilings(ceilings: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """Slopes in GB/s and roofs in GFLOP/s, the highest first."""
    scales = {"": 1e-9, "k": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3, "P": 1e6}
    slopes: dict[str, float] = {}
    roofs: dict[str, float] = {}
    for name, given in ceilings.items():
        rate, unit = given.get("rate"), str(given.get("unit") or "")
        ending = "B/s" if unit.endswith("B/s") else "flop/s"
        prefix = unit[: -len(ending)]
        if not unit.lower().endswith(ending.lower()) or prefix not in scales:
            raise ValueError(f"ceilings[{name!r}]: unit {unit!r} is neither of bytes nor of flop; give GB/s or GFLOP/s")
        if rate is None or not float(rate) > 0:
            raise ValueError(f"ceilings[{name!r}]: rate {rate!r}; give a positive number, or leave the ceiling out")
        (slopes if ending == "B/s" else roofs)[name] = float(rate) * scales[prefix]
    return _descending(slopes), _descending(roofs)


def _descending(rates: dict[str, float]) -> dict[str, float]:
    return dict(sorted(rates.items(), key=lambda item: -item[1]))


def _intensity(row: Row) -> float | None:
    """Flop per byte from memory; None for what declares neither."""
    if not row.get("gflop_s"):
        return None
    moved = (row.get("bytes") or {}).get("dram")
    if row.get("flops") and moved:
        return float(row["flops"]) / float(moved)
    return float(row["gflop_s"]) / float(row["gb_s"]) if row.get("gb_s") else None


def _roofs(
    ax: Axes, slopes: dict[str, float], roofs: dict[str, float], xs: list[float], ys: list[float]
) -> list[Artist]:
    handles: list[Artist] = []
    highest, fastest = max(roofs.values(), default=0.0), max(slopes.values(), default=0.0)
    ridges = [highest / slope for slope in slopes.values() if highest]
    left, right = min([*xs, *ridges]) / 3, max([*xs, *ridges]) * 3
    tops = [highest] if highest else [slope * right for slope in slopes.values()]
    top, bottom = max([*ys, *tops]) * 1.8, min([*ys, *(slope * left for slope in slopes.values())]) / 1.8
    ax.set_xlim(left, right)
    ax.set_ylim(max(bottom, min(ys) / 30), top)
    for number, (name, slope) in enumerate(slopes.items()):
        end = highest / slope if highest else right
        style: dict[str, Any] = {"color": CYCLE[(number + 2) % 6], "linewidth": 1.7}
        ax.plot([left, end], [slope * left, slope * end], zorder=3, **style)
        handles.append(Line2D([], [], label=f"{name}: {_rate(slope)}", **style))
    for number, (name, roof) in enumerate(roofs.items()):
        start = roof / fastest if fastest else left
        style = {"color": INK, "linewidth": 1.7, "linestyle": ("-", (0, (5, 2)), (0, (1, 1)))[number % 3]}
        ax.plot([start, right], [roof, roof], zorder=3, **style)
        handles.append(Line2D([], [], label=f"{name}: {quantity(roof * 1e9, 'flop/s')}", **style))
    return handles


def _label_points(ax: Axes, points: list[tuple[Row, float]], height: float) -> None:
    """Names right of the axes, each led to its point by a thin line, and apart from each other."""
    low, high = np.log(ax.get_ylim())
    wanted = np.array([(np.log(float(row["gflop_s"])) - low) / (high - low) for row, _ in points])
    apart = min(0.2 / (height - 1.7), 1 / max(len(points) - 1, 1))
    y = wanted.copy()
    for _ in range(200):
        for i in range(1, y.size):
            lack = apart - (y[i] - y[i - 1])
            if lack > 0:
                y[i - 1] -= lack / 2
                y[i] += lack / 2
    # Sums of halves only come near: one pass each way makes the distances exact and keeps them in the axes.
    for i in range(1, y.size):
        y[i] = max(y[i], y[i - 1] + apart)
    y[-1] = min(y[-1], 1.0)
    for i in range(y.size - 2, -1, -1):
        y[i] = min(y[i], y[i + 1] - apart)
    twins = Counter(str(row["variant"]) for row, _ in points)
    for (row, at), place in zip(points, y, strict=True):
        name = str(row["variant"] if twins[str(row["variant"])] == 1 else row.get("configuration") or row["variant"])
        ax.annotate(
            f"{textwrap.shorten(name.replace(', ', ','), 40, placeholder='…')}  {significant(row['gflop_s'])}",
            (at, float(row["gflop_s"])), (1.025, place), "data", "axes fraction", fontsize=8.5, color=INK, va="center",
            ha="left", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.6, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)},
        )  # fmt: skip


# ---------------------------------------------------------------- what all share


def _sheet(title: str, height: float, lines: list[str]) -> tuple[Picture, SubFigure]:
    """A figure with its title, its caption in a strip of its own, and the part between for the axes."""
    caption = [part for line in lines for part in textwrap.wrap(line, CAPTION_WIDTH)]
    foot_inches = FOOT_INCHES + LINE_INCHES * len(caption)
    whole = height + foot_inches
    figure = Picture(figsize=(WIDTH_INCHES, whole), layout="constrained", facecolor="white")
    part, foot = figure.subfigures(2, 1, squeeze=False, height_ratios=[height, foot_inches])[:, 0]
    foot.text(0.012, 0.5, "\n".join(caption), fontsize=8, color=FAINT, va="center", linespacing=1.35)
    part.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left", color=INK)
    return figure, part


def _nothing(title: str, failed: list[Row]) -> Picture:
    figure, part = _sheet(title, 2.0, [_skipped(failed), _facts(failed)])
    part.text(0.5, 0.45, "nothing was measured", ha="center", va="center", fontsize=11, style="italic", color=WARNING)
    return figure


def _skipped(failed: list[Row]) -> str:
    """`3 points unsupported: needs images`, a part a status, with the commonest reason."""
    parts = []
    for status in dict.fromkeys(str(row.get("status")) for row in failed):
        reasons = Counter(str(row.get("reason") or "no reason given") for row in failed if row.get("status") == status)
        (reason, held), count = reasons.most_common(1)[0], reasons.total()
        more = f" and {count - held} for other reasons" if count > held else ""
        said = textwrap.shorten(reason, REASON, placeholder=" …")
        parts.append(f"{count} point{'s' if count > 1 else ''} {status}: {said}{more}")
    return ". ".join(parts)


def _facts(rows: list[Row], about: str = "") -> str:
    """Device, driver, protocol, date and version, as under the ladder."""
    if not rows:
        return ""

    def told(key: str, word: str) -> str:
        return joined([f"{word}{value}" for value in dict.fromkeys(str(row[key]) for row in rows if row.get(key))])

    date = max((str(row["time_utc"])[:10] for row in rows if row.get("time_utc")), default="")
    facts = [told("device", ""), told("driver", "driver "), told("protocol", "protocol "), date]
    return " · ".join(filter(None, [*facts, told("gpuopt_version", "gpuopt "), about]))


def _legend(part: SubFigure, handles: list[Artist], columns: int) -> None:
    part.legend(
        handles=handles, loc="outside lower left", ncols=columns, fontsize=8.5, frameon=False, columnspacing=1.4
    )


def _bars(
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
            ax.errorbar(rate, y, xerr=_sides(low, rate, high), **WHISKER)
        inside = inner and rate > reach / 2
        at, shift, side = (low, -4, "right") if inside else (high, 4, "left")
        ink = "white" if inside and colour == COLOURS[PAPER] else INK
        style: dict[str, Any] = {"color": ink, "zorder": 6} | ({} if inside else LIFT)
        ax.annotate(label, (at, y), (shift, 0), "data", "offset points", va="center", ha=side, fontsize=8.5, **style)


def _decorate(ax: Axes) -> None:
    ax.grid(color="#dddddd", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8.5, color=FAINT)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _rate(gb_s: float, digits: int = 3) -> str:
    """`3.90 TB/s`; with one digit `4 TB/s`."""
    text = quantity(gb_s * 1e9, "B/s")
    if digits == 3:
        return text
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1023.5 or unit == "GiB":
            return f"{significant(count, 2).removesuffix('.0')} {unit}"
        count /= 1024
    raise AssertionError("unreachable")


__all__ = ["block_dimensions", "cache_types", "data_types", "roofline", "working_set"]
