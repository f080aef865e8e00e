"""Which configuration a plain call uses.

A plain call uses what its caller names. Otherwise it uses a tuned record: of those that fit the device and the input,
the one that requires the most properties of the input; of those the one that is closest to the device: its own, then
that of its architecture, then of its vendor, then of its type; then the user's own records before the shipped ones. The
last shipped records require nothing but a type of device. Nothing here runs a kernel, so a plain call never starts a
sweep.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpuopt import _core, papers
from gpuopt import configuration as tables
from gpuopt._core import Device, ParameterError
from gpuopt.configuration import NATIVE, Configuration, accuracy, complete
from gpuopt.records import Record, shipped_records, user_records
from gpuopt.tracing import traced
from gpuopt.unit import unit_of

_log = logging.getLogger(__name__)

InputProperties = Mapping[str, Callable[[], object]]


# ---------------------------------------------------------------- choosing


@traced("records")
def resolve(
    workload: str,
    device: Device,
    dtype: str,
    variant: str | Configuration | None = None,
    input_properties: InputProperties | None = None,
) -> Configuration:
    """Return the full configuration that a call uses.

    ``variant`` is what the caller named: a variant, a preset such as ``"paper:vectorized"``, or a Configuration. None
    takes the tuned record that fits the device and the input and requires the most properties of the input; among
    equals the closest: of this device (what was tuned on this very unit first), of its architecture, of its vendor, of
    its type; then the user's records before shipped ones. A record of a sibling counts only where the device can run
    it, and leaves out numbers that fit the compute units of another device.

    ``input_properties`` are properties of the input: functions by name, each called at most once, and only where a
    record that fits the device requires the property, either in its ``match`` or because its variant runs on such
    inputs only. A record that requires a property that is not given does not fit. A record that changes the accuracy
    fits only where its ``match`` names how values are ``stored``, or a ``precision`` other than the arrays' own. The
    driver in a record is not compared: what was tuned before a driver update is still the best guess.

    Raises ParameterError for an unknown variant or preset, and where no record fits.
    """
    if isinstance(variant, Configuration):
        return complete(workload, variant)
    if isinstance(variant, str):
        if ":" in variant:
            return complete(workload, papers.preset(workload, variant))
        return complete(workload, Configuration(variant))
    if variant is not None:
        raise ParameterError(f"variant: {variant!r} is neither a name, a preset nor a Configuration; give one of these")
    record = found(workload, device, dtype, input_properties)
    if record is None:
        raise ParameterError(f"variant: no record of {workload} fits {device.key}; name a variant")
    _log.debug("%s %s on %s: %s (%s)", workload, dtype, device.name, record.configuration, record.origin)
    return record.configuration


class Found(NamedTuple):
    """What a record says: its configuration, in full; where it comes from, in words; whether the user's own tuning left
    it."""

    configuration: Configuration
    origin: str
    users: bool


def found(workload: str, device: Device, dtype: str, input_properties: InputProperties | None = None) -> Found | None:
    """Return what the best record that fits says; None where none does. Arguments as in :func:`resolve`."""
    known = {name: functools.cache(ask) for name, ask in (input_properties or {}).items()}
    return next((best for demands, best in _fitting(workload, device, dtype) if _agrees(demands, known)), None)


_OF_DEVICE = ("name", "platform", "type", "vector_bytes", "architecture", "vendor")
# What rules ask of a device.
FACTS = (
    *("name", "vendor", "architecture", "type", "compute_units", "local_bytes", "constant_bytes"),
    *("max_work_group_size", "image_support", "fp64", "fp16", "subgroups", "extensions"),
)
_BY_UNITS = ("SPLIT", "VIEWS", "PARTS")  # numbers that fit the compute units of one device alone
_LEVELS = ("this device", "its architecture", "its vendor", "devices of its type")
_Fitting = list[tuple[dict[str, Any], Found]]
_found: dict[tuple[object, ...], tuple[list[Record], _Fitting]] = {}


def _fitting(workload: str, device: Device, dtype: str) -> _Fitting:
    """Return what the records that fit a device require of the input, each with what it says, the best first. It is
    found once for the records that there are: that takes longer than a small product."""
    own = user_records(workload)
    records = [*own, *shipped_records(workload)]
    facts = {key: getattr(device, key, "") for key in _OF_DEVICE} | {"dtype": dtype}
    unit = unit_of(device) if any("unit" in record for record in records) else None
    limits = {name: getattr(device, name) for name in FACTS if hasattr(device, name)}
    place = (workload, tables.generation(workload), unit, limits.get("local_bytes"), *facts.values())
    held = _found.get(place)
    if held is not None and held[0] == records:
        return held[1]
    fitting = [
        (record, _demands(workload, record, facts), level, number < len(own))
        for number, record in enumerate(records)
        if (level := _level(record, facts)) is not None
    ]
    fitting.sort(
        key=lambda item: (
            -sum(map(bool, item[1].values())),
            item[2],
            unit is None or item[0].get("unit") != unit,
        )
    )
    listed = []
    for record, demands, level, users in fitting:
        transferred = level in (1, 2)
        configuration = _choice(workload, record, transferred)
        if configuration is None or (transferred and _refused(workload, configuration, dtype, limits)):
            continue
        whose = "tuned here" if users else "shipped"
        by = f", tuned on {record['match']['name']}" if transferred and "name" in record["match"] else ""
        listed.append((demands, Found(configuration, f"{whose}, for {_LEVELS[level]}{by}", users)))
    _found[place] = records, listed
    return listed


def _level(record: Record, facts: Mapping[str, object]) -> int | None:
    """How close a record is to a device, 0 the closest; None where it does not fit. One of another device fits its
    siblings: those of the architecture or, less closely, of the vendor that it says it was tuned ``of``."""
    match = record["match"]
    differs = {key for key, value in match.items() if key in facts and facts[key] != value}
    if not differs:
        return next((level for level, key in enumerate(("name", "architecture", "vendor")) if key in match), 3)
    of = record.get("of")
    if differs != {"name"} or not isinstance(of, dict):
        return None
    keys = ("architecture", "vendor")
    return next((level for level, key in enumerate(keys, 1) if of.get(key) and of[key] == facts[key]), None)


def _refused(workload: str, configuration: Configuration, dtype: str, limits: Mapping[str, Any]) -> bool:
    """Whether a device with these limits cannot run it whatever the input."""
    if workload not in tables.built_in() or "local_bytes" not in limits:
        return False
    return bool(_core.refusal(workload, configuration.variant, configuration.parameters, dtype, dict(limits)))


def _choice(workload: str, record: Record, transferred: bool = False) -> Configuration | None:
    """Return the configuration of a record; of one that is ``transferred``, without what fits another device's compute
    units. None for a record of another version of the tables, which must not make a plain call fail, and for one that
    would change the accuracy without having been asked to."""
    variant = tables.table_of(workload).get(record["variant"])
    parameters = record.get("parameters", {})
    if transferred:
        parameters = {name: level for name, level in parameters.items() if name not in _BY_UNITS}
    levels = {p.name: p.levels for p in variant.parameters} if variant else {}
    if variant is None or any(value not in levels.get(name, ()) for name, value in parameters.items()):
        return None
    chosen = complete(workload, Configuration(variant.name, **parameters))
    asked = record["match"].get("stored") or record["match"].get("precision", NATIVE) != NATIVE
    return chosen if asked or not accuracy(workload, chosen) else None


def _demands(workload: str, record: Record, facts: Mapping[str, object]) -> dict[str, Any]:
    """Return the properties that a record requires of the input, with their values."""
    variant = tables.table_of(workload).get(record["variant"])
    asked = {key: value for key, value in record["match"].items() if key not in facts}
    return asked | dict.fromkeys(variant.input_properties if variant else (), True)


def _agrees(demands: Mapping[str, Any], input_properties: InputProperties) -> bool:
    return demands.keys() <= input_properties.keys() and all(
        input_properties[key]() == value for key, value in demands.items()
    )
