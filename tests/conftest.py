"""Tests run on every OpenCL device found; with GPUOPT_REQUIRE_DEVICE=1 a machine without one fails instead of passing
empty."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from pathlib import Path

import pytest

import gpuopt
from gpuopt import _core
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.selection import select

# Profiles and tuned records of whoever runs the tests change what studies say. Built kernels stay from run to run.
os.environ.setdefault("GPUOPT_CACHE_DIR", str(Path(_core.cache_dir()) / "tests"))

DEVICES = list(gpuopt.devices())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize(
            "device", DEVICES, ids=[f"{d.index}-{d.platform.split()[0]}-{d.type}" for d in DEVICES], indirect=True
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workload", help="of the tests of every workload's variants, those of this one alone")
    parser.addoption("--whole", action="store_true", help="every case and every slow test; half an hour on two cores")


def _has_its_turn(item: pytest.Item, seen: Counter[tuple[str, str, int]]) -> bool:
    """Whether a case of a test marked thin(others, first) is one of those that run without --whole."""
    thin = item.get_closest_marker("thin")
    if thin is None:
        return True
    device = item.callspec.params.get("device", DEVICES[0] if DEVICES else None)
    number = getattr(device, "index", 0)
    step = 4 * thin.kwargs.get("others", 1) if number else thin.kwargs.get("first", 1)
    if step == 0:
        return False
    case = (item.nodeid.partition("[")[0], thin.kwargs.get("of", ""), number)
    seen[case] += 1
    return seen[case] % step == 1 % step


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without --whole a part of the cases runs, where each costs a build, for PoCL up to seconds.

    Of a test marked thin(others=n, first=m) the first device has every m-th case, and each other device every 4n-th
    (for 0 none). Cases are counted by test, or by ``of`` where the mark names what it thins. Tests marked whole are
    left out. Whoever names a test has all of its cases."""
    if only := config.option.workload:
        calls = {item: getattr(item, "callspec", None) for item in items}
        items[:] = [item for item, call in calls.items() if call and call.params.get("workload") == only]
    if config.option.whole or config.option.keyword or any("::" in argument for argument in config.args):
        return
    seen: Counter[tuple[str, str, int]] = Counter()
    kept = [item for item in items if _has_its_turn(item, seen) and not item.get_closest_marker("whole")]
    chosen = set(kept)
    if left := [item for item in items if item not in chosen]:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.fixture
def device(request: pytest.FixtureRequest) -> gpuopt.Device:
    return request.param


@pytest.fixture(scope="session")
def any_device() -> gpuopt.Device:
    if not DEVICES:
        pytest.fail("no OpenCL device; `python -m gpuopt.doctor` says why")
    return select(None)  # GPUOPT_DEVICE, which an attack gives, else the first


@pytest.fixture(autouse=True)
def no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own profile changes what bounds say, and comparisons of identical kernels what headers say; tests that
    want one make it."""
    monkeypatch.setattr("gpuopt.lab.device.profile.stored", lambda device: None)
    monkeypatch.setattr("gpuopt.lab.device.aa_record.last", lambda device: None)


@pytest.fixture(autouse=True)
def no_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be busy; tests of what that does to verdicts put the limits back."""
    monkeypatch.setattr("gpuopt.lab.rows.refusals.refusal", lambda *_: None)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> str:
    """A protocol that takes a moment, for tests that look at rows and not at their times."""
    quick = dataclasses.replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    monkeypatch.setitem(PROTOCOLS, "brief", quick)
    return "brief"


@pytest.fixture
def brief_quick(monkeypatch: pytest.MonkeyPatch, brief: str) -> None:
    """The same under the names of the quick protocols, for what asks for them."""
    for name in ("quick", "short"):
        monkeypatch.setitem(PROTOCOLS, name, dataclasses.replace(PROTOCOLS[brief], name=name))


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parents[1]


def pytest_sessionstart(session: pytest.Session) -> None:
    if not DEVICES and os.environ.get("GPUOPT_REQUIRE_DEVICE") == "1":
        pytest.exit(
            "GPUOPT_REQUIRE_DEVICE=1 and no OpenCL device was found; `python -m gpuopt.doctor` says why", returncode=3
        )


def pytest_report_header(config: pytest.Config) -> list[str]:
    part = [] if config.option.whole else ["a part of the tests; --whole runs them all"]
    return [f"OpenCL device {d.index}: {d.key} ({d.version})" for d in DEVICES] + part or ["no OpenCL device"]
