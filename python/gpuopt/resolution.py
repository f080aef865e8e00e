"""Which configuration a plain call uses.

A plain call uses what its caller names. Otherwise it uses a tuned record: of those that fit the device and the input,
the one that requires the most properties of the input, and the user's own records before the shipped ones. The last
shipped records require nothing but a type of device. Nothing here runs a kernel, so a plain call never starts a sweep.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from gpuopt import configuration as tables
from gpuopt import papers
from gpuopt._core import Device, ParameterError
from gpuopt.configuration import NATIVE, Configuration, accuracy, complete
from gpuopt.records import Record, shipped_records, user_records
from gpuopt.tracing import traced
from gpuopt.unit import unit_of

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
    equals what was tuned on this very unit comes first, then the user's records, of equal devices too, then shipped
    ones.

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
    known = {name: functools.cache(ask) for name, ask in (input_properties or {}).items()}
    for demands, chosen in _fitting(workload, device, dtype):
        if _agrees(demands, known):
            return chosen
    raise ParameterError(f"variant: no record of {workload} fits {device.key}; name a variant")


_OF_DEVICE = ("name", "platform", "type", "vector_bytes")
_Fitting = list[tuple[dict[str, Any], Configuration]]
_found: dict[tuple[object, ...], tuple[list[Record], _Fitting]] = {}


def _fitting(workload: str, device: Device, dtype: str) -> _Fitting:
    """Return what the records that fit a device require of the input, each with its configuration, the best first. It
    is found once for the records that there are: that takes longer than a small product."""
    records = [*user_records(workload), *shipped_records(workload)]
    facts = {key: getattr(device, key) for key in _OF_DEVICE} | {"dtype": dtype}
    unit = unit_of(device) if any("unit" in record for record in records) else None
    place = (workload, tables.generation(workload), unit, *facts.values())
    held = _found.get(place)
    if held is not None and held[0] == records:
        return held[1]
    fitting = [
        (record, _demands(workload, record, facts))
        for record in records
        if all(facts[key] == value for key, value in record["match"].items() if key in facts)
    ]
    fitting.sort(key=lambda item: (-sum(map(bool, item[1].values())), unit is None or item[0].get("unit") != unit))
    chosen = [(demands, _choice(workload, record)) for record, demands in fitting]
    found = [(demands, configuration) for demands, configuration in chosen if configuration is not None]
    _found[place] = records, found
    return found


def _choice(workload: str, record: Record) -> Configuration | None:
    """Return the configuration of a record. None for a record of another version of the tables, which must not make a
    plain call fail, and for one that would change the accuracy without having been asked to."""
    variant = tables.table_of(workload).get(record["variant"])
    parameters = record.get("parameters", {})
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
