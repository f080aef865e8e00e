"""Programs built by several processes before a sweep needs them, by way of the cache of programs, which a worker reads.

Building takes most of the time that a configuration costs beside its samples, and a driver builds on one core. Nothing
is timed meanwhile."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from contextlib import suppress

from gpuopt._core import Device, Error
from gpuopt.lab.kernels import binding, recipe
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Numbers, Task
from gpuopt.lab.kernels.worker import Worker

MOST = 4  # processes: each takes a driver's memory
FEWEST = 8  # programs: for fewer, starting processes takes longer than they save
BUILD_S = 60.0


def builders() -> int:
    """How many processes build at once: half of the cores that this one may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return min(MOST, cores // 2)


def build_ahead(device: Device, task: Task, code: Code, numbers: Numbers, all_levels: Sequence[Levels]) -> None:
    """Builds a kernel at these levels, as far as it was not built in this process before. What does not build is not
    told here: its own plan raises that."""
    wanted: queue.SimpleQueue[Levels] = queue.SimpleQueue()
    fresh = [levels for levels in all_levels if not binding.is_declared(task, code, device, levels)]
    for levels in fresh:
        wanted.put(levels)
    count = min(builders(), len(fresh))
    if count < 2 or len(fresh) < FEWEST:
        return
    held: list[Worker] = []
    stop = threading.Event()

    def build() -> None:
        worker = None
        while not stop.is_set():
            with suppress(Error, queue.Empty):
                levels = wanted.get_nowait()
                if worker is None or not worker.is_alive:  # a compiler may crash
                    worker = Worker(device)
                    held.append(worker)
                asked = {"do": "build", "recipe": recipe.written(task, code, levels, numbers)}
                worker.ask(asked, BUILD_S, "the build")
                binding.declared(task, code, device, levels)
                continue
            if wanted.empty():
                return

    threads = [threading.Thread(target=build, daemon=True) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a wait that Ctrl-C ends
                thread.join(0.1)
    finally:
        stop.set()
        for worker in held:
            worker.close()
