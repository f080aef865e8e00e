"""What else the machine does while a sweep measures: other programs, the host of a virtual machine, a CPU quota, other
processes on the GPU, clocks that are held down.

The processor is looked at between visits alone, so that nothing of ours runs beside a timed kernel on it; a GPU's
clocks are read during visits, in a thread that lives as long as the visit. Nothing here raises: what cannot be read is
None.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TypeVar

from gpuopt import host_memory
from gpuopt._core import Device
from gpuopt.lab.device.environment import clocks_now, device_state, gpu_processes, is_throttled
from gpuopt.lab.rows.conditions import lines
from gpuopt.lab.rows.facts import DeviceState
from gpuopt.lab.rows.refusals import Conditions, bounds_remark, refusal
from gpuopt.signals import let_through, suppressing

__all__ = ["Conditions", "Sampler", "bounds_remark", "lines", "refusal"]

_ROOT = Path("/")  # tests put a made-up /proc and /sys here

EVERY_S = 0.02  # between two readings of a GPU's clocks
LOOKS_S = 0.1  # between two counts of threads
SHORTEST_S = 0.2  # a window in which /proc/stat's hundredths of a second say something

# Processes in which people's kernels run for us, and the index of each one's device: what they take is ours.
OWN_PROCESSES: dict[int, int] = {}

Taken = TypeVar("Taken")


class Sampler:
    """Says how busy the machine was, from one :meth:`note` to the next, and how the device was during a visit.

    ``state`` reads the device's clocks once.
    """

    def __init__(self, device: Device | None, state: Callable[[], DeviceState] | None = None) -> None:
        self.device = device
        self._state = state or (lambda: device_state(device))
        self._on_host = getattr(device, "type", None) == "cpu"
        self._before: _Counters | None = None
        self._runnable: list[float] = []
        self._last: DeviceState = {}
        self._looked_s = -LOOKS_S
        with suppressing(Exception):
            self._before = _Counters.now()

    def note(self) -> DeviceState:
        """What the host did since the last note: before the first block, after each, after the last. Of a window too
        short to tell, what the last note said."""
        with suppressing(Exception):  # a machine whose /proc is unlike others must not end a sweep
            self._look()
            now = _Counters.now()
            before = self._before or now
            if now.at_s - before.at_s >= SHORTEST_S or not self._last:
                self._last = {
                    "load1": _load1(),
                    "others_load": _others_load(before, now, self._runnable),
                    "steal_pct": now.steal_pct(before),
                    "quota_pct": now.quota_pct(before),
                    "gpu_others": None if self._on_host else other_gpu_processes(self.device),
                }
                self._before, self._runnable = now, []
        return self._last

    def watched(self, visit: Callable[[], Taken]) -> tuple[Taken, DeviceState]:
        """What a visit gives, and the device's state during it. A throttled visit is taken again, once. Raises what the
        visit raises."""
        taken, state = self._watched_once(visit)
        return self._watched_once(visit) if is_throttled([state]) else (taken, state)

    def _watched_once(self, visit: Callable[[], Taken]) -> tuple[Taken, DeviceState]:
        self._look()
        throttles = _cpu_throttles() if self._on_host else 0
        seen: list[DeviceState] = []
        with _clocks_read(self.device, seen):
            taken = visit()
        state = self._state()
        if self._on_host and _cpu_throttles() > throttles:
            state = state | {"throttle": "thermal"}
        return taken, _over_visit(state, seen)

    def _look(self) -> None:
        """Counts the threads of others that run or wait now, while our own rest; not after each of many short visits,
        since it asks each thread of ours for its state."""
        with suppressing(Exception):
            now = time.monotonic()
            if now - self._looked_s < LOOKS_S:
                return
            self._looked_s = now
            if (waiting := _others_runnable()) is not None:
                self._runnable.append(waiting)


def _over_visit(state: DeviceState, seen: list[DeviceState]) -> DeviceState:
    """The state after a visit, with the middle clock of the readings during it and every reason to throttle."""
    clocks = [mhz for reading in seen if (mhz := reading.get("core_mhz"))]
    told = [reading.get("throttle") for reading in [*seen, state]]
    words = dict.fromkeys(word for each in told if each not in (None, "none") for word in str(each).split("+"))
    if clocks:
        state = state | {"core_mhz": median(clocks)}
    return state | {"throttle": "+".join(words)} if words else state


@contextmanager
def _clocks_read(device: Device | None, seen: list[DeviceState]) -> Iterator[None]:
    """Reads a GPU's clock and reasons to throttle every 20 ms into ``seen``, in a thread that ends with the block; does
    nothing for what has none to read."""
    readable = False
    with suppressing(Exception):
        readable = clocks_now(device) is not None
    if not readable:
        yield
        return
    over, is_reading = threading.Event(), False

    def read() -> None:
        with suppressing(Exception):
            while not over.is_set():
                if (now := clocks_now(device)) is not None:
                    seen.append(now)
                over.wait(EVERY_S)

    thread = threading.Thread(target=read, name="gpuopt-clocks", daemon=True)
    with suppressing(RuntimeError):  # there are no more threads
        thread.start()
        is_reading = True
    try:
        yield
    finally:
        over.set()
        if is_reading:
            thread.join(timeout=1.0)


# ---------------------------------------------------------------- the host


@dataclass(frozen=True)
class _Counters:
    """Seconds that the system has counted so far, over the processor's cores that this process may use."""

    at_s: float
    busy_s: float | None
    steal_s: float | None
    total_s: float | None
    own_s: float
    held_s: float | None
    cores: int

    @classmethod
    def now(cls) -> _Counters:
        busy, steal, total = _core_seconds(_usable())
        children = os.times()
        own = time.process_time() + children.children_user + children.children_system
        own += sum(map(_seconds_of, tuple(OWN_PROCESSES)))  # which threads change
        return cls(time.monotonic(), busy, steal, total, own, _held_back_s(), len(_usable()))

    def steal_pct(self, before: _Counters) -> float | None:
        if self.steal_s is None or before.steal_s is None or self.total_s is None or before.total_s is None:
            return None
        passed = self.total_s - before.total_s
        return max(0.0, 100 * (self.steal_s - before.steal_s) / passed) if passed > 0 else None

    def quota_pct(self, before: _Counters) -> float | None:
        if self.held_s is None or before.held_s is None or self.at_s <= before.at_s:
            return None
        return max(0.0, 100 * (self.held_s - before.held_s) / (self.at_s - before.at_s))

    def others(self, before: _Counters) -> float | None:
        """What programs other than ours took of the cores, from 0 to 1."""
        if self.busy_s is None or before.busy_s is None or self.at_s <= before.at_s:
            return None
        taken = self.busy_s - before.busy_s - (self.own_s - before.own_s)
        return max(0.0, taken / (self.at_s - before.at_s) / self.cores)


