"""Interleaved blocks: every target visited once in random order between visits of the baseline, then medians over
blocks.

Variants timed one after the other differ by more than 2 % half of the time on a shared CPU although they are
identical; within a block, held against the baseline's visits around them, they do not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuopt._core import Device, Error
from gpuopt.lab.device import bounds
from gpuopt.lab.device.environment import device_state, is_throttled
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import Row, resume_key
from gpuopt.lab.run.candidates import Target, failure
from gpuopt.lab.timing import samplers, statistics
from gpuopt.lab.timing.progress import Bar
from gpuopt.lab.timing.protocol import Ledger, Protocol
from gpuopt.lab.timing.samplers import Taken

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile

SENTINEL_EVERY = 8  # visits between two of the baseline's
COMPARED = ("variant", "call", "peer")  # the roles whose ratios to the baseline are verdicts
DECISIVE = ("variant", "call")  # those whose intervals decide when to stop
PEER_TARGET = 0.05  # half-width that is narrow enough for what others wrote: a noisy host must not hold up a study


@dataclass
class _Visit:
    target: Target
    taken: Taken
    state: Row

    @property
    def median_ms(self) -> float:
        return self.taken.median_ms


class _Failed(Exception):
    """A target that failed while it was visited; the error is the cause."""

    def __init__(self, target: Target, error: Exception) -> None:
        self.target, self.error = target, error


class _NoBaseline(Exception):
    """The baseline failed: there is nothing to hold a time against."""


def timed(target: Target, taken: Taken, flags: list[str]) -> Row:
    """The fields of a row of one visit: the target's own, times, quality, rates, flags."""
    sampler = target.sampler
    summary = statistics.summarise(taken.samples, batch_n=sampler.batch_n, timer_ns=sampler.step_ns or None)
    row = target.fields | summary | rates(target, summary["median_ms"]) | {"status": "ok"}
    row |= {"busy_ms": taken.busy_ms, "queued_start_ms": taken.queued_ms, "wall_ms": taken.wall_ms}
    row["flags"] = list(dict.fromkeys([*flags, *statistics.quality_flags(summary), *taken.flags]))
    return row


def rates(target: Target, median_ms: float) -> Row:
    """GFLOP/s, GB/s and G results/s at this time, None for what the target does not declare. Bytes are those from
    memory, or of the one class there is; results are counted in the workload's own unit where it has one."""
    if median_ms <= 0:
        return {}
    moved = target.bytes.get("dram") or (next(iter(target.bytes.values())) if len(target.bytes) == 1 else None)
    results = sum((target.work.get("counted") or target.work.get("special") or {}).values())
    return {
        "gop_s": results / median_ms * 1e-6 if results else None,
        "gflop_s": flops / median_ms * 1e-6 if (flops := target.work.get("flops")) else None,
        "gb_s": moved / median_ms * 1e-6 if moved else None,
    }


def _median_of(blocks: list[Row], field: str) -> float | None:
    """The median over blocks of what not every row tells."""
    told = [float(value) for block in blocks if isinstance(value := block.get(field), int | float)]
    return float(np.median(told)) if told else None


def _commonest(blocks: list[Row], field: str) -> str | None:
    told = [str(block[field]) for block in blocks if block.get(field)]
    return max(dict.fromkeys(told), key=told.count, default=None)


