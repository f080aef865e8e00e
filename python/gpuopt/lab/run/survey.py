"""A survey: many microbenchmarks of a device, each verified and timed by itself, each answer a row that is written at
once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol as Interface

from gpuopt import sealed
from gpuopt._core import Device, Error, ParameterError, Prepared
from gpuopt.checked import checked
from gpuopt.lab.device import source
from gpuopt.lab.device.bandwidth import clock_step_ns, timer_notes
from gpuopt.lab.device.conditions import Sampler
from gpuopt.lab.device.environment import device_label, environment
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder, interrupted_note
from gpuopt.lab.rows.schema import Row, resume_key, time_ms
from gpuopt.lab.rows.study_rows import ProblemInfo
from gpuopt.lab.run.blocks import throttled, timed
from gpuopt.lab.run.candidates import Candidate, environment_row, failure
from gpuopt.lab.run.energy import EnergyPass, asked_for
from gpuopt.lab.timing import samplers, statistics
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer, Protocol
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select

PAIRS = 6  # a run and one with twice its work, so many times: the fewest whose median has an interval
DOUBLE_BAND = 0.03  # twice the work takes twice the time, within this fraction


@checked
def survey(
    points: Sequence[Question],
    *,
    protocol: str = "quick",
    device: Selector = None,
    store: str | Path | None = None,
    progress: bool | None = None,
    name: str | None = None,
    energy: bool = False,
) -> Study:
    """Measures each point and returns the study of their rows (kind ``point``).

    A point that the device cannot run is a row with its status and reason. Points whose rows are in ``store`` and still
    hold are not measured again. Ctrl-C ends the survey early: the study holds what was finished, ``interrupted`` is
    True. Kernels that loop are also timed with twice as many iterations; the flag ``suspicious`` says that this surely
    did not take twice as long, within 3 %. ``energy`` measures the net joules of a run of each point too
    (`docs/energy.md`), about 15 s each; a note says why where the device has no meter. Raises ParameterError for an
    unknown protocol, ResultsError where ``store`` takes no row, and UnsavedRowsError, which has the study, where at the
    end it lacks rows.

    Examples
    --------
    >>> study = lab.survey([lab.Point(gpuopt.Configuration("read_chunks", WIDTH=4), bytes=1 << 18)])
    >>> [(row["configuration"], row["sizes"], row["status"]) for row in study.points]
    [('read_chunks(...WIDTH=4)', {'bytes': 262144}, 'ok')]
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol: there is none called {protocol!r}; use one of {', '.join(PROTOCOLS)}")
    workload = points[0].workload if points else ""
    run = SurveyRun(workload, select(device), PROTOCOLS[protocol], Recorder(store))
    if energy:
        run.energy = asked_for(run.device, run.recorder)
    bar = Bar(progress, len(points))
    interrupted = False
    try:
        for point in points:
            bar.say(str(point))
            run.measure(point)
            bar.step()
        if run.energy is not None:
            run.energy.conclude(bar)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
        for kind in dict.fromkeys(type(point) for point in points):
            kind.release()
        run.recorder.finish()
    return run.recorder.handed_over(run.study(name or workload, interrupted))


class Question(Interface):
    """What a survey asks for: one measurement, with the fields of its row."""

    @property
    def workload(self) -> str: ...

    def fields(self) -> Row:
        """What the row says of the question before it is asked."""

    def candidate(self, run: SurveyRun) -> Candidate:
        """Built, bound and verified. Raises the error that prevents the run."""

    def plan(self, run: SurveyRun) -> Prepared:
        """The candidate's timed plan alone, unverified, with buffers of its own. Raises what building it raises."""

    @classmethod
    def release(cls) -> None:
        """Lets go of what is held for the next question of this kind."""


class SurveyRun:
    """One survey under way."""

    def __init__(self, workload: str, device: Device, protocol: Protocol, recorder: Recorder) -> None:
        self.workload = workload
        self.device, self.protocol, self.recorder = device, protocol, recorder
        self.phases = PhaseTimer()
        self.conditions = Sampler(device)
        self.energy: EnergyPass | None = None
        facts = environment(device)
        self.env_hash = facts["env_hash"]
        recorder.keep(environment_row(device, facts))
        recorder.notes += timer_notes(device) + sealed.unused()
        self.common: Row = {
            "workload": workload,
            "device": device_label(device),
            "device_type": device.type,
            "driver": device.driver,
            "platform": device.platform,
            "unit": facts["unit"],
            "commit": source.commit(),
            "protocol": protocol.name,
            "env_hash": self.env_hash,
        }

    def measure(self, point: Question) -> None:
        """The row of one point, measured or found."""
        fields = point.fields()
        try:
            candidate = point.candidate(self)
            fields = candidate.fields
            found = self.recorder.found(resume_key(candidate.fields), "point")
            if found is None or found["status"] != "ok":  # what failed once may run today
                self.recorder.keep(self.taken(candidate))
            if self.energy is not None:
                with self.phases("energy"):
                    self.energy.measure(candidate)
        except (Error, MemoryError) as error:
            self.recorder.keep({**self.common, **fields, **failure(error), "kind": "point", "role": "variant"})

    def taken(self, candidate: Candidate) -> Row:
        """Samples of one point, checked again afterwards."""
        with self.phases("warm-up"):
            warmed = samplers.warm_up(candidate.sampler, self.protocol)
        with self.phases("samples"):
            taken, state = self.conditions.watched(lambda: samplers.search_samples(candidate.sampler, self.protocol))
            doubled = self.doubled(candidate)
        with self.phases("verify"):
            candidate.check()
        row: Row = {**timed(candidate, taken, throttled(state)), **state, **self.conditions.note()}
        if doubled is not None:
            row["doubled"] = doubled.median
            if doubled.hi < 2 * (1 - DOUBLE_BAND) or doubled.lo > 2 * (1 + DOUBLE_BAND):
                row["flags"].append("suspicious")
        loads = (candidate.work.get("special") or {}).get("load")
        row["latency_ns"] = time_ms(row) * 1e6 / loads if loads else None
        return row | {"kind": "point", "role": "variant", "warmup_ms": warmed}

    def doubled(self, candidate: Candidate) -> statistics.MedianCI | None:
        """How many times the time of a run one of twice its work takes; both times include the launch. None without
        one, and where the clock shows no time for either."""
        if candidate.doubled is None:
            return None
        sampler = samplers.device_sampler(
            candidate.doubled, clock_step_ns(self.device.index), None, candidate.sampler.clock
        )
        ratios = []
        for _ in range(PAIRS):
            (once,), (twice,) = candidate.sampler.take(1), sampler.take(1)
            if not (once > 0 and twice > 0):
                return None
            ratios.append(twice / once)
        return statistics.ratio_ci(ratios)

    def study(self, name: str, interrupted: bool) -> Study:
        self.recorder.note_earlier_runs()
        info: ProblemInfo = {"name": name, "workload": self.workload, "wall_s": self.phases.wall_s}
        info["began_utc"] = self.recorder.began_utc
        info["harness_s"] = self.phases.harness_s
        notes = list(dict.fromkeys(self.recorder.notes))
        if interrupted:
            notes.append(interrupted_note(self.recorder.store is not None))
        study = Study(self.recorder.rows, info, notes)
        study.interrupted = interrupted
        return study
