"""A lock of Python for what a signal's handler or a forked child may call while it is held."""

from __future__ import annotations

import os
import threading
from typing import Any


class ProcessLock:
    """``with lock.here():`` one thread at a time. A handler that interrupts that thread comes in, too; a forked child
    has a lock of its own, for the thread that held its parent's is not there to let it go."""

    def __init__(self) -> None:
        self._of: dict[int, Any] = {}  # an RLock of each process

    def here(self) -> Any:
        """The lock of this process; it is entered and left in C, where no handler comes between."""
        return self._of.setdefault(os.getpid(), threading.RLock())
