"""The comparison of a sweep's candidates, in blocks.
from gpuopt.progress import Bar

A block visits every candidate once, in random order, and the baseline before, after and between them. A candidate's
ratio in a block is its time over the baseline's just before and after it; the result is the median of its ratios over
the blocks. The reason: on a shared CPU, identical variants timed one after the other differ by more than 2 % half of
the time. Their ratios within a block do not.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuopt._core import Device, Error
from gpuopt.lab.device import bounds
from gpuopt.lab.device.environment import device_state, is_throttled
from gpuopt.lab.rows.facts import DeviceState
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import Row, number_of, resume_key, time_ms
from gpuopt.lab.run.candidates import Candidate, failure
from gpuopt.lab.timing import samplers, statistics
from gpuopt.lab.timing.fields import Flag, Verdict
from gpuopt.lab.timing.protocol import PhaseTimer, Protocol
from gpuopt.lab.timing.samplers import VisitSamples
from gpuopt.progress import Bar

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile

SENTINEL_EVERY = 8  # visits between two of the baseline's
COMPARED = ("variant", "call", "peer")  # the roles whose ratios to the baseline are verdicts
DECISIVE = ("variant", "call")  # those whose intervals decide when to stop
PEER_TARGET = 0.05  # half-width that is narrow enough for peers: their noise must not prolong a study


@dataclass
class _Visit:
    candidate: Candidate
    taken: VisitSamples
    state: DeviceState

    @property
    def median_ms(self) -> float:
        return self.taken.median_ms


class _Failed(Exception):
    """A candidate failed while it was visited, with this error."""

    def __init__(self, candidate: Candidate, error: Exception) -> None:
        self.candidate, self.error = candidate, error


class _NoBaseline(Exception):
    """The baseline failed: no ratio can be taken any more."""


def timed(candidate: Candidate, taken: VisitSamples, flags: Sequence[Flag] = ()) -> Row:
    """The fields of a row of one visit: the candidate's own, times, quality, rates, flags."""
    sampler = candidate.sampler
    summary = statistics.summarise(taken.samples, batch_n=sampler.batch_n, timer_ns=sampler.step_ns or None)
    return {
        **candidate.fields,
        **summary,
        **rates(candidate, summary["median_ms"]),
        "status": "ok",
        "busy_ms": taken.busy_ms,
        "queued_start_ms": taken.queued_ms,
        "wall_ms": taken.wall_ms,
        "flags": list(dict.fromkeys([*flags, *statistics.quality_flags(summary), *taken.flags])),
    }


def throttled(state: DeviceState) -> list[Flag]:
    """The flag of a device that held its clocks down, if it did."""
    return ["throttled"] if is_throttled([state]) else []


def rates(candidate: Candidate, median_ms: float) -> Row:
    """GFLOP/s, GB/s and G results/s at this time, None for work that the candidate does not declare. Bytes are those
    from memory, or those of the only class that is declared. Results are counted in the workload's own unit, else in
    special functions."""
    if median_ms <= 0:
        return {}
    moved = candidate.bytes.get("dram") or (next(iter(candidate.bytes.values())) if len(candidate.bytes) == 1 else None)
    results = sum((candidate.work.get("counted") or candidate.work.get("special") or {}).values())
    return {
        "gop_s": results / median_ms * 1e-6 if results else None,
        "gflop_s": flops / median_ms * 1e-6 if (flops := candidate.work.get("flops")) else None,
        "gb_s": moved / median_ms * 1e-6 if moved else None,
    }


