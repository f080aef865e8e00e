"""A progress bar where one is wanted, tqdm is installed and somebody is at the terminal; else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY_S = 10.0  # between two lines where there is no terminal


class Bar:
    """Steps with a label; silent unless ``wanted``. Where there is neither a terminal nor a notebook, a line to stderr
    about every ten seconds says how far it is."""

    def __init__(self, wanted: bool, total: int, unit: str = "step") -> None:
        self._bar: Any = None
        self._lines = wanted
        self._done, self._total, self._unit = 0, total, unit
        self._label = ""
        self._began = self._told = time.monotonic()
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, leave=False, unit=unit, dynamic_ncols=True, disable=None)
            self._lines = bool(self._bar.disable)

    def say(self, text: str) -> None:
        """Names what comes next."""
        self._label = text
        if self._bar is not None:
            self._bar.set_description(text[:40])
        self._line()

    def note(self, text: str) -> None:
        """Shows a result behind the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(text)

    def step(self) -> None:
        """One step is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        self._line()

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

    def _line(self) -> None:
        """`gpuopt: 12 of 40 steps after 31 s, block 3`, unless the last such line is younger than that."""
        now = time.monotonic()
        if not self._lines or now - self._told < EVERY_S:
            return
        self._told = now
        of_all = f" of {self._total}" if self._done <= self._total else ""  # more may be needed than was expected
        units = f"{self._unit[:-1]}ies" if self._unit.endswith("y") else f"{self._unit}s"
        count = f"{self._done}{of_all} {units}"
        print(f"gpuopt: {count} after {now - self._began:.0f} s, {self._label}", file=sys.stderr, flush=True)
