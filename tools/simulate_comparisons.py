#!/usr/bin/env python3
"""Comparisons on simulated clocks: how often the intervals of ratios hold the truth, how often verdicts are false, and
what is found.

The comparison is the lab's own (`gpuopt.lab.run.blocks.Comparison`); only what it times is made up, and the clock. No
device is needed. `python tools/simulate_comparisons.py` prints the tables of docs/decisions/signed-rank.md.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import FIELDS, KEY_FIELDS, Row
from gpuopt.lab.run import blocks
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.lab.timing.samplers import Sampler, VisitSamples
from gpuopt.progress import Bar

SAME, OTHERS = 6, (0.8, 0.97, 1.05)  # a study's variants that are the baseline itself, and the true ratios of others
BETWEEN_S = 0.003  # from visit to visit


@dataclass(frozen=True)
class Noise:
    """What disturbs a time, as standard deviations of its logarithm but for the spikes."""

    name: str
    iid: float = 0.02
    spikes: float = 0.0  # share of samples that take longer, by 50 % on average
    wander: float = 0.0  # of an Ornstein-Uhlenbeck process
    within_s: float = 1.0  # its time constant
    steps: float = 0.0  # of the device's speed, which changes once in two seconds
    placed: float = 0.0  # by where the buffers lie
    lengths_ms: tuple[float, ...] = (1.0,)  # of the variants' launches, in turn


SCENARIOS = (
    Noise("2 % a sample"),
    Noise("10 % a sample", iid=0.1),
    Noise("2 %, and spikes", spikes=0.1),
    Noise("10 %, and spikes", iid=0.1, spikes=0.1),
    *(Noise(f"wandering by 10 % within {t:g} s", wander=0.1, within_s=t) for t in (0.1, 1.0, 10.0)),
    Noise("steps of 10 %", steps=0.1),
    *(Noise(f"placement, {100 * p:g} %", placed=p) for p in (0.01, 0.02, 0.05)),
    Noise("launches of 0.01 to 20 ms", lengths_ms=(20.0, 0.01, 1.0, 0.1)),
    Noise("long launches, three samples a visit", iid=0.1, lengths_ms=(20.0,)),
)


@dataclass
class World:
    """A device and its clock."""

    noise: Noise
    random: np.random.Generator
    now: float = 0.0
    wandered: float = 0.0
    speed: float = 0.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        decay = math.exp(-seconds / self.noise.within_s)
        spread = self.noise.wander * math.sqrt(1.0 - decay * decay)
        self.wandered = decay * self.wandered + spread * self.random.standard_normal()
        if self.noise.steps and self.random.random() < seconds / 2.0:
            self.speed = self.noise.steps * self.random.standard_normal()

    def samples(self, time_ms: float, count: int, batch: int) -> list[float]:
        noise, random = self.noise, self.random
        logs = noise.iid * random.standard_normal(count)
        if noise.wander or noise.steps:
            for index in range(count):
                logs[index] += self.wandered + self.speed
                self.pass_by(time_ms * batch * 1e-3)
        else:
            self.now += time_ms * batch * count * 1e-3
        times = time_ms * np.exp(logs)
        if noise.spikes:
            times *= 1.0 + (random.random(count) < noise.spikes) * random.exponential(0.5, count)
        made: list[float] = times.tolist()
        return made


@dataclass
class Plan:
    """A plan that takes so long wherever it lies, and a little longer or shorter where it lies now."""

    world: World
    time_ms: float
    batch: int
    placed: float = 0.0

    def __post_init__(self) -> None:
        self.relocate(0)

    def relocate(self, pad_bytes: int) -> bool:
        self.placed = self.world.noise.placed * self.world.random.standard_normal()
        return True

    def take(self, count: int) -> list[float]:
        self.world.pass_by(BETWEEN_S / 2)
        return self.world.samples(self.time_ms * math.exp(self.placed), count, self.batch)


def candidate(world: World, label: str, role: Any, time_ms: float) -> Candidate:
    batch = max(1, round(1.0 / time_ms))
    plan = Plan(world, time_ms, batch)
    fields: Any = dict.fromkeys(KEY_FIELDS) | {"configuration": label, "variant": label, "clock": "batch"}
    made = Candidate(label, role, fields, Sampler(plan.take, "batch", batch), lambda: None)
    made.prepared = plan  # type: ignore[assignment]
    return made


class Rows(Recorder):
    """Keeps rows in memory as they are."""

    def __init__(self) -> None:
        super().__init__(None)

    def keep(self, row: Row) -> Row:
        made: Any = {**_NOTHING, **row}
        self.rows.append(made)
        return made  # type: ignore[no-any-return]


_NOTHING = dict.fromkeys(FIELDS)


def timed(candidate: Candidate, taken: VisitSamples, flags: Sequence[str] = ()) -> Any:
    """The fields of a visit that a ratio is made of."""
    values = taken.samples
    middle = median(values)
    told = {"n": len(values), "batch_n": candidate.sampler.batch_n, "median_ms": middle, "flags": list(flags)}
    told |= {"mad_ms": median(abs(value - middle) for value in values), "min_ms": min(values), "max_ms": max(values)}
    return {**candidate.fields, **told, "status": "ok"}


@contextmanager
def simulated(world: World) -> Iterator[None]:
    with (
        mock.patch.object(blocks, "device_state", return_value={"throttle": None}),
        mock.patch.object(blocks, "timed", timed),
        mock.patch.object(blocks, "codes_of", return_value={}),
        mock.patch.object(blocks.Comparison, "now", staticmethod(lambda: world.now)),
    ):
        yield


@dataclass
class Study:
    """What a study of simulated variants found: by true ratio, the summaries."""

    summaries: list[tuple[float, Row]]
    clone: Row
    band: float
    rows: list[Row] = field(repr=False)

    @property
    def false_words(self) -> int:
        """How many words are wrong: a difference where there is none, or in the wrong direction."""
        wrong = {"FAST": lambda truth: truth >= 1.0, "SLOW": lambda truth: truth <= 1.0}
        return sum(row["verdict"] in wrong and wrong[str(row["verdict"])](truth) for truth, row in self.summaries)


def study(noise: Noise, seed: int, truths: Sequence[float] = (*SAME * (1.0,), *OTHERS)) -> Study:
    """A quick study of a baseline, its clone and a variant for each true ratio."""
    world = World(noise, np.random.default_rng(seed))
    lengths = noise.lengths_ms
    base_ms = lengths[0]
    made = [candidate(world, "baseline", "variant", base_ms), candidate(world, "baseline", "clone", base_ms)]
    scale = {}
    for index, truth in enumerate(truths):
        # What takes another time altogether is held against the same baseline: only its own ratio is told.
        scale[f"v{index}"] = truth * lengths[index % len(lengths)] / base_ms
        made.append(candidate(world, f"v{index}", "variant", scale[f"v{index}"] * base_ms))
    recorder, phases = Rows(), PhaseTimer()
    phases.start = 0.0
    comparison = blocks.Comparison(made, "dram", None, PROTOCOLS["quick"], recorder, phases, seed)  # type: ignore[arg-type]
    with simulated(world):
        comparison.run(Bar(False, 0))
    found = {(row["role"], row["configuration"]): row for row in recorder.rows if row["kind"] == "summary"}
    summaries = [(true, found["variant", name]) for name, true in scale.items()]
    return Study(summaries, found["clone", "baseline"], comparison.band, recorder.rows)


@dataclass
class Tally:
    """Over several studies: intervals that hold the truth, and studies with a false word."""

    studies: int = 0
    intervals: int = 0
    held: int = 0
    false: int = 0
    bands: list[float] = field(default_factory=list)

    def add(self, found: Study) -> None:
        self.studies += 1
        self.false += found.false_words > 0
        self.bands.append(found.band)
        for truth, row in found.summaries:
            lo, hi = row["ratio_lo"], row["ratio_hi"]
            self.intervals += 1
            self.held += lo is not None and hi is not None and lo <= truth <= hi

    @property
    def coverage(self) -> float:
        return self.held / self.intervals

    @property
    def false_share(self) -> float:
        return self.false / self.studies


def tally(noise: Noise, studies: int, seed: int = 0) -> Tally:
    made = Tally()
    for number in range(studies):
        made.add(study(noise, 1000 * seed + number))
    return made


def power(noise: Noise, studies: int, truth: float = 0.95, comparisons: int = 80, seed: int = 0) -> tuple[float, int]:
    """The share of quick studies of so many comparisons that find the only true difference, and their blocks."""
    found, count = 0, 0
    for number in range(studies):
        made = study(noise, 1000 * seed + number, [truth, *(comparisons - 1) * [1.0]])
        row = made.summaries[0][1]
        found += row["verdict"] == ("FAST" if truth < 1 else "SLOW")
        count = int(row["blocks"] or 0)
    return found / studies, count


# ---------------------------------------------------------------- other tests on the same ratios


def sign_test(ratios: Sequence[float], edge: float) -> float:
    """The two-sided p-value of FAST by signs alone."""
    n, above = len(ratios), sum(ratio >= 1.0 / (1.0 + edge) for ratio in ratios)
    return min(1.0, 2.0 * sum(math.comb(n, k) for k in range(above + 1)) / 2.0**n)


def normal_test(ratios: Sequence[float], edge: float) -> float:
    """The same by Student's t on the logarithms: what a mixed model with blocks as random effects comes to."""
    from scipy import stats

    return float(stats.ttest_1samp(np.log(ratios), -math.log1p(edge), alternative="less").pvalue) * 2.0


