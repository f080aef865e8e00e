"""Configurations, and which of them a plain call uses.

A plain call uses what its caller names. Otherwise it uses a tuned record: of those that fit the device and the input,
the one that requires the most properties of the input, and the user's own records before the shipped ones. The last
shipped records require nothing but a type of device. Nothing here runs a kernel, so a plain call never starts a sweep.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

from gpuopt import _core, files
from gpuopt._core import Device, ParameterError, Variant

NATIVE = "native"  # the precision of a record that is for the arrays' own

Record = dict[str, Any]
Traits = Mapping[str, Callable[[], object]]


class Configuration:
    """A variant and values of its parameters: ``Configuration("sliced", SLICE=64)``. Immutable and hashable.

    Parameters that are not given take their standard level when the configuration is used. Raises ParameterError for
    a value that is no whole number.
    """

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

    @classmethod
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


def variants(workload: str) -> list[Variant]:
    """The variants of a workload, such as ``"spmv"``: rows with name, summary, parameters and their levels, what they
    need of the device and of the input, dtypes, and the path of the kernel. Raises ParameterError for an unknown
    workload."""
    return _core.variants(workload)


@functools.cache
def _table(workload: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in _core.variants(workload)}


def complete(workload: str, configuration: Configuration) -> Configuration:
    """Return ``configuration`` with every parameter that it leaves out at its standard level. Raises ParameterError for
    an unknown variant."""
    table = _table(workload)
    if configuration.variant not in table:
        raise ParameterError(
            f"variant: {workload} has none called {configuration.variant!r}; use one of {', '.join(table)}"
        )
    standard = {p.name: p.standard for p in table[configuration.variant].parameters}
    return Configuration(configuration.variant, **{**standard, **configuration.parameters})


def altered(workload: str, variant: str, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return those of ``parameters`` that are not at their standard level. Of a variant that the tables do not know,
    return all."""
    row = _table(workload).get(variant) if workload in _core.workload_names() else None
    standard = {p.name: p.standard for p in row.parameters} if row else {}
    return {name: level for name, level in parameters.items() if standard.get(name) != level}


def accuracy(workload: str, configuration: Configuration) -> str:
    """Return the accuracy class of a configuration: the parameters that round inputs and are not at their standard
    level, such as ``"HALF=1"``; an empty string where there is none."""
    parameters = _table(workload)[configuration.variant].parameters
    levels = complete(workload, configuration).parameters
    altered = [p.name for p in parameters if p.alters_accuracy and levels[p.name] != p.standard]
    return ", ".join(f"{name}={levels[name]}" for name in altered)


# ---------------------------------------------------------------- choosing


def resolve(
    workload: str,
    device: Device,
    dtype: str,
    variant: str | Configuration | None = None,
    traits: Traits | None = None,
) -> Configuration:
    """Return the full configuration that a call uses.

    ``variant`` is what the caller named: a variant, a preset such as ``"paper:vectorized"``, or a Configuration. None
    takes the tuned record that fits the device and the input and requires the most properties of the input; among
    equals the user's record comes before a shipped one.

    ``traits`` are the properties of the input: functions by name, each called at most once, and only where a record
    that fits the device requires the property, either in its ``match`` or because its variant runs on such inputs only.
    A record that requires a property that is not given does not fit. A record that changes the accuracy fits only where
    its ``match`` names how values are ``stored``, or a ``precision`` other than the arrays' own. The driver in a record
    is not compared: what was tuned before a driver update is still the best guess.

    Raises ParameterError for an unknown variant or preset, and where no record fits.
    """
    if isinstance(variant, Configuration):
        return complete(workload, variant)
    if isinstance(variant, str):
        if ":" in variant:
            from gpuopt import papers

            return complete(workload, papers.preset(workload, variant))
        return complete(workload, Configuration(variant))
    if variant is not None:
        raise ParameterError(f"variant: {variant!r} is neither a name, a preset nor a Configuration; give one of these")
    of_device = ("name", "platform", "type", "vector_bytes")
    facts: dict[str, Callable[[], object]] = {key: functools.partial(getattr, device, key) for key in of_device}
    facts["dtype"] = lambda: dtype
    known = {name: functools.cache(ask) for name, ask in (traits or {}).items()}
    # Records are compared with the device first: parsing one further takes 40 us, and a property of the input may cost
    # a pass over a matrix.
    fitting = [
        (record, _demands(workload, record, facts))
        for record in [*_user_records(workload), *_shipped_records(workload)]
        if all(facts[key]() == value for key, value in record["match"].items() if key in facts)
    ]
    fitting.sort(key=lambda item: -sum(map(bool, item[1].values())))
    for record, demands in fitting:
        chosen = _choice(workload, record)
        if chosen is not None and _agrees(demands, known):
            return chosen
    raise ParameterError(f"variant: no record of {workload} fits {device.key}; name a variant")


