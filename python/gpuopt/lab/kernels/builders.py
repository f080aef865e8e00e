"""Programs built by several processes before a sweep needs them, by way of the cache of programs, which a worker reads.

Building takes most of the time that a configuration costs beside its samples, and a driver builds on one core. Nothing
is timed meanwhile."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from gpuopt._core import Device, Error
from gpuopt.lab.kernels import binding, recipe
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Numbers, Task
from gpuopt.lab.kernels.worker import Worker
from gpuopt.signals import let_through, suppressing

MOST = 4  # processes: each takes a driver's memory
FEWEST = 8  # programs: for fewer, starting processes takes longer than they save
BUILD_S = 60.0
SHORTEST_S = 3.0  # in less, processes do little but start
END_S = 0.5  # in which threads end whose processes were killed


def builders() -> int:
    """How many processes build at once: half of the cores that this one may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return min(MOST, cores // 2)


def build_ahead(
    device: Device,
    task: Task,
    code: Code,
    numbers: Numbers,
    all_levels: Sequence[Levels],
    until: float | None = None,
) -> None:
    """Builds a kernel at these levels, as far as it was not built in this process before, and until a time of
    ``time.monotonic`` at most. What does not build is not told here: its own plan raises that."""
    wanted: queue.SimpleQueue[Levels] = queue.SimpleQueue()
    fresh = [levels for levels in all_levels if not binding.is_declared(task, code, device, levels)]
    for levels in fresh:
        wanted.put(levels)
    count = min(builders(), len(fresh))
    if count < 2 or len(fresh) < FEWEST or (until is not None and until - time.monotonic() < SHORTEST_S):
        return
    held: list[Worker] = []
    begun: list[threading.Event] = []  # of each thread, set when it ends
    stop = threading.Event()

    def enlist(worker: Worker) -> None:
        held.append(worker)
        if stop.is_set():  # nobody looks into the list any more
            raise Error("it is not wanted any more")

    def build() -> None:
        worker, ended = None, threading.Event()
        begun.append(ended)
        try:
            while not stop.is_set():
                levels = wanted.get_nowait()
                if worker is None or not worker.is_alive:  # a compiler may crash
                    worker = Worker(device, enlist)
                asked = {"do": "build", "recipe": recipe.written(task, code, levels, numbers)}
                with suppress(Error):
                    worker.ask(asked, BUILD_S, "the build")
                    binding.declared(task, code, device, levels)
        except (queue.Empty, Error, OSError) as error:  # all is built, or no worker starts here
            let_through(error)
            return
        finally:
            if worker is not None:
                worker.close()
            ended.set()

    threads = [threading.Thread(target=build, daemon=True) for _ in range(count)]
    try:
        with suppressing(RuntimeError):  # there are no more threads: those that run build all
            for thread in threads:
                thread.start()
        for thread in threads:
            while thread.is_alive() and (until is None or time.monotonic() < until):  # a wait that Ctrl-C ends
                thread.join(0.1)
    finally:
        stop.set()
        for worker in [*held]:
            worker.close()  # ends what its thread waits for
        _wait_for(begun)


def _wait_for(begun: list[threading.Event]) -> None:
    """Waits until all threads have ended, and END_S seconds at most."""
    until = time.monotonic() + END_S
    for ended in [*begun]:  # not join: after Ctrl-C in one, Python 3.11 takes its thread for ended
        ended.wait(max(0.0, until - time.monotonic()))
