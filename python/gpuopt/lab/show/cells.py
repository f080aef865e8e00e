"""The combinations of levels that a study measured of a kernel, the cells of a factorial: which parameters are factors,
and what each cell took in each block."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import Group, code_of
from gpuopt.lab.rows.schema import Number, Row, levels, number_of

On = frozenset[str]  # the factors that are on
LEAST_BLOCKS = 3


def factors_of(rows: Sequence[Row], base: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The parameters with two levels, each with its level off and on: ``base``'s, else the baseline's is off. Raises
    ParameterError."""
    seen: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: row["baseline"] is None or row["configuration"] != row["baseline"]):
        for name, level in levels(row).items():
            held = seen.setdefault(name, [])
            if level not in held:
                held.append(level)
    if unknown := [name for name in base if name not in seen]:
        raise ParameterError(f"base: there is no parameter {unknown[0]!r}; there are {', '.join(seen) or 'none'}")
    for name, level in base.items():
        if level not in seen[name]:
            raise ParameterError(f"base: {name}={level} was not measured; {', '.join(map(str, seen[name]))} were")
        seen[name].remove(level)
        seen[name].insert(0, level)
    if many := [name for name, held in seen.items() if len(held) > 2]:
        raise ParameterError(f"study: {many[0]} has the levels {seen[many[0]]}; measure two levels of each parameter")
    found = {name: (held[0], held[1]) for name, held in seen.items() if len(held) == 2}
    if not found:
        raise ParameterError(
            "study: no parameter has two levels; measure combinations of at least one, of your own kernel by "
            "lab.sweep(problem, kernel.configurations(n=...), protocol='quick')"
        )
    return found


def is_of(block: Row, shown: Mapping[str, Row]) -> bool:
    """Whether a block is of the code of its configuration's row, not of what an edit has replaced."""
    row = shown.get(str(block["configuration"]))
    return row is None or code_of(row) == code_of(block)


def codes_of(group: Group, shown: Mapping[str, Row]) -> dict[str, Hashable]:
    """By configuration, the code of the baseline that it was held against where there are several."""
    known = {name: group.codes_of_baselines.get(id(row)) for name, row in shown.items()}
    return dict(known) if len({*known.values()} - {None}) > 1 else {}


def blocks_of(
    rows: Sequence[Row], factors: Mapping[str, tuple[Any, Any]], codes: Mapping[str, Hashable]
) -> list[dict[On, float]]:
    """What each cell took, a block, as its ratio to the baseline's visits of its own pass: cells of one block may be of
    two passes. As its time where rows have no ratio. Blocks of two environments, baselines or codes are two."""
    took: Number = "ratio" if all((row["ratio"] or 0) > 0 for row in rows) else "median_ms"
    blocks: dict[Hashable, dict[On, float]] = {}
    for row in rows:
        at = levels(row)
        on = frozenset(name for name, (_, level) in factors.items() if at.get(name) == level)
        against = row["baseline"], codes.get(str(row["configuration"]))
        blocks.setdefault((row["block"], *against, row["env_hash"]), {})[on] = number_of(row, took)
    common = set.intersection(*(set(block) for block in blocks.values())) if blocks else set()
    environments = {row["env_hash"] for row in rows}
    if len(environments) > 1 and (frozenset() not in common or len(common) < 2):
        raise ParameterError(
            f"study: its combinations are of {len(environments)} environments, whose times are not held against each "
            "other; measure all of them in one"
        )
    if codes and (frozenset() not in common or len(common) < 2):
        raise ParameterError(
            "study: its combinations were held against a baseline of several codes, as before and after an edit, and "
            "are not held against each other; measure all of them again"
        )
    if frozenset() not in common:
        raise ParameterError("study: the configuration with all parameters off is not in each block; measure it too")
    if len(blocks) < LEAST_BLOCKS:
        raise ParameterError(f"study: {len(blocks)} blocks; intervals need at least {LEAST_BLOCKS}")
    return [{on: time for on, time in block.items() if on in common} for block in blocks.values()]
