"""Configurations, and how a plain call finds its own: what the caller names, else the record that asks for the most of
the input, the user's tuned ones before those shipped, which end in a rule of thumb by device type.

Nothing here runs a kernel: a plain call never turns into a sweep.
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

    @classmethod
    def parse(cls, text: str) -> Configuration:
        """The configuration that prints as ``text``, e.g. ``"interior(ROWS=2, UNROLL=9)"``. Raises ParameterError."""
        found = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
        pairs = [pair.split("=") for pair in (found[2] or "").split(",") if pair.strip()] if found else []
        try:
            return cls(found[1], **{name.strip(): int(value) for name, value in pairs})  # type: ignore[index]
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f'variant: {text!r} is no configuration; write it as "interior(ROWS=2, UNROLL=9)"'
            ) from error

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


def altered(workload: str, variant: str, parameters: Mapping[str, int]) -> dict[str, int]:
    """Of ``parameters``, those that are not at their standard level; all, of a variant that the tables do not have."""
    row = _table(workload).get(variant) if workload in _core.workload_names() else None
    standard = {p.name: p.standard for p in row.parameters} if row else {}
    return {name: level for name, level in parameters.items() if standard.get(name) != level}


def accuracy(workload: str, configuration: Configuration) -> str:
    """The accuracy class: "" where every parameter that rounds inputs is at its standard level, else those that are
    not, such as ``"HALF=1"``."""
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
    """The full configuration a call uses: what the caller names (a variant, a preset such as ``"paper:vectorized"``, a
    Configuration), else the tuned record that asks for the most traits of the input, the user's before shipped ones,
    the last of which are rules by device type.

    ``traits`` are facts of the input by name. Each is asked at most once, and only for a record that fits the device
    and needs it: in its ``match``, or because its variant runs on such inputs alone. A trait that is not given fits no
    record that needs it. Records that alter the accuracy count only where their ``match`` names what is ``stored``, or
    a ``precision`` beside the arrays' own. A record's driver does not count: what was tuned before an update is still
    the best guess.
    """
    if isinstance(variant, Configuration):
        return complete(workload, variant)
    if isinstance(variant, str):
        if ":" in variant:
            from gpuopt import papers

            return complete(workload, papers.preset(workload, variant))
        return complete(workload, Configuration(variant))
    if variant is not None:
        raise ParameterError(f"variant: {variant!r} is no variant; give a name, a preset or a Configuration")
    of_device = ("name", "platform", "type", "vector_bytes")
    facts: dict[str, Callable[[], object]] = {key: functools.partial(getattr, device, key) for key in of_device}
    facts["dtype"] = lambda: dtype
    known = {name: functools.cache(ask) for name, ask in (traits or {}).items()}
    # The device first: a closer look at a record takes 40 us, and asking a trait may take a pass over a matrix.
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
    """What a record chooses. None for one of another version of the tables, passed over rather than failing a plain
    call, and for one that would alter the accuracy unasked."""
    variant = _table(workload).get(record["variant"])
    parameters = record.get("parameters", {})
    levels = {p.name: p.levels for p in variant.parameters} if variant else {}
    if variant is None or any(value not in levels.get(name, ()) for name, value in parameters.items()):
        return None
    chosen = complete(workload, Configuration(variant.name, **parameters))
    asked = record["match"].get("stored") or record["match"].get("precision", NATIVE) != NATIVE
    return chosen if asked or not accuracy(workload, chosen) else None


def _demands(workload: str, record: Record, facts: Traits) -> dict[str, Any]:
    """What a record asks of the input."""
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
            raise ValueError("a record without variant, or whose parameters are no mapping")
        Configuration(record["variant"], **record.get("parameters", {}))
    return records


_DAMAGED = (ValueError, TypeError, RecursionError)  # what `_read_records` raises


@functools.cache
def _shipped_records(workload: str) -> list[Record]:
    return _read_records((resources.files("gpuopt") / "tuned" / f"{workload}.json").read_text(encoding="utf-8"))


def tuned_dir() -> Path:
    """Where the user's tuned records lie, a file a workload."""
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
    """Merges records into the user's file and returns its path; the next matrix made, in any process, uses them.

    A record has ``match``, ``variant`` and ``parameters``, and says where it comes from: ``evidence``, ``date``,
    ``driver``. It replaces the one with an equal ``match``; those with more keys in ``match`` come first, then newer
    ones. The file is replaced in one step, so readers, other writers and a full disk find it whole; a damaged one is
    set aside under a number. Raises ParameterError for an invalid record, Error where the file cannot be written: what
    it held then stands.
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
