"""Data that are drawn, where none are given, and what tells other data, and plans of other stages, apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, ParameterError, lab
from own_kernels import saxpy, scaled


def drawn(kind: str, n: int = 1000, **ends: Any) -> np.ndarray:
    """What a kernel's input holds at first."""
    task = scaled(arguments=[lab.input("x", "n", kind, **ends), lab.output("z", "n"), lab.value("n")]).task
    return task.data(task.numbers({"n": n}, {}, []), {}, 0)["x"]


@pytest.mark.parametrize(
    ("kind", "low", "high", "least", "most"),
    [
        ("int8", -128, 128, -128, 127),
        ("uint8", 0, "n / 4 + 6", 0, 255),
        ("int32", 0.5, 2.5, 1, 2),
        ("int32", "n / 3", "n / 3 + 1", 334, 334),
        ("int64", 2**62 + 1, 2**62 + 3, 2**62 + 1, 2**62 + 2),
        ("uint64", 2.0**64 - 2048, 2.0**64, 2**64 - 2048, 2**64 - 1),
        ("float32", -3, -1, -3, -1),
    ],
)
def test_numbers_are_drawn_from_the_range(kind: str, low: Any, high: Any, least: int, most: int) -> None:
    found = drawn(kind, low=low, high=high)
    assert found.dtype == kind
    assert least <= found.min() <= found.max() <= most
    if kind != "float32" and most - least < 256:
        assert (found.min(), found.max()) == (least, most)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats_stay_below_high_when_they_are_rounded(kind: str) -> None:
    low, high = 0.1, 0.1 + 3 * float(np.spacing(np.dtype(kind).type(0.1)))
    found = drawn(kind, low=low, high=high).astype(np.float64)
    assert low <= found.min() <= found.max() < high


@pytest.mark.parametrize(("kind", "low", "high"), [("float32", 1, 1), ("uint8", 3, 2), ("int32", 0.25, 0.75)])
def test_a_range_without_a_number_is_refused_where_it_is_declared(kind: str, low: float, high: float) -> None:
    for declared in (lab.input, lab.inout, lab.constant):
        with pytest.raises(ParameterError, match=rf"^x: \[.* holds no number of {kind}; give a higher high"):
            declared("x", "n", kind, low=low, high=high)