def _median(values: Iterable[float | None]) -> float | None:
    """The median of the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _commonest(words: Iterable[str | None]) -> str | None:
    known = [word for word in words if word]
    return max(dict.fromkeys(known), key=known.count, default=None)


class Comparison:
    """The blocks of one sweep.

    ``candidates`` are variants, calls, peers, ceilings and a launch, warmed up. ``bound_by`` names the memory whose
    bandwidth the ceilings among them measure; the ceilings of all other resources are in ``profile``.
    """

    def __init__(
        self,
        candidates: list[Candidate],
        bound_by: str,
        device: Device,
        protocol: Protocol,
        recorder: Recorder,
        phases: PhaseTimer,
        seed: int,
        profile: Profile | None = None,
    ) -> None:
        self.candidates, self.bound_by, self.profile = candidates, bound_by, profile
        self.device, self.protocol, self.recorder, self.phases, self.seed = device, protocol, recorder, phases, seed
        ours = [candidate for candidate in candidates if candidate.role == "variant"]
        self.baseline = next((candidate for candidate in ours if candidate.fields.get("preset")), ours[0])
        self.band = statistics.BAND_FLOOR

    def run(self, bar: Bar) -> None:
        """Takes blocks until the intervals are as narrow as the protocol asks, checks every result once more, and keeps
        a summary row for each candidate."""
        keys = {resume_key(candidate.fields) for candidate in self.candidates if candidate.role != "ceiling"}
        sizes = next((candidate.fields["sizes"] for candidate in self.candidates if candidate.role == "ceiling"), None)
        stored = self.recorder.blocks(keys, self.baseline.fields, sizes)
        steps = self.protocol.blocks
        bar.more(steps[0])
        try:
            for number in range(steps[-1]):
                if number in steps and self.narrow_enough():
                    break
                if number in stored:
                    self.recorder.rows += stored[number]
                else:
                    bar.say(f"block {number + 1}")
                    self.block(number)
                bar.step()
            with self.phases("verify"):
                self.check_all()
        except _NoBaseline:
            self.recorder.notes.append(
                f"the comparison ended: its baseline {self.baseline.label} failed, and ratios are taken against it"
            )
        finally:  # an interrupted comparison still says what its finished blocks show
            self.summarise()

    def visit(self, candidate: Candidate) -> _Visit:
        """Samples of the candidate. Raises _Failed where it gives none."""
        try:
            with self.phases("samples"):
                taken = samplers.visit(candidate.sampler, self.protocol)
        except Exception as error:
            if not _may_fail(candidate, error):
                raise
            raise _Failed(candidate, error) from error
        return _Visit(candidate, taken, device_state(self.device))

    def drop(self, candidate: Candidate, error: Exception, when: str) -> None:
        """Leaves out a candidate that failed, with a row that says so."""
        self.candidates.remove(candidate)
        failed = failure(error)
        row: Row = {**candidate.fields, **failed, "kind": "summary", "role": candidate.role}
        self.recorder.keep(row | {"reason": f"{when}: {failed['reason']}"})
        if candidate.role not in COMPARED:
            self.recorder.notes.append(f"{candidate.role} {candidate.label} failed {when}: {failed['reason']}")

    def block(self, number: int) -> None:
        """One block, kept as rows. It is taken again where the baseline drifts by more than 5 %, in full protocols
        twice at most; and where a candidate fails, without that candidate."""
        order = list(self.candidates)
        random.Random(f"{self.seed}:{number}").shuffle(order)
        tries = self.protocol.block_tries
        while True:
            try:
                visits, sentinels = self.take_block(order)
            except _Failed as failed:
                order.remove(failed.candidate)
                self.drop(failed.candidate, failed.error, "while it was timed")
                if failed.candidate is self.baseline:
                    raise _NoBaseline from failed
                continue
            tries -= 1
            drifting = statistics.sentinel_spread([visits[i].median_ms for i in sentinels]) > statistics.SENTINEL_LIMIT
            if not drifting or tries <= 0:
                break
        ceilings = [visit for visit in visits if visit.candidate.role == "ceiling"]
        for i, visit in enumerate(visits):
            before = visits[max(s for s in sentinels if s <= i)].median_ms
            after = visits[min(s for s in sentinels if s >= i)].median_ms
            flags: list[Flag] = ["drift"] if drifting else []
            row: Row = {**timed(visit.candidate, visit.taken, [*flags, *throttled(visit.state)]), **visit.state}
            row |= {
                "kind": "block",
                "block": number,
                "order": i,
                "role": "sentinel" if i in sentinels else visit.candidate.role,
                "baseline": self.baseline.label,
                "ratio": float(statistics.block_ratio([visit.median_ms], [before], [after])[0]),
            }
            rate = _rate_for(visit.candidate, ceilings)
            if visit.candidate.role == "variant" and rate is not None:
                row |= self.bound(visit, rate)
                if requested := visit.candidate.bytes.get("requested"):
                    uncached_ms = requested / rate
                    row |= {"uncached_ms": uncached_ms, "pct_uncached": 100 * uncached_ms / visit.median_ms}
            self.recorder.keep(row)

    def bound(self, visit: _Visit, rate: float) -> Row:
        """The bound of a visit and the visit's share of it: the time of the resource that takes longest for this work,
        and the share of the second longest. Memory takes its bytes at the ``rate`` of this block (bytes a ms), each
        other resource its work at the profile's ceiling."""
        candidate = visit.candidate
        needed = {self.bound_by: candidate.bytes["dram"] / rate}
        kind = candidate.fields.get("device_type")
        needed |= bounds.resources(candidate.work, str(candidate.fields.get("dtype")), self.profile, kind)
        (first, bound_ms), *others = sorted(needed.items(), key=lambda item: -item[1])
        row: Row = {"bound_ms": bound_ms, "bound_by": first, "pct_bound": 100 * bound_ms / visit.median_ms}
        if others:
            row |= {"next_by": others[0][0], "pct_next": 100 * others[0][1] / visit.median_ms}
        return row

    def take_block(self, order: list[Candidate]) -> tuple[list[_Visit], list[int]]:
        """The visits of a block, and which of them are the baseline's sentinels: first, last, every eighth."""
        visits, sentinels = [self.visit(self.baseline)], [0]
        for i, candidate in enumerate(order):
            visits.append(self.visit(candidate))
            if (i + 1) % SENTINEL_EVERY == 0 or i + 1 == len(order):
                sentinels.append(len(visits))
                visits.append(self.visit(self.baseline))
        return visits, sentinels

    def rows_of(self, candidate: Candidate) -> list[Row]:
        """The candidate's own visits, one a block."""
        return [
            row
            for row in self.recorder.rows
            if row["kind"] == "block" and row["role"] == candidate.role and row["configuration"] == candidate.label
        ]

    def ratios_of(self, candidate: Candidate) -> list[float]:
        """The candidate's ratio in each block."""
        return [number_of(row, "ratio") for row in self.rows_of(candidate)]

    def narrow_enough(self) -> bool:
        """Whether the intervals of the ratios of variants and calls are as narrow as the protocol asks, and the blocks
        enough for a verdict on every candidate."""
        compared = {t.label: self.ratios_of(t) for t in self.candidates if t.role in COMPARED}
        if min(map(len, compared.values())) < statistics.blocks_for(len(compared) - 1):
            return False
        decisive = [compared[candidate.label] for candidate in self.candidates if candidate.role in DECISIVE]
        return all(statistics.ratio_ci(values).half_width <= self.protocol.target for values in decisive)

    def check_all(self) -> None:
        """Checks every result once more after timing, and drops the candidates whose results are wrong now."""
        for candidate in list(self.candidates):
            try:
                if candidate.role == "variant":
                    candidate.sampler.take(1)
                candidate.check()
            except Exception as error:
                if not _may_fail(candidate, error):
                    raise
                self.drop(candidate, error, "after timing")
                if candidate is self.baseline:
                    self.recorder.notes.append(f"all ratios are to {candidate.label}, which failed after timing")

    def summarise(self) -> None:
        """A summary row for each candidate that has blocks."""
        ratios = {
            candidate.label: values
            for candidate in self.candidates
            if candidate.role in COMPARED and (values := self.ratios_of(candidate))
        }
        # The baseline is visited as a variant too. Its ratio to itself shows how large a difference is mere noise.
        aa = ratios.pop(self.baseline.label, [])
        self.band = statistics.aa_band(aa) or self.band
        verdicts = statistics.verdicts(ratios, self.band)
        for candidate in self.candidates:
            if blocks := self.rows_of(candidate):
                self.recorder.keep(self.summary(candidate, blocks, verdicts.get(candidate.label)))

    def summary(self, candidate: Candidate, blocks: list[Row], verdict: Verdict | None) -> Row:
        """The median over blocks of what each block found, with its interval over blocks."""
        sampler = candidate.sampler
        times = [time_ms(row) for row in blocks]
        time = statistics.median_ci(times, resolution=sampler.step_ns * 1e-6, batch=sampler.batch_n)
        ratio = statistics.ratio_ci([number_of(row, "ratio") for row in blocks])
        asked = max(self.protocol.target, 0.0 if candidate.role in DECISIVE else PEER_TARGET)
        seen = [flag for row in blocks for flag in row["flags"]]
        flags = [flag for flag in dict.fromkeys(seen) if seen.count(flag) > len(blocks) / 2]
        if candidate.role in COMPARED and ratio.reached and ratio.half_width > asked:
            flags.append("unconverged")
        bound = _bound_over([row for row in blocks if row["pct_bound"] is not None])
        if (bound.get("pct_lo") or 0.0) > 100:
            flags.append("over_bound")
        return {
            **candidate.fields,
            **rates(candidate, time.median),
            "kind": "summary",
            "role": candidate.role,
            "status": "ok",
            "n": sum(row["n"] or 0 for row in blocks),
            "batch_n": sampler.batch_n,
            "median_ms": time.median,
            "ci_lo_ms": time.lo if time.reached else None,
            "ci_hi_ms": time.hi if time.reached else None,
            "min_ms": min(row["min_ms"] for row in blocks if row["min_ms"] is not None),
            "max_ms": max(row["max_ms"] for row in blocks if row["max_ms"] is not None),
            "timer_ns": sampler.step_ns or None,
            "baseline": self.baseline.label,
            "ratio": ratio.median,
            "ratio_lo": ratio.lo if ratio.reached else None,
            "ratio_hi": ratio.hi if ratio.reached else None,
            "busy_ms": _median(row["busy_ms"] for row in blocks),
            "blocks": len(blocks),
            "verdict": verdict if ratio.reached else None,
            **bound,
            "flags": flags,
        }


