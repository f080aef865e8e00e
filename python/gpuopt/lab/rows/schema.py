"""Result rows: their fields, their keys, and how a row is made.

A row is a flat dict. Its fields, their types and their words stand once, in the class ``Row``; ``FIELDS``, ``GROUPS``,
``WORDS`` and the validation are derived from it. A row that was made or read here has every field: what does not apply
is None, and left out of the file. A row under construction has some of them. Units stand in the names.
"""

from __future__ import annotations

import datetime
import difflib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_origin, get_type_hints

import numpy as np

from gpuopt import _core
from gpuopt._core import Error
from gpuopt.lab.rows.facts import DeviceState, Environment
from gpuopt.lab.timing.fields import Clock, Flag, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

SCHEMA = 1

Status = Literal["ok", "unsupported", "constraints", "compile", "runtime", "wrong"]
Kind = Literal["search", "block", "summary", "point", "environment"]
Role = Literal["variant", "call", "peer", "ceiling", "overhead", "sentinel"]
CacheState = Literal["hot", "cold", "large"]


# ---------------------------------------------------------------- the fields


class What(TypedDict, total=False):
    """What was measured. ``params`` are the levels of the variant's parameters; of a ceiling that reads a variant's own
    data also ``of``, that variant's label."""

    schema: int
    workload: str | None
    family: str | None
    problem: str | None
    footprint_bytes: int | None
    variant: str | None
    configuration: str | None
    preset: str | None
    accuracy: str | None
    dtype: str | None
    vector_width: int | None
    params: Mapping[str, int | str] | None
    sizes: Mapping[str, int] | None
    global_size: Sequence[int] | None
    local_size: Sequence[int] | None
    options: str | None
    seed: int | None
    cache_state: CacheState | None
    clock: Clock | None
    role: Role | None


class Where(TypedDict, total=False):
    """Where and when: the device, the software, and the date of the profile that bounds come from."""

    device: str | None
    device_type: str | None
    driver: str | None
    platform: str | None
    env_hash: str | None
    environment: Environment | None
    profile: str | None
    source_sha256: str | None
    binary_sha256: str | None
    protocol: str | None
    gpuopt_version: str
    time_utc: str


class Outcome(TypedDict, total=False):
    """What kind of row it is, how it ended and what is doubtful about it. ``block`` and ``order`` count from 0."""

    kind: Kind
    status: Status
    reason: str | None
    flags: list[Flag]
    block: int | None
    order: int | None


class Time(TypedDict, total=False):
    """Milliseconds of one run, over ``n`` samples of ``batch_n`` runs each; ``ci`` is the 95 % interval."""

    n: int | None
    batch_n: int | None
    min_ms: float | None
    q1_ms: float | None
    median_ms: float | None
    q3_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    mad_ms: float | None
    ci_lo_ms: float | None
    ci_hi_ms: float | None
    samples_ms: Sequence[float] | None


class Overheads(TypedDict, total=False):
    """Milliseconds beside the run: building; the kernels alone; from the queue to the start; by the host's clock."""

    build_ms: float | None
    busy_ms: float | None
    queued_start_ms: float | None
    wall_ms: float | None
    warmup_ms: float | None


class Quality(TypedDict, total=False):
    """What the samples say of themselves, and the step of their clock."""

    autocorr1: float | None
    drift_pct_s: float | None
    bimodal: bool | None
    timer_ns: float | None


class Rates(TypedDict, total=False):
    """The declared work of one run, the rates that follow from it, and the bound.

    ``bytes`` are by class of memory, ``special`` by function, ``counted`` by the workload's own unit, which ``gop_s``
    counts. ``doubled`` is the ratio of the time of twice the work. ``uncached_ms`` is the bound without caches.
    """

    flops: float | None
    bytes: Mapping[str, float] | None
    special: Mapping[str, float] | None
    counted: Mapping[str, float] | None
    gflop_s: float | None
    gb_s: float | None
    gop_s: float | None
    latency_ns: float | None
    doubled: float | None
    bound_ms: float | None
    bound_by: str | None
    pct_bound: float | None
    pct_lo: float | None
    pct_hi: float | None
    next_by: str | None
    pct_next: float | None
    uncached_ms: float | None
    pct_uncached: float | None


class Correctness(TypedDict, total=False):
    """Errors against the reference: absolute, relative, in units of the last place, as a part of what is allowed, and
    in the Frobenius norm; the largest error allowed; whether the guard zones were intact."""

    max_abs: float | None
    max_rel: float | None
    max_ulp: float | None
    max_of_tol: float | None
    l2_rel: float | None
    tol: float | None
    canary_ok: bool | None


class Code(TypedDict, total=False):
    """The number of launches a run, and what the main kernel takes."""

    launches: int | None
    registers: int | None
    spill_bytes: int | None
    local_bytes: int | None
    private_bytes: int | None


class Comparison(TypedDict, total=False):
    """The ratio of times to the baseline (below 1 is faster), its interval over blocks, and the verdict."""

    baseline: str | None
    ratio: float | None
    ratio_lo: float | None
    ratio_hi: float | None
    blocks: int | None
    verdict: Verdict | None


class Identity(TypedDict, total=False):
    """What tells rows apart, made by :func:`identify`. Of rows with one ``row_id`` the last stands."""

    key: str
    row_id: str
    comparison_key: str


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
    Identity,
    total=False,
):
    """A result row, complete or under construction."""


