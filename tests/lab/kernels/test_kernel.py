"""Kernels of one's own: as plain calls, as problems, and against what they are declared as."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, ParameterError, UnsupportedError, host_memory, lab
from gpuopt.lab.kernels.arguments import TAKEN
from gpuopt.lab.kernels.checks import WrongResultError


def test_a_call(device: gpuopt.Device) -> None:
    x, y = np.arange(1001, dtype=np.float32), np.ones(1001, dtype=np.float32)
    kernel = own_kernels.saxpy()
    for width in (1, 4):
        got = kernel(a=2.0, x=x, y=y, device=device, configuration=Configuration("saxpy", WIDTH=width))
        np.testing.assert_array_equal(got, 2 * x + 1)
    np.testing.assert_array_equal(kernel(x=x[:3].copy(), y=y[:3].copy(), device=device), 1.5 * x[:3] + 1)
    np.testing.assert_array_equal(kernel(x=x + 1, y=y, device=device), 1.5 * (x + 1) + 1)
    assert y[0] == 1


@pytest.mark.parametrize("isolated", [True, False])
def test_checks(device: gpuopt.Device, isolated: bool) -> None:
    for kernel, sizes in (
        (own_kernels.saxpy(), {"n": 1000}),
        (own_kernels.total(), {"n": 12345}),
        (own_kernels.scaled(), {"n": 77}),
    ):
        problem = kernel.problem(isolated=isolated, **sizes)
        exact = gpuopt.configuration.complete(kernel.name, Configuration(kernel.name))
        bound = problem.prepare(exact, device)
        lab.kernels.kernel.verification.verify(bound, problem, exact)
        assert (bound.restore is not None) == (kernel.name == "saxpy")


def test_images_constants_and_local_memory(device: gpuopt.Device) -> None:
    if not device.image_support:
        pytest.skip(f"{device.name} has no images")
    errors = own_kernels.blur().check(device=device, h=13, w=29)
    assert errors["max_of_tol"] <= 1


def test_structs_and_rounds(any_device: gpuopt.Device) -> None:
    text = """
    typedef struct { float scale; int shift; } Step;
    __kernel void step(__global const float* a, __global float* b, Step s, __global const Step* table, int k, int n) {
        const int i = get_global_id(0);
        if (i < n) b[i] = s.scale * a[(i + s.shift) % n] + table[k].scale;
    }
    """
    step = np.dtype([("scale", "float32"), ("shift", "int32")])
    table = np.array([(1, 0), (2, 0), (3, 0)], dtype=step)

    def reference(a: np.ndarray, s: Any, rounds: int = 3) -> np.ndarray:
        for k in range(rounds):
            a = float(s["scale"]) * np.roll(a, -int(s["shift"])) + float(table["scale"][k])
        return a

    kernel = lab.Kernel(
        text,
        "step",
        arguments=[
            lab.input("a", "n"),
            lab.output("b", "n"),
            lab.value("s", step, (0.5, 2)),
            lab.input("table", 3, step, data=table),
            lab.value("k", each="i"),
            lab.value("n"),
        ],
        stages=[lab.repeat(lab.stage("step", "a b s table k n", lab.launch(items="n")), 3, swap=("a", "b"))],
        reference=lambda a, s: reference(a, s),
    )
    with pytest.raises(WrongResultError, match=r"^inputs: a "):
        kernel.check(device=any_device, n=50)  # the second round writes to what was declared as an input
    in_place = lab.Kernel(
        text,
        "step",
        arguments=[lab.inout("a", "n"), lab.scratch("b", "n"), *kernel.task.arguments[2:]],
        stages=[lab.repeat(lab.stage("step", "a b s table k n", lab.launch(items="n")), "rounds", swap=("a", "b"))],
        parameters={"rounds": [2]},
        reference=lambda a, s: {"a": reference(a, s, 2)},
    )
    in_place.check(device=any_device, n=50)


def test_a_sweep_has_its_rows(any_device: gpuopt.Device, brief_quick: None) -> None:
    kernel = own_kernels.saxpy(constraints=["n % WIDTH == 0"])
    wanted = [Configuration("saxpy", WIDTH=w) for w in (1, 2, 4)]
    study = lab.sweep(kernel.problem(n=10_002), wanted, protocol="quick", device=any_device)
    rows = {row["configuration"]: row for row in study.rows if row["kind"] == "summary" and row["role"] == "variant"}
    assert {row["status"] for row in rows.values()} == {"ok", "constraints"}
    assert next(row for name, row in rows.items() if "WIDTH=4" in name)["status"] == "constraints"
    fastest = next(row for name, row in rows.items() if "WIDTH=2" in name)
    assert fastest["workload"] == "saxpy"
    assert fastest["bytes"] == {"dram": 12.0 * 10_002}
    assert fastest["clock"] == "event"  # data are restored before each sample
    assert "saxpy" in str(study)


def test_versions_are_compared(any_device: gpuopt.Device, brief_quick: None) -> None:
    one = own_kernels.scaled()
    other = lab.Kernel(
        own_kernels.SCALE.replace("scaled", "four"),
        "four",
        arguments=one.task.arguments,
        launch=lab.launch(items="n", local=32),
    )
    study = lab.sweep(one.problem(n=5000, versions=[other]), protocol="quick", device=any_device, calls=False)
    ok = {row["variant"] for row in study.rows if row["kind"] == "summary" and row["status"] == "ok"}
    assert {"scaled", "four"} <= ok


def test_constraints_and_options_of_a_version_are_its_own(any_device: gpuopt.Device) -> None:
    arguments = own_kernels.scaled().task.arguments
    text, launch = own_kernels.SCALE.replace("scaled", "four"), lab.launch(items="n")
    given = {"constraints": "n > 100", "options": "-cl-mad-enable"}
    version = lab.Kernel(text, "four", arguments=arguments, launch=launch, **given)
    prepare = {n: own_kernels.scaled().problem(n=n, versions=[version], isolated=False).prepare for n in (100, 101)}
    with pytest.raises(UnsupportedError, match="'n > 100' does not hold"):
        prepare[100](Configuration("four"), any_device)
    assert prepare[101](Configuration("four"), any_device).prepared.kernels[0]["options"] == "-cl-mad-enable"


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"arguments": [lab.input("x", "n"), lab.output("z", "n")]}, ParameterError, "scaled takes 3"),
        (
            {"arguments": [lab.input("x", "n"), lab.output("z", "n"), lab.value("n", "float32")]},
            ParameterError,
            "^n: argument 3",
        ),
        (
            {"arguments": [lab.input("x", "n", "int32"), lab.output("z", "n"), lab.value("n")]},
            ParameterError,
            "^x: argument 1",
        ),
        (
            {"arguments": [lab.value("x", "float32", 1.0), lab.output("z", "n"), lab.value("n")]},
            ParameterError,
            "^x: argument 1",
        ),
        ({"arguments": [lab.output("x", "n"), lab.input("z", "n"), lab.value("n")]}, ParameterError, "cannot write it"),
        ({"arguments": [lab.local("x", 64), lab.output("z", "n"), lab.value("n")]}, ParameterError, "^x: argument 1"),
        ({"launch": lab.launch(items="n", local=2**20)}, UnsupportedError, "work-group"),
    ],
)
def test_a_declaration_that_does_not_fit_is_named(
    device: gpuopt.Device, change: dict[str, Any], error: type[Exception], says: str
) -> None:
    kernel = own_kernels.scaled(**change, reference=lambda n: np.zeros(int(n)))
    with pytest.raises(error, match=says):
        kernel.check(device=device, n=100)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"launch": None}, "give either launch"),
        ({"stages": [], "launch": None}, "at least one"),
        ({"launch": lab.launch(items="m")}, "'m' of scaled is unknown"),
        ({"constraints": ["q > 1"]}, "unknown 'q'"),
        ({"parameters": {"n": [1]}}, "stands twice"),
        ({"options": "-I/etc"}, "^options: '-I/etc'"),
        ({"options": "-DX=1"}, "^options: "),
        ({"arguments": [lab.input("x", "n"), lab.value("n")]}, "no output"),
        ({"arguments": [3]}, "^arguments: "),
        (
            {"stages": [lab.stage("scaled", "x y n", lab.launch(items="n"))], "launch": None},
            "'y', which is no argument",
        ),
    ],
)
def test_a_declaration_that_contradicts_itself(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.scaled(**change)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "^n: scaled needs it"),
        ({"n": 10, "q": 1}, "^q: scaled has no such value"),
        ({"n": 2.5}, "^n: 2.5 is no whole number"),
        ({"n": -1}, "n"),
        ({"n": 2**31}, "^n: 2147483648 does not fit int32"),
        ({"n": 10, "data": {"x": np.zeros(9, np.float32)}}, r"^x: it is float32 of shape \(9,\)"),
        ({"n": 10, "data": {"z": np.zeros(10, np.float32)}}, "^z: scaled takes no such data"),
        ({"n": 10, "data": {"x": np.zeros(10)}}, "^x: it is float64"),
    ],
)
def test_a_problem_that_does_not_fit(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.scaled().problem(**given)


def test_more_data_than_free_memory_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = 4000 * (4 + 8) + 4000 * 2 * 8  # x and its copy, what is right and how far results may be off
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 2 * needed)
    assert own_kernels.scaled().problem(n=4000).sizes["n"] == 4000
    with pytest.raises(ParameterError, match=r"with it, of shape \(4001,\), scaled needs 0 MB on the host, where 0 MB"):
        own_kernels.scaled().problem(n=4001)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        (None, "^reference: scaled has none"),
        (lambda x: 1 / 0, "it raised ZeroDivisionError"),
        (lambda x: x[:-1], "z is float64 of shape"),
        (lambda x: {"y": x}, "it returned y; the results are z"),
        (lambda q: q, "it asks for 'q'"),
        (lambda x: x + 1j, r"^reference: z is complex128, and arrays hold real numbers; .* z\.real$"),
        (lambda x: x.astype("U9"), "^reference: z is <U.*; return real numbers"),
        (lambda x: np.ma.masked_array(x, x > 0), "^reference: z is a masked array"),
    ],
)
def test_a_reference_that_does_not_fit(reference: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.scaled(reference=reference).problem(n=10)


@pytest.mark.parametrize("taken", ["gemm", "all", "paper", "plain"])
def test_names_that_are_taken(taken: str) -> None:
    says = "workload of gpuopt's" if taken == "gemm" else "word of variants="
    with pytest.raises(ParameterError, match=f"^name: '{taken}' is a {says}"):
        own_kernels.saxpy(own_kernels.SAXPY.replace("saxpy(", f"{taken}("), kernel=taken)


def test_a_problem_of_a_kernel_that_was_defined_anew(any_device: gpuopt.Device) -> None:
    old = own_kernels.saxpy().problem(n=100)
    own_kernels.saxpy(parameters={"WIDTH": [2], "WG": [32]}).problem(n=100)
    with pytest.raises(ParameterError, match=r"it was defined anew"):
        old.prepare(Configuration("saxpy"), any_device)
    other = own_kernels.SAXPY.replace("saxpy(", "other(")
    own_kernels.saxpy().problem(n=100, versions=[own_kernels.saxpy(other, kernel="other")])
    (row,) = lab.sweep(old, "other", device=any_device, peers=(), calls=False).summary
    assert "it was defined anew" in str(row["reason"])


def test_a_build_error_names_file_and_line(device: gpuopt.Device, tmp_path: Path) -> None:
    path = tmp_path / "scaled.cl"
    path.write_text(own_kernels.SCALE.replace("2 * x[i]", "2 * q[i]"))
    for isolated in (True, False):
        problem = own_kernels.scaled(str(path)).problem(n=10, isolated=isolated)
        with pytest.raises(gpuopt.KernelBuildError) as caught:
            problem.prepare(Configuration("scaled"), device)
        assert (caught.value.file, caught.value.line) == ("scaled.cl", 3)


def test_local_memory_of_arguments_is_counted(device: gpuopt.Device) -> None:
    text = (
        "__kernel void f(__global float* z, __local float* t) { t[get_local_id(0)] = 1; z[get_global_id(0)] = t[0]; }"
    )
    kernel = lab.Kernel(
        text,
        "f",
        arguments=[lab.output("z", 64), lab.local("t", "bytes")],
        launch=lab.launch(items=64),
        reference=lambda: np.ones(64),
        parameters={"bytes": [device.local_bytes + 1]},
    )
    # A driver may round the argument up, or take a byte for itself.
    with pytest.raises(UnsupportedError, match=rf"\d+ bytes of local memory.* has {device.local_bytes}"):
        kernel.check(device=device)


def test_tuned_levels_are_used_by_calls(
    any_device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    kernel = own_kernels.scaled(
        own_kernels.SCALE, parameters={"WG": [16, 64]}, launch=lab.launch(items="n", local="WG")
    )
    tuned = lab.tune(
        kernel.problem(n=4096), device=any_device, protocol="quick", variants=[Configuration("scaled", WG=64)]
    )
    assert tuned.choices
    np.testing.assert_allclose(kernel(x=np.ones(5, np.float32), device=any_device), 3)


def test_a_sampler_that_is_an_argument(any_device: gpuopt.Device) -> None:
    text = """
    __kernel void around(__read_only image2d_t img, sampler_t s, __global float* z, int h, int w) {
        const int x = get_global_id(0), y = get_global_id(1);
        if (x < w && y < h) z[y * w + x] = read_imagef(img, s, (int2)(x - 1, y)).x;
    }"""

    def moved(edge: bool, img: np.ndarray) -> np.ndarray:
        return np.concatenate([img[:, :1] if edge else 0 * img[:, :1], img[:, :-1]], axis=1)

    for address in ("edge", "border"):
        kernel = lab.Kernel(
            text,
            "around",
            arguments=[
                lab.image("img", ("h", "w")),
                lab.sampler("s", address=address),
                lab.output("z", ("h", "w")),
                lab.value("h"),
                lab.value("w"),
            ],
            launch=lab.launch(items=("w", "h"), local=(8, 8)),
            reference=partial(moved, address == "edge"),
        )
        kernel.check(device=any_device, h=5, w=13)
    with pytest.raises(ParameterError, match=r"s: argument 2 of around is .*; declare it by lab.sampler"):
        lab.Kernel(
            text,
            "around",
            arguments=[lab.image("img", ("h", "w")), lab.value("s"), *kernel.task.arguments[2:]],
            launch=lab.launch(items=("w", "h"), local=(8, 8)),
            reference=lambda img: img,
        ).check(device=any_device, h=5, w=13, s=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"address": "round"}, "address: it is 'round'"),
        ({"filter": "cubic"}, "filter: it is 'cubic'"),
        ({"address": "mirror"}, "s.normalized"),
        ({"normalized": 3}, "normalized"),
    ],
)
def test_samplers_that_there_are_not(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gpuopt.Error, match=said):
        lab.sampler("s", **given)


def test_a_problem_takes_rows_of_tables_alone() -> None:
    problem = own_kernels.scaled().problem(n=10)
    assert problem.name == "n=10"
    assert problem.is_for(gpuopt.configuration.table_of("scaled")["scaled"])
    assert problem.is_for(gpuopt.variants("gemm")[0])
    with pytest.raises(ParameterError, match=r"^variant: it is 1\.0"):
        problem.is_for(1.0)


def test_values_that_are_no_sizes_are_part_of_the_problems_name() -> None:
    """Or else rows of one value would be taken for those of another."""
    names = {own_kernels.saxpy().problem(n=10, a=a).name for a in (1.5, 2.5)}
    assert names == {"n=10, a=1.5", "n=10, a=2.5"}


@pytest.mark.parametrize("call", [lab.Kernel.problem, lab.Kernel.__call__, lab.Kernel.configurations, lab.search])
def test_every_name_that_calls_have_is_taken_or_stands_beside(call: Callable[..., Any]) -> None:
    """A name that a call binds for itself never reaches the sizes."""
    kinds = inspect.signature(call).parameters.values()
    named = {one.name for one in kinds if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    assert named <= TAKEN


@pytest.mark.parametrize("name", ["self", "kernel", "configurations", "given", "sizes", "parameters_", "checked"])
def test_sizes_values_and_levels_of_other_names_work(name: str) -> None:
    text = f"kernel void f(global float* y, int {name}) {{ y[get_global_id(0)] = {name}; }}"
    own = lab.Kernel(
        text, "f", arguments=[lab.output("y", name), lab.value(name)], launch=lab.launch(items=name, local=1),
        reference=lambda **given: np.full(given[name], given[name]),
    )  # fmt: skip
    assert len(own.configurations(**{name: 3})) == 1
    assert own.problem(**{name: 3}).sizes == {name: 3}


@pytest.mark.parametrize("name", ["seed", "device", "level", "seconds", "objective"])
def test_values_and_sizes_leave_the_labs_arguments_alone(name: str) -> None:
    launch = lab.launch(items=8)
    given = {"launch": launch, "reference": lambda x: x}
    with pytest.raises(ParameterError, match=f"{name}: calls of the lab"):
        lab.Kernel("__kernel void f() {}", "f", arguments=[lab.output("z", 8), lab.value(name)], **given)
    with pytest.raises(ParameterError, match=f"{name}: calls of the lab"):
        lab.Kernel("__kernel void f() {}", "f", arguments=[lab.output("z", name)], **given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"groups": "n * 100000000000000000"}, r"^launch\.groups: .* groups of 64; give fewer than 2\^63 work-items"),
        ({"items": ("n", 2**63 - 1), "local": (1, 2)}, r"^launch\.items: '9223372036854775807' makes"),
    ],
)
def test_more_work_items_than_can_be_counted(any_device: gpuopt.Device, given: dict[str, Any], says: str) -> None:
    kernel = own_kernels.scaled(launch=lab.launch(**given))
    with pytest.raises(ParameterError, match=says):
        kernel.check(n=64, device=any_device)
