"""What the functions of `gpuopt.microbench` share: their common arguments, and the survey that answers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpuopt._core import Device, ParameterError, Variant
from gpuopt.lab.report import Study
from gpuopt.lab.run.survey import survey
from gpuopt.lab.show.points import OPENCL_NAMES
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory
from gpuopt.workloads.microbench.points import Point, TransferPoint
from gpuopt.workloads.microbench.questions import Levels, element, family_rows, no_level, points, shapes, widest

OF_TYPE = "dtype: width "  # how errors call the width of an element, for :func:`called`


class UnknownArgumentError(ParameterError):
    """An argument that no question has: it is named as it was given."""


def ask(wanted: Sequence[Point | TransferPoint], device: Device, how: dict[str, Any]) -> Study:
    """Survey the points. Raises ParameterError for an argument that is none of a survey's, and for a size that does not
    fit the memory."""
    if unknown := set(how) - {"protocol", "store", "progress"}:
        raise UnknownArgumentError(
            f"{', '.join(sorted(unknown))}: no such argument; a question also takes protocol, store and progress"
        )
    for size in sorted({point.bytes for point in wanted}):
        needs = memory.Needs(host=size, device=size, largest=size)
        memory.check("bytes", f"a source of {size:,} bytes", needs, device, share=1.0)
    return survey(wanted, device=device, **how)


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Errors in the block name the caller's argument; points call it ``bytes`` or ``width``. Given is what takes the
    place of that: ``bytes="sizes: "``."""
    try:
        yield
    except ParameterError as error:
        if error.argument not in names or isinstance(error, UnknownArgumentError):
            raise
        raise type(error)(names[error.argument] + str(error).removeprefix(f"{error.argument}: ")) from error


def typed(dtype: str, rows: Sequence[Variant], local_size: int | None = None) -> tuple[str, dict[str, int]]:
    """What :func:`element` says of a type. Raises ParameterError where none of the variants ``rows`` has kernels of the
    type, or what it or a size of work-groups asks for: it would be left out in silence."""
    scalar, levels = element(dtype)
    names = ", ".join(row.name for row in rows)
    if scalar not in (kinds := list(dict.fromkeys(kind for row in rows for kind in row.dtypes))):
        listed = ", ".join(OPENCL_NAMES[kind] for kind in kinds)
        raise ParameterError(f"dtype: {dtype!r} is no type of {names}; use {listed}")
    known = {parameter.name for row in rows for parameter in row.parameters}
    of_structs = "VIA" in known and "STRUCT" not in known
    if of_structs and not levels["STRUCT"]:
        raise ParameterError(f"dtype: {dtype!r} is no struct, and {names} takes these alone; use struct5 and so on")
    if levels["STRUCT"] and not of_structs and "STRUCT" not in known:
        raise ParameterError(f"dtype: {dtype!r} is a struct, and {names} takes none; use {OPENCL_NAMES[scalar]!r}")
    if levels["WIDTH"] > 1 and "WIDTH" not in known:
        raise ParameterError(f"dtype: {dtype!r} is a vector, and {names} takes none; use {OPENCL_NAMES[scalar]!r}")
    if local_size is not None and "LOCAL" not in known:
        raise ParameterError(f"local_size: {names} has no choice of it; leave it out, or use pattern 'coalesced'")
    return scalar, levels


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
    typed(dtype, rows, local_size)
    with called(width=OF_TYPE):
        wanted = points(chosen, rows, scalar, size, {**levels, **ahead, **local(local_size)})
    return ask(wanted, chosen, how)


def named(family: str, name: str | None, argument: str, dtype: str, device: Selector, how: dict[str, Any]) -> Study:
    """Survey one variant of a family, or all where ``name`` is None, in vectors of the type's width, for a scalar of
    what may be best. Raises ParameterError for an unknown one."""
    rows = {row.name: row for row in family_rows(family)}
    if name is not None and name not in rows:
        raise ParameterError(f"{argument}: {name!r} is none; use one of {', '.join(rows)}")
    chosen = select(device)
    asked = [rows[name]] if name else list(rows.values())
    scalar, levels = typed(dtype, asked)
    width = levels["WIDTH"] if levels["WIDTH"] > 1 else widest(chosen)
    with called(width=OF_TYPE):
        return ask(points(chosen, asked, scalar, 16384, {"WIDTH": width}), chosen, how)


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
    return ask(points(chosen, rows, typed(dtype, rows)[0], 16384, {**levels, **given}), chosen, how)


def by_size(local_size: int | None) -> str | None:
    """Return the pattern that has a work-group size, where one is given."""
    return None if local_size is None else "coalesced"


def local(size: int | None) -> dict[str, int]:
    return {} if size is None else {"LOCAL": size}
