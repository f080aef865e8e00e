"""The doctor: what it says of a machine, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from doctor_facts import POCL, facts
from gpuopt import doctor, pocl


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


def test_meters_of_energy_are_told_or_why_there_are_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "gather", lambda: facts())
    assert doctor.main(lambda: ["ok  0  nvml, a step every 100 ms"]) == 0
    assert "meters of energy\n  ok  0  nvml, a step every 100 ms" in capsys.readouterr().out

    assert doctor.main(tools=lambda: ["ok  machine code of CPUs: objdump 2.40"]) == 0
    assert "(gpuopt isa)\n  ok  machine code of CPUs: objdump 2.40" in capsys.readouterr().out

    def broken() -> list[str]:
        raise OSError("no /sys")

    assert doctor.main(broken) == 0
    assert "!!  meters: OSError: no /sys" in capsys.readouterr().out


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


# ---------------------------------------------------------------- caches


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"])
def test_a_cache_that_pocl_cannot_write_is_named(variable: str, tmp_path: Path) -> None:
    if not any(device.platform == pocl.PLATFORM for device in gpuopt.devices()):
        pytest.skip("PoCL is not installed")
    blocked = tmp_path / "a file, no folder"
    blocked.write_text("")
    kept = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "POCL_CACHE_DIR")}
    environment = kept | {variable: str(blocked / "below"), "GPUOPT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "gpuopt.doctor"], env=environment, capture_output=True, text=True, timeout=120
    )
    text = " ".join(done.stdout.split())
    assert f"PoCL is installed, but shows no device, for it cannot write its cache {blocked}" in text
    assert "(Not a directory): set POCL_CACHE_DIR to a folder that this user may write" in text
    assert "pocl-opencl-icd" not in text
    asked = "import gpuopt; gpuopt.use('Portable Computing Language')"
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, timeout=120)
    said = done.stderr.splitlines()[-1]
    assert said.startswith(("gpuopt.ParameterError: device: no device fits", "gpuopt.NoDeviceError: no OpenCL device"))
    assert f"for it cannot write its cache {blocked}" in said


def test_pocl_without_a_home_keeps_its_kernels_among_temporary_files() -> None:
    assert pocl.cache_place({}) == Path("/tmp/pocl/kcache")
    assert pocl.cache_place({"HOME": "/h"}) == Path("/h/.cache/pocl/kcache")


def test_a_cache_that_is_not_the_users_is_told() -> None:
    cache = facts()["cache"] | {"refusals": ["/home/a/.cache/gpuopt/programs belongs to another user"]}
    assert "set GPUOPT_CACHE_DIR to a folder of your own" in doctor.advice(facts(cache=cache))[0]
    assert "!!  not used: /home/a/.cache/gpuopt/programs belongs to another user" in doctor.report(facts(cache=cache))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_variables_of_any_bytes_are_told(encoding: str) -> None:
    environment: dict[bytes, bytes] = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    environment |= {b"POCL_ODD": "ö".encode() + b"\xff", b"PYTHONIOENCODING": encoding.encode(), b"PYTHONUTF8": b"1"}
    done = subprocess.run([sys.executable, "-m", "gpuopt.doctor"], env=environment, capture_output=True, timeout=120)
    told = {"utf-8": "ö", "ascii": "\\xf6"}[encoding]
    assert f"POCL_ODD={told}\\udcff".encode() in done.stdout, done.stderr.decode()
    assert done.returncode == 0