def _bound_over(blocks: list[Row]) -> Row:
    """The medians of the bound and of the share of it over these blocks, and the share's interval where the blocks are
    enough for one; no fields where there are no blocks."""
    if not blocks:
        return {}
    share = statistics.ratio_ci([number_of(row, "pct_bound") for row in blocks])
    modelled = [row for row in blocks if row["uncached_ms"]]  # blocks of earlier versions have no such count
    return {
        "bound_ms": _median(row["bound_ms"] for row in blocks),
        "bound_by": _commonest(row["bound_by"] for row in blocks),
        "next_by": _commonest(row["next_by"] for row in blocks),
        "pct_next": _median(row["pct_next"] for row in blocks),
        "pct_bound": share.median,
        "pct_lo": share.lo if share.reached else None,
        "pct_hi": share.hi if share.reached else None,
        "uncached_ms": _median(row["uncached_ms"] for row in modelled),
        "pct_uncached": _median(row["pct_uncached"] for row in modelled),
    }


def _rate_for(candidate: Candidate, ceilings: list[_Visit]) -> float | None:
    """Bytes a ms at which the device reads the candidate's own data; where that was not measured, the fastest rate for
    as much data."""
    own = [visit for visit in ceilings if visit.candidate.reads_what(candidate)]
    counted = own or [visit for visit in ceilings if visit.candidate.source is None]
    return max((visit.candidate.bytes["dram"] / visit.median_ms for visit in counted), default=None)


def _may_fail(candidate: Candidate, error: Exception) -> bool:
    """Whether the error is a finding about the candidate: one of OpenCL, of memory or of wrong values, or any error of
    a peer. Any other error is a bug of ours."""
    return candidate.role == "peer" or isinstance(error, (Error, MemoryError))
