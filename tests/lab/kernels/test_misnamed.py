"""Arguments by the names of other tuners, and calls that lack one: errors that say what it is called here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab

ANSWER = np.zeros(64, np.float32)
REFERENCE = "what is right, lab.Kernel knows by reference="


KERNEL = "task: judge needs it; give a lab.Kernel, which you define; lab.tune searches the variants of a workload"


def kernel(**given: Any) -> lab.Kernel:
    return own_kernels.scaled(**given)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda: lab.judge(own_kernels.SCALE, answer=ANSWER, n=64),
            f"{KERNEL}; {REFERENCE}",
        ),
        (lambda: lab.judge(own_kernels.SCALE, kernel(), answer=ANSWER, n=64), "answer: scaled has no such value"),
        (lambda: lab.judge(own_kernels.SCALE, kernel(), answer=ANSWER, n=64), REFERENCE),
        (lambda: lab.judge(own_kernels.SCALE, kernel(), reference=abs, n=64), REFERENCE),
        (lambda: lab.judge(own_kernels.SCALE, kernel(), atol=1e-3, n=64), "lab.Kernel knows by tolerance="),
        (lambda: lab.search(kernel(), answer=ANSWER, n=64), REFERENCE),
        (lambda: lab.search(kernel(), isolated=False, nn=3, n=64), "nn: scaled has no such value; known: n"),
        (lambda: lab.search(kernel(), level="quick", n=64), "level: scaled has no such value; known: n"),
        (lambda: lab.search(kernel(), isolated="no", n=64), "isolated: "),
        (lambda: lab.search(kernel(), versions=[3], n=64), "versions: 3 is no Kernel"),
        (lambda: kernel(answer=ANSWER), "answer: Kernel has no such argument"),
        (lambda: kernel(answer=ANSWER), REFERENCE),
        (lambda: kernel(tune_params={}), "levels are parameters= of lab.Kernel"),
        (
            lambda: kernel(reference=ANSWER),
            "reference: it is an array of float32, shape (64,); give a function or None",
        ),
        (lambda: kernel(reference=ANSWER), "lambda: value"),
        (lambda: kernel(tolerance=-1), "tolerance: it is -1; give a finite number of at least 0"),
        (lambda: kernel(tolerance=np.inf), "tolerance: it is inf; give a finite number of at least 0"),
        (lambda: kernel(tolerance=np.float32("nan")), "tolerance: it is nan; give a finite number of at least 0"),
        (lambda: lab.within(-1), "absolute: it is -1; give a finite number of at least 0"),
        (lambda: gpuopt.gemm(ANSWER), "B: gemm needs it; give"),
        (lambda: gpuopt.gemm(ANSWER, ANSWER, result=ANSWER), "result: gemm has no such argument; it takes A, B, "),
        (lambda: gpuopt.gemm(*[ANSWER] * 9), "gemm: 9 arguments are given by place, at most 3 can be; it takes A, B, "),
        (lambda: kernel()(ANSWER), "1 arguments are given by place, at most 0 can be; give them by name, such as x=x"),
        (lambda: lab.work(flop="n"), "flop: work has no such argument; it takes flops, read, write"),
    ],
)
def test_the_error_names_the_argument_and_what_it_is_called_here(call: Callable[[], Any], line: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(line)):
        call()


def test_a_call_that_does_not_fit_is_a_type_error_too() -> None:
    with pytest.raises(TypeError, match="judge needs it"):
        lab.judge(own_kernels.SCALE)  # type: ignore[call-arg]


def test_a_type_error_of_what_is_called_stays() -> None:
    with pytest.raises(ParameterError, match="it raised TypeError"):
        kernel(reference=lambda x: x + None).check(n=8)


def test_an_answer_that_is_known_is_a_reference(any_device: gpuopt.Device) -> None:
    x = np.arange(64, dtype=np.float32)
    task = kernel(
        arguments=[lab.input("x", "n", data=x), lab.output("z", "n"), lab.value("n")], reference=lambda: 2 * x + 1
    )
    assert lab.judge(own_kernels.SCALE, task, device=any_device, level="quick", n=64).ok
