"""Interleaved blocks: every target visited once in random order between visits of the baseline, then medians over
blocks.

Variants timed one after the other differ by more than 2 % half of the time on a shared CPU although they are
identical; within a block, held against the baseline's visits around them, they do not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import Device, MismatchError
from gpuopt.lab import measure, statistics
from gpuopt.lab.environment import device_state, is_throttled
from gpuopt.lab.measure import Ledger, Protocol
from gpuopt.lab.progress import Bar
from gpuopt.lab.recorder import Recorder
from gpuopt.lab.results import Row, resume_key
from gpuopt.lab.targets import Target

SENTINEL_EVERY = 8  # visits between two of the baseline's
COMPARED = ("variant", "call", "peer")  # the roles whose ratios to the baseline are verdicts


@dataclass
class _Visit:
    target: Target
    samples: list[float]
    state: Row

    @property
    def median_ms(self) -> float:
        return float(np.median(self.samples))


def timed(target: Target, samples: list[float], flags: list[str], device: Device) -> Row:
    """The fields of a row of ``samples``: the target's own, times, quality, rates, flags."""
    sampler = target.sampler
    summary = statistics.summarise(samples, batch_n=sampler.batch_n, timer_ns=device.timer_ns)
    row = target.fields | summary | rates(target, summary["median_ms"]) | {"status": "ok"}
    if sampler.queued_ms:
        row |= {
            "queued_start_ms": float(np.median(sampler.queued_ms)),
            "wall_ms": float(np.median(sampler.wall_ms)),
        }
    row["flags"] = list(dict.fromkeys([*flags, *statistics.quality_flags(summary), *sampler.flags]))
    return row


def rates(target: Target, median_ms: float) -> Row:
    """GFLOP/s and GB/s at this time, None for what the target does not declare."""
    if median_ms <= 0:
        return {}
    moved = target.bytes.get("dram")
    return {
        "gflop_s": target.flops / median_ms * 1e-6 if target.flops else None,
        "gb_s": moved / median_ms * 1e-6 if moved else None,
    }


