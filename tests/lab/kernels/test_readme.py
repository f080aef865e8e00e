"""What README says of own kernels runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpuopt


def test_a_kernel_of_ones_own(
    root: Path, any_device: gpuopt.Device, brief_quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    block = next(one for one in blocks if "lab.Kernel(" in one)
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    np.testing.assert_array_equal(names["y"], np.full(1001, 2.0, np.float32))
    assert "Fastest" in capsys.readouterr().out
