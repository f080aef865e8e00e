"""What a run ran on: facts that are recorded once and hashed, and the device's clocks while it measures.

Unknown is None. Nothing here names the host, the user or a path.
"""

from __future__ import annotations

import functools
import getpass
import importlib.metadata
import os
import platform
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuopt import _core, host_memory
from gpuopt._core import Device
from gpuopt.doctor import VARIABLES
from gpuopt.lab.device import source, sysfs_gpu
from gpuopt.lab.rows.environments import identity
from gpuopt.lab.rows.facts import NO_STATE, CpuFacts, DeviceFacts, DeviceState, Environment, GpuFacts, HostState
from gpuopt.lab.rows.schema import plain, sha256
from gpuopt.signals import let_through
from gpuopt.unit import unit_of

_ROOT = Path("/")  # tests put a made-up /proc and /sys here

# NVML's reasons for a clock below the highest; an idle GPU and clocks that somebody set are no throttling.
_THROTTLE_BITS = {
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal",
    0x040: "hw_thermal",
    0x080: "hw_power_brake",
    0x100: "display_clock",
    0x200: "board_limit",
    0x400: "reliability",
}


def environment(device: Device | None = None) -> Environment:
    """The facts of a run: device, unit, cpu, memory, gpu, variables, software, source; with `env_hash` and `state`.

    ``env_hash`` is the SHA-256 of the facts by which one environment differs from another
    (:func:`gpuopt.lab.rows.environments.identity`); ``state`` holds what changes by itself (load, free memory, clocks).
    ``device`` is a gpuopt.Device, None for the host alone. Takes some ms; made for once a run.
    """
    found: Environment = {
        "device": _device_facts(device),
        "unit": None if device is None else unit_of(device),
        "cpu": _cpu_facts(),
        "memory": {"total_bytes": host_memory.total_bytes(), "limit_bytes": host_memory.limit_bytes()},
        "gpu": _gpu_facts(device),
        "variables": _variables(os.environ),
        "software": _software(),
        "source": source.source(),
    }
    facts: Environment = plain(found)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    now = {"load": load, "available_bytes": host_memory.available_bytes(), **device_state(device), **_pcie_now(device)}
    return {**facts, "env_hash": sha256(identity(facts)), "state": plain(now)}


def device_state(device: Device | None = None) -> DeviceState:
    """The row's `device_state` group now: core_mhz, mem_mhz, temp_c, power_w (NVML's mean of a second), throttle.

    ``throttle`` is "none" or the reasons joined by "+". NVIDIA GPUs through NVML (13 us on an H200, 2026-11-21), others
    through sysfs; CPU devices, and the host for None, through sysfs, else /proc/cpuinfo, whose MHz a virtual machine
    may never change. What the host does meanwhile is None here: `gpuopt.lab.device.conditions` fills it in.
    """
    state = NO_STATE
    if device is None or getattr(device, "type", None) == "cpu":
        host: DeviceState = {"core_mhz": _cpu_mhz(), "temp_c": _cpu_celsius()}
        return state | host
    gpu = NvmlGpu.of(device)
    if gpu is None:
        return state | sysfs_gpu.state(getattr(device, "pci", None) or "")
    milliwatts = gpu.ask("nvmlDeviceGetPowerUsage")
    reasons = gpu.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    told: DeviceState = {
        "core_mhz": gpu.ask("nvmlDeviceGetClockInfo", gpu.nvml.NVML_CLOCK_SM),
        "mem_mhz": gpu.ask("nvmlDeviceGetClockInfo", gpu.nvml.NVML_CLOCK_MEM),
        "temp_c": gpu.ask("nvmlDeviceGetTemperature", gpu.nvml.NVML_TEMPERATURE_GPU),
        "power_w": None if milliwatts is None else milliwatts / 1000.0,
        "throttle": None if reasons is None else throttle_words(reasons),
    }
    return state | told


