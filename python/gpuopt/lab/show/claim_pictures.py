"""The ratios that a paper claims, as dots on a log axis: what it printed, and what each device measured."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from gpuopt import files, papers
from gpuopt.lab.rows.claims import ClaimVerdict, Finding
from gpuopt.lab.show.canvas import captioned_picture
from gpuopt.lab.show.claim_devices import Findings, labels
from gpuopt.lab.show.claim_sheets import RATIOS, told_counts
from gpuopt.lab.show.fitting import legend_columns
from gpuopt.lab.show.style import (
    ASIDE,
    BEYOND,
    COLOURS,
    FAINT,
    HOLLOW,
    INK,
    MODEL,
    WARNING,
    WIDTH_INCHES,
    error_sides,
    open_axes,
    paper_marks,
)
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.papers.claims import Claim, PaperClaims

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEVICE_COLOURS = (*list(COLOURS.values())[:3], COLOURS["peers"], MODEL)
DEVICE_MARKERS = "osv^P"
MOST_LINES = 18  # of a picture: claims, with the headings between them
LABEL_WIDTH, LABEL_LINES = 58, 3
NAME_POINTS = 6.2  # of the line below what a claim says
ROW_INCHES, DEVICE_INCHES, HEADING_INCHES = 0.14, 0.13, 0.24
LABEL_INCHES = 0.128  # a line of a label
MARKS: dict[ClaimVerdict, tuple[str, str]] = {
    "holds": ("✓ holds", "#00664a"),
    "smaller": ("↓ smaller", FAINT),
    "inverted": ("⇄ inverted", WARNING),
    "undecided": ("? undecided", FAINT),
    "not measured": ("not measured", "#999999"),
}
ARROW = 0.05  # of the axis
ARROWS: dict[str, Any] = {"marker": r"$\rightarrow$", "markersize": 11, "color": FAINT, "linestyle": "none"}
LEGEND_SIZE = 8.0
WIDEST = 1e4  # numbers further from 1 stand as an arrow at the edge, with their value


def save(
    paper: PaperClaims, found: Findings, directory: Path, devices: Sequence[str] = (), only_measured: bool = False
) -> list[Path]:
    """Write ``claims-PAPER.png``, of many claims ``claims-PAPER-2.png`` and so on, into ``directory``, which is made
    where missing. Return the paths; none of a paper without ratios. ``devices``: all that there are, so that each has
    its colour whatever the paper; those of ``found`` unless given. ``only_measured``: claims that no device has a
    number for are left out."""
    paths = []
    measured = {name for of in found.values() for name, each in of.items() if each.ours is not None}
    pages = pages_of(paper, measured if only_measured else None)
    for number, page in enumerate(pages, 1):
        suffix = f"-{number}" if number > 1 else ""
        paths.append(files.made_folder(directory) / f"claims-{paper.key}{suffix}.png")
        draw(paper, found, page, f"{number} of {len(pages)}", devices).savefig(paths[-1], dpi=150)
    return paths


def pages_of(paper: PaperClaims, only: Collection[str] | None = None) -> list[list[Claim]]:
    """The claims of ratios that have a test, or ``only`` these, as many a picture as can be read; those of one figure
    stand together where that is possible."""
    pages: list[list[Claim]] = [[]]
    for where in dict.fromkeys(claim.where for claim in paper.claims):
        mine = [
            claim
            for claim in paper.claims
            if claim.where == where and claim.test and claim.test.over and (only is None or claim.id in only)
        ]
        taken = len(pages[-1]) + len({claim.where for claim in pages[-1]})
        if mine and pages[-1] and taken + len(mine) + 1 > MOST_LINES:
            pages.append([])
        pages[-1] += mine
        while len(pages[-1]) > MOST_LINES:
            pages.append(pages[-1][MOST_LINES:])
            pages[-2] = pages[-2][:MOST_LINES]
    return [page for page in pages if page]


def draw(
    paper: PaperClaims,
    found: Findings,
    shown: Sequence[Claim],
    part_of: str = "1 of 1",
    every_device: Sequence[str] = (),
) -> Figure:
    """One picture of these claims."""
    about = papers.of_key(paper.key)
    devices = list(found)
    styles = {device: _style(place) for place, device in enumerate(every_device or devices)}
    measured = {claim.id for claim in shown if any(of[claim.id].ours for of in found.values())}
    dots = {c.id: DEVICE_INCHES * (len(devices) if c.id in measured else 1) for c in shown}
    rows = {c.id: max(ROW_INCHES + dots[c.id], LABEL_INCHES * (len(_label(c).split("\n")) + 0.5)) for c in shown}
    places, headings, depth = _places(shown, rows)
    title = f"{about.short}: what the paper claims, and what was measured" + (
        f" ({part_of})" if part_of != "1 of 1" else ""
    )
    figure, part = captioned_picture(title, depth + 1.0, _caption(paper, found))
    ax = part.subplots(1, 1)
    ends = _ends(shown, found)
    room = max(1.15, (ends[1] / ends[0]) ** 0.03)
    ax.set_xscale("log")
    ax.set_xlim(ends[0] / room, ends[1] * room)
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    for claim in shown:
        here = [(found[device][claim.id], styles[device]) for device in devices]
        _claim(ax, claim, here, places[claim.id], rows[claim.id], ends)
    for name, y in headings:
        ax.text(-0.005, y, name, transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=8.5, color=INK,
                fontweight="bold")  # fmt: skip
    ax.set_ylim(depth, 0)
    ax.set_yticks([places[claim.id] for claim in shown], [_label(claim) for claim in shown], fontsize=7.2)
    for claim in shown:
        _name(ax, claim, places[claim.id])
    open_axes(ax)
    ax.set_xlabel("ratio of speeds (more is faster)", fontsize=9)
    plain_ticks(ax, "x")
    _legend(ax, shown, {name: styles[device] for device, name in labels(found).items()})
    return figure


def _places(
    shown: Sequence[Claim], rows: Mapping[str, float]
) -> tuple[dict[str, float], list[tuple[str, float]], float]:
    """Where each claim and each heading stands, in inches from above, and the whole depth."""
    places: dict[str, float] = {}
    headings: list[tuple[str, float]] = []
    depth = 0.0
    for claim in shown:
        if not headings or headings[-1][0] != claim.where:
            headings.append((claim.where, depth + HEADING_INCHES / 2))
            depth += HEADING_INCHES
        places[claim.id] = depth + rows[claim.id] / 2
        depth += rows[claim.id]
    return places, headings, depth


def _claim(
    ax: Axes,
    claim: Claim,
    found: Sequence[tuple[Finding, Mapping[str, Any]]],
    y: float,
    row: float,
    ends: tuple[float, float],
) -> None:
    if printed := _at(claim):
        at = [_within(number, ends) for number in printed]
        paper_marks(ax, at, y)
        for number in claim.printed:
            if not ends[0] <= number <= ends[1]:
                _beyond(ax, number, y, ends, INK)
    elif claim.test and _is_order(claim):  # an arrow to its side
        length = (ends[1] / ends[0]) ** ARROW
        tip = 1 / length if claim.test.direction == "less" else length
        arrow: dict[str, Any] = {"arrowstyle": "->", "color": FAINT, "lw": 1.1}
        ax.annotate("", (tip, y), (1, y), arrowprops=arrow, zorder=ASIDE)
    if all(each.verdict == "not measured" for each, _ in found):
        _verdict(ax, "not measured", y)
        return
    step = min(row * 0.8 / len(found), DEVICE_INCHES * 1.1)
    for place, (each, style) in enumerate(found):
        here = y + (place - (len(found) - 1) / 2) * step
        _verdict(ax, each.verdict, here)
        if each.ours is None:
            continue
        low, high = each.ours.interval or (each.ours.mid, each.ours.mid)
        if not ends[0] <= each.ours.mid <= ends[1]:
            _beyond(ax, each.ours.mid, here, ends, str(style["color"]))
            continue
        low, mid, high = (_within(number, ends) for number in (low, each.ours.mid, high))
        bars: dict[str, Any] = {"ecolor": style["color"], "capsize": 2.2, "elinewidth": 1.3, "zorder": 5}
        ax.errorbar(mid, here, xerr=error_sides(low, mid, high), **style, **bars)


def _beyond(ax: Axes, number: float, y: float, ends: tuple[float, float], colour: str) -> None:
    """An arrow at the edge, with the number that is beyond it."""
    above = number > ends[1]
    side = BEYOND | {"marker": ">" if above else "<", "markersize": 5}
    ax.plot(ends[1] if above else ends[0], y, color=colour, zorder=5, **side)
    style: dict[str, Any] = {"ha": "right" if above else "left", "va": "center", "fontsize": 6.5, "color": colour}
    ax.annotate(f"{number:.3g}", (ends[1] if above else ends[0], y), (-5 if above else 5, 0), "data", "offset points",
                **style)  # fmt: skip


def _style(place: int) -> dict[str, Any]:
    """How the device at this place is drawn."""
    colour, marker = (parts[place % len(parts)] for parts in (DEVICE_COLOURS, DEVICE_MARKERS))
    return {"color": colour, "marker": marker, "markersize": 4}


def _verdict(ax: Axes, verdict: ClaimVerdict, y: float) -> None:
    word, colour = MARKS[verdict]
    ax.annotate(word, (1, y), (6, 0), ax.get_yaxis_transform(), "offset points", fontsize=7, color=colour, va="center",
                annotation_clip=False)  # fmt: skip


def _ends(shown: Sequence[Claim], found: Findings) -> tuple[float, float]:
    """The least and the greatest number, at most `WIDEST` from 1, and some room where they are close."""
    numbers = [1 / 1.3, 1.3, *(number for claim in shown for number in claim.printed if number > 0)]
    for claim in shown:
        for of in found.values():
            ours = of[claim.id].ours
            numbers += [] if ours is None else [ours.mid, *(ours.interval or ())]
    return max(min(numbers), 1 / WIDEST), min(max(numbers), WIDEST)


def _within(number: float, ends: tuple[float, float]) -> float:
    return min(max(number, ends[0]), ends[1])


def _label(claim: Claim) -> str:
    lines = textwrap.wrap(claim.says, LABEL_WIDTH)
    if len(lines) > LABEL_LINES:
        rest = textwrap.shorten(" ".join(lines[LABEL_LINES - 1 :]), LABEL_WIDTH, placeholder=" …")
        lines = [*lines[: LABEL_LINES - 1], rest]
    return "\n".join([*lines, " "])  # the last line is its name, in smaller letters


def _name(ax: Axes, claim: Claim, y: float) -> None:
    """The claim's id and the device it is about, in the last line of its label."""
    depth = (len(_label(claim).split("\n")) - 1) / 2 * 7.2 * 1.2
    ax.annotate(f"{claim.id} · on {claim.device}", (0, y), (-3.5, -depth), ax.get_yaxis_transform(), "offset points",
                ha="right", va="center", fontsize=NAME_POINTS, color=FAINT, annotation_clip=False)  # fmt: skip


