"""Eight threads that mix all operations on shared objects; each result is held against that of one thread.

python -m tests.hostile.threads --seconds T --seed S --device D
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .findings import Child, Findings, command, parser, say

STAGE = "threads"
KINDS = ("crashes", "hangs", "untyped", "wrong", "lost")
_THREADS = 8
_PATIENCE_S = 60.0
_ROUND_S = 1.0  # then all objects are made anew: first uses race, too
_FOCUS = 40  # calls with which each thread begins a round, all of them on the same few objects


def attack(device: str, seconds: float, seed: int) -> Findings:
    """Rounds until the time is up, in a child process; one that dies is followed by another."""
    found = Findings(STAGE, device, KINDS, {"tried": 0})
    times = Counter[tuple[str, str]]()
    end, number = time.monotonic() + seconds, seed
    with tempfile.TemporaryDirectory() as folder:
        while (left := end - time.monotonic()) > 0:
            child = Child.started(
                command(STAGE, "--worker", "--seconds", left, "--seed", number, "--device", device),
                Path(folder) / f"cache-{number}",
            )
            silent, begun = False, False
            for told in child.lines(_PATIENCE_S):
                if told is None:
                    silent = True
                    child.kill()
                elif "kind" in told:
                    times[told["kind"], told["what"]] += told["times"]
                else:
                    begun = True
                    found.count("tried", told["calls"])
            status = child.end()
            if silent:
                found.add("hangs", f"seed {number}: nothing for {_PATIENCE_S:.0f} s")
            elif status != 0:
                found.add("crashes", f"seed {number}: exit status {status}: {child.last_words()}")
            if not begun:
                break  # it ends before its first round, and would again
            number += 1
    for (kind, what), count in times.most_common():
        found.add(kind, f"{what}, {count} times (seed {seed})")
    return found


# ---------------------------------------------------------------- in the child


def work(seconds: float, seed: int, device_name: str) -> None:
    from gpuopt.selection import select

    from .bench import Bench

    device, end = select(device_name), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        alone = Bench(device, Path(folder))
        wanted = {name: _twice(call) for name, call in alone.calls.items()}
        say(calls=len(wanted))
        number = 0
        while number == 0 or time.monotonic() < end:
            place = Path(folder) / str(number)
            place.mkdir()
            bench = Bench(device, place)
            until = min(time.monotonic() + _ROUND_S, max(end, time.monotonic() + 1))
            _round(bench.calls, wanted, until, seed * 1000 + number)
            _check_rows(bench)
            number += 1


def _twice(call: Callable[[], Any]) -> tuple[Any, bool]:
    """What one thread gets, and whether it gets the very same again: sums by atomics come in any order."""
    first, again = call(), call()
    return first, _same(first, again, exactly=True)


def _same(found: Any, wanted: Any, *, exactly: bool) -> bool:
    if isinstance(wanted, tuple):
        return all(_same(one, other, exactly=exactly) for one, other in zip(found, wanted, strict=True))
    if not isinstance(wanted, np.ndarray):
        return bool(type(found) is type(wanted) and found == wanted)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if exactly:
        return bool(np.array_equal(found, wanted))
    return bool(np.allclose(found, wanted, rtol=1e-4, atol=1e-5 * float(np.abs(wanted).max())))


def _round(calls: dict[str, Callable[[], Any]], wanted: dict[str, tuple[Any, bool]], until: float, seed: int) -> None:
    """All threads call until the time is up. Findings are told by name, with how often they came."""
    mutex, start = threading.Lock(), threading.Barrier(_THREADS)
    found = Counter[tuple[str, str]]()
    done = [0] * _THREADS
    groups = sorted(set(map(_group, calls)))

    def one(number: int) -> None:
        draw = random.Random(f"{seed}:{number}")
        names = sorted(calls)
        focus = [name for name in names if _group(name) == groups[seed % len(groups)]]
        start.wait()
        while time.monotonic() < until:
            name = draw.choice(focus if done[number] < _FOCUS else names)
            kind, what = _outcome(calls[name], *wanted[name])
            done[number] += 1
            if kind:
                with mutex:
                    found[kind, f"{name}: {what}"] += 1

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (kind, what), times in found.items():
        say(kind=kind, what=what, times=times)
    say(calls=sum(done))


def _group(name: str) -> str:
    """Which objects a call is on: `cone` of `cone: A(x)`."""
    return name.partition(":")[0] if ":" in name else ""


def _outcome(call: Callable[[], Any], wanted: Any, exactly: bool) -> tuple[str, str]:
    import gpuopt

    try:
        result = call()
    except gpuopt.Error as error:
        return "wrong", f"refused: {type(error).__name__}: {str(error)[:120]}"
    except Exception as error:
        return "untyped", f"{type(error).__name__}: {str(error)[:120]}"
    try:
        same = _same(result, wanted, exactly=exactly)
    except (AttributeError, TypeError, ValueError) as error:  # of another kind or length
        return "wrong", f"another kind of result than of one thread: {error}"
    return ("", "") if same else ("wrong", "another result than of one thread")


def _check_rows(bench: Any) -> None:
    from gpuopt.lab.rows.store import Store

    held = {row["row_id"] for row in bench.store.rows()}
    read = Store(bench.store.path)
    if gone := held - {row["row_id"] for row in read.rows()}:
        say(kind="lost", what=f"{len(gone)} of {len(held)} rows", times=len(gone))
    if read.problems:
        say(kind="lost", what=f"damage in a file of rows: {read.problems[0]}", times=1)


def main() -> int:
    options = parser(__doc__ or "", 600.0)
    options.add_argument("--worker", action="store_true", help="call in this process, and tell of each round")
    given = options.parse_args()
    if given.worker:
        work(given.seconds, given.seed, given.device)
        return 0
    return attack(given.device, given.seconds, given.seed).report()


if __name__ == "__main__":
    sys.exit(main())
