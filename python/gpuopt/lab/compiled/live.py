"""What a driver compiled a kernel to, for the device at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpuopt._core import Device
from gpuopt.lab.compiled import intel_cpu, nvidia_gpu, pocl_cpu, tools, x86
from gpuopt.lab.compiled.listing import Listing, ListingError
from gpuopt.lab.compiled.tools import ToolError


def read(
    device: Device, code: Mapping[str, Any], kernel: Mapping[str, Any], run: Callable[[], None] | None
) -> tuple[Listing, str]:
    """A kernel's listing, and the tools that said it. ``code`` and ``kernel`` are as a plan tells them; ``run`` lets a
    runtime compile what it compiles late, where there is something to run. Raises ToolError and ListingError."""
    if device.type == "cpu" and device.platform.startswith("Portable Computing"):
        return _pocl(code, kernel, run), _disassembler()
    if device.type == "cpu" and device.platform.startswith("Intel"):
        found = intel_cpu.listing(code["binary"], kernel["entry_point"], kernel["log"] or "", kernel["local_size"])
        return found, _disassembler()
    if device.platform.startswith("NVIDIA"):
        return nvidia_gpu.read(code["binary"], kernel)
    raise ToolError(f"programs of {device.platform} cannot be read")


def _pocl(code: Mapping[str, Any], kernel: Mapping[str, Any], run: Callable[[], None] | None) -> Listing:
    if not kernel["local_size"]:
        raise ListingError(
            "PoCL compiles a kernel for the size of a work-group when it is first enqueued, and none was"
        )
    if run is not None:
        with suppress(ListingError):
            return pocl_cpu.listing(code["binary"], kernel["entry_point"], kernel["local_size"])
        run()
    return pocl_cpu.listing(code["binary"], kernel["entry_point"], kernel["local_size"])


def _disassembler() -> str:
    path = tools.needed(*x86.TOOLS)
    return f"{Path(path).name} {tools.version(path)}"
