"""Hostile calls of everything public, found by inspection: ``python -m tests.hostile.calls --seconds 60 --seed 1``.

Workers, each a process with a time limit and a limit of memory, call public functions, classes, methods and commands
with good arguments of which some are replaced by hostile ones. Each call must answer rightly or raise a typed error:
one of ``gpuopt.Error`` that names an argument, or OSError where a file is at fault. The last line is the outcome as
JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hostile.call_targets import Target, call_of, targets
from hostile.limits import limit_memory

TIME_LIMIT_S = 60.0
INTERRUPT_S = 8.0  # a measurement that has been accepted is stopped as by Ctrl-C
MEMORY_BYTES = 8 << 30  # beyond what a process with a device in use has
ABSTRACT = NotImplementedError  # what an interface's method says where it is not made


# ---------------------------------------------------------------- judging one


def command(words: list[str]) -> str:
    """Runs the command line on these words; an exit code that it documents is an answer. Where a call before it was
    stopped, the device may still work: a command of its own process would end that at once, which would end ours."""
    from gpuopt.cli import main

    try:
        with mock.patch("gpuopt.interrupts.leave"):
            main(words)
    except SystemExit as end:
        if end.code in (0, 1, 2, 130, None):
            return f"exit {end.code}"
        raise RuntimeError(f"exit code {end.code}") from end
    return "exit 0"


def judged(expression: str, target: Target) -> dict[str, str]:
    """What became of a call: ``answered``, ``refused_typed``, ``untyped`` or ``wrong``, and what it said."""
    import numpy as np

    import gpuopt
    from hostile import call_values, oracles

    names = {name: getattr(call_values, name) for name in call_values.__all__} | {"command": command}
    try:
        taken = eval(captured(expression), names)
    except Exception as error:
        return {"kind": "unmade", "said": repr(error)[:300]}
    function, positional, keywords = taken
    if issubclass(type(keywords.get("callback")), type):
        return {"kind": "unmade", "said": "what a class makes of the call is the class's own"}
    before = {key: array.tobytes() for key, array in plain_arrays(keywords)}
    gpuopt.use(gpuopt.devices()[0] if DEVICE is None else DEVICE)
    signal.alarm(int(INTERRUPT_S))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = function(*positional, **keywords)
    except Exception as error:
        signal.alarm(0)
        return refusal(error, target)
    except KeyboardInterrupt:
        return {"kind": "answered", "said": "stopped"}
    finally:
        signal.alarm(0)
    changed = [key for key, array in plain_arrays(keywords) if array.tobytes() != before[key]]
    if changed:
        return {"kind": "wrong", "said": f"changed {', '.join(changed)}"}
    if isinstance(answer, str) and answer == "exit 2":  # of the command line
        return {"kind": "refused_typed", "said": answer}
    fault = oracles.fault(target.name, keywords, answer)
    return {"kind": "wrong", "said": fault} if fault else {"kind": "answered", "said": type(answer).__name__}


DEVICE: str | None = None


def captured(expression: str) -> str:
    """The call's parts instead of the call: arguments that cannot be made are no fault of what is called."""
    head, _, tail = expression.partition("(") if expression.startswith("command") else split_call(expression)
    return f"(lambda function: (lambda *a, **k: (function, a, k)))({head})({tail}"


def split_call(expression: str) -> tuple[str, str, str]:
    depth = 0
    for i in range(len(expression) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(expression[i], 0)
        if depth == 0:
            return expression[:i], "(", expression[i + 1 :]
    raise ValueError(expression)


def plain_arrays(keywords: dict[str, Any]) -> list[tuple[str, Any]]:
    import numpy as np

    return [
        (key, value)
        for key, value in keywords.items()
        if type(value) is np.ndarray and value.nbytes < 1 << 20 and key != "out" and not value.dtype.hasobject
    ]


def refusal(error: Exception, target: Target) -> dict[str, str]:
    import gpuopt

    said = f"{type(error).__name__}: {str(error)[:200]}"
    if isinstance(error, gpuopt.ParameterError | gpuopt.ArrayError):
        named = bool(getattr(error, "argument", ""))
        return {"kind": "refused_typed", "said": said} if named else {"kind": "untyped", "said": f"names none: {said}"}
    if isinstance(error, (gpuopt.Error, ABSTRACT)) or (isinstance(error, OSError) and error.errno is not None):
        return {"kind": "refused_typed", "said": said}
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-3:]))
    return {"kind": "untyped", "said": f"{said} [{where}]"}


# ---------------------------------------------------------------- the worker


def numbered(seed: int, number: int, only: str) -> tuple[Target, str]:
    """The call of this number: the same for the same seed and the same public API."""
    all_targets = [one for one in TARGETS or TARGETS.extend(targets()) or TARGETS if only in one.name]
    choice = random.Random(f"{seed} {number}")
    target = all_targets[number % len(all_targets)] if number < len(all_targets) else choice.choice(all_targets)
    while not target.parameters:
        target = choice.choice(all_targets)
    return target, call_of(target, choice)[0]


