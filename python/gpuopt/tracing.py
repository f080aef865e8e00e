"""Where the time of calls goes: ``with gpuopt.trace() as t:``, or the environment variable GPUOPT_TRACE."""

from __future__ import annotations

import atexit
import functools
import html
import json
import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from gpuopt import _core
from gpuopt.remarks import remark
from gpuopt.signals import let_through, suppressing

Function = TypeVar("Function", bound=Callable[..., Any])

PARTS = ("checks", "records", "plan", "build", "allocation", "upload", "kernels", "download")
MOST_SPANS = 1_000_000  # that the core notes, and that are noted here
_CUT = f"later calls are left out: {MOST_SPANS:,} steps were noted"
_CALL = "call"  # the kind of a span that is a public function's

TRACING: list[trace] = []  # those that are open; empty: nothing is noted
_noted: list[Span] = []
_lock = threading.Lock()
clock = time.perf_counter_ns  # the clock of the core's spans


@dataclass(frozen=True)
class Span:
    """A step of a call: its name, when it began and how long it took in microseconds, and the operating system's number
    of its thread. ``call`` says that it is a public function, others are one of the parts of the table."""

    name: str
    begin_us: float
    took_us: float
    thread: int
    call: bool = False

    @property
    def end_us(self) -> float:
        return self.begin_us + self.took_us


def note(name: str, begin_ns: int, kind: str = _CALL) -> None:
    """Notes that a step of this name, which began then, ends now."""
    span = Span(name, begin_ns / 1e3, (clock() - begin_ns) / 1e3, threading.get_native_id(), kind == _CALL)
    with _lock:
        if len(_noted) < MOST_SPANS:
            _noted.append(span)


def traced(part: str) -> Callable[[Function], Function]:
    """A function whose time is a part of its call's."""

    def decorated(function: Function) -> Function:
        @functools.wraps(function)
        def timed(*args: Any, **keywords: Any) -> Any:
            if not TRACING:
                return function(*args, **keywords)
            begin = clock()
            try:
                return function(*args, **keywords)
            finally:
                note(part, begin, part)

        return timed  # type: ignore[return-value]

    return decorated


