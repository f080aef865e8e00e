"""Configurations: a variant of a workload, and values of its parameters."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from gpuopt import _core
from gpuopt._core import ParameterError, Variant
from gpuopt.annotations import is_text, is_whole
from gpuopt.checked import ParameterTypeError, checked

NATIVE = "native"  # the precision of a record that is for the arrays' own


class Configuration:
    """A variant and values of its parameters: ``Configuration("sliced", SLICE=64)``. Immutable and hashable.

    Parameters that are not given take their standard level when the configuration is used. Raises ParameterError for
    a value that is no whole number.
    """

    __slots__ = ("_items", "variant")
    variant: str
    _items: tuple[tuple[str, int], ...]

    def __init__(self, variant: str, **parameters: int) -> None:
        if not is_text(variant):
            raise ParameterTypeError(f"variant: it is a {type(variant).__name__}; give a variant's name")
        for name, value in parameters.items():
            if not is_whole(value):
                raise ParameterError(f"{name}: {value!r} is not a whole number; use one of its levels")
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "_items", tuple(sorted((name, int(value)) for name, value in parameters.items())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Configuration is immutable; make a new one")

    @classmethod
    @checked
    def parse(cls, text: str) -> Configuration:
        """Return the configuration that prints as ``text``, e.g. ``"interior(ROWS=2, UNROLL=9)"``. Raises
        ParameterError for any other text."""
        found = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
        pairs = [pair.split("=") for pair in (found[2] or "").split(",") if pair.strip()] if found else []
        try:
            return cls(found[1], **{name.strip(): int(value) for name, value in pairs})  # type: ignore[index]
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f'variant: {text!r} is no configuration; write it like "interior(ROWS=2, UNROLL=9)"'
            ) from error

    @property
    def parameters(self) -> dict[str, int]:
        """The values of the parameters that were given, by name."""
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


def _rebuild(variant: str, parameters: dict[str, int]) -> Configuration:
    return Configuration(variant, **parameters)


@checked
def variants(workload: str) -> list[Variant]:
    """The variants of a workload, such as ``"spmv"``: rows with name, summary, parameters and their levels, what they
    need of the device and of the input, dtypes, and the path of the kernel. Raises ParameterError for an unknown
    workload."""
    return _core.variants(workload)


@functools.cache
def table_of(workload: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in _core.variants(workload)}


def complete(workload: str, configuration: Configuration) -> Configuration:
    """Return ``configuration`` with every parameter that it leaves out at its standard level. Raises ParameterError for
    an unknown variant."""
    table = table_of(workload)
    if configuration.variant not in table:
        raise ParameterError(
            f"variant: {workload} has none called {configuration.variant!r}; use one of {', '.join(table)}"
        )
    standard = {p.name: p.standard for p in table[configuration.variant].parameters}
    return Configuration(configuration.variant, **{**standard, **configuration.parameters})


def altered(workload: str, variant: str, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return those of ``parameters`` that are not at their standard level. Of a variant that the tables do not know,
    return all."""
    row = table_of(workload).get(variant) if workload in _core.workload_names() else None
    standard = {p.name: p.standard for p in row.parameters} if row else {}
    return {name: level for name, level in parameters.items() if standard.get(name) != level}


def accuracy(workload: str, configuration: Configuration) -> str:
    """Return the accuracy class of a configuration: the parameters that round inputs and are not at their standard
    level, such as ``"HALF=1"``; an empty string where there is none."""
    parameters = table_of(workload)[configuration.variant].parameters
    levels = complete(workload, configuration).parameters
    altered = [p.name for p in parameters if p.alters_accuracy and levels[p.name] != p.standard]
    return ", ".join(f"{name}={levels[name]}" for name in altered)
