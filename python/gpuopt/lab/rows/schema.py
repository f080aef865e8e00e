"""Result rows: their fields, their keys, and how a row is made.

A row is a flat dict with every field of ``FIELDS``; what does not apply is None, and left out of the file. Units stand
in the names."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Error

if TYPE_CHECKING:
    pass

SCHEMA = 1

Row = dict[str, Any]


def _lists(**words: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(text.split()) for name, text in words.items()}


GROUPS = _lists(
    what="""schema workload family problem footprint_bytes variant configuration preset accuracy dtype vector_width
            params sizes global_size local_size options seed cache_state clock role""",
    where="""device device_type driver platform env_hash environment profile source_sha256 binary_sha256 protocol
             gpuopt_version time_utc""",
    outcome="kind status reason flags block order",
    time="n batch_n min_ms q1_ms median_ms q3_ms p95_ms max_ms mad_ms ci_lo_ms ci_hi_ms samples_ms",
    overheads="build_ms busy_ms queued_start_ms wall_ms warmup_ms",
    quality="autocorr1 drift_pct_s bimodal timer_ns",
    rates="""flops bytes special counted gflop_s gb_s gop_s latency_ns doubled bound_ms bound_by pct_bound pct_lo pct_hi
             next_by pct_next uncached_ms pct_uncached""",
    correctness="max_abs max_rel max_ulp max_of_tol l2_rel tol canary_ok",
    code="launches registers spill_bytes local_bytes private_bytes",
    device_state="core_mhz mem_mhz temp_c power_w throttle",
    comparison="baseline ratio ratio_lo ratio_hi blocks verdict",
    identity="key row_id comparison_key",
)
FIELDS = tuple(field for fields in GROUPS.values() for field in fields)
WORDS = _lists(
    status="ok unsupported constraints compile runtime wrong",
    flags="""unconverged cut_short drift timer_suspect throttled autocorrelated bimodal over_bound optimised_away
             suspicious""",
    kind="search block summary point environment",
    role="variant call peer ceiling overhead sentinel",
    cache_state="hot cold large",
    clock="event batch wall",
    verdict="FAST SLOW SAME AMBIGUOUS",
)
# What makes a measurement the same measurement; `source_sha256` is of the source after substitution and includes.
KEY_FIELDS = (
    *("source_sha256", "options", "device", "driver", "workload", "problem", "variant", "params", "sizes", "dtype"),
    *("local_size", "global_size", "cache_state", "clock", "seed", "protocol"),
)
COMPARISON_FIELDS = tuple(field for field in KEY_FIELDS if field not in ("source_sha256", "driver"))


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


def _hash_fields(spec: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    missing = [field for field in fields if field not in spec]
    if missing:
        raise ResultsError(f"the key needs {', '.join(missing)}: pass None where a field does not apply")
    return sha256({field: spec[field] for field in fields})


def resume_key(spec: Mapping[str, Any]) -> str:
    """SHA-256 of the ``KEY_FIELDS`` of a spec or of a whole row; other row fields do not count.

    All key fields must be there (None where one does not apply), and no unknown ones: a slip would let a stale result
    pass. Raises ResultsError that names them.
    """
    _reject_unknown(spec)
    return _hash_fields(spec, KEY_FIELDS)


def comparison_key(spec: Mapping[str, Any]) -> str:
    """The resume key without driver and source: the same for one configuration across drivers and edits."""
    _reject_unknown(spec)
    return _hash_fields(spec, COMPARISON_FIELDS)


def row_id(key: str, block: int | None = None, kind: str = "search", sentinel: int | None = None) -> str:
    """What the last row of replaces the earlier ones: (key, block), or (key, kind) for rows outside blocks.

    A block visits its sentinel several times, so a sentinel's id also holds its place ``order`` in the block.
    """
    place = kind if block is None else str(block)
    return f"{key}:{place}" if sentinel is None else f"{key}:{place}:sentinel{sentinel}"


def _reject_unknown(fields: Iterable[str]) -> None:
    for field in fields:
        if field not in FIELDS:
            near = difflib.get_close_matches(field, FIELDS, n=1, cutoff=0.0)[0]
            raise ResultsError(f"unknown row field {field!r}: the nearest is {near!r}, lab.results.FIELDS lists all")


def new_row(**fields: Any) -> Row:
    """A complete, valid row of plain values; fields not given are None.

    ``kind`` and ``status`` are required, and a ``reason`` unless the status is ok. Filled in where absent: schema,
    time_utc, gpuopt_version, flags, and the identity (an environment's key is its env_hash). Raises ResultsError for an
    unknown field, for a word outside ``WORDS`` and for values that JSON cannot hold.
    """
    _reject_unknown(fields)
    row: Row = dict.fromkeys(FIELDS)
    row.update({field: plain(value) for field, value in fields.items()})
    row["schema"] = SCHEMA if row["schema"] is None else row["schema"]
    row["flags"] = row["flags"] or []
    row["gpuopt_version"] = row["gpuopt_version"] or _core.__version__
    if row["time_utc"] is None:
        now = datetime.datetime.now(datetime.timezone.utc)
        row["time_utc"] = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if row["schema"] != SCHEMA:
        raise ResultsError(f"schema={row['schema']!r}: this gpuopt writes rows of schema {SCHEMA}")
    for field, words in WORDS.items():
        for word in row[field] if field == "flags" else [row[field]]:
            if word not in words and (word is not None or field in ("kind", "status")):
                raise ResultsError(f"{field}={word!r}: expected one of {', '.join(words)}")
    if row["status"] != "ok" and not (isinstance(row["reason"], str) and row["reason"].strip()):
        raise ResultsError(f"status={row['status']!r} needs a reason")
    return identify(row)


def identify(row: Row) -> Row:
    row["flags"] = row["flags"] or []
    if row["key"] is None:
        row["key"] = (row["kind"] == "environment" and row["env_hash"]) or _hash_fields(row, KEY_FIELDS)
    row["comparison_key"] = row["comparison_key"] or _hash_fields(row, COMPARISON_FIELDS)
    sentinel = row["order"] if row["role"] == "sentinel" else None
    row["row_id"] = row["row_id"] or row_id(row["key"], row["block"], row["kind"] or "search", sentinel)
    return row
