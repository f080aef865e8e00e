"""Meters of energy: NVML's counter of an NVIDIA GPU's board, RAPL's counters of a host's processor packages.

A counter moves in steps, so that whoever reads it waits for a step (``gpuopt.lab.run.energy``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Protocol

from gpuopt._core import Device, Error
from gpuopt.lab.device.environment import NvmlGpu
from gpuopt.signals import let_through

_ROOT = Path("/")  # tests put a made-up /sys here

# The share of the time that the power sensors of these boards sample: 25 ms of every 100 ms (Yang, Adamek and Armour,
# arXiv 2312.02741, of A100 and H100). The H200 has H100's chip.
SENSOR_PCT = 25.0
_SAMPLED = re.compile(r"\b(A100|H100|H200)\b")


class MeterError(Error):
    """A meter that cannot be read any more, or whose readings cannot be true."""


class Meter(Protocol):
    """A counter of energy.

    ``source`` is what rows call it, ``interval_s`` the seconds between two steps of its counter, ``sensor_pct`` the
    share of the time that its sensor samples, in percent, None where nobody has published it.
    """

    @property
    def source(self) -> str: ...

    @property
    def interval_s(self) -> float: ...

    @property
    def sensor_pct(self) -> float | None: ...

    def begin(self) -> None:
        """Before a series of readings: what was counted since the last series is of no interest."""

    def joules(self) -> float:
        """The counter now; only differences within a series mean something. Raises MeterError."""

    def watts(self) -> float | None:
        """The power now by a sensor of its own, None without one. Raises MeterError."""


def meter_of(device: Device) -> Meter | str:
    """The meter of a device, or the reason why it has none, as a clause."""
    if device.type == "cpu":
        return RaplMeter.found()
    maker = f"{device.vendor} {device.platform}"
    if device.type != "gpu" or "nvidia" not in maker.lower():
        return f"no meter is known for a device of {device.vendor}: GPUs of NVIDIA and CPUs have one"
    gpu = NvmlGpu.of(device)
    if gpu is None:
        return "NVML does not show this GPU; it needs the package nvidia-ml-py and a GPU whose name or address is clear"
    meter = NvmlMeter(gpu, device.name)
    try:
        meter.joules()
    except MeterError as error:
        return f"{error}; GPUs count it from Volta on"
    return meter


class NvmlMeter:
    """The energy that an NVIDIA board has taken since its driver was loaded: in steps of 100 ms (seen on an
    H200), memory and voltage regulators with the chip. The instant power beside it is field 186, not the mean of
    a second that `nvmlDeviceGetPowerUsage` gives."""

    source, interval_s = "nvml", 0.1

    def __init__(self, gpu: NvmlGpu, name: str) -> None:
        self._gpu = gpu
        self.sensor_pct = SENSOR_PCT if _SAMPLED.search(name) else None

    def begin(self) -> None:
        """Its counter of 64 bits does not wrap."""

    def joules(self) -> float:
        """The board's total energy."""
        millijoules = self._gpu.ask("nvmlDeviceGetTotalEnergyConsumption")
        if millijoules is None:
            raise MeterError("NVML does not tell the energy of this GPU")
        return float(millijoules) * 1e-3

    def watts(self) -> float | None:
        """The board's power, of the last sample; None for a GPU or an NVML without this field."""
        fields = self._gpu.ask("nvmlDeviceGetFieldValues", [_POWER_INSTANT])
        if not fields or getattr(fields[0], "nvmlReturn", 1) != 0:
            return None
        value: Any = fields[0].value
        return float(value.uiVal) * 1e-3


_POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT, in mW


class RaplMeter:
    """The energy of all processor packages of the host, in steps of about 1 ms: cores, caches and memory controllers,
    of whatever program; memory itself is no part of it. Linux shows AMD's counters under the same name as Intel's."""

    source, interval_s, sensor_pct = "rapl", 1e-3, None

    def __init__(self, packages: list[Path]) -> None:
        self._packages = packages
        self._ranges = [_microjoules(package / "max_energy_range_uj") for package in packages]
        self._last = [_microjoules(package / "energy_uj") for package in packages]
        self._counted = 0

    @classmethod
    def found(cls) -> RaplMeter | str:
        """The meter of this host, or the reason why it has none."""
        domains = sorted((_ROOT / "sys/class/powercap").glob("intel-rapl:*"))
        packages = [domain for domain in domains if _is_package(domain)]
        if not packages:
            return "there is no package in /sys/class/powercap/intel-rapl:*, as in most virtual machines"
        try:
            return cls(packages)
        except MeterError as error:
            return str(error)

    def begin(self) -> None:
        """Takes the counters as they are: they may have wrapped any number of times."""
        self._last = [_microjoules(package / "energy_uj") for package in self._packages]

    def joules(self) -> float:
        """What all packages have taken since the meter was made, wraps of their counters counted."""
        now = [_microjoules(package / "energy_uj") for package in self._packages]
        steps = 0
        for package, before, after, most in zip(self._packages, self._last, now, self._ranges, strict=True):
            step = after - before if after >= before else after - before + most
            if step < 0 or 2 * step > most:  # a wrap leaves a small step, a counter that was reset a large one
                raise MeterError(f"{package.name}: its counter went from {before} to {after} uJ, which is no wrap")
            steps += step
        self._counted += steps
        self._last = now
        return self._counted * 1e-6

    def watts(self) -> None:
        """RAPL has no sensor of power beside its counter."""


def _is_package(domain: Path) -> bool:
    try:
        return (domain / "name").read_text().startswith("package")
    except OSError as error:
        let_through(error)
        return False


def _microjoules(file: Path) -> int:
    try:
        return int(file.read_text())
    except PermissionError as error:
        let_through(error)
        raise MeterError(
            f"/sys/class/powercap/{file.parent.name}/{file.name} is for root alone; as root: chmod a+r "
            f"/sys/class/powercap/intel-rapl:*/{file.name}"
        ) from None
    except (OSError, ValueError) as error:
        let_through(error)
        raise MeterError(f"/sys/class/powercap/{file.parent.name}/{file.name} cannot be read: {error}") from None
