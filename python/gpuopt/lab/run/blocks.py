"""The comparison of a sweep's candidates, in blocks.

A block visits every candidate once, in random order, and the baseline before, after and between them. A candidate's
ratio in a block is its time over the baseline's at that moment, by the same clock; the result is the Hodges-Lehmann
estimate over the blocks. The reason: on a shared CPU, identical variants timed one after the other differ by more than
2 % half of the time. Their ratios within a block do not. Before each block, buffers move to other addresses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuopt._core import Device
from gpuopt.lab.device import conditions as circumstances
from gpuopt.lab.device.environment import device_state, is_throttled
from gpuopt.lab.device.sittings import row_interval
from gpuopt.lab.rows import refusals
from gpuopt.lab.rows import visits as rows_of_visits
from gpuopt.lab.rows.facts import DeviceState
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.row_fields import Role
from gpuopt.lab.rows.schema import Row, resume_key, time_ms
from gpuopt.lab.run import bounding
from gpuopt.lab.run.candidates import Candidate, failure, may_fail, rates
from gpuopt.lab.run.instructions import codes_of
from gpuopt.lab.run.placement import Placement
from gpuopt.lab.run.sentinels import baseline_of, drifting, host_sentinel, settle_clock
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
    role: Role
    at_s: list[float] = field(default_factory=list)

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


def _median(values: Iterable[float | None]) -> float | None:
    """The median of the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _who(candidate: Candidate) -> str:
    """What tells a candidate from the others: a peer may be called as a variant is."""
    return f"{candidate.role} {candidate.label}"


