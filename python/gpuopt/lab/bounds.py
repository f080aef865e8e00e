"""How fast the device moves data at a problem's own footprint and cache state: the ceiling that a bound divides by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, Error, MismatchError, Prepared
from gpuopt.configuration import Configuration, complete
from gpuopt.lab.environment import llc_bytes
from gpuopt.lab.measure import batch_for

MIB = 1 << 20

# Shapes that some device likes best. The ceiling is the maximum over all: on an H200 "bandwidth" is 2777 to 4264 GB/s
# by shape.
_FAMILY: dict[str, tuple[Configuration, ...]] = {
    "cpu": tuple(
        Configuration(variant, WIDTH=width, ITEMS=items)
        for variant in ("read_chunks", "copy_chunks")
        for width in (8, 16)
        for items in (8, 64)
    ),
    "gpu": tuple(
        Configuration(variant, WIDTH=width, AHEAD=ahead)
        for variant in ("read", "copy")
        for width in (1, 2, 4)
        for ahead in (1, 4, 16)
    ),
}


def family(device: Device) -> tuple[Configuration, ...]:
    """The bandwidth kernels tried on a device of this type, each in full."""
    shapes = _FAMILY["cpu" if device.type == "cpu" else "gpu"]
    return tuple(complete("microbench", shape) for shape in shapes)


class BandwidthTest:
    """Read and copy kernels over one footprint: a read streams all of it, a copy half of it into the other half."""

    def __init__(self, device: Device, footprint_bytes: int, seed: int = 0) -> None:
        self.device = device
        half = max(footprint_bytes // 2 // 64 * 64, 4096)
        elements = half // 4
        # One random block, repeated: memory cannot compress it, and the host makes it in no time.
        block = np.random.default_rng(seed).uniform(0.5, 1.5, min(elements, MIB)).astype(np.float32)
        self.host_half = np.resize(block, elements)
        self.whole = _core.to_device(np.resize(block, 2 * elements), device)
        self.half = _core.to_device(self.host_half, device)
        self.target = _core.empty((elements,), np.dtype(np.float32), device, True)

    def prepare(self, configuration: Configuration) -> Prepared:
        """A timed plan; checked first, with the same kernel storing what it read. Raises MismatchError."""
        self._check(configuration)
        source = self.whole if configuration.variant.startswith("read") else self.half
        return _core.prepare_bandwidth(source, self.target, False, configuration.variant, configuration.parameters)

    def _check(self, configuration: Configuration) -> None:
        name, parameters = configuration.variant, configuration.parameters
        if name.startswith("read"):
            count = _core.read_sums(self.device, 2 * self.host_half.size, np.dtype(np.float32), name, parameters)
            target = _core.empty((count,), np.dtype(np.float32), self.device, True)
            _core.prepare_bandwidth(self.whole, target, True, name, parameters).run()
            got = float(target.to_numpy().sum(dtype=np.float64))
            wanted = 2 * float(self.host_half.sum(dtype=np.float64))
            if not abs(got - wanted) <= 1e-4 * wanted:
                raise MismatchError(f"{name}: its sums add up to {got:.9g}, the data to {wanted:.9g}")
        else:
            target = self.target
            target.fill_bytes(0xFF)
            _core.prepare_bandwidth(self.half, target, True, name, parameters).run()
            if not np.array_equal(target.to_numpy(), self.host_half):
                raise MismatchError(f"{name}: the copy differs from what was copied")
        if not target.guards_intact():
            raise MismatchError(f"{name}: the kernel wrote outside its output")

    def candidates(self) -> Iterator[tuple[Configuration, Prepared, float]]:
        """Each shape that runs here, with its plan and a quick rate in GB/s."""
        for configuration in family(self.device):
            try:
                prepared = self.prepare(configuration)
                batch = batch_for(prepared, self.device.timer_ns)
                best_ms = min(prepared.sample(5, batch)["device_ms"])
            except Error:  # a shape this device refuses is no ceiling; the others stand
                continue
            if best_ms > 0:
                yield configuration, prepared, prepared.work["bytes"]["dram"] / best_ms * 1e-6


@cache
def last_level_cache_bytes(device_index: int) -> int:
    """Size of the device's last-level cache, 0 where none shows.

    A CPU's operating system knows it. A GPU's is found by reading ever larger working sets: the OpenCL query is not it
    (on an H200 it says 4.1 MiB, the cache is 50-60 MB). It is the largest one read more than 15 % faster than memory,
    which over-estimates: working sets that are partly held count too (128 MiB on that H200, 2026-11).
    """
    device = _core.devices()[device_index]
    if device.type == "cpu":
        return llc_bytes() or 0
    wanted = [size * MIB for size in (8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)]
    sizes = [size for size in wanted if 3 * size < device.global_bytes]

    def best_ms(size: int) -> float:
        """The fastest read of this size; a launch is a good part of it where the cache is fast."""
        rates = [
            rate for shape, _, rate in BandwidthTest(device, size).candidates() if shape.variant.startswith("read")
        ]
        return size / max(rates) * 1e-6 if rates else 0.0

    launch_ms = best_ms(MIB // 16)
    times = {size: best_ms(size) - launch_ms for size in sizes}
    memory = sizes[-1] / times[sizes[-1]] if times[sizes[-1]] > 0 else 0.0
    return max((size for size in sizes if times[size] * 1.15 * memory < size), default=0) if memory else 0


def cache_state(device: Device, footprint_bytes: int) -> str:
    """``"large"`` when repeated runs cannot live in the cache (8 times its size), else ``"hot"``."""
    return "large" if footprint_bytes >= 8 * last_level_cache_bytes(device.index) else "hot"


def bounding_memory(device: Device, footprint_bytes: int, state: str) -> str:
    """What the ceilings measured at this footprint are ceilings of: ``"llc"`` (the last-level cache) or ``"dram"``."""
    return "llc" if state == "hot" and footprint_bytes <= last_level_cache_bytes(device.index) else "dram"


def flusher(device: Device) -> Callable[[], None]:
    """A function that empties the caches of anything useful: it copies, then reads twice the last-level cache, so that
    no dirty line is left for the next sample to pay for."""
    test = BandwidthTest(device, 4 * (last_level_cache_bytes(device.index) or 64 * MIB))
    plans: dict[str, Prepared] = {}
    for configuration, prepared, _ in test.candidates():
        plans.setdefault(configuration.variant.split("_")[0], prepared)

    def flush() -> None:
        for kind in ("copy", "read"):
            if kind in plans:
                plans[kind].run()

    return flush
