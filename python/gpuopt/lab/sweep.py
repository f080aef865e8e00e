"""A sweep: every variant of a workload built, verified and timed beside peers and ceilings, as rows that survive a
kill."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuopt import configuration as tables
from gpuopt import papers
from gpuopt._core import Device, Error, ParameterError
from gpuopt.configuration import Configuration
from gpuopt.lab import bounds, measure
from gpuopt.lab.comparison import Comparison, timed
from gpuopt.lab.environment import environment
from gpuopt.lab.measure import PROTOCOLS, Ledger, Protocol
from gpuopt.lab.peers import Peer, default_peers
from gpuopt.lab.progress import Bar
from gpuopt.lab.recorder import Recorder
from gpuopt.lab.results import resume_key
from gpuopt.lab.study import Study
from gpuopt.lab.targets import Target, ceiling_targets, peer_target, problem_fields, status_of, variant_target
from gpuopt.problems.problem import Problem
from gpuopt.selection import Selector, select

REMEASURED = 5  # winners of a search that are measured again in blocks: the best of many is partly luck


def sweep(
    problem: Problem,
    variants: str | Iterable[str | Configuration] = "all",
    *,
    protocol: str = "full",
    device: Selector = None,
    peers: Sequence[Peer] | None = None,
    cache: str | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Study:
    """Runs the variants of a problem's workload on one device and returns what was found.

    Parameters
    ----------
    variants
        ``"all"``, or names, presets and Configurations. Unless the protocol is quick, a bare name stands for all its
        levels.
    protocol
        ``"quick"`` (one level a parameter, fixed budget, intervals as obtained) or ``"full"`` (search, then interleaved
        blocks until the intervals are narrow).
    peers
        Competitors to visit in the same blocks; None takes the installed ones, ``()`` none.
    cache
        None leaves the caches as repeated runs find them (rows say ``hot`` or ``large``); ``"cold"`` flushes them
        before every sample.
    store
        A JSON-lines file. Finished rows that still hold are not measured again; an interrupted sweep goes on where it
        stopped.

    A configuration that cannot run is a row with its status and reason. Ctrl-C ends the sweep early: the study holds
    what was finished and its ``interrupted`` is True. Ratios are of times against the first variant of the paper's
    ladder, or else the first one given.
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol: there is none called {protocol!r}; use one of {', '.join(PROTOCOLS)}")
    if cache not in (None, "cold"):
        raise ParameterError(f"cache: {cache!r} is no cache state; use None or 'cold'")
    chosen = select(device)
    configurations = _configurations(problem, chosen, variants, PROTOCOLS[protocol].all_levels)
    competitors = default_peers(problem.workload, chosen) if peers is None else list(peers)
    run = _Sweep(problem, chosen, PROTOCOLS[protocol], Recorder(store))
    bar = Bar(progress, len(configurations) + len(competitors))
    try:
        run.start(cache)
        run.measure(configurations, competitors, bar)
    except KeyboardInterrupt:
        run.interrupted = True
    finally:
        bar.close()
    return run.study()


@dataclass(frozen=True)
class _Named:
    configuration: Configuration
    preset: str | None


def _configurations(
    problem: Problem, device: Device, wanted: str | Iterable[str | Configuration], all_levels: bool
) -> list[_Named]:
    """Every configuration to look at, once each, in the order of the tables; presets are known by name."""
    workload = problem.workload
    table = {variant.name: variant for variant in tables.variants(workload)}
    quoted = {name: papers.preset(workload, name) for name in papers.figures(workload)}
    # Two presets may name one kernel (a paper's GPU and CPU form): the first is the one a row is called by.
    presets = {
        tables.complete(workload, quoted[name]): name for name in reversed(quoted) if quoted[name].variant in table
    }
    names: list[str | Configuration]
    if isinstance(wanted, str):
        names = list(table) if wanted == "all" else [wanted]
    else:
        names = list(wanted)
    if not names:
        raise ParameterError("variants: none is given; use 'all' or names of gpuopt.variants")
    found: dict[Configuration, None] = {}
    for name in names:
        exact = tables.resolve(workload, device, problem.dtype.name, name)
        found[exact] = None
        if all_levels and isinstance(name, str) and ":" not in name:
            parameters = table[exact.variant].parameters
            for levels in itertools.product(*(parameter.levels for parameter in parameters)):
                named = dict(zip((parameter.name for parameter in parameters), levels, strict=True))
                found[Configuration(exact.variant, **named)] = None
    return [_Named(configuration, presets.get(configuration)) for configuration in found]


def _finalists(configurations: Sequence[_Named], times: dict[Configuration, float]) -> list[_Named]:
    """Presets, the best of each variant, the best few of all; of a variant that never ran, one, so that it shows."""
    chosen = {named.configuration for named in configurations if named.preset}
    ranked = sorted(times, key=lambda configuration: times[configuration])
    chosen.update(ranked[:REMEASURED])
    for variant in dict.fromkeys(named.configuration.variant for named in configurations):
        best = next((c for c in ranked if c.variant == variant), None)
        chosen.add(best or next(n.configuration for n in configurations if n.configuration.variant == variant))
    return [named for named in configurations if named.configuration in chosen]


