"""One clock for all that is held against each other, chosen once and for all of them together.

A target that is near the limit of a clock would fall now on one side of it, now on the other, and two clocks tell
different times: a batch holds the gaps between runs, 1 to 10 % of a short kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpuopt._core import ParameterError, Prepared
from gpuopt.lab.timing import samplers
from gpuopt.lab.timing.fields import Clock
from gpuopt.lab.timing.samplers import LONG_MS, Sampler

ByClock = Callable[[Clock], Sampler]  # the sampler of something by a clock, the host's ("wall") too


def device_clocks(prepared: Prepared, step_ns: float, flush: Callable[[], None] | None) -> ByClock:
    """The samplers of a plan, which may lie in another process. Raises ParameterError where it has no work-items."""
    if not any(all(step["global_size"]) for step in prepared.kernels):
        raise ParameterError("sizes: no work-items are launched for these, so that there is no time; give larger ones")

    def by_clock(clock: Clock) -> Sampler:
        if clock == "wall":
            return samplers.wall_sampler(prepared.run, flush, getattr(prepared, "host_times", None))
        return samplers.device_sampler(prepared, step_ns, flush, clock)

    return by_clock


def before_each(flush: Callable[[], None] | None, restore: Callable[[], None] | None) -> Callable[[], None] | None:
    """What goes before each sample: the data of a plan that changes what it reads are restored, then caches flushed."""
    if restore is None or flush is None:
        return restore or flush
    both = (restore, flush)

    def before() -> None:
        for one in both:
            one()

    return before


def once_ms(sampler: Sampler) -> float:
    """The time of a run: the median of three after a first one, or of a long run the first."""
    first = sampler.take(1)
    return float(np.median(first if first[0] > LONG_MS else sampler.take(3)))


def common_clock(timed: Sequence[Sampler], once: Sequence[float]) -> Clock:
    """The clock for all that these samplers of device clocks time, ``once`` being the times of a run in ms. Where one
    of them had to take the host's, so must the others; a flush lies between the runs of a cold measurement, which are
    never timed together."""
    if any(sampler.clock == "wall" for sampler in timed):
        return "wall"
    clock = samplers.clock_for(once, max((sampler.step_ns for sampler in timed), default=0.0))
    return "event" if clock == "batch" and any(sampler.flushed for sampler in timed) else clock


def alone(by_clock: ByClock, kept: Clock | None = None) -> Sampler:
    """The sampler of what is held against nothing else, by the clock ``kept`` from an earlier run or its own."""
    if kept is not None:
        return by_clock(kept)
    events = by_clock("event")
    clock = common_clock([events], [once_ms(events)])
    return events if clock == events.clock else by_clock(clock)
