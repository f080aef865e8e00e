"""How to look for the fastest of many configurations without timing all of them.

A strategy sees a grid of admitted configurations and a function that times one of them. It ends when its budget does,
which that function enforces by raising :class:`SpentError`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import Error, ParameterError
from gpuopt.lab.kernels.space import Level, Levels

GAIN = 0.01  # what a round of a descent must bring for another to follow
ROUNDS = 3
MOST = 1_000_000  # configurations that are listed


class SpentError(Exception):
    """The budget is spent; nobody but a strategy's caller sees it."""


@dataclass(frozen=True)
class Grid:
    """Admitted configurations, as tuples of levels in the order of ``names``."""

    names: tuple[str, ...]
    points: tuple[tuple[Level, ...], ...]

    @classmethod
    def of(cls, combinations: Any, names: Sequence[str]) -> Grid:
        """The grid of an iterable of levels by name. Raises ParameterError for more than a million."""
        points = []
        for levels in combinations:
            points.append(tuple(levels[name] for name in names))
            if len(points) > MOST:
                raise ParameterError(f"constraints: they admit more than {MOST:,} configurations; add some")
        return cls(tuple(names), tuple(points))

    def levels(self, index: int) -> Levels:
        """A point as levels by name."""
        return dict(zip(self.names, self.points[index], strict=True))

    def lines(self) -> list[dict[tuple[Level, ...], list[int]]]:
        """For each parameter the points that differ in it alone, by the levels of all others."""
        found: list[dict[tuple[Level, ...], list[int]]] = []
        for axis in range(len(self.names)):
            line: dict[tuple[Level, ...], list[int]] = {}
            for index, point in enumerate(self.points):
                line.setdefault(point[:axis] + point[axis + 1 :], []).append(index)
            found.append(line)
        return found


@dataclass
class Evaluator:
    """Times points, each once; ``budget`` counts those that were timed. Infinite: it could not run."""

    grid: Grid
    time_of: Callable[[Levels], float]
    evaluations: int | None = None
    seconds: float | None = None
    times: dict[int, float] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def __call__(self, index: int) -> float:
        if index not in self.times:
            late = self.seconds is not None and time.monotonic() - self.began >= self.seconds
            if late or (self.evaluations is not None and len(self.times) >= self.evaluations):
                raise SpentError
            self.times[index] = self.time_of(self.grid.levels(index))
        return self.times[index]


Strategy = Callable[[Grid, Evaluator, np.random.Generator], None]