class Comparison:
    """The blocks of one sweep. ``targets`` are variants, calls, peers, ceilings and a launch, warmed up; ``bound_by``
    names the ceilings' memory, ``profile`` holds the ceilings of all else."""

    def __init__(
        self,
        targets: list[Target],
        bound_by: str,
        device: Device,
        protocol: Protocol,
        recorder: Recorder,
        ledger: Ledger,
        seed: int,
        profile: Profile | None = None,
    ) -> None:
        self.targets, self.bound_by, self.profile = targets, bound_by, profile
        self.device, self.protocol, self.recorder, self.ledger, self.seed = device, protocol, recorder, ledger, seed
        ours = [target for target in targets if target.role == "variant"]
        self.baseline = next((target for target in ours if target.fields.get("preset")), ours[0])
        self.band = statistics.BAND_FLOOR

    def run(self, bar: Bar) -> None:
        """Blocks until the protocol is satisfied, a last check of every result, a summary row a target."""
        keys = {resume_key(target.fields) for target in self.targets if target.role != "ceiling"}
        sizes = next((target.fields["sizes"] for target in self.targets if target.role == "ceiling"), None)
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
            with self.ledger("verify"):
                self.check_all()
        except _NoBaseline:
            self.recorder.notes.append(
                f"the comparison ended: its baseline {self.baseline.label} failed, and ratios are taken against it"
            )
        finally:  # an interrupted comparison still says what its finished blocks show
            self.summarise()

    def visit(self, target: Target) -> _Visit:
        """Samples of the target. Raises _Failed where it gives none."""
        try:
            with self.ledger("samples"):
                taken = samplers.visit(target.sampler, self.protocol)
        except Exception as error:
            if not _may_fail(target, error):
                raise
            raise _Failed(target, error) from error
        return _Visit(target, taken, device_state(self.device))

    def drop(self, target: Target, error: Exception, when: str) -> None:
        """Leaves out a target that failed, with a row that says so."""
        self.targets.remove(target)
        row = failure(error) | {"kind": "summary", "role": target.role}
        self.recorder.keep(target.fields | row | {"reason": f"{when}: {row['reason']}"})
        if target.role not in COMPARED:
            self.recorder.notes.append(f"{target.role} {target.label} failed {when}: {row['reason']}")

    def block(self, number: int) -> None:
        """One block, kept as rows. Repeated (in full protocols twice at most) while the baseline drifts by more than 5
        %, and without whatever fails."""
        order = list(self.targets)
        random.Random(f"{self.seed}:{number}").shuffle(order)
        tries = self.protocol.block_tries
        while True:
            try:
                visits, sentinels = self.take_block(order)
            except _Failed as failed:
                order.remove(failed.target)
                self.drop(failed.target, failed.error, "while it was timed")
                if failed.target is self.baseline:
                    raise _NoBaseline from failed
                continue
            tries -= 1
            drifting = statistics.sentinel_spread([visits[i].median_ms for i in sentinels]) > statistics.SENTINEL_LIMIT
            if not drifting or tries <= 0:
                break
        ceilings = [visit for visit in visits if visit.target.role == "ceiling"]
        for i, visit in enumerate(visits):
            before = visits[max(s for s in sentinels if s <= i)].median_ms
            after = visits[min(s for s in sentinels if s >= i)].median_ms
            flags = ["drift"] * drifting + ["throttled"] * is_throttled([visit.state])
            row = timed(visit.target, visit.taken, flags) | visit.state
            row |= {
                "kind": "block",
                "block": number,
                "order": i,
                "role": "sentinel" if i in sentinels else visit.target.role,
                "baseline": self.baseline.label,
                "ratio": float(statistics.block_ratio([visit.median_ms], [before], [after])[0]),
            }
            rate = _rate_for(visit.target, ceilings)
            if visit.target.role == "variant" and rate is not None:
                row |= self.bound(visit, rate)
                if requested := visit.target.bytes.get("requested"):
                    uncached_ms = requested / rate
                    row |= {"uncached_ms": uncached_ms, "pct_uncached": 100 * uncached_ms / visit.median_ms}
            self.recorder.keep(row)

    def bound(self, visit: _Visit, rate: float) -> Row:
        """The resource that this work needs longest, and the runner-up: memory at this block's ``rate`` (bytes a ms),
        all others at the profile's ceilings."""
        target = visit.target
        needed = {self.bound_by: target.bytes["dram"] / rate}
        kind = target.fields.get("device_type")
        needed |= bounds.resources(target.work, str(target.fields.get("dtype")), self.profile, kind)
        (first, bound_ms), *others = sorted(needed.items(), key=lambda item: -item[1])
        row: Row = {"bound_ms": bound_ms, "bound_by": first, "pct_bound": 100 * bound_ms / visit.median_ms}
        if others:
            row |= {"next_by": others[0][0], "pct_next": 100 * others[0][1] / visit.median_ms}
        return row

    def take_block(self, order: list[Target]) -> tuple[list[_Visit], list[int]]:
        """The visits of a block, and which of them are the baseline's sentinels: first, last, every eighth."""
        visits, sentinels = [self.visit(self.baseline)], [0]
        for i, target in enumerate(order):
            visits.append(self.visit(target))
            if (i + 1) % SENTINEL_EVERY == 0 or i + 1 == len(order):
                sentinels.append(len(visits))
                visits.append(self.visit(self.baseline))
        return visits, sentinels

    def rows_of(self, target: Target) -> list[Row]:
        """The target's own visits, one a block."""
        return [
            row
            for row in self.recorder.rows
            if row["kind"] == "block" and row["role"] == target.role and row["configuration"] == target.label
        ]

    def narrow_enough(self) -> bool:
        """Whether the ratios of variants and calls have intervals as narrow as asked, with blocks enough for the
        verdicts on all that is compared."""
        compared = {t.label: [row["ratio"] for row in self.rows_of(t)] for t in self.targets if t.role in COMPARED}
        if min(map(len, compared.values())) < statistics.blocks_for(len(compared) - 1):
            return False
        decisive = [compared[target.label] for target in self.targets if target.role in DECISIVE]
        return all(statistics.ratio_ci(values).half_width <= self.protocol.target for values in decisive)

    def check_all(self) -> None:
        """Once more after timing: what is wrong now was never right, whatever its time."""
        for target in list(self.targets):
            try:
                if target.role == "variant":
                    target.sampler.take(1)
                target.check()
            except Exception as error:
                if not _may_fail(target, error):
                    raise
                self.drop(target, error, "after timing")
                if target is self.baseline:
                    self.recorder.notes.append(f"all ratios are to {target.label}, which failed after timing")

    def summarise(self) -> None:
        """A summary row for each target that has blocks."""
        ratios = {
            target.label: values
            for target in self.targets
            if target.role in COMPARED and (values := [row["ratio"] for row in self.rows_of(target)])
        }
        # The baseline is visited as a variant too: its ratio to itself is the A/A test of this very run.
        aa = ratios.pop(self.baseline.label, [])
        self.band = statistics.aa_band(aa) or self.band
        verdicts = statistics.verdicts(ratios, self.band)
        for target in self.targets:
            if blocks := self.rows_of(target):
                self.recorder.keep(self.summary(target, blocks, verdicts.get(target.label)))

    def summary(self, target: Target, blocks: list[Row], verdict: str | None) -> Row:
        """The median over blocks of what each block found, with its interval over blocks."""
        sampler = target.sampler
        times = [row["median_ms"] for row in blocks]
        time = statistics.median_ci(times, resolution=sampler.step_ns * 1e-6, batch=sampler.batch_n)
        ratio = statistics.ratio_ci([row["ratio"] for row in blocks])
        asked = max(self.protocol.target, 0.0 if target.role in DECISIVE else PEER_TARGET)
        seen = [flag for row in blocks for flag in row["flags"]]
        flags = [flag for flag in dict.fromkeys(seen) if seen.count(flag) > len(blocks) / 2]
        if target.role in COMPARED and ratio.reached and ratio.half_width > asked:
            flags.append("unconverged")
        row: dict[str, Any] = {
            "kind": "summary",
            "role": target.role,
            "status": "ok",
            "n": sum(row["n"] for row in blocks),
            "batch_n": sampler.batch_n,
            "median_ms": time.median,
            "ci_lo_ms": time.lo if time.reached else None,
            "ci_hi_ms": time.hi if time.reached else None,
            "min_ms": min(row["min_ms"] for row in blocks),
            "max_ms": max(row["max_ms"] for row in blocks),
            "timer_ns": sampler.step_ns or None,
            "baseline": self.baseline.label,
            "ratio": ratio.median,
            "ratio_lo": ratio.lo if ratio.reached else None,
            "ratio_hi": ratio.hi if ratio.reached else None,
            "busy_ms": _median_of(blocks, "busy_ms"),
            "blocks": len(blocks),
            "verdict": verdict if ratio.reached else None,
        }
        bounded = [block for block in blocks if block["pct_bound"] is not None]
        if bounded:
            share = statistics.ratio_ci([row["pct_bound"] for row in bounded])
            row |= {"bound_ms": float(np.median([row["bound_ms"] for row in bounded]))}
            row |= {"bound_by": _commonest(bounded, "bound_by"), "next_by": _commonest(bounded, "next_by")}
            row |= {"pct_next": _median_of(bounded, "pct_next")}
            row |= {"pct_bound": share.median, "pct_lo": share.lo, "pct_hi": share.hi}
            if not share.reached:
                row |= {"pct_lo": None, "pct_hi": None}
            elif share.lo > 100:
                flags.append("over_bound")
            modelled = [block for block in blocks if block.get("uncached_ms")]  # older blocks have no such count
            if modelled:
                row |= {key: float(np.median([b[key] for b in modelled])) for key in ("uncached_ms", "pct_uncached")}
        return target.fields | rates(target, time.median) | row | {"flags": flags}


def _rate_for(target: Target, ceilings: list[_Visit]) -> float | None:
    """Bytes a ms at which the device reads the target's own data, or else the fastest that it moves such an amount."""
    own = [visit for visit in ceilings if visit.target.reads_what(target)]
    counted = own or [visit for visit in ceilings if visit.target.source is None]
    return max((visit.target.bytes["dram"] / visit.median_ms for visit in counted), default=None)


def _may_fail(target: Target, error: Exception) -> bool:
    """Whether ``error`` is a result: OpenCL, the memory and wrong values may end any target, a peer may fail in any way
    it likes; all else is a bug of ours."""
    return target.role == "peer" or isinstance(error, (Error, MemoryError))
