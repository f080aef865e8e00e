"""Results held against a reference: those of the same bytes once, all others each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ParameterError, lab
from gpuopt.lab.kernels import checks
from gpuopt.lab.kernels.checks import Right, WrongResultError
from gpuopt.lab.kernels.tolerances import of_own_type


def right_of(length: int = 1000) -> Right:
    return Right({"y": np.linspace(1, 2, length)}, {"y": np.full(length, 1e-6)})


def taken(right: Right, off: float = 0.0) -> dict[str, np.ndarray]:
    made = right.exact["y"].astype(np.float32)
    made[-1] += off
    return {"y": made}


def test_results_near_the_largest_number_have_a_tolerance_that_ends() -> None:
    """It was infinite, and every result right."""
    exact = np.array([1.5e308, -1e308, 9.1e307])
    allowed, of_less = (of_own_type(values, values, values.dtype) for values in (exact, exact * 2.0**-8))
    assert (allowed < 1e296).all()
    np.testing.assert_allclose(allowed, of_less * 2.0**8, rtol=1e-12)


def test_the_same_bytes_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    judged = checks.judged
    monkeypatch.setattr(checks, "judged", lambda *given: compared.append(given) or judged(*given))
    right = right_of()
    first = right.errors(taken(right))
    assert right.errors(taken(right)) == first
    assert len(compared) == 1
    assert right.errors(taken(right, 5e-7))["max_of_tol"] > first["max_of_tol"]
    assert len(compared) == 2


def test_a_wrong_result_is_wrong_each_time() -> None:
    right = right_of()
    right.errors(taken(right))
    for _ in range(2):
        with pytest.raises(WrongResultError, match="1 of 1000 elements are off"):
            right.errors(taken(right, 1e-3))
    assert len(right.known) == 1


@pytest.mark.parametrize("most", [0, 1, 2])
def test_few_are_kept(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(checks, "KNOWN_BYTES", most * 4000 + 10)
    right = right_of()
    for off in (0.0, 3e-7, 6e-7):
        right.errors(taken(right, off))
        assert len(right.known) <= most
    if most:
        assert right.known[-1][0]["y"][-1] == taken(right, 6e-7)["y"][-1]


def test_parts_are_compared_to_the_last_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PART", 4)
    for length in (0, 1, 7, 8, 31, 32, 33, 100):
        one = np.arange(length, dtype=np.uint8)
        assert checks._same_bytes(one, one.copy())
        for at in range(length):
            other = one.copy()
            other[at] ^= 1
            assert not checks._same_bytes(one, other)
    assert not checks._same_bytes(np.zeros(3), np.zeros(4))


@pytest.mark.parametrize("isolated", [False, True])
def test_arrays_of_no_dimension_are_held_against_the_reference(
    any_device: gpuopt.Device, brief_quick: None, isolated: bool
) -> None:
    text = "kernel void f(global const float* a, global float* s, global double* y) { *y = *a + *s; *s = 2 * *s; }"
    one = lab.Kernel(
        text,
        "f",
        arguments=[lab.input("a", ()), lab.inout("s", ()), lab.output("y", (), "float64")],
        launch=lab.launch(items=1, local=1),
        reference=lambda a, s: {"s": 2 * s, "y": a + s},
        tolerance=1e-6,
    )
    given = {"a": np.float32(3), "s": np.float32(1)}
    assert {name: (array.shape, float(array)) for name, array in one(device=any_device, **given).items()} == {
        "s": ((), 2.0),
        "y": ((), 4.0),
    }
    assert one.check(device=any_device)["max_of_tol"] <= 1
    problem = one.problem(isolated=isolated)
    assert {array.shape for array in problem.inputs.values()} == {()}
    rows = lab.sweep(problem, protocol="quick", device=any_device, peers=(), progress=False).summary
    assert [row["reason"] for row in rows] == [None, None]
    assert lab.judge(text.replace("*s = 2", "*s = 3"), one, device=any_device, level="quick").word == "wrong"


def copied(reference: Any, magnitude: Any) -> lab.Kernel:
    text = "kernel void f(global const float* x, global float* y) { int i = get_global_id(0); y[i] = x[i]; }"
    return lab.Kernel(
        text,
        "f",
        arguments=[lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n", local=1),
        reference=reference,
        tolerance=lab.rounding(magnitude, 1),
    )


def test_of_several_results_each_number_is_the_largest() -> None:
    """Of a the error and the tolerance are larger, of b the relative error and its part of the tolerance."""
    exact = {"a": np.full(50, 1000.0), "b": np.full(50, 1.0), "c": np.zeros(0)}
    taken = {"a": (exact["a"] + 0.01).astype(np.float32), "b": exact["b"] + 1e-4, "c": exact["c"]}
    allowed = {"a": np.full(50, 1.0), "b": np.full(50, 2e-4), "c": exact["c"]}
    alone = {name: checks.judged({name: taken[name]}, {name: exact[name]}, allowed) for name in exact}
    found = checks.judged(taken, exact, allowed)
    assert found == {field: max(alone["a"][field], alone["b"][field]) for field in found}
    assert [found[field] for field in ("max_abs", "tol", "max_of_tol", "l2_rel")] == pytest.approx(
        [0.01, 1.0, 0.5, 1e-4], rel=0.02
    )


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_magnitude_is_finite_where_the_reference_is(bad: float) -> None:
    one = copied(lambda x: 3 * x, lambda x: np.where(np.arange(len(x)) == 2, bad, np.abs(x)))
    for call in (one.check, one.problem):
        with pytest.raises(ParameterError, match=rf"^magnitude: of y it is {bad:g} at \(2,\), and allows no finite"):
            call(n=4)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_a_magnitude_is_anything_where_the_reference_is_not_finite(any_device: gpuopt.Device, odd: float) -> None:
    x = np.array([1, odd, 3, 4], np.float32)
    one = copied(lambda x: x * (1 + 1e-8), lambda x: np.abs(x))
    found = one.check(data={"x": x}, device=any_device)
    assert found["tol"] == pytest.approx(4 * 4 * 2.0**-24)
    assert found["max_of_tol"] == pytest.approx(1e-8 / (4 * 2.0**-24))
    with pytest.raises(WrongResultError, match=r"^wrong: y: 3 of 4 elements are off"):
        copied(lambda x: 3 * x, lambda x: np.abs(x)).check(data={"x": x}, device=any_device)


class Unreadable:
    """NumPy makes no array of it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("no array")