def _caption(paper: PaperClaims, found: Findings) -> list[str]:
    ratios = sum(len(page) for page in pages_of(paper))
    counts = [f"{name}: {told_counts(found[device])[RATIOS]}" for device, name in labels(found).items()]
    return [
        f"{ratios} of the paper's {len(paper.claims)} claims are ratios of speeds that have a test.",
        "An arrow is an order without a number, a diamond at 1 `the same`. Intervals are of 95 %; of several problems, "
        "the geometric mean, of `up to` the best. Below each claim: its name, and the device that the paper means.",
        *counts,
    ]


def _legend(ax: Axes, shown: Sequence[Claim], styles: Mapping[str, Mapping[str, Any]]) -> None:
    """Above the axes, what is drawn in them: what the paper prints, then the devices."""
    handles: list[Artist] = []
    if any(_at(claim) for claim in shown):
        handles.append(Line2D([], [], label="printed", **HOLLOW))
    if any(_is_order(claim) for claim in shown):
        handles.append(Line2D([], [], label="printed order, no number", **ARROWS))
    if any(line.get_marker() in ("<", ">") for line in ax.lines):
        handles.append(Line2D([], [], label="beyond the axis", color=FAINT, **BEYOND))
    handles += [Line2D([], [], linewidth=1.3, label=name, **style) for name, style in styles.items()]
    columns = legend_columns(handles, len(handles), WIDTH_INCHES - 0.5, LEGEND_SIZE)
    style: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "fontsize": LEGEND_SIZE}
    ax.legend(handles=handles, ncols=columns, frameon=False, **style)


def _at(claim: Claim) -> Sequence[float]:
    """Where diamonds stand: at what is printed, at 1 for `the same`."""
    same = claim.test is not None and claim.test.direction == "same"
    return claim.printed or ((1.0,) if same else ())


def _is_order(claim: Claim) -> bool:
    """Whether the paper says which is faster, and no number."""
    return bool(not _at(claim) and claim.test and claim.test.direction in ("more", "less", "not less"))
