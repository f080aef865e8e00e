"""How fast the device moves data at a given footprint: the ceiling that a bound divides by."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from gpuopt import _core, host_memory
from gpuopt._core import Device, DeviceArray, DeviceMemoryError, Error, MismatchError, OpenCLError, Prepared
from gpuopt.configuration import Configuration, complete
from gpuopt.lab.timing.samplers import NO_TIMER, device_sampler, event_clock_runs

MIB = 1 << 20

# Shapes that some device likes best. The ceiling is the maximum over all: on an H200 "bandwidth" is 2777 to 4264 GB/s
# by shape.
_FAMILY: dict[str, tuple[Configuration, ...]] = {
    "cpu": (
        *(
            Configuration("read_chunks", WIDTH=16, ITEMS=items, AHEAD=ahead)
            for items in (8, 64, 512)
            for ahead in (4, 8)
        ),
        *(Configuration("copy_chunks", WIDTH=width, ITEMS=items) for width in (8, 16) for items in (8, 64)),
    ),
    "gpu": tuple(
        Configuration(variant, WIDTH=width, AHEAD=ahead)
        for variant, aheads in (("read", (4, 16)), ("copy", (1, 4, 16)))
        for width in (1, 2, 4)
        for ahead in aheads
    ),
}


def family(device: Device) -> tuple[Configuration, ...]:
    """The bandwidth kernels tried on a device of this type, each in full."""
    shapes = _FAMILY["cpu" if device.type == "cpu" else "gpu"]
    return tuple(complete("microbench", shape) for shape in shapes)


def affordable_bytes(device: Device) -> int:
    """The largest footprint that a :class:`BandwidthTest` can have here now, a fifth of what is free left alone."""
    free = int(0.8 * (device.global_bytes - device.allocated_bytes))
    largest = min(device.max_alloc_bytes, free // 2)
    host = host_memory.free_bytes()
    if host is not None:  # copies are read back there; a device may share that memory
        largest = min(largest, int(0.8 * host) // (4 if device.unified_memory or device.type == "cpu" else 2))
    return max(largest, 0)


class BandwidthTest:
    """Read and copy kernels over one footprint: a read streams all of it, a copy half of it into the other half.

    Takes twice the footprint. ``notes`` receives what a kernel computed wrongly.
    """

    def __init__(self, device: Device, footprint_bytes: int, notes: list[str] | None = None, seed: int = 0) -> None:
        self.device = device
        self.notes = notes if notes is not None else []
        half = max(footprint_bytes // 2 // 64 * 64, 4096)
        self.footprint_bytes = footprint_bytes
        elements = half // 4
        # One random block, repeated: memory cannot compress it, and the host makes and sends it quickly.
        self.block = np.random.default_rng(seed).uniform(0.5, 1.5, min(elements, MIB)).astype(np.float32)
        single = np.dtype(np.float32)
        self.whole, self.half = (_core.empty((count,), single, device) for count in (2 * elements, elements))
        for array in (self.whole, self.half):
            array.fill_repeated(self.block)
        self.target = _core.empty((elements,), single, device, True)

    def _sum(self) -> float:
        """Of the whole, in fp64."""
        times, rest = divmod(self.whole.shape[0], self.block.size)
        return float(times * self.block.sum(dtype=np.float64) + self.block[:rest].sum(dtype=np.float64))

    def _is_copied(self) -> bool:
        """Whether the target holds what is copied."""
        got, size = self.target.to_numpy(), self.block.size
        return all(
            np.array_equal(part := got[at : at + size], self.block[: part.size]) for at in range(0, got.size, size)
        )

    @classmethod
    def fitting(cls, device: Device, footprint_bytes: int, notes: list[str]) -> BandwidthTest:
        """The test of this footprint, or of the largest that the memory has room for; ``notes`` says so."""
        size = min(footprint_bytes, affordable_bytes(device))
        while True:
            try:
                test = cls(device, size, notes)
                break
            except (DeviceMemoryError, OpenCLError):  # drivers keep some of what they call free
                if size < MIB:
                    raise
                size //= 2
        if size < footprint_bytes:
            notes.append(
                f"bandwidth was measured over {size / 1e6:.4g} MB instead of "
                f"{footprint_bytes / 1e6:.4g} MB: no more fits beside what is in the memory"
            )
        return test

    def prepare(self, configuration: Configuration) -> Prepared:
        """A timed plan; checked first, with the same kernel storing what it read. Raises MismatchError."""
        self._check(configuration)
        source = self.whole if configuration.variant.startswith("read") else self.half
        return self._plan(source, self.target, False, configuration)

    def of_source(self, configuration: Configuration, source: DeviceArray) -> Prepared:
        """A read of somebody else's array, which is taken as the float32 it holds; checked on this test's own data."""
        return self._plan(source, self.target, False, configuration)

    @staticmethod
    def _plan(source: DeviceArray, to: DeviceArray, store: bool, configuration: Configuration) -> Prepared:
        name, parameters = configuration.variant, configuration.parameters
        return _core.prepare_microbench(source, to, width=0, trips=1, store=store, variant=name, parameters=parameters)

    def _check(self, configuration: Configuration) -> None:
        name, parameters = configuration.variant, configuration.parameters
        if name.startswith("read"):
            single, size = np.dtype(np.float32), self.whole.shape[0]
            facts = _core.microbench_facts(
                self.device, single, elements=size, width=0, trips=1, variant=name, parameters=parameters
            )
            count = facts["outputs"]
            target = _core.empty((count,), single, self.device, True)
            self._plan(self.whole, target, True, configuration).run()
            got = float(target.to_numpy().sum(dtype=np.float64))
            if not abs(got - (wanted := self._sum())) <= 1e-4 * wanted:
                raise MismatchError(f"{name}: its sums add up to {got:.9g}, the data to {wanted:.9g}")
        else:
            target = self.target
            target.fill_bytes(0xFF)
            self._plan(self.half, target, True, configuration).run()
            if not self._is_copied():
                raise MismatchError(f"{name}: the copy differs from what was copied")
        if not target.guards_intact():
            raise MismatchError(f"{name}: the kernel wrote outside its output")

    def any_plan(self) -> Prepared:
        """A plan of the first shape that runs here. Raises Error where none does."""
        for configuration in family(self.device):
            try:
                return self.prepare(configuration)
            except Error:
                continue
        raise Error(f"no bandwidth kernel runs on {self.device.name}")

    def candidates(self, kind: str = "") -> Iterator[tuple[Configuration, Prepared, float]]:
        """Each shape that runs here, with its plan and a quick rate in GB/s; ``kind`` is ``"read"`` or ``"copy"`` where
        the others are not wanted."""
        step_ns = clock_step_ns(self.device.index)
        for configuration in family(self.device):
            if not configuration.variant.startswith(kind):
                continue
            try:
                prepared = self.prepare(configuration)
                best_ms = min(device_sampler(prepared, step_ns).take(5))
            except MismatchError as error:
                self.notes.append(f"the bandwidth kernel {configuration} is wrong here and was left out: {error}")
                continue
            except Error:  # a shape this device refuses is no ceiling; the others stand
                continue
            if best_ms > 0:
                yield configuration, prepared, prepared.work["bytes"]["dram"] / best_ms * 1e-6


@cache
def clock_step_ns(device_index: int) -> float:
    """The step of the device's event clock in ns: the least distance between the times of many equal short kernels.

    What the driver says may be far off (an H200 says 1000 ns and steps by 32, 2026-11); it stands where no two times
    differ. ``NO_TIMER`` for a clock that shows no time: one that always says the same, or runs backwards.
    """
    device = _core.devices()[device_index]
    try:
        plan = BandwidthTest(device, 0).any_plan()
        times = plan.sample(200)["device_ms"]
        if not event_clock_runs(plan, times):
            return NO_TIMER
    except Error:
        times = []
    steps = np.diff(np.unique(np.rint(np.array(times) * 1e6)))
    return float(steps.min()) if steps.size else float(device.timer_ns)


def timer_notes(device: Device) -> list[str]:
    """What the readers of this device's times must know of its clock."""
    if clock_step_ns(device.index) != NO_TIMER:
        return []
    return [
        f"the event timer of {device.name} shows no time: all times are by the host's clock, of batches of runs, and "
        "hold the host's part of a launch"
    ]