def clocks_now(device: Device | None) -> DeviceState | None:
    """A GPU's clock and its reasons to throttle alone, which take some us to read; None for what has none to read."""
    if device is None or getattr(device, "type", None) != "gpu":
        return None
    gpu = NvmlGpu.of(device)
    if gpu is None:
        found = sysfs_gpu.state(getattr(device, "pci", None) or "")
        return {"core_mhz": found["core_mhz"], "throttle": found["throttle"]} if found else None
    reasons = gpu.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    clock = gpu.ask("nvmlDeviceGetClockInfo", gpu.nvml.NVML_CLOCK_SM)
    return {"core_mhz": clock, "throttle": None if reasons is None else throttle_words(reasons)}


def gpu_processes(device: Device | None) -> int | None:
    """How many processes beside this one have kernels or memory on an NVIDIA GPU; None for what nobody can tell of."""
    gpu = NvmlGpu.of(device)
    running = None if gpu is None else gpu.ask("nvmlDeviceGetComputeRunningProcesses")
    # In a container the numbers of processes are another system's: ours is one of them, whatever its number.
    return None if running is None else max(0, len({process.pid for process in running}) - 1)


def throttle_words(reasons: int) -> str:
    """NVML's bit mask of throttle reasons as words joined by "+"; "none" where nothing holds the clocks down."""
    return "+".join(word for bit, word in _THROTTLE_BITS.items() if reasons & bit) or "none"


def is_throttled(states: Iterable[DeviceState]) -> bool:
    """Whether any of these device states earns the flag `throttled`."""
    return any(state["throttle"] not in (None, "none") for state in states)


def device_label(device: Device) -> str:
    """What rows call a device: its name, with the number that tells it from others of that name on its platform."""
    return device.key.removeprefix(f"{device.platform} / ")


def slug(name: str) -> str:
    """A device's name as part of a file's."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:48]


def llc_bytes() -> int | None:
    """Bytes of the host's last-level data caches together, as sysfs or else /proc/cpuinfo says."""
    caches = [
        (int(_read(f"{index}/level") or 0), index)
        for index in _glob("sys/devices/system/cpu/cpu[0-9]*/cache/index*")
        if _read(f"{index}/type") != "Instruction"
    ]
    last = max(caches, default=(0, ""))[0]
    # Cores that share a cache each show it.
    sizes = {_read(f"{at}/shared_cpu_list") or at: _bytes(_read(f"{at}/size")) for level, at in caches if level == last}
    known = [size for size in sizes.values() if size]
    return sum(known) if known else _bytes(_cpuinfo("cache size"))


def _bytes(text: str | None) -> int | None:
    match = re.fullmatch(r"(\d+)\s*([KMG]?)B?", text or "", re.IGNORECASE)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()] if match else None


def _read(path: str) -> str | None:
    try:
        return (_ROOT / path).read_text(errors="replace").strip()
    except OSError as error:
        let_through(error)
        return None


def _glob(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(_ROOT)) for path in _ROOT.glob(pattern))


def _number(text: str | None, scale: float = 1.0) -> float | None:
    try:
        return float(text or "") * scale
    except ValueError:
        return None


def _cpuinfo(name: str) -> str | None:
    match = re.search(rf"^{name}\s*:\s*(.+)$", _read("proc/cpuinfo") or "", re.MULTILINE)
    return match[1].strip() if match else None


def _device_facts(device: Device | None) -> DeviceFacts | None:
    if device is None:
        return None
    extensions = getattr(device, "extensions", None) or []
    words = extensions.split() if isinstance(extensions, str) else extensions
    return {
        "name": getattr(device, "name", None),
        "platform": getattr(device, "platform", None),
        "vendor": getattr(device, "vendor", None),
        "version": getattr(device, "version", None),
        "driver": getattr(device, "driver", None),
        "type": getattr(device, "type", None),
        "compute_units": getattr(device, "compute_units", None),
        "clock_mhz": getattr(device, "clock_mhz", None),
        "global_bytes": getattr(device, "global_bytes", None),
        "extensions_sha256": sha256(sorted(set(words))),
    }