class trace:
    """Notes where the time of the calls in its block goes.

    ``with gpuopt.trace() as t:`` notes the calls of all threads until the block ends; ``print(t)`` then shows, for each
    function that was called, how many calls there were and their time in ms: in checks (of arguments, and all else that
    Python does), records (which configuration is used), plan, build (of kernels), allocation, upload, kernels (waits
    for the device included) and download. Jupyter shows the same table. :meth:`save` writes a file that Chrome's and
    Perfetto's viewers read.

    With the environment variable GPUOPT_TRACE=1, the whole process is traced and the table printed to the standard
    error output at its end; with GPUOPT_TRACE=FILE.json, that file is written as well, a relative one in the working
    folder in which gpuopt was imported. When nothing is traced, a call costs one look at a list more. After a million
    steps in the core, some 300,000 small calls, nothing more is noted, and ``cut`` is true; the table says so.

    Examples
    --------
    >>> A, v = np.ones((3, 2), np.float32), np.ones(3, np.float32)
    >>> with gpuopt.trace() as t:
    ...     results = [gpuopt.tmv(A, v) for _ in range(2)]
    >>> next(row["calls"] for row in t.rows() if row["call"] == "tmv")
    2
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.cut = False

    def __enter__(self) -> trace:
        with _lock:
            if not TRACING:
                _noted.clear()
                _core.set_tracing(True)
            TRACING.append(self)
        self._begin_us = clock() / 1e3
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        core = [
            Span(name, begin / 1e3, (end - begin) / 1e3, thread) for name, begin, end, thread in _core.trace_spans()
        ]
        with _lock:
            if self not in TRACING:
                raise _core.ParameterError("trace: its block never began; use `with gpuopt.trace() as t:`")
            full = [list(some) for some in (_noted, core) if len(some) >= MOST_SPANS]
            all_of_them = [*_noted, *core]
            TRACING.remove(self)
            if not TRACING:
                _core.set_tracing(False)
                _noted.clear()
        ends = [max(span.end_us for span in some) for some in full]
        self.cut, end_us = bool(full), min(ends, default=math.inf)
        self.spans = sorted(
            (span for span in all_of_them if self._begin_us <= span.begin_us and span.end_us <= end_us),
            key=lambda span: (span.begin_us, -span.took_us),
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each function that was called: its name (``call``), how many calls there were (``calls``), and the
        time in ms, of all (``total_ms``) and of each part (``checks_ms`` and so on)."""
        return _rows(self.spans)

    def _cells(self) -> list[list[str]]:
        head = ["call", "calls", "ms", *PARTS]
        body = []
        for row in self.rows():
            parts = (row[f"{part}_ms"] for part in PARTS)
            body.append(
                [row["call"], str(row["calls"]), f"{row['total_ms']:.3f}", *(f"{x:.3f}" if x else "" for x in parts)]
            )
        return [head, *body]

    def __repr__(self) -> str:
        if not self.spans:
            return "<gpuopt.trace: no call was traced>"
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(
                f"{cell:>{width}}" if i else f"{cell:<{width}}"
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return "\n".join([*lines, _CUT] if self.cut else lines)

    def _repr_html_(self) -> str:
        head, *body = ([html.escape(cell) for cell in row] for row in self._cells())
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        names = "".join(f"<th>{cell}</th>" for cell in head)
        told = f"<p>{_CUT}</p>" if self.cut else ""
        return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{told}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the spans in Chrome's trace format (JSON, times in us) and returns the file's path. Raises WriteError,
        and ParameterError for what is no path."""
        from gpuopt import files

        try:
            target = Path(os.fspath(path))
        except Exception as error:  # an object's own __fspath__ may raise anything
            let_through(error)
            raise _core.ParameterError(f"path: it is a {type(path).__name__}; name a file") from error
        events = [
            {
                "name": span.name,
                "ph": "X",
                "ts": span.begin_us,
                "dur": span.took_us,
                "pid": os.getpid(),
                "tid": span.thread,
            }
            for span in self.spans
        ]
        content = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
        files.write(target, [content.encode()])
        return target


def _rows(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """What each outermost call took, by function; a span's own time is without the spans within it."""
    totals: dict[str, dict[str, Any]] = {}
    by_thread: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        by_thread[span.thread].append(span)
    for own in by_thread.values():
        open_spans: list[Span] = []
        for span in own:
            while open_spans and span.begin_us >= open_spans[-1].begin_us + open_spans[-1].took_us:
                open_spans.pop()
            outer = open_spans[0] if open_spans else span
            row = totals.setdefault(
                outer.name if outer.call else "(no call)",
                {"call": outer.name if outer.call else "(no call)", "calls": 0, "total_ms": 0.0}
                | {f"{part}_ms": 0.0 for part in PARTS},
            )
            if not open_spans:
                row["calls"] += 1
                row["total_ms"] += span.took_us / 1e3
            else:
                row[_part(open_spans[-1])] -= span.took_us / 1e3
            row[_part(span)] += span.took_us / 1e3
            open_spans.append(span)
    return sorted(totals.values(), key=lambda row: -row["total_ms"])


def _part(span: Span) -> str:
    return f"{span.name if span.name in PARTS and not span.call else 'checks'}_ms"


def _trace_process(wanted: str) -> None:
    whole, process = trace(), os.getpid()
    with suppressing(OSError):  # of a working folder that was removed
        wanted = os.path.join(os.getcwd(), wanted)  # the program may go elsewhere
    whole.__enter__()

    def told() -> None:
        if os.getpid() != process:  # a forked child's
            return
        whole.__exit__(None, None, None)
        remark(str(whole))
        if wanted.endswith(".json"):
            try:
                whole.save(wanted)
            except _core.Error as error:  # nobody is left to catch it
                remark(f"gpuopt: GPUOPT_TRACE: {error}")

    atexit.register(told)


if (_wanted := os.environ.get("GPUOPT_TRACE", "").strip()) and _wanted != "0":
    _trace_process(_wanted)
