"""What a comparison holds everything against: the baseline by the comparison's clock, its clone, and the baseline by
the host's clock for calls and peers that know no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpuopt.lab.run import clocks
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Clock
from gpuopt.signals import let_through


def baseline_of(candidates: Sequence[Candidate]) -> Candidate:
    """The first variant that is a preset, else the first variant."""
    ours = [candidate for candidate in candidates if candidate.role == "variant"]
    return next((candidate for candidate in ours if candidate.fields.get("preset")), ours[0])


def settle_clock(
    candidates: Sequence[Candidate], kept: Clock | None, failed: Callable[[Candidate, Exception], None]
) -> None:
    """Gives all candidates that the device times one clock: the ``kept`` one, else what fits all of them. ``failed`` is
    told of a candidate that raises."""
    timed = [candidate for candidate in candidates if candidate.by_clock is not None]
    once: dict[int, float] = {}
    if kept is None:
        for candidate in timed:
            try:
                once[id(candidate)] = clocks.once_ms(candidate.sampler)
            except Exception as error:
                let_through(error)
                failed(candidate, error)
        timed = [each for each in timed if id(each) in once]
        kept = clocks.common_clock([each.sampler for each in timed], list(once.values()))
    for candidate in timed:
        try:
            candidate.use(kept)
        except Exception as error:
            let_through(error)
            failed(candidate, error)


def host_sentinel(baseline: Candidate, candidates: Sequence[Candidate]) -> Candidate | None:
    """The baseline by the host's clock, where something is timed by it alone; ratios are never taken across clocks."""
    clock = baseline.sampler.clock
    if baseline.by_clock is None or clock == "wall" or all(other.sampler.clock != "wall" for other in candidates):
        return None
    sampler = baseline.by_clock("wall")
    fields = baseline.fields | {"clock": sampler.clock}
    return Candidate(baseline.label, "sentinel", fields, sampler, lambda: None, baseline.work)


def drifting(visits: Iterable[tuple[Clock, list[float]]]) -> set[Clock]:
    """The clocks by which the device's speed changed between the baseline's visits, each told by clock and samples."""
    by_clock: dict[Clock, list[list[float]]] = {}
    for clock, samples in visits:
        by_clock.setdefault(clock, []).append(samples)
    return {clock for clock, samples in by_clock.items() if statistics.sentinels_drift(samples)}