class NoNames(dict[str, Any]):
    """A mapping whose own methods raise."""

    def __iter__(self) -> Any:
        raise RuntimeError("no names")


@pytest.mark.parametrize("given", [[[1, 2], [3]], Unreadable(), NoNames(y=1), {"y": [[1, 2], [3]]}])
def test_what_numpy_makes_no_array_of_is_no_result(given: Any) -> None:
    for what, one in (
        ("reference", copied(lambda x: given, lambda x: np.abs(x))),
        ("magnitude", copied(lambda x: x, lambda x: given)),
    ):
        for call in (one.check, one.problem):
            with pytest.raises(
                ParameterError, match=rf"^{what}: what it returned cannot be read as arrays, (Value|Runtime)Error: "
            ):
                call(n=4)


DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64: enable\n"
ABOVE = "kernel void k(float t, global const float* x, global int* y) { int i = get_global_id(0); y[i] = x[i] > t; }"
TIMES = DOUBLES + "kernel void k(float a, global const double* x, global double* y) {\n"
TIMES += "    int i = get_global_id(0); y[i] = a * x[i] * FACTOR;\n}"


def times(a: float, factor: str = "1.0", **more: Any) -> lab.Kernel:
    """Doubles times a number of single precision."""
    return lab.Kernel(
        TIMES.replace("FACTOR", factor),
        "k",
        arguments=[lab.value("a", "float32", a), lab.input("x", "n", "float64"), lab.output("y", "n", "float64")],
        launch=lab.launch(items="n", local=1),
        reference=lambda a, x: a * x,
        **more,
    )


