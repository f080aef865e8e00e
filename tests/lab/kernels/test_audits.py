"""Tasks whose functions do not take inputs that the audit rounds to a lower type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab

LARGE = [lab.input("x", "n", low=0.0, high=1e6), lab.output("z", "n"), lab.value("n")]
COUNTED = own_kernels.SCALE.replace("int n)", "int n, __global int* most)").replace(
    "    if (i < n)", "    if (i == 0) most[0] = 1000000;\n    if (i < n)"
)


def doubled(x: np.ndarray) -> Any:
    return 2 * x + 1


@pytest.mark.parametrize(
    "task",
    [
        lambda: own_kernels.scaled(arguments=LARGE, reference=lambda x: doubled(np.asarray_chkfinite(x))),
        lambda: own_kernels.scaled(
            arguments=LARGE,
            reference=lambda x: doubled(np.minimum(x, 1e6)),
            tolerance=lab.rounding(lambda x: np.abs(x), 1),
        ),
        lambda: own_kernels.scaled(
            COUNTED,
            arguments=[*LARGE, lab.output("most", 1, "int32")],
            reference=lambda x: {"z": doubled(x), "most": [np.maximum(1e6, x.max())]},
        ),
    ],
)
def test_data_that_a_task_never_has_end_no_judgement(any_device: gpuopt.Device, task: Callable[[], lab.Kernel]) -> None:
    """Beyond 65,504 a float32 that is rounded to float16 is infinite."""
    kernel = task()
    found = lab.judge(kernel.code.source.text, kernel, device=any_device, level="quick", n=100)
    assert found.ok, str(found)
    assert any("inputs rounded to the next lower type were not tried: " in note for note in found.notes)


def test_a_reference_that_raises_for_its_own_data_is_refused(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.scaled(reference=lambda x: doubled(x[n]))  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(ParameterError, match=r"^reference: it raised NameError"):
        lab.judge(own_kernels.SCALE, kernel, device=any_device, level="quick", n=100)
