"""What a plain call of a kernel of one's own is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import lab


def test_a_call_refuses_masks_and_numbers_that_its_types_cannot_hold() -> None:
    text = """kernel void scaled(global float* y, const float a, const int n) {
        if (get_global_id(0) < n) y[get_global_id(0)] *= a * n;
    }"""
    arguments = [lab.inout("y", "n"), lab.value("a", "float32"), lab.value("n")]
    kernel = lab.Kernel(
        text, "scaled", arguments=arguments, launch=lab.launch(items="n"), reference=lambda y, a, n: y * a * n
    )
    y = np.ones(4, np.float32)
    assert (kernel(y=y, a=2.0) == 8).all()
    assert np.isinf(kernel(y=y, a=np.inf)).all()
    with pytest.raises(gpuopt.ParameterError, match=r"a: 1e\+39 does not fit float32; declare a larger dtype"):
        kernel(y=y, a=1e39)
    with pytest.raises(gpuopt.ArrayError, match=r"y: .*mask"):
        kernel(y=np.ma.masked_array(y, [0, 1, 0, 0]), a=2.0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((2.5, 1.0), "its field 'shift': 2.5 is no whole number"),
        ([2, 3], "give a tuple of its fields"),
        (5, "give a tuple of its fields"),
        ((2,), "length 1"),
    ],
)
def test_a_struct_is_what_was_given(given: object, why: str) -> None:
    """NumPy makes 2 of 2.5 for a field, two structs of a list of two numbers, and fills all fields with one number."""
    text = """typedef struct { int shift; float scale; } Step;
    kernel void shifted(Step s, global float* y, const int n) {
        if (get_global_id(0) < n) y[get_global_id(0)] = s.shift + s.scale;
    }"""
    step = np.dtype([("shift", "int32"), ("scale", "float32")])
    kernel = lab.Kernel(
        text,
        "shifted",
        arguments=[lab.value("s", step), lab.output("y", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda s, n: np.full(n, float(s["shift"]) + float(s["scale"])),
    )
    assert (kernel(s=(2, 0.5), n=4) == 2.5).all()
    assert (kernel(s=np.array((2.0, 0.5), step), n=4) == 2.5).all()
    with pytest.raises(gpuopt.ParameterError, match=f"s: .*{why}"):
        kernel(s=given, n=4)


def test_lists_that_are_no_arrays_are_refused_by_name() -> None:
    kernel, ragged = own_kernels.saxpy(), [[1], [2, 3]]
    for attempt in (
        lambda: kernel(x=ragged, y=np.ones(2, np.float32)),
        lambda: kernel.check(n=2, data={"x": ragged}),
        lambda: kernel.problem(n=2, data={"x": ragged}),
    ):
        with pytest.raises(gpuopt.Error, match=r"^x: "):
            attempt()
    with pytest.raises(gpuopt.ParameterError, match=r"^stages: "):
        lab.judge("__kernel void saxpy(int n) {}", kernel, stages=np.ones(3), n=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("local", [64, ()])
def test_a_launch_of_no_dimensions_is_refused(local: Any) -> None:
    for sizes in ({"items": ()}, {"groups": []}):
        with pytest.raises(gpuopt.ParameterError, match=r"^launch: 0 dimensions with a group of"):
            lab.launch(**sizes, local=local)  # type: ignore[arg-type]


def test_masked_arrays_among_given_data_are_named() -> None:
    """A dict was said to be no Mapping."""
    kernel = lab.Kernel(
        "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }",
        "twice",
        arguments=[lab.inout("x", "n")],
        launch=lab.launch(items="n", local=1),
        reference=lambda x: 2 * x,
    )
    with pytest.raises(gpuopt.ArrayError, match=r"^data: that of 'x' is a masked array"):
        kernel.problem(n=2, data={"x": np.ma.zeros(2, "f4")})
