"""How much memory an attacked process may take."""

from __future__ import annotations

import resource
from pathlib import Path


def limit_memory(more: int, device: str | int | None = None) -> None:
    """No more memory of its own than ``more`` bytes beyond what the process has when its device is in use. The machine
    outlives a bomb. Addresses are not counted: drivers, and the C library for each thread, reserve many that they never
    touch."""
    import numpy as np

    import gpuopt
    from gpuopt.selection import select

    one = gpuopt.to_device(np.ones((1, 1), np.float32), select(device))
    gpuopt.gemm(one, one).to_numpy()  # its compiler too: NVIDIA's takes a GB
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # private and writable
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))
