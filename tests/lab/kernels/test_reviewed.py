"""What a reader found wrong, each as a test: data of others, levels of others, kernels that are blamed for nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, MismatchError, ParameterError, lab
from gpuopt.lab.kernels import tolerances
from gpuopt.lab.kernels.checks import WrongResultError, judged
from gpuopt.lab.kernels.worker import WORKERS


def made(kind: str, expression: str, low: Any = None, high: Any = None, **more: Any) -> lab.Kernel:
    """z = an expression of x, of any type."""
    name = {"uint8": "uchar", "uint64": "ulong", "float32": "float"}[kind]
    text = f"""
    __kernel void made(__global const {name}* x, __global {name}* z, int n) {{
        const int i = get_global_id(0);
        if (i < n) z[i] = {expression};
    }}
    """
    return lab.Kernel(
        text,
        "made",
        arguments=[lab.input("x", "n", kind, low=low, high=high), lab.output("z", "n", kind), lab.value("n")],
        launch=lab.launch(items="n"),
        **more,
    )


def test_a_kernel_of_an_earlier_ones_name_has_its_own_levels(any_device: gpuopt.Device) -> None:
    x = np.ones(64, np.float32)
    own_kernels.saxpy(parameters={"WIDTH": [1, 2], "WG": [64]})(x=x, y=x, device=any_device)
    text = own_kernels.SAXPY.replace("a * x[i + k] + y[i + k]", "WIDTH")
    assert own_kernels.saxpy(text, parameters={"WIDTH": [8, 16], "WG": [64]})(x=x, y=x, device=any_device)[0] == 8


def test_threads_get_their_own_results(any_device: gpuopt.Device) -> None:
    kernel, wrong = own_kernels.scaled(), []

    def call(value: float) -> None:
        for _ in range(30):
            got = kernel(x=np.full(50_000, value, np.float32), device=any_device)
            if not (got == 2 * value + 1).all():
                wrong.append(value)

    threads = [threading.Thread(target=call, args=(float(v),)) for v in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_threads_share_a_worker(any_device: gpuopt.Device) -> None:
    WORKERS.close()
    kernel, found = own_kernels.scaled(), []

    def check() -> None:
        try:
            kernel.check(n=1000, device=any_device)
        except Exception as error:
            found.append(repr(error))

    threads = [threading.Thread(target=check) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not found


def test_bytes_that_happen_to_be_poison_are_no_fault(any_device: gpuopt.Device) -> None:
    made("uint8", "x[i] + 1", reference=lambda x: x + 1).check(n=200_000, device=any_device)


def test_whole_numbers_of_64_bits_are_compared_exactly(any_device: gpuopt.Device) -> None:
    factor = 0x9E3779B97F4A7C15
    for more, right in ((0, True), (1, False)):
        kernel = made("uint64", f"x[i] * {factor}UL + {more}", reference=lambda x: x * np.uint64(factor))
        if right:
            kernel.check(n=100, device=any_device)
        else:
            with pytest.raises(MismatchError, match="wrong: z: 100 of 100"):
                kernel.check(n=100, device=any_device)


def test_so_are_those_that_may_be_off_a_little(any_device: gpuopt.Device) -> None:
    """float64 tells 2^62 and 2^62 + 200 not apart, of inputs either."""
    off = np.uint64(200)
    task = made("uint64", "x[i]", reference=lambda x: x + off, tolerance=0.5, low=2**62, high=2**62 + 100)
    with pytest.raises(MismatchError, match=r"is 4611686018427\d{6} instead of 4611686018427\d{6} "):
        task.check(n=1000, device=any_device)
    assert lab.judge(task.code.source.text, task, n=1000, device=any_device, level="quick").word == "wrong"
    right = task.code.source.text.replace("x[i]", "x[i] + 200")
    assert lab.judge(right, task, n=1000, device=any_device, level="quick").ok


@pytest.mark.parametrize("level", ["full", "judge"])
def test_honest_kernels_of_images_and_of_absolute_errors(any_device: gpuopt.Device, level: str) -> None:
    if any_device.image_support:
        found = lab.judge(own_kernels.BLUR, own_kernels.blur(), device=any_device, level=level, h=32, w=31)
        assert found.ok, str(found)
    text = "if (i < n) z[i] = x[i] * x[i];"
    square = own_kernels.SCALE.replace("if (i < n) z[i] = 2 * x[i] + 1;", text)
    task = own_kernels.scaled(square, reference=lambda x: x * x, tolerance=1e-6)
    assert lab.judge(square, task, device=any_device, level=level, n=1000).ok


def test_a_copy_is_judged(any_device: gpuopt.Device) -> None:
    text = own_kernels.SCALE.replace("2 * x[i] + 1", "x[i]")
    assert lab.judge(text, own_kernels.scaled(text, reference=lambda x: x), device=any_device, n=1000).ok


def test_sizes_that_the_task_does_not_take_are_left_out(any_device: gpuopt.Device) -> None:
    text = """
    __kernel void pairs(__global const float* x, __global float* z, int n) {
        const int i = get_global_id(0);
        if (i < n / 2) z[i] = x[2 * i] + x[2 * i + 1];
    }
    """
    task = lab.Kernel(
        text,
        "pairs",
        arguments=[lab.input("x", "n"), lab.output("z", "n / 2"), lab.value("n")],
        launch=lab.launch(items="n / 2"),
        reference=lambda x: x[::2] + x[1::2],
    )
    assert lab.judge(text, task, device=any_device, n=1000).ok


def test_what_is_missing_in_a_call_is_not_drawn() -> None:
    with pytest.raises(ParameterError, match=r"^x: scaled needs it"):
        own_kernels.scaled()(n=5)


def test_a_workers_end_closes_no_file_of_ours(any_device: gpuopt.Device, tmp_path: Path) -> None:
    kernel = own_kernels.scaled()
    kernel.check(n=10, device=any_device)
    WORKERS.of(any_device).kill()
    files = [open(tmp_path / str(number), "w") for number in range(40)]  # noqa: SIM115
    try:
        before = [os.readlink(f"/proc/self/fd/{one.fileno()}") for one in files]
        kernel.check(n=10, device=any_device)
        assert [os.readlink(f"/proc/self/fd/{one.fileno()}") for one in files] == before
    finally:
        for one in files:
            one.close()


def test_what_a_run_makes_of_its_data_is_restored_even_where_a_second_changes_nothing(
    any_device: gpuopt.Device,
) -> None:
    text = own_kernels.SAXPY.replace("a * x[i + k] + y[i + k]", "fabs(y[i + k]) + 0 * a * x[i + k]")
    kernel = own_kernels.saxpy(text, reference=lambda y: {"y": np.abs(y)})
    for isolated in (True, False):
        bound = kernel.problem(n=100, isolated=isolated).prepare(Configuration("saxpy"), any_device)
        assert bound.restore is not None


def test_two_problems_of_a_kernel(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.scaled()
    one, other = kernel.problem(n=100), kernel.problem(n=200)
    for problem in (one, other, one):
        problem.prepare(Configuration("scaled"), any_device)


def test_data_of_a_problem_are_its_own(any_device: gpuopt.Device) -> None:
    x = np.ones(100, np.float32)
    problem = own_kernels.scaled().problem(data={"x": x})
    x[:] = 5
    bound = problem.prepare(Configuration("scaled"), any_device)
    bound.checks.verify()


def test_a_call_takes_levels_that_its_sizes_admit(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.saxpy(parameters={"WIDTH": [4, 1], "WG": [64]}, constraints=["n % WIDTH == 0"])
    x = np.ones(101, np.float32)
    np.testing.assert_array_equal(kernel(a=2.0, x=x, y=x, device=any_device), 3)


def test_filling_memory_is_no_run(any_device: gpuopt.Device) -> None:
    problem = own_kernels.scaled().problem(n=5_000_000, limit_s=0.2)
    bound = problem.prepare(Configuration("scaled"), any_device)
    bound.checks.memory.ready(1)


def test_a_worker_imports_nothing_from_the_folder_it_was_started_in(any_device: gpuopt.Device, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('mine')")
    code = (
        "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.insert(0, sys.argv[1])\n"
        "import own_kernels; print(own_kernels.scaled().check(n=10)['canary_ok'])"
    )
    tests = str(Path(own_kernels.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, tests], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("parameters", [{"WIDTH": 3}, {"Q": 1}, {"Q=1 -include /etc/passwd -DX": 1}])
def test_levels_that_were_not_declared(any_device: gpuopt.Device, parameters: dict[str, int]) -> None:
    configuration = Configuration("saxpy", **parameters)
    kernel = own_kernels.saxpy()
    with pytest.raises(ParameterError):
        kernel.check(n=10, configuration=configuration, device=any_device)
    with pytest.raises(ParameterError):
        lab.judge(own_kernels.SAXPY, kernel, configuration=configuration, n=10, device=any_device)


def test_versions_have_names_and_arguments_of_the_first() -> None:
    one = own_kernels.scaled()
    other = lab.Kernel(
        "__kernel void q(__global float* q) {}", "q", arguments=[lab.output("q", 1)], launch=lab.launch(items=1)
    )
    for versions, says in (([own_kernels.scaled()], "stands twice"), ([other], "takes 'q'"), ([3], "is no Kernel")):
        with pytest.raises(ParameterError, match=says):
            one.problem(n=10, versions=versions)


def test_a_digest_is_that_of_what_is_written() -> None:
    arguments = [lab.input("x", "n", data=lambda random: random.random(5)), lab.output("z", "n"), lab.value("n")]
    again = [lab.input("x", "n", data=lambda random: random.random(5)), lab.output("z", "n"), lab.value("n")]
    assert own_kernels.scaled(arguments=arguments).digest == own_kernels.scaled(arguments=again).digest
    assert own_kernels.scaled().digest != own_kernels.scaled(own_kernels.SCALE + " ").digest


def test_a_judged_kernel_may_have_another_name(any_device: gpuopt.Device) -> None:
    text = own_kernels.SCALE.replace("scaled", "mine")
    assert lab.judge(text, own_kernels.scaled(), name="mine", device=any_device, n=1000).ok


@pytest.mark.parametrize(
    "call",
    [
        lambda s, k: s.problem(n=4, seed=-1),
        lambda s, k: s.problem(n=4, seed="a"),
        lambda s, k: s.problem(n=4, data=3),
        lambda s, k: s.problem(n=4, versions=3),
        lambda s, k: s.problem(n=4, limit_s="a"),
        lambda s, k: s.problem(n=4, limit_s=float("nan")),
        lambda s, k: s.problem(data={"x": [1, 2, 3]}),
        lambda s, k: lab.search(s, data={"x": [1.0]}),
        lambda s, k: k.problem(n=10, a=10**400),
        lambda s, k: own_kernels.scaled(arguments=[lab.input("x", "n", "int32", low=float("nan")), *ZN]).problem(n=4),
        lambda s, k: own_kernels.scaled(arguments=[lab.input("x", "n", low=float("inf")), *ZN]).problem(n=4),
        lambda s, k: own_kernels.scaled(arguments=[lab.input("x", "n", data=lambda r: {}["q"]), *ZN]).problem(n=4),
        lambda s, k: own_kernels.scaled(arguments=[lab.input("x", "n", data=lambda: 1), *ZN]).problem(n=4),
        lambda s, k: own_kernels.scaled(parameters={"T": ["float4", "int"]}, constraints=["T"]),
        lambda s, k: lab.value("s", [("a", [("b", "float32")])]),
        lambda s, k: lab.search(s, n=100, seconds=1e-9),
        lambda s, k: lab.judge(own_kernels.SCALE, s, n=100, seed=-1),
    ],
)
def test_bad_input_is_a_typed_error(call: Any) -> None:
    with pytest.raises(gpuopt.Error):
        call(own_kernels.scaled(), own_kernels.saxpy())


ZN = (lab.output("z", "n"), lab.value("n"))


@pytest.mark.parametrize(
    ("factor", "off", "word"),
    [(1 + 1e-4, 0, "inexact"), (1 + 3e-6, 0, "inexact"), (1.5, 0, "wrong"), (1.0, 1, "wrong"), (-1.0, 0, "wrong")],
)
def test_what_rounding_may_make_is_inexact_and_the_rest_is_wrong(factor: float, off: int, word: str) -> None:
    """All elements a little off, many by far, or one by far."""
    exact = np.linspace(-1.0, 1.0, 1000)
    result = (exact * factor).astype(np.float32)
    result[7] += off
    with pytest.raises(WrongResultError) as caught:
        judged({"y": result}, {"y": exact}, {"y": np.full(1000, 1e-6)})
    assert caught.value.word == word


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize(("factor", "word"), [(1 + 1e-4, "inexact"), (-1.0, "wrong")])
def test_results_of_any_size_are_inexact_or_wrong(size: float, factor: float, word: str) -> None:
    exact = np.linspace(-size, size, 1000)
    with pytest.raises(WrongResultError) as caught:
        judged({"y": exact * factor}, {"y": exact}, {"y": np.full(1000, 1e-15 * size)})
    assert caught.value.word == word


@pytest.mark.parametrize(
    ("got", "reference", "word"),
    [
        (-np.inf, np.inf, "wrong"),
        (1.0, np.inf, "wrong"),
        (np.nan, np.inf, "wrong"),
        (1.0, np.nan, "wrong"),
        (np.inf, 1.0, "nan"),
    ],
)
def test_infinities_and_nan_are_never_inexact(got: float, reference: float, word: str) -> None:
    result, exact = np.ones(9, np.float32), np.ones(9)
    result[3], exact[3] = got, reference
    with pytest.raises(WrongResultError, match=rf"^{word}: y: 1 of 9 .* \(allowed [^)]*\)$") as caught:
        judged({"y": result}, {"y": exact}, {"y": np.full(9, 1e-6)})
    assert caught.value.word == word


def test_a_nan_that_signals_is_no_warning_where_a_task_is_audited() -> None:
    signals = np.array([0x7F800001], np.uint32).view(np.float32)
    assert tolerances.audited({"x itself": signals}, np.ones(1), np.ones(1)) == []
    assert tolerances.audited({"x itself": signals}, np.full(1, np.nan), np.ones(1)) == ["x itself"]
