"""Reads of variables that are not set, which right results hide."""

from __future__ import annotations

import pytest

import gpuopt
import own_kernels
from gpuopt import lab
from gpuopt.lab.compiled import tools
from gpuopt.lab.compiled.targets import COMPILERS
from gpuopt.lab.kernels import unset
from honest_kernels import HONEST
from mutant_kernels import MUTANTS

pytestmark = pytest.mark.skipif(tools.find(*COMPILERS) is None, reason="there is no clang")


def test_a_sum_that_is_not_set_is_named(device: gpuopt.Device) -> None:
    mutant = next(one for one in MUTANTS if one.number == "13")
    honest = mutant.base(device)
    code = honest.kernel.code
    options = code.build_options(honest.kernel.levels(None))
    found = unset.remarks(mutant.text(honest), options)
    assert any("reads 'sum', which is not set there" in one for one in found), found
    assert unset.remarks(honest.text, options) == []


def test_honest_kernels_have_none() -> None:
    for name, make in HONEST.items():
        honest = make()
        options = honest.kernel.code.build_options(honest.kernel.levels(None))
        assert unset.remarks(honest.kernel.code.source.text, options) == [], name


def test_a_read_that_never_happens_is_a_note_and_no_verdict(any_device: gpuopt.Device) -> None:
    text = own_kernels.SCALE.replace("    if (i < n)", "    float k;\n    if (n < 0) z[0] = k;\n    if (i < n)")
    found = lab.judge(text, own_kernels.scaled(), device=any_device, level="full", n=64)
    assert found.ok, str(found)
    assert any("uninitialized" in note or "reads 'k', which is not set there" in note for note in found.notes)


@pytest.mark.parametrize("text", ["no OpenCL at all", "kernel void f(global float* x) { float a; x[0] = a"])
def test_what_clang_refuses_has_no_remark(text: str) -> None:
    assert unset.remarks(text, "-DN=1") == []


def test_without_clang_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert unset.remarks("kernel void f(global float* x) { float a; x[0] = a; }", "") == []
