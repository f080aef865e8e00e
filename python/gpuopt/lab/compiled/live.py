"""What a driver compiled a kernel to, for the device at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuopt._core import Device
from gpuopt.lab.compiled.listing import Listing
from gpuopt.lab.compiled.tools import ToolError


def read(
    device: Device, code: Mapping[str, Any], kernel: Mapping[str, Any], run: Callable[[], None] | None
) -> tuple[Listing, str]:
    """A kernel's listing, and the tools that said it. ``code`` and ``kernel`` are as a plan tells them; ``run`` lets a
    runtime compile what it compiles late, where there is something to run. Raises ToolError and ListingError."""
    raise ToolError(f"no reader of what {device.platform} compiles to is here yet")