FIELDS = tuple(get_type_hints(Row))  # in the order of the groups, which files keep
_GROUPS: tuple[tuple[str, type], ...] = (
    *(("what", What), ("where", Where), ("outcome", Outcome), ("time", Time), ("overheads", Overheads)),
    *(("quality", Quality), ("rates", Rates), ("correctness", Correctness), ("code", Code)),
    *(("device_state", DeviceState), ("comparison", Comparison), ("identity", Identity)),
)
GROUPS = {name: tuple(get_type_hints(group)) for name, group in _GROUPS}


def _words_in(hint: Any) -> tuple[str, ...]:
    """The words that a type allows; none where it is no type of words."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in _words_in(part))


WORDS = {name: words for name, hint in get_type_hints(Row).items() if (words := _words_in(hint))}
# Rows that agree in these fields are of the same measurement; `source_sha256` is of the source after substitution and
# includes.
KEY_FIELDS = (
    *("source_sha256", "options", "device", "driver", "workload", "problem", "variant", "params", "sizes", "dtype"),
    *("local_size", "global_size", "cache_state", "clock", "seed", "protocol"),
)
COMPARISON_FIELDS = tuple(name for name in KEY_FIELDS if name not in ("source_sha256", "driver"))


class ResultsError(Error):
    """A row or a results file that is not usable; the message names the field or the file, and what to do."""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _canonical_number(value: float) -> float | int | str:
    if not math.isfinite(value):
        return repr(value)  # as text, so that a parameter of NaN or infinity is not taken for a missing one
    return int(value) if value.is_integer() else value


def plain(value: Any, real: Callable[[float], Any] = _finite) -> Any:
    """``value`` in JSON's own types: NumPy scalars and arrays and tuples unpacked, NaN and infinities to None."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return real(float(value))
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), real)
    if isinstance(value, Mapping):
        return {str(k): plain(v, real) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, real) for v in value]
    raise ResultsError(f"a row holds numbers, text, lists and mappings, not {type(value).__name__}: {value!r}")


def sha256(value: Any) -> str:
    """Hexadecimal SHA-256 of the canonical JSON of ``value``: sorted keys, no spaces, shortest floats, 1.0 as 1."""
    text = json.dumps(plain(value, _canonical_number), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_fields(spec: Mapping[str, object], fields: tuple[str, ...]) -> str:
    missing = [name for name in fields if name not in spec]
    if missing:
        raise ResultsError(f"the key needs {', '.join(missing)}: pass None where a field does not apply")
    return sha256({name: spec[name] for name in fields})


def resume_key(spec: Mapping[str, object]) -> str:
    """SHA-256 of the ``KEY_FIELDS`` of a spec or of a whole row; other row fields do not count.

    All key fields must be there (None where one does not apply), and no unknown ones: a slip would let a stale result
    pass. Raises ResultsError that names them.
    """
    _reject_unknown(spec)
    return _hash_fields(spec, KEY_FIELDS)


def comparison_key(spec: Mapping[str, object]) -> str:
    """The resume key without driver and source: the same for one configuration across drivers and edits."""
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

    Nothing is checked, since rows of other versions may hold other fields and words.
    """
    fields: dict[str, Any] = dict.fromkeys(FIELDS)
    row: Any = fields | dict(given)
    row["flags"] = row["flags"] or []
    made: Row = row
    return made


def new_row(**fields: Unpack[Row]) -> Row:
    """A complete, valid row of plain values; fields not given are None.

    ``kind`` and ``status`` are required, and a ``reason`` unless the status is ok. Filled in where absent: schema,
    time_utc, gpuopt_version, flags, and the identity (an environment's key is its env_hash). Raises ResultsError for an
    unknown field, for a word outside ``WORDS`` and for values that JSON cannot hold.
    """
    _reject_unknown(fields)
    row = complete({name: plain(value) for name, value in fields.items()})
    row["schema"] = SCHEMA if row.get("schema") is None else row["schema"]
    row["gpuopt_version"] = row["gpuopt_version"] or _core.__version__
    if row.get("time_utc") is None:
        now = datetime.datetime.now(datetime.timezone.utc)
        row["time_utc"] = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if row["schema"] != SCHEMA:
        raise ResultsError(f"schema={row['schema']!r}: this gpuopt writes rows of schema {SCHEMA}")
    for name, words in WORDS.items():
        for word in row["flags"] if name == "flags" else [field(row, name)]:
            if word not in words and (word is not None or name in ("kind", "status")):
                raise ResultsError(f"{name}={word!r}: expected one of {', '.join(words)}")
    if row["status"] != "ok" and not (isinstance(row["reason"], str) and row["reason"].strip()):
        raise ResultsError(f"status={row['status']!r} needs a reason")
    return identify(row)


def identify(row: Row) -> Row:
    """Fills in the identity of a complete row where it has none."""
    if row.get("key") is None:
        row["key"] = (row["kind"] == "environment" and row["env_hash"]) or _hash_fields(row, KEY_FIELDS)
    row["comparison_key"] = row["comparison_key"] or _hash_fields(row, COMPARISON_FIELDS)
    sentinel = row["order"] if row["role"] == "sentinel" else None
    row["row_id"] = row["row_id"] or row_id(row["key"], row["block"], row.get("kind") or "search", sentinel)
    return row


def field(row: Row, name: str) -> object:
    """The field of this name, for names that are not known before; others are subscripts, which mypy checks."""
    fields: Mapping[str, object] = row
    return fields[name]


def levels(row: Row) -> dict[str, int]:
    """The levels of the row's parameters: what is text among ``params`` is none."""
    return {name: level for name, level in (row["params"] or {}).items() if isinstance(level, int)}


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
