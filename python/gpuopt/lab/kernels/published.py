"""Tuning results of other tools, in and out: Kernel Tuner's caches and T4.

Formats as of Kernel Tuner 1.4 and T4 1.0.0. Files are only read, never changed."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.files import write
from gpuopt.lab.kernels.space import Level
from gpuopt.lab.kernels.strategies import Grid
from gpuopt.signals import let_through

MOST_BYTES = 2**30
DEFLATE = 1032  # bytes that one of gzip holds at most
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_KERNEL_TUNER = {
    "InvalidConfig": "constraints",
    "CompilationFailedConfig": "compile",
    "RuntimeFailedConfig": "runtime",
}
_T4 = {
    "constraints": "constraints",
    "compile": "compile",
    "runtime": "runtime",
    "timeout": "timeout",
    "correctness": "wrong",
}
_UNITS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (6e4, ("min", "minute", "minutes")),
    (1e3, ("s", "sec", "second", "seconds")),
    (1.0, ("ms", "msec", "millisecond", "milliseconds")),
    (1e-3, ("us", "\u00b5s", "\u03bcs", "usec", "microsecond", "microseconds")),  # the micro sign, and the Greek letter
    (1e-6, ("ns", "nsec", "nanosecond", "nanoseconds")),
)
_IN_MS = {spelling: ms for ms, spellings in _UNITS for spelling in spellings}
_TO_T4 = {
    "ok": "correct",
    "constraints": "constraints",
    "unsupported": "constraints",
    "compile": "compile",
    "runtime": "runtime",
    "crash": "runtime",
    "timeout": "timeout",
    "wrong": "correctness",
}
_TO_KERNEL_TUNER = {
    "constraints": "InvalidConfig",
    "unsupported": "InvalidConfig",
    "compile": "CompilationFailedConfig",
}
_ENTRIES = ("time", "times", "__error__")  # of a configuration, beside its levels


@checked
@dataclass(frozen=True)
class Result:
    """One configuration: its levels, the time in ms (None where it did not run) and why not. Raises ParameterError for
    fields of another type, and for times that are none."""

    levels: Mapping[str, Level]
    ms: float | None
    status: str = "ok"
    samples: Sequence[float] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        for name, times in (("ms", () if self.ms is None else (self.ms,)), ("samples", self.samples)):
            if not all(math.isfinite(time) and time > 0 for time in times):
                raise ParameterError(f"{name}: {list(times)} are no times; give finite ones above 0, or None for ms")


@checked
@dataclass(frozen=True)
class Results:
    """The results of a tuning, with the device and kernel that the file names: what :func:`read_results` returns, and
    ``results`` of a :func:`search`. Times are in ms. Each result has a level of each of ``names``, and no other. Raises
    ParameterError for fields of another type, and for a result with other levels.

    Examples
    --------
    >>> from gpuopt.lab.kernels.published import Result
    >>> runs = (Result({"WIDTH": 1}, 2.0), Result({"WIDTH": 4}, None, "compile"))
    >>> grid, times = lab.Results("A device", "saxpy", ("WIDTH",), runs).table()
    >>> grid.points, times
    (((1,), (4,)), [2.0, inf])
    """

    device: str
    kernel: str
    names: Sequence[str]
    results: Sequence[Result]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "results", tuple(self.results))
        for place, one in enumerate(self.results):
            if not isinstance(one, Result):
                raise ParameterError(f"results: number {place} is a {type(one).__name__}; give a Result")
            if one.levels.keys() != set(self.names):
                raise ParameterError(
                    f"results: number {place} has levels of {_listed(one.levels)}; give those of {_listed(self.names)}"
                )

    def table(self) -> tuple[Grid, list[float]]:
        """What a search can be tried on: the configurations and their times, infinite where one did not run."""
        points = tuple(tuple(one.levels[name] for name in self.names) for one in self.results)
        return Grid(tuple(self.names), points), [math.inf if one.ms is None else one.ms for one in self.results]


@checked
def read_results(path: str | Path) -> Results:
    """Reads a cache of Kernel Tuner (also one that is still open) or results in T4, gzipped or not.

    The time of a T4 result is its measurement ``time``, else the first of its objectives in a unit of time, else its
    only measurement if that is in one. Minutes, s, us and ns become ms; a ``time`` without a unit is in ms.
    Levels are whole numbers and texts: True and False become 1 and 0, "4" becomes 4 (but "04" stays), 0.5 "0.5", None
    "None". Raises ParameterError, which names the file and what is wrong: also a result that ran and has no time, and a
    time in any other unit.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = '{"results": [{"configuration": {"WIDTH": 4}, "measurements": [{"name": "time", "value": 0.5}]}]}'
    >>> _ = Path("t4.json").write_text(text)
    >>> lab.read_results("t4.json").results[0].ms
    0.5
    """
    found = json_of(Path(path))
    try:
        if "cache" in found:
            return _kernel_tuner(found)
        if "results" in found:
            return _t4(found)
    except _UnknownTimeError as error:
        raise ParameterError(f"path: {path} cannot be read: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ParameterError(f"path: {path} is damaged ({type(error).__name__}: {error})") from error
    raise ParameterError(f"path: {path} holds neither a cache of Kernel Tuner nor results in T4")


def json_of(path: Path) -> dict[str, Any]:
    """The JSON object in a file, gzipped or not, also one whose last brackets are not written yet. Raises
    ParameterError, which names the file."""
    try:
        if not path.is_file():
            raise ParameterError(f"path: {path} is no file")
        if path.stat().st_size > MOST_BYTES:
            raise ParameterError(f"path: {path} is larger than {MOST_BYTES:,} bytes")
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            with gzip.open(path) as file:
                data = file.read(min(MOST_BYTES, DEFLATE * len(data)) + 1)
        if len(data) > MOST_BYTES:
            raise ParameterError(f"path: {path} is larger than {MOST_BYTES:,} bytes")
        text = data.decode("utf-8-sig").rstrip()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        let_through(error)
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"path: {path} cannot be read ({error})") from error
    for ending in ("", "}}", "}\n}"):
        try:
            found = json.loads((text.rstrip(",") if ending else text) + ending)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
        break
    raise ParameterError(f"path: {path} is no JSON object")


def _kernel_tuner(found: Mapping[str, Any]) -> Results:
    names = tuple(map(str, found["tune_params_keys"]))
    results = []
    for entry in found["cache"].values():
        levels = {name: _level(entry[name]) for name in names}
        broken = entry.get("__error__", entry["time"] if isinstance(entry.get("time"), str) else None)
        if broken is not None:
            results.append(Result(levels, None, _KERNEL_TUNER.get(broken, "runtime")))
        else:
            results.append(Result(levels, _positive(entry["time"]), "ok", tuple(map(float, entry.get("times", ())))))
    facts = {name: found[name] for name in ("problem_size", "objective", "schema_version") if name in found}
    return Results(str(found["device_name"]), str(found["kernel_name"]), names, tuple(results), facts)


def _t4(found: Mapping[str, Any]) -> Results:
    unit = found.get("metadata", {}).get("timeunit", "")  # of KTT, whose measurements of time have none
    results = []
    for entry in found["results"]:
        levels = {str(name): _level(value) for name, value in entry["configuration"].items()}
        why = entry.get("invalidity", "correct")
        if why != "correct":
            results.append(Result(levels, None, _T4.get(why, "runtime")))
            continue
        one = _time_of(entry)
        measured = one.get("unit") or unit
        ms = _positive(_positive(one["value"]) * _in_ms(measured))
        runs = tuple(float(run) * _in_ms(unit or measured) for run in entry.get("times", {}).get("runtimes", ()))
        results.append(Result(levels, ms, "ok", runs))
    if not results:
        raise ValueError("it has no results")
    if any(one.levels.keys() != results[0].levels.keys() for one in results):
        raise ValueError("its configurations have different parameters")
    facts = {name: found[name] for name in ("schema_version", "metadata") if name in found}
    return Results("", "", tuple(results[0].levels), tuple(results), facts)


class _UnknownTimeError(Exception):
    """A whole file, whose times cannot be told."""


def _time_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The measurement of a T4 result that is its time. Tuners may have had other aims, such as GFLOP/s or joules, and
    note other times too, such as that of the build."""
    measured = {one["name"]: one for one in entry["measurements"]}
    if "time" in measured:
        return measured["time"]  # type: ignore[no-any-return]
    aims = [measured[name] for name in entry.get("objectives") or () if name in measured]
    for one in aims or (list(measured.values()) if len(measured) == 1 else []):
        if _spelling(one.get("unit")) in _IN_MS:
            return one  # type: ignore[no-any-return]
    told = ", ".join(ascii(name)[:40] for name in list(measured)[:5]) or "nothing"
    raise _UnknownTimeError(f"a result measures {told}, and no time; measure `time`, in ms")


