"""How much memory a problem may take: half of what is free, on the host and on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpuopt import host_memory
from gpuopt._core import Device, ParameterError


@dataclass(frozen=True)
class Needs:
    """Bytes a problem takes on the host (at the worst moment of its making) and on the device."""

    host: int
    device: int


def fit(
    extents: tuple[int, ...],
    needs: Callable[[tuple[int, ...]], Needs],
    halve: Callable[[tuple[int, ...]], tuple[int, ...]],
    device: Device | None = None,
    max_bytes: int | None = None,
) -> tuple[tuple[int, ...], list[str]]:
    """Return ``extents``, halved as often as needed to fit, and sentences that say what is needed and what was done.

    The limit is ``max_bytes`` on host and device each, else half of what is free there. A device that shares the host's
    memory, and any device while none is named, counts on the host as well. Raises ``ParameterError`` where even the
    smallest problem does not fit.
    """
    shared = device is None or device.unified_memory or device.type == "cpu"
    host_limit, device_limit = max_bytes, max_bytes
    if max_bytes is None:
        free = host_memory.free_bytes()
        host_limit = None if free is None else free // 2
        device_limit = None if device is None else device.global_bytes // 2

    def over(need: Needs) -> str | None:
        on_host = need.host + (need.device if shared else 0)
        if host_limit is not None and on_host > host_limit:
            return f"{_megabytes(on_host)} on the host, where {_megabytes(host_limit)} may be taken"
        if device_limit is not None and need.device > device_limit:
            return f"{_megabytes(need.device)} on the device, where {_megabytes(device_limit)} may be taken"
        return None

    wanted, first_excess = extents, over(needs(extents))
    while (excess := over(needs(extents))) is not None:
        smaller = halve(extents)
        if smaller == extents:
            raise ParameterError(f"max_bytes: even the smallest problem, {_by(extents)}, needs {excess}; free memory")
        extents = smaller
    need = needs(extents)
    notes = [f"memory needed: {_megabytes(need.host)} on the host, {_megabytes(need.device)} on the device"]
    if first_excess is not None:
        limit = "max_bytes" if max_bytes is not None else "half of the free memory"
        notes.append(f"shrunk from {_by(wanted)} to {_by(extents)} to fit {limit}: it needed {first_excess}")
    return extents, notes


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e6:.2g} MB"


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
