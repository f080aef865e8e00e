"""How much memory an attacked process may take."""

from __future__ import annotations

import resource
import time
from pathlib import Path


def limit_memory(more: int, device: str | int | None = None) -> None:
    """No more memory of its own than ``more`` bytes beyond what the process has when its device is in use. The machine
    outlives a bomb. Addresses are not counted: drivers, and the C library for each thread, reserve many that they never
    touch."""
    from gpuopt import lab
    from gpuopt.selection import select

    # Its compiler too, of which NVIDIA's takes a GB: no stored binary is of a text that tells the time.
    text = f"kernel void one(global float* y) {{ y[get_global_id(0)] = 1; }} // {time.time_ns()}"
    one = lab.Kernel(text, "one", arguments=[lab.output("y", 1)], launch=lab.launch(items=1, local=1))
    one(device=select(device))
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # private and writable
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))
