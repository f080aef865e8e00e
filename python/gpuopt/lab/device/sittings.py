"""The sittings of a profile: what each measured, how far apart they lie, and what that makes of an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from gpuopt.lab.rows.schema import Row
from gpuopt.lab.timing.sittings import Spread, between_sittings, spread_of
from gpuopt.lab.timing.statistics import MedianCI

MOST = 20  # sittings that a profile keeps, the latest
FEW = 5  # sittings of a ceiling below which those of its kind are pooled
# Ceilings of one kind are expected to spread alike: what their names, and those of bounding resources, begin with.
_KINDS = {
    "memory": ("dram",),
    "caches": ("cache", "llc", "l1", "local", "constant", "image", "fetch", "taps"),
    "latency": ("latency",),
    "host": ("launch", "upload", "download"),
}


@dataclass(frozen=True)
class Sitting:
    """The ceilings' rates of one sitting, by name, in the profile's units. ``time_utc`` is a date in old files."""

    time_utc: str
    driver: str
    rates: Mapping[str, float]
    unit: str | None = None  # which of several equal devices; None where it is not known


def is_number(value: object) -> bool:
    """Whether it is a finite number that float64 holds, and no boolean."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def kind_of(name: str) -> str:
    """The kind of a ceiling or of a bounding resource: memory, caches, latency, host, or arithmetic."""
    return next((kind for kind, starts in _KINDS.items() if name.startswith(starts)), "arithmetic")


def spread(sittings: Sequence[Sitting], name: str) -> Spread | None:
    """How far a ceiling's rates lie apart between sittings; pooled over its kind where fewer than five tell it, and
    where ``name`` is that of a resource ("dram") or of a kind. None where nothing of the kind was measured twice."""
    rates: dict[str, list[float]] = {}
    for sitting in sittings:
        for ceiling, rate in sitting.rates.items():
            rates.setdefault(ceiling, []).append(rate)
    if len(own := rates.get(name, [])) >= FEW:
        return spread_of([own])
    kind = name if name in (*_KINDS, "arithmetic") else kind_of(name)
    return spread_of([values for ceiling, values in rates.items() if kind_of(ceiling) == kind])


class KnowsSpreads(Protocol):
    """What a profile tells of its sittings."""

    def spread_between(self, ceiling: str) -> Spread | None: ...


def row_interval(profile: KnowsSpreads | None, resource: str | None, time: MedianCI) -> Row:
    """The fields ``sit_lo_ms`` and ``sit_hi_ms`` of a row whose time this resource bounds; none without a spread.

    ``resource`` None is for what the host's clock or the host's launches tell: calls, peers, launches.
    """
    found = profile.spread_between(resource or "host") if profile is not None else None
    if found is None or not time.reached or time.lo <= 0:
        return {}
    lo, hi = between_sittings(time.median, time.lo, time.hi, *found)
    return {"sit_lo_ms": lo, "sit_hi_ms": hi}
