"""Builds configurations with PoCL, one for each line of standard input, and says where PoCL left the program.

Run by :mod:`compiled.build` with caches of its own: what is looked for must be built anew. A line is a JSON object with
``workload``, ``variant``, ``parameters``, ``problem`` (a name from the workload's room of tests), ``kernels`` (the
folder that the sources are read from) and ``verify``; so is each answer: ``programs`` (files of LLVM bitcode, the
kernel in one of them), ``entry_point`` and ``wrong`` (why the result is no result, or ""), or ``error``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import gpuopt
from gpuopt import Configuration, MismatchError
from gpuopt.configuration import complete
from gpuopt.lab.timing import verification

Job = dict[str, Any]


def programs() -> set[Path]:
    return set(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/program.bc"))


def build(job: Job, device: gpuopt.Device, known: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    os.environ["GPUOPT_KERNEL_DIR"] = job["kernels"]
    room = importlib.import_module(f"workloads.{job['workload']}.cases").ROOM
    configuration = complete(job["workload"], Configuration(job["variant"], **job["parameters"]))
    problem = room.make(job["problem"], configuration, device)
    before = programs()
    bound = problem.prepare(configuration, device)
    main = bound.prepared.kernels[bound.prepared.main_step]
    # Of the programs that a plan builds, those with the kernel's name in the bitcode's table of strings.
    name = main["entry_point"].encode()
    key = main["source_sha256"], main["options"]
    if key not in known:
        known[key] = [str(path) for path in programs() - before if name in path.read_bytes()]
    wrong = ""
    if job["verify"]:
        try:
            verification.verify(bound, problem, configuration)
        except MismatchError as error:
            wrong = str(error)
    return {"programs": known[key], "entry_point": main["entry_point"], "wrong": wrong}


def main() -> None:
    device = next(device for device in gpuopt.devices() if device.platform == "Portable Computing Language")
    known: dict[tuple[str, str], list[str]] = {}
    for line in sys.stdin:
        try:
            answer = build(json.loads(line), device, known)
        except Exception as error:  # the test says it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
