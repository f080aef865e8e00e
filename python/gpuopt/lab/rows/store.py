"""The file of result rows: JSON lines that survive crashes, full disks and two writers."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuopt import files
from gpuopt.checked import checked
from gpuopt.lab.rows import templates
from gpuopt.lab.rows.locks import locked, sync
from gpuopt.lab.rows.schema import (
    KEY_FIELDS,
    SCHEMA,
    ResultsError,
    Row,
    comparison_key,
    complete,
    identify,
    misfit,
    new_row,
    resume_key,
    row_id,
)
from gpuopt.lab.rows.templates import Fields, Templates
from gpuopt.signals import exists, let_through, make_folders, suppressing


@dataclass(frozen=True)
class Damage:
    """Something in a results file that was passed over: ``line`` counts from 1, 0 means the file as a whole."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        path = files.shown(self.path)
        return f"{path}:{self.line}: {self.reason}" if self.line else f"{path}: {self.reason}"


def no_templates() -> Templates:
    """For the lines of one file, which ``row_of`` reads in turn."""

    def derived(fields: Fields) -> Fields:
        whole = {field: fields.get(field) for field in KEY_FIELDS}
        return {"key": resume_key(whole), "comparison_key": comparison_key(whole)}

    return Templates(KEY_FIELDS, derived)


def parse_line(line: bytes, path: Path, known: Templates) -> Row | None:
    """The row of one line, None for a template; ValueError says why it is neither, ResultsError that this gpuopt is too
    old for it."""
    return row_of(json_of(line), path, known)


