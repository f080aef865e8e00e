"""Ticks of logarithmic axes: plain numbers, and wherever the axis ends enough of them to read it by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import Formatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from gpuopt.lab.show.canvas import rate_text, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LEAST, FEW = 2, 3  # ticks of any axis; fewer of 1, 2 and 5 a decade than the latter say little
MANY_DECADES = 3.2  # one tick a decade is enough
POWERS_OF_TWO = [2.0**power for power in range(64)]


class PlainTicks(LogLocator):
    """Places for ticks within what the axis shows when it is drawn: those of the first of ``wanted`` that has two;
    else 1, 2 and 5 a decade, or 1 where there are many; else numbers evenly apart."""

    def __init__(self, *wanted: Sequence[float], base: float = 10.0) -> None:
        super().__init__(base=base)  # which says where an axis of a single point ends
        self.wanted = wanted

    def __call__(self) -> Sequence[float]:
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        low, high = sorted((vmin, vmax))
        steps = (1, 2, 5) if np.log10(high / low) < MANY_DECADES else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        usual = [step * 10.0**power for power in powers for step in steps]
        evenly = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        choices = [*((places, LEAST) for places in self.wanted), (usual, FEW), (evenly, LEAST), (usual, LEAST)]
        for places, least in choices:
            shown = [float(place) for place in places if low <= place <= high]
            if len(shown) >= least:
                return shown
        return [low, high]


class PlainNumbers(Formatter):
    """`0.5`, `2,000`; on an axis with millions `500 k`, `20 M`."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        assert self.axis is not None
        if max(self.axis.get_view_interval()) < 1e6:
            return f"{x:,.10g}"
        size, suffix = (1e6, " M") if x >= 1e6 else (1e3, " k") if x >= 1e3 else (1, "")
        return f"{x / size:,.10g}{suffix}"


def plain_ticks(ax: Axes, which: str = "xy") -> None:
    """Ticks of log axes as plain numbers: 1, 2 and 5 a decade where there are few decades."""
    for axis in (axis for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)) if name in which):
        log_ticks(axis)


def log_ticks(axis: Axis, *wanted: Iterable[float], text: Callable[[float], str] | None = None) -> None:
    """Ticks of a log axis at the first of ``wanted`` of which it shows two, else at plain numbers."""
    base = getattr(axis.get_transform(), "base", 10.0)
    axis.set_major_locator(PlainTicks(*(sorted(places) for places in wanted), base=base))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(PlainNumbers() if text is None else FuncFormatter(lambda value, _: text(value)))


def rate_ticks(ax: Axes) -> None:
    """Ticks of rates in GB/s: `2 TB/s`."""
    log_ticks(ax.yaxis, text=lambda value: rate_text(value, 1))


def byte_ticks(ax: Axes, low: float, high: float) -> None:
    """Ticks at powers of two from ``low`` to ``high``, at most ten: `64 KiB`."""
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = max(1, -(-(last - first) // 10))
    log_ticks(ax.xaxis, [2.0**power for power in range(first, last + 1, step)], POWERS_OF_TWO, text=size_text)
