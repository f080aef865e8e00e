"""Configurations, and how a plain call finds its own: explicit, user's tuned cache, shipped record, rule of thumb by
device type.

Nothing here runs a kernel: a plain call never turns into a sweep.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from gpuopt import _core
from gpuopt._core import Device, ParameterError, Variant


class Configuration:
    """A variant and the values of its parameters: ``Configuration("sliced", SLICE=64)``. Immutable and hashable."""

    __slots__ = ("_items", "variant")
    variant: str
    _items: tuple[tuple[str, int], ...]

    def __init__(self, variant: str, **parameters: int) -> None:
        for name, value in parameters.items():
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise ParameterError(f"{name}: {value!r} is not a whole number; use one of its levels")
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "_items", tuple(sorted((name, int(value)) for name, value in parameters.items())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Configuration is immutable; make a new one")

    @property
    def parameters(self) -> dict[str, int]:
        """The parameters given, by name."""
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


def variants(workload: str) -> list[Variant]:
    """The rows of a workload's table: name, summary, parameters with their levels, needs, kernel source."""
    return _core.variants(workload)


@functools.cache
def _table(workload: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in _core.variants(workload)}


def complete(workload: str, configuration: Configuration) -> Configuration:
    """The same with every parameter that was not given at its standard level. Raises ParameterError for an unknown
    variant."""
    table = _table(workload)
    if configuration.variant not in table:
        raise ParameterError(
            f"variant: {workload} has none called {configuration.variant!r}; use one of {', '.join(table)}"
        )
    standard = {p.name: p.standard for p in table[configuration.variant].parameters}
    return Configuration(configuration.variant, **{**standard, **configuration.parameters})


def _matches(record: Mapping[str, Any], device: Device, dtype: str) -> bool:
    facts = {"name": device.name, "platform": device.platform, "type": device.type, "dtype": dtype}
    return all(facts.get(key) == value for key, value in record["match"].items())


def _read_records(text: str) -> list[dict[str, Any]]:
    records = json.loads(text)
    if not isinstance(records, list):
        raise ValueError("not a list of records")
    for record in records:
        if not (isinstance(record["match"], dict) and isinstance(record["variant"], str)):
            raise ValueError("a record without match or variant")
        Configuration(record["variant"], **record.get("parameters", {}))
    return records


@functools.cache
def _shipped_records(workload: str) -> list[dict[str, Any]]:
    return _read_records((resources.files("gpuopt") / "tuned" / f"{workload}.json").read_text(encoding="utf-8"))


def _user_records(workload: str) -> list[dict[str, Any]]:
    path = Path(_core.cache_dir()) / "tuned" / f"{workload}.json"
    try:
        return _read_records(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, ParameterError) as error:
        warnings.warn(f"tuned records in {path} are ignored: {error}; delete the file or tune again", stacklevel=4)
        return []


def resolve(workload: str, device: Device, dtype: str, variant: str | Configuration | None = None) -> Configuration:
    """The full configuration a call uses: what the caller names (a variant, a preset such as ``"paper:vectorized"``, a
    Configuration), else the user's tuned record, else the shipped one that fits the device best, which ends in a rule
    by device type."""
    if isinstance(variant, Configuration):
        return complete(workload, variant)
    if isinstance(variant, str):
        if ":" in variant:
            from gpuopt import papers

            return complete(workload, papers.preset(workload, variant))
        return complete(workload, Configuration(variant))
    if variant is not None:
        raise ParameterError(f"variant: {variant!r} is no variant; give a name, a preset or a Configuration")
    table = _table(workload)
    for record in [*_user_records(workload), *_shipped_records(workload)]:
        # A record of another version of the tables is passed over rather than failing a plain call.
        if _matches(record, device, dtype) and record["variant"] in table:
            levels = {p.name: p.levels for p in table[record["variant"]].parameters}
            parameters = record.get("parameters", {})
            if all(value in levels.get(name, ()) for name, value in parameters.items()):
                return complete(workload, Configuration(record["variant"], **parameters))
    raise ParameterError(f"variant: no record of {workload} fits {device.key}; name a variant")
