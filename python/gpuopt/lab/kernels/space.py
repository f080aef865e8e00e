"""The configurations of a kernel that its constraints allow, found without looking at all combinations."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.lab.kernels.arguments import identifier
from gpuopt.lab.kernels.expressions import FRACTION, Expression

Level = int | str
Levels = dict[str, Level]
Told = Callable[[str], None]
_TEXT = re.compile(rf"[A-Za-z_]\w{{0,63}}|{FRACTION}", re.ASCII)
MOST_LEVELS = 10_000
LOOKED_AT = 2**14  # levels between two looks at the clock
TOLD_S = 2.0
MOST_TRIED = 200_000  # levels, for a standard combination, and for one that a constraint lets through by itself
MOST_FIRST = 1_000_000  # levels, for the first combination


def levels_of(parameters: Mapping[str, Any]) -> dict[str, tuple[Level, ...]]:
    """The levels by parameter, checked: whole numbers, flags as 0 and 1, and words that a macro may stand for
    (``float4``, ``2.5f``). Raises ParameterError, which names the parameter."""
    found = {}
    for name, given in parameters.items():
        identifier(name, "parameters")
        plain = given.tolist() if isinstance(given, np.ndarray) and given.ndim == 1 else given
        listed = list(plain[: MOST_LEVELS + 1]) if isinstance(plain, (list, tuple, range)) else None
        if not listed or len(listed) > MOST_LEVELS:
            what = (
                f"more than {MOST_LEVELS:,} levels are too many"
                if listed
                else f"{repr(given)[:80]} is no list of levels"
            )
            raise ParameterError(f"{name}: {what}; give some, such as [1, 2, 4]")
        levels = tuple(level_of(name, one) for one in listed)
        if len(set(levels)) < len(levels):
            raise ParameterError(f"{name}: a level stands twice in {listed}; give each once")
        found[name] = levels
    return found


def level_of(name: str, given: Any) -> Level:
    """A level as whole number or text, of NumPy's numbers too. Raises ParameterError for what is none."""
    given = given.item() if isinstance(given, np.generic) else given
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, int) and abs(given) < 2**62:
        return given
    text = repr(given) if isinstance(given, float) and math.isfinite(given) else given
    if isinstance(text, str) and _TEXT.fullmatch(text):
        return text
    raise ParameterError(
        f"{name}: {given!r} is no level; use whole numbers, numbers such as 2.5, or words such as float4"
    )


