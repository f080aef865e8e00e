"""The worker's side: builds, runs and times kernels that it is told of, in a process that may be killed at any moment.

Started by :mod:`gpuopt.lab.kernels.worker` as ``python -m gpuopt.lab.kernels.serve SOCKET ALIVE``, two inherited
descriptors. It knows no reference, and what a kernel prints goes to its own standard output."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, Error
from gpuopt.lab.kernels import binding, recipe
from gpuopt.lab.kernels.binding import Plan
from gpuopt.lab.kernels.checks import WrongResultError
from gpuopt.lab.kernels.frames import NO_MEMORY_EXIT, ClosedError, receive, send
from gpuopt.lab.timing import samplers
from gpuopt.selection import select

Arrays = dict[str, Any]


class Bench:
    """The plans of one device, by number."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.plans: dict[int, Plan] = {}

    def answer(self, asked: dict[str, Any], arrays: Arrays) -> tuple[Any, Arrays]:
        """What is answered. Raises what the work raises."""
        does, number = asked["do"], asked.get("plan", -1)
        if does == "load":
            return self.load(number, asked, arrays), {}
        if does == "build":
            return self.build(asked), {}
        if does == "drop":
            return self.plans.pop(number, None) is not None, {}
        plan = self.plans[number]
        prepared, memory = plan.prepared, plan.memory
        if does == "run":
            prepared.run()
            return None, {}
        if does == "repeat":
            samplers.repeat(prepared, asked["count"])
            return None, {}
        if does == "host":
            return samplers.host_times(prepared.run, asked["count"], memory.restore if asked["restored"] else None), {}
        if does == "sample" and asked["restored"]:
            return restored_samples(plan, asked["count"]), {}
        if does == "sample":
            return prepared.sample(asked["count"], asked["batch"], asked["period"]), {}
        if does == "ready":
            memory.ready(asked["seed"], asked["keep_scratch"], asked["inverted"])
            return None, {}
        if does == "restore":
            memory.restore()
            return None, {}
        if does == "give":
            memory.give(arrays)
            return None, {}
        if does == "take":
            memory.check_beside()
            return None, memory.taken()
        if does == "changes":
            return memory.changes_itself(prepared.run), {}
        if does == "code":
            code = prepared.code(asked["step"])
            binary = np.frombuffer(b"" if code is None else code.pop("binary"), np.uint8)
            return code, {"binary": binary}
        if does == "relocate":
            return prepared.relocate(asked["pad_bytes"]), {}
        raise Error(f"the worker does not know {does!r}")

    @property
    def is_lost(self) -> bool:
        """Whether the driver has given up this process's context, as a GPU's does after an access to no memory."""
        try:
            _core.to_device(np.zeros(16, np.float32), self.device, False).to_numpy()
        except Error:
            return True
        return False

    def build(self, asked: dict[str, Any]) -> int:
        """Builds a program into the cache, and checks what is declared of its kernels; how many these are."""
        task, code, levels, _ = recipe.read(asked["recipe"])
        return len(binding.built(task, code, self.device, levels).kernels)

    def load(self, number: int, asked: dict[str, Any], arrays: Arrays) -> Any:
        """Builds and binds a plan; what is known of its kernels."""
        task, code, levels, numbers = recipe.read(asked["recipe"])
        if asked["declared"]:
            binding.declared(task, code, self.device, levels)
        made = binding.plan(task, code, self.device, levels, numbers, arrays)
        self.plans[number] = made
        return {"kernels": made.prepared.kernels, "work": made.prepared.work, "main_step": made.prepared.main_step}


def restored_samples(plan: Plan, count: int) -> dict[str, list[float]]:
    """So many samples of single runs, each of restored memory."""
    found: dict[str, list[float]] = {}
    for _ in range(count):
        plan.memory.restore()
        for name, values in plan.prepared.sample(1).items():
            found.setdefault(name, []).extend(values)
    return found


def told(error: Exception) -> dict[str, Any]:
    """An error as JSON."""
    facts: dict[str, Any] = {"error": type(error).__name__, "says": str(error)[:4000]}
    if isinstance(error, WrongResultError):
        facts["word"] = error.word
        facts["says"] = str(error).removeprefix(f"{error.word}: ")
    for name in ("because", "log", "file", "line", "call", "code", "name"):
        if isinstance(value := getattr(error, name, None), (str, int)):
            facts[name] = value[:4000] if isinstance(value, str) else value
    return facts


def main() -> None:
    """Answers until the other side is gone, or the host's memory does not hold a message."""
    try:
        serve()
    except MemoryError:  # half a message may be read or written: there is no other answer
        os._exit(NO_MEMORY_EXIT)


def serve() -> None:
    """The same. Raises MemoryError."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    channel = socket.socket(fileno=int(sys.argv[1]))
    alive = int(sys.argv[2])

    def end_with_parent() -> None:
        os.read(alive, 1)  # until the parent's end is closed, by its death too
        os._exit(0)  # whatever the main thread is stuck in

    threading.Thread(target=end_with_parent, daemon=True).start()
    bench: Bench | None = None
    while True:
        try:
            asked, arrays = receive(channel)
        except ClosedError:
            os._exit(0)
        try:
            if asked["do"] == "open":
                bench = Bench(select(asked["device"]))
                answer, back = bench.device.key, Arrays()
            else:
                assert bench is not None
                answer, back = bench.answer(asked, arrays)
            reply: dict[str, Any] = {"answer": answer}
        except Exception as error:
            reply, back = told(error), Arrays()
            reply["lost"] = isinstance(error, Error) and bench is not None and bench.is_lost
        sys.stdout.flush()
        try:
            send(channel, reply, back)
        except ClosedError:
            os._exit(0)


if __name__ == "__main__":
    main()
