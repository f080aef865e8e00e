#!/usr/bin/env python3
"""Draws docs/pictures/conventions.png: the axes of a fan-beam scan at two view angles, from the geometry itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import gpuopt.tomo as gt
from gpuopt.lab.show.style import COLOURS

SOD, SDD, COLUMNS, PIXEL = 60.0, 100.0, 9, 6.0
FIELD = 30.0  # mm, the side of the slice


def draw(axes: Any, degrees: float) -> None:
    """One view: source, rays, detector with its pixels, slice and axes."""
    scan = gt.fan([math.radians(degrees)], SOD, SDD, COLUMNS, PIXEL)
    source, centre, u, _ = (vectors[0][:2] for vectors in scan.frames)
    pixels = [centre + (i - (COLUMNS - 1) / 2) * u for i in range(COLUMNS)]
    blue, orange = list(COLOURS.values())[:2]
    axes.add_patch(plt.Rectangle((-FIELD / 2, -FIELD / 2), FIELD, FIELD, fill=False, color="0.5"))
    for end, name in (((24.0, 0.0), "x"), ((0.0, 24.0), "y")):
        axes.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.3"})
        axes.text(end[0] * 1.12, end[1] * 1.12, name, ha="center", va="center")
    axes.text(-3.5, -4.5, "z\n(to you)", ha="center", va="top", fontsize=8, color="0.3")
    axes.plot([0], [0], "o", color="0.3", markersize=4)
    for pixel in (pixels[0], pixels[-1]):
        axes.plot(*zip(source, pixel, strict=True), color="0.75", linewidth=0.8)
    axes.plot(*zip(source, centre, strict=True), color="0.75", linewidth=0.8, linestyle=":")
    axes.plot(*zip(*pixels, strict=True), "s-", color=blue, markersize=4)
    tip = centre + (COLUMNS / 2 + 1.5) * u
    axes.annotate("", tip, pixels[-1], arrowprops={"arrowstyle": "->", "color": blue})
    axes.text(*(centre + (COLUMNS / 2 + 2.3) * u), "u", color=blue, ha="center", va="center")
    below = (centre - source) / math.dist(centre, source) * 9
    axes.text(*(pixels[0] + below), "column 0", color=blue, fontsize=8, ha="center", va="center")
    axes.plot(*source, "o", color=orange)
    axes.text(*(source * 1.13), "source", color=orange, ha="center", va="center")
    axes.set_title(f"view angle {degrees:g} degrees")
    axes.set_aspect("equal")
    axes.set(xlim=(-75, 75), ylim=(-75, 60), xlabel="x in mm", ylabel="y in mm")


def main() -> None:
    figure, both = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    for axes, degrees in zip(both, (0.0, 30.0), strict=True):
        draw(axes, degrees)
    figure.savefig(Path(__file__).parents[1] / "docs" / "pictures" / "conventions.png", dpi=120)


if __name__ == "__main__":
    main()
