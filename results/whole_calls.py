"""What whole calls cost, from arrays to results, beside other libraries in the same run.

python results/whole_calls.py [--out FILE] [--only TEXT] [--skip TEXT] [--seconds N] [--device NAME]

Every module of whole_calls_cases/ lists cases in CASES. A case makes its arrays and gives a call, peers that compute
the same, and a check against NumPy, made before and after the measurement. All are timed in turn within blocks; some
after a pause and a call that is not timed, for OpenBLAS's threads wait busily after NumPy's products. Rows have the
median of the blocks' times per call and an interval that holds the median with 95 % confidence. Every
call ends with its result: in NumPy's memory, or finished on the device.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import pkgutil
import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from gpuopt.lab.device import source
from gpuopt.selection import select

Call = Callable[[], Any]


@dataclass
class Made:
    """What a case measures: calls by name, gpuopt's first; `check` raises where a result is wrong."""

    calls: dict[str, Call]
    check: Callable[[], None] = lambda: None
    facts: dict[str, Any] = field(default_factory=dict)  # more columns of the rows, such as flops
    pause_s: float = 0.0  # before each call's turn


@dataclass(frozen=True)
class Case:
    """`make` takes the device; `on` says which types of devices it is for; `goal_ms` is what the project wants."""

    name: str
    make: Callable[[Any], Made]
    on: tuple[str, ...] = ("cpu", "gpu", "accelerator")
    goal_ms: float | None = None  # on an H200
    longest_s: float = 0.0  # what one round of its calls may take, where that is more than a second


def cases() -> list[Case]:
    """The cases of all modules, in the modules' order."""
    import whole_calls_cases

    found: list[Case] = []
    for module in sorted(pkgutil.iter_modules(whole_calls_cases.__path__), key=lambda one: one.name):
        found += importlib.import_module(f"whole_calls_cases.{module.name}").CASES
    return found


def per_call_s(call: Call, at_least_s: float) -> tuple[float, int]:
    """Seconds a call, and how many calls take `at_least_s` together."""
    runs = 1
    while True:
        start = time.perf_counter()
        for _ in range(runs):
            call()
        took = time.perf_counter() - start
        if took >= at_least_s or runs >= 4096:
            return took / runs, runs
        runs = min(4096, max(runs + 1, int(runs * at_least_s / max(took, 1e-6) * 1.2)))


def interval(times: list[float]) -> tuple[float, float, float]:
    """Median and the order statistics that hold it with 95 % confidence (all of them where there are few)."""
    ordered, n = sorted(times), len(times)
    low = max(0, int(np.floor(n / 2 - 0.98 * np.sqrt(n))))
    return float(np.median(ordered)), ordered[low], ordered[n - 1 - low]


def measure(made: Made, seconds: float) -> dict[str, dict[str, Any]]:
    """Times of each call in ms, from blocks in which each comes once, in random order."""
    runs: dict[str, int] = {}
    for name, call in made.calls.items():
        start = time.perf_counter()
        call()  # builds
        first = time.perf_counter() - start
        runs[name] = 1 if first > seconds / 5 else per_call_s(call, 0.003)[1]
    times: dict[str, list[float]] = {name: [] for name in made.calls}
    order, end = list(made.calls), time.perf_counter() + seconds
    while (time.perf_counter() < end or min(map(len, times.values())) < (10 if made.pause_s else 3)) and len(
        times[order[0]]
    ) < 200:
        random.shuffle(order)
        for name in order:
            call = made.calls[name]
            if made.pause_s:
                time.sleep(made.pause_s)
                call()
            start = time.perf_counter()
            for _ in range(runs[name]):
                call()
            times[name].append((time.perf_counter() - start) / runs[name] * 1e3)
    rows = {}
    for name, all_of_it in times.items():
        middle, low, high = interval(all_of_it)
        rows[name] = {"median_ms": middle, "low_ms": low, "high_ms": high, "blocks": len(all_of_it), "runs": runs[name]}
    return rows


def rows_of(case: Case, device: Any, seconds: float, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """A case measured: one row a call, or one that says why there is none."""
    try:
        made = case.make(device)
        made.check()
        timed = measure(made, seconds)
        made.check()
    except Exception as error:  # a case that fails says so, and the others go on
        print(traceback.format_exc(limit=-2), file=sys.stderr)
        return [facts | {"case": case.name, "call": "gpuopt", "error": f"{type(error).__name__}: {error}"[:300]}]
    own = next(iter(timed.values()))["median_ms"]
    rows = []
    for name, numbers in timed.items():
        row = facts | made.facts | {"case": case.name, "call": name} | numbers
        rows.append(row | {"over_gpuopt": numbers["median_ms"] / own, "goal_ms": case.goal_ms})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table, a section for each device: the last row of each call counts."""
    text = []
    for device in dict.fromkeys((row["device"], row["platform"]) for row in rows):
        own = {(r["case"], r["call"]): r for r in rows if (r["device"], r["platform"]) == device and "median_ms" in r}
        last = list(own.values())[-1:]
        about = "".join(f", {r['driver']}, {r['date']}, commit {r['commit'][:12]}" for r in last)
        text += [f"### {device[0]} ({device[1]}{about})", "", "| case | call | ms | interval | goal |"]
        text += ["| --- | --- | --- | --- | --- |"]
        for (case, call), row in own.items():
            wanted = call == "gpuopt" and "H200" in row["device"]  # the goals are that device's
            goal = (row["goal_ms"] or "") if wanted else ""
            cells = (case, call, f"{row['median_ms']:.4g}", f"{row['low_ms']:.4g} to {row['high_ms']:.4g}", str(goal))
            text.append(f"| {' | '.join(cells)} |")
        text.append("")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("whole-calls.jsonl"))
    parser.add_argument("--only", default="", help="measure cases whose name holds one of these, separated by commas")
    parser.add_argument("--skip", default="", help="leave out cases whose name holds one of these")
    parser.add_argument("--seconds", type=float, default=1.0, help="for the blocks of one case")
    parser.add_argument("--limit", type=float, default=float("inf"), help="begin no case after so many seconds")
    parser.add_argument("--device", default=None)
    parser.add_argument("--table", type=Path, nargs="+", help="print these files' rows as Markdown; measure nothing")
    given = parser.parse_args()
    if given.table:
        print(table([json.loads(line) for path in given.table for line in path.read_text().splitlines()]))
        return
    device = select(given.device)
    told = source.source()
    commit, changed = told["commit"] or "unknown", bool(told["dirty"])
    facts = {"device": device.name, "platform": device.platform, "driver": device.driver, "commit": commit}
    facts |= {"changed": changed, "date": datetime.date.today().isoformat(), "numpy": np.__version__}
    only, skip = ([one for one in text.split(",") if one] for text in (given.only, given.skip))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with given.out.open("a") as file:
        for case in cases():
            left = device.type not in case.on or (only and not any(one in case.name for one in only))
            if left or any(one in case.name for one in skip) or time.perf_counter() - begun > given.limit:
                continue
            for row in rows_of(case, device, given.seconds, facts):
                file.write(json.dumps(row) + "\n")
                file.flush()
                said = row.get("error") or "{median_ms:11.4f} ms [{low_ms:.4f}, {high_ms:.4f}]".format(**row)
                print(f"{row['case']:44} {row['call']:12} {said}", flush=True)


if __name__ == "__main__":
    main()
