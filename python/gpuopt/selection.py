"""Which device: the argument, then ``use(...)``, then GPUOPT_DEVICE, then the best one there is."""

from __future__ import annotations

import contextvars
import html
import os
from types import TracebackType
from typing import TypeAlias

from gpuopt import _core
from gpuopt._core import Device, NoDeviceError, ParameterError

Selector: TypeAlias = Device | int | str | None

_chosen: contextvars.ContextVar[Device | None] = contextvars.ContextVar("gpuopt_device", default=None)


class DeviceList(list[Device]):
    """A list of devices that shows itself as a table."""

    _COLUMNS = ("", "device", "platform", "type", "units", "memory GB", "local KiB", "fp64", "images", "driver")

    def _cells(self) -> list[tuple[str, ...]]:
        yes = {True: "yes", False: "no"}
        return [
            (
                str(d.index),
                d.name,
                d.platform,
                d.type,
                str(d.compute_units),
                f"{d.global_bytes * 1e-9:.1f}",
                str(d.local_bytes // 1024),
                yes[d.fp64],
                yes[d.image_support],
                d.driver,
            )
            for d in self
        ]

    def __repr__(self) -> str:
        if not self:
            return "no OpenCL device found; `gpuopt doctor` (python -m gpuopt.doctor) says why"
        table = [self._COLUMNS, *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(self._COLUMNS))]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table
        )

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{html.escape(repr(self))}</p>"
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self._COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def devices() -> DeviceList:
    """All OpenCL devices, best first: GPUs, accelerators, CPUs. Empty when there is none."""
    return DeviceList(_core.devices())


def _matches(device: Device, text: str) -> bool:
    return any(text in field.lower() for field in (device.key, device.vendor, device.version))


def select(device: Selector = None) -> Device:
    """The device meant by ``device``: a Device, its index, a type (``"gpu"``, ``"cpu"``), or part of its name,
    platform or version.

    Raises NoDeviceError when there is no device, ParameterError when none fits.
    """
    if isinstance(device, Device):
        return device
    name = "device"
    if device is None:
        if (chosen := _chosen.get()) is not None:
            return chosen
        if environment := os.environ.get("GPUOPT_DEVICE"):
            device, name = environment, "GPUOPT_DEVICE"
    found = _core.devices()
    if not found:
        raise NoDeviceError("no OpenCL device found; `gpuopt doctor` says why and which line installs one")
    if device is None:
        return found[0]
    text = str(device).strip().lower()
    if text.isdigit():
        if int(text) < len(found):
            return found[int(text)]
    elif isinstance(device, str):
        by_type = [d for d in found if d.type == text]
        fitting = by_type or [d for d in found if _matches(d, text)]
        if fitting:
            return fitting[0]
    known = "; ".join(f"{d.index}: {d.key}" for d in found)
    raise ParameterError(f"{name}: no device fits {device!r}; there are {known}")


class use:
    """Makes a device the default, at once; as a context manager, until the block ends.

    ``device`` is what every ``device=`` argument takes: a Device, an index, a type or part of a name.
    """

    def __init__(self, device: Selector) -> None:
        self.device = select(device)
        self._token = _chosen.set(self.device)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _chosen.reset(self._token)

    def __repr__(self) -> str:
        return f"<gpuopt.use {self.device.key}>"
