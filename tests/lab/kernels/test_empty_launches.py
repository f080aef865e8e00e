"""Launches that have no work-items for some sizes."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import ParameterError, lab


@pytest.mark.parametrize("how", [{"items": "n // 4"}, {"groups": "n // 4"}])
def test_a_call_that_would_launch_nothing_is_refused(any_device: gpuopt.Device, how: dict[str, str]) -> None:
    """Its output would be whatever the memory held."""
    text = "kernel void first(global const float *x, global float *y) { if (get_global_id(0) == 0) y[0] = x[0]; }"
    first = lab.Kernel(
        text,
        "first",
        arguments=[lab.input("x", "n"), lab.output("y", 1)],
        launch=lab.launch(local=1, **how),
        reference=lambda x: x[:1],
    )
    with pytest.raises(ParameterError, match=r"^launch: it has no work-items for n = 3, and y would not be written"):
        first(x=np.ones(3, np.float32), device=any_device)
    np.testing.assert_array_equal(first(x=np.full(4, 7, np.float32), device=any_device), [7])