def test_a_reference_gets_real_values_as_the_kernel_does(any_device: gpuopt.Device) -> None:
    tenths = np.arange(10, dtype=np.float32) / np.float32(10)
    above = lab.Kernel(
        ABOVE,
        "k",
        arguments=[lab.value("t", "float32", 0.1), lab.input("x", 10, data=tenths), lab.output("y", 10, "int32")],
        launch=lab.launch(items=10, local=1),
        reference=lambda t, x: x > t,
    )
    for given in ({}, {"t": float(np.float32(0.1))}, {"t": np.float32(0.1)}, {"t": 0.7}):
        above.check(device=any_device, **given)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_all_functions_of_a_task_get_the_number_of_the_dtype(kind: str) -> None:
    got: list[Any] = []

    def function(a: Any, x: Any) -> Any:
        got.append(a)
        return 2 * np.abs(x)

    made = lab.Kernel(
        "kernel void k() {}",
        "k",
        arguments=[lab.value("a", kind, 1.1), lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n", local=1),
        reference=function,
        tolerance=lab.rounding(function, 1),
    ).problem(n=3)
    wanted = float(np.dtype(kind).type(1.1))
    assert got == [wanted, wanted]
    assert {type(one) for one in (*got, made.inputs["a"])} == {float}
    assert (made.inputs["a"], made.name) == (wanted, "n=3, a=1.1")


def test_what_single_precision_lacks_is_no_error_of_the_reference(device: gpuopt.Device) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    assert times(1.1).check(device=device, n=100)["tol"] < 1e-13
    times(0.1, tolerance=lab.rounding(lambda a, x: np.abs(a * x), 1)).check(device=device, n=100)
    with pytest.raises(WrongResultError, match="100 of 100 elements are off"):
        times(1.1, "(1 + 1e-7)").check(device=device, n=100)


def test_peers_get_real_values_as_the_kernel_does(device: gpuopt.Device, brief_quick: None) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    peer = lab.Peer("NumPy", lambda problem: problem.inputs, lambda inputs: inputs["a"] * inputs["x"])
    study = lab.sweep(times(0.1).problem(n=100), protocol="quick", device=device, peers=[peer], progress=False)
    assert {row["configuration"]: row["status"] for row in study.summary} == {"k": "ok", "k(...)": "ok", "NumPy": "ok"}


def test_expressions_take_real_values_as_they_are_written(device: gpuopt.Device) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    levels = {"parameters": {"L": [1, 2]}, "constraints": ["L == 2", "a == 0.1"]}
    one = times(0.1, **levels)
    assert one.check(device=device, n=10)["max_of_tol"] <= 1
    assert [made.levels for made in lab.search(one, device=device, n=10).results.results] == [{"L": 2}]


@pytest.mark.parametrize("isolated", [False, True])
def test_a_reference_that_changes_a_struct_changes_a_copy(
    any_device: gpuopt.Device, brief_quick: None, isolated: bool
) -> None:
    """With p = 0 the kernel that leaves p out was right, and the tolerance that of another problem."""
    pair = np.dtype([("p", "float32"), ("q", "int32", (2,))])

    def changing(s: Any, x: Any) -> Any:
        found = s["p"] * x + s["q"][0]
        s["p"], s["q"][:] = 0, 0
        return found

    def of(line: str) -> lab.Kernel:
        text = "typedef struct { float p; int q[2]; } S;\n"
        return lab.Kernel(
            text + f"kernel void k(S s, global const float* x, global float* y) {{ int i = get_global_id(0); {line} }}",
            "k",
            arguments=[lab.value("s", pair, (1.5, (2, 3))), lab.input("x", "n"), lab.output("y", "n")],
            launch=lab.launch(items="n", local=1),
            reference=changing,
            tolerance=lab.rounding(lambda s, x: changing(s, np.abs(x)), 1),
        )

    right = of("y[i] = s.p * x[i] + s.q[0];").problem(n=50, isolated=isolated)
    assert right.inputs["s"].tolist()[0] == 1.5
    row, _ = lab.sweep(right, protocol="quick", device=any_device, peers=(), progress=False).summary
    assert row["status"] == "ok"
    of("y[i] = s.p * x[i] + s.q[0];").check(n=50, device=any_device)
    with pytest.raises(WrongResultError):
        of("y[i] = s.q[0];").check(n=50, device=any_device)
