"""Every variant at one small size on Oclgrind, a simulator that sees each access to memory out of bounds and each race
between work-items.

``python -m tests.hostile.simulator --seconds T --seed S`` prints what it found; its last line is one JSON object. A
variant that a simulator cannot finish in its share is ``too_slow``: counted, and no finding.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S, ENOUGH_S = 60.0, 10.0  # of a variant: of its process, and until it begins no more problems
# How Oclgrind begins what it reports.
REPORT = re.compile(
    r"^(Invalid (?:read|write)|(?:Read-write|Write-write) data race|Uninitialized|Work-group divergence).*"
)
# What Oclgrind says of itself: it computes no integers of odd widths, to which compilers shrink what a switch looks at.
ENDS = re.compile(r"^OCLGRIND FATAL ERROR.*\n(.*)$", re.MULTILINE)


def work(workload: str, variant: str) -> str:
    """Runs the variant, as it stands, on its room's problems that the simulator takes, for ENOUGH_S; returns what
    became of it."""
    sys.path.insert(0, str(ROOT / "tests"))
    import gpuopt
    import harness
    from gpuopt import MismatchError, UnsupportedError

    (device,) = gpuopt.devices()
    room = harness.rooms()[workload]
    (row,) = (each for each in gpuopt.variants(workload) if each.name == variant)
    configuration = harness.as_it_stands(row)
    names = [
        name
        for run in room.runs.values()
        for known, problems in run.cases
        if known.variant == variant
        for name in problems
    ]
    refused, done = "it has no problems", 0
    end = time.monotonic() + ENOUGH_S
    for name in dict.fromkeys(names):
        if done and time.monotonic() > end:
            break
        try:
            harness.check(device, room, name, configuration)
        except (UnsupportedError, gpuopt.DeviceMemoryError) as error:
            refused = str(error)
            continue
        except gpuopt.OpenCLError as error:
            if "CL_INVALID_KERNEL_NAME" not in str(error):
                raise
            refused = "Oclgrind makes no kernel of it, such as one with integers of more than 8 bytes"
            continue
        except MismatchError as error:
            return f"wrong: {name}: {error}"
        done += 1
    return f"answered: {done} problems" if done else f"refused: {refused}"


def reports(log: Path) -> list[str]:
    """The first lines of what Oclgrind reports, each once."""
    if not log.exists():
        return []
    return list(dict.fromkeys(line for line in log.read_text(errors="replace").splitlines() if REPORT.match(line)))


def simulated(workload: str, variant: str, limit: float, folder: Path) -> tuple[str, list[str]]:
    log = folder / "log"
    log.unlink(missing_ok=True)
    own = [sys.executable, "-m", "tests.hostile.simulator", "--worker", workload, variant]
    command = ["oclgrind", "--data-races", "--log", str(log), "--max-errors", "20", *own]
    env = {**os.environ, "GPUOPT_CACHE_DIR": str(folder / "cache"), "GPUOPT_DEVICE": ""}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "too_slow", reports(log)
    told = done.stderr + (log.read_text(errors="replace") if log.exists() else "")
    if (ends := ENDS.search(told)) and not done.stdout.startswith("answered"):
        return f"refused: Oclgrind ends the kernel: {ends[1]}", reports(log)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        return f"crash: exit code {done.returncode}, {said[0][:300]}", reports(log)
    return done.stdout.splitlines()[-1], reports(log)


def attack(seconds: float, seed: int, only: str) -> dict[str, Any]:
    import gpuopt
    from gpuopt import _core

    outcome: dict[str, Any] = {"stage": "oclgrind", "device": "Oclgrind", "tried": 0, "answered": 0, "refused": 0}
    outcome |= {"too_slow": 0, "not_begun": 0, "crashes": [], "wrong": [], "reports": []}
    cases = [(w, v.name) for w in _core.workload_names() for v in gpuopt.variants(w) if only in f"{w} {v.name}"]
    random.Random(seed).shuffle(cases)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for number, (workload, variant) in enumerate(cases):
            left = end - time.monotonic()
            if left <= 1:
                outcome["not_begun"] = len(cases) - number
                break
            became, seen = simulated(workload, variant, min(LONGEST_S, left), Path(folder))
            outcome["tried"] += 1
            kind = became.partition(":")[0]
            told = {"call": f"{workload} {variant}", "said": became}
            if kind in ("crash", "wrong"):
                outcome["crashes" if kind == "crash" else "wrong"].append(told)
            else:
                outcome[kind] += 1
            outcome["reports"] += [{"call": f"{workload} {variant}", "said": line} for line in seen]
            print(f"{workload} {variant}: {became}", *seen, sep="\n    ", file=sys.stderr, flush=True)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="not used: the device is Oclgrind's")
    parser.add_argument("--only", default="", help="workloads and variants whose names contain this")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(work(*given.worker))
        return 0
    if not shutil.which("oclgrind"):
        print(json.dumps({"stage": "oclgrind", "left_out": "oclgrind is not installed (Debian's package oclgrind)"}))
        return 0
    outcome = attack(given.seconds, given.seed, given.only)
    print(json.dumps(outcome))
    return 1 if any(outcome[kind] for kind in ("crashes", "wrong", "reports")) else 0


if __name__ == "__main__":
    sys.exit(main())
