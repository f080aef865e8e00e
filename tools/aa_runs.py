#!/usr/bin/env python3
"""Compares identical kernels, each with buffers of its own, N times, and prints the share of false verdicts.

    tools/aa_runs.py 300 --device gpu             # quiet
    tools/aa_runs.py 300 --device cpu --busy 2    # beside two busy loops

A comparison is one kernel held against an identical one by the rules of a quick study. Those without a verdict are
refused ones: they are counted, and are no false verdicts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gpuopt.lab.run import aa
from gpuopt.selection import select


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that do nothing but take a CPU, for as long as the block lasts."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def line(name: str, words: Counter[str | None]) -> str:
    """`name: 80 comparisons, 1.2 % FAST or SLOW (1), ...`."""
    count = words.total()
    false = words["FAST"] + words["SLOW"]
    return (
        f"{name}: {count} comparisons, {share(false, count)} FAST or SLOW ({false}), "
        f"{share(words['SAME'], count)} SAME ({words['SAME']}), {words['AMBIGUOUS']} undecided, {words[None]} refused"
    )


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument(
        "comparisons", metavar="N", type=int, help="how many comparisons, spread over clocks and launches"
    )
    given.add_argument("--device", help="an index, a type or part of a name; see `gpuopt devices`")
    given.add_argument("--busy", metavar="K", type=int, default=0, help="busy loops beside them")
    given.add_argument("--copies", type=int, default=aa.COPIES, help="kernels held against one baseline")
    given.add_argument("--seed", type=int, default=0)
    asked = given.parse_args()
    if asked.comparisons < 1 or asked.copies < 1 or asked.busy < 0:
        given.error("N and --copies are at least 1, --busy at least 0")
    device = select(asked.device)
    print(f"{asked.comparisons} comparisons on {device.key}, {asked.busy} busy loops beside them", flush=True)
    begin, words, smallest = time.perf_counter(), {}, {}
    with busy_loops(asked.busy):
        kinds, done, number = aa.kinds(device), 0, asked.seed
        while done < asked.comparisons:
            kind = kinds[number % len(kinds)]
            copies = min(asked.copies, asked.comparisons - done)
            pairs = aa.compare_once(device, kind, number, copies)
            words.setdefault(kind, Counter()).update(None if pair.refused else pair.row["verdict"] for pair in pairs)
            smallest.setdefault(kind, []).extend(pair.smallest for pair in pairs)
            done, number = done + copies, number + 1
            so_far = sum(words.values(), Counter())
            print(f"{time.perf_counter() - begin:4.0f} s  {line('so far', so_far)}", file=sys.stderr, flush=True)
    for kind, counted in words.items():
        told = sorted(100 * one for one in smallest[kind] if one is not None)
        middle = f"{told[len(told) // 2]:.2g} %" if told else "-"
        print(f"{line(f'{kind.launch} launches by {kind.clock}', counted)}; half certify {middle}")
    every = sum(words.values(), Counter())
    every[None] += asked.comparisons - every.total()  # what failed has no verdict either
    print(line("all", every))
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{time.perf_counter() - begin:.0f} s, load {load:.1f} at the end")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
