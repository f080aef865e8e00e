"""What makes one environment another: rows of two of them never go into one interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpuopt.lab.rows.facts import Environment
from gpuopt.lab.rows.schema import Row

# Facts that are kept and do not tell environments apart. Which code it is, a hash of the code itself says better: a
# commit of a page changes no time, and two states of a tree may both be "dirty".
_ASIDE = {"source": ("commit", "dirty", "built")}
# Which device, which cache folder, which kernels: told by rows themselves, or of no consequence for a time.
_OWN_VARIABLES = "GPUOPT_"
_NO_FACTS = ("env_hash", "state")

_MOST = 4  # differences that a sentence names


def identity(facts: Environment) -> dict[str, Any]:
    """The facts by which environments differ: device and unit, driver, processor and what this process may use of it,
    memory, limits and power cap of the GPU, variables that steer runtimes and threads, software, the code that
    measures.

    Load, clocks, temperatures and free memory change by themselves: they are the state of one and the same environment.
    """
    left: dict[str, Any] = {name: value for name, value in facts.items() if name not in _NO_FACTS}
    for group, names in _ASIDE.items():
        left[group] = {name: value for name, value in (left.get(group) or {}).items() if name not in names}
    variables: Mapping[str, str] = left.get("variables") or {}
    left["variables"] = {name: value for name, value in variables.items() if not name.startswith(_OWN_VARIABLES)}
    return left


def differences(before: Environment, now: Environment) -> list[str]:
    """What differs between two environments, `gpu.power_cap_w 700 -> 500`, most important groups first."""
    old, new = _flat(identity(before)), _flat(identity(now))
    told = []
    for name in dict.fromkeys([*new, *old]):
        if old.get(name) != new.get(name):
            told.append(f"{name} {_word(old.get(name))} -> {_word(new.get(name))}")
    return told


def told_differences(rows: Iterable[Row], before: str | None, now: str | None) -> str:
    """What differs between the environments of these hashes, as their rows in ``rows`` say it; short enough for a
    sentence. Empty where one of them is not on record or nothing that is recorded differs."""
    known = {row["env_hash"]: row["environment"] for row in rows if row["kind"] == "environment"}
    old, new = known.get(before), known.get(now)
    if not old or not new:
        return ""
    found = differences(old, new)
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def _flat(facts: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{above}{name}.")
        else:
            out[above + name] = value
    return out


def _word(value: object) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
