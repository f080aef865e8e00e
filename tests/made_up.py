"""Python processes on drivers, disks and clocks that are made up: compiled from ``core/drivers/`` and preloaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import gpuopt


def needs_a_dynamic_loader() -> None:
    """Skips a test whose driver stands between the process and OpenCL's loader, where that cannot be."""
    if "libOpenCL" not in gpuopt._core.discovery()["loader_path"]:
        pytest.skip("the loader is linked in statically: nothing can stand between")


def run_python(code: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCL_ICD_")} | changes
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


def told(code: str, **changes: str) -> list[str]:
    done = run_python(code, **changes)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# Begins a program for `run_python`, by format(index=...) of a device: `build(elements)` is a plan.
BUILD = """
import os, gpuopt, numpy as np
d = gpuopt.devices()[{index}]
def build(elements):
    a = gpuopt._core.empty((elements,), np.dtype(np.float32), d)
    b = gpuopt._core.empty((elements,), np.dtype(np.float32), d)
    c = gpuopt.Configuration("copy_chunks", WIDTH=4, ITEMS=8)
    return gpuopt._core.prepare_microbench(
        a, b, width=0, trips=1, store=False, variant=c.variant, parameters=c.parameters
    )
"""
