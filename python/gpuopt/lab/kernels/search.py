"""The search for the fastest levels of a kernel of one's own."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.kernels import strategies
from gpuopt.lab.kernels.arguments import TAKEN
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.kernels.published import Results, of_rows
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.strategies import Grid
from gpuopt.lab.kernels.task import Numbers
from gpuopt.lab.report import Study
from gpuopt.lab.rows.energies import ranked_j
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import KEY_FIELDS
from gpuopt.lab.run.energy import Objective, asked_for
from gpuopt.lab.run.sweep import SweepRun, sweep
from gpuopt.lab.run.wanted import REMEASURED, Named
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select

IDLE = ("summary", "variant", math.inf)  # what a row of a run is that takes hardly more than the idle device


@dataclass(frozen=True)
class Found:
    """What a search found: the ``study`` of the best five, measured again in blocks, the ``results`` of all that was
    tried, failures too, and how many ``evaluations`` of ``configurations`` those are. ``overhead_ms`` is what the
    search itself took for each of them, beside building, checking, warming up and timing it. Where Ctrl-C ended the
    search, the ``study`` is ``interrupted`` and has what was timed until then."""

    study: Study
    results: Results
    evaluations: int
    configurations: int
    objective: Objective = "time"
    overhead_ms: float = 0.0

    @property
    def best(self) -> Levels | None:
        """The levels of the fastest of those that were measured again, or of the one with the least net energy; None
        where none ran, or none takes more than the idle device (by 1 % of its gross energy)."""
        costs = [
            (cost, dict(row["params"] or {}))
            for row in self.study.rows
            if (row["kind"], row["role"], row["status"]) == ("summary", "variant", "ok")
            and (cost := row["median_ms"] if self.objective == "time" else ranked_j(row)) is not None
            and math.isfinite(cost)
        ]
        return min(costs, key=lambda one: one[0])[1] if costs else None

    @property
    def configuration(self) -> Configuration | None:
        """The same as a Configuration, which :func:`lab.tune` makes what calls use; None where ``best`` is."""
        return None if self.best is None else Configuration(self.results.kernel, **self.best)  # type: ignore[arg-type]

    def __str__(self) -> str:
        share = f"{self.evaluations} of {self.configurations} configurations were tried{self._failures()}"
        best = "fastest" if self.objective == "time" else "most frugal"
        again = f"; the {best} were measured again, since the best of many is partly luck"
        if self.best is None and self.study.interrupted:
            again = "; it was interrupted before the best were measured again"
        elif self.best is None:
            idle = any((row["kind"], row["role"], ranked_j(row)) == IDLE for row in self.study.rows)
            again = "; none is most frugal: they take hardly more power than the idle device" if idle else ""
        return f"{self.study}\n{share}{again}"

    def __repr__(self) -> str:
        return str(self)

    def _failures(self) -> str:
        """`, 3 wrong (the first: stencil(use_local=1)), 1 timeout`."""
        first: dict[str, Configuration] = {}
        for one in self.results.results:
            if one.status != "ok":
                first.setdefault(one.status, Configuration(self.results.kernel, **one.levels))  # type: ignore[arg-type]
        counts = Counter(one.status for one in self.results.results)
        told = [
            f"{counts[word]} {word} ({'the first: ' if counts[word] > 1 else ''}{one})" for word, one in first.items()
        ]
        return f", of these {', '.join(told)}" if told else ""


@checked
def search(  # long: half of it is its arguments and what users read of them
    kernel: Kernel,
    /,
    *,
    strategy: str = "restarts",
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    device: Selector = None,
    data: Mapping[str, Any] | None = None,
    limit_s: float = 30.0,
    store: str | Path | None = None,
    progress: bool | None = None,
    objective: Objective = "time",
    **sizes: Any,
) -> Found:
    """Times configurations of a kernel in the order of a strategy, within a budget, and the five fastest again, which
    the budget does not count.

    Each is verified before it is timed. ``strategy`` is "exhaustive", "random", "restarts" (descents one parameter at a
    time, from one start after the other), "near" (the same, half of the starts beside what was good) or "optuna";
    ``evaluations`` and ``seconds`` are the budget, None for none; an exhaustive search builds ahead of its timing, for
    half of the seconds at most. ``data``, ``limit_s`` and ``sizes`` are those of ``kernel.problem``, whose ``isolated``
    and ``versions`` may stand among the sizes; versions are not searched. ``objective`` is of what the search finds the
    least: "time", or "energy", the net joules of a run, which takes about 15 s a configuration (`docs/energy.md`).
    Ctrl-C ends it: ``results`` has what was timed so far, and nothing is measured again. Raises ParameterError where
    the sizes admit no configuration, and at once where the energy cannot be measured; UnsavedRowsError, with what was
    searched, where ``store`` could not take it.

    Examples
    --------
    >>> text = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }"
    >>> twice = lab.Kernel(text, "twice", parameters={"WG": [32, 64, 128]}, constraints="n % WG == 0",
    ...                    arguments=[lab.inout("x", "n")], launch=lab.launch(items="n", local="WG"),
    ...                    reference=lambda x: 2 * x)
    >>> [str(one) for one in twice.configurations(n=64)]
    ['twice(WG=32)', 'twice(WG=64)']
    >>> found = lab.search(twice, evaluations=20, n=2**24)  # doctest: +SKIP
    >>> found.best  # doctest: +SKIP
    {'WG': 128}
    """
    strategies.check(strategy, evaluations, seconds)
    problem, chosen = kernel.problem(data=data, limit_s=limit_s, **sizes), select(device)
    known = {name: value for name, value in sizes.items() if name not in TAKEN}
    grid = _admitted(kernel, kernel.task.numbers(known, data or {}, [*kernel.code.space.levels]), progress)
    run = SweepRun(problem, chosen, PROTOCOLS["quick"], Recorder(store))
    if objective == "energy":
        run.energy = asked_for(chosen, run.recorder, decides=True)
    bar = Bar(progress, min(len(grid.points), evaluations or len(grid.points)))
    try:
        run.start(None)
        began = time.monotonic()
        if strategy == "exhaustive":
            bar.say("building")
            _build_ahead(run, kernel.name, grid, evaluations, None if seconds is None else began + seconds / 2)

        def time_of(levels: Levels) -> float:
            configuration = Configuration(kernel.name, **levels)  # type: ignore[arg-type]
            found = run.cost_alone(Named(configuration, None, False), bar)
            return math.inf if found is None else found

        before = run.phases.harness_s
        made = strategies.run(strategy, grid, time_of, evaluations=evaluations, seconds=seconds, seed=seed, began=began)
        overhead_ms = 1e3 * (run.phases.harness_s - before) / max(1, len(made.times))
    except KeyboardInterrupt:
        if not any(row["kind"] == "search" for row in run.recorder.rows):
            raise
        run.interrupted = True
    finally:
        bar.close()
        run.recorder.finish()
    if run.interrupted:
        study = run.recorder.handed_over(run.study())
        results = of_rows(study.rows, kernel.name)
        return Found(study, results, len(results.results), len(grid.points), objective)
    if not made.times:
        raise ParameterError("seconds: they were over before anything was timed; give more")
    if run.recorder.store is not None and run.recorder.store.unsaved:
        run.recorder.handed_over(run.study())  # raises, with what was searched
    best, frugal = _fastest(kernel, grid, made.times), objective == "energy"
    study = sweep(
        problem, best, protocol="quick", device=chosen, calls=False, store=store, progress=progress, energy=frugal
    )
    results = of_rows([*run.recorder.rows], kernel.name)
    return Found(study, results, len(made.times), len(grid.points), objective, overhead_ms)


def _fastest(kernel: Kernel, grid: Grid, times: Mapping[int, float]) -> list[Configuration]:
    """What is measured again: the fastest ones, or the first that was tried, so that its row says why none ran."""
    ranked = sorted((ms, index) for index, ms in times.items() if math.isfinite(ms))[:REMEASURED]
    indices = [index for _, index in ranked] or [next(iter(times))]
    return [Configuration(kernel.name, **grid.levels(index)) for index in indices]  # type: ignore[arg-type]


def _admitted(kernel: Kernel, numbers: Numbers, progress: bool | None) -> Grid:
    """The configurations that the constraints admit. Raises ParameterError where there are none."""
    space = kernel.code.space
    bar = Bar(progress, 0)
    try:
        grid = Grid.of(space.admitted(numbers, bar.say), [*space.levels])
    finally:
        bar.close()
    if not grid.points:
        told = ", ".join(f"{name}={value}" for name, value in numbers.items())
        raise ParameterError(f"constraints: they admit no configuration for {told}")
    return grid


def _build_ahead(run: SweepRun, name: str, grid: Grid, most: int | None, until: float | None) -> None:
    """Builds those that the store has no time of, for this problem in this environment, of the first ``most``."""
    every = (Configuration(name, **grid.levels(index)) for index in range(len(grid.points)))  # type: ignore[arg-type]
    store, common = run.recorder.store, dict[str, object](run.common)
    alike = [name for name in common if name in KEY_FIELDS or name == "env_hash"]
    rows: Sequence[Mapping[str, object]] = [] if store is None else store.latest()
    stored = {
        row["configuration"]
        for row in rows
        if row["kind"] == "search" and all(row[name] == common[name] for name in alike)
    }
    wanted = [one for one in itertools.islice(every, most) if str(one) not in stored]
    run.problem.build_ahead(wanted, run.device, until)