def _spelling(unit: Any) -> str:
    return str(unit or "").strip().lower()


def _in_ms(unit: Any) -> float:
    if not _spelling(unit):
        return 1.0
    if _spelling(unit) not in _IN_MS:
        raise _UnknownTimeError(f"a time is in {ascii(unit)[:40]}, which is no unit of time known here; give ms")
    return _IN_MS[_spelling(unit)]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _level(value: Any) -> Level:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):  # KTT writes all levels as texts
        return int(value) if _WHOLE.fullmatch(value) and str(int(value)) == value else value
    return value if isinstance(value, int) else repr(value)


def _written(level: Level) -> Level | float:
    """A level as files have it: texts that are how Python writes a finite fraction came from one."""
    try:
        number = float(level) if isinstance(level, str) else math.nan
    except ValueError:
        return level
    return number if math.isfinite(number) and repr(number) == level else level


def _positive(value: Any) -> float:
    found = float(value)
    if isinstance(value, bool) or not 0 < found < math.inf:
        raise ValueError(f"{value} is no time")
    return found


@checked
def write_kernel_tuner(results: Results, path: str | Path) -> None:
    """Writes a cache that Kernel Tuner resumes from and simulates with. Raises ParameterError for parameters that are
    named as what a cache says of a measurement, for two results whose levels are written alike and for facts that JSON
    does not hold, and WriteError.
    Levels such as 0.5 are written as numbers; for True and None stands what :func:`read_results` made of them. A cache
    has no words for ``crash``, ``timeout`` and ``wrong``, which become ``runtime``, nor for ``unsupported``, which
    becomes ``constraints``.

    Examples
    --------
    >>> from gpuopt.lab.kernels.published import Result
    >>> run = Result({"block_size_x": 64}, 0.25)
    >>> lab.write_kernel_tuner(lab.Results("A device", "saxpy", ("block_size_x",), (run,)), "cache.json")
    >>> lab.read_results("cache.json").device
    'A device'
    """
    if taken := [name for name in results.names if name in _ENTRIES]:
        raise ParameterError(
            f"results: {taken[0]!r} is what a cache of Kernel Tuner calls a measurement; name the parameter otherwise, "
            "or use lab.write_t4"
        )
    entries: dict[str, dict[str, Any]] = {}
    for one in results.results:
        key = ",".join(str(one.levels[name]) for name in results.names)
        if key in entries:
            raise ParameterError(
                f"results: two of them have the levels {key}, as a cache of Kernel Tuner writes them; give each once, "
                "or use lab.write_t4"
            )
        entry: dict[str, Any] = {name: _written(level) for name, level in one.levels.items()}
        if one.ms is None:
            entry |= {"__error__": _TO_KERNEL_TUNER.get(one.status, "RuntimeFailedConfig")}
        else:
            entry |= {"time": one.ms, "times": list(one.samples) or [one.ms]}
        entries[key] = entry
    whole = {
        "device_name": results.device,
        "kernel_name": results.kernel,
        "problem_size": results.facts.get("problem_size", "callable"),
        "tune_params_keys": list(results.names),
        "tune_params": {name: _distinct(results, name) for name in results.names},
        "objective": "time",
        **{name: value for name, value in results.facts.items() if name.startswith("gpuopt_")},
        "cache": entries,
    }
    try:
        text = json.dumps(whole, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"results: its facts cannot be written as JSON ({error}); give numbers, texts and lists"
        ) from error
    write(path, [text.encode()])


