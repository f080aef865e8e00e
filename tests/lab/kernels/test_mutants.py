"""Faults of kernels, each with the verdict that it deserves; the table is in tests/mutant_kernels.py."""

from __future__ import annotations

import re

import pytest

import gpuopt
from gpuopt import ParameterError, lab
from gpuopt.lab.compiled import tools
from gpuopt.lab.compiled.targets import COMPILERS
from gpuopt.lab.kernels.verdicts import Verdict
from gpuopt.lab.kernels.worker import WORKERS
from mutant_kernels import MUTANTS, Mutant
from own_kernels import Honest


def judged(device: gpuopt.Device, mutant: Mutant, honest: Honest, level: str) -> tuple[str, Verdict | ParameterError]:
    """The verdict's word, or the type of the error, with either of them."""
    given = {"repeatable": honest.repeatable, **honest.sizes, **mutant.more}
    try:
        found = lab.judge(mutant.text(honest), honest.kernel, device=device, level=level, seed=mutant.seed, **given)
    except ParameterError as error:
        return type(error).__name__, error
    return found.word, found


def test_the_table_has_all_of_them() -> None:
    assert {int(one.number.rstrip("abc")) for one in MUTANTS} == set(range(1, 28))


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{one.number}-{one.what}" for one in MUTANTS])
def test_a_mutant_gets_its_verdict(device: gpuopt.Device, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant.cpu and device.type != "cpu":
        pytest.skip("a shared GPU runs nothing that hangs or strays")
    if mutant.words == {"unstable"} and device.compute_units == 1:
        pytest.skip(f"{device.name} has one compute unit, which keeps an order")
    monkeypatch.setattr("gpuopt.lab.kernels.remote.FIRST_S", 3.0)
    honest = mutant.base(device)
    if mutant.number == "1":
        assert lab.judge(honest.text, honest.kernel, device=device, level="quick", **honest.sizes).ok
    for level in ("quick", mutant.level) if mutant.quick else (mutant.level,):
        word, found = judged(device, mutant, honest, level)
        unseen = {"ok"} if device.platform.startswith(mutant.harmless) else set()
        if mutant.number == "13" and tools.find(*COMPILERS):  # a compiler that takes zero has right results
            unseen |= {"ok"} if "which is not set there" in str(found) else set()
        assert word in mutant.words | unseen, str(found)
        assert re.search(mutant.says, str(found))
        if isinstance(found, Verdict) and word not in ("ok", "refused"):
            assert found.reproducer.startswith("seed=")
    if mutant.number in ("20", "21a", "21b"):
        assert lab.judge(honest.text, honest.kernel, device=device, level="quick", **honest.sizes).ok


def test_a_report_of_a_kernels_own_changes_no_time(any_device: gpuopt.Device) -> None:
    mutant = next(one for one in MUTANTS if one.number == "25")
    _, found = judged(any_device, mutant, mutant.base(any_device), "quick")
    assert isinstance(found, Verdict)
    assert found.median_ms is None or found.median_ms > 1e-5
    assert len(WORKERS.of(any_device).output) <= 65536
