"""Explains which OpenCL devices are found and, where there is none, why: `python -m gpuopt.doctor`. Needs NumPy only.

`gather` collects facts of the machine. `report` and `advice` turn these facts into text and look at nothing else.
"""

from __future__ import annotations

import ctypes.util
import glob
import importlib.metadata
import os
import platform
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from gpuopt import pocl
from gpuopt.prefixes import VENDORS, search_prefixes

Facts = dict[str, Any]

DEBIAN_LINE = "apt-get install pocl-opencl-icd        (Debian, Ubuntu; as root)"
PIP_LINE = "pip install 'gpuopt[cpu]'              (x86-64 Linux; no root needed)"
WIDTH = 118
VENDOR_DIR = "/etc/OpenCL/vendors"
DEVICE_FACTS = (
    *("index", "key", "name", "type", "platform", "driver", "compute_units", "global_bytes", "local_bytes"),
    *("timer_ns", "fp64", "fp16", "image_support", "subgroups"),
)
ABILITIES = (("fp64", "fp64"), ("fp16", "fp16"), ("image_support", "images"), ("subgroups", "sub-groups"))
# Environment variables that influence OpenCL and thread pools: beginnings of names, and whole names.
VARIABLES = (
    *("POCL_", "OCL_", "OPENCL_", "CL_", "GPUOPT_"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)
CACHED = ("programs", "native", "tuned", "profiles", "listings")  # folders of the cache


@dataclass(frozen=True)
class Hardware:
    """A kind of GPU: files that show that there is one, its PCI vendor, its OpenCL library and what part of that name
    identifies it, and what to install."""

    name: str
    signs: tuple[str, ...]
    pci_vendor: str
    library_part: str
    library: str
    install: str


HARDWARE = (
    Hardware(
        "an NVIDIA GPU",
        ("/dev/nvidia[0-9]*", "/proc/driver/nvidia/version"),
        "0x10de",
        "nvidia-opencl",
        "libnvidia-opencl.so.1",
        "the OpenCL part of the driver (Debian: nvidia-opencl-icd; Ubuntu: libnvidia-compute-VERSION, with the version "
        "that nvidia-smi shows; in a container: start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
    ),
    Hardware("an AMD GPU", ("/dev/kfd",), "0x1002", "amdocl", "libamdocl64.so", "ROCm's package rocm-opencl-runtime"),
    Hardware("an Intel GPU", (), "0x8086", "igdrcl", "libigdrcl.so", "the package intel-opencl-icd"),
)


# ---------------------------------------------------------------- asking


def gather() -> Facts:
    """Collect the facts of the report. A step that fails leaves its message in `errors`, and the others go on."""
    errors: dict[str, str] = {}

    def ask(step: str, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as error:  # the report has to explain failures, so none may stop it
            errors[step] = f"{type(error).__name__}: {error}"
            return None

    discovery = ask("discovery", _discovery)
    hidden = pocl.is_hidden((discovery or {}).get("platforms") or [])
    return {
        "versions": ask("versions", _versions),
        "discovery": discovery,
        "pocl_cache": ask("PoCL's cache", pocl.unwritable_cache) if hidden else None,
        "devices": ask("devices", _devices) or [],
        "cache": ask("cache", _cache),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(VARIABLES)},
        "extras": ask("extras", _extras),
        "hardware": ask("hardware", _hardware) or [],
        "errors": errors,
    }


def _versions() -> Facts:
    import numpy

    import gpuopt

    return {
        "gpuopt": gpuopt.__version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "numpy": numpy.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }


def _discovery() -> Facts:
    from gpuopt import _core

    return dict(_core.discovery())


def _devices() -> list[Facts]:
    import gpuopt

    return [{fact: getattr(device, fact, None) for fact in DEVICE_FACTS} for device in gpuopt.devices()]


def _cache() -> Facts:
    from gpuopt import _core

    path = Path(_core.cache_dir())
    nearest = next(p for p in (path, *path.parents) if p.exists())
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
    return {
        "path": str(path),
        "exists": path.is_dir(),
        "writable": os.access(nearest, os.W_OK | os.X_OK) and nearest.is_dir(),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "refusals": list(dict.fromkeys(filter(None, map(_core.folder_refusal, CACHED)))),
    }


def _extras() -> dict[str, list[str]]:
    """Return the missing packages of each extra, read from the metadata of gpuopt."""
    missing: dict[str, list[str]] = {}
    try:
        requirements = importlib.metadata.requires("gpuopt") or []
    except importlib.metadata.PackageNotFoundError:  # run from its source folder
        return missing
    for requirement in requirements:
        name, marker = _split(requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)", marker)
        if extra is None or name == "gpuopt" or not _applies(marker):
            continue
        listed = missing.setdefault(extra[1], [])
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            listed.append(name)
    return missing


def _split(requirement: str) -> tuple[str, str]:
    text, _, marker = requirement.partition(";")
    name = re.match(r"[A-Za-z0-9._-]+", text.strip())
    return (name[0] if name else text.strip()), marker


def _applies(marker: str) -> bool:
    """Whether the platform conditions of a requirement's marker hold. Only the two kinds that gpuopt uses are
    understood."""
    here = {"platform_machine": platform.machine(), "sys_platform": sys.platform}
    return all(here[key] == value for key, value in re.findall(r"(\w+)\s*==\s*['\"](\w+)['\"]", marker) if key in here)


def _hardware() -> list[Facts]:
    """Return the GPUs that the machine shows outside OpenCL, and the device files that this user may not open."""
    vendors = {Path(file).read_text().strip() for file in glob.glob("/sys/class/drm/card*/device/vendor")}
    nodes = [*glob.glob("/dev/dri/renderD*"), *glob.glob("/dev/kfd")]
    closed = [node for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    found = []
    for kind in HARDWARE:
        signs = [sign for pattern in kind.signs for sign in glob.glob(pattern)]
        if signs or kind.pci_vendor in vendors:
            sign = signs[0] if signs else f"PCI vendor {kind.pci_vendor}"
            stem = kind.library.removeprefix("lib").partition(".so")[0]
            found.append({"name": kind.name, "sign": sign, "library_found": bool(ctypes.util.find_library(stem))})
    return [*found, *({"name": node, "closed": True} for node in closed)]


# ---------------------------------------------------------------- telling


def report(facts: Mapping[str, Any]) -> str:
    """Return what was found as text for a terminal. The last section says what to do, where something has to be
    done."""
    sections = [
        ("gpuopt doctor", _about(facts.get("versions"), facts.get("environment") or {})),
        ("OpenCL loader", _loader(facts.get("discovery"))),
        ("ICD files (each names the library of one vendor)", _vendor_files(facts.get("discovery"))),
        ("platforms", _platforms(facts.get("discovery"))),
        ("devices, best first", device_lines(facts.get("devices") or [])),
        ("meters of energy", list(facts.get("meters") or [])),
        ("compilers and disassemblers (gpuopt isa)", list(facts.get("tools") or [])),
        ("cache of built programs", _cache_lines(facts.get("cache"))),
        ("extras", _extra_lines(facts.get("extras"))),
        ("what could not be asked", [f"!!  {step}: {text}" for step, text in (facts.get("errors") or {}).items()]),
        ("what to do", [f"{number}.  {text}" for number, text in enumerate(advice(facts), 1)]),
    ]
    return "\n\n".join("\n".join([title, *_wrapped(lines)]) for title, lines in sections if lines)


def _wrapped(lines: Sequence[str]) -> list[str]:
    """Return lines indented and at most 118 wide. Line breaks inside an item are kept; commands and paths are not
    broken."""
    out = []
    for part in (part for line in lines for part in line.splitlines()):
        indent = len(part) - len(part.lstrip())
        out += textwrap.wrap(
            part.lstrip(),
            WIDTH,
            initial_indent=" " * (indent + 2),
            subsequent_indent=" " * (max(indent, 4) + 2),
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
    return out


def advice(facts: Mapping[str, Any]) -> list[str]:
    """Return what the user should do about each problem found, the most useful first; empty where there is none."""
    found = facts.get("discovery") or {}
    files = found.get("vendor_files") or []
    setting = found.get("user_setting")
    devices = facts.get("devices") or []
    out: list[str] = []
    for seen in facts.get("hardware") or []:
        out += _hardware_advice(seen, files)
    if not devices and setting:
        out.append(
            f"{setting[0]}={setting[1]} is set, so the loader looks there and nowhere else: unset {setting[0]}, or let "
            f"it name a directory that holds the right .icd files (usually {VENDOR_DIR})"
        )
    for file in files:
        if file["status"] == "library not found":
            out.append(
                f"{file['path']} names {file['library']}, which is not there: reinstall the package that owns the "
                "file, or remove the file"
            )
    if found.get("prefix_dir_error"):
        out.append(
            "give this user a directory for temporary files, with room: free some, or set TMPDIR to another; the "
            "runtimes installed beside this Python are shown to the loader through it"
        )
    if facts.get("pocl_cache"):
        out.append(pocl.advice(facts["pocl_cache"]))
    elif not devices:
        out.append(f"install a CPU device, either\n        {DEBIAN_LINE}\n        {PIP_LINE}")
    cache = facts.get("cache")
    if cache and (cache.get("refusals") or not cache["writable"]):
        reason = "; ".join(cache.get("refusals") or [f"{cache['path']} is not writable"])
        out.append(
            f"{reason}, so kernels are built again in each process: set GPUOPT_CACHE_DIR to a folder of your own"
        )
    return out


def _hardware_advice(seen: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> list[str]:
    if seen.get("closed"):
        return [f"this user may not open {seen['name']}: add it to the groups render and video, then log in again"]
    kind = next(kind for kind in HARDWARE if kind.name == seen["name"])
    if any(kind.library_part in file["library"] for file in files):
        return []
    place = f"{kind.name} is there ({seen['sign']}), but no ICD file names its OpenCL library"
    if not seen["library_found"]:
        return [f"{place}, and {kind.library} is not installed: install {kind.install}"]
    stem = kind.library_part.partition("-")[0]
    line = f"mkdir -p {VENDOR_DIR} && echo {kind.library} > {VENDOR_DIR}/{stem}.icd"
    return [f"{place}, although {kind.library} is installed: as root\n        {line}"]


def _about(versions: Mapping[str, Any] | None, environment: Mapping[str, str]) -> list[str]:
    lines = []
    if versions:
        lines.append(f"gpuopt {versions['gpuopt']}, Python {versions['python']}, NumPy {versions['numpy']}")
        lines.append(f"{versions['executable']} on {versions['system']}, {versions['machine']}")
    return lines + [f"{name}={value}" for name, value in environment.items()]


def _loader(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return ["!!  the loader was not reached (see below)"]
    version = found.get("loader_version")
    version = f"version {version}" if version and version != "unknown" else "which does not tell its version"
    lines = [f"ok  {found.get('loader_path') or 'path unknown'}, {version}"]
    setting = found.get("user_setting")
    if setting:
        lines.append(f"--  {setting[0]}={setting[1]}: your own setting wins, nothing is added to it")
    elif found.get("prefix_dir_used"):
        lines.append("ok  the runtimes installed beside this Python are added to the system's")
    elif found.get("prefix_dir_error"):
        lines.append(f"!!  the runtimes installed beside this Python are not added: {found['prefix_dir_error']}")
    if found.get("error"):
        lines.append(f"!!  the loader answers {found['error']}")
    return lines


def _vendor_files(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    files = found.get("vendor_files") or []
    if not files:
        places = ", ".join([VENDOR_DIR, *(f"{prefix}/{VENDORS}" for prefix in search_prefixes())])
        return [f"!!  no runtime is installed: there is no .icd file in {places}"]
    ignored = " (not consulted: your own setting wins)" if found.get("user_setting") else ""
    marks = {"used": "ok", "library not found": "!!"}
    return [
        f"{'--' if ignored else marks.get(file['status'], '--')}  {file['path']} -> {file['library'] or '(empty)'}: "
        f"{'library found' if file['status'] == 'used' else file['status']}{ignored}"
        for file in files
    ]


def _platforms(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    platforms = found.get("platforms") or []
    if not platforms:
        return ["!!  none: no library that an ICD file names could be loaded"]
    lines = []
    for entry in platforms:
        mark = "ok" if entry["devices"] else "!!"
        told = ", ".join(entry["devices"]) or entry.get("error") or "no devices"
        lines.append(f"{mark}  {entry['name']}, {entry['version']}: {told}")
        lines += [f"!!  {name} is left out: {reason}" for name, reason in entry.get("left_out", ())]
    return lines


def device_lines(devices: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return two lines for each device: its name, and what it can do; a line that says so where there is no device."""
    if not devices:
        return ["!!  none"]
    lines = []
    for device in devices:
        able = [name for fact, name in ABILITIES if device.get(fact)]
        lines.append(f"ok  {device['index']}  {device['type']}  {device['key']}")
        lines.append(
            f"       {device['compute_units']} compute units, {_gib(device['global_bytes'])} memory, "
            f"{(device['local_bytes'] or 0) // 1024} KiB local, {', '.join(able) or 'fp32 only'}, "
            f"event timer {device['timer_ns']} ns, driver {device['driver']}"
        )
    return lines


def _cache_lines(cache: Mapping[str, Any] | None) -> list[str]:
    if cache is None:
        return []
    if cache.get("refusals"):
        return [f"!!  not used: {reason}" for reason in cache["refusals"]]
    state = "not writable" if not cache["writable"] else "writable" if cache["exists"] else "made at the first build"
    held = f", {cache['files']} files, {cache['bytes'] / 1e6:.1f} MB" if cache["exists"] else ""
    return [f"{'ok' if cache['writable'] else '!!'}  {cache['path']}: {state}{held}"]


def _extra_lines(extras: Mapping[str, Sequence[str]] | None) -> list[str]:
    if not extras:
        return ["--  unknown: gpuopt is not installed as a package"] if extras is not None else []
    return [
        f"--  {extra}: without {', '.join(missing)}; pip install 'gpuopt[{extra}]'" if missing else f"ok  {extra}"
        for extra, missing in extras.items()
    ]


def _gib(count: int | None) -> str:
    return "unknown" if count is None else f"{count / 2**30:.1f} GiB"


def main(meters: Callable[[], Sequence[str]] = tuple, tools: Callable[[], Sequence[str]] = tuple) -> int:
    """Print the report; ``meters`` and ``tools`` give its lines about energy, and about compilers and disassemblers.
    Returns 0 where a device was found, otherwise 1."""
    facts = gather()
    for name, lines in (("meters", meters), ("tools", tools)):
        try:
            facts[name] = lines()
        except Exception as error:
            facts["errors"][name] = f"{type(error).__name__}: {error}"
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a variable may hold any bytes, and a path any letter
    print(report(facts))
    return 0 if facts["devices"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
