"""The combinations of levels that a study measured of a kernel, the cells of a factorial: which parameters are factors,
and what each cell took in each block."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Number, Row, levels, number_of

On = frozenset[str]  # the factors that are on
LEAST_BLOCKS = 3


def factors_of(rows: Sequence[Row], base: Mapping[str, Any], off: Sequence[Row] = ()) -> dict[str, tuple[Any, Any]]:
    """The parameters with two levels in ``rows``, each with its level off and on: ``base``'s is off, else the first of
    those of the rows ``off`` that was measured, else the first row's. Raises ParameterError."""
    seen: dict[str, list[Any]] = {}
    for row in rows:
        for name, level in levels(row).items():
            held = seen.setdefault(name, [])
            if level not in held:
                held.append(level)
    for row in reversed(off):
        for name, level in levels(row).items():
            if level in seen.get(name, ()):
                seen[name].remove(level)
                seen[name].insert(0, level)
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


def visits_of(group: Group, variant: str) -> list[Row]:
    """The good blocks of a variant's good rows that were held against a baseline of the same code; where an earlier
    run's are left beside those of a shorter one, those that all have. Raises ParameterError where there is none."""
    shown = [row for row in group.rows if row["variant"] == variant and row["role"] in ("variant", None)]
    own = [(group.codes_of_baselines[id(row)], group.own_blocks(row)) for row in shown if row["status"] == "ok"]
    if not any(blocks for _, blocks in own):
        raise ParameterError(
            f"study: {variant} has no good blocks of the code that was measured last; sweep its combinations together"
        )
    known = [codes for codes, _ in own if codes]
    common = frozenset.intersection(*known) if known else frozenset()
    if all(codes == common for codes in known):
        return [block for _, blocks in own for block in blocks]
    of_all = set.intersection(*({_place(group, block) for block in blocks} for _, blocks in own))
    if not of_all:
        raise ParameterError(
            "study: its combinations were held against a baseline of several codes, as before and after an edit, and "
            "are not held against each other; measure all of them again"
        )
    return [block for _, blocks in own for block in blocks if _place(group, block) in of_all]


def _place(group: Group, block: Row) -> Hashable:
    """Rows of one place are held against each other: of one block, and by one baseline of one code."""
    return block["block"], block["baseline"], group.against(block), block["env_hash"]


def blocks_of(group: Group, rows: Sequence[Row], factors: Mapping[str, tuple[Any, Any]]) -> list[dict[On, float]]:
    """What each cell took, a block, as its ratio to the baseline's visits of its own pass: cells of one block may be of
    two passes. As its time where rows have no ratio. Blocks of two environments, baselines or codes are two."""
    took: Number = "ratio" if all((row["ratio"] or 0) > 0 for row in rows) else "median_ms"
    blocks: dict[Hashable, dict[On, float]] = {}
    for row in rows:
        at = levels(row)
        on = frozenset(name for name, (_, level) in factors.items() if at.get(name) == level)
        blocks.setdefault(_place(group, row), {})[on] = number_of(row, took)
    common = set.intersection(*(set(block) for block in blocks.values())) if blocks else set()
    environments = {row["env_hash"] for row in rows}
    if len(environments) > 1 and (frozenset() not in common or len(common) < 2):
        raise ParameterError(
            f"study: its combinations are of {len(environments)} environments, whose times are not held against each "
            "other; measure all of them in one"
        )
    if frozenset() not in common:
        raise ParameterError("study: the configuration with all parameters off is not in each block; measure it too")
    if len(blocks) < LEAST_BLOCKS:
        raise ParameterError(f"study: {len(blocks)} blocks; intervals need at least {LEAST_BLOCKS}")
    return [{on: time for on, time in block.items() if on in common} for block in blocks.values()]
