"""A progress bar where one is wanted, tqdm is installed and somebody is at the terminal."""

from __future__ import annotations

from typing import Any


class Bar:
    """Steps with a label; silent unless ``wanted``."""

    def __init__(self, wanted: bool, total: int, unit: str = "step") -> None:
        self._bar: Any = None
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, leave=False, unit=unit, dynamic_ncols=True, disable=None)

    def say(self, text: str) -> None:
        """Names what comes next."""
        if self._bar is not None:
            self._bar.set_description(text[:40])

    def note(self, text: str) -> None:
        """Shows a result behind the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(text)

    def step(self) -> None:
        """One step is done."""
        if self._bar is not None:
            self._bar.update()

    def more(self, count: int) -> None:
        """``count`` further steps turned out to be needed."""
        if self._bar is not None:
            self._bar.total += count
            self._bar.refresh()

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
