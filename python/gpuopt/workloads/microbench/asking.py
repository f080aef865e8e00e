"""What the functions of `gpuopt.microbench` share: their common arguments, and the survey that answers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpuopt._core import Device, ParameterError
from gpuopt.lab.report import Study
from gpuopt.lab.run.survey import survey
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory
from gpuopt.workloads.microbench.points import Point, TransferPoint
from gpuopt.workloads.microbench.questions import Levels, element, family_rows, no_level, points, shapes, widest


def ask(wanted: Sequence[Point | TransferPoint], device: Device, how: dict[str, Any]) -> Study:
    """Survey the points. Raises ParameterError for an argument that is none of a survey's, and for a size that does not
    fit the memory."""
    if unknown := set(how) - {"protocol", "store", "progress"}:
        raise ParameterError(
            f"{', '.join(sorted(unknown))}: no such argument; a question also takes protocol, store and progress"
        )
    for size in sorted({point.bytes for point in wanted}):
        memory.check("bytes", f"{size:,}", memory.Needs(host=size, device=size, largest=size), device, share=1.0)
    return survey(wanted, device=device, **how)


@contextmanager
def sizes_called(argument: str) -> Iterator[None]:
    """Errors of sizes in the block name the caller's argument; points call them bytes."""
    try:
        yield
    except ParameterError as error:
        if error.argument != "bytes":
            raise
        raise type(error)(argument + str(error).removeprefix("bytes")) from error


def stream(
    family: str,
    dtype: str,
    size: int | None,
    pattern: str | None,
    local_size: int | None,
    device: Selector,
    how: dict[str, Any],
) -> Study:
    """Survey a streaming family: read, write or triad."""
    chosen = select(device)
    scalar, levels = element(dtype)
    if levels["STRUCT"]:
        raise ParameterError(f"dtype: a {family} of structs is not offered; copy_bandwidth takes them")
    ahead = {"AHEAD": (4, 8) if chosen.type == "cpu" else (1, 4, 16)}
    rows = shapes(family, by_size(local_size) if pattern is None else pattern, chosen, scalar, {**levels, "WIDTH": 2})
    return ask(points(chosen, rows, scalar, size, {**levels, **ahead, **local(local_size)}), chosen, how)


def named(family: str, name: str | None, argument: str, scalar: str, device: Selector, how: dict[str, Any]) -> Study:
    """Survey one variant of a family, or all where ``name`` is None. Raises ParameterError for an unknown one."""
    rows = {row.name: row for row in family_rows(family)}
    if name is not None and name not in rows:
        raise ParameterError(f"{argument}: {name!r} is none; use one of {', '.join(rows)}")
    chosen = select(device)
    wanted = points(chosen, [rows[name]] if name else list(rows.values()), scalar, 16384, {"WIDTH": widest(chosen)})
    return ask(wanted, chosen, how)


def execution(
    family: str, levels: Levels, asked: Mapping[str, Any], dtype: str, device: Selector, how: dict[str, Any]
) -> Study:
    """Survey a family at ``levels``, but what was asked for instead where that is not None: a level or several, each of
    which some variant has."""
    given = {name: (one,) if isinstance(one, int) else tuple(one) for name, one in asked.items() if one is not None}
    rows = family_rows(family)
    for parameter in (parameter for row in rows for parameter in row.parameters):
        for value in given.get(parameter.name, ()):
            if value not in parameter.levels:
                raise no_level(parameter.name, value, family, parameter.levels)
    chosen = select(device)
    return ask(points(chosen, rows, element(dtype)[0], 16384, {**levels, **given}), chosen, how)


def by_size(local_size: int | None) -> str | None:
    """Return the pattern that has a work-group size, where one is given."""
    return None if local_size is None else "coalesced"


def local(size: int | None) -> dict[str, int]:
    return {} if size is None else {"LOCAL": size}
