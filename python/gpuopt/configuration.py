"""Configurations: a variant of a workload, and values of its parameters. And the tables of variants: gpuopt's own, and
those of kernels that people bring."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gpuopt import _core
from gpuopt._core import ParameterError, Variant
from gpuopt.annotations import is_whole
from gpuopt.checked import checked

NATIVE = "native"  # the precision of a record that is for the arrays' own


class Configuration:
    """A variant and values of its parameters: ``Configuration("sliced", SLICE=64)``. Immutable and hashable.

    Parameters that are not given take their standard level when the configuration is used. A level is a whole number;
    of a kernel that somebody brings also a word such as ``float4``. Raises ParameterError for any other value, and for
    a variant that is no text.

    Examples
    --------
    >>> given = gpuopt.Configuration("interior", UNROLL=9, ROWS=2)
    >>> print(given)
    interior(ROWS=2, UNROLL=9)
    >>> gpuopt.Configuration.parse("interior(ROWS=2, UNROLL=9)") == given
    True
    """

    __slots__ = ("_items", "_levels", "variant")
    variant: str
    _items: tuple[tuple[str, int], ...]
    _levels: _core.Levels

    @checked
    def __init__(self, variant: str, /, **parameters: int) -> None:
        for name, value in parameters.items():
            if not is_whole(value) and not _is_word(value):
                told = f"a whole number of {value.bit_length()} bits, no level" if isinstance(value, int) else None
                raise ParameterError(f"{name}: {told or f'{value!r} is not a whole number'}; use one of its levels")
        given: dict[str, Any] = parameters
        items = ((name, value if isinstance(value, str) else int(value)) for name, value in given.items())
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "_items", tuple(sorted(items)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Configuration is immutable; make a new one")

    @classmethod
    @checked
    def parse(cls, text: str) -> Configuration:
        """Return the configuration that prints as ``text``, e.g. ``"interior(ROWS=2, UNROLL=9)"``. Raises
        ParameterError for any other text; blanks may be anywhere, and the parentheses may be empty."""
        found = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
        inner = (found[2] or "").strip() if found else ""
        pairs = [pair.split("=") for pair in inner.split(",")] if inner else []
        try:
            levels: dict[str, Any] = {name.strip(): _level(value.strip()) for name, value in pairs}
            if len(levels) < len(pairs) or "" in levels:
                raise ValueError("a parameter stands twice, or has no name")
            return cls(found[1], **levels)  # type: ignore[index]
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f'variant: {text!r} is no configuration; write it like "interior(ROWS=2, UNROLL=9)", each '
                "parameter once"
            ) from error

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the parameters that were given, by name: whole numbers, or words of somebody's own kernel."""
        return dict(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and (self.variant, self._items) == (other.variant, other._items)

    def __hash__(self) -> int:
        return hash((self.variant, self._items))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.variant, self.parameters)

    def __str__(self) -> str:
        return f"{self.variant}({', '.join(f'{k}={v}' for k, v in self._items)})" if self._items else self.variant

    def __repr__(self) -> str:
        return f"Configuration({', '.join([repr(self.variant), *(f'{k}={v}' for k, v in self._items)])})"


def levels_of(configuration: Configuration) -> _core.Levels:
    """Its parameters as the core takes them, made once."""
    try:
        return configuration._levels
    except AttributeError:
        object.__setattr__(configuration, "_levels", _core.Levels(configuration.parameters))
        return configuration._levels


_WORD = re.compile(r"[A-Za-z_]\w{0,63}|-?\d{1,18}\.\d{1,18}[fh]?", re.ASCII)  # what a macro may stand for


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


_NUMBER = re.compile(r"0|-?[1-9][0-9]*")  # as it is printed


def _level(text: str) -> int | str:
    if _is_word(text):
        return text
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _rebuild(variant: str, parameters: dict[str, int]) -> Configuration:
    return Configuration(variant, **parameters)