class Comparison:
    """The blocks of one sweep.

    ``candidates`` are variants, the baseline's clone, calls, peers, ceilings and a launch, warmed up. ``bound_by``
    names the memory whose bandwidth the ceilings among them measure; the ceilings of all other resources are in
    ``profile``.
    """

    now = staticmethod(time.perf_counter)

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
        self.baseline = baseline_of(candidates)
        self.clone = next((candidate for candidate in candidates if candidate.role == "clone"), None)
        self.host: Candidate | None = None
        self.placement = Placement(seed)
        self.band = statistics.BAND_FLOOR
        self.code: dict[str, Row] = {}  # what variants were compiled to, by label
        self.conditions = circumstances.Sampler(device, lambda: device_state(device))

    def run(self, bar: Bar) -> None:
        """Takes blocks until the intervals are as narrow as the protocol asks, checks every result once more, and keeps
        a summary row for each candidate."""
        steps = self.protocol.blocks
        expected = max(steps[0], min(steps[-1], self.least_blocks()))
        try:
            self.prepare()
            self.read_code()
            stored = self.stored_blocks()
            expected = next(step for step in steps if step >= max(expected, len(stored)))
            bar.stage(expected, "block", done=len(stored))
            for number in range(steps[-1]):
                if number in steps and self.narrow_enough():
                    break
                if number == expected:
                    further = next(step for step in steps if step > number)
                    bar.more(further - expected)
                    expected = further
                if number in stored:
                    self.recorder.rows += stored[number]
                    continue
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
            self.recorder.notes += filter(None, [self.placement.note])
            self.summarise()

    def read_code(self) -> None:
        """What the variants' kernels were compiled to."""
        plans = {
            each.label: each.prepared
            for each in self.candidates
            if each.role == "variant" and each.prepared is not None
        }
        with self.phases("verify"):
            self.code.update(codes_of(self.device, plans))

    def prepare(self) -> None:
        """One clock for all that the device times, that of stored blocks if there are any; and the baseline by the
        host's clock where something is timed by that."""

        def failed(candidate: Candidate, error: Exception) -> None:
            if not may_fail(candidate, error):
                raise error
            self.drop(candidate, error, "before timing")
            if candidate is self.baseline:
                raise _NoBaseline from error

        with self.phases("warm-up"):
            settle_clock(self.candidates, self.recorder.block_clock(self.baseline.fields), failed)
            self.host = host_sentinel(self.baseline, self.candidates)

    def stored_blocks(self) -> dict[int, list[Row]]:
        """The blocks of an earlier run that this one goes on from, by number."""
        keys = {resume_key(candidate.fields) for candidate in self.candidates if candidate.role != "ceiling"}
        sizes = next((candidate.fields["sizes"] for candidate in self.candidates if candidate.role == "ceiling"), None)
        host = self.host.fields if self.host else None
        cloned = any(each is self.clone for each in self.candidates)
        return self.recorder.blocks(keys, self.baseline.fields, sizes, host=host, cloned=cloned)

    def visit(self, candidate: Candidate) -> _Visit:
        """Samples of the candidate. Raises _Failed where it gives none."""
        try:
            with self.phases("samples"):
                if self.placement.needs_run(candidate):
                    candidate.sampler.take(1)  # beside the one that each visit discards
                begin = self.now()
                taken, state = self.conditions.watched(lambda: samplers.visit(candidate.sampler, self.protocol))
        except Exception as error:
            if not may_fail(candidate, error):
                raise
            raise _Failed(self.baseline if candidate is self.host else candidate, error) from error
        starts: Sequence[float] = getattr(taken, "start_s", None) or [begin]
        at_s = [round(start - self.phases.start, 6) for start in starts]
        return _Visit(candidate, taken, state, candidate.role, at_s)

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
        with self.phases("relocation"):
            self.placement.vary(self.candidates, number)
        order = list(self.candidates)
        random.Random(f"{self.seed}:{number}").shuffle(order)
        tries = self.protocol.block_tries
        while True:
            try:
                visits = self.take_block(order)
            except _Failed as failed:
                order.remove(failed.candidate)
                self.drop(failed.candidate, failed.error, "while it was timed")
                if failed.candidate is self.baseline:
                    raise _NoBaseline from failed
                continue
            tries -= 1
            drifted = drifting((v.candidate.sampler.clock, v.taken.samples) for v in visits if v.role == "sentinel")
            if self.baseline.sampler.clock not in drifted or tries <= 0:
                break
        limits = bounding.Limits(visits, self.bound_by, self.profile)
        busy = self.conditions.note()
        rows: list[Row] = []
        for i, visit in enumerate(visits):
            flags: list[Flag] = ["drift"] if visit.candidate.sampler.clock in drifted else []
            made: Row = {
                **timed(visit.candidate, visit.taken, [*flags, *throttled(visit.state)]),
                **visit.state,
                **busy,
            }
            made |= {"kind": "block", "block": number, "order": i, "role": visit.role, "at_s": visit.at_s}
            rows.append(made | {"baseline": self.baseline.label})
        sentinels = [row for row in rows if row["role"] == "sentinel"]
        for visit, row in zip(visits, rows, strict=True):
            if around := rows_of_visits.enclosing(row, sentinels):
                row["ratio"] = rows_of_visits.ratio_to(row, around)
            if visit.candidate.role == "variant":
                row |= limits.fields(visit)
        self.recorder.keep_all(rows)

    def take_block(self, order: list[Candidate]) -> list[_Visit]:
        """The visits of a block; the baseline's as sentinel are the first, the last and every eighth."""

        def sentinels() -> list[_Visit]:
            found = [self.visit(each) for each in (self.baseline, self.host) if each is not None]
            return [replace(visit, role="sentinel") for visit in found]

        visits = sentinels()
        for i, candidate in enumerate(order):
            visits.append(self.visit(candidate))
            if (i + 1) % SENTINEL_EVERY == 0 or i + 1 == len(order):
                visits += sentinels()
        return visits

    def rows_of(self, candidate: Candidate) -> list[Row]:
        """The candidate's own visits, one a block."""
        return [
            row
            for row in self.recorder.rows
            if row["kind"] == "block" and row["role"] == candidate.role and row["configuration"] == candidate.label
        ]

    def ratios_of(self, candidate: Candidate) -> list[float]:
        """The candidate's ratio in each block; none where the baseline was not timed by its clock."""
        return [ratio for row in self.rows_of(candidate) if (ratio := row["ratio"]) is not None]

    def least_blocks(self) -> int:
        """How many blocks a verdict on every candidate needs."""
        return statistics.blocks_for(sum(candidate.role in COMPARED for candidate in self.candidates) - 1)

    def narrow_enough(self) -> bool:
        """Whether the intervals of the ratios of variants and calls are as narrow as the protocol asks, and the blocks
        enough for a verdict on every candidate."""
        blocks = [len(self.rows_of(candidate)) for candidate in self.candidates if candidate.role in COMPARED]
        if min(blocks) < self.least_blocks():
            return False
        decisive = [self.ratios_of(candidate) for candidate in self.candidates if candidate.role in DECISIVE]
        return all(statistics.ratio_ci(values).half_width <= self.protocol.target for values in decisive if values)

    def check_all(self) -> None:
        """Checks every result once more after timing, and drops the candidates whose results are wrong now."""
        for candidate in list(self.candidates):
            try:
                candidate.check()
            except Exception as error:
                if not may_fail(candidate, error):
                    raise
                self.drop(candidate, error, "after timing")
                if candidate is self.baseline:
                    self.recorder.notes.append(f"all ratios are to {candidate.label}, which failed after timing")

    def summarise(self) -> None:
        """A summary row for each candidate that has blocks; all are kept together, for each verdict is one of many."""
        ratios = {
            _who(candidate): values
            for candidate in self.candidates
            if candidate.role in COMPARED and (values := self.ratios_of(candidate))
        }
        # The ratio of the baseline's clone, which lies elsewhere in memory, shows how large a difference is mere noise.
        # Without a clone it is that of the baseline itself, which is visited as a variant too.
        own = ratios.pop(_who(self.baseline), [])
        aa = self.ratios_of(self.clone) if self.clone else own
        self.band = statistics.aa_band(aa) or self.band
        verdicts = statistics.verdicts(ratios, self.band)
        sentinels = rows_of_visits.sentinels_of(self.recorder.rows)
        taken = [row for row in self.recorder.rows if row["kind"] == "block"]
        held = refusals.judged(taken, self.band, self.recorder.notes)
        verdicts = dict.fromkeys(verdicts, "AMBIGUOUS") if held["refused"] else verdicts
        rows: list[Row] = []
        for candidate in self.candidates:
            if blocks := self.rows_of(candidate):
                row = self.summary(candidate, blocks, verdicts.get(_who(candidate)))
                rows.append({**row, **rows_of_visits.noise_fields(blocks, sentinels), **held})
        if rows:
            self.recorder.keep_all(rows)

    def summary(self, candidate: Candidate, blocks: list[Row], verdict: Verdict | None) -> Row:
        """The median over blocks of what each block found, with its interval over blocks."""
        last = blocks[-1]  # of an earlier sitting perhaps, whose batches and clock's step were others
        times, step_ns, batch = [time_ms(row) for row in blocks], last["timer_ns"] or 0.0, last["batch_n"] or 1
        time = statistics.median_ci(times, resolution=step_ns * 1e-6, batch=batch)
        found = self.ratios_of(candidate)
        ratio = statistics.ratio_ci(found) if found else None
        reached = ratio is not None and ratio.reached
        asked = max(self.protocol.target, 0.0 if candidate.role in DECISIVE else PEER_TARGET)
        seen = [flag for row in blocks for flag in row["flags"]]
        flags = [flag for flag in dict.fromkeys(seen) if seen.count(flag) > len(blocks) / 2]
        if candidate.role in COMPARED and ratio is not None and reached and ratio.half_width > asked:
            flags.append("unconverged")
        bound = bounding.over_blocks([row for row in blocks if row["pct_bound"] is not None])
        if (bound.get("pct_bound") or 0.0) > 100:
            flags.append("over_bound")
        return {
            **candidate.fields,
            **rows_of_visits.errors_of(last),
            **(self.code.get(candidate.label, {}) if candidate.role in ("variant", "clone") else {}),
            **rates(candidate, time.median),
            "kind": "summary",
            "role": candidate.role,
            "status": "ok",
            "time_utc": max(row["time_utc"] or "" for row in blocks),
            "n": sum(row["n"] or 0 for row in blocks),
            "batch_n": batch,
            "median_ms": time.median,
            "ci_lo_ms": time.lo if time.reached else None,
            "ci_hi_ms": time.hi if time.reached else None,
            **row_interval(self.profile, self.bound_by if candidate.role == "ceiling" else bound.get("bound_by"), time),
            "min_ms": min(row["min_ms"] for row in blocks if row["min_ms"] is not None),
            "max_ms": max(row["max_ms"] for row in blocks if row["max_ms"] is not None),
            "timer_ns": step_ns or None,
            "baseline": self.baseline.label,
            "ratio": ratio.median if ratio else None,
            "ratio_lo": ratio.lo if ratio and reached else None,
            "ratio_hi": ratio.hi if ratio and reached else None,
            "method": "rank",
            "busy_ms": _median(row["busy_ms"] for row in blocks),
            "blocks": len(blocks),
            "verdict": verdict if reached else None,
            **bound,
            "flags": flags,
        }
