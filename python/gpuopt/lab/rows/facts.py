"""What a run ran on: the facts of a row of kind environment, and the state of the device that each block notes.

Unknown is None; units stand in the names. `gpuopt.lab.device.environment` finds them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict


class DeviceState(TypedDict, total=False):
    """The device, and its host, while it was measured.

    ``throttle`` is "none" or the reasons joined by "+". ``load1`` is the operating system's load of the last minute,
    ours with it. ``others_load`` is how many threads of other programs ran or waited, a core that this process may use;
    ``steal_pct`` what the host of a virtual machine took of these cores, ``quota_pct`` the time for which the control
    group's quota held this process back, in percent. ``gpu_others`` is how many other processes were on the GPU.
    """

    core_mhz: float | None
    mem_mhz: float | None
    temp_c: float | None
    power_w: float | None
    throttle: str | None
    load1: float | None
    others_load: float | None
    steal_pct: float | None
    quota_pct: float | None
    gpu_others: int | None


NO_STATE: DeviceState = {
    "core_mhz": None,
    "mem_mhz": None,
    "temp_c": None,
    "power_w": None,
    "throttle": None,
    "load1": None,
    "others_load": None,
    "steal_pct": None,
    "quota_pct": None,
    "gpu_others": None,
}


class DeviceFacts(TypedDict):
    """What OpenCL says of the device."""

    name: str | None
    platform: str | None
    vendor: str | None
    version: str | None
    driver: str | None
    type: str | None
    compute_units: int | None
    clock_mhz: int | None
    global_bytes: int | None
    extensions_sha256: str


class CpuFacts(TypedDict):
    """The host's processor, and what a container leaves of it."""

    model: str | None
    architecture: str
    sockets: int | None
    cores: int | None
    threads: int | None
    usable_threads: int | None
    quota_cpus: float | None
    numa_nodes: int | None
    governor: str | None
    scaling_driver: str | None
    max_mhz: float | None
    no_turbo: str | None
    boost: str | None
    huge_pages: str | None
    llc_bytes: int | None


class MemoryFacts(TypedDict):
    """The host's memory, and what a container leaves of it."""

    total_bytes: int | None
    limit_bytes: int | None


class GpuFacts(TypedDict):
    """What NVML says of the GPU."""

    ecc: bool | None
    mig: bool | None
    power_cap_w: float | None
    max_core_mhz: int | None
    max_mem_mhz: int | None
    set_core_mhz: int | None
    set_mem_mhz: int | None
    pcie_gen: int | None
    pcie_width: int | None
    vbios: str | None


class SourceFacts(TypedDict):
    """The source that the package runs from: its commit, whether files were changed since, the commit that the core was
    built from, and a hash of the code that measures."""

    commit: str | None
    dirty: bool | None
    built: str | None
    code: str | None


class HostState(DeviceState, total=False):
    """What changes by itself, and is no part of the hash."""

    load: float | None
    available_bytes: int | None
    pcie_gen: int | None
    pcie_width: int | None


class Environment(TypedDict, total=False):
    """The facts of a run, of a row of kind environment."""

    device: DeviceFacts | None
    unit: str | None
    cpu: CpuFacts
    memory: MemoryFacts
    gpu: GpuFacts | None
    variables: Mapping[str, str]
    software: Mapping[str, str | None]
    source: SourceFacts | None
    env_hash: str
    state: HostState
