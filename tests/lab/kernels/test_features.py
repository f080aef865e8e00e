"""What real kernels need, row by row of a survey of 328 kernels of eight suites: each has an honest kernel, written
without C++, which test_honest.py judges on every device."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gpuopt import lab
from gpuopt.lab.kernels.arguments import Array
from gpuopt.lab.kernels.stages import Rounds
from honest_kernels import HONEST
from own_kernels import Honest


def _arrays(honest: Honest, *roles: str) -> list[Array]:
    return [one for one in honest.kernel.task.arrays if one.role in roles]


def _most_dimensions(honest: Honest) -> int:
    return max(len(stage.launch.items or stage.launch.groups or ()) for stage in honest.kernel.code.kernels)


def _hands_pointers_on(honest: Honest) -> bool:
    return bool(re.search(r"(?m)^(?!__kernel)\w[^;{}()]*\([^)]*\*[^)]*\) *\{", honest.text))


FEATURES = {
    "buffers, scalars by value, static local memory": lambda one: "__local " in one.text and _arrays(one, "input"),
    "one dimension": lambda one: _most_dimensions(one) == 1,
    "two dimensions": lambda one: _most_dimensions(one) == 2,
    "three dimensions": lambda one: _most_dimensions(one) == 3,
    "local memory as an argument": lambda one: re.search(r"__local \w+\* ?\w+[,)]", one.text),
    "constant memory as an argument": lambda one: _arrays(one, "constant"),
    "buffers of structs": lambda one: any(a.dtype.names for a in one.kernel.task.arrays),
    "images": lambda one: _arrays(one, "image"),
    "structs by value": lambda one: any(np.dtype(v.dtype).names for v in one.kernel.task.values),
    "one buffer both read and written": lambda one: _arrays(one, "inout"),
    "several outputs": lambda one: len(one.kernel.task.results) > 1,
    "barriers": lambda one: "barrier(" in one.text,
    "atomics": lambda one: re.search(r"atom(ic)?_\w+\(", one.text),
    "fp64": lambda one: one.needs == "fp64",
    "more than ten arguments": lambda one: len(one.kernel.task.arguments) > 10,
    "a pointer handed on to a function": _hands_pointers_on,
    "several kernels in sequence": lambda one: len(one.kernel.code.kernels) > 1,
    "a loop of the host": lambda one: any(isinstance(part, Rounds) for part in one.kernel.code.stages),
    "two buffers in turns": lambda one: any(isinstance(p, Rounds) and p.swap for p in one.kernel.code.stages),
    "a flag that ends a loop": lambda one: any(isinstance(p, Rounds) and p.until for p in one.kernel.code.stages),
    "scratch memory": lambda one: _arrays(one, "scratch"),
}


@pytest.mark.parametrize("feature", FEATURES)
def test_an_honest_kernel_has_it(feature: str) -> None:
    found = [name for name, make in HONEST.items() if FEATURES[feature](make())]
    assert found, f"no honest kernel has {feature}"
    assert all(isinstance(HONEST[name]().kernel, lab.Kernel) for name in found)
