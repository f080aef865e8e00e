"""What is drawn in a picture: its texts, and whether they lie on anything else; its ticks, marks and legends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text


def texts(figure: Figure) -> list[Text]:
    """Every non-empty text that is drawn; labels of ticks beyond an axis's end exist, but are not."""
    FigureCanvasAgg(figure).draw()
    beyond = set()
    for axis in (axis for ax in figure.findobj(Axes) for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        off = not axis.axes.axison
        unseen = [tick for tick in axis.get_major_ticks() if off or not low <= tick.get_loc() <= high]
        beyond |= {label for tick in unseen for label in (tick.label1, tick.label2)}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in beyond]


def words(figure: Figure) -> str:
    return "\n".join(t.get_text() for t in texts(figure))


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other."""
    boxes = [(t.get_text(), Text.get_window_extent(t).shrunk(0.98, 0.8)) for t in texts(figure)]
    return [
        (first, second)
        for number, (first, box) in enumerate(boxes)
        for second, other in boxes[number + 1 :]
        if box.overlaps(other) and box.width and other.width
    ]


def outside(figure: Figure) -> list[str]:
    """Texts that stand out of the figure."""
    drawn, whole = texts(figure), figure.bbox.padded(1)
    boxes = [(t.get_text(), Text.get_window_extent(t)) for t in drawn]
    return [t for t, box in boxes if not (whole.contains(box.x0, box.y0) and whole.contains(box.x1, box.y1))]


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def widths(ax: Axes) -> list[float]:
    return [float(bar.get_width()) for bar in bars(ax)]


def few_ticks(figure: Figure) -> list[str]:
    """The labels of log axes with fewer than two ticks that are told apart."""
    FigureCanvasAgg(figure).draw()
    found = []
    for axis in (axis for ax in figure.findobj(Axes) if ax.axison for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        seen = {t.label1.get_text() for t in axis.get_major_ticks() if low <= t.get_loc() <= high} - {""}
        if axis.get_scale() == "log" and len(seen) < 2:
            found.append(f"{axis.get_label_text()}: {sorted(seen)}")
    return found


def struck(figure: Figure) -> list[str]:
    """Lines and marks that lie in front of a bar's face, but for the whiskers at its end."""
    FigureCanvasAgg(figure).draw()
    found = []
    for ax in figure.findobj(Axes):
        whiskers = {
            id(part) for held in ax.containers if isinstance(held, ErrorbarContainer) for part in held.get_children()
        }
        drawn = [*ax.lines, *(lines for lines in ax.collections if isinstance(lines, LineCollection))]
        for mark in (mark for mark in drawn if id(mark) not in whiskers):
            faces = [bar.get_window_extent() for bar in bars(ax) if bar.get_zorder() <= mark.get_zorder()]
            places = [place for run in _runs(mark) for place in run]
            over = [face for face in faces if any(_within(face, place) for place in places)]
            found += [f"{mark.get_label()} at {face.y0:.0f}" for face in over]
    return found


def _within(face: object, place: np.ndarray) -> bool:
    box = face.padded(-1.0)  # type: ignore[attr-defined]
    return bool(box.x0 < place[0] < box.x1 and box.y0 < place[1] < box.y1)


def _runs(mark: Line2D | LineCollection) -> Iterator[np.ndarray]:
    """Points in pixels all along a mark's lines, and at the corners of its markers."""
    if isinstance(mark, LineCollection):
        lines, half = [np.asarray(line) for line in mark.get_segments()], 0.0
    else:
        lines = [mark.get_xydata()] if mark.get_linestyle() not in ("None", "none") else []
        half = mark.get_markersize() * mark.get_figure(root=True).dpi / 144 if mark.get_marker() != "None" else 0.0
    for line in lines:
        ends = mark.get_transform().transform(line)
        for first, last in pairwise(ends):
            yield first + np.linspace(0, 1, 200)[:, np.newaxis] * (last - first)
    if half and isinstance(mark, Line2D):
        middles = mark.get_transform().transform(mark.get_xydata())
        for aside in ((0, 0), (half, 0), (-half, 0), (0, half), (0, -half)):
            yield middles + np.array(aside)


def keys(figure: Figure) -> dict[str, str]:
    """The markers that legends explain, by what they say."""
    handles = [handle for legend in figure.findobj(Legend) for handle in legend.legend_handles]
    return {str(one.get_label()): str(one.get_marker()) for one in handles if isinstance(one, Line2D)}


def colour_of(artist: Line2D | Rectangle) -> str:
    """The colour of a line or of a bar's face, as `#0072b2`."""
    from matplotlib.colors import to_hex

    return to_hex(artist.get_color() if isinstance(artist, Line2D) else artist.get_facecolor())
