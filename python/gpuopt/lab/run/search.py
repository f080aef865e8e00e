"""Which configurations of a variant to try: all of a small table, else one parameter at a time from the best so far."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from math import prod

from gpuopt._core import Parameter, Variant
from gpuopt.configuration import Configuration

EXHAUSTIVE = 24  # configurations of one accuracy class up to which all are tried
GAIN = 0.01  # what a round must bring for another to follow
ROUNDS = 3
MANY = 4  # above so many accuracy classes, the first alone is searched; the others take over what was best there

Levels = dict[str, int]
Times = Mapping[Configuration, float]


def search(
    variant: Variant,
    measure: Callable[[list[Configuration]], Times],
    wanted: Callable[[Configuration], bool] = lambda configuration: True,
) -> dict[Configuration, float]:
    """The times of the configurations tried, in the order of trying.

    ``measure`` takes configurations that are ``wanted``, none of them twice, and returns the times of those that ran.
    Each accuracy class (a level of the parameters that alter the accuracy) is searched by itself, the standard one
    first. The other classes start at the best that was found there; where they are many, that alone is tried. A class
    whose start is not ``wanted`` starts at the first of its configurations that is; one without any is left out.
    """
    free = [p for p in variant.parameters if not p.alters_accuracy]
    altering = [p for p in variant.parameters if p.alters_accuracy]
    trials = _Trials(variant.name, measure, wanted)
    names = [p.name for p in free]
    start = {p.name: p.standard for p in free}
    # The standard level of each first, so that the first class is the one of standard accuracy.
    levels = itertools.product(*([p.standard, *(x for x in p.levels if x != p.standard)] for p in altering))
    classes = [dict(zip((p.name for p in altering), each, strict=True)) for each in levels]

    def begin(fixed: Levels) -> Levels | None:
        every = itertools.product(*(p.levels for p in free))
        choices = itertools.chain([start], (dict(zip(names, x, strict=True)) for x in every))
        found = (fixed | levels for levels in choices)
        return next((levels for levels in found if wanted(Configuration(variant.name, **levels))), None)

    classes = [fixed for fixed in classes if begin(fixed) is not None]
    for number, fixed in enumerate(classes):
        if number > 0 and len(classes) > MANY:
            trials.best([begin(fixed) or fixed])
            continue
        if prod(len(p.levels) for p in free) <= EXHAUSTIVE:
            trials.best(
                [fixed | dict(zip(names, x, strict=True)) for x in itertools.product(*(p.levels for p in free))]
            )
            continue
        found = _by_coordinates(free, begin(fixed) or fixed, trials)
        if number == 0:
            start = {p.name: found[p.name] for p in free}
    return trials.times


def _by_coordinates(parameters: Sequence[Parameter], levels: Levels, trials: _Trials) -> Levels:
    """The best levels found by varying one parameter after the other, in rounds. Where the start does not run, the
    first levels that do take its place."""
    time = trials.best([levels])[1]
    for _ in range(ROUNDS):
        before = time
        for parameter in parameters:
            levels, time = trials.best([levels, *(levels | {parameter.name: level} for level in parameter.levels)])
        if not time < (1 - GAIN) * before:
            break
    return levels


class _Trials:
    """What was tried of one variant, and its times."""

    def __init__(
        self,
        variant: str,
        measure: Callable[[list[Configuration]], Times],
        wanted: Callable[[Configuration], bool],
    ) -> None:
        self.variant, self.measure, self.wanted = variant, measure, wanted
        self.times: dict[Configuration, float] = {}
        self.tried: set[Configuration] = set()

    def best(self, choices: Sequence[Levels]) -> tuple[Levels, float]:
        """The fastest of the choices, the first one where none runs, and its time (infinite then)."""
        named = {Configuration(self.variant, **levels): levels for levels in choices}
        named = {configuration: levels for configuration, levels in named.items() if self.wanted(configuration)}
        fresh = [configuration for configuration in named if configuration not in self.tried]
        self.tried.update(fresh)
        if fresh:
            self.times.update(self.measure(fresh))
        fastest = min(named, key=lambda configuration: self.times.get(configuration, float("inf")))
        return named[fastest], self.times.get(fastest, float("inf"))
