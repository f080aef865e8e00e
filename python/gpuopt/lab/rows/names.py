"""What people call the rows of one table: a step's name, a variant's, and as few levels as tell twins apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuopt import labels
from gpuopt.configuration import altered
from gpuopt.lab.rows.schema import Row, levels


def step_name(workload: str, preset: str) -> str:
    """What a paper's step is called."""
    return labels.of(workload).steps.get(preset) or preset.split(":")[-1].replace("_", " ")


def names_of(rows: Sequence[Row]) -> list[str]:
    """A name for each row. Rows without a preset that would share one are told apart by as few levels
    as do, of these those of :func:`told_of`; beside a step of its
    name a variant at its standard levels is `naive(standard)`, a peer `naive(peer)`."""
    names = [_name(row) for row in rows]
    shared: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        shared.setdefault(name, []).append(index)
    for name, twins in shared.items():
        if len(twins) > 1:
            told = _telling(rows, twins)
            for index in twins:
                own = told_of(rows[index])
                inside = ", ".join(f"{key}={own[key]}" for key in told if key in own)
                if rows[index]["role"] == "peer":
                    names[index] = f"{name}(peer)"
                elif not rows[index]["preset"] and (inside or any(rows[twin]["preset"] for twin in twins)):
                    names[index] = f"{name}({inside or 'standard'})"
    return names


def told_of(row: Row) -> dict[str, int]:
    """The levels of a row that are not standard; of a kernel that people bring all, for one of its name may have other
    first levels by now, or be unknown."""
    own = levels(row)
    brought = labels.of(row["workload"]).brought
    return own if brought else altered(str(row["workload"]), str(row["variant"]), own)


def _name(row: Row) -> str:
    variant, words = str(row["variant"]), labels.of(row["workload"])
    if row["role"] == "call":
        return call_name(str(row["workload"]), variant)
    if row["role"] == "peer":
        return variant
    if row["preset"]:
        return step_name(str(row["workload"]), str(row["preset"]))
    own = levels(row)
    if called := words.configuration(variant, own):
        return called
    precision = words.precision_of(own)
    return f"{variant} {precision}" if precision else variant


def call_name(workload: str, name: str) -> str:
    """`naive, whole call` of a call of a step; `gpuopt.gemm(A, B), fast_fp32` of a precision."""
    if step := re.search(r"variant='(paper:\w+)'", name):
        return f"{step_name(workload, step[1])}, whole call"
    return re.sub(r", precision='(\w+)'\)$", r"), \1", name)


def _telling(rows: Sequence[Row], twins: list[int]) -> list[str]:
    """The parameters that tell these rows apart, without those that are not needed for it."""
    params = [rows[index]["params"] or {} for index in twins]
    told = [key for key in dict.fromkeys(key for own in params for key in own) if len({o.get(key) for o in params}) > 1]

    def apart(keys: list[str]) -> int:
        return len({tuple(own.get(key) for key in keys) for own in params})

    most = apart(told)
    for key in list(told):
        rest = [other for other in told if other != key]
        if rest and apart(rest) == most:
            told = rest
    return told
