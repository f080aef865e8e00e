"""Clocks, temperature, power and throttling of AMD's and Intel's GPUs, as Linux's sysfs shows them by PCI address.

Unknown is None. AMD's drivers show no reasons for a low clock in text, so that theirs are unknown.
"""

from __future__ import annotations

from pathlib import Path

from gpuopt.lab.rows.facts import DeviceState
from gpuopt.signals import let_through

_ROOT = Path("/")  # tests put a made-up /sys here

# Where i915 and xe keep the clock and, a file a reason, what holds it down: `1` in the file means now.
_INTEL = (
    ("drm/card*/gt/gt*", "rps_act_freq_mhz", "throttle_reason_"),
    ("tile*/gt*/freq0", "act_freq", "throttle/reason_"),
)


def state(pci: str) -> DeviceState:
    """What sysfs says now of the GPU at this address; an empty mapping for a device that it does not show."""
    at = _ROOT / "sys/bus/pci/devices" / pci
    if not pci or not at.is_dir():
        return {}
    sensors = next(iter(sorted(at.glob("hwmon/hwmon*"))), None)
    found: DeviceState = {"core_mhz": None, "mem_mhz": None, "temp_c": None, "power_w": None}
    if sensors is not None:
        found["core_mhz"], found["mem_mhz"] = (
            _number(sensors / "freq1_input", 1e-6),
            _number(sensors / "freq2_input", 1e-6),
        )
        found["temp_c"] = _number(sensors / "temp1_input", 1e-3)
        power = _number(sensors / "power1_average", 1e-6)
        found["power_w"] = _number(sensors / "power1_input", 1e-6) if power is None else power
    found["throttle"] = None
    for pattern, clock, reasons in _INTEL:
        for engine in sorted(at.glob(pattern)):
            mhz = _number(engine / clock)
            found["core_mhz"] = max(filter(None, (found["core_mhz"], mhz)), default=None)
            found["throttle"] = _joined(found["throttle"], _reasons(engine, reasons))
    return found


def _reasons(engine: Path, prefix: str) -> str | None:
    """The reasons of one engine joined by "+", "none" where there is none, None where the driver shows none."""
    files = sorted(engine.glob(f"{prefix}*"))
    named = [file for file in files if not file.name.endswith("status")]
    held = [file.name.rpartition("reason_")[2] for file in named if (_number(file) or 0) > 0]
    return ("+".join(held) or "none") if files else None


def _joined(one: str | None, other: str | None) -> str | None:
    words = [word for told in (one, other) if told not in (None, "none") for word in str(told).split("+")]
    return "+".join(dict.fromkeys(words)) or (other if one is None else one)


def _number(path: Path, scale: float = 1.0) -> float | None:
    try:
        return float(path.read_text()) * scale
    except (OSError, ValueError) as error:
        let_through(error)
        return None
