"""Pictures of back projection: rates of all variants, with the gains of the paper's steps here and in the paper; and
images reconstructed on a device and by plain code on the host (Jang et al. 2009, Table 3 and Figures 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpuopt import files, papers
from gpuopt._core import Device
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import SECTIONS, Group, section, section_title
from gpuopt.lab.rows.ratios import ratio_by_one_clock
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import captioned_picture, legend_outside, provenance
from gpuopt.lab.show.gains import ends_of, in_order
from gpuopt.lab.show.style import (
    COLOURS,
    FACE,
    FAINT,
    INK,
    WARNING,
    WHISKER,
    Picture,
    bar_axes,
    error_sides,
    interval_key,
)
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.tomography.regions import FEW_VIEWS, REGIONS, Comparison, compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CEILINGS: dict[str, tuple[str, Any]] = {
    "fetch.linear": ("filtered fetches at their ceiling", "--"),
    "taps": ("four loads each at theirs", ":"),
}
BAR_INCHES = 0.27
TEXT_POINTS = (8, 66, 118)  # where columns start, right of the axes: rate, gain here, gain in the paper

NAIVE, IMAGE = "paper:naive", "_image"  # the first step, and what the presets of steps in images end in
ITERATIONS = 10  # as many as the paper's


def save(study: Study, directory: str | Path, device: Device | None = None) -> list[Path]:
    """Writes the pictures of a study into ``directory``, which is made if it is missing; with a ``device`` also the
    images that SART makes there, on a GPU of the paper's regions too. Returns the paths written."""
    target = files.made_folder(directory)
    drawn = {"rates": rates(study)} | ({"sart": sart(device)} if device is not None else {})
    # A CPU would take minutes; results/tomography_regions.py draws them there.
    if device is not None and device.type != "cpu" and cpp_loops.compiler() is not None:
        drawn["regions"] = regions([compare(name, device, views=FEW_VIEWS) for name in REGIONS], device.name)
    paths = []
    for name, figure in drawn.items():
        paths.append(target / f"{name}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths


# ---------------------------------------------------------------- rates


def rates(study: Study) -> Figure:
    """A panel for each case, in the order of the study: voxel updates a second with their 95 % intervals and the
    ceilings that bound them; beside them the gain over the naive step, here and in the paper. Raises ParameterError
    for rows of several devices, or of one problem under several conditions."""
    groups = in_order(study)
    shown = [(group, _bars(group)) for group in groups]
    heights = [0.75 + BAR_INCHES * len(bars) for _, bars in shown]
    lines = [
        "Voxel updates a second; an update adds to a voxel its value from one view. Gains are over the naive step, "
        "in buffers or in images.",
        provenance([row for group in groups for row in group.rows]),
    ]
    figure, part = captioned_picture("Back projection", 0.9 + sum(heights), lines)
    axes = part.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (group, bars) in zip(axes, shown, strict=True):
        _panel(ax, group, bars)
    axes[-1].set_xlabel("G updates/s (more is faster)", fontsize=9)
    kinds = {section(row) for _, bars in shown for row in bars if row["status"] == "ok"}
    handles: list[Any] = [
        Patch(color=COLOURS[kind], label=section_title(kind, "tomography")) for kind in SECTIONS if kind in kinds
    ]
    handles += [interval_key()] if any(row["ci_lo_ms"] for _, bars in shown for row in bars) else []
    limits = {row["bound_by"] for _, bars in shown for row in bars}
    handles += [
        Line2D([], [], color=INK, linestyle=style, linewidth=1.2, label=said)
        for name, (said, style) in CEILINGS.items()
        if name in limits
    ]
    legend_outside(part, handles, 5)
    return figure


def _bars(group: Group) -> list[Row]:
    """The paper's steps in its order; then ours and others, the slowest first."""
    wanted = [row for row in group.rows if row["role"] in (None, "variant", "peer", "call")]
    order = list(papers.steps("tomography"))
    steps = sorted(
        (row for row in wanted if row["preset"] in order and row["status"] != "constraints"),
        key=lambda row: order.index(str(row["preset"])),
    )
    rest = sorted(
        (row for row in wanted if row["preset"] not in order),
        key=lambda row: (-float(row["median_ms"] or np.inf), str(row["configuration"])),
    )
    return [*steps, *(row for row in rest if row["status"] == "ok")]


def _form(row: Row) -> str:
    """What the names of presets end in that are compared with each other: steps in buffers, or in images."""
    return IMAGE if (row["preset"] or "").endswith(IMAGE) else ""


def _panel(ax: Axes, group: Group, bars: list[Row]) -> None:
    figures = papers.figures("tomography")
    ran = {row["preset"]: row for row in bars if row["status"] == "ok"}
    for y, row in enumerate(bars):
        if row["status"] != "ok":
            ax.annotate(f"{row['status']}: {row['reason']}"[:70], (0, y), (4, 0), textcoords="offset points",
                        fontsize=8, color=WARNING, va="center", style="italic")  # fmt: skip
            continue
        rate = _rate(row)
        ax.barh(y, rate, 0.7, color=COLOURS[section(row)], zorder=FACE)
        if row["ci_lo_ms"] and row["ci_hi_ms"]:
            ends = rate * time_ms(row) / row["ci_hi_ms"], rate, rate * time_ms(row) / row["ci_lo_ms"]
            ax.errorbar(rate, y, xerr=error_sides(*ends), **WHISKER)
        first = ran.get(NAIVE + _form(row))
        gain = _gain(group, row, first) if first else ""
        for text, points, colour in (
            (significant(rate), TEXT_POINTS[0], INK),
            (gain, TEXT_POINTS[1], INK),
            (_printed(figures.get((row["preset"] or "").removesuffix(IMAGE))), TEXT_POINTS[2], FAINT),
        ):
            ax.annotate(text, (1, y), (points, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5,
                        color=colour, va="center", annotation_clip=False)  # fmt: skip
    compared = any(row["preset"] in figures for row in bars)
    heads = ("G/s", "gain" if NAIVE in ran else "", "in the paper" if compared else "")
    for text, points in zip(heads, TEXT_POINTS, strict=True):
        ax.annotate(text, (1, -0.9), (points, 0), ax.get_yaxis_transform(), "offset points", fontsize=8.5, color=FAINT,
                    va="center", annotation_clip=False)  # fmt: skip
    for name, limit in _limits(bars).items():
        ax.axvline(limit, color=INK, linewidth=1.2, linestyle=CEILINGS[name][1], zorder=1)
    ax.set_xlim(left=0)
    places = [float(y) for y in range(len(bars))]
    ax.set_yticks(places, [group.label(row) for row in bars], fontsize=9)
    bar_axes(ax, places)
    sizes = group.first["sizes"] or {}
    voxels = " x ".join(str(sizes[axis]) for axis in "zyx" if axis in sizes)
    about = f"{voxels} voxels, {sizes.get('views')} views of {sizes.get('rows')} x {sizes.get('columns')}"
    ax.set_title(f"{group.first['problem']}: {about}", fontsize=9.5, loc="left", color=INK, pad=16)


def _gain(group: Group, row: Row, first: Row) -> str:
    """How many times as fast as the first step, over common blocks as in the table; empty where no clock timed both."""
    if row is first:
        return f"{significant(1.0)}x"
    ratio = ratio_by_one_clock(group, row, first)
    return f"{significant(ends_of(ratio)[1])}x" if ratio else ""


def _updates(row: Row) -> float:
    assert row["counted"] is not None  # every row of this workload says how many updates it makes
    return float(sum(row["counted"].values()))


def _rate(row: Row) -> float:
    return _updates(row) / time_ms(row) * 1e-6


def _limits(bars: list[Row]) -> dict[str, float]:
    """The ceilings that bound some of the rows, as rates in G updates/s."""
    found = {}
    for row in bars:
        if row["bound_by"] in CEILINGS and row["bound_ms"]:
            found[str(row["bound_by"])] = _updates(row) / row["bound_ms"] * 1e-6
    return found


def _printed(printed: dict[str, Any] | None) -> str:
    if printed is None:
        return ""
    ends = [printed[name] for name in ("speedup", "speedup_least", "speedup_most") if printed.get(name)]
    return " to ".join(f"{end:g}" for end in ends) + "x" if ends else ""


# ---------------------------------------------------------------- images


def sart(device: Device, iterations: int = ITERATIONS) -> Figure:
    """A phantom; what some iterations of SART make of its fan-beam projections, on ``device`` and in NumPy's fp64; and
    the difference of these two images."""
    from gpuopt import tomo

    volume = tomo.Volume((96, 96), 2.0)
    scan = tomo.fan(72, 595, 1085.6, 160, 2.6, curved=True)
    phantom = tomo.shepp_logan(2, field=180.0)
    projections = phantom.project(scan)
    on_device = tomo.sart(tomo.Projector(scan, volume, device=device), projections, iterations)
    plain = tomo.sart(tomo.NumpyProjector(scan, volume), projections.astype(np.float64), iterations)
    return images(phantom.sample(volume), np.asarray(on_device.image), np.asarray(plain.image), device.name, iterations)


def images(phantom: np.ndarray, on_device: np.ndarray, plain: np.ndarray, name: str, iterations: int) -> Picture:
    """The three images in one scale of greys, and the difference of the last two in a scale of its own."""
    difference = on_device.astype(np.float64) - plain
    largest = float(np.abs(difference).max())
    figure, part = captioned_picture(
        f"SART, {iterations} iterations, on {name} and in NumPy",
        3.1,
        [f"The largest difference is {largest:.2g} of values up to {float(np.abs(plain).max()):.3g}."],
    )
    _side_by_side(
        part, part.subplots(1, 4), {"phantom": phantom, "device, fp32": on_device, "NumPy, fp64": plain}, difference
    )
    return figure


def regions(compared: Sequence[Comparison], name: str) -> Picture:
    """The paper's regions, a row each: the middle slice of the object; of what SART makes of its projections on a
    device, called ``name``, with the first of its back projectors, and in plain C++ on the host; and the difference of
    these two. The largest difference is that of the whole volume."""
    iterations = len(compared[0].found[0].residuals)
    figure, part = captioned_picture(
        f"SART, {iterations} iterations, on {name} and by C++ loops on the host",
        3.0 * len(compared),
        [
            "Regions of Jang et al. 2009, the middle slice of each. The object is a head of Shepp and Logan; it is "
            "half as wide again as the truncated region."
        ],
    )
    axes = part.subplots(len(compared), 4, squeeze=False)
    for row, one in zip(axes, compared, strict=True):
        device, host = one.found[0], one.found[-1]
        middle = len(one.truth) // 2
        shown = {"object": one.truth, f"device, {device.name}": device.image, host.name: host.image}
        difference = device.image[middle].astype(np.float64) - host.image[middle]
        _side_by_side(part, row, {title: image[middle] for title, image in shown.items()}, difference)
        sizes = " x ".join(map(str, one.truth.shape))
        row[0].set_ylabel(f"{one.region.name}: {sizes}, {one.views} views", fontsize=8.5, color=INK)
        row[3].set_xlabel(f"at most {one.apart(device):.2g} of {float(host.image.max()):.3g}", fontsize=8.5, color=INK)
    return figure


def _side_by_side(part: Any, axes: Any, shown: Mapping[str, np.ndarray], difference: np.ndarray) -> None:
    """Images in the greys of the first, and a difference in a scale of its own; y grows upwards, with the row."""
    first = next(iter(shown.values()))
    grey = {"cmap": "gray", "origin": "lower", "vmin": float(first.min()), "vmax": float(first.max())}
    for ax, (title, image) in zip(axes, shown.items(), strict=False):
        ax.imshow(image, **grey)
        ax.set_title(title, fontsize=9.5, color=INK)
    largest = float(np.abs(difference).max()) or 1.0
    drawn = axes[3].imshow(difference, cmap="RdBu", origin="lower", vmin=-largest, vmax=largest)
    axes[3].set_title("difference", fontsize=9.5, color=INK)
    part.colorbar(drawn, ax=axes[3], shrink=0.7)
    for ax in axes:
        ax.set_xticks([])
        ax.set_yticks([])
