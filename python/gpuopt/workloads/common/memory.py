"""How much memory a problem may take: half of what is free on the host, half of the device's, and in one buffer what
the device allows. Checked before any data are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpuopt import host_memory
from gpuopt._core import Device
from gpuopt.problem import TooLargeError


@dataclass(frozen=True)
class Needs:
    """Bytes a problem takes on the host (at the worst moment of its making), on the device, and there in the largest
    buffer."""

    host: int
    device: int
    largest: int = 0


@dataclass(frozen=True)
class _Limits:
    """What may be taken, None where nobody knows; ``shared``: what is on the device is on the host as well."""

    host: int | None
    device: int | None
    buffer: int | None
    shared: bool
    told: str  # where the limits come from

    @classmethod
    def of(cls, device: Device | None, max_bytes: int | None = None, share: float = 0.5) -> _Limits:
        shared = device is None or device.unified_memory or device.type == "cpu"
        buffer = None if device is None else getattr(device, "max_alloc_bytes", None)
        if max_bytes is not None:
            return cls(max_bytes, max_bytes, buffer, shared, "max_bytes")
        free = host_memory.free_bytes()
        host = None if free is None else int(share * free)
        own = None if device is None else int(share * device.global_bytes)
        return cls(host, own, buffer, shared, "half of the free memory" if share == 0.5 else "the free memory")

    def excess(self, need: Needs) -> str | None:
        """What is needed where less may be taken, None where it fits."""
        on_host = need.host + (need.device if self.shared else 0)
        if self.host is not None and on_host > self.host:
            return f"{_megabytes(on_host)} on the host, where {_megabytes(self.host)} may be taken"
        if self.device is not None and need.device > self.device:
            return f"{_megabytes(need.device)} on the device, where {_megabytes(self.device)} may be taken"
        if self.buffer is not None and need.largest > self.buffer:
            return f"{_megabytes(need.largest)} in one buffer, where the device allows {_megabytes(self.buffer)}"
        return None


def check(
    argument: str,
    asked: str,
    needs: Needs,
    device: Device | None = None,
    share: float = 0.5,
    max_bytes: int | None = None,
) -> None:
    """Raise ParameterError, which names ``argument``, what is needed and what may be taken, where ``asked`` does not
    fit this share of the free memory, or ``max_bytes``."""
    limits = _Limits.of(device, max_bytes, share)
    if (excess := limits.excess(needs)) is not None:
        raise TooLargeError(f"{argument}: {asked} needs {excess} ({limits.told}); give a smaller size")


def fit(
    extents: tuple[int, ...],
    needs: Callable[[tuple[int, ...]], Needs],
    halve: Callable[[tuple[int, ...]], tuple[int, ...]],
    device: Device | None = None,
    max_bytes: int | None = None,
    argument: str | None = None,
) -> tuple[tuple[int, ...], list[str]]:
    """Return ``extents``, halved as often as needed to fit, and sentences that say what is needed and what was done.

    The limit is ``max_bytes`` on host and device each, else half of what is free there; one buffer may take what the
    device allows. A device that shares the host's memory, and any device while none is named, counts on the host as
    well. With ``argument``, its name, the caller gave the extents: nothing is halved then unless ``max_bytes`` asks for
    it. Raises ``ParameterError`` for such extents that do not fit, and where even the smallest problem does not.
    """
    limits = _Limits.of(device, max_bytes)
    wanted, first_excess = extents, limits.excess(needs(extents))
    while (excess := limits.excess(needs(extents))) is not None:
        smaller = halve(extents)
        if smaller == extents:
            name = "max_bytes" if argument is None or max_bytes is not None else argument
            raise TooLargeError(f"{name}: even the smallest problem, {_by(extents)}, needs {excess}; free memory")
        extents = smaller
    if argument is not None and max_bytes is None and first_excess is not None:
        raise TooLargeError(
            f"{argument}: {_by(wanted)} needs {first_excess} ({limits.told}); {_by(extents)} fits, and max_bytes "
            "(in Python) shrinks a problem"
        )
    need = needs(extents)
    notes = [f"memory needed: {_megabytes(need.host)} on the host, {_megabytes(need.device)} on the device"]
    if first_excess is not None:
        notes.append(f"shrunk from {_by(wanted)} to {_by(extents)} to fit {limits.told}: it needed {first_excess}")
    return extents, notes


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e6:.2g} MB"


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
