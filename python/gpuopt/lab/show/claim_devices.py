"""What devices are called beside claims, in which order they stand, and how a command means them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpuopt.lab.rows.claims import Finding

SHORT_NAME = 16
POCL, INTEL = "Portable Computing Language", "Intel(R) OpenCL"  # platforms whose CPUs people call by the runtime
Findings = Mapping[str, Mapping[Any, Finding]]  # by device and claim


def short_name(device: str, ending: int = 0) -> str:
    """`H200`, `Xeon CPU`: a device's own name in the heading of a column. Of a long one the beginning, and as many
    letters of its end."""
    name = device.removeprefix("NVIDIA ").removesuffix(" Processor").replace("(R)", "").replace("(TM)", "").strip()
    return name if len(name) <= SHORT_NAME else f"{name[: SHORT_NAME - 1 - ending]}…{name[len(name) - ending :]}"


def labels(found: Findings) -> dict[str, str]:
    """What each device is called: `H200`, or `PoCL` and `Intel` of CPUs by their runtimes. Of two that would have one
    name, each has its own."""
    made = {device: _runtime(_any(of)) or short_name(device) for device, of in found.items()}
    for ending in (0, SHORT_NAME // 2):
        many = Counter(made.values())
        made = {device: name if many[name] == 1 else short_name(device, ending) for device, name in made.items()}
    seen: Counter[str] = Counter()
    for device, name in made.items():
        seen[name] += 1
        made[device] = name if seen[name] == 1 else f"{name} #{seen[name]}"
    return made


def ordered(found: Findings) -> list[str]:
    """GPUs, then PoCL, then Intel's runtime on CPUs, then what else there is; the same order for each paper."""

    def place(device: str) -> int:
        first = _any(found[device])
        names = ["PoCL", "Intel"]
        runtime = _runtime(first)
        return 0 if first and first.device_type == "gpu" else 1 + names.index(runtime) if runtime else 3

    return sorted(found, key=place)


def selector(found: Mapping[Any, Finding]) -> str:
    """What `--device` means this device by: empty of a GPU, which is the default where there is one."""
    first = _any(found)
    runtime = _runtime(first)
    if runtime:
        return {"PoCL": "portable", "Intel": "intel"}[runtime]
    return "cpu" if first and first.device_type == "cpu" else ""


def _any(found: Mapping[Any, Finding]) -> Finding | None:
    return next(iter(found.values()), None)


def _runtime(first: Finding | None) -> str:
    if first is None or first.device_type != "cpu":
        return ""
    return "PoCL" if first.platform.startswith(POCL) else "Intel" if first.platform.startswith(INTEL) else ""