def json_of(line: bytes) -> Any:
    """What JSON's parser makes of a line of UTF-8, NaN and infinities as None. Raises ValueError."""
    try:
        return json.loads(line.decode("utf-8-sig", "surrogatepass"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise ValueError("no valid JSON") from None


def check_encoding(head: bytes, path: Path) -> None:
    """Raises ResultsError where a file that begins like this is UTF-16 or UTF-32: lines and bytes are not the same
    there."""
    wide = [f"utf-{bits}-{order}" for bits in (16, 32) for order in ("le", "be")]
    if head.startswith(tuple(sign.encode(each) for each in wide for sign in ("\N{BYTE ORDER MARK}", '{"'))):
        raise ResultsError(f"{path} is not UTF-8, but UTF-16 or UTF-32: write its text anew, as UTF-8")


def row_of(read: Any, path: Path | str, known: Templates) -> Row | None:
    """As ``parse_line``, of what JSON's parser made of the line; ``path`` is what errors call the whole."""
    row = read if isinstance(read, dict) else {}
    schema = row.get("schema")
    if type(schema) is int and schema > templates.SCHEMA:
        newest = templates.SCHEMA
        raise ResultsError(f"{path} has rows of schema {schema}, newer than {newest}: upgrade gpuopt to read them")
    if "shared" in row:
        known.define(row)
        return None
    row = known.expand(row) if "like" in row else row
    if type(row.get("schema")) is not int or row["schema"] != SCHEMA:
        raise ValueError("no result row (a JSON object with a schema number)")
    if (name := misfit(row)) is not None:
        raise ValueError(f"its {name} is of another type than rows have there")
    try:
        return identify(complete(row))
    except RecursionError:
        raise ValueError("nested too deeply") from None


SHARED = (
    "another run wrote rows there meanwhile: where both measured the same, their blocks stand mixed, and one's "
    "summaries do not follow from them; give each run a file of its own"
)
REMOVED = "it was removed, replaced or cut while rows were written to it; those that it lacks are written again"
_TORN = "unfinished last line, dropped at the next write"
_BEGINS = b'{"schema":'  # what each row that was ever written begins with, and a digit


def _begins_a_row(head: bytes) -> bool:
    """Whether a row begins like this, which may end before the row's first number does."""
    if len(head) <= len(_BEGINS):
        return _BEGINS.startswith(head)
    number = head[len(_BEGINS) :].lstrip()
    return head.startswith(_BEGINS) and (not number or number[:1].isdigit())


_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
_TAIL = 4096  # bytes by which a file is known again


@checked
class Store:
    """A results file, one JSON row a line. Reading never changes it; each append is one locked, synced write.

    ``problems`` names every line passed over (kept in the file, except an unfinished last line, which the next append
    drops). ``unsaved`` are the rows that could not be written; each append, and ``flush``, tries them again first. Rows
    that were appended together are in the file together, or not at all; those that a file lacks which is gone,
    or was replaced or cut meanwhile, are written again.
    ``compact`` says that rows extend templates, as `gpuopt compact` writes them: such a file takes no more rows, but of
    a store that was read before it became one. Nor does a file that holds something else and not one row: it is
    somebody's.
    Threads and processes may append to one file; rows of other processes are seen after ``reload``. Two runs that
    measure the same at once should not: their blocks mix, of which ``problems`` tells. Raises ResultsError for a file
    that cannot be read, is UTF-16 or UTF-32, or that a newer gpuopt wrote; where there is none, the first append makes
    it.

    Examples
    --------
    >>> row = lab.Store("rows.jsonl").append({"kind": "search", "status": "ok", "variant": "naive", "median_ms": 3.0})
    >>> [row["variant"] for row in lab.Store("rows.jsonl").latest()]
    ['naive']
    >>> store = lab.Store("rows.jsonl")
    >>> store.flush()  # what could not be written; here nothing is left
    >>> len(store.rows()), store.done(row["key"])
    (1, True)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.expanded(path)
        if files.leads_nowhere(self.path):
            raise ResultsError(f"cannot read {self.path}: {files.NO_WORKING_DIRECTORY}; {files.ELSEWHERE}")
        self.path = self.path.absolute()
        self.problems: list[Damage] = []
        self._mutex = threading.RLock()
        # The rows of the file as one append, and of each since then; and how many of these appends are in the file. An
        # interrupt may come between any two statements: one alone tells what was saved.
        self._log: tuple[list[Sequence[Row]], int] = [[]], 1
        self._latest: dict[str, Row] = {}
        self._indexed: tuple[list[Sequence[Row]], int] = [], 0  # of which appends, and how many, ``_latest`` is
        self._end: int | None = None  # where the last row written here ends
        self._mark = 0, b""  # where what was read or written last ends, and its last bytes
        # Lines whose writing began and is not known to have ended, and how many appends are in the file with them.
        self._begun: tuple[bytes, int] | None = None
        self.reload()

    @property
    def unsaved(self) -> list[Row]:
        """The rows that could not be written, in the order of their appends."""
        with self._mutex:
            appends, saved = self._log
            return [row for rows in appends[saved:] for row in rows]

    def reload(self) -> None:
        """Reads the file again. Raises ResultsError if it cannot be read, is not UTF-8, or a newer gpuopt wrote it."""
        rows: list[Row] = []
        problems: list[Damage] = []
        known = no_templates()
        head = b""
        with self._mutex:
            self._look_for_begun()
            self._mark = 0, b""
            try:
                # A device such as /dev/null or /dev/full takes rows but has none, and may never end.
                sink = self.path.is_char_device() or self.path.is_fifo()
                with open(os.devnull if sink else self.path, "rb") as file:
                    check_encoding(file.read(8), self.path)
                    file.seek(0)
                    lines = (line for chunk in file for line in chunk.splitlines(keepends=True))  # ends may be b"\\r"
                    for number, line in enumerate(lines, 1):
                        if not line.strip():
                            continue
                        head = head or line.lstrip(b"\0 \t")[: len(_BEGINS) + 2]
                        try:
                            row = parse_line(line, self.path, known)
                            rows += [row] if row is not None else []
                        except ValueError as error:
                            torn = not line.endswith((b"\n", b"\r"))
                            problems.append(Damage(self.path, number, _TORN if torn else str(error)))
                    end = file.tell()
                    file.seek(max(0, end - _TAIL))
                    self._mark = end, file.read(min(end, _TAIL))
            except OSError as error:
                let_through(error)
                if not isinstance(error, FileNotFoundError):
                    raise ResultsError(f"cannot read {self.path}: {error.strerror}") from error
            self._foreign = not rows and not known and not _begins_a_row(head)
            self.problems, self.compact = problems, bool(known)
            appends, saved = self._log
            self._log = [rows, *appends[saved:]], 1

    def rows(self) -> list[Row]:
        """All rows in the order written, unsaved ones last, replaced ones included."""
        with self._mutex:
            return [row for rows in self._log[0] for row in rows]

    def latest(self) -> list[Row]:
        """One row for each row id, the last written, in the order in which the ids first appeared."""
        with self._mutex:
            return list(self._by_id().values())

    def done(self, key: str, block: int | None = None, *, kind: str = "search") -> bool:
        """Whether there is a row of (key, block), or of (key, kind)."""
        with self._mutex:
            return row_id(key, block, kind) in self._by_id()

    def _by_id(self) -> dict[str, Row]:
        """The last row of each id, in the order in which the ids first appeared."""
        appends = self._log[0]
        if self._indexed[0] is not appends:
            self._latest = {}
            self._indexed = appends, 0
        for count in range(self._indexed[1], len(appends)):
            self._latest.update((row["row_id"], row) for row in appends[count])
            self._indexed = appends, count + 1
        return self._latest

    def check_takes_rows(self) -> None:
        """Raises ResultsError where the file is a compact one, whose blocks lack what a sweep would go on from, and
        where it holds something, and not one row."""
        if self._foreign:
            raise ResultsError(f"{self.path} holds something, but no rows: it is no results file; give another path")
        if self.compact:
            raise ResultsError(
                f"{self.path} holds compact rows, to read and not to go on from: give another path, or on the command "
                "line --fresh, which keeps the file under another name"
            )

    def append(self, row: Row) -> Row:
        """Validates a row (as ``new_row``, so that each row which is written is read again), keeps it in memory and
        writes it; returns the row as stored.

        Raises ResultsError for an invalid row (nothing is kept) and where the file cannot take it (the row is kept in
        ``unsaved``, the file is left as it was).
        """
        return self.append_all([row])[0]

    def append_all(self, rows: Sequence[Row]) -> list[Row]:
        """The same of several rows, which are written together: an interrupt leaves all of them or none, and so does a
        full disk. Raises ResultsError as ``append`` does."""
        self.check_takes_rows()
        for row in rows:
            if unknown := [name for name in row if not isinstance(name, str)]:
                raise ResultsError(f"row: a field is called {unknown[0]!r}; names are texts")
        complete = [new_row(**row) for row in rows]
        with self._mutex:
            self._log[0].append(complete)
            self.flush()
        return complete

    def flush(self) -> None:
        """Writes the unsaved rows together; where the file does not take them, those of one append after the other,
        oldest first. Raises ResultsError at the first that it does not take."""
        with self._mutex:
            self._look_for_begun()
            appends, saved = self._log
            if not self.unsaved:
                return
            try:
                self._write_up_to(len(appends))
            except ResultsError:
                if len(appends) == saved + 1:
                    raise
                for count in range(saved, len(appends)):
                    self._write_up_to(count + 1)

    def _write_up_to(self, count: int) -> None:
        """Writes those of the first ``count`` appends that are not in the file."""
        appends, saved = self._log
        rows = [row for together in appends[saved:count] for row in together]
        lines = b"".join(map(_line, rows))
        self._begun = lines, count
        try:
            self._write(lines)
        except OSError as error:
            let_through(error)
            raise ResultsError(
                f"cannot write {'a row' if len(rows) == 1 else f'{len(rows)} rows'} of {len(lines)} bytes to "
                f"{self.path}: {error.strerror}. Free some space or give another path. Rows kept in memory "
                f"(Store.unsaved): {len(self.unsaved)}; the next append or flush() writes them"
            ) from error
        self._log = appends, count  # after an interrupt before it, the next flush finds the rows in the file
        self._begun = None

    def _look_for_begun(self) -> None:
        """Rows whose writing an interrupt ended are saved if the file ends with them."""
        if self._begun is None:
            return
        lines, count = self._begun
        with suppressing(OSError), locked(self.path, _FLAGS) as file:  # the next write says why
            size = os.fstat(file.fileno()).st_size
            if size >= len(lines) and os.pread(file.fileno(), len(lines), size - len(lines)) == lines:
                self._end, self._mark = size, (size, lines[-_TAIL:])
                self._log = self._log[0], max(self._log[1], count)
        self._begun = None

    def _write(self, lines: bytes) -> None:
        make_folders(self.path.parent)
        is_new = not exists(self.path)
        with locked(self.path, _FLAGS) as file:
            if not file.has_locks:  # one writer is still safe
                self._note("the file system has no locks: let one process write at a time")
            fd = file.fileno()
            there = os.fstat(fd)
            if self._end is not None and there.st_size > self._end and stat.S_ISREG(there.st_mode):
                self._note(SHARED)
            start = self._mend(fd)
            end, tail = self._mark
            is_another = start == 0 or os.pread(fd, len(tail), end - len(tail)) != tail
            if is_another and stat.S_ISREG(there.st_mode):
                lines = self._gone(fd, start) + lines
            try:
                written = os.write(fd, lines)
                if written < len(lines):
                    raise OSError(errno.ENOSPC, f"only {written} bytes fitted (disk full, quota or file size limit)")
                sync(fd)
            except OSError:
                self._end = None
                with suppressing(OSError):
                    os.ftruncate(fd, start)
                raise
            self._end = start + len(lines)
            self._mark = self._end, lines[-_TAIL:]
        if is_new:  # a file is found after a power cut only once its directory is synced too
            files.sync_folder(self.path.parent)

    def _gone(self, fd: int, size: int) -> bytes:
        """The lines of rows that were in the file and are not in the one that is there now, which another writer may
        have made. In a compact one, rows have no times."""
        appends, saved = self._log
        known, latest = no_templates(), dict[str, str]()
        for line in _whole(fd, size).splitlines():
            with suppressing(ValueError):
                if line.strip() and (row := parse_line(line, self.path, known)) is not None:
                    latest[row["row_id"]] = max(row["time_utc"] or "", latest.get(row["row_id"], ""))
        before = [row for rows in appends[:saved] for row in rows]
        lacking = [  # of another writer a newer one stands
            r for r in before if (at := latest.get(r["row_id"])) is None or (not known and at < (r["time_utc"] or ""))
        ]
        if lacking:
            self._note(REMOVED)
        return b"".join(map(_line, lacking))

    def _mend(self, fd: int) -> int:
        """Ends the file on a whole line and returns its size: what a killed writer left half-done is cut off."""
        size = os.fstat(fd).st_size
        tail = os.pread(fd, min(size, 1 << 16), max(size - (1 << 16), 0))
        tail = tail if b"\n" in tail or b"\r" in tail else os.pread(fd, size, 0)
        tail = tail[max(tail.rfind(b"\n"), tail.rfind(b"\r")) + 1 :]
        if not tail:
            return size
        try:
            parse_line(tail, self.path, no_templates())
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


def _whole(fd: int, size: int) -> bytes:
    """The first ``size`` bytes of a file; one read gives 2 GiB at most."""
    parts, at = [], 0
    while at < size and (part := os.pread(fd, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _line(row: Row) -> bytes:
    there = {field: value for field, value in row.items() if value is not None}
    return json.dumps(there, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
