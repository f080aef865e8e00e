"""How wide texts are drawn, and texts and legends that fit: a number of characters is no width."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SPARE = 1.03  # a screen's letters are up to so much wider than an outline's
HANDLE, APART, FRAME = 2.8, 1.4, 1.8  # of a legend, in font sizes: a handle with its pad, between columns, around all


def inches_of(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text is drawn."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72 * SPARE


def wrapped(text: str, inches: float, size: float, bold: bool = False) -> list[str]:
    """The text in lines that are at most so wide; a word that is wider is broken."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and inches_of(longer, size, bold) <= inches:
            lines[-1] = longer
        else:
            lines += _pieces(word, inches, size, bold)
    return lines


def _pieces(word: str, inches: float, size: float, bold: bool) -> list[str]:
    pieces = []
    while (room := _room(word, inches, size, bold)) < len(word):
        pieces.append(word[:room])
        word = word[room:]
    return [*pieces, word]


def _room(word: str, inches: float, size: float, bold: bool) -> int:
    """How many letters fit, at least one. No more are measured than twice as many: names of any length may come."""

    def is_wide(letters: int) -> bool:
        return inches_of(word[:letters], size, bold) > inches

    most = 2
    while most < len(word) and not is_wide(most):
        most *= 2
    return max(1, bisect.bisect_left(range(min(most, len(word)) + 1), True, lo=1, key=is_wide) - 1)


def legend_columns(handles: Sequence[Artist], most: int, inches: float, size: float) -> int:
    """How many columns of a legend fit, at most ``most``. Where one alone is too wide, its labels are broken."""
    for columns in range(max(1, min(most, len(handles))), 0, -1):
        parts = np.array_split([inches_of(str(handle.get_label()), size) for handle in handles], columns)
        around = (HANDLE * columns + APART * (columns - 1) + FRAME) * size / 72
        if sum(float(part.max(initial=0.0)) for part in parts) + around <= inches:
            return columns
    room = inches - (HANDLE + FRAME) * size / 72
    for handle in handles:
        handle.set_label("\n".join(wrapped(str(handle.get_label()), room, size)))
    return 1


def width_of(part: Figure | SubFigure) -> float:
    """How wide a figure or a part of one is, in inches."""
    return float(part.bbox.width) / float(part.dpi)


def room_of(ax: Axes) -> float:
    """How wide the place of axes among their neighbours is, in inches."""
    part, place = ax.get_figure(root=False), ax.get_subplotspec()
    assert part is not None
    if place is None:
        return width_of(part)
    grid = place.get_gridspec()
    ratios: list[float] = np.asarray(grid.get_width_ratios(), dtype=float).tolist()
    return width_of(part) * sum(ratios[place.colspan.start : place.colspan.stop]) / sum(ratios)
