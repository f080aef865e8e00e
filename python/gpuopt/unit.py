"""Which physical device a device is: a short hash that tells two equal devices apart, of one host or of two.

No name, address or serial number leaves the machine: all that is kept is twelve digits of a keyed hash.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import platform
from pathlib import Path

from gpuopt import _core
from gpuopt._core import Device
from gpuopt.host_memory import text_of

_ROOT = Path("/")  # tests put a made-up /etc here
HOST_VARIABLE = "GPUOPT_HOST"  # names the host where copies of one container would all have the same machine id


def unit_of(device: Device) -> str:
    """Twelve hexadecimal digits for the physical device.

    Of an NVIDIA GPU they are made from its UUID, which no other GPU has; other drivers make a UUID of what equal
    devices share, so that of other GPUs they are made from the host and the PCI address, or without one from the
    device's key, which numbers equal devices. Of a CPU: from the host and the platform.
    """
    kind = str(getattr(device, "type", None))
    nvidia = "cl_nv_device_attribute_query" in (getattr(device, "extensions", None) or ())
    uuid, pci = str(getattr(device, "uuid", "")), str(getattr(device, "pci", ""))
    if kind == "cpu":
        return _digest(host(), kind, str(getattr(device, "platform", "")))
    if nvidia and uuid:
        return _digest(uuid)
    return _digest(host(), kind, pci or str(getattr(device, "key", "")))


def host() -> str:
    """What tells this machine from others: the variable GPUOPT_HOST, else the operating system's machine id, else the
    host's name. For hashing alone: it is never to be shown or kept."""
    return _host(os.environ.get(HOST_VARIABLE, ""))


@functools.lru_cache(maxsize=4)
def _host(named: str) -> str:
    files = (text_of(_ROOT / name) for name in ("etc/machine-id", "var/lib/dbus/machine-id"))
    return named or next(filter(None, files), "") or platform.node()


def _digest(*parts: str) -> str:
    return hmac.new(b"gpuopt", "\0".join(parts).encode(), hashlib.sha256).hexdigest()[:12]


def has_twins(device: Device) -> bool:
    """Whether this machine shows several devices of this platform and name."""
    alike = [d for d in _core.devices() if (d.platform, d.name) == (device.platform, device.name)]
    return len(alike) > 1
