"""`gpuopt profile`, `gpuopt aa` and `gpuopt doctor --full`."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

click = pytest.importorskip("click")

from cli_bench import Bench  # noqa: E402
from doctor_facts import DEVICE, facts  # noqa: E402
from gpuopt import Error, device_commands, doctor  # noqa: E402
from gpuopt.lab.device import profile  # noqa: E402
from gpuopt.lab.device.profile import Ceiling, Profile  # noqa: E402

CARD: Any = SimpleNamespace(name="A card", platform="P", key="P / A card", driver="1.0", type="gpu", index=0)
MADE = Profile("A card", "1.0", "P", "2026-11-22", "0.1.0", {"dram.read": Ceiling(30.0, "GB/s", "read")})


class Measured:
    """The measurements of the commands, made up; what they were asked for is remembered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        self.made = MADE
        self.stored = True
        monkeypatch.setattr(device_commands, "select", lambda device=None: CARD)
        monkeypatch.setattr(device_commands.ceilings, "profile", self.profile)
        monkeypatch.setattr(device_commands.aa, "aa", self.aa)

    def profile(self, device: Any, **how: Any) -> Profile:
        self.asked.append(how["force"])
        if self.stored:
            profile.save(self.made, profile.path_of(device))
        return self.made

    def aa(self, device: Any, **how: Any) -> str:
        self.asked.append(how["seconds"])
        return "what identical kernels showed"


@pytest.fixture
def measured(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return Measured(monkeypatch)


def test_a_profile_is_followed_by_identical_kernels(bench: Bench, measured: Measured) -> None:
    result = bench.run("profile")
    assert result.exit_code == 0, result.output
    assert measured.asked == [False, 60.0]
    assert "dram.read" in result.stdout
    assert "what identical kernels showed" in result.stdout
    assert bench.run("profile", "--no-aa", "--force").exit_code == 0
    assert measured.asked == [False, 60.0, True]


def test_what_was_not_kept_is_told(bench: Bench, measured: Measured) -> None:
    measured.made = dataclasses.replace(MADE, refused={"dram.read": "6.50 GB/s in this sitting, but 30.0 GB/s stands"})
    result = bench.run("profile", "--no-aa")
    assert result.exit_code == 0
    assert "dram.read was not kept: 6.50 GB/s" in result.stdout
    assert "1 ceilings of this sitting were not kept" in result.stderr
    assert "--force" in result.stderr


def test_nothing_kept_at_all_is_a_failure(bench: Bench, measured: Measured) -> None:
    measured.stored = False
    measured.made = dataclasses.replace(MADE, ceilings={}, refused={"dram.read": "its rounds disagree"})
    result = bench.run("profile", "--no-aa")
    assert result.exit_code == 2
    assert "nothing was stored" in result.stderr


def test_a_busy_machine_is_told_in_one_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_commands, "select", lambda device=None: CARD)
    monkeypatch.setattr(device_commands.ceilings, "select", lambda device=None: CARD)
    inner = inspect.unwrap(device_commands.ceilings.profile)  # CARD is no Device
    monkeypatch.setattr(device_commands.ceilings, "profile", inner)
    monkeypatch.setattr(device_commands.ceilings, "busy_words", lambda device: "the machine is busy: very")
    result = bench.run("profile")
    assert result.exit_code == 2
    assert "the machine is busy: very; nothing was measured" in result.stderr
    assert isinstance(result.exception, SystemExit)
    assert not profile.path_of(CARD).exists()


def test_aa_takes_its_seconds(bench: Bench, measured: Measured) -> None:
    result = bench.run("aa", "--seconds", "5")
    assert result.exit_code == 0
    assert measured.asked == [5.0]
    assert re.search(r"a-card-1-0-\w{12}-aa\.json", result.stdout)
    assert bench.run("aa", "--seconds", "0").exit_code == 2


def test_the_doctors_full_report_has_it(bench: Bench, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    for devices, asked in (([], []), ([DEVICE], [60.0])):
        monkeypatch.setattr(doctor, "gather", lambda devices=devices: facts(devices=devices))
        result = bench.run("doctor", "--full")
        assert result.exit_code == (0 if devices else 1)
        assert measured.asked == asked
    bench.run("doctor")
    assert measured.asked == [60.0]


def test_an_interrupt_stores_nothing(bench: Bench, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(device_commands.aa, "aa", interrupt)
    monkeypatch.setattr(device_commands.ceilings, "profile", interrupt)
    for command in ("aa", "profile"):
        result = bench.run(command)
        assert result.exit_code == 130
        assert "interrupted" in result.stderr
    assert not Path(profile.path_of(CARD)).exists()


def test_errors_are_one_line(bench: Bench, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise Error("no read kernel runs on A card")

    monkeypatch.setattr(device_commands.aa, "aa", fails)
    assert "gpuopt: no read kernel runs on A card" in bench.run("aa").stderr
