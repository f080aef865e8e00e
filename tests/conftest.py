"""Tests run on every OpenCL device found; with GPUOPT_REQUIRE_DEVICE=1 a machine without one fails instead of passing
empty."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gpuopt

DEVICES = list(gpuopt.devices())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize(
            "device", DEVICES, ids=[f"{d.index}-{d.platform.split()[0]}-{d.type}" for d in DEVICES], indirect=True
        )


@pytest.fixture
def device(request: pytest.FixtureRequest) -> gpuopt.Device:
    return request.param


@pytest.fixture(scope="session")
def any_device() -> gpuopt.Device:
    if not DEVICES:
        pytest.fail("no OpenCL device; `python -m gpuopt.doctor` says why")
    return DEVICES[0]


@pytest.fixture(autouse=True)
def no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own profile changes what bounds say; tests that want one make it."""
    monkeypatch.setattr("gpuopt.lab.profiles.stored", lambda device: None)


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parents[1]


def pytest_sessionstart(session: pytest.Session) -> None:
    if not DEVICES and os.environ.get("GPUOPT_REQUIRE_DEVICE") == "1":
        pytest.exit(
            "GPUOPT_REQUIRE_DEVICE=1 and no OpenCL device was found; `python -m gpuopt.doctor` says why", returncode=3
        )


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"OpenCL device {d.index}: {d.key} ({d.version})" for d in DEVICES] or ["no OpenCL device"]
