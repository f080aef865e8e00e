"""Result rows: their fields, their keys, and how a row is made.

A row is a flat dict. Its fields, their types and their words stand once, in the parts of the class ``Row``
(``row_fields``); ``FIELDS``, ``GROUPS``, ``WORDS`` and the validation are derived from it. A row that was made or read
here has every field: what does not apply is None, and left out of the file. A row under construction has some of them.
Units stand in the names.
"""

from __future__ import annotations

import datetime
import difflib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from gpuopt import _core
from gpuopt._core import Error, ParameterError
from gpuopt.lab.rows.facts import DeviceState
from gpuopt.lab.rows.field_types import called, fits
from gpuopt.lab.rows.row_fields import (
    Code,
    Comparison,
    Correctness,
    Energy,
    Identity,
    Outcome,
    Overheads,
    Quality,
    Rates,
    Time,
    What,
    Where,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

SCHEMA = 1


class Row(
    What,
    Where,
    Outcome,
    Time,
    Overheads,
    Quality,
    Rates,
    Correctness,
    Code,
    DeviceState,
    Comparison,
    Energy,
    Identity,
    total=False,
):
    """A result row, complete or under construction."""


_HINTS = get_type_hints(Row)
_FITS = {name: fits(hint) for name, hint in _HINTS.items()}
FIELDS = tuple(_HINTS)  # in the order of the groups, which files keep
_GROUPS: tuple[tuple[str, type], ...] = (
    *(("what", What), ("where", Where), ("outcome", Outcome), ("time", Time), ("overheads", Overheads)),
    *(("quality", Quality), ("rates", Rates), ("correctness", Correctness), ("code", Code)),
    *(("device_state", DeviceState), ("comparison", Comparison), ("energy", Energy)),
    ("identity", Identity),
)
GROUPS = {name: tuple(get_type_hints(group)) for name, group in _GROUPS}


def _words_in(hint: Any) -> tuple[str, ...]:
    """The words that a type allows; none where it is no type of words."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in _words_in(part))


WORDS = {name: words for name, hint in _HINTS.items() if (words := _words_in(hint))}
# Rows of other versions may hold other words, but a verdict is told, and what another one means is not known.
_FITS["verdict"] = lambda value: type(value) is str and value in WORDS["verdict"]
# Rows that agree in these fields are of the same measurement; `source_sha256` is of the source after substitution and
# includes.
KEY_FIELDS = (
    *("source_sha256", "options", "device", "driver", "workload", "problem", "variant", "params", "sizes", "dtype"),
    *("local_size", "global_size", "cache_state", "clock", "seed", "protocol", "unit", "data"),
    "plan",
)
_WHERE_SET = frozenset(("unit", "data", "plan"))  # these join the key only where they are set: earlier rows keep theirs
_MOST_BITS = 1024  # of a whole number that a float64 may hold
_SHOWN = 60  # characters of a value in a message
_DEEPEST = 100  # lists and mappings within each other, far more than any row has
COMPARISON_FIELDS = tuple(name for name in KEY_FIELDS if name not in ("source_sha256", "driver", "unit", "plan"))


class ResultsError(Error):
    """A row or a results file that is not usable; the message names the field or the file, and what to do."""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _canonical_number(value: float) -> float | int | str:
    if not math.isfinite(value):
        return repr(value)  # as text, so that a parameter of NaN or infinity is not taken for a missing one
    return int(value) if value.is_integer() else value


def plain(value: Any, real: Callable[[float], Any] = _finite, deepest: int = _DEEPEST) -> Any:
    """``value`` in JSON's own types: NumPy scalars and arrays and tuples unpacked, NaN and infinities to None.

    Raises ResultsError for what JSON has no type for, for a whole number beyond all floats and for endless nesting."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # NumPy's texts are of a type of their own
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        if int(value).bit_length() > _MOST_BITS:  # the decimal digits of much longer ones are not even printed
            raise ResultsError(f"a whole number of {int(value).bit_length()} bits; rows hold what a float64 holds")
        return int(value)
    if isinstance(value, (float, np.floating)):
        return real(float(value))
    if isinstance(value, (np.ndarray, Mapping, list, tuple)) and not deepest:
        raise ResultsError(f"values are nested more than {_DEEPEST} deep; keep them flat")
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), real, deepest)
    if isinstance(value, Mapping):
        return {str(k): plain(v, real, deepest - 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, real, deepest - 1) for v in value]
    raise ResultsError(f"a row holds numbers, text, lists and mappings, not {type(value).__name__}: {value!r}")


