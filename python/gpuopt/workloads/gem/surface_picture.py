"""A picture of a molecule's surface, coloured by its potential."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection, PolyCollection
from matplotlib.colors import Normalize

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.io.writing import potentials
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show.canvas import captioned_picture
from gpuopt.lab.show.style import FAINT, INK
from gpuopt.molecule import Molecule, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = 60_000  # points of a surface; of more, an even part is drawn
LEAST = 0.02  # A: half the width of the smallest picture, which a length bar of 0.01 A fits
BEYOND = 0.02  # of the points, whose potentials may lie beyond the colours' end


@checked
def surface(molecule: Molecule, surface: Surface, phi: np.ndarray, *, limit: float | None = None) -> Figure:
    """The surface from three sides, coloured by its potential ``phi`` (M,), kcal/(mol e): red below 0, blue above.

    The sides follow the surface's own axes, the longest across. Triangles where there are faces, else disks at the
    points, the farthest first; one whose normal is not known looks away from the middle. Colours end at ``limit``;
    without one at the magnitude that 98 % of the points stay below. Raises ArrayError for potentials that do not fit
    the points or are not finite.
    """
    values = potentials(phi, len(surface))
    if limit is not None and not 0 < limit < 1e300:
        raise ParameterError(f"limit: {limit:g} is no potential that colours could end at; give a positive one")
    end = limit or float(np.quantile(np.abs(values), 1 - BEYOND)) or 1.0
    norm, colours = Normalize(-end, end), colormaps["RdBu"]
    points = surface.points - surface.points.mean(axis=0, dtype=np.float64)
    across, up, toward = _own_axes(points)
    faces = surface.faces if surface.faces is not None and len(surface.faces) <= 2 * DRAWN else None
    chosen = np.arange(0, len(points), -(-len(points) // DRAWN))
    diameter = 4.6 * float(np.sqrt(np.pi * np.mean(np.sum(points**2, axis=1)) / len(chosen)))  # a ball of that width's
    diameter = max(diameter, LEAST / 2)
    half = 1.04 * np.abs(points @ np.array([across, up, toward]).T).max(axis=0) + (diameter if faces is None else 0.0)
    half = np.maximum(half, LEAST)
    tall = max(half[1], half[2])
    paint = colours(norm(values[chosen] if faces is None else values[faces].mean(axis=1)))
    normals = points if surface.normals is None else np.where(np.isnan(surface.normals), points, surface.normals)

    places = len(significant(float(np.abs(values).max())).partition(".")[2])
    told = [f"{value:.{places}f}" for value in (values.min(), values.mean(), values.max())]
    title = "Electrostatic potential: min {}, mean {}, max {} kcal/(mol e)".format(*told)
    charge = round(molecule.total_charge, 2) + 0.0  # no -0
    about = f"{len(molecule):,} atoms, {charge:+g} e; {len(points):,} points of their surface"
    about += f", {len(chosen):,} of them drawn" if faces is None and len(chosen) < len(points) else ""
    figure, part = captioned_picture(title, min(1.6 + 3.2 * tall / half[0], 6.0), [about])
    axes = part.subplots(1, 3)
    sides = {"front": (across, up, toward), "back": (-across, up, -toward), "from above": (across, -toward, up)}
    for ax, (name, side) in zip(axes, sides.items(), strict=True):
        seen = points @ np.array(side).T
        if faces is not None:
            _faces(ax, seen[faces], paint)
        else:
            turned = normals[chosen] @ np.array(side).T
            turned /= np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
            _disks(ax, seen[chosen], turned, paint, diameter)
        ax.set(xlim=(-half[0], half[0]), ylim=(-tall, tall), aspect="equal")
        ax.set_title(name, fontsize=9, color=INK)
        ax.set_axis_off()
    _length_bar(axes[0], half[0], tall)
    beyond = (bool((values < -end).any()), bool((values > end).any()))
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
    key = ScalarMappable(norm, colours)
    bar = part.colorbar(key, ax=axes, orientation="horizontal", shrink=0.5, aspect=45, pad=0.02, extend=extend)
    bar.set_label("potential, kcal/(mol e)", fontsize=9)
    bar.ax.tick_params(labelsize=8.5, color=FAINT)
    bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def _own_axes(points: np.ndarray) -> np.ndarray:
    """Right-handed axes (3, 3) of points (M, 3) about their middle, the longest first; always the same way round."""
    _, vectors = np.linalg.eigh(points.T @ points)
    axes = vectors.T[::-1]
    axes = axes * np.sign(axes[range(3), np.abs(axes).argmax(axis=1)])[:, np.newaxis]
    axes[2] = np.cross(axes[0], axes[1])
    result: np.ndarray = axes
    return result


def _faces(ax: Axes, corners: np.ndarray, paint: np.ndarray) -> None:
    """Triangles (T, 3, 3), seen along z, of colours (T, 4)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = np.abs(normals[:, 2]) / np.maximum(np.linalg.norm(normals, axis=1), 1e-30)
    order = np.argsort(corners[:, :, 2].mean(axis=1), kind="stable")
    lit = _lit(paint, facing)[order]
    ax.add_collection(PolyCollection(list(corners[order, :, :2]), facecolors=lit, edgecolors=lit, linewidths=0.3))


def _disks(ax: Axes, places: np.ndarray, normals: np.ndarray, paint: np.ndarray, diameter: float) -> None:
    """Disks at places (K, 3) that lie on the surface, seen along z, of colours (K, 4); those that look away are left
    out."""
    seen = normals[:, 2] > -0.1
    places, normals, paint = places[seen], normals[seen], _lit(paint[seen], normals[seen, 2])
    # Points of contact leave gaps where a probe bridges atoms: darker disks below them all fill these.
    depth = np.concatenate([places[:, 2] - 2 * diameter, places[:, 2]])
    order = np.argsort(depth, kind="stable")
    below = order < len(places)
    which = order % len(places)
    fill = paint[which]
    fill[below, :3] *= 0.8
    widths = diameter * np.where(below, 2.4, 1.0)
    disks = EllipseCollection(
        widths * np.clip(normals[which, 2], 0.25, 1),
        widths,
        np.degrees(np.arctan2(normals[which, 1], normals[which, 0])),
        units="xy",
        offsets=places[which, :2],
        offset_transform=ax.transData,
        facecolors=fill,
        linewidths=0,
    )
    ax.add_collection(disks)


def _lit(paint: np.ndarray, facing: np.ndarray) -> np.ndarray:
    """Colours (K, 4), darker the farther they are turned away."""
    result: np.ndarray = paint * np.column_stack([*[0.62 + 0.38 * np.clip(facing, 0, 1)] * 3, np.ones(len(paint))])
    return result


def _length_bar(ax: Axes, half: float, tall: float) -> None:
    length = next(
        step * 10.0**power for power in range(6, -3, -1) for step in (5, 2, 1) if step * 10.0**power <= 0.6 * half
    )
    ax.plot([-half, -half + length], [-tall, -tall], color=INK, linewidth=2, solid_capstyle="butt", clip_on=False)
    ax.annotate(f"{length:g} Å", (-half + length, -tall), (4, 0), "data", "offset points", fontsize=8.5, va="center")


__all__ = ["surface"]