class _Sweep:
    """One sweep under way."""

    def __init__(self, problem: Problem, device: Device, protocol: Protocol, recorder: Recorder) -> None:
        self.problem, self.device, self.protocol, self.recorder = problem, device, protocol, recorder
        self.recorder.notes += problem.notes
        self.interrupted = False
        self.ledger = Ledger()
        self.targets: list[Target] = []
        self.band: float | None = None

    def start(self, cache: str | None) -> None:
        """Environment, cache state, and the flush of a cold sweep."""
        facts = environment(self.device)
        with self.ledger("ceilings"):
            footprint = self.problem.footprint_bytes
            state = "cold" if cache == "cold" else bounds.cache_state(self.device, footprint)
            self.flush = bounds.flusher(self.device) if cache == "cold" else None
            self.bound_by = bounds.bounding_memory(self.device, footprint, state)
        self.common = problem_fields(self.problem, self.device, self.protocol.name, state, facts["env_hash"])
        row = {"kind": "environment", "status": "ok", "environment": facts, "env_hash": facts["env_hash"]}
        self.recorder.keep(row | {"device": self.device.name})

    def measure(self, configurations: Sequence[_Named], peers: Sequence[Peer], bar: Bar) -> None:
        """Search where the protocol asks for one, then the comparison in blocks."""
        finalists = self.search(configurations, bar) if self.protocol.all_levels else configurations
        for named in finalists:
            self.add(named.configuration.variant, named, lambda named=named: self.variant(named), bar)  # type: ignore[misc]
        for peer in peers:
            self.add(peer.name, None, lambda peer=peer: self.peer(peer), bar)  # type: ignore[misc]
        if not any(target.role == "variant" for target in self.targets):
            self.recorder.notes.append("no variant of this workload runs here; the rows say why")
            return
        bar.say("ceilings")
        footprint = self.problem.footprint_bytes
        self.targets += ceiling_targets(self.device, footprint, self.common, self.ledger, self.flush)
        comparison = Comparison(
            self.targets, self.bound_by, self.device, self.protocol, self.recorder, self.ledger, self.problem.seed
        )
        try:
            comparison.run(bar)
        finally:
            self.band = comparison.band

    def variant(self, named: _Named) -> Target:
        return variant_target(
            self.problem,
            named.configuration,
            named.preset,
            self.device,
            self.common,
            self.ledger,
            self.flush,
            self.recorder.clock_of,
        )

    def peer(self, peer: Peer) -> Target:
        return peer_target(self.problem, peer, self.common, self.ledger)

    def add(self, name: str, named: _Named | None, make: Callable[[], Target], bar: Bar) -> None:
        """A target for the comparison, warmed up; or its failure as a row."""
        bar.say(str(named.configuration) if named else name)
        try:
            target = make()
            with self.ledger("warm-up"):
                target.fields["warmup_ms"] = measure.warm_up(target.sampler, self.protocol)
            self.targets.append(target)
        except Exception as error:
            if named is not None and not isinstance(error, Error):
                raise  # a bug of ours; a peer may fail in any way it likes
            self.failed("summary", error, name, named)
        bar.step()

    def failed(self, kind: str, error: Exception, name: str, named: _Named | None) -> None:
        """The row of a configuration or a peer that raised."""
        row = {
            "kind": kind,
            "role": "variant" if named else "peer",
            "variant": name,
            "configuration": str(named.configuration) if named else name,
            "params": named.configuration.parameters if named else {},
            "preset": named.preset if named else None,
            "status": status_of(error),
            "reason": " ".join(str(error).split())[:600] or type(error).__name__,
        }
        self.recorder.keep(self.common | row)

    def search(self, configurations: Sequence[_Named], bar: Bar) -> list[_Named]:
        """Each configuration alone; returns those worth a comparison."""
        times: dict[Configuration, float] = {}
        for named in configurations:
            bar.say(str(named.configuration))
            try:
                target = self.variant(named)
                row = self.recorder.found(resume_key(target.fields)) or self.searched(target)
                if row["status"] == "ok":
                    times[named.configuration] = float(row["median_ms"])  # type: ignore[arg-type]
            except Error as error:
                self.failed("search", error, named.configuration.variant, named)
            bar.step()
        finalists = _finalists(configurations, times)
        bar.more(len(finalists))
        return finalists

    def searched(self, target: Target) -> dict[str, object]:
        """Samples of one configuration, checked again afterwards, as a kept row."""
        with self.ledger("warm-up"):
            warmed = measure.warm_up(target.sampler, self.protocol)
        with self.ledger("samples"):
            samples, flags = measure.search_samples(target.sampler, self.protocol, self.device.timer_ns)
        with self.ledger("verify"):
            target.check()
        row = timed(target, samples, flags, self.device)
        return self.recorder.keep(row | {"kind": "search", "role": "variant", "warmup_ms": warmed})

    def study(self) -> Study:
        """What was found, told with the problem's own facts."""
        self.recorder.finish()
        info = {
            "name": self.problem.name,
            "workload": self.problem.workload,
            "dtype": self.problem.dtype.name,
            "sizes": dict(self.problem.sizes),
            "seed": self.problem.seed,
            "footprint_bytes": self.problem.footprint_bytes,
            "flops_counted": self.problem.flops_counted,
            "wall_s": self.ledger.wall_s,
            "harness_s": self.ledger.harness_s,
        }
        if self.band is not None:
            info["band"] = self.band
        notes = list(self.recorder.notes)
        if self.interrupted:
            notes.append("interrupted: what was finished is here and in the file; the same call goes on from there")
        study = Study(self.recorder.rows, info, notes)
        study.interrupted = self.interrupted
        return study
