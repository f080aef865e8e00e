"""A problem's inputs on the devices that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from gpuopt._core import Device
from gpuopt.problem import wants_own_inputs

Held = TypeVar("Held")


class OnDevices(Generic[Held]):
    """Calls ``upload(device)`` once for each device, and keeps what it returned for as long as the problem lives; for
    what wants inputs of its own it uploads anew and keeps nothing."""

    def __init__(self, upload: Callable[[Device], Held]) -> None:
        self._upload = upload
        self._held: dict[int, Held] = {}

    def __call__(self, device: Device) -> Held:
        if wants_own_inputs():
            return self._upload(device)
        if device.index not in self._held:
            self._held[device.index] = self._upload(device)
        return self._held[device.index]
