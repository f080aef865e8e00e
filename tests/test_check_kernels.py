"""The linter's macros are those that kernels are built with."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gpuopt
from gpuopt import problems
from gpuopt.configuration import Configuration, complete


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_are_checked_as_they_are_built(any_device: gpuopt.Device, root: Path, dtype: str) -> None:
    spec = importlib.util.spec_from_file_location("check_kernels", root / "tools" / "check_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    basic = complete("spmv", Configuration("basic"))
    if dtype == "float64" and not any_device.fp64:
        pytest.skip("needs fp64")
    (kernel,) = problems.spmv_grid(8, 8, radius=1, dtype=dtype).prepare(basic, any_device).prepared.kernels
    built = {word for word in kernel["options"].split() if word.startswith("-D") and "INDEX=" not in word}
    (checked,) = [
        {word for word in options if "INDEX=" not in word}
        for source, options in tool.cases()
        if source == "spmv/basic.cl"
        and set(tool.TYPES[dtype]) <= set(options)
        and f"-DLOCAL={basic.parameters['LOCAL']}" in options
    ]
    assert checked == built