class Space:
    """All combinations of levels that every constraint on parameters alone admits.

    ``constraints`` that name anything else (sizes) are for a problem: :meth:`admitted` and :meth:`broken` look at them
    all. Raises ParameterError where nothing is admitted, naming a constraint that admits none by itself, and where
    ``MOST_FIRST`` levels did not show whether anything is.
    """

    def __init__(self, levels: Mapping[str, Sequence[Level]], constraints: Sequence[Expression]) -> None:
        self.levels = {name: tuple(each) for name, each in levels.items()}
        self.constraints = tuple(constraints)
        self._first = self._found()

    def __iter__(self) -> Iterator[Levels]:
        """The combinations, the last parameter fastest."""
        return self._combined({}, self._own, _untold)

    @property
    def _own(self) -> list[Expression]:
        """The constraints on parameters alone."""
        return [one for one in self.constraints if one.names <= set(self.levels)]

    def admitted(self, known: Mapping[str, Any], told: Told | None = None) -> Iterator[Levels]:
        """The combinations that all constraints admit for these sizes and values, in the same order.

        A constraint is looked at as soon as the last of its parameters has a level. Where that still takes long,
        ``told`` gets a text now and then that says how far it is. Raises ParameterError for a constraint of unknown
        names.
        """
        return self._combined(known, self.constraints, told or _untold)

    def _combined(
        self, known: Mapping[str, Any], constraints: Sequence[Expression], told: Told, most: float = math.inf
    ) -> Iterator[Levels]:
        names = list(self.levels)
        after: list[list[Expression]] = [[] for _ in range(len(names) + 1)]
        for one in constraints:
            after[max((names.index(name) + 1 for name in one.names & set(names)), default=0)].append(one)
        chosen = dict(known)
        tick = _ticker(chosen, names, told, most)

        if not all(one.holds(chosen) for one in after[0]):
            return
        if not names:
            yield {}
        open_levels = [iter(self.levels[name]) for name in names[:1]]  # of each parameter that is chosen, what is left
        while open_levels:
            depth = len(open_levels)
            for level in open_levels[-1]:
                chosen[names[depth - 1]] = level
                tick()
                if all(one.holds(chosen) for one in after[depth]):
                    break
            else:
                open_levels.pop()
                continue
            if depth == len(names):
                yield {name: chosen[name] for name in names}
            else:
                open_levels.append(iter(self.levels[names[depth]]))

    def _found(self) -> Levels:
        """The first combination. Raises ParameterError where there is none, or none near enough."""
        try:
            found = next(self._combined({}, self._own, _untold, MOST_TRIED), None)
            hopeless = self._hopeless() if found is None else None
        except _NotFoundError:
            hopeless = self._hopeless()
            found = None if hopeless is not None else self._found_late()
        if hopeless is not None:
            raise ParameterError(
                f"constraints: they admit no combination of levels; {hopeless.text!r} lets none through by itself"
            )
        if found is None:
            raise ParameterError("constraints: together they admit no combination of levels; give others")
        return found

    def _found_late(self) -> Levels | None:
        try:
            return next(self._combined({}, self._own, _untold, MOST_FIRST), None)
        except _NotFoundError:
            raise ParameterError(
                f"constraints: the first {MOST_FIRST:,} levels that were looked at show no combination that they "
                "admit; declare parameters that constraints tie together one after the other, or fewer levels"
            ) from None

    def _hopeless(self) -> Expression | None:
        """A constraint that lets none through by itself, of those that can be tried with all of their levels."""
        for one in self._own:
            own = {name: self.levels[name] for name in self.levels if name in one.names}
            if math.prod(map(len, own.values())) <= MOST_TRIED:
                combined = (dict(zip(own, each, strict=True)) for each in itertools.product(*own.values()))
                with suppress(ParameterError):  # it has no value where another one's levels are not excluded
                    if not any(map(one.holds, combined)):
                        return one
        return None

    def within(self, levels: Mapping[str, Any]) -> Space:
        """The same with these levels alone of some parameters. Raises ParameterError for a parameter or a level that it
        does not have, and where nothing is admitted."""
        kept = levels_of(levels)
        for name, some in kept.items():
            if name not in self.levels:
                raise ParameterError(
                    f"{name}: there is no such parameter; there are {', '.join(self.levels) or 'none'}"
                )
            if strange := [one for one in some if one not in self.levels[name]]:
                raise ParameterError(
                    f"{name}: {strange[0]!r} is none of its levels, {', '.join(map(str, self.levels[name]))}"
                )
        return Space({**self.levels, **kept}, self.constraints)

    def completed(self, given: Mapping[str, Any], label: str) -> Levels:
        """The given levels, the standard ones for what is not given. Raises ParameterError for a parameter or a level
        that the kernel of this ``label`` does not have."""
        found: Levels = {}
        for name, wanted in given.items():
            if name not in self.levels:
                raise ParameterError(
                    f"{name}: {label} has no such parameter; it has {', '.join(self.levels) or 'none'}"
                )
            found[name] = level_of(name, wanted)
            if found[name] not in self.levels[name]:
                listed = ", ".join(map(str, self.levels[name]))
                raise ParameterError(f"{name}: {found[name]!r} is none of its levels, {listed}")
        return {**self.first(), **found}

    def first(self) -> Levels:
        """The first combination, the standard one where sizes are not known."""
        return dict(self._first)

    def standard(self, known: Mapping[str, Any]) -> Levels:
        """The first combination that all constraints admit for these sizes and values, else the first of all; so too
        where ``MOST_TRIED`` levels did not show one."""
        try:
            return next(self._combined(known, self.constraints, _untold, MOST_TRIED), None) or self.first()
        except _NotFoundError:
            return self.first()

    def broken(self, known: Mapping[str, Any]) -> Expression | None:
        """The first constraint that does not hold for these levels and sizes; None where all hold."""
        return next((one for one in self.constraints if not one.holds(known)), None)


def _untold(text: str) -> None:
    """Where nobody waits for it."""


class _NotFoundError(Exception):
    """Too many levels were tried."""


def _ticker(chosen: Mapping[str, Any], names: Sequence[str], told: Told, most: float) -> Callable[[], None]:
    """A function to be called for each choice of a level, which tells now and then where the enumeration is, and ends
    it after the ``most``."""
    count, last = 0, time.monotonic()

    def tick() -> None:
        nonlocal count, last
        count += 1
        if count > most:
            raise _NotFoundError
        if count % LOOKED_AT == 0 and time.monotonic() - last >= TOLD_S:
            last = time.monotonic()
            told(f"{count:,} levels looked at: {', '.join(f'{name}={chosen[name]}' for name in names[:2])}")

    return tick
