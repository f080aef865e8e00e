"""What the doctor finds on made-up machines."""

from __future__ import annotations

from typing import Any

DEVICE: dict[str, Any] = {
    "index": 0,
    "key": "Portable Computing Language / pthread-x86",
    "type": "cpu",
    "compute_units": 2,
    "global_bytes": 8 << 30,
    "local_bytes": 2 << 20,
    "timer_ns": 1,
    "driver": "3.1",
    "fp64": True,
    "fp16": False,
    "image_support": True,
    "subgroups": False,
}
POCL = {"path": "/etc/OpenCL/vendors/pocl.icd", "library": "libpocl.so.2", "status": "used", "prefix": ""}


def facts(**changes: Any) -> dict[str, Any]:
    """What `gather` finds on a healthy machine with PoCL."""
    found = {
        "loader_path": "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
        "loader_version": "OCL Icd free software 2.3.1",
        "user_setting": None,
        "vendor_files": [POCL],
        "platforms": [{"name": "Portable", "vendor": "pocl", "version": "OpenCL 3.0", "devices": ["pthread-x86"]}],
        "error": None,
        "prefix_dir_used": False,
    }
    discovery = found | changes.pop("discovery", {})
    return {
        "versions": {
            "gpuopt": "0.1.0",
            "python": "3.11",
            "executable": "/usr/bin/python3",
            "numpy": "2.4",
            "system": "Linux",
            "machine": "x86_64",
        },
        "discovery": discovery,
        "devices": [DEVICE],
        "cache": {"path": "/home/a/.cache/gpuopt", "exists": True, "writable": True, "files": 3, "bytes": 4096},
        "environment": {},
        "extras": {"lab": ["pandas"], "cpu": []},
        "hardware": [],
        "errors": {},
    } | changes