def _others_load(before: _Counters, now: _Counters, runnable: list[float]) -> float | None:
    """Threads of others, a core: what they took, or where more of them waited, those that ran or waited.

    Who competes with us for the cores gets a part of them alone: two endless loops beside our two threads take half of
    two cores, but want all.
    """
    took = now.others(before)
    wanted = fmean(runnable) / now.cores if runnable else None
    known = [value for value in (took, wanted) if value is not None]
    return max(known, default=None)


def _usable() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _core_seconds(cores: set[int]) -> tuple[float, float, float] | tuple[None, None, None]:
    """Seconds busy, stolen and in all of these cores, summed, from /proc/stat; None where it does not tell."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    busy = steal = total = 0.0
    found = False
    for line in (host_memory.text_of(_ROOT / "proc/stat") or "").splitlines():
        name, *counts = line.split()
        if not (name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in cores and len(counts) >= 8):
            continue
        user, nice, system, idle, iowait, irq, softirq, stolen = (tick * int(count) for count in counts[:8])
        working = user + nice + system + irq + softirq
        busy, steal, total = busy + working, steal + stolen, total + working + stolen + idle + iowait
        found = True
    return (busy, steal, total) if found else (None, None, None)


def _load1() -> float | None:
    text = host_memory.text_of(_ROOT / "proc/loadavg")
    return float(text.split()[0]) if text else None


def _others_runnable() -> float | None:
    """Threads of other programs that run or wait for a core now. None where others may use cores that we may not: then
    nobody can tell whose they are."""
    if len(_usable()) < (os.cpu_count() or 1):
        return None
    before = _own_runnable()
    text = host_memory.text_of(_ROOT / "proc/loadavg")
    if not text:
        return None
    running = int(text.split()[3].partition("/")[0])
    own = max(1, before, _own_runnable())  # a runtime's threads spin a while after a kernel, and then sleep
    return float(max(0, running - own))


def other_gpu_processes(device: Device | None) -> int | None:
    """How many processes have kernels or memory on an NVIDIA GPU beside this one and those that work for it; None for
    what nobody can tell of."""
    found, ours = gpu_processes(device), tuple(OWN_PROCESSES.values())
    return None if device is None or found is None else max(0, found - ours.count(device.index))


def _own_runnable() -> int:
    """Threads of this process and of those that work for it that run or wait now."""
    running = 0
    for process in ("self", *map(str, tuple(OWN_PROCESSES))):
        threads = os.path.join(_ROOT, "proc", process, "task")
        with suppressing(OSError):  # a process that has ended
            running += sum(_state_of(f"{threads}/{thread}/stat") == b"R" for thread in os.listdir(threads))
    return running


def _state_of(path: str) -> bytes:
    """The letter of a thread's state; nothing of one that has ended. There may be hundreds to ask."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        let_through(error)
        return b""
    try:
        return os.read(descriptor, 4096).rpartition(b")")[2].strip()[:1]
    except OSError as error:
        let_through(error)
        return b""
    finally:
        os.close(descriptor)


def _seconds_of(process: int) -> float:
    """What a process and those that it has waited for have taken of the cores."""
    ticks = _stat_of(_ROOT / "proc" / str(process) / "stat")[11:15]
    return sum(int(count) for count in ticks) / os.sysconf("SC_CLK_TCK")


def _stat_of(path: Path) -> list[str]:
    """The fields behind the name, of a process or a thread; none of one that has ended."""
    return (host_memory.text_of(path) or "").rpartition(")")[2].split()


def _held_back_s() -> float | None:
    """Seconds for which a quota of the process's control groups has held it back, the most of them all."""
    held = []
    for folder in host_memory.control_groups():
        text = host_memory.text_of(folder / "cpu.stat") or ""
        counts = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) == 2)
        for name, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
            held += [unit * int(counts[name])] if name in counts else []
    return max(held, default=None)


def _cpu_throttles() -> int:
    """How often some of the cores that we may use, and their packages, have been slowed down for heat, since the
    machine started."""
    count = 0
    usable = sorted(_usable())
    if not (_ROOT / f"sys/devices/system/cpu/cpu{usable[0]}/thermal_throttle").is_dir():
        return 0
    for core in usable[:: -(-len(usable) // 8)]:  # a package's count is that of all its cores
        for name in ("core_throttle_count", "package_throttle_count"):
            at = _ROOT / f"sys/devices/system/cpu/cpu{core}/thermal_throttle/{name}"
            text = host_memory.text_of(at) or ""
            count += int(text) if text.isdecimal() else 0
    return count