def sha256(value: Any) -> str:
    """Hexadecimal SHA-256 of the canonical JSON of ``value``: sorted keys, no spaces, shortest floats, 1.0 as 1."""
    text = json.dumps(plain(value, _canonical_number), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_fields(spec: Mapping[str, object], fields: tuple[str, ...]) -> str:
    missing = [name for name in fields if name not in spec and name not in _WHERE_SET]
    if missing:
        raise ResultsError(f"the key needs {', '.join(missing)}: pass None where a field does not apply")
    return sha256({name: spec[name] for name in fields if name not in _WHERE_SET or spec.get(name) is not None})


def resume_key(spec: Mapping[str, object]) -> str:
    """SHA-256 of the ``KEY_FIELDS`` of a spec or of a whole row; other row fields do not count.

    All key fields but ``unit``, ``data`` and ``plan`` must be there (None where one does not apply), and no unknown
    ones: a slip would let a stale result pass. Raises ResultsError that names them.
    """
    _reject_unknown(spec)
    return _hash_fields(spec, KEY_FIELDS)


def comparison_key(spec: Mapping[str, object]) -> str:
    """The resume key without driver, unit, source and plan: the same for one configuration across drivers and edits."""
    _reject_unknown(spec)
    return _hash_fields(spec, COMPARISON_FIELDS)


def row_id(key: str, block: int | None = None, kind: str = "search", sentinel: int | None = None) -> str:
    """The identity of a row: (key, block), or (key, kind) for rows outside blocks. The last row of one identity stands.

    A block visits its sentinel several times, so a sentinel's id also holds its place ``order`` in the block.
    """
    place = kind if block is None else str(block)
    return f"{key}:{place}" if sentinel is None else f"{key}:{place}:sentinel{sentinel}"


def _reject_unknown(fields: Iterable[str]) -> None:
    for field in fields:
        if field not in FIELDS:
            near = difflib.get_close_matches(field, FIELDS, n=1, cutoff=0.0)[0]
            raise ResultsError(
                f"unknown row field {field!r}: the nearest is {near!r}, gpuopt.lab.rows.schema.FIELDS lists all"
            )


# ---------------------------------------------------------------- making and reading rows


def complete(given: Mapping[str, Any]) -> Row:
    """A row with every field: what was not given is None, and ``flags`` an empty list.

    Nothing in it is checked, since rows of other versions may hold other fields and words.
    """
    if not isinstance(given, Mapping):
        raise ParameterError(f"rows: one of them is a {type(given).__name__}; give mappings of fields")
    fields: dict[str, Any] = dict.fromkeys(FIELDS)
    row: Any = fields | dict(given)
    row["flags"] = [] if row["flags"] is None else row["flags"]
    made: Row = row
    return made


def misfit(row: Mapping[str, Any]) -> str | None:
    """The first field of a row in JSON's types whose value is of another type than the field's, None where all are of
    theirs. A field that is not there, or null, fits; so does one that this version does not know."""
    for name, value in row.items():
        if value is not None and (test := _FITS.get(name)) is not None and not test(value):
            return name
    return None


def _plain_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """The fields in JSON's types, each of its own. Raises ResultsError that names the first which is not."""
    made = {}
    for name, value in fields.items():
        try:
            made[name] = plain(value)
        except (ResultsError, ValueError) as error:  # the latter of a name that cannot be printed
            raise ResultsError(f"{name}: {error}") from error
    if (wrong := misfit(made)) is not None:
        shown = ascii(made[wrong])
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        raise ResultsError(f"{wrong}={shown}: a row has {called(_HINTS[wrong])} there, or None")
    return made


def new_row(**fields: Unpack[Row]) -> Row:
    """A complete, valid row of plain values; fields not given are None.

    ``kind`` and ``status`` are required, and a ``reason`` unless the status is ok. Filled in where absent: schema,
    time_utc, gpuopt_version, the core's commit, flags, and the identity (an environment's key is its env_hash). Raises
    ResultsError for an unknown field, for a value of another type than its field's (NaN and infinity are None, which
    lists and mappings do not hold), for a word outside ``WORDS`` and for values that JSON cannot hold.
    """
    _reject_unknown(fields)
    row = complete(_plain_fields(fields))
    row["schema"] = SCHEMA if row.get("schema") is None else row["schema"]
    row["gpuopt_version"] = row["gpuopt_version"] or _core.__version__
    row["commit"] = row["commit"] or _core.__commit__ or None
    if row.get("time_utc") is None:
        now = datetime.datetime.now(datetime.timezone.utc)
        row["time_utc"] = utc_text(now)
    if row["schema"] != SCHEMA:
        raise ResultsError(f"schema={row['schema']!r}: this gpuopt writes rows of schema {SCHEMA}")
    for name, words in WORDS.items():
        for word in row["flags"] if name == "flags" else [field(row, name)]:
            if word not in words and (word is not None or name in ("kind", "status")):
                raise ResultsError(f"{name}={word!r}: expected one of {', '.join(words)}")
    if row["status"] != "ok" and not (isinstance(row["reason"], str) and row["reason"].strip()):
        raise ResultsError(f"status={row['status']!r} needs a reason")
    return identify(row)


def utc_text(time: datetime.datetime) -> str:
    """A time in UTC as rows write it, to milliseconds; texts are in the order of the times."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def identify(row: Row) -> Row:
    """Fills in the identity of a complete row where it has none."""
    if row.get("key") is None:
        row["key"] = (row["kind"] == "environment" and row["env_hash"]) or _hash_fields(row, KEY_FIELDS)
    row["comparison_key"] = row["comparison_key"] or _hash_fields(row, COMPARISON_FIELDS)
    sentinel = row["order"] if row["role"] == "sentinel" else None
    made = row_id(row["key"], row["block"], row.get("kind") or "search", sentinel)
    # A clone is of its baseline's key: a row beside the baseline's own.
    row["row_id"] = row["row_id"] or (f"{made}:clone" if row["role"] == "clone" else made)
    return row


def field(row: Row, name: str) -> object:
    """The field of this name, for names that are not known before; others are subscripts, which mypy checks."""
    fields: Mapping[str, object] = row
    return fields[name]


def levels(row: Row) -> dict[str, Any]:
    """The levels of the row's parameters: what is text among ``params`` is none, but of a variant, whose levels may be
    words."""
    words = (int, str) if row["role"] in ("variant", "clone", "sentinel") else int
    return {name: level for name, level in (row["params"] or {}).items() if isinstance(level, words)}


Number = Literal[
    "median_ms", "bound_ms", "pct_bound", "ratio", "footprint_bytes", "flops", "gflop_s", "gb_s", "gop_s", "max_of_tol"
]


def number_of(row: Row, name: Number) -> float:
    """The number in a field, of a row that must have it. Raises ResultsError where it has none."""
    value = row[name]
    if value is None:
        who = row["configuration"] or row["variant"] or row["kind"]
        raise ResultsError(f"the row of {who} has no {name}: its status is {row['status']}")
    return float(value)


def time_ms(row: Row) -> float:
    """The median time of a row that was measured. Raises ResultsError for any other."""
    return number_of(row, "median_ms")
