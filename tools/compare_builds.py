"""Two builds of gpuopt beside each other on one device: each prepares and verifies the same configurations in a process
of its own, then their samples are taken in turns, and once more every result is verified.

    compare_builds.py OLD NEW [--device D] [--rounds N] [--out FILE.jsonl]

OLD and NEW are folders to put on PYTHONPATH (made by `pip install --target FOLDER SOURCE`). A row a configuration: both
medians in ms, the ratio new / old with its least and greatest over the rounds, and the errors that were verified.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

SAMPLES = 7  # of one turn
HEADLINES = (
    ("spmv", "interior(LOCAL=256, ROWS=2, UNROLL=9)"),
    ("spmv", "symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)"),
    ("gemm", "register_tile(TILE_M=128, TILE_N=256, TILE_K=16, WORK_M=8, WORK_N=16, COPY=1, PASS=1)"),
    ("gemm", "tensor(TYPE=0, PRODUCTS=3)"),
    ("gem", "tiled(DISTANCE=2, LOCAL=256, RSQRT=2, TILE=1024, UNROLL=4, VERTICES=2)"),
    ("tomography", "image"),
)
SMALL = (
    ("spmv", "interior"),
    ("gemm", "packed"),
    ("gem", "wide"),
    ("tomography", "columns"),
)


def make_problem(workload: str, small: bool, device: Any) -> Any:
    """The problem behind a headline of the results, or a small one for a try on a CPU."""
    from gpuopt import problems

    if workload == "spmv":
        side = 128 if small else 2048
        return problems.spmv_grid(side, side, radius=5, dtype="float32", device=device, symmetric=True)
    if workload == "gemm":
        side = 256 if small else 8192
        return problems.gemm(side, side, side, device=device)
    if workload == "gem":
        return problems.gem(*problems.globule(500)) if small else problems.gem(*problems.capsid(), size=164.262)
    return problems.back_projection("24" if small else "512", device=device, weight="fdk")


def serve(small: bool, selector: str | None) -> None:
    """The process of one build: prepares everything, then answers each line, the number of a configuration, with
    samples in ms; at the line `end` verifies again."""
    import gpuopt
    from gpuopt import Configuration
    from gpuopt.configuration import complete
    from gpuopt.selection import select

    try:
        from gpuopt.lab.timing.verification import verify
    except ImportError:  # before the lab was divided into stages
        from gpuopt.lab.measure import verify
    device = select(selector)
    held: list[tuple[Any, Any, Configuration]] = []
    problems: dict[str, Any] = {}
    for workload, text in SMALL if small else HEADLINES:
        if workload not in problems:
            problems[workload] = make_problem(workload, small, device)
        problem, configuration = problems[workload], complete(workload, Configuration.parse(text))
        plan = problem.prepare(configuration, device)
        errors = verify(plan, problem, configuration)
        held.append((plan, problem, configuration))
        print(json.dumps({"workload": workload, "problem": problem.name, "errors": errors}), flush=True)
    print(json.dumps({"device": device.name, "driver": device.driver, "version": gpuopt.__version__}), flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        plan = held[int(line)][0].prepared
        plan.sample(1)
        print(json.dumps(plan.sample(SAMPLES)["device_ms"]), flush=True)
    for plan, problem, configuration in held:
        verify(plan, problem, configuration)
    print(json.dumps("verified again"), flush=True)


class Build:
    """One build in its own process."""

    def __init__(self, folder: Path, small: bool, device: str | None) -> None:
        environment = dict(os.environ, PYTHONPATH=str(folder))
        command = [sys.executable, __file__, "--serve", *(["--small"] if small else [])]
        command += ["--device", device] if device else []
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True)

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a build ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, text: object) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return self.read()


def compare(old: Path, new: Path, small: bool, device: str | None, rounds: int) -> list[dict[str, Any]]:
    """The rows."""
    cases = SMALL if small else HEADLINES
    builds = [Build(folder, small, device) for folder in (old, new)]
    facts = [[build.read() for _ in range(len(cases) + 1)] for build in builds]
    times: list[list[list[float]]] = [[[], []] for _ in cases]
    for turn in range(rounds):
        for number in range(len(cases)):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                times[number][which].append(statistics.median(builds[which].ask(number)))
    for build in builds:
        build.ask("end")
    rows = []
    for number, ((workload, configuration), (before, after)) in enumerate(zip(cases, times, strict=True)):
        ratios = [b / a for a, b in zip(before, after, strict=True)]
        rows.append(
            {
                "workload": workload,
                "problem": facts[0][number]["problem"],
                "configuration": configuration,
                "old_ms": statistics.median(before),
                "new_ms": statistics.median(after),
                "ratio": statistics.median(ratios),
                "ratio_least": min(ratios),
                "ratio_greatest": max(ratios),
                "rounds": rounds,
                "l2_rel": [facts[which][number]["errors"]["l2_rel"] for which in (0, 1)],
                **facts[1][-1],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--small", action="store_true", help="small problems, for a try on a CPU")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.small, given.device)
        return
    if len(given.folders) != 2:
        parser.error("give two folders, of the old and of the new build")
    lines = [json.dumps(row) for row in compare(*given.folders, given.small, given.device, given.rounds)]
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