def _choice(workload: str, record: Record) -> Configuration | None:
    """Return the configuration of a record. None for a record of another version of the tables, which must not make a
    plain call fail, and for one that would change the accuracy without having been asked to."""
    variant = _table(workload).get(record["variant"])
    parameters = record.get("parameters", {})
    levels = {p.name: p.levels for p in variant.parameters} if variant else {}
    if variant is None or any(value not in levels.get(name, ()) for name, value in parameters.items()):
        return None
    chosen = complete(workload, Configuration(variant.name, **parameters))
    asked = record["match"].get("stored") or record["match"].get("precision", NATIVE) != NATIVE
    return chosen if asked or not accuracy(workload, chosen) else None


def _demands(workload: str, record: Record, facts: Traits) -> dict[str, Any]:
    """Return the properties that a record requires of the input, with their values."""
    variant = _table(workload).get(record["variant"])
    asked = {key: value for key, value in record["match"].items() if key not in facts}
    return asked | dict.fromkeys(variant.traits if variant else (), True)


def _agrees(demands: Mapping[str, Any], traits: Traits) -> bool:
    return demands.keys() <= traits.keys() and all(traits[key]() == value for key, value in demands.items())


# ---------------------------------------------------------------- records


def _read_records(text: str) -> list[Record]:
    records = json.loads(text)
    if not isinstance(records, list):
        raise ValueError("not a list of records")
    for record in records:
        if not (isinstance(record, dict) and isinstance(record.get("match"), dict)):
            raise ValueError("a record without match")
        if not (isinstance(record.get("variant"), str) and isinstance(record.get("parameters", {}), dict)):
            raise ValueError("a record without variant, or with parameters that are no mapping")
        Configuration(record["variant"], **record.get("parameters", {}))
    return records


_DAMAGED = (ValueError, TypeError, RecursionError)  # what `_read_records` raises


@functools.cache
def _shipped_records(workload: str) -> list[Record]:
    return _read_records((resources.files("gpuopt") / "tuned" / f"{workload}.json").read_text(encoding="utf-8"))


def tuned_dir() -> Path:
    """The folder of the user's tuned records, one file for each workload."""
    return Path(_core.cache_dir()) / "tuned"


def _user_records(workload: str) -> list[Record]:
    path = tuned_dir() / f"{workload}.json"
    try:
        return _read_records(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, *_DAMAGED) as error:
        warnings.warn(f"tuned records in {path} are ignored: {error}; delete the file or tune again", stacklevel=4)
        return []


def store_records(workload: str, records: Iterable[Record]) -> Path:
    """Merge records into the user's file of a workload and return the file's path.

    Later calls, and matrices made later, in any process, use them. A record is a mapping with ``match`` (what device
    and input must be), ``variant`` and ``parameters``; ``evidence``, ``date`` and ``driver`` say where it comes from.
    It replaces the record with an equal ``match``. Records with more keys in ``match`` come first, then newer ones. The
    file is replaced in one step, so that readers, other writers and a full disk leave it whole. A damaged file is
    renamed with a number first.

    Raises ParameterError for an invalid record, and Error where the file cannot be written; its old content is then
    unchanged.
    """
    try:
        fresh = _read_records(json.dumps(list(records)))
    except _DAMAGED as error:
        raise ParameterError(f"records: {error}; each needs match, variant and parameters") from error
    path = tuned_dir() / f"{workload}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            try:
                stored, damaged = _read_records(path.read_text(encoding="utf-8")), False
            except FileNotFoundError:
                stored, damaged = [], False
            except _DAMAGED:
                stored, damaged = [], True
            kept = [record for record in stored if all(record["match"] != new["match"] for new in fresh)]
            merged = sorted([*fresh, *kept], key=lambda record: -len(record["match"]))
            _replace(path, "[\n" + ",\n".join(f"  {json.dumps(record)}" for record in merged) + "\n]\n", damaged)
    except files.WriteError:
        raise
    except OSError as error:
        raise files.refused(path, error, files.OTHER_CACHE) from error
    return path


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some cluster file systems have no locks: one writer at a time is safe there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str, set_aside: bool) -> None:
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(1, 10_000))
    aside = next(other for other in numbered if not other.exists()) if set_aside else None
    files.write(path, [text.encode()], aside=aside, way_out=files.OTHER_CACHE)
