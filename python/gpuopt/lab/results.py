"""Result rows: their schema, their keys, and the file of JSON lines that survives crashes, full disks and two writers.

A row is a flat dict with every field of ``FIELDS``; what does not apply is None, and left out of the file. Units stand
in the names.
"""

from __future__ import annotations

import datetime
import difflib
import errno
import fcntl
import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpuopt
from gpuopt import Error

if TYPE_CHECKING:
    import pandas

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


@dataclass(frozen=True)
class Damage:
    """Something in a results file that was passed over: ``line`` counts from 1, 0 means the file as a whole."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


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
    row["gpuopt_version"] = row["gpuopt_version"] or getattr(gpuopt, "__version__", None)
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
    return _identify(row)


def _identify(row: Row) -> Row:
    row["flags"] = row["flags"] or []
    if row["key"] is None:
        row["key"] = (row["kind"] == "environment" and row["env_hash"]) or _hash_fields(row, KEY_FIELDS)
    row["comparison_key"] = row["comparison_key"] or _hash_fields(row, COMPARISON_FIELDS)
    sentinel = row["order"] if row["role"] == "sentinel" else None
    row["row_id"] = row["row_id"] or row_id(row["key"], row["block"], row["kind"] or "search", sentinel)
    return row


def _parse(line: bytes, path: Path) -> Row:
    """The row of one line; ValueError says why it is none, ResultsError that this gpuopt is too old for it."""
    try:
        row = json.loads(line, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise ValueError("no valid JSON") from None
    schema = row.get("schema") if isinstance(row, dict) else None
    if type(schema) is not int or schema < 1:
        raise ValueError("no result row (a JSON object with a schema number)")
    if schema > SCHEMA:
        raise ResultsError(f"{path} has rows of schema {schema}, newer than {SCHEMA}: upgrade gpuopt to read them")
    return _identify(dict.fromkeys(FIELDS) | row)


_TORN = "unfinished last line, dropped at the next write"


class Store:
    """A results file, one JSON row a line. Reading never changes it; each append is one locked, synced write.

    ``problems`` names every line passed over (kept in the file, except an unfinished last line, which the next append
    drops). ``unsaved`` holds the rows that could not be written; each append, and ``flush``, tries them again first.
    Threads and processes may append to one file; rows of other processes are seen after ``reload``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self.unsaved: list[Row] = []
        self.problems: list[Damage] = []
        self._rows: list[Row] = []
        self._latest: dict[str, Row] = {}
        self._mutex = threading.RLock()
        self.reload()

    def reload(self) -> None:
        """Reads the file again. Raises ResultsError if it cannot be read or a newer gpuopt wrote it."""
        rows: list[Row] = []
        problems: list[Damage] = []
        with self._mutex:
            try:
                # A device such as /dev/null or /dev/full takes rows but has none, and may never end.
                sink = self.path.is_char_device() or self.path.is_fifo()
                with open(os.devnull if sink else self.path, "rb") as file:
                    for number, line in enumerate(file, 1):
                        if not line.strip():
                            continue
                        try:
                            rows.append(_parse(line, self.path))
                        except ValueError as error:
                            torn = not line.endswith(b"\n")
                            problems.append(Damage(self.path, number, _TORN if torn else str(error)))
            except FileNotFoundError:
                pass
            except OSError as error:
                raise ResultsError(f"cannot read {self.path}: {error.strerror}") from error
            self._rows, self.problems = rows + self.unsaved, problems
            self._latest = {row["row_id"]: row for row in self._rows}

    def rows(self) -> list[Row]:
        """All rows in the order written, unsaved ones last, replaced ones included."""
        with self._mutex:
            return list(self._rows)

    def latest(self) -> list[Row]:
        """One row for each row id, the last written, in the order in which the ids first appeared."""
        with self._mutex:
            return list(self._latest.values())

    def done(self, key: str, block: int | None = None, *, kind: str = "search") -> bool:
        """Whether there is a row of (key, block), or of (key, kind)."""
        return row_id(key, block, kind) in self._latest

    def append(self, row: Mapping[str, Any]) -> Row:
        """Validates a row (as ``new_row``), keeps it in memory and writes it; returns the row as stored.

        Raises ResultsError for an invalid row (nothing is kept) and where the file cannot take it (the row is kept in
        ``unsaved``, the file is left as it was).
        """
        complete = new_row(**row)
        with self._mutex:
            self._rows.append(complete)
            self._latest[complete["row_id"]] = complete
            self.unsaved.append(complete)
            self.flush()
        return complete

    def flush(self) -> None:
        """Writes the unsaved rows, oldest first; raises ResultsError at the first that the file does not take."""
        with self._mutex:
            while self.unsaved:
                there = {field: value for field, value in self.unsaved[0].items() if value is not None}
                line = json.dumps(there, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
                try:
                    self._write(line)
                except OSError as error:
                    raise ResultsError(
                        f"cannot write a row of {len(line)} bytes to {self.path}: {error.strerror}. Free some space or "
                        f"give another path. Rows kept in memory (Store.unsaved): {len(self.unsaved)}; the next append "
                        "or flush() writes them"
                    ) from error
                del self.unsaved[0]  # last: an interrupt before it writes the row twice, which is harmless

    def _write(self, line: bytes) -> None:
        with self._locked() as fd:
            start = self._mend(fd)
            try:
                written = os.write(fd, line)
                if written < len(line):
                    raise OSError(errno.ENOSPC, f"only {written} bytes fitted (disk full, quota or file size limit)")
                _sync(fd)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(fd, start)
                raise

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
            except OSError as error:  # some cluster file systems have no locks: one writer is still safe
                if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
                    raise
                self._note("the file system has no locks: let one process write at a time")
            yield fd
        finally:
            os.close(fd)
        if is_new:  # a file is found after a power cut only once its directory is synced too
            parent = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(OSError):
                os.fsync(parent)
            os.close(parent)

    def _mend(self, fd: int) -> int:
        """Ends the file on a whole line and returns its size: what a killed writer left half-done is cut off."""
        size = os.fstat(fd).st_size
        tail = os.pread(fd, min(size, 1 << 16), max(size - (1 << 16), 0))
        tail = tail if b"\n" in tail else os.pread(fd, size, 0)
        tail = tail[tail.rfind(b"\n") + 1 :]
        if not tail:
            return size
        try:
            _parse(tail, self.path)
        except ValueError:
            if not tail.startswith((b"{", b"\0")):  # neither half a row nor what a power cut leaves: not our file
                raise ResultsError(f"{self.path} ends in text, not in a row: give another path") from None
            os.ftruncate(fd, size - len(tail))
            self._note(_TORN)
            return size - len(tail)
        return size + os.write(fd, b"\n")

    def _note(self, reason: str) -> None:
        if not any(damage.reason == reason for damage in self.problems):
            self.problems.append(Damage(self.path, 0, reason))


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a pipe or a device has nothing to sync
            raise


def to_pandas(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """One line a row, environment rows left out; mappings become columns `params.SLICE`, `sizes.n`, `bytes.dram`.

    Sizes of work-groups become text ("64x4"), flags too ("drift bimodal"); ``samples_ms`` stays a list. Needs pandas.
    """
    try:
        import pandas
    except ImportError as error:
        raise ResultsError("to_pandas needs pandas: pip install 'gpuopt[lab]'") from error
    flat = []
    for row in (row for row in rows if row.get("kind") != "environment"):
        line: Row = {}
        for field, value in row.items():
            if isinstance(value, Mapping):
                line.update({f"{field}.{name}": item for name, item in value.items()})
            elif field in ("global_size", "local_size"):
                line[field] = None if value is None else "x".join(str(size) for size in value)
            elif field == "flags":
                line[field] = " ".join(value or [])
            elif field not in ("params", "sizes", "bytes", "environment"):
                line[field] = value
        flat.append(line)
    columns = list(dict.fromkeys(name for line in flat for name in line))
    place = {field: number for number, field in enumerate(FIELDS)}
    columns.sort(key=lambda name: place.get(name.split(".", 1)[0], len(place)))
    return pandas.DataFrame.from_records(flat, columns=columns)
