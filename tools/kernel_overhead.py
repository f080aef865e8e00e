"""What the lab itself takes for kernels that people bring: milliseconds a configuration beside building, checking and
timing it, and seconds until a worker that was killed is replaced. Prints one JSON object a line.

    python tools/kernel_overhead.py [--device D] [--configurations N] [--no-hang]

On a machine that does something else the times are upper cases.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import numpy as np

import gpuopt
from gpuopt import lab
from gpuopt.lab.kernels.worker import WORKERS, KernelTimeoutError, Worker
from gpuopt.selection import select

SAXPY = """
__kernel void saxpy(int n, float a, __global const float* x, __global float* y) {
    const int first = get_global_id(0) * WIDTH + 0 * NUMBER;
    for (int k = 0; k < WIDTH; ++k)
        if (first + k < n) y[first + k] = a * x[first + k] + 1;
}
"""
SPIN = """
__kernel void spin(__global volatile int* z, int rounds) {
    z[0] = 0;
    for (int k = 0; k < rounds; ++k)
        for (int j = 0; j < 64; ++j) z[0] = k;
}
"""


def say(**facts: Any) -> None:
    """One line of the outcome."""
    print(json.dumps(facts), flush=True)


def saxpy(count: int) -> lab.Kernel:
    """A kernel of about so many configurations."""
    return lab.Kernel(
        SAXPY,
        "saxpy",
        parameters={"WIDTH": [1, 2, 4, 8], "WG": [32, 64, 128, 256], "NUMBER": list(range(max(1, count // 16)))},
        arguments=[lab.value("n"), lab.value("a", "float32", 1.5), lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n / WIDTH", local="WG"),
        reference=lambda a, x: a * x + 1,
    )


def overhead(device: gpuopt.Device, count: int, n: int) -> None:
    """A search of all configurations, built ahead."""
    begin = time.perf_counter()
    found = lab.search(saxpy(count), strategy="exhaustive", device=device, n=n)
    say(
        measured="overhead",
        device=device.key,
        n=n,
        configurations=found.evaluations,
        ok=sum(one.status == "ok" for one in found.results.results),
        overhead_ms=round(found.overhead_ms, 3),
        search_and_study_s=round(time.perf_counter() - begin, 2),
    )


def spinning() -> lab.Kernel:
    """One work-item that counts to a bound: kernels that never end are for CPU devices alone."""
    return lab.Kernel(
        SPIN,
        "spin",
        arguments=[lab.output("z", 1, "int32"), lab.value("rounds")],
        launch=lab.launch(items=1, local=1),
        reference=lambda rounds: np.array([rounds - 1]),
    )


def replaced(device: gpuopt.Device, tries: int = 5) -> None:
    """From a kill to the first launch in the next worker, and what of it a start takes."""
    starts = []
    for _ in range(tries):
        begin = time.perf_counter()
        Worker(device).close()
        starts.append(time.perf_counter() - begin)
    kernel = spinning()
    bound = kernel.problem(rounds=10).prepare(kernel.configurations(rounds=10)[0], device)
    bound.prepared.run()
    seconds = []
    for _ in range(tries):
        begin = time.perf_counter()
        WORKERS.of(device).kill()
        bound.prepared.run()
        seconds.append(time.perf_counter() - begin)
    say(
        measured="replacement",
        device=device.key,
        start_s=[round(s, 3) for s in starts],
        kill_to_next_launch_s=[round(s, 3) for s in seconds],
        median_s=round(statistics.median(seconds), 3),
    )


def hung(device: gpuopt.Device, bound_s: float = 6.0, limit_s: float = 1.0) -> None:
    """The same of a kernel that is at work when it is killed; it would end by itself after ``bound_s``."""
    kernel, rounds = spinning(), 10_000
    while True:
        plan = kernel.problem(rounds=rounds).prepare(kernel.configurations(rounds=rounds)[0], device).prepared
        plan.run()
        taken = max(plan.sample(1)["wall_ms"]) * 1e-3
        if taken > 0.05 or rounds > 2**24:
            break
        rounds *= 4
    rounds = min(2**31 - 1, int(rounds * bound_s / taken))
    long = kernel.problem(rounds=rounds, limit_s=limit_s).prepare(kernel.configurations(rounds=rounds)[0], device)
    begin = time.perf_counter()
    try:
        long.prepared.run()
    except KernelTimeoutError as error:
        killed = time.perf_counter()
        plan.run()
        say(
            measured="hang",
            device=device.key,
            limit_s=limit_s,
            would_end_after_s=bound_s,
            limit_to_killed_s=round(killed - begin - limit_s, 3),
            killed_to_next_launch_s=round(time.perf_counter() - killed, 3),
            said=str(error),
        )
    else:
        say(measured="hang", device=device.key, said=f"it ended in {time.perf_counter() - begin:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="as GPUOPT_DEVICE takes it; by default the best")
    parser.add_argument("--configurations", type=int, default=48)
    parser.add_argument("--size", type=int, default=1 << 16, help="elements of each array")
    parser.add_argument("--no-hang", action="store_true", help="no kernel that is killed at work")
    given = parser.parse_args()
    device = select(given.device)
    replaced(device)
    overhead(device, given.configurations, given.size)
    if not given.no_hang:
        hung(device)


if __name__ == "__main__":
    main()
