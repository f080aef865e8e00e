"""Tuned records: which configuration is the best known for a device and an input.

The user's records lie in the cache directory; others are shipped with the package.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from gpuopt import _core, files, sealed
from gpuopt._core import ParameterError
from gpuopt.configuration import Configuration, table_of
from gpuopt.signals import let_through

Record = dict[str, Any]


# ---------------------------------------------------------------- records


SCHEMA = 1


@functools.lru_cache(maxsize=32)  # by content: plain calls ask each time
def _read_records(text: bytes | str) -> list[Record]:
    """The records of a file, which nobody may change: those of earlier versions, and those shipped, are a list without
    a checksum."""
    records = sealed.parsed(text, SCHEMA)
    if isinstance(records, dict):
        if records.keys() != {"schema", sealed.CHECKSUM, "records"} or records["schema"] != SCHEMA:
            raise ValueError("its fields are not those of this version")
        records = records["records"]
    if not isinstance(records, list):
        raise ValueError("not a list of records")
    for record in records:
        if not (isinstance(record, dict) and isinstance(record.get("match"), dict)):
            raise ValueError("a record without match")
        if not (isinstance(record.get("variant"), str) and isinstance(record.get("parameters", {}), dict)):
            raise ValueError("a record without variant, or with parameters that are no mapping")
        Configuration(record["variant"], **record.get("parameters", {}))
    return records


_DAMAGED = (ValueError, TypeError)  # what `_read_records` raises


@functools.cache
def shipped_records(workload: str) -> list[Record]:
    """The records of ``tuned/<workload>.json``. A workload without such a file has one that fits every device and input
    and names the first variant of its table."""
    file = resources.files("gpuopt") / "tuned" / f"{workload}.json"
    if not file.is_file():
        return [{"match": {}, "variant": next(iter(table_of(workload)))}]
    return _read_records(file.read_text(encoding="utf-8"))


def tuned_dir() -> Path:
    """The folder of the user's tuned records, one file for each workload."""
    return sealed.folder("tuned")


def recorded() -> list[str]:
    """What tunings recorded something of, in order: workloads, and kernels of the user's own by their names."""
    try:
        return sorted(path.stem for path in tuned_dir().glob("*.json") if path.stem.isidentifier())
    except OSError as error:
        let_through(error)
        return []


def state(workload: str) -> object:
    """What is another value once the user's records have changed, at once if by this process, else within a
    millisecond: for what was chosen by them."""
    return _core.cache_stamp(f"tuned/{workload}.json")


def user_records(workload: str) -> list[Record]:
    """What tunings recorded. A damaged file is set aside with a warning."""
    path = tuned_dir() / f"{workload}.json"
    try:
        os.stat(path)  # first: all else would take 15 us of a plain call
    except (FileNotFoundError, NotADirectoryError) as error:
        let_through(error)
        return []
    except OSError as error:  # told below
        let_through(error)
    content = sealed.read(path)
    if content is None:
        return []
    try:
        return _read_records(content)
    except _DAMAGED as error:
        sealed.set_aside(path, content, error)
        return []


def store_records(workload: str, records: Iterable[Record]) -> Path:
    """Merge records into the user's file of a workload and return the file's path.

    Later calls, and matrices made later, in any process, use them. A record is a mapping with ``match`` (what device
    and input must be), ``variant`` and ``parameters``; ``evidence``, ``date`` and ``driver`` say where it comes from,
    ``gain`` what it brought, ``unit`` from which of several equal devices. It replaces records with an equal ``match``
    unless both are of units and of two. Records with more keys in ``match`` come first, then newer ones. The file is
    replaced in one step, so that readers, other writers and a full disk leave it whole. A damaged file, and
    another user's, is renamed with a number first, and nothing of it is used.

    Raises ParameterError for an invalid record, and Error where the file cannot be written; its old content is then
    unchanged.
    """
    try:
        fresh = _read_records(json.dumps(list(records)))
    except _DAMAGED as error:
        raise ParameterError(f"records: {error}; each needs match, variant and parameters") from error
    path = tuned_dir() / f"{workload}.json"
    try:
        sealed.made(path.parent)
        sealed.locked(path.parent, lambda: _merge(path, fresh))
    except files.WriteError:
        raise
    except OSError as error:
        let_through(error)
        raise files.refused(path, error, files.OTHER_CACHE) from error
    return path


def _merge(path: Path, fresh: Sequence[Record]) -> None:
    content = sealed.replaceable(path, SCHEMA)
    try:
        stored, unused = ([], path.exists()) if content is None else (_read_records(content), False)
    except _DAMAGED:
        stored, unused = [], True
    kept = [record for record in stored if not any(_replaces(new, record) for new in fresh)]
    merged = sorted([*fresh, *kept], key=lambda record: -len(record["match"]))
    _replace(path, _text(merged), unused)


def _replaces(new: Record, old: Record) -> bool:
    """Whether ``new`` takes the place of ``old``: of equal devices each keeps what was tuned on itself, and what is of
    no unit is for all of them."""
    units = (new.get("unit"), old.get("unit"))
    return bool(new["match"] == old["match"]) and (None in units or units[0] == units[1])


def remove_records(workload: str, wanted: Callable[[Record], bool]) -> list[Record]:
    """Remove the records that are ``wanted`` from the user's file of a workload, in one step, and return them.

    Plain calls use the other records from then on, or those shipped with the package. Raises Error where the file
    cannot be written; its old content is then unchanged.
    """
    path = tuned_dir() / f"{workload}.json"
    try:
        if not files.is_there(path):
            return []
        return sealed.locked(path.parent, lambda: _remove(path, workload, wanted))
    except files.WriteError:
        raise
    except OSError as error:
        let_through(error)
        raise files.refused(path, error, files.OTHER_CACHE) from error


def _remove(path: Path, workload: str, wanted: Callable[[Record], bool]) -> list[Record]:
    stored = user_records(workload)
    removed = [record for record in stored if wanted(record)]
    if removed:
        _replace(path, _text([record for record in stored if record not in removed]), False)
    return removed


def _text(records: Iterable[Record]) -> str:
    listed = list(records)
    lines = ",\n".join(f"  {json.dumps(record)}" for record in listed)
    checksum = sealed.digest({"schema": SCHEMA, "records": listed})
    return f'{{"schema": {SCHEMA}, "{sealed.CHECKSUM}": "{checksum}", "records": [\n{lines}\n]}}\n'


def _replace(path: Path, text: str, set_aside: bool) -> None:
    aside = next(sealed.aside(path)) if set_aside else None
    files.write(path, [text.encode()], aside=aside, way_out=files.OTHER_CACHE)
    _core.cache_stamp(f"{path.parent.name}/{path.name}", now=True)
