"""What is drawn in a picture: its texts, and whether they lie on anything else."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
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
