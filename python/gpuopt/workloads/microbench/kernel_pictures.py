"""Pictures of what kernels make of a device: shapes of work-groups, and a workload under the device's roofs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from gpuopt import labels, papers
from gpuopt._core import ParameterError
from gpuopt.annotations import is_number
from gpuopt.checked import checked
from gpuopt.lab.rows.groups import Group, section
from gpuopt.lab.rows.schema import Row, levels, number_of
from gpuopt.lab.rows.table import quantity, significant
from gpuopt.lab.show.canvas import (
    Rows,
    captioned_picture,
    decorate,
    empty_picture,
    gb_s_of,
    legend_outside,
    measured_points,
    provenance,
    rate_text,
    size_text,
    skipped_text,
    variant_rows,
    working_set_bytes,
)
from gpuopt.lab.show.header import dotted, title
from gpuopt.lab.show.style import COLOURS, DOT, FAINT, INK, MODEL
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.papers import findings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A panel: what its kernel does, and a remark of ours where no paper found something with it.
BLOCKS = {
    "copy2d": ("no reuse", None),
    "transpose": ("no reuse", "not in the paper: either loads or stores stride"),
    "transpose_tile": ("through local tiles", "not in the paper: loads and stores both go along rows"),
    "tiled": ("matrix product, local tiles", None),
    "activation": ("distances by pow, reuse in caches", None),
    "cache_reuse": ("distances, reuse in caches", "not in the paper: the activation matrix without its pow"),
}


# ---------------------------------------------------------------- shapes of work-groups


@checked
def block_dimensions(rows: Rows) -> Figure:
    """A heat map of work-group shapes for each kernel of `BLOCKS` that was measured, each held against its 16x16.

    Takes rows with the parameters LOCAL_X and LOCAL_Y. Where a kernel was measured at several sizes or types, those
    with the most shapes (then the largest) are drawn.
    """
    everything = [row for row in variant_rows(rows) if _panel(row) and _shape(row)]
    good, failed = measured_points(everything)
    title = "Work-group shapes"
    if not good:
        return empty_picture(title, failed)
    panels = {name: _one_case([row for row in good if _panel(row) == name]) for name in BLOCKS}
    panels = {name: same for name, same in panels.items() if same}
    refused = {name: {_shape(row) for row in failed if _panel(row) == name} for name in panels}
    columns = 2 if len(panels) > 1 else 1
    down = -(-len(panels) // columns)
    source = papers.short(findings.of("microbench")["copy2d"].paper)
    note = (
        "A number is the rate in percent of the same kernel's with 16x16 work-items, or of the best where that was not"
        f" measured; colour runs from none to the kernel's best rate. Findings: {source}, V.B."
    )
    drawn = [row for same in panels.values() for row in same]
    cases = {(str(row["dtype"]), working_set_bytes(row), (row["sizes"] or {}).get("width")) for row in drawn}
    about = [
        f"{dtype}, {size_text(size)}" + (f" in rows of {width}" if width else "")
        for dtype, size, width in sorted(cases, key=str)
        if size
    ]
    lines = [note, skipped_text(failed), provenance(drawn, "; ".join(about))]
    figure, part = captioned_picture(title, 1.1 + 3.8 * down, lines)
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
    legend_outside(part, handles, 4)
    return figure


def _panel(row: Row) -> str | None:
    """The panel of `BLOCKS` that a row is in: the activation matrix as printed has its own, its other forms none."""
    name = str(row["variant"])
    if name == "cache_reuse":
        name = {0: "cache_reuse", 1: "activation"}.get(levels(row).get("MATH", 0), "")
    return name if name in BLOCKS else None


def _shape(row: Row) -> tuple[int, int] | None:
    own = levels(row)
    return (own["LOCAL_X"], own["LOCAL_Y"]) if {"LOCAL_X", "LOCAL_Y"} <= set(own) else None


def _one_case(rows: list[Row]) -> list[Row]:
    """The rows of one size and type: of the one with the most shapes, then the largest."""
    cases: dict[Hashable, list[Row]] = {}
    for row in rows:
        cases.setdefault((row["dtype"], tuple(sorted((row["sizes"] or {}).items()))), []).append(row)
    return max(cases.values(), key=lambda same: (len(same), working_set_bytes(same[0])), default=[])


def _heat_map(ax: Axes, name: str, rows: list[Row], refused: set[tuple[int, int] | None]) -> None:
    what, remark = BLOCKS[name]
    finding = remark or findings.of("microbench")[name].says
    flops = all(row["gflop_s"] for row in rows) and name in ("tiled", "cache_reuse", "activation")
    value: Callable[[Row], float] = (lambda row: number_of(row, "gflop_s")) if flops else gb_s_of
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
    unit = f"{quantity(rates[best] * 1e9, 'flop/s')}" if flops else rate_text(rates[best])
    gain = f", {rates[best] / usual:.2f} of 16x16" if usual else ""
    head = f"{name}: {what}\nbest {best[0]}x{best[1]}, {unit}{gain}"
    ax.set_title(head, fontsize=10, loc="left", color=INK, pad=20)
    ax.annotate(finding, (0, 1), (0, 6), "axes fraction", "offset points", fontsize=8, color=FAINT)


# ---------------------------------------------------------------- roofline

# Ceilings are told apart by their lines: colours are of the points' sections.
SLOPES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
ROOFS: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1)))


@checked
def roofline(rows_of_workload: Rows, ceilings: Mapping[str, Mapping[str, Any]]) -> Figure:
    """GFLOP/s over flop per byte: measured ceilings as roofs, the configurations of one workload as points; of
    several problems each, by its name.

    ``ceilings`` maps names to ``{"rate": ..., "unit": ...}``: units of bytes ("GB/s", "TB/s") are slopes, units of
    flop ("GFLOP/s", "TFLOP/s") flat roofs. A point's flop per byte are the compulsory bytes from memory that its
    kernel declares, so that a slope of a cache may be passed without contradiction. Raises ParameterError for a ceiling
    without a rate or with another unit.
    """
    slopes, roofs = _ceilings(ceilings)
    good, failed = measured_points(variant_rows(rows_of_workload))
    named = [(row, _intensity(row)) for row in good]
    points = sorted(((row, at) for row, at in named if at), key=lambda point: number_of(point[0], "gflop_s"))
    if not points:
        return empty_picture("Roofline", failed)
    group = Group([row for row, _ in points], [], [], [])
    note = "Flop per byte: of the compulsory traffic, each byte once. Ceilings were measured on this device."
    height = max(5.2, 1.8 + 0.2 * len(points))
    lines = [note, skipped_text(failed), provenance(group.rows)]
    several = len({row["problem"] for row, _ in points}) > 1
    about = labels.of(group.first["workload"]).title or group.first["workload"] if several else title(group)
    figure, part = captioned_picture(dotted(["Roofline", about]), height, lines)
    ax = part.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    handles = _roofs(ax, slopes, roofs, [at for _, at in points], [number_of(row, "gflop_s") for row, _ in points])
    for row, at in points:
        ax.plot(at, number_of(row, "gflop_s"), color=COLOURS[section(row)], zorder=5, mec="white", mew=0.6, **DOT)
    short = [textwrap.shorten(group.label(row).replace(", ", ","), 40, placeholder="…") for row, _ in points]
    names = [f"{name}, {row['problem']}" if several else name for name, (row, _) in zip(short, points, strict=True)]
    _label_points(ax, points, names, height)
    used = [name for name in COLOURS if name in {section(row) for row, _ in points}]
    marks = [Line2D([], [], color=COLOURS[name], linestyle="none", label=name, **DOT) for name in used]
    decorate(ax)
    plain_ticks(ax)
    ax.set_xlabel("flop per byte of memory traffic", fontsize=9)
    ax.set_ylabel("GFLOP/s (more is faster)", fontsize=9)
    legend_outside(part, [*marks, *handles], 4)
    return figure


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
            raise ParameterError(
                f"ceilings[{name!r}]: unit {unit!r} is neither of bytes nor of flop; give GB/s or GFLOP/s"
            )
        if rate is None or not is_number(rate) or not 0 < rate < math.inf:
            raise ParameterError(f"ceilings[{name!r}]: rate {rate!r}; give a positive number, or leave the ceiling out")
        (slopes if ending == "B/s" else roofs)[name] = float(rate) * scales[prefix]
    return _descending(slopes), _descending(roofs)


def _descending(rates: dict[str, float]) -> dict[str, float]:
    return dict(sorted(rates.items(), key=lambda item: -item[1]))


def _intensity(row: Row) -> float | None:
    """Flop per byte from memory; None for what declares neither."""
    if not row["gflop_s"]:
        return None
    moved = (row["bytes"] or {}).get("dram")
    if row["flops"] and moved:
        return float(row["flops"]) / float(moved)
    return float(row["gflop_s"]) / float(row["gb_s"]) if row["gb_s"] else None


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
        style: dict[str, Any] = {"color": FAINT, "linewidth": 1.4, "linestyle": SLOPES[number % len(SLOPES)]}
        ax.plot([left, end], [slope * left, slope * end], zorder=3, **style)
        handles.append(Line2D([], [], label=f"{name}: {rate_text(slope)}", **style))
    for number, (name, roof) in enumerate(roofs.items()):
        start = roof / fastest if fastest else left
        style = {"color": INK, "linewidth": 1.7, "linestyle": ROOFS[number % len(ROOFS)]}
        ax.plot([start, right], [roof, roof], zorder=3, **style)
        handles.append(Line2D([], [], label=f"{name}: {quantity(roof * 1e9, 'flop/s')}", **style))
    return handles


def _label_points(ax: Axes, points: list[tuple[Row, float]], names: list[str], height: float) -> None:
    """Names right of the axes, each led to its point by a thin line, and apart from each other."""
    low, high = np.log(ax.get_ylim())
    wanted = np.array([(np.log(number_of(row, "gflop_s")) - low) / (high - low) for row, _ in points])
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
    for (row, at), name, place in zip(points, names, y, strict=True):
        ax.annotate(
            f"{name}  {significant(row['gflop_s'])}",
            (at, number_of(row, "gflop_s")), (1.025, place), "data", "axes fraction", fontsize=8.5, color=INK,
            va="center", ha="left", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.6, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)},
        )  # fmt: skip


__all__ = ["block_dimensions", "roofline"]
