"""A microbenchmark as a problem: its data, the result it must write, and its plan on a device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, complete
from gpuopt.problem import BoundPlan, Problem, wants_own_inputs
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory
from gpuopt.workloads.microbench import reference as oracle


@checked
def microbenchmark(  # long: its arguments, and every field of a problem, each named once
    configuration: str | Configuration,
    dtype: str | np.dtype[Any] = "float32",
    bytes: int = 1 << 26,
    *,
    width: int = 0,
    trips: int = 1,
    seed: int = 0,
    device: Selector = None,
) -> Problem:
    """Return the problem of one microbenchmark at one size.

    Parameters
    ----------
    configuration
        A variant of ``gpuopt.variants("microbench")``, by name or with levels; the expected result depends on the
        levels.
    dtype
        That of the source, one of the variant's dtypes.
    bytes
        Size of the source array; rounded down to whole lines and elements (a multiple of 128 scalars), at least one.
    width
        Scalars in a line of a source with two dimensions; 0 takes the whole source as one line.
    trips
        Iterations of the loop, for kernels that have one.
    device
        Whose limits it must keep; see :func:`gpuopt.use`.

    Raises
    ------
    ParameterError
        For an unknown variant or level, sizes below 1, and one that does not fit the memory.
    UnsupportedError, NoDeviceError
        For what the device lacks; where there is none.

    Examples
    --------
    >>> problem = problems.microbenchmark("copy", bytes=4096)
    >>> problem.sizes, problem.inputs["source"].shape
    ({'bytes': 4096}, (1024,))
    """
    asked_for = _Asked.of(configuration, dtype, bytes, width, trips, device)
    exact, kind, elements, outputs = asked_for.exact, asked_for.dtype, asked_for.elements, asked_for.outputs
    asked_for.check()
    data = asked_for.source(seed)
    name, parameters = exact.variant, exact.parameters

    expected = oracle.expected(exact.variant, oracle.Case(data, width or elements, trips, exact.parameters, outputs))

    def prepare(asked: Configuration, device: Device) -> BoundPlan:
        if complete("microbench", asked) != exact:
            raise ParameterError(f"configuration: this problem is of {exact} only; make another for {asked}")
        out = _core.empty((outputs,), kind, device, True)

        def plan(store: bool, times: int = trips) -> _core.Prepared:
            source = _uploaded(data, device.index)
            return _core.prepare_microbench(
                source, out, width=width, trips=times, store=store, variant=name, parameters=parameters
            )

        timed, doubled = plan(False), plan(False, 2 * trips)
        loops = doubled.work != timed.work
        return BoundPlan(timed, out, proof=plan(True), doubled=doubled if loops else None)

    return Problem(
        workload="microbench",
        name=exact.variant,
        dtype=kind,
        sizes=sizes_of(exact, kind, bytes, width, trips),
        seed=seed,
        inputs={"source": data},
        reference=expected.values,
        tolerance=np.asarray(expected.tolerance),
        footprint_bytes=elements * kind.itemsize,
        prepare=prepare,
    )


def plan(
    configuration: Configuration,
    dtype: str | np.dtype[Any] = "float32",
    bytes: int = 1 << 26,
    *,
    width: int = 0,
    trips: int = 1,
    seed: int = 0,
    device: Selector = None,
) -> _core.Prepared:
    """Return what :func:`microbenchmark`'s plan times, on the same data and with an output of its own, unverified."""
    asked = _Asked.of(configuration, dtype, bytes, width, trips, device)
    out = _core.empty((asked.outputs,), asked.dtype, asked.device, True)
    source = _uploaded(asked.source(seed), asked.device.index)
    name, parameters = asked.exact.variant, asked.exact.parameters
    return _core.prepare_microbench(
        source, out, width=width, trips=trips, store=False, variant=name, parameters=parameters
    )


_MOST = 2**62  # scalars of a source


