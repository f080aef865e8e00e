"""The linter's macros are those that kernels are built with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import pytest

import gpuopt
from gpuopt import problems
from gpuopt.configuration import Configuration, complete


@pytest.fixture
def tool(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_kernels", root / "tools" / "check_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_are_checked_as_they_are_built(any_device: gpuopt.Device, tool: ModuleType, dtype: str) -> None:
    basic = complete("spmv", Configuration("basic"))
    if dtype == "float64" and not any_device.fp64:
        pytest.skip("needs fp64")
    (kernel,) = problems.spmv_grid(8, 8, radius=1, dtype=dtype).prepare(basic, any_device).prepared.kernels
    sizes = ("-DINDEX=", "-DPLACE=")  # by the matrix, the tool takes the wide ones
    built = {word for word in kernel["options"].split() if word.startswith("-D") and not word.startswith(sizes)}
    (checked,) = [
        {word for word in options if not word.startswith(sizes)}
        for source, options in tool.cases()
        if source == "spmv/basic.cl"
        and set(tool.TYPES[dtype]) <= set(options)
        and f"-DLOCAL={basic.parameters['LOCAL']}" in options
    ]
    assert checked == built


@pytest.mark.parametrize(
    ("source", "mentioned"),
    [
        ("microbench/fma.cl", False),
        ("microbench/mma_tf32.cl", True),
        ("spmv/columns.cl", True),
        ("tmv/naive.cl", False),
    ],
)
def test_assembly_is_found_in_what_a_kernel_includes(tool: ModuleType, source: str, mentioned: bool) -> None:
    assert tool.mentions_assembly(source) == mentioned


def test_assembly_is_checked_for_the_device_that_has_it(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def clang(case: tuple[str, list[str]], *more: str) -> CompletedProcess[str]:
        asked.append(more)
        return CompletedProcess([], 0, 'asm volatile("");' if "-E" in more and "-DLOAD=1" in case[1] else "", "")

    monkeypatch.setattr(tool, "clang", clang)
    for options in (["-DLOAD=1"], ["-DLOAD=0"]):
        assert tool.complaint(("spmv/columns.cl", options)) == ""
    assert asked[1::2] == [(*tool.PTX, "-fsyntax-only"), (*tool.GENERIC, "-fsyntax-only")]
