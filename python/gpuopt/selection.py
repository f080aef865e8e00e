"""Which device a call runs on: its ``device=``, else ``with use(...)``, else ``use(...)``, else the environment
variable GPUOPT_DEVICE, else the first of :func:`devices`."""

from __future__ import annotations

import contextvars
import html
import os
import threading
import time
import weakref
from types import TracebackType
from typing import TypeAlias

from gpuopt import _core, pocl
from gpuopt._core import Device, NoDeviceError, ParameterError
from gpuopt.checked import checked
from gpuopt.process_lock import ProcessLock

Selector: TypeAlias = Device | int | str | None

# `_blocks`: devices of the `with use(...)` blocks around the running thread or task, innermost last.
# `_statements`: plain calls of `use(...)`, which hold for the whole process, the latest last.
_blocks: contextvars.ContextVar[tuple[Device, ...]] = contextvars.ContextVar("gpuopt_blocks", default=())
_statements: list[_Statement] = []
_lock = ProcessLock()
_PENDING_S = 0.1  # between `use(...)` and the beginning of its block lie microseconds


class _Statement:
    """A call of `use(...)`, of which only its own thread knows at once that it is not the head of a `with`."""

    def __init__(self, made: use) -> None:
        self.device, self.made, self.thread = made.device, weakref.ref(made), threading.get_ident()
        self.begin = time.monotonic()

    def settled(self) -> bool:
        mine = self.thread == threading.get_ident()
        return mine or self.made() is None or time.monotonic() - self.begin > _PENDING_S


def _chosen() -> Device | None:
    if blocks := _blocks.get():
        return blocks[-1]
    while _statements:
        with _lock.here():  # in which no block begins: what is still there and gone was a statement
            last = _statements[-1] if _statements else None
            if last is None or last.settled():
                return None if last is None else last.device
        time.sleep(1e-3)
    return None


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


@checked
def devices() -> DeviceList:
    """All OpenCL devices, best first: GPUs, then accelerators, then CPUs; an empty list where there is none. Raises
    Error in a forked child of a process that has used them.

    The list prints itself as a table, in a terminal and in Jupyter.

    Examples
    --------
    >>> found = gpuopt.devices()
    >>> [device.index for device in found] == list(range(len(found)))
    True
    """
    return DeviceList(_core.devices())


def _matches(device: Device, text: str) -> bool:
    return any(text in field.lower() for field in (device.key, device.vendor, device.version))


def select(device: Selector = None) -> Device:
    """Return the device that ``device`` means.

    ``device`` is a Device, an index into :func:`devices`, a type (``"gpu"``, ``"cpu"``), or part of a device's name,
    vendor, platform or version, in any case. A number that is not an index, of three digits or more, is read as part of
    a name: ``"4090"``. Of several devices that fit, the first is returned. None returns the default, as the module
    says.

    Raises NoDeviceError where the machine has no device, ParameterError where none of its devices fits.
    """
    if isinstance(device, Device):
        return device
    name = "device"
    if device is None:
        if (chosen := _chosen()) is not None:
            return chosen
        if environment := os.environ.get("GPUOPT_DEVICE"):
            device, name = environment, "GPUOPT_DEVICE"
    found = _core.devices()
    if not found:
        known = pocl.hidden_because() or "`gpuopt doctor` says why and which line installs one"
        raise NoDeviceError(f"no OpenCL device found; {known}")
    if device is None:
        return found[0]
    text = str(device).strip().lower()
    if text.isdecimal() and len(text) < 10 and int(text) < len(found):
        return found[int(text)]
    if isinstance(device, str) and text and not (text.isdecimal() and len(text) < 3):  # of a device that has gone
        by_type = [d for d in found if d.type == text]
        fitting = by_type or [d for d in found if _matches(d, text)]
        if fitting:
            return fitting[0]
    known = "; ".join(f"{d.index}: {d.key}" for d in found)
    hidden = pocl.hidden_because()
    raise ParameterError(f"{name}: no device fits {device!r}; there are {known}{f'. {hidden}' if hidden else ''}")


@checked
class use:
    """Make a device the default.

    ``use("gpu")`` as a statement sets the default of the whole process until the next such statement.
    ``with use("gpu"):`` sets it for the running thread or task until the block ends. Blocks may be nested, and one
    object may be entered several times.

    ``device`` is a Device, an index into :func:`devices`, a type (``"gpu"``, ``"cpu"``), or part of a device's name,
    vendor, platform or version, in any case; the first that fits is taken. None keeps the default. Raises NoDeviceError
    where there is no device, ParameterError where none fits.

    Examples
    --------
    >>> with gpuopt.use(0) as device:
    ...     d = gpuopt.to_device(np.zeros(3, np.float32))
    >>> d.device.index == device.index == 0
    True
    """

    def __init__(self, device: Selector) -> None:
        self.device = select(device)
        if device is None:  # of a block it may be that block's own, which must not become the process's
            return
        with _lock.here():
            ended = [number for number, one in enumerate(_statements) if one.made() is None]  # these begin no block
            _statements[:] = [*_statements[ended[-1] if ended else 0 :], _Statement(self)]

    def __enter__(self) -> Device:
        with _lock.here():  # it was entered with `with`, so it is no process-wide statement
            _statements[:] = [other for other in _statements if other.made() is not self]
        _blocks.set((*_blocks.get(), self.device))
        return self.device

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        held = _blocks.get()
        if self.device in held:  # blocks of a generator may end after others that began later
            last = len(held) - 1 - held[::-1].index(self.device)
            _blocks.set((*held[:last], *held[last + 1 :]))

    def __repr__(self) -> str:
        return f"<gpuopt.use {self.device.key}>"


def reads_ptx(device: Device) -> bool:
    """Whether kernels for this device may contain NVIDIA's PTX. Through PTX they reach tensor cores, asynchronous
    copies and cache hints."""
    return "cl_nv_device_attribute_query" in device.extensions