@checked
def sizes_of(exact: Configuration, dtype: str | np.dtype[Any], bytes: int, width: int, trips: int) -> dict[str, int]:
    """Return the sizes of :func:`microbenchmark`'s problem: ``bytes`` of whole lines and elements, ``width`` where the
    source has lines, ``trips`` where they are not one. Raises ParameterError where there is no such problem."""
    for name, value, least in (("bytes", bytes, 1), ("trips", trips, 1), ("width", width, 0)):
        if value < least:
            raise ParameterError(f"{name}: it is {value}; give a whole number of at least {least}")
    each = np.dtype(dtype).itemsize
    grain = math.lcm(128, max(width, 1), 2 * max(exact.parameters.get("WIDTH", 1), 1))
    elements = max(bytes // each // grain, 1) * grain
    if elements > _MOST:
        raise ParameterError(f"width: whole lines of {width} scalars make a source of {elements}; give fewer")
    return sizes_asked(elements * each, width, trips)


def sizes_asked(bytes: int, width: int, trips: int) -> dict[str, int]:
    """Return the numbers as a row's sizes, unchanged."""
    return {"bytes": bytes} | ({"width": width} if width else {}) | ({"trips": trips} if trips != 1 else {})


@dataclass(frozen=True)
class _Asked:
    """A microbenchmark at one size on one device: the configuration in full, and how many scalars it reads and
    writes."""

    exact: Configuration
    dtype: np.dtype[Any]
    elements: int
    outputs: int
    width: int
    device: Device

    @classmethod
    def of(
        cls,
        configuration: str | Configuration,
        dtype: str | np.dtype[Any],
        bytes: int,
        width: int,
        trips: int,
        device: Selector,
    ) -> _Asked:
        if isinstance(configuration, str):
            configuration = Configuration.parse(configuration)
        exact = complete("microbench", configuration)
        size = sizes_of(exact, dtype, bytes, width, trips)["bytes"]
        kind = np.dtype(dtype)
        elements = size // kind.itemsize
        chosen = select(device)
        variant, parameters = exact.variant, exact.parameters
        facts = _core.microbench_facts(
            chosen, kind, elements=elements, width=width, trips=trips, variant=variant, parameters=parameters
        )
        return cls(exact, kind, elements, int(facts["outputs"]), width, chosen)

    def check(self) -> None:
        """Raise ParameterError for a size that does not fit the memory."""
        source, written = self.elements * self.dtype.itemsize, self.outputs * self.dtype.itemsize
        needs = memory.Needs(host=source, device=source + written, largest=max(source, written))
        memory.check("bytes", f"a source of {source:,} bytes", needs, self.device, share=1.0)

    def source(self, seed: int) -> np.ndarray:
        own = self.exact.variant if oracle.has_own_source(self.exact.variant) else ""
        return _source(own, self.elements, self.width, self.dtype, seed)


_held_sources: dict[tuple[Any, ...], np.ndarray] = {}
_held_arrays: list[tuple[np.ndarray, int, DeviceArray]] = []


def _source(variant: str, elements: int, width: int, dtype: np.dtype[Any], seed: int) -> np.ndarray:
    """Return the source data. The latest are kept, since consecutive questions often use the same."""
    key = (variant, elements, width if variant else 0, dtype, seed)
    if key not in _held_sources:
        _held_sources.clear()
        made = oracle.source(variant, elements, width, dtype, np.random.default_rng(seed))
        made.flags.writeable = False  # the next question may get it, too
        _held_sources[key] = made
    return _held_sources[key]


def _uploaded(data: np.ndarray, index: int) -> DeviceArray:
    """Return the data on a device. The latest upload is kept, but for what wants inputs of its own."""
    if wants_own_inputs():
        return _core.to_device(data, _core.devices()[index])
    for held, on, array in _held_arrays:
        if held is data and on == index:
            return array
    _held_arrays.clear()
    array = _core.to_device(data, _core.devices()[index])
    _held_arrays.append((data, index, array))
    return array


def release() -> None:
    """Free the data that are kept for the next question."""
    _held_sources.clear()
    _held_arrays.clear()
