"""A sweep: every variant of a workload built, verified and timed beside peers and ceilings. Each result is a row,
written at once, so that an interrupted sweep goes on where it stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gpuopt import configuration as tables
from gpuopt import sealed
from gpuopt._core import Device, Error, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.device import aa_record, bounds, caches
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.device.bandwidth import timer_notes
from gpuopt.lab.device.environment import environment
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder, interrupted_note
from gpuopt.lab.rows.row_fields import CacheState, Kind, Role
from gpuopt.lab.rows.schema import Row, resume_key, time_ms
from gpuopt.lab.rows.study_rows import ProblemInfo
from gpuopt.lab.run.blocks import Comparison, timed
from gpuopt.lab.run.candidates import (
    Candidate,
    call_candidate,
    ceiling_candidates,
    environment_row,
    failure,
    overhead_candidate,
    peer_candidate,
    problem_fields,
    variant_candidate,
)
from gpuopt.lab.run.energy import EnergyPass, Objective, asked_for
from gpuopt.lab.run.peer_inputs import PeerInputs, check_names
from gpuopt.lab.run.search import search
from gpuopt.lab.run.sentinels import baseline_of
from gpuopt.lab.run.wanted import Named, Wanted, pick_finalists, what_to_measure
from gpuopt.lab.timing import samplers
from gpuopt.lab.timing.fields import Clock
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer, Protocol
from gpuopt.lab.timing.samplers import HOPELESS
from gpuopt.problem import AnyPeer, Problem, own_inputs
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select
from gpuopt.signals import of_signal


@checked
def sweep(  # long: half of it is its arguments and what users read of them
    problem: Problem,
    variants: str | Iterable[str | Configuration] = "all",
    *,
    protocol: str = "full",
    device: Selector = None,
    peers: Sequence[AnyPeer] | None = None,
    calls: bool = True,
    cache: str | None = None,
    store: str | Path | None = None,
    progress: bool | None = None,
    tunable_only: bool = False,
    energy: bool = False,
    objective: Objective = "time",
) -> Study:
    """Runs the variants of a problem's workload on one device and returns what was found.

    A configuration that cannot run is a row with its reason. Ctrl-C ends the sweep: the study holds what was finished,
    and its ``interrupted`` is True. Ratios are of times against the first variant of the paper's ladder, or
    the first given. Raises ParameterError for an unknown protocol, cache state or variant and for two peers of one
    name, ResultsError where ``store`` takes no row, UnsavedRowsError, which has the study, where it lacks some.

    Parameters
    ----------
    variants
        ``"all"`` (the papers' presets, and every variant), ``"paper"`` (the presets alone, in the papers' order),
        ``"plain"`` (what a plain call takes), or names, presets, Configurations (or their texts,
        ``"sliced(SLICE=64)"``) and these words in a list.
        By the protocol quick, a variant's name alone means its standard configuration, else its fastest, one for each
        accuracy class, found by a search. Presets and Configurations, ``kernel.configurations(...)``, are as given.
    protocol
        ``"quick"`` (one level a parameter, fixed budget, intervals as obtained), ``"short"`` (the same with a smaller
        budget, as the casebook) or ``"full"`` (search, then interleaved blocks until the intervals are narrow).
    peers, calls
        Competitors in the same blocks, None for the installed ones; and whether whole calls, NumPy in and out, are too.
    cache
        None: as runs leave the caches (rows say ``hot`` or ``large``); ``"cold"``: flushed before each sample.
    store, progress
        A JSON-lines file. Stored rows stand, with the errors of their own check, while kernel, options, device, driver,
        problem and environment are the same: an interrupted sweep goes on. And whether to say how far it is; None: in
        notebooks.
    tunable_only
        Whether the search skips configurations that the problem excludes from plain calls, but for ``versions`` of a
        kernel: these are compared.
    energy, objective
        ``energy`` also measures the net joules of a run of each variant (`docs/energy.md`), about 15 s each; the
        objective ``"energy"`` searches for the least. Without a meter a note says why; the objective raises.

    Examples
    --------
    >>> lab.sweep(problems.tmv(4096), ["naive", "row_parts"], protocol="quick")  # doctest: +SKIP
    >>> study = lab.sweep(problems.gemm(32, dtype="float64"), "tensor", protocol="quick", peers=(), calls=False)
    >>> [(row["variant"], row["reason"]) for row in study.summary]
    [('tensor', 'gemm tensor: it splits float32')]
    """
    _check(protocol, cache, energy or objective == "energy")
    check_names(peers or ())
    chosen = select(device)
    wanted = what_to_measure(problem, chosen, variants, PROTOCOLS[protocol].all_levels)
    limited = tunable_only and problem.workload in tables.built_in()
    run = SweepRun(problem, chosen, PROTOCOLS[protocol], Recorder(store), problem.tunable if limited else _any)
    if energy or objective == "energy":
        run.energy = asked_for(chosen, run.recorder, decides=objective == "energy")
    competitors = problem.peers(chosen, run.recorder.notes) if peers is None else list(peers)
    whole = [*problem.calls] if calls else []
    run.run(cache, wanted, whole, competitors, Bar(progress, len(competitors) + len(whole), even=False))
    return run.recorder.handed_over(run.study())


def _check(protocol: str, cache: str | None, energy: bool) -> None:
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol: there is none called {protocol!r}; use one of {', '.join(PROTOCOLS)}")
    if cache not in (None, "cold"):
        raise ParameterError(f"cache: {cache!r} is no cache state; use None or 'cold'")
    if energy and cache == "cold":
        raise ParameterError("energy: it is measured of runs back to back, and cache='cold' flushes between them")


def _any(configuration: Configuration) -> bool:
    return True


@dataclass
class SweepRun:
    """One sweep under way. ``searched_for`` says which configurations a search looks at; the fields below it are filled
    in as the sweep goes on."""

    problem: Problem
    device: Device
    protocol: Protocol
    recorder: Recorder
    searched_for: Callable[[Configuration], bool] = _any
    ceilings: bool = True  # whether reads, copies and empty launches are visited too
    common: Row = field(default_factory=Row)  # the fields that all rows share
    profile: profiles.Profile | None = None
    flush: Callable[[], None] | None = None  # empties the caches before each sample of a cold sweep
    least_ms: float = math.inf  # of all configurations measured alone so far
    search_clock: Clock | None = None  # of all configurations that a search measures alone: their times are compared
    bound_by: str = "dram"  # the memory whose bandwidth is measured beside the variants
    candidates: list[Candidate] = field(default_factory=list)
    peer_inputs: PeerInputs | None = None  # made for the first peer
    energy: EnergyPass | None = None  # where the energy of runs was asked for, and the device has a meter
    band: float | None = None
    interrupted: bool = False
    phases: PhaseTimer = field(default_factory=PhaseTimer)

    def __post_init__(self) -> None:
        self.recorder.notes += self.problem.notes

    def run(self, cache: str | None, wanted: Wanted, calls: Sequence[str], peers: Sequence[AnyPeer], bar: Bar) -> None:
        """All of it. Ctrl-C ends it early, and ``interrupted`` is True then."""
        try:
            self.start(cache)
            self.measure(wanted, calls, peers, bar)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            bar.close()
            self.recorder.finish()

    def start(self, cache: str | None) -> None:
        """Notes the environment and the cache state, and makes the flush of a cold sweep."""
        facts = environment(self.device)
        self.recorder.notes += timer_notes(self.device) + sealed.unused()
        self.profile = profiles.stored(self.device)
        if self.profile is None:
            self.recorder.notes.append(profiles.absent(self.device))
        with self.phases("ceilings"):
            footprint = self.problem.footprint_bytes
            notes = self.recorder.notes
            state: CacheState = "cold" if cache == "cold" else caches.cache_state(self.device, footprint, notes)
            self.flush = caches.flusher(self.device, notes) if cache == "cold" else None
            self.bound_by = bounds.bounding_memory(self.device, footprint, state)
        self.common = problem_fields(self.problem, self.device, self.protocol.name, state, facts["env_hash"])
        self.common["profile"] = bounds.profile_word(self.profile) if self.profile else None
        self.recorder.keep(environment_row(self.device, facts))

    def measure(self, wanted: Wanted, calls: Sequence[str], peers: Sequence[AnyPeer], bar: Bar) -> None:
        """Search where the protocol asks for one, then the comparison in blocks."""
        finalists = self.finalists(wanted, bar)
        bar.more(len(finalists))
        for named in finalists:
            self.add(named.configuration.variant, named, partial(self.variant, named), bar)
        for call in calls:
            self.add(call, None, partial(self.call, call), bar, "call")
        for peer in peers:
            self.add(peer.name, None, partial(self.peer, peer), bar, "peer")
        if not any(candidate.role == "variant" for candidate in self.candidates):
            self.recorder.notes.append("no variant of this workload runs here; the rows say why")
            return
        self.add_clone(finalists, bar)
        if self.ceilings:
            bar.say("ceilings")
            self.add_ceilings()
        comparison = Comparison(
            self.candidates,
            self.bound_by,
            self.device,
            self.protocol,
            self.recorder,
            self.phases,
            self.problem.seed,
            self.profile,
        )
        try:
            comparison.run(bar)
        finally:
            self.band = comparison.band
        if self.energy is not None:
            with self.phases("energy"):
                self.energy.run([each for each in self.candidates if each.role == "variant"], bar)

    def add_ceilings(self) -> None:
        """Reads, copies and empty launches, which rows are compared with; without them the comparison goes on."""
        notes, footprint = self.recorder.notes, self.problem.footprint_bytes
        try:
            self.candidates += ceiling_candidates(
                self.device, footprint, self.common, self.phases, self.flush, notes, self.candidates
            )
        except (Error, MemoryError) as error:
            notes.append(f"no share of a bound is told, for no ceiling could be measured: {error}")
        try:
            self.candidates.append(overhead_candidate(self.device, self.common, self.phases, notes))
        except (Error, MemoryError) as error:
            notes.append(f"the time of a launch could not be measured: {error}")

    def add_clone(self, finalists: Sequence[Named], bar: Bar) -> None:
        """The baseline a second time, with an output and inputs of its own: how far two of a kind are apart is what a
        comparison cannot tell."""
        baseline = baseline_of(self.candidates)
        named = next(each for each in finalists if str(each.configuration) == baseline.label)
        bar.say(f"{baseline.label} again")
        try:
            with own_inputs():
                clone = self.variant(named)
            clone.role = "clone"
            with self.phases("warm-up"):
                clone.fields["warmup_ms"] = samplers.warm_up(clone.sampler, self.protocol)
            self.candidates.append(clone)
        except (Error, MemoryError) as error:
            self.recorder.notes.append(
                f"no second {baseline.label} with buffers of its own could be made, so the noise of a ratio is told "
                f"without the effect of where they lie: {error}"
            )

    def variant(self, named: Named) -> Candidate:
        return variant_candidate(
            self.problem,
            named.configuration,
            named.preset,
            self.device,
            self.common,
            self.phases,
            self.flush,
            self.recorder.clock_of,
            self.recorder.notes,
        )

    def peer(self, peer: AnyPeer) -> Candidate:
        if self.peer_inputs is None:
            self.peer_inputs = PeerInputs(self.problem)
        notes = self.recorder.notes if self.recorder.store is not None else None
        return peer_candidate(
            self.problem, peer, self.common, self.phases, self.flush, self.recorder.clock_of, self.peer_inputs, notes
        )

    def call(self, name: str) -> Candidate:
        return call_candidate(self.problem, name, self.device, self.common, self.phases, self.flush)

    def add(
        self, name: str, named: Named | None, make: Callable[[], Candidate], bar: Bar, role: Role = "variant"
    ) -> None:
        """A candidate for the comparison, warmed up; or its failure as a row."""
        bar.say(str(named.configuration) if named else name)
        try:
            candidate = make()
            with self.phases("warm-up"):
                candidate.fields["warmup_ms"] = samplers.warm_up(candidate.sampler, self.protocol)
            self.candidates.append(candidate)
        except Exception as error:
            if of_signal(error) is not None or (role != "peer" and not isinstance(error, (Error, MemoryError))):
                raise  # a bug of ours; a peer may fail in any way it likes
            self.failed("summary", error, name, named, role)
        bar.step()

    def failed(self, kind: Kind, error: Exception, name: str, named: Named | None, role: Role = "variant") -> None:
        """The row of a configuration, a call or a peer that raised."""
        row: Row = {
            **self.common,
            **failure(error),
            "kind": kind,
            "role": role,
            "variant": name,
            "configuration": str(named.configuration) if named else name,
            "params": named.configuration.parameters if named else {},
            "accuracy": tables.accuracy(self.problem.workload, named.configuration) if named else None,
            "preset": named.preset if named else None,
        }
        self.recorder.keep(row)

    def finalists(self, wanted: Wanted, bar: Bar) -> list[Named]:
        """What is worth a comparison: where the protocol asks for a search, each is measured alone first."""
        known = [item for item in wanted.items if isinstance(item, Configuration)]
        if len(known) > 1:
            bar.say("building")
            with self.phases("build and upload"):
                self.problem.build_ahead(known, self.device)
        if not self.protocol.all_levels:
            return [wanted.named(item) for item in wanted.items if isinstance(item, Configuration)]
        looked_at: dict[Configuration, Named] = {}
        times: dict[Configuration, float] = {}

        def measure(configurations: Sequence[Configuration]) -> dict[Configuration, float]:
            fresh = [configuration for configuration in configurations if configuration not in looked_at]
            bar.more(len(fresh))
            for configuration in fresh:
                looked_at[configuration] = wanted.named(configuration)
                cost = self.cost_alone(looked_at[configuration], bar)
                if cost is not None:
                    times[configuration] = cost
            return {configuration: times[configuration] for configuration in configurations if configuration in times}

        for item in wanted.items:
            if isinstance(item, Configuration):
                measure([item])
            else:
                search(item, measure, self.searched_for)
        return pick_finalists(self.problem.workload, list(looked_at.values()), times)

    def cost_alone(self, named: Named, bar: Bar) -> float | None:
        """Milliseconds of one configuration measured alone, kept as a row, or by the objective energy its net joules;
        None where it cannot run or takes what idling does. What is hopelessly slow gets a few samples only."""
        bar.say(str(named.configuration))
        try:
            candidate = self.variant(named)
            self.search_clock = self.search_clock or candidate.sampler.clock
            candidate.use(self.search_clock)
            hopeless_ms = HOPELESS * self.least_ms
            row = self.recorder.found(resume_key(candidate.fields)) or self.searched(candidate, hopeless_ms)
            if row["status"] != "ok":
                return None
            self.least_ms = min(self.least_ms, time_ms(row))
            if self.energy is None or not self.energy.decides:
                return time_ms(row)
            return None if "cut_short" in row["flags"] else self.energy.cost(candidate)
        except (Error, MemoryError) as error:
            self.failed("search", error, named.configuration.variant, named)
            return None
        finally:
            bar.step()

    def searched(self, candidate: Candidate, hopeless_ms: float) -> Row:
        """Samples of one configuration, checked again afterwards, as a kept row."""
        with self.phases("warm-up"):
            warmed = samplers.warm_up(candidate.sampler, self.protocol, hopeless_ms)
        with self.phases("samples"):
            taken = samplers.search_samples(candidate.sampler, self.protocol, hopeless_ms)
        with self.phases("verify"):
            candidate.check()
        row = timed(candidate, taken)
        return self.recorder.keep(row | {"kind": "search", "role": "variant", "warmup_ms": warmed})

    def study(self) -> Study:
        """The rows that were found, together with facts of the problem."""
        self.recorder.note_earlier_runs()
        info: ProblemInfo = {
            "name": self.problem.name,
            "workload": self.problem.workload,
            "dtype": self.problem.dtype.name,
            "sizes": dict(self.problem.sizes),
            "seed": self.problem.seed,
            "footprint_bytes": self.problem.footprint_bytes,
            "flops_counted": self.problem.flops_counted,
            "began_utc": self.recorder.began_utc,
            "wall_s": self.phases.wall_s,
            "harness_s": self.phases.harness_s,
        }
        if self.band is not None:
            info["band"] = self.band
        if (identical := aa_record.last(self.device)) is not None:
            info["could_show"] = identical.sentence()
        notes = list(dict.fromkeys(self.recorder.notes))
        if self.interrupted:
            notes.append(interrupted_note(self.recorder.store is not None))
        study = Study(self.recorder.rows, info, notes)
        study.interrupted = self.interrupted
        return study
