"""How far something is: a bar at a terminal, a line that is written over in a notebook, else a line now and then."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

from gpuopt.remarks import at_terminal, remark

EVERY_S = 10.0  # between two lines where there is neither a terminal nor a notebook
REDRAWN_S = 0.5  # between two states of a notebook's line
EVEN = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
UNEVEN = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


def in_notebook() -> bool:
    """Whether this program is the kernel of a notebook."""
    here = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(here, "kernel", None) is not None


class Bar:
    """Steps with a label. ``wanted`` None: in a notebook alone; False: silent.

    Time left is told where steps are ``even``, of about one length. Where there is neither a terminal nor a notebook,
    a line to stderr about every ten seconds says how far it is; where nobody can read stderr, nothing does."""

    def __init__(self, wanted: bool | None, total: int, unit: str = "step", even: bool = True) -> None:
        self._bar: Any = None
        self._line: _Line | None = None
        self._lines = bool(wanted)
        self._done, self._total, self._unit, self._even = 0, total, unit, even
        self._first = 0  # steps that were done before the clock began
        self._label = self._note = ""
        self._began = self._told = time.monotonic()
        if wanted is not False and in_notebook():
            self._lines = False
            self._line = _Line()
        elif wanted and at_terminal():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            how = EVEN if even else UNEVEN
            self._bar = tqdm(total=total, leave=False, unit=unit, dynamic_ncols=True, bar_format=how)
            self._lines = False

    def stage(self, total: int, unit: str, done: int = 0) -> None:
        """From here on steps are of another kind, of one length: count and time left begin anew. ``done`` of them cost
        nothing."""
        self._done, self._first, self._total, self._unit, self._even = done, done, total, unit, True
        self._began = time.monotonic()
        if self._bar is not None and not self._bar.disable:
            self._bar.bar_format, self._bar.unit = EVEN, unit
            self._bar.reset(total)
            self._bar.n = self._bar.initial = done
        self._told_now()

    def say(self, text: str) -> None:
        """Names what comes next."""
        self._label = text
        if self._bar is not None:
            self._bar.set_description(text[:40])
        self._told_now()

    def note(self, text: str) -> None:
        """Shows a result behind the bar."""
        self._note = text
        if self._bar is not None:
            self._bar.set_postfix_str(text)

    def step(self) -> None:
        """One step is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        self._told_now()

    def more(self, count: int) -> None:
        """``count`` further steps turned out to be needed."""
        self._total += count
        if self._bar is not None:
            self._bar.total += count
            self._bar.refresh()

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
        if self._line is not None:
            self._line.clear()

    def _told_now(self) -> None:
        """A state of the line, unless the last one is too young."""
        now = time.monotonic()
        if self._line is not None and now - self._told >= (REDRAWN_S if self._line.shown else 0.0):
            self._told = now
            self._line.show(self._state(now), self._done, self._total)
        elif self._lines and now - self._told >= EVERY_S:
            self._told = now
            remark(f"gpuopt: {self._state(now)}")

    def _state(self, now: float) -> str:
        """`12 of 40 steps after 31 s, about 72 s left: block 3`."""
        known = self._done <= self._total > 0  # more may be needed than was expected
        units = f"{self._unit[:-1]}ies" if self._unit.endswith("y") else f"{self._unit}s"
        text = f"{self._done}{f' of {self._total}' if known else ''} {units} after {now - self._began:.0f} s"
        if self._even and known and (taken := self._done - self._first) > 0:
            text += f", about {(now - self._began) / taken * (self._total - self._done):.0f} s left"
        return ": ".join([text, ", ".join(filter(None, [self._label, self._note]))]) if self._label else text


class _Line:
    """A line of a notebook's output, written over by its next state; nothing of it stays in a stored notebook."""

    def __init__(self) -> None:
        self.shown: Any = None

    def show(self, text: str, done: int, total: int) -> None:
        from IPython.display import display

        bar = f'<progress value="{min(done, total)}" max="{max(total, 1)}"></progress>'
        data = {"text/plain": f"gpuopt: {text}", "text/html": f"{bar} {html.escape(text)}"}
        if self.shown is None:
            self.shown = display(data, raw=True, display_id=True)
        else:
            self.shown.update(data, raw=True)

    def clear(self) -> None:
        if self.shown is not None:
            nothing = {"text/plain": "", "text/html": ""}  # of an output without any data nbconvert warns
            self.shown.update(nothing, raw=True)
