"""How to look for the fastest of many configurations without timing all of them.

A strategy sees a grid of admitted configurations and a function that times one of them. It ends when its budget does,
which that function enforces by raising :class:`SpentError`."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import Error, ParameterError
from gpuopt.lab.kernels.predicting import Prediction
from gpuopt.lab.kernels.space import Level, Levels

STARTS = 3  # points of which a descent begins at the best, but for the first, which has two
MOST = 1_000_000  # configurations that are listed
MOST_IN_VAIN = 1000  # suggestions of Optuna's in a row that are of no use


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

    @property
    def spent(self) -> bool:
        """Whether nothing more may be timed."""
        late = self.seconds is not None and time.monotonic() - self.began >= self.seconds
        return late or (self.evaluations is not None and len(self.times) >= self.evaluations)

    def __call__(self, index: int) -> float:
        if index not in self.times:
            if self.spent:
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
    """Descents, one parameter at a time, each from the best of three points that were not timed yet. The first is from
    the standard configuration or one that is drawn, and tries first what the times so far predict to be the fastest.

    A later descent goes round the parameters in an order that is drawn, takes the first level that is faster, and ends
    where no other level of any one parameter is.
    """
    lines = grid.lines()
    starts = _first(grid, lines, time_of, random)
    while starts:
        _descend(grid, lines, time_of, min(starts, key=time_of), random)
        starts = _drawn(grid, time_of, random)


def _first(
    grid: Grid, lines: Sequence[dict[tuple[Level, ...], list[int]]], time_of: Evaluator, random: np.random.Generator
) -> list[int]:
    """The first descent: it goes to the first point that is faster, in the order of what is predicted after each time.
    Returns where the next one may start. Later ones go in an order that is drawn, and so elsewhere."""
    best, prediction = min([0, *_drawn(grid, time_of, random)[1:2]], key=time_of), Prediction(grid.points)
    left = _beside(grid, lines, best, random)
    while left:
        known = [index for index in left if index in time_of.times]
        if not known:
            prediction.learn(time_of.times)
        tried = known[0] if known else prediction.best_of(left)
        left.remove(tried)
        if time_of(tried) < time_of(best):
            best, left = tried, _beside(grid, lines, tried, random)
    return _drawn(grid, time_of, random)


def _beside(
    grid: Grid, lines: Sequence[dict[tuple[Level, ...], list[int]]], index: int, random: np.random.Generator
) -> list[int]:
    """All points that differ from one in a single parameter, in an order that is drawn."""
    point = grid.points[index]
    found = {i for axis, line in enumerate(lines) for i in line[point[:axis] + point[axis + 1 :]]} - {index}
    return [int(i) for i in random.permutation(sorted(found))]


def _drawn(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> list[int]:
    """Three points that were not timed yet, or as many as there are."""
    fresh = [index for index in range(len(grid.points)) if index not in time_of.times]
    return [int(index) for index in random.permutation(fresh)[:STARTS]]


def _descend(
    grid: Grid,
    lines: Sequence[dict[tuple[Level, ...], list[int]]],
    time_of: Evaluator,
    start: int,
    random: np.random.Generator,
) -> None:
    best, in_vain = start, 0
    for axis in itertools.cycle(random.permutation(len(grid.names))):
        point = grid.points[best]
        line = random.permutation(lines[axis][point[:axis] + point[axis + 1 :]])
        faster = next((int(index) for index in line if time_of(int(index)) < time_of(best)), None)
        best, in_vain = (best, in_vain + 1) if faster is None else (faster, 0)
        if in_vain == len(grid.names):
            return


def annealed_restarts(grid: Grid, time_of: Evaluator, random: np.random.Generator) -> None:
    """Descents that start near what was good so far as often as anywhere: after the first, half of them two parameters
    away from one of the three best points, where published spaces have their other good points."""
    lines = grid.lines()
    starts = _first(grid, lines, time_of, random)
    place = {point: index for index, point in enumerate(grid.points)}
    while starts:
        _descend(grid, lines, time_of, min(starts, key=time_of), random)
        near = _near(grid, place, lines, time_of, random) if random.random() < 0.5 else None
        starts = _drawn(grid, time_of, random) if near is None else [near]


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
    """Optuna's TPE over the parameters, each a category; what the constraints forbid it is told to have failed. It ends
    after so many suggestions that are forbidden or known already. Raises ParameterError where none was admitted."""
    try:
        import optuna
    except ImportError as error:
        raise Error("strategy: Optuna is not installed: pip install optuna, or use 'restarts'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    place = {point: index for index, point in enumerate(grid.points)}
    levels = [sorted({point[axis] for point in grid.points}, key=str) for axis in range(len(grid.names))]
    sampler = optuna.samplers.TPESampler(seed=int(random.integers(2**31)))
    study = optuna.create_study(sampler=sampler)
    in_vain = 0
    while len(time_of.times) < len(grid.points) and in_vain < MOST_IN_VAIN and not time_of.spent:
        trial = study.ask()
        point = tuple(trial.suggest_categorical(n, one) for n, one in zip(grid.names, levels, strict=True))
        index = place.get(point)
        in_vain = in_vain + 1 if index is None or index in time_of.times else 0
        value = math.inf if index is None else time_of(index)
        study.tell(
            trial,
            value if math.isfinite(value) else None,
            state=None if math.isfinite(value) else optuna.trial.TrialState.FAIL,
        )
    if not time_of.times and in_vain == MOST_IN_VAIN:
        raise ParameterError(
            f"strategy: Optuna suggested nothing that the constraints admit in {MOST_IN_VAIN:,} turns; use 'restarts'"
        )


STRATEGIES: dict[str, Strategy] = {
    "exhaustive": exhaustive,
    "random": at_random,
    "restarts": restarts,
    "near": annealed_restarts,
    "optuna": with_optuna,
}


def check(name: str, evaluations: int | None, seconds: float | None) -> None:
    """Raises ParameterError for an unknown name, and for a budget of nothing."""
    if name not in STRATEGIES:
        raise ParameterError(f"strategy: there is none called {name!r}; use one of {', '.join(STRATEGIES)}")
    for what, value in (("evaluations", evaluations), ("seconds", seconds)):
        if value is not None and not value > 0:
            raise ParameterError(f"{what}: it is {value}; give more than 0, or None for no limit")


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
    ``time.monotonic``, by default now. Raises ParameterError as :func:`check` does."""
    check(name, evaluations, seconds)
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
