"""What docs/from-kernel-tuner.md shows runs as it stands there, and people who write as for Kernel Tuner are helped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab

ADD = """
__kernel void vector_add(__global float* c, __global const float* a, __global const float* b, int n) {
    const int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}
"""


def test_the_page(
    root: Path, any_device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "vector_add.cl").write_text(ADD)
    monkeypatch.chdir(tmp_path)
    page = (root / "docs" / "from-kernel-tuner.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    with gpuopt.use(any_device):
        exec(compile(block.replace("1_000_000", "10_000"), "from-kernel-tuner.md", "exec"), names)
    assert names["found"].best["block_size_x"] in (64, 128, 256, 512)


def test_levels_of_numpy_and_one_constraint() -> None:
    given = {"WIDTH": np.array([1, 2, 4]), "WG": [np.int32(32), np.int64(64)], "X": [np.float32(0.5), np.bool_(True)]}
    space = own_kernels.saxpy(parameters=given, constraints="WIDTH * WG < 100").code.space
    assert space.levels == {"WIDTH": (1, 2, 4), "WG": (32, 64), "X": ("0.5", 1)}
    assert len(list(space)) == 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arguments": [np.zeros(1000), np.int32(3)]}, r"^arguments: number 1 is of type ndarray; declare"),
        ({"constraints": [lambda p: True]}, r"^constraints: it is a function; give an expression"),
        ({"parameters": {"WG": np.zeros((2, 2))}}, r"^WG: [\s\S]* is no list of levels"),
        ({"parameters": {"WG": [np.datetime64("2020-01-01")]}}, r"^WG: .* is no level"),
    ],
)
def test_what_is_written_as_for_kernel_tuner(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.scaled(**change)


def test_no_best_where_nothing_ran(any_device: gpuopt.Device, brief_quick: None) -> None:
    wrong = own_kernels.scaled(own_kernels.SCALE.replace("2 * x[i]", "3 * x[i]"))
    assert lab.search(wrong, device=any_device, n=1000).best is None
