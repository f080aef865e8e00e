"""The last-level cache: its size, whether a working set stays in it, and how to empty it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gpuopt import _core
from gpuopt._core import Device, Error, Prepared
from gpuopt.lab.device.bandwidth import MIB, BandwidthTest, affordable_bytes
from gpuopt.lab.device.environment import llc_bytes
from gpuopt.lab.rows.row_fields import CacheState


@dataclass(frozen=True)
class CacheSize:
    """The size of a last-level cache, None where it is unknown; ``notes`` say why."""

    bytes: int | None
    notes: tuple[str, ...] = ()


SMALLEST = 8 * MIB  # the least working set that a GPU's cache is looked for with


@cache
def last_level_cache(device_index: int) -> CacheSize:
    """The size of the device's last-level cache; 0 bytes where the measurement shows none.

    A CPU's operating system knows it. A GPU's is found by reading ever larger working sets: the OpenCL query is not it
    (on an H200 it says 4.1 MiB, the cache is 50-60 MB). It is the largest one read more than 15 % faster than memory,
    which over-estimates: working sets that are partly held count too (128 MiB on that H200, 2026-11).
    """
    device = _core.devices()[device_index]
    if device.type == "cpu":
        return CacheSize(llc_bytes())
    from gpuopt.lab.device import profile

    known = profile.stored(device)
    if known is not None and known.last_level_cache_bytes:
        return CacheSize(known.last_level_cache_bytes)
    notes: list[str] = []
    launch_ms = _read_ms(device, MIB // 16, notes) or 0.0
    times: dict[int, float] = {}
    for size in (SMALLEST, *(size * MIB for size in (16, 24, 32, 48, 64, 96, 128, 256, 512, 1024))):
        if size <= affordable_bytes(device) and (read_ms := _read_ms(device, size, notes)) is not None:
            times[size] = read_ms - launch_ms
    largest = max(times, default=0)
    if not largest or times[largest] <= 0:
        return CacheSize(None, tuple(notes))
    memory = largest / times[largest]
    return CacheSize(max((size for size in times if times[size] * 1.15 * memory < size), default=0), tuple(notes))


def _read_ms(device: Device, size: int, notes: list[str]) -> float | None:
    """Milliseconds of the fastest read of this size, None where none ran. Of a small size, the launch is much of it."""
    try:
        rates = [rate for _, _, rate in BandwidthTest(device, size, notes).candidates("read")]
    except Error as error:
        notes.append(f"the cache was not looked for with {size // MIB} MiB: {error}")
        return None
    return size / max(rates) * 1e-6 if rates else None


def cache_state(device: Device, footprint_bytes: int, notes: list[str]) -> CacheState:
    """``"large"`` when repeated runs cannot live in the cache (8 times its size), else ``"hot"``."""
    found = last_level_cache(device.index)
    notes += [note for note in found.notes if note not in notes]
    if found.bytes is None:
        notes.append(f"the size of {device.name}'s last-level cache is unknown: rows say hot, whatever their footprint")
        return "hot"
    return "large" if footprint_bytes >= 8 * max(found.bytes, SMALLEST * (device.type != "cpu")) else "hot"


def flusher(device: Device, notes: list[str]) -> Callable[[], None]:
    """A function that flushes the caches. It copies, then reads twice the last-level cache: the read leaves no dirty
    line whose write-back the next sample would have to wait for."""
    test = BandwidthTest.fitting(device, 4 * (last_level_cache(device.index).bytes or 64 * MIB), notes)
    plans: dict[str, Prepared] = {}
    for configuration, prepared, _ in test.candidates():
        plans.setdefault(configuration.variant.split("_")[0], prepared)

    def flush() -> None:
        for kind in ("copy", "read"):
            if kind in plans:
                plans[kind].run()

    return flush
