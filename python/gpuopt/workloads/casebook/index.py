"""All entries: each folder beside this file holds one, as ``ENTRY``. No list names them."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence

from gpuopt._core import ParameterError
from gpuopt.workloads import casebook
from gpuopt.workloads.casebook.entry import Entry


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every entry, in the order of the ids."""
    folders = [found.name for found in pkgutil.iter_modules(casebook.__path__) if found.ispkg]
    found = [importlib.import_module(f"{casebook.__name__}.{name}").ENTRY for name in folders]
    return tuple(sorted(found, key=lambda entry: (entry.id[0], int(entry.id[1:]))))


def chosen(wanted: str | Entry | Sequence[str | Entry] | None, beside: Sequence[Entry] = ()) -> list[Entry]:
    """The entries of these ids or names, each once, all for None; entries that are no folder's are taken as they are.
    Those ``beside`` are known by id and name too, before a folder's. Raises ParameterError for an unknown one, which
    lists what there is, and for two entries of one id."""
    if wanted is None:
        return list(entries())
    listed = [wanted] if isinstance(wanted, (str, Entry)) else list(wanted)
    every = (*entries(), *beside)
    known = {key.casefold(): entry for entry in every for key in (entry.id, entry.name)}
    found: dict[str, Entry] = {}
    for each in listed:
        if isinstance(each, str) and each.casefold() not in known:
            names = ", ".join(f"{one.id} {one.name}" for one in {one.id: one for one in every}.values())
            raise ParameterError(f"entries: the casebook has no {each!r}; it has {names}")
        entry = known[each.casefold()] if isinstance(each, str) else each
        if (other := found.setdefault(entry.id, entry)) != entry:
            raise ParameterError(
                f"entries: {other.name} and {entry.name} both have the id {entry.id}; give one of them another, by "
                "dataclasses.replace(entry, id=...)"
            )
    return list(found.values())