def _cpu_facts() -> CpuFacts:
    cpu = "sys/devices/system/cpu"
    cores = {(_read(f"{at}/physical_package_id"), _read(f"{at}/core_id")) for at in _glob(f"{cpu}/cpu[0-9]*/topology")}
    part = f"implementer {_cpuinfo('CPU implementer')} part {_cpuinfo('CPU part')}" if _cpuinfo("CPU part") else None
    huge_pages = re.search(r"\[(\w+)\]", _read("sys/kernel/mm/transparent_hugepage/enabled") or "")
    return {
        "model": _cpuinfo("model name") or part or platform.processor() or None,
        "architecture": platform.machine(),
        "sockets": len({package for package, _ in cores}) or None,
        "cores": len(cores) or None,
        "threads": os.cpu_count(),
        "usable_threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "quota_cpus": _quota_cpus(),
        "numa_nodes": len(_glob("sys/devices/system/node/node[0-9]*")) or None,
        "governor": _read(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "scaling_driver": _read(f"{cpu}/cpu0/cpufreq/scaling_driver"),
        "max_mhz": _number(_read(f"{cpu}/cpu0/cpufreq/cpuinfo_max_freq"), 1e-3),
        "no_turbo": _read(f"{cpu}/intel_pstate/no_turbo"),
        "boost": _read(f"{cpu}/cpufreq/boost"),
        "huge_pages": huge_pages[1] if huge_pages else None,
        "llc_bytes": llc_bytes(),
    }


def _quota_cpus() -> float | None:
    """The CPUs that the process's control groups let it use, the least of them all."""
    cpus = []
    for folder in host_memory.control_groups():
        quota, period = (*(host_memory.text_of(folder / "cpu.max") or "").split(), None, None)[:2]
        share = _number(quota or host_memory.text_of(folder / "cpu.cfs_quota_us"))
        of = _number(period or host_memory.text_of(folder / "cpu.cfs_period_us"))
        cpus += [share / of] if share and of and share > 0 else []
    return min(cpus, default=None)


def _cpu_mhz() -> float | None:
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    sampled = usable[:: -(-len(usable) // 16)]  # each read may interrupt that core
    clocks = [_number(_read(f"sys/devices/system/cpu/cpu{i}/cpufreq/scaling_cur_freq"), 1e-3) for i in sampled]
    known = [mhz for mhz in clocks if mhz]
    if not known:
        known = [
            float(mhz) for mhz in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", _read("proc/cpuinfo") or "", re.MULTILINE)
        ]
    return sum(known) / len(known) if known else None


def _cpu_celsius() -> float | None:
    for name in _glob("sys/class/hwmon/hwmon*/name"):
        if _read(name) in ("coretemp", "k10temp", "zenpower"):
            return _number(_read(f"{Path(name).parent}/temp1_input"), 1e-3)
    for kind in _glob("sys/class/thermal/thermal_zone*/type"):
        if _read(kind) == "x86_pkg_temp":
            return _number(_read(f"{Path(kind).parent}/temp"), 1e-3)
    return None


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer OpenCL and thread pools, with paths, names and secrets hidden."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError) as error:
        let_through(error)
        user = ""
    names = [re.escape(name) for name in (platform.node(), platform.node().split(".")[0], user) if name]
    private = re.compile(rf"[^\s=;,]*[/\\@][^\s;,]*|\b(?:{'|'.join(names) or '(?!)'})\b")
    return {
        name: "<hidden>" if re.search("HOST|REMOTE|KEY|TOKEN|SECRET|PASS", name) else private.sub("<hidden>", value)
        for name, value in sorted(environ.items())
        if name.startswith(VARIABLES)
    }


def _software() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for package in ("gpuopt", "numpy", "scipy", "nvidia-ml-py"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = _core.__version__ if package == "gpuopt" else None
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"os": f"{platform.system()} {platform.release()}", "python": python, **versions}


@functools.lru_cache(maxsize=1)
def _nvml(process: int) -> Any:
    """NVML's Python module, initialised in this process (a forked one starts anew); None without it or its driver."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an older package of the same module name warns of its own end
            import pynvml
        pynvml.nvmlInit()
    except Exception as error:  # no package, no library, no driver, a driver and library that do not match
        let_through(error)
        return None
    return pynvml


class NvmlGpu:
    """An NVIDIA GPU as NVML knows it."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml, self.handle = nvml, handle

    @classmethod
    def of(cls, device: Device | None) -> NvmlGpu | None:
        """The GPU behind an OpenCL device: by PCI address if the device has `pci`, else by an unambiguous name."""
        maker = f"{getattr(device, 'vendor', '')} {getattr(device, 'platform', '')}".lower()
        if device is None or getattr(device, "type", None) != "gpu" or "nvidia" not in maker:
            return None
        return cls._find(
            os.getpid(), device.name, getattr(device, "pci", None) or None, os.environ.get("CUDA_VISIBLE_DEVICES")
        )

    @classmethod
    @functools.lru_cache(maxsize=64)
    def _find(cls, process: int, name: str, pci: str | None, visible: str | None) -> NvmlGpu | None:
        nvml = _nvml(process)
        if nvml is None:
            return None
        try:
            if pci:
                return cls(nvml, nvml.nvmlDeviceGetHandleByPciBusId(pci))
            handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
            same = [handle for handle in handles if _text(nvml.nvmlDeviceGetName(handle)) == name]
            if len(same) > 1 and visible and "," not in visible:
                chosen = handles[int(visible)] if visible.isdigit() else nvml.nvmlDeviceGetHandleByUUID(visible)
                same = [chosen] if _text(nvml.nvmlDeviceGetName(chosen)) == name else []
        except (nvml.NVMLError, IndexError):
            return None
        return cls(nvml, same[0]) if len(same) == 1 else None  # the clocks of the wrong GPU are worse than none

    def ask(self, function: str, *arguments: Any) -> Any:
        """NVML's answer; None where this NVML or this GPU has none."""
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except (AttributeError, self.nvml.NVMLError):
            return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _gpu_facts(device: Device | None) -> GpuFacts | None:
    gpu = NvmlGpu.of(device)
    if gpu is None:
        return None
    ecc, mig = gpu.ask("nvmlDeviceGetEccMode"), gpu.ask("nvmlDeviceGetMigMode")
    cap = gpu.ask("nvmlDeviceGetEnforcedPowerLimit")
    return {
        "ecc": bool(ecc[0]) if ecc else None,
        "mig": bool(mig[0]) if mig else None,
        "power_cap_w": None if cap is None else cap / 1000.0,
        "max_core_mhz": gpu.ask("nvmlDeviceGetMaxClockInfo", gpu.nvml.NVML_CLOCK_SM),
        "max_mem_mhz": gpu.ask("nvmlDeviceGetMaxClockInfo", gpu.nvml.NVML_CLOCK_MEM),
        "set_core_mhz": gpu.ask("nvmlDeviceGetApplicationsClock", gpu.nvml.NVML_CLOCK_SM),
        "set_mem_mhz": gpu.ask("nvmlDeviceGetApplicationsClock", gpu.nvml.NVML_CLOCK_MEM),
        "pcie_gen": gpu.ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie_width": gpu.ask("nvmlDeviceGetMaxPcieLinkWidth"),
        "vbios": _text(gpu.ask("nvmlDeviceGetVbiosVersion") or "") or None,
    }


def _pcie_now(device: Device | None) -> HostState:
    """The link as it stands; a GPU lowers it when idle, so it is no fact of the environment."""
    gpu = NvmlGpu.of(device)
    if gpu is None:
        return {}
    return {
        "pcie_gen": gpu.ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie_width": gpu.ask("nvmlDeviceGetCurrPcieLinkWidth"),
    }
