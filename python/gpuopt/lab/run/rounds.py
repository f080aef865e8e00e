"""A survey in rounds: every question once a round, in another order each time, so that what changes slowly is seen.

One question asked after the other would put each answer into another minute: two of them then differ by what the
machine did meanwhile, and the interval of each says nothing of it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from gpuopt._core import Error
from gpuopt.lab.device.bandwidth import clock_step_ns
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.refusals import Conditions
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.run.blocks import throttled, timed
from gpuopt.lab.run.candidates import Candidate, failure, rates
from gpuopt.lab.run.survey import Question, SurveyRun
from gpuopt.lab.timing import samplers, statistics
from gpuopt.lab.timing.fields import Flag
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.problem import Work
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select

ROUNDS = statistics.MIN_BLOCKS  # the fewest whose median has an interval


def survey_in_rounds(
    points: Sequence[Question],
    *,
    rounds: int = ROUNDS,
    device: Selector = None,
    store: str | Path | None = None,
    progress: bool | None = None,
    name: str | None = None,
    seed: int = 0,
) -> Study:
    """Asks every question once a round and returns the study of the answers.

    The first round verifies each result, as :func:`survey` does; later ones build the plan anew, with other buffers.
    Each visit is a row of kind ``block``, each answer a row of kind ``point``: the median of the rounds' medians, which
    are its samples, with the flags of most of them. Questions about the same data follow each other. Nothing is taken
    from an earlier run: a sitting is one. Ctrl-C ends it early, with ``interrupted`` True and the answers so far.
    Raises UnsavedRowsError, as :func:`survey` does.
    """
    workload = points[0].workload if points else ""
    run = SurveyRun(workload, select(device), PROTOCOLS["quick"], Recorder(store))
    asked = [_Asked(point) for point in points]
    bar = Bar(progress, len(points) * rounds)
    interrupted = False
    try:
        for number in range(rounds):
            for place, one in enumerate(shuffled(asked, random.Random(f"{seed}:{number}"))):
                bar.say(f"round {number + 1}: {one.point}")
                one.visit(run, number, place)
                bar.step()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
        for kind in dict.fromkeys(type(point) for point in points):
            kind.release()
        for one in asked:
            one.conclude(run)
        run.recorder.finish()
    return run.recorder.handed_over(run.study(name or workload, interrupted))


@dataclass
class _Asked:
    """A question and what it was answered so far. No buffer is held between two visits."""

    point: Question
    fields: Row = field(default_factory=Row)
    work: Work = field(default_factory=Work)
    first: Row = field(default_factory=Row)  # of the first round, with what only verification tells
    visits: list[tuple[float, Row]] = field(default_factory=list)  # with the second at which each began
    error: Exception | None = None

    def visit(self, run: SurveyRun, number: int, place: int) -> None:
        """One visit, kept as a row. What fails once is asked no more."""
        if self.error is not None:
            return
        try:
            begin = time.perf_counter() - run.phases.start
            row = self.again(run) if number else self.verified(run)
        except (Error, MemoryError) as error:
            self.error = error
            return
        self.visits.append((begin, run.recorder.keep({**row, "kind": "block", "block": number, "order": place})))

    def verified(self, run: SurveyRun) -> Row:
        """The first visit."""
        self.fields = self.point.fields()
        candidate = self.point.candidate(run)
        self.fields, self.work = candidate.fields, candidate.work
        self.first = run.taken(candidate)
        return self.first

    def again(self, run: SurveyRun) -> Row:
        """A later visit, on the same clock."""
        sampler = samplers.device_sampler(
            self.point.plan(run), clock_step_ns(run.device.index), None, self.fields["clock"]
        )
        with run.phases("samples"):
            sampler.take(1)  # beside the one that each visit discards: its buffers are new
            taken, state = run.conditions.watched(lambda: samplers.visit(sampler, run.protocol))
        row: Row = {**timed(self.unbound(sampler), taken, throttled(state)), **state, **run.conditions.note()}
        return row | {"role": "variant"}

    def unbound(self, sampler: samplers.Sampler) -> Candidate:
        """What the rows' fields are made of: the candidate, verified before, with this sampler."""
        return Candidate(str(self.point), "variant", self.fields, sampler, lambda: None, self.work)

    def conclude(self, run: SurveyRun) -> None:
        """The row of the answer."""
        if self.error is not None:
            failed: Row = {**run.common, **(self.fields or self.point.fields()), **failure(self.error)}
            run.recorder.keep({**failed, "kind": "point", "role": "variant"})
        elif self.visits:
            run.recorder.keep(self.answer())

    def answer(self) -> Row:
        """The first round's row with the times of all rounds, the flags of most of them, and what held in the middle
        one."""
        batch, step = self.first["batch_n"] or 1, self.first["timer_ns"]
        at_s, visits = [begin for begin, _ in self.visits], [row for _, row in self.visits]
        medians = [time_ms(row) for row in visits]
        summary = statistics.summarise(medians, batch_n=batch, timer_ns=step, at_s=at_s)
        middle = summary["median_ms"]
        row: Row = {**self.first, **_state_over(visits), **summary, "kind": "point"}
        row |= {"blocks": len(visits), "at_s": at_s}
        row["flags"] = [*_flags_of_most(visits), *statistics.quality_flags(summary)]
        row |= rates(self.unbound(samplers.Sampler(lambda count: [], "event")), middle)
        loads = (self.work.get("special") or {}).get("load")
        row["latency_ns"] = middle * 1e6 / loads if loads else None
        return row


def _flags_of_most(visits: Sequence[Row]) -> list[Flag]:
    """The flags of more than half of the visits, but those that their medians earn anew. Twice the trips were timed in
    the first round alone."""
    seen: list[Flag] = [flag for row in visits for flag in row["flags"] if flag not in statistics.QUALITY_FLAGS]
    return [flag for flag in dict.fromkeys(seen) if flag == "suspicious" or seen.count(flag) > len(visits) / 2]


def _state_over(visits: Sequence[Row]) -> Row:
    """The device and the machine in the middle one of the visits; it was throttled if most of them were."""
    state = Conditions.of(visits).fields()
    for name in ("core_mhz", "mem_mhz", "temp_c", "power_w"):
        known = [value for row in visits if (value := row[name]) is not None]
        state[name] = median(known) if known else None
    held = "throttled" in _flags_of_most(visits)
    alike = [row["throttle"] for row in visits if ("throttled" in row["flags"]) == held]
    return state | {"throttle": Counter(alike).most_common(1)[0][0]}


def shuffled(asked: Sequence[_Asked], order: random.Random) -> list[_Asked]:
    """The questions in random order, but those about equal data one after the other: data are made once a round."""
    groups: dict[str, list[_Asked]] = {}
    for one in asked:
        fields = one.point.fields()
        groups.setdefault(f"{fields['dtype']} {fields['sizes']}", []).append(one)
    mixed = list(groups.values())
    order.shuffle(mixed)
    for group in mixed:
        order.shuffle(group)
    return [one for group in mixed for one in group]
