"""The doctor: what it says of a machine, and what to do."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import gpuopt
from doctor_facts import POCL, facts
from gpuopt import doctor


def none_found(**discovery: Any) -> dict[str, Any]:
    return facts(devices=[], discovery={"platforms": [], "error": "CL_PLATFORM_NOT_FOUND_KHR"} | discovery)


def test_a_healthy_machine_needs_nothing() -> None:
    assert doctor.advice(facts()) == []
    text = doctor.report(facts())
    assert "what to do" not in text
    for part in (
        "libOpenCL.so.1, version OCL Icd",
        "pocl.icd -> libpocl.so.2: library found",
        "pthread-x86",
        "timer 1 ns",
    ):
        assert part in text
    assert "without pandas; pip install 'gpuopt[lab]'" in text
    assert "fp64, images" in text


def test_no_runtime_names_the_lines_that_install_one() -> None:
    text = doctor.report(none_found(vendor_files=[]))
    assert "no runtime is installed" in text
    assert "CL_PLATFORM_NOT_FOUND_KHR" in text
    assert "apt-get install pocl-opencl-icd" in text
    assert "pip install 'gpuopt[cpu]'" in text


def test_a_users_own_setting_is_named_as_the_cause() -> None:
    found = none_found(user_setting=("OCL_ICD_VENDORS", "/nowhere"))
    assert "OCL_ICD_VENDORS=/nowhere is set" in doctor.advice(found)[0]
    assert "not consulted: your own setting wins" in doctor.report(found)


def test_an_icd_file_without_its_library_is_named() -> None:
    broken = POCL | {"path": "/etc/OpenCL/vendors/x.icd", "library": "libgone.so", "status": "library not found"}
    found = facts(discovery={"vendor_files": [POCL, broken]})
    assert doctor.advice(found)[0].startswith("/etc/OpenCL/vendors/x.icd names libgone.so, which is not there")
    assert "!!  /etc/OpenCL/vendors/x.icd -> libgone.so: library not found" in doctor.report(found)


@pytest.mark.parametrize(("installed", "words"), [(True, "nvidia.icd"), (False, "libnvidia-compute-VERSION")])
def test_an_nvidia_gpu_without_its_icd_file(installed: bool, words: str) -> None:
    gpu = {"name": "an NVIDIA GPU", "sign": "/dev/nvidia0", "library_found": installed}
    assert words in doctor.advice(facts(hardware=[gpu]))[0]
    nvidia = {
        "path": "/etc/OpenCL/vendors/nvidia.icd",
        "library": "libnvidia-opencl.so.1",
        "status": "used",
        "prefix": "",
    }
    assert doctor.advice(facts(hardware=[gpu], discovery={"vendor_files": [POCL, nvidia]})) == []


def test_closed_device_files_and_caches_are_named() -> None:
    closed = {"name": "/dev/dri/renderD128", "closed": True}
    cache = {"path": "/home/someone/.cache", "exists": False, "writable": False, "files": 0, "bytes": 0}
    told = doctor.advice(facts(hardware=[closed], cache=cache))
    assert "groups render and video" in told[0]
    assert "set GPUOPT_CACHE_DIR" in told[1]


def test_what_cannot_be_asked_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no such symbol")

    for step in ("_versions", "_discovery", "_devices", "_cache", "_extras", "_hardware"):
        monkeypatch.setattr(doctor, step, broken)
    found = doctor.gather()
    assert set(found["errors"]) == {"versions", "discovery", "devices", "cache", "extras", "hardware"}
    assert "RuntimeError: no such symbol" in doctor.report(found)


def test_the_doctor_asks_this_machine() -> None:
    found = doctor.gather()
    assert found["discovery"] is not None, found["errors"]
    assert bool(found["devices"]) == bool(gpuopt.devices())
    assert "gpuopt doctor" in doctor.report(found)


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("extra == 'cpu'", True),
        (f"sys_platform == '{sys.platform}' and extra == 'cpu'", True),
        ("sys_platform == 'plan9' and extra == 'cpu'", False),
        ("(platform_machine == 'vax') and extra == 'cpu'", False),
    ],
)
def test_extras_of_other_platforms_are_not_missing(marker: str, applies: bool) -> None:
    assert doctor._applies(marker) is applies
