"""One projector used by several threads at once gives each of them what one thread gets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import gpuopt
import gpuopt.tomo as gt
from rays import random

# Its adjoint needs more of the memory that plans share than its projection: who plans it makes the memory anew.
SCAN = gt.parallel3d(90, (31, 41), (1.1, 0.9)), gt.Volume((9, 16, 17))


def together(count: int, work: Callable[[int], None]) -> None:
    """``work(0)`` to ``work(count - 1)`` at once; raises what one of them raised."""
    start, raised = threading.Barrier(count), []

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_a_projector_whose_plans_are_made_by_several_threads(device: gpuopt.Device) -> None:
    """The projection reads one copy of the volume for two main axes; the adjoint, planned in between, used to leave its
    second half a buffer that nothing filled, for as long as the projector lived."""
    x, y = random(SCAN)
    first = gt.Projector(*SCAN, device=device)
    forward, back = first(x), first.T(y)
    wrong = []

    def compare(what: str, found: Any, expected: Any) -> None:
        if not np.array_equal(found, expected):
            wrong.append(what)

    for _ in range(40):
        A = gt.Projector(*SCAN, device=device)

        def work(number: int, A: gt.Projector = A) -> None:
            for step in range(2):
                if (number + step) % 2:
                    compare("forward", A(x), forward)
                else:
                    compare("back", A.T(y), back)

        together(8, work)
        compare("forward afterwards", A(x), forward)
    assert not wrong, f"{len(wrong)} results differ, the first of {wrong[0]}"


def test_subsets_of_a_projector_by_several_threads(any_device: gpuopt.Device) -> None:
    """More subsets than are kept: each thread drops what others have just made."""
    scan, volume = gt.parallel2d(6, 9), gt.Volume((5, 6))
    A = gt.Projector(scan, volume, device=any_device)

    def work(number: int) -> None:
        draw = np.random.default_rng(number)
        for _ in range(300):
            views = draw.permutation(6)[: draw.integers(1, 7)]
            assert A.subset(views).views == len(views)

    together(8, work)