@checked
def write_t4(results: Results, path: str | Path) -> None:
    """Writes results in T4 1.0.0, times in ms; it has no place for the device and the kernel. Levels are written as by
    :func:`write_kernel_tuner`; ``crash`` becomes ``runtime``, and ``unsupported`` ``constraints``, for which T4 has no
    words. Raises ParameterError where there are no results, and WriteError.

    Examples
    --------
    >>> from gpuopt.lab.kernels.published import Result
    >>> lab.write_t4(lab.Results("A device", "saxpy", ("WIDTH",), (Result({"WIDTH": 4}, None, "compile"),)), "t4.json")
    >>> lab.read_results("t4.json").results
    (Result(levels={'WIDTH': 4}, ms=None, status='compile', samples=(), reason=''),)
    """
    if not results.results:
        raise ParameterError("results: there are none, and a file in T4 is of at least one")
    listed = []
    for one in results.results:
        entry: dict[str, Any] = {
            "configuration": {name: _written(level) for name, level in one.levels.items()},
            "invalidity": _TO_T4.get(one.status, "runtime"),
            "correctness": int(one.status == "ok"),
            "times": {"runtimes": list(one.samples)},
            "objectives": ["time"],
            "measurements": [] if one.ms is None else [{"name": "time", "value": one.ms, "unit": "ms"}],
        }
        listed.append(entry)
    write(path, [json.dumps({"schema_version": "1.0.0", "results": listed}, indent=1).encode()])


def _distinct(results: Results, name: str) -> list[Level | float]:
    return list(map(_written, dict.fromkeys(one.levels[name] for one in results.results)))


def of_rows(rows: Sequence[Mapping[str, Any]], variant: str) -> Results:
    """The results of a kernel in a study's rows: of each configuration its summary, else what a search found."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        wanted = row["variant"] == variant and row["role"] == "variant" and row["kind"] in ("search", "summary")
        if wanted and (row["configuration"] not in best or row["kind"] == "summary"):
            best[str(row["configuration"])] = row
    if not best:
        raise ParameterError(f"variant: the study has no rows of {variant!r}")
    found = tuple(
        Result(
            dict(row["params"] or {}),
            row["median_ms"] if row["status"] == "ok" else None,
            row["status"],
            (),
            row["reason"] or "",
        )
        for row in best.values()
    )
    first = next(iter(best.values()))
    facts = {"gpuopt_driver": first["driver"], "gpuopt_version": first["gpuopt_version"], "gpuopt_unit": first["unit"]}
    return Results(str(first["device"]), variant, tuple(found[0].levels), found, facts)