@pytest.mark.parametrize(
    ("kind", "low", "high", "says"),
    [
        ("int8", 0, "n", r"^x: \[0, 1000\) does not fit int8; declare a larger dtype"),
        ("uint8", -5, 5, r"^x: \[-5, 5\) does not fit uint8"),
        ("uint64", -5, 5, r"^x: \[-5, 5\) does not fit uint64"),
        ("int32", 0, 2**40, r"^x: \[0, 1099511627776\) does not fit int32"),
        ("float16", 0, 1e5, r"^x: \[0, 100000\) does not fit float16"),
        ("float32", -1e39, 1, r"^x: \[-1e\+39, 1\) does not fit float32"),
        ("int32", 0.25, 0.75, r"^x: \[0\.25, 0\.75\) holds no number of int32; give a higher high"),
        ("int32", 3, 3, r"^x: \[3, 3\) holds no number of int32"),
        ("float32", 3, 3, r"^x: \[3, 3\) holds no number of float32"),
        ("float64", 2, None, r"^x: \[2, 1\) holds no number of float64"),
        ("float32", float("nan"), 1, r"^x: \[nan, 1\) holds no number of float32"),
        ("int32", float("-inf"), 1, r"^x: \[-inf, 1\) does not fit int32"),
        ("float16", 0.1, 0.10001, r"^x: \[0\.1, 0\.10001\) holds no number of float16"),
    ],
)
def test_ranges_that_cannot_be_drawn_from(kind: str, low: Any, high: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        drawn(kind, low=low, high=high)


def made_of(end: int = 9, step: int = 1, each: str = "i", **declared: Any) -> lab.Kernel:
    """A kernel whose data follow from much that is no size."""
    pair = np.dtype([("a", "int8"), ("b", "float64")])  # with bytes between its fields that nobody sets
    arguments = [
        lab.input("x", "n", "int32", **({"high": end} | declared)),
        lab.value("pair", pair, (step, 0.5)),
        lab.value("k", each=each),
        lab.input("pairs", 2, pair, data=np.array([(1, 0.5), (2, 1.5)], pair)),
        lab.output("y", "n", "int32"),
    ]
    stage = lab.stage("f", "x pair k pairs y", lab.launch(items="n", local=1))
    return lab.Kernel("__kernel void f() {}", "f", arguments=arguments, stages=[lab.repeat(stage, 1)], reference=held)


def held(x: np.ndarray) -> np.ndarray:
    return x + 0


ONES, TWOS = np.ones(4, np.int32), np.full(4, 2, np.int32)


def test_problems_of_other_data_have_another_hash_and_those_of_the_same_one_in_every_process() -> None:
    plain = made_of().problem(n=4)
    others = [made_of(8), made_of(step=2), made_of(each="2 * i"), made_of(data=ONES), made_of(data=lambda g: TWOS)]
    found = [plain.data, *(one.problem(n=4).data for one in others), made_of().problem(n=4, seed=1).data]
    assert len(set(found)) == len(found)
    assert plain.data == made_of().problem(n=4).data
    given = made_of().problem(data={"x": ONES})
    assert given.data == made_of(data=lambda g: ONES).problem(n=4).data == found[4] == "8f48c7e1368379df"
    assert gpuopt.problems.tmv(8, 4).data is None


def test_a_store_gives_no_rows_of_other_data(any_device: gpuopt.Device, brief_quick: None, tmp_path: Path) -> None:
    ones = dict.fromkeys("xy", np.ones(64, np.float32))
    store = tmp_path / "rows.jsonl"
    studies = []
    for data in (ones, ones | {"x": 2 * ones["x"]}, ones):
        problem = saxpy().problem(data=data)
        given = {"protocol": "quick", "device": any_device, "calls": False, "store": store}
        studies.append(lab.sweep(problem, "saxpy", **given))
    assert [study.resumed is None for study in studies] == [True, True, False]
    assert len(lab.Study.load(store).groups()) == 2
    with pytest.raises(ParameterError, match=r"^new: it has nothing in common"):
        lab.compare(studies[0], studies[1])


STAGES = "".join(
    f"kernel void {name}(global const float* x, global float* y, local float* t) {{ {text} }}\n"
    for name, text in {
        "doubled": "y[get_global_id(0)] = 2 * x[get_global_id(0)];",
        "twice": "y[get_global_id(0)] = x[get_global_id(0)] * 2;",
        "nothing": "",
    }.items()
)
ITEMS = lab.launch(items="n", local=1)
DOUBLED, TWICE, NOTHING = (lab.stage(name, "x y t", ITEMS) for name in ("doubled", "twice", "nothing"))


def staged(*stages: Any, **more: Any) -> lab.Kernel:
    arguments = [lab.input("x", "n"), lab.output("y", "n"), lab.local("t", more.pop("bytes", 4))]
    return lab.Kernel(STAGES, "staged", arguments=arguments, stages=stages, reference=lambda x: 2 * x, **more)


def test_plans_of_other_stages_have_another_hash(any_device: gpuopt.Device) -> None:
    def plan(*stages: Any, isolated: bool = False, **more: Any) -> str | None:
        problem = staged(*stages, **more).problem(n=64, isolated=isolated)
        return problem.prepare(gpuopt.Configuration("staged"), any_device).plan

    found = [
        plan(DOUBLED),
        plan(TWICE),
        plan(DOUBLED, NOTHING),
        plan(NOTHING, DOUBLED),
        plan(NOTHING, lab.stage("doubled", "x y t", lab.launch(items="2 * n / 2", local=1))),
        plan(DOUBLED, lab.stage("nothing", "y x t", ITEMS)),
        plan(DOUBLED, lab.repeat(NOTHING, 1)),
        plan(DOUBLED, lab.repeat(NOTHING, 2)),
        plan(DOUBLED, bytes=64),
        plan(DOUBLED, work=lab.work(flops="n")),
    ]
    assert len(set(found)) == len(found)
    assert plan(DOUBLED) == plan(DOUBLED, isolated=True) == found[0] == "70ef80da59b8fb2a"
    tmv = gpuopt.problems.tmv(8, 4)
    assert tmv.prepare(gpuopt.Configuration("naive"), any_device).plan is None


def test_a_store_gives_no_rows_of_other_stages(any_device: gpuopt.Device, brief_quick: None, tmp_path: Path) -> None:
    store, studies = tmp_path / "rows.jsonl", []
    for stage in (DOUBLED, TWICE, TWICE):
        given = {"protocol": "quick", "device": any_device, "calls": False, "store": store}
        studies.append(lab.sweep(staged(stage).problem(n=64), **given))
    assert [study.resumed is None for study in studies] == [True, True, False]
    assert "staged" in str(lab.compare(studies[0], studies[1]))  # versions of one kernel
    for stage in (DOUBLED, TWICE):
        kernel = staged(stage, parameters={"W": [1]})
        assert lab.search(kernel, device=any_device, store=tmp_path / "searched.jsonl", n=64).study.resumed is None


class Subclass(np.ndarray):
    """Somebody's own array."""


@pytest.mark.parametrize("kind", ["plain", "every second", "subclass", "memory-mapped", "shared", "Series"])
def test_data_of_any_class_are_copied(kind: str, tmp_path: Path) -> None:
    """A memory-mapped file and a Series are views of memory that others write."""
    values = np.ones(8, np.float32)
    if kind == "every second":
        values = np.ones(16, np.float32)[::2]
    elif kind == "subclass":
        values = values.view(Subclass)
    elif kind == "memory-mapped":
        values.tofile(tmp_path / "x.bin")
        values = np.memmap(tmp_path / "x.bin", np.float32, "r+")
    given: Any = memoryview(values) if kind == "shared" else values
    if kind == "Series":
        given = pytest.importorskip("pandas").Series(values, copy=False)
    made = saxpy().problem(data={"x": given, "y": np.ones(8, np.float32)})
    values[:] = 7
    held = made.inputs["x"]
    assert type(held) is np.ndarray
    np.testing.assert_array_equal(held, np.ones(8))


def test_data_that_a_function_keeps_are_copied() -> None:
    kept = np.ones(4, np.float32)
    made = scaled(arguments=[lab.input("x", "n", data=lambda g: kept), lab.output("z", "n"), lab.value("n")])
    problem = made.problem(n=4)
    kept[:] = 7
    np.testing.assert_array_equal(problem.inputs["x"], np.ones(4))


@pytest.mark.parametrize("made", [np.ndarray.tolist, lambda ones: ones.view(Subclass), memoryview])
def test_declared_data_of_any_class_are_copied(made: Any) -> None:
    given = made(np.ones(2))
    argument = lab.input("x", 2, "float64", data=given)
    before = np.array(argument.data)
    given[0] = 99
    assert type(argument.data) is np.ndarray
    np.testing.assert_array_equal(argument.data, before)
    with pytest.raises(ArrayError, match=r"^x\.data: it cannot be read as an array"):
        lab.input("x", 2, data=[[1], [1, 2]])