@checked
def variants(workload: str) -> list[Variant]:
    """The variants of a workload, such as ``"spmv"``: rows with name, summary, parameters and their levels, what they
    need of the device and of the input, dtypes, and the path of the kernel. Raises ParameterError for an unknown
    workload.

    Examples
    --------
    >>> rows = {row.name: row for row in gpuopt.variants("tmv")}
    >>> rows["naive"].source, rows["naive"].dtypes
    ('tmv/naive.cl', ['float32', 'float64'])
    """
    if workload in _OWN:
        return list(table_of(workload).values())
    return _core.variants(workload)


def table_of(workload: str) -> dict[str, Variant]:
    """The rows of a table by name. Raises ParameterError for an unknown workload."""
    if workload in _OWN:
        return cast("dict[str, Variant]", dict(_OWN[workload]))  # a row of the same fields
    return _core_table(workload)


@functools.cache
def _core_table(workload: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in _core.variants(workload)}


# ---------------------------------------------------------------- kernels that people bring


@dataclass(frozen=True)
class OwnParameter:
    """A tunable of a kernel that somebody brings, as ``Parameter`` of the core."""

    name: str
    levels: list[int | str]
    standard: int | str
    meaning: str
    alters_accuracy: bool = False


@dataclass(frozen=True)
class OwnVariant:
    """The row of a kernel that somebody brings, as ``Variant`` of the core."""

    workload: str
    name: str
    summary: str
    source: str
    entry_point: str
    parameters: list[OwnParameter]
    needs: list[str] = field(default_factory=list)
    input_properties: list[str] = field(default_factory=list)
    family: str = ""
    dtypes: list[str] = field(default_factory=list)

    def __hash__(self) -> int:
        return hash((self.workload, self.name))  # its lists have no hash


_OWN: dict[str, Mapping[str, OwnVariant]] = {}
_GENERATION: dict[str, int] = {}


@functools.cache
def built_in() -> frozenset[str]:
    """The names of gpuopt's own workloads."""
    return frozenset(_core.workload_names())


def add_own(workload: str, rows: Mapping[str, OwnVariant], keep: bool = False) -> None:
    """Makes ``rows`` the table of this name; the last one counts. With ``keep``, one that has all of these rows already
    stays."""
    held = _OWN.get(workload, {})
    if held != rows and not (keep and all(held.get(name) == row for name, row in rows.items())):
        _OWN[workload] = rows
        _GENERATION[workload] = generation(workload) + 1


def generation(workload: str) -> int:
    """How often the table of this name was made anew: what was found in an earlier one may not hold."""
    return _GENERATION.get(workload, 0)


def own(workload: str) -> Mapping[str, OwnVariant] | None:
    """The rows of kernels that somebody brings, by this name; None where there are none."""
    return _OWN.get(workload)


def complete(workload: str, configuration: Configuration) -> Configuration:
    """Return ``configuration`` with every parameter that it leaves out at its standard level. Raises ParameterError for
    an unknown variant."""
    table = table_of(workload)
    if configuration.variant not in table:
        raise ParameterError(
            f"variant: {workload} has none called {configuration.variant!r}; use one of {', '.join(table)}"
        )
    if workload not in _OWN:
        for name, level in configuration.parameters.items():
            if isinstance(level, str):
                raise ParameterError(f"{name}: {level!r} is not a whole number; use one of its levels")
    standard = {p.name: p.standard for p in table[configuration.variant].parameters}
    return Configuration(configuration.variant, **{**standard, **configuration.parameters})


def altered(workload: str, variant: str, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return those of ``parameters`` that are not at their standard level. Of a variant that the tables do not know,
    return all."""
    row = table_of(workload).get(variant) if workload in _OWN or workload in _core.workload_names() else None
    standard = {p.name: p.standard for p in row.parameters} if row else {}
    return {name: level for name, level in parameters.items() if standard.get(name) != level}


def accuracy(workload: str, configuration: Configuration) -> str:
    """Return the accuracy class of a configuration: the parameters that round inputs and are not at their standard
    level, such as ``"HALF=1"``; an empty string where there is none."""
    parameters = table_of(workload)[configuration.variant].parameters
    levels = complete(workload, configuration).parameters
    altered = [p.name for p in parameters if p.alters_accuracy and levels[p.name] != p.standard]
    return ", ".join(f"{name}={levels[name]}" for name in altered)
