"""Where buffers lie in memory, varied from block to block.

Two plans of one kernel whose buffers lie elsewhere differ by 1 to 30 % on some devices, and however long they are
timed, they stay apart. Moved before every block, they scatter about what the kernel takes, and intervals say so.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from gpuopt._core import Error
from gpuopt.lab.rows.table import joined
from gpuopt.lab.run.candidates import Candidate

SMALLEST, LARGEST = 8, 25  # exponents of two: from what a pool serves to what no pool of a driver holds


def pad_bytes(seed: int, block: int, candidate: Candidate) -> int:
    """How many bytes are held while the buffers are allocated anew."""
    name = f"{seed}:{block}:{candidate.role}:{candidate.label}"
    return int(2 ** random.Random(name).uniform(SMALLEST, LARGEST))


class Placement:
    """Moves the buffers of candidates; ``moved`` holds those that have not run since, by identity."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.fixed: dict[str, None] = {}  # labels of those whose buffers stay where they are
        self.moved: set[int] = set()

    def vary(self, candidates: Iterable[Candidate], block: int) -> None:
        """Moves the buffers of each candidate that has a plan."""
        for candidate in candidates:
            relocate = getattr(candidate.prepared, "relocate", None)
            if relocate is None:
                continue
            try:
                done = relocate(pad_bytes(self.seed, block, candidate))
            except Error:  # no room: it stays where it is
                done = False
            if done:
                self.moved.add(id(candidate))
            else:
                self.fixed[candidate.label] = None

    def needs_run(self, candidate: Candidate) -> bool:
        """Whether this is the first visit since the candidate was moved; asked once a visit."""
        try:
            self.moved.remove(id(candidate))
        except KeyError:
            return False
        return True

    @property
    def note(self) -> str:
        """Whose placement was not varied; empty where everybody's was."""
        if not self.fixed:
            return ""
        return f"placement in memory was not varied for {joined(list(self.fixed))}: intervals do not hold its effect"
