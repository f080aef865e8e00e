"""What the first call of a process costs: whole processes, which import, find devices, build and compute."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from whole_calls import Case, Made

IMPORT = "import numpy, gpuopt"
DEVICES = f"{IMPORT}; gpuopt.devices()"
CONTEXT = f"{IMPORT}; gpuopt.to_device(numpy.ones(1))"
PRODUCT = f"{IMPORT}; a = numpy.ones((256, 256), numpy.float32); assert (gpuopt.gemm(a, a) == 256).all()"
SMALLEST = PRODUCT.replace("gemm(a, a)", "gemm(a, a, variant='naive')")


def first_call(device: Any) -> Made:
    """`gpuopt` has empty caches, of gpuopt's and the driver's (PoCL's and NVIDIA's); `caches` has gpuopt's full. What
    the smallest kernel of a product takes to build is the compiler's own."""
    kept = tempfile.mkdtemp(prefix="first-call-")

    def process(code: str, cache: str | None) -> None:
        with tempfile.TemporaryDirectory() as empty:
            own = cache or empty
            more = {"GPUOPT_CACHE_DIR": own, "XDG_CACHE_HOME": own, "POCL_CACHE_DIR": own, "CUDA_CACHE_DISABLE": "1"}
            subprocess.run(
                [sys.executable, "-c", code], env=os.environ | more | {"GPUOPT_DEVICE": str(device.index)}, check=True
            )

    calls = {
        "gpuopt": lambda: process(PRODUCT, None),
        "smallest kernel": lambda: process(SMALLEST, None),
        "caches": lambda: process(PRODUCT, kept),
        "context": lambda: process(CONTEXT, kept),
        "devices": lambda: process(DEVICES, kept),
        "import": lambda: process(IMPORT, kept),
    }
    return Made(calls)


CASES = [Case("first product of a process, 256^3", first_call, longest_s=10)]
