"""Whether the values of a row are of their fields' types, which `schema.Row` says once."""

from __future__ import annotations

import collections.abc
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpuopt.lab.rows.schema import ResultsError, Row, complete, plain

_MOST = sys.float_info.max
_PLAIN: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


def _fits(hint: Any) -> Callable[[Any], bool]:
    """A test of whether a value read from JSON is of a field's type. What a mapping of facts holds is not looked into,
    nor whether a word is a known one: other versions may know others."""
    if hint in _PLAIN:
        types = _PLAIN[hint]
        if float not in types and int not in types:
            return lambda value: type(value) in types
        return lambda value: type(value) in types and -_MOST <= value <= _MOST
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _fits(str)
    if origin is collections.abc.Mapping:
        inner = _fits(parts[1] | float)  # numbers of any kind
        return lambda value: type(value) is dict and all(map(inner, value.values()))
    if origin in (list, collections.abc.Sequence):
        element = _fits(parts[0])
        return lambda value: type(value) is list and all(map(element, value))
    if parts:  # a union
        tests = [_fits(part) for part in parts if part is not type(None)]
        return lambda value: any(test(value) for test in tests)
    return lambda value: type(value) is dict  # a TypedDict


_FITS = {name: _fits(hint) for name, hint in get_type_hints(Row).items()}


def misfit(row: Mapping[str, Any]) -> str | None:
    """The first field of a row read from a file whose value is of another type than the field's, None where all are of
    theirs. A field that is not there, or null, fits; so does one that this version does not know."""
    for name, value in row.items():
        if value is not None and (test := _FITS.get(name)) is not None and not test(value):
            return name
    return None


def untimed(row: Mapping[str, Any]) -> str | None:
    """Why the time of a row whose values are of their types is none; None where it is one, or not there."""
    time = row.get("median_ms")
    return None if time is None or time > 0 else f"its median_ms is {time}, and nothing runs in no time"


def usable(given: Mapping[str, Any], number: int) -> Row:
    """A complete row, of JSON's own types in all fields. Raises ParameterError for what is no mapping, ResultsError,
    with the row's ``number``, for other values and for a time that is none."""
    row: Any = complete(given)
    if misfit(row) is not None:  # as rows from files are not
        row = {name: plain(value) if name in _FITS else value for name, value in row.items()}
    if (name := misfit(row)) is not None:
        raise ResultsError(
            f"rows: the {name} of row {number} is {_shown(row[name])}, of another type than rows have there; "
            "gpuopt.lab.rows.row_fields has the types"
        )
    if (why := untimed(row)) is not None:
        raise ResultsError(f"rows: of row {number}, {why}; leave it out, or give its status and reason")
    made: Row = row
    return made


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