def compared_power(blocks_taken: int, noise: float, heavy: bool, draws: int, comparisons: int = 80) -> dict[str, float]:
    """How often 5 % are found by each test among so many comparisons, at Holm's first step. The noise of a block is
    normal, or ``heavy``: Student's t of 2 degrees of freedom, with the same quartiles."""
    random = np.random.default_rng(1)
    found = dict.fromkeys(("signs", "signed ranks", "t"), 0)
    level = 0.05 / comparisons
    for _ in range(draws):
        unit = 0.826 * random.standard_t(2, blocks_taken) if heavy else random.standard_normal(blocks_taken)
        ratios = (0.95 * np.exp(noise * unit)).tolist()
        word, p = statistics.signed_rank(ratios)
        found["signed ranks"] += word == "FAST" and p <= level
        found["signs"] += sign_test(ratios, statistics.BAND_FLOOR) <= level
        found["t"] += normal_test(ratios, statistics.BAND_FLOOR) <= level
    return {name: count / draws for name, count in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200, help="of each kind (default: %(default)s)")
    studies = parser.parse_args().studies
    print("| noise | intervals that hold the truth | studies with a false word | A/A band, median |")
    print("|---|---|---|---|")
    for noise in SCENARIOS:
        found = tally(noise, studies)
        band = f"{100 * float(np.median(found.bands)):.1f} %"
        print(f"| {noise.name} | {100 * found.coverage:.1f} % | {100 * found.false_share:.1f} % | {band} |", flush=True)
    print("\n| 5 % faster, 80 comparisons | found | blocks |\n|---|---|---|")
    for noise in (SCENARIOS[0], Noise("2 %, three samples a visit", lengths_ms=(20.0,)), SCENARIOS[1]):
        share, count = power(noise, max(1, studies // 4))
        print(f"| {noise.name} | {100 * share:.0f} % | {count} |", flush=True)
    print("\n| blocks | noise of a block | signs | signed ranks | t |\n|---|---|---|---|---|")
    for count, heavy in itertools.product((12, 16, 25), (False, True)):
        for spread in (0.02, 0.03, 0.04):
            by = compared_power(count, spread, heavy, 5 * studies)
            told = " | ".join(f"{100 * by[name]:.0f} %" for name in ("signs", "signed ranks", "t"))
            print(f"| {count} | {100 * spread:g} %{', heavy tails' if heavy else ''} | {told} |", flush=True)


if __name__ == "__main__":
    main()