TARGETS: list[Target] = []


def work(seed: int, first: int, only: str) -> None:
    """Judges one call after the other, each told before and after on stdout."""
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    limit_memory(MEMORY_BYTES, DEVICE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    make_measurements_brief()
    number = first
    while True:
        target, expression = numbered(seed, number, only)
        reports.write(json.dumps({"number": number, "call": expression, "target": target.name}) + "\n")
        reports.write(json.dumps({"number": number, **judged(expression, target)}) + "\n")
        number += 1


def make_measurements_brief() -> None:
    import dataclasses

    from gpuopt.lab.timing.protocol import PROTOCOLS

    for name, one in PROTOCOLS.items():
        PROTOCOLS[name] = dataclasses.replace(one, warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)


# ---------------------------------------------------------------- the parent


class Worker:
    """A worker process in a folder of its own, and the lines that it tells."""

    def __init__(self, seed: int, first: int, only: str, device: str | None) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="hostile-")
        home = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME"), self.folder.name)
        arguments = ["--worker", "--seed", str(seed), "--first", str(first), "--only", only]
        arguments += ["--device", device] if device is not None else []
        self.errors = open(Path(self.folder.name) / "stderr.txt", "w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), *arguments],
            cwd=self.folder.name,
            env={**os.environ, **home, **paths(), "MPLBACKEND": "Agg"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.ended = False
        self.selector = selectors.DefaultSelector()
        assert self.process.stdout
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def line(self, timeout: float) -> dict[str, Any] | None:
        """The next line; None where none comes in time, an empty one where the process ended."""
        assert self.process.stdout
        if not self.selector.select(timeout):
            return None
        text = self.process.stdout.readline()
        self.ended = not text.endswith(b"\n")
        return json.loads(text) if text.endswith(b"\n") else {}

    def end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.5 if self.ended else 0)
        self.process.kill()
        code = self.process.wait()
        self.errors.seek(0)
        last = [line.strip() for line in self.errors.read().splitlines() if line.strip()][-1:]
        self.errors.close()
        assert self.process.stdout
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.folder.cleanup()
        return f"exit {code} {' '.join(last)[:200]}"


def paths() -> dict[str, str]:
    """Of the worker, which has another working directory and another home: gpuopt, and a cache of its own."""
    import gpuopt
    from gpuopt import _core

    package = str(Path(gpuopt.__file__).resolve().parents[1])
    python_path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    cache = Path(_core.cache_dir()) / "hostile"
    cache.mkdir(parents=True, exist_ok=True)
    return {"PYTHONPATH": python_path, "GPUOPT_CACHE_DIR": str(cache), "POCL_CACHE_DIR": str(cache / "pocl")}


def attack(seconds: float, seed: int, device: str | None, only: str = "", most: int = 10**9) -> dict[str, Any]:
    """Calls for so long, or so many; a worker that dies or hangs is counted, and the next goes on after it."""
    outcome: dict[str, Any] = {"stage": "calls", "device": device, "tried": 0, "refused_typed": 0, "answered": 0}
    outcome |= {"unmade": 0, "crashes": [], "hangs": [], "untyped": [], "wrong": []}
    end, number = time.monotonic() + seconds, 0
    started = False  # the time begins when the first worker is ready: it builds kernels, and imports a lot
    while time.monotonic() < end and number < most:
        worker = Worker(seed, number, only, device)
        told: dict[str, Any] = {}
        while time.monotonic() < end and number < most:
            line = worker.line(TIME_LIMIT_S if started else 4 * TIME_LIMIT_S)
            if not started:
                started, end = True, time.monotonic() + seconds
            if line and "call" in line:
                told = line
                continue
            tried = {"number": number, "call": told.get("call", "the worker's start"), "seed": seed}
            number += 1
            if line:
                outcome["tried"] += line["kind"] != "unmade"
                if isinstance(outcome[line["kind"]], int):
                    outcome[line["kind"]] += 1
                else:
                    outcome[line["kind"]].append({**tried, "said": line["said"]})
                continue
            outcome["tried"] += 1
            outcome["hangs" if line is None else "crashes"].append({**tried, "said": worker.end()})
            break
        else:
            worker.end()
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="as gpuopt.use takes it")
    parser.add_argument("--only", default="", help="targets whose names contain this")
    parser.add_argument("--most", type=int, default=10**9, help="at most so many calls")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        global DEVICE
        DEVICE = given.device
        work(given.seed, given.first, given.only)
    outcome = attack(given.seconds, given.seed, given.device, given.only, given.most)
    found = [kind for kind in ("crashes", "hangs", "untyped", "wrong") if outcome[kind]]
    for kind in found:
        for one in outcome[kind]:
            print(f"{kind}: {one['call']}\n    {one['said']}")
    print(
        ", ".join(
            f"{value if isinstance(value, int) else len(value)} {key}"
            for key, value in outcome.items()
            if key not in ("stage", "device")
        )
    )
    print(json.dumps(outcome))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