class Comparison:
    """The blocks of one sweep. ``targets`` are variants, calls, peers, ceilings and a launch, warmed up; ``bound_by``
    names the ceilings' memory."""

    def __init__(
        self,
        targets: list[Target],
        bound_by: str,
        device: Device,
        protocol: Protocol,
        recorder: Recorder,
        ledger: Ledger,
        seed: int,
    ) -> None:
        self.targets, self.bound_by = targets, bound_by
        self.device, self.protocol, self.recorder, self.ledger, self.seed = device, protocol, recorder, ledger, seed
        ours = [target for target in targets if target.role == "variant"]
        self.baseline = next((target for target in ours if target.fields.get("preset")), ours[0])
        self.band = statistics.BAND_FLOOR

    def run(self, bar: Bar) -> None:
        """Blocks until the protocol is satisfied, a last check of every result, a summary row a target."""
        stored = self.recorder.blocks({resume_key(t.fields) for t in self.targets if t.role != "ceiling"})
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
        finally:  # an interrupted comparison still says what its finished blocks show
            self.summarise()

    def visit(self, target: Target) -> _Visit:
        with self.ledger("samples"):
            samples = measure.visit(target.sampler, self.protocol)
        return _Visit(target, samples, device_state(self.device))

    def block(self, number: int) -> None:
        """One block, kept as rows. Repeated (in full protocols twice at most) while the baseline drifts by more than 5
        %."""
        order = list(self.targets)
        random.Random(f"{self.seed}:{number}").shuffle(order)
        for _ in range(self.protocol.block_tries):
            visits, sentinels = self.take_block(order)
            drifting = statistics.sentinel_spread([visits[i].median_ms for i in sentinels]) > statistics.SENTINEL_LIMIT
            if not drifting:
                break
        rate = max(
            visit.target.bytes["dram"] / visit.median_ms
            for visit in visits
            if visit.target.role == "ceiling" and visit.median_ms > 0
        )
        for i, visit in enumerate(visits):
            before = visits[max(s for s in sentinels if s <= i)].median_ms
            after = visits[min(s for s in sentinels if s >= i)].median_ms
            flags = ["drift"] * drifting + ["throttled"] * is_throttled([visit.state])
            row = timed(visit.target, visit.samples, flags, self.device) | visit.state
            row |= {
                "kind": "block",
                "block": number,
                "order": i,
                "role": "sentinel" if i in sentinels else visit.target.role,
                "baseline": self.baseline.label,
                "ratio": float(statistics.block_ratio([visit.median_ms], [before], [after])[0]),
            }
            if visit.target.role == "variant":
                bound_ms = visit.target.bytes["dram"] / rate
                row |= {"bound_ms": bound_ms, "bound_by": self.bound_by}
                row |= {"pct_bound": 100 * bound_ms / visit.median_ms}
                if requested := visit.target.bytes.get("requested"):
                    uncached_ms = requested / rate
                    row |= {"uncached_ms": uncached_ms, "pct_uncached": 100 * uncached_ms / visit.median_ms}
            self.recorder.keep(row)

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
        """Whether every ratio's interval is as narrow as asked, with blocks enough for so many verdicts."""
        ratios = [[row["ratio"] for row in self.rows_of(t)] for t in self.targets if t.role in COMPARED]
        if min(len(values) for values in ratios) < statistics.blocks_for(len(ratios) - 1):
            return False
        return all(statistics.ratio_ci(values).half_width <= self.protocol.target for values in ratios)

    def check_all(self) -> None:
        """Once more after timing: what is wrong now was never right, whatever its time."""
        for target in list(self.targets):
            try:
                if target.role == "variant":
                    target.sampler.take(1)
                target.check()
            except MismatchError as error:
                self.targets.remove(target)
                row: Row = {"kind": "summary", "role": target.role, "status": "wrong"}
                self.recorder.keep(target.fields | row | {"reason": f"after timing: {error}"})

    def summarise(self) -> None:
        """A summary row for each target that has blocks."""
        ratios = {
            target.label: values
            for target in self.targets
            if target.role in COMPARED and (values := [row["ratio"] for row in self.rows_of(target)])
        }
        # The baseline is visited as a variant too: its ratio to itself is the A/A test of this very run.
        aa = ratios.pop(self.baseline.label, [])
        if len(aa) >= statistics.MIN_BLOCKS:
            self.band = max(statistics.BAND_FLOOR, float(np.quantile(np.abs(np.subtract(aa, 1)), 0.95)))
        verdicts = statistics.verdicts(ratios, self.band)
        for target in self.targets:
            if blocks := self.rows_of(target):
                self.recorder.keep(self.summary(target, blocks, verdicts.get(target.label)))

    def summary(self, target: Target, blocks: list[Row], verdict: str | None) -> Row:
        """The median over blocks of what each block found, with its interval over blocks."""
        time = statistics.median_ci([row["median_ms"] for row in blocks], resolution=self.device.timer_ns * 1e-6)
        ratio = statistics.ratio_ci([row["ratio"] for row in blocks])
        seen = [flag for row in blocks for flag in row["flags"]]
        flags = [flag for flag in dict.fromkeys(seen) if seen.count(flag) > len(blocks) / 2]
        row: dict[str, Any] = {
            "kind": "summary",
            "role": target.role,
            "status": "ok",
            "n": sum(row["n"] for row in blocks),
            "batch_n": target.sampler.batch_n,
            "median_ms": time.median,
            "ci_lo_ms": time.lo,
            "ci_hi_ms": time.hi,
            "min_ms": min(row["min_ms"] for row in blocks),
            "max_ms": max(row["max_ms"] for row in blocks),
            "timer_ns": self.device.timer_ns,
            "baseline": self.baseline.label,
            "ratio": ratio.median,
            "ratio_lo": ratio.lo,
            "ratio_hi": ratio.hi,
            "blocks": len(blocks),
            "verdict": verdict,
        }
        if target.role == "variant":
            share = statistics.ratio_ci([row["pct_bound"] for row in blocks])
            row |= {"bound_ms": float(np.median([row["bound_ms"] for row in blocks])), "bound_by": self.bound_by}
            row |= {"pct_bound": share.median, "pct_lo": share.lo, "pct_hi": share.hi}
            if share.lo > 100:
                flags.append("over_bound")
            modelled = [block for block in blocks if block.get("uncached_ms")]  # older blocks have no such count
            if modelled:
                row |= {key: float(np.median([b[key] for b in modelled])) for key in ("uncached_ms", "pct_uncached")}
        return target.fields | rates(target, time.median) | row | {"flags": flags}
