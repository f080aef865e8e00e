"""Rows that somebody hands over, or that a file holds: whether they can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuopt.lab.rows.schema import FIELDS, ResultsError, Row, complete, misfit, plain

_MOST_MS = 1e100  # quotients of such times are numbers


def untimed(row: Mapping[str, Any]) -> str | None:
    """Why the time of a row whose values are of their types is none; None where it is one, or not there."""
    time = row.get("median_ms")
    if time is None or 1 / _MOST_MS <= time <= _MOST_MS:
        return None
    return f"its median_ms is {time}, " + ("and nothing runs in no time" if time <= 0 else "which nothing takes")


def usable(given: Mapping[str, Any], number: int) -> Row:
    """A complete row, of JSON's own types in all fields. Raises ParameterError for what is no mapping, ResultsError,
    with the row's ``number``, for other values and for a time that is none."""
    row: Any = complete(given)
    if (name := misfit(row)) is not None:  # as rows from files are not
        row = complete({name: plain(value) if name in FIELDS else value for name, value in row.items()})
        name = misfit(row)
    if name is not None:
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
