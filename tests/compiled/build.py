"""Compiled kernels of configurations, as PoCL's own compiler leaves them before it makes work-groups of work-items.

PoCL keeps a program's LLVM bitcode in its cache. Helper functions in it are written out where they are called and
private arrays become values, by clang, as PoCL does later with all of it; OpenCL's functions stay calls.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from compiled import ir
from gpuopt import Configuration

LIBRARY = re.compile(
    r"^define (?:internal |linkonce_odr |dso_local |hidden )*([^@\n]*@_Z[^\n]*?) *\{\n.*?^\}$", re.MULTILINE | re.DOTALL
)
OWN = re.compile(r"^(define (?!.*spir_kernel)[^\n]*?) *\{$", re.MULTILINE)
TESTS = Path(__file__).resolve().parents[1]
KERNELS = TESTS.parent / "kernels"


@functools.cache
def reason_to_skip() -> str:
    """What is missing here, or ""."""
    drivers = [device.driver for device in gpuopt.devices() if device.platform == "Portable Computing Language"]
    if not drivers:
        return "PoCL is not installed"
    if not drivers[0].startswith("3.1"):
        return f"how PoCL {drivers[0]} names its functions is not known here, only how 3.1 of Debian 12 does"
    return "" if clang() else "no clang of PoCL's version or a later one: install clang-15"


@functools.cache
def clang() -> str:
    """The first clang that reads PoCL's bitcode: LLVM 15 on Debian 12, whose package of PoCL needs clang-15 itself."""
    names = [*(f"clang-{version}" for version in range(15, 31)), "clang"]
    for found in filter(None, map(shutil.which, names)):
        text = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"version (\d+)", text)
        if version and int(version[1]) >= 15:
            return found
    return ""


class Builder:
    """A process that builds with PoCL, and folders of its own. Builds each job once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        caches = {"POCL_CACHE_DIR": str(folder / "pocl"), "GPUOPT_CACHE_DIR": str(folder / "gpuopt")}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("POCL_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compiled.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env=environment | caches | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        )
        self.kept: dict[str, dict[str, Any]] = {}

    def kernel(
        self, workload: str, configuration: Configuration, problem: str, kernels: Path = KERNELS, *, verify: bool
    ) -> ir.Kernel:
        """The compiled kernel. With ``verify`` it has also computed the problem right; else AssertionError."""
        job = {
            "workload": workload,
            "variant": configuration.variant,
            "parameters": dict(configuration.parameters),
            "problem": problem,
            "kernels": str(kernels),
            "verify": verify,
        }
        answer = self.answer(json.dumps(job))
        assert "error" not in answer, f"{configuration}: {answer['error']}"
        assert not answer["wrong"], f"{configuration}: {answer['wrong']}"
        name = answer["entry_point"]
        (text,) = (text for text in map(written_out, answer["programs"]) if f"@{name}(" in text)
        return ir.kernel(text, name)

    def answer(self, job: str) -> dict[str, Any]:
        if job not in self.kept:
            assert self.process.stdin
            assert self.process.stdout
            print(job, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
            assert line, f"the building process ended with {self.process.wait()} at {job}"
            self.kept[job] = json.loads(line)
        return self.kept[job]

    def mutated(self, name: str, file: str, old: str, new: str) -> Path:
        """A copy of the kernels with a text replaced in one file. The text must stand there, else the test fails."""
        path = KERNELS / file
        text = path.read_text(encoding="utf-8")
        if text.count(old) == 0:
            pytest.fail(f"{file} no longer has the text that the mutant {name!r} replaces:\n{old}")
        copy = self.folder / re.sub(r"\W+", "_", name)
        shutil.copytree(KERNELS, copy, dirs_exist_ok=True)
        (copy / file).write_text(text.replace(old, new), encoding="utf-8")
        return copy

    def close(self) -> None:
        self.process.communicate(timeout=60)


@functools.cache
def written_out(program: str) -> str:
    """The IR of a program."""

    def run(*options: str, text: str | None = None) -> str:
        command = [clang(), "-x", "ir", "-S", "-emit-llvm", "-o", "-", *options]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    text = LIBRARY.sub(r"declare \1", run("-O0", program))
    as_it_stands = ["-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"]
    return run("-O1", *as_it_stands, "-", text=OWN.sub(r"\1 alwaysinline {", text))