def exhaustive(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """All of them, in their order."""
    for index in range(len(grid.points)):
        time_of(index)


def at_random(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """All of them, in an order that is drawn."""
    for index in random.permutation(len(grid.points)):
        time_of(int(index))


def restarts(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """Descents, one parameter at a time, from one point after the other.

    The first starts at the standard configuration, the others where nothing was timed yet. A descent goes through the
    parameters in an order that is drawn, takes the best level of each, and ends with a round that brings less than 1 %.
    """
    lines, start = grid.lines(), 0
    while True:
        _descend(grid, lines, time_of, start, random)
        fresh = [index for index in range(len(grid.points)) if index not in time_of.times]
        if not fresh:
            return
        start = int(random.choice(fresh))


def _descend(
    grid: Grid,
    lines: Sequence[dict[tuple[Level, ...], list[int]]],
    time_of: Evaluator,
    start: int,
    random: np.random.Generator,
) -> int:
    best, best_time = start, time_of(start)
    for _ in range(ROUNDS):
        before = best_time
        for axis in random.permutation(len(grid.names)):
            point = grid.points[best]
            for index in lines[axis][point[:axis] + point[axis + 1 :]]:
                if (found := time_of(index)) < best_time:
                    best, best_time = index, found
        if not best_time < (1 - GAIN) * before:
            break
    return best


def annealed_restarts(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """Descents that start near what was good so far as often as anywhere: half of them two parameters away from one of
    the three best points, where published spaces have their other good points."""
    lines, start = grid.lines(), 0
    place = {point: index for index, point in enumerate(grid.points)}
    while True:
        _descend(grid, lines, time_of, start, random)
        fresh = [index for index in range(len(grid.points)) if index not in time_of.times]
        if not fresh:
            return
        start = int(random.choice(fresh))
        if random.random() < 0.5:
            near = _near(grid, place, lines, time_of, random)
            start = start if near is None else near


def _near(
    grid: Grid,
    place: dict[tuple[Level, ...], int],
    lines: Sequence[Any],
    time_of: Evaluator,
    random: np.random.Generator,
) -> int | None:
    ranked = sorted((t, i) for i, t in time_of.times.items() if math.isfinite(t))[:3]
    if not ranked:
        return None
    index = ranked[int(random.integers(len(ranked)))][1]
    for _ in range(2):
        axis = int(random.integers(len(grid.names)))
        point = grid.points[index]
        index = int(random.choice(lines[axis][point[:axis] + point[axis + 1 :]]))
    return index if index not in time_of.times else None


def with_optuna(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """Optuna's TPE over the parameters, each a category; what the constraints forbid it is told to have failed."""
    try:
        import optuna
    except ImportError as error:
        raise Error("strategy: Optuna is not installed: pip install optuna, or use 'restarts'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    place = {point: index for index, point in enumerate(grid.points)}
    levels = [sorted({point[axis] for point in grid.points}, key=str) for axis in range(len(grid.names))]
    sampler = optuna.samplers.TPESampler(seed=int(random.integers(2**31)))
    study = optuna.create_study(sampler=sampler)
    misses = 0
    while len(time_of.times) < len(grid.points) and misses < 1000:
        trial = study.ask()
        point = tuple(trial.suggest_categorical(n, one) for n, one in zip(grid.names, levels, strict=True))
        index = place.get(point)
        value = math.inf if index is None else time_of(index)
        misses = misses + 1 if index is None else 0
        study.tell(
            trial,
            value if math.isfinite(value) else None,
            state=None if math.isfinite(value) else optuna.trial.TrialState.FAIL,
        )


STRATEGIES: dict[str, Strategy] = {
    "exhaustive": exhaustive,
    "random": at_random,
    "restarts": restarts,
    "near": annealed_restarts,
    "optuna": with_optuna,
}


def run(
    name: str,
    grid: Grid,
    time_of: Callable[[Levels], float],
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    began: float | None = None,
) -> Evaluator:
    """Runs a strategy until its budget is spent or all is timed. ``seconds`` count from ``began``, a time of
    ``time.monotonic``, by default now. Raises ParameterError for an unknown name."""
    if name not in STRATEGIES:
        raise ParameterError(f"strategy: there is none called {name!r}; use one of {', '.join(STRATEGIES)}")
    for what, value in (("evaluations", evaluations), ("seconds", seconds)):
        if value is not None and not value > 0:
            raise ParameterError(f"{what}: it is {value}; give more than 0, or None for no limit")
    made = Evaluator(grid, time_of, evaluations, seconds, began=time.monotonic() if began is None else began)
    try:
        STRATEGIES[name](grid, made, np.random.default_rng(seed))
    except SpentError:
        pass
    return made


def evaluations_to(share: float, grid: Grid, times: Sequence[float], strategy: str, seed: int) -> int | None:
    """How many evaluations a strategy takes on a known table until its best reaches this share of the best there is;
    None where it never does."""
    goal = min(times) / share
    index_of = {point: index for index, point in enumerate(grid.points)}
    count, reached = 0, None

    def time_of(levels: Levels) -> float:
        nonlocal count, reached
        count += 1
        found = times[index_of[tuple(levels[name] for name in grid.names)]]
        if reached is None and found <= goal:
            reached = count
            raise SpentError
        return found

    made = Evaluator(grid, time_of)
    try:
        STRATEGIES[strategy](grid, made, np.random.default_rng(seed))
    except SpentError:
        pass
    return reached
