"""Configurations of one's own kernel: listed, named by a mapping or a text, and found by a search."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, ParameterError, lab, records
from gpuopt.lab.kernels.published import Result, Results
from gpuopt.lab.kernels.search import Found
from gpuopt.lab.kernels.worker import WORKERS
from gpuopt.lab.report import Study
from gpuopt.lab.run.wanted import plain_configuration, what_to_measure
from gpuopt.lab.timing.protocol import PROTOCOLS


def test_all_configurations_and_those_of_some_levels() -> None:
    kernel = own_kernels.saxpy(constraints="n % WIDTH == 0")
    assert len(kernel.configurations(n=100)) == 6
    assert kernel.configurations(n=99) == [Configuration("saxpy", WIDTH=1, WG=size) for size in (64, 128)]
    assert kernel.configurations(n=100, levels={"WG": [128], "WIDTH": [1, 4]}) == [
        Configuration("saxpy", WIDTH=width, WG=128) for width in (1, 4)
    ]


def test_parameters_may_have_any_name_of_c() -> None:
    kernel = own_kernels.scaled(parameters={"self": [1, 2], "variant": [3]})
    assert [str(each) for each in kernel.configurations(n=10)] == [f"scaled(self={x}, variant=3)" for x in (1, 2)]
    with pytest.raises(ParameterError, match=r"^variant: Configuration needs it"):
        Configuration(variant="scaled")


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({"WIDE": [1]}, "^WIDE: there is no such parameter; there are WIDTH, WG"),
        ({"WIDTH": [3]}, "^WIDTH: 3 is none of its levels, 1, 2, 4"),
        ({"WIDTH": []}, r"^WIDTH: \[\] is no list of levels"),
        ({"WIDTH": [2, 4]}, "^constraints: they admit no configuration of saxpy for n=99"),
    ],
)
def test_levels_that_it_does_not_have(levels: dict[str, list[int]], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.saxpy(constraints="n % WIDTH == 0").configurations(n=99, levels=levels)


def test_more_than_a_list_should_hold_are_refused_at_once() -> None:
    huge = own_kernels.saxpy(parameters={name: range(1, 1001) for name in ("WIDTH", "WG", "X", "Y")})
    with pytest.raises(ParameterError, match="more than 100,000 configurations; keep fewer"):
        huge.configurations(n=100)


def test_what_a_search_found_is_what_calls_take(any_device: gpuopt.Device, brief_quick: None) -> None:
    kernel = own_kernels.scaled(parameters={"X": [1, 2]})
    found = lab.search(kernel, evaluations=2, device=any_device, n=1000)
    x = np.ones(10, np.float32)
    assert found.best is not None
    assert found.configuration == Configuration("scaled", **found.best)
    for chosen in (found.best, found.configuration):
        np.testing.assert_array_equal(kernel(x=x, configuration=chosen, device=any_device), 3 * x)
        assert kernel.check(n=10, configuration=chosen, device=any_device)["max_of_tol"] <= 1
    with pytest.raises(ParameterError, match=r"^X: 3 is none of its levels"):
        kernel(x=x, configuration={"X": 3}, device=any_device)


def test_where_nothing_that_was_tried_runs_right_there_is_no_best(any_device: gpuopt.Device, brief_quick: None) -> None:
    """The grid's first point runs right, and seed 0 tries another one."""
    text = "kernel void twice(global float* x) { x[get_global_id(0)] *= F; }"
    kernel = lab.Kernel(
        text, "twice", parameters={"F": [2, 3, 4, 5, 6, 7, 8, 9]}, arguments=[lab.inout("x", "n")],
        launch=lab.launch(items="n", local=16), reference=lambda x: 2 * x,
    )  # fmt: skip
    found = lab.search(kernel, strategy="random", evaluations=1, device=any_device, n=1024)
    tried = [one.levels for one in found.results.results]
    assert (len(tried), tried[0]["F"] != 2) == (1, True)
    assert (found.best, found.configuration) == (None, None)
    (again,) = [row for row in found.study.summary if row["role"] == "variant"]
    assert (again["params"], again["status"]) == (tried[0], "wrong")
    assert "measured again" not in str(found)


def test_the_row_of_a_call_lasts_as_long_as_what_it_takes(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other first levels, what is tuned and another text are other calls."""
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    kernel = own_kernels.scaled(parameters={"X": [1, 2]})

    def fresh(kernel: lab.Kernel) -> bool:
        given = {"protocol": "quick", "device": any_device, "peers": (), "store": tmp_path / "rows.jsonl"}
        return lab.sweep(kernel.problem(n=100), [Configuration("scaled", X=2)], **given).resumed is None

    assert [fresh(kernel), fresh(kernel)] == [True, False]
    other = own_kernels.scaled(parameters={"X": [2, 1]})
    assert [fresh(other), fresh(other)] == [True, False]
    matched = {name: getattr(any_device, name) for name in ("name", "platform", "type")}
    matched |= {"kernel": other.digest, "dtype": "float32"}
    records.store_records("scaled", [{"match": matched, "variant": "scaled", "parameters": {"X": 1}}])
    assert [fresh(other), fresh(other)] == [True, False]


def test_the_standard_levels_are_the_first_that_the_sizes_admit(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of calls, checks, judges, sweeps and tunings alike."""
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    kernel, first = own_kernels.saxpy(constraints="n % WIDTH == 1"), Configuration("saxpy", WIDTH=2, WG=64)
    problem, given = kernel.problem(n=1001), {"device": any_device, "protocol": "quick"}
    assert plain_configuration(problem, any_device) == first
    for names in ("plain", "all", "saxpy"):
        assert what_to_measure(problem, any_device, names, False).items == [first]
    assert kernel.check(n=1001, device=any_device)["max_of_tol"] <= 1
    judged = lab.judge(own_kernels.SAXPY, kernel, level="quick", n=1001, device=any_device)
    assert (judged.word, judged.configuration) == ("ok", first)
    (choice,) = lab.tune(problem, variants=["saxpy(WIDTH=4)"], **given).choices
    assert choice.previous == first
    with pytest.raises(gpuopt.UnsupportedError):
        kernel.check(n=1001, configuration={}, device=any_device)
    assert kernel.levels() == {"WIDTH": 1, "WG": 64}


def copied(name: str, *levels: int) -> lab.Kernel:
    """y = x."""
    return lab.Kernel(
        f"kernel void {name}(global const float* x, global float* y) {{ y[get_global_id(0)] = x[get_global_id(0)]; }}",
        name,
        parameters={"P": levels},
        arguments=[lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n", local=1),
        reference=lambda x: x,
    )


@pytest.mark.parametrize("protocol", ["quick", "full"])
def test_a_faster_version_is_told_and_is_nothing_that_calls_run(
    any_device: gpuopt.Device, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    named = dataclasses.replace(PROTOCOLS[brief], name=protocol, all_levels=protocol == "full")
    monkeypatch.setitem(PROTOCOLS, protocol, named)
    # Whatever there is besides is faster.
    monkeypatch.setitem(inspect.unwrap(lab.tune).__globals__, "_faster", lambda group, others, before: set(others))
    base, other = copied("base", 1, 2), copied("other", 2)
    tuned = lab.tune(base.problem(n=4000, versions=[other]), protocol=protocol, device=any_device)
    assert [record["variant"] for record in tuned.records] == ["base"]
    assert any(re.match(r"other\(P=2\), .* is faster than base.*: call other$", note) for note in tuned.notes)
    matched = tuned.records[0]["match"]
    records.store_records("base", [{"match": matched, "variant": "other", "parameters": {"P": 2}}])
    assert base._chosen(any_device, {"n": 4000}, None) == {"P": 1}


def test_a_record_that_the_sizes_do_not_admit_stays(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    kernel = own_kernels.saxpy(parameters={"WIDTH": [1, 4], "WG": [64]}, constraints="n % WIDTH == 0")
    first = lab.tune(kernel.problem(n=4096), protocol="quick", device=any_device)
    (record,) = first.records
    records.store_records("saxpy", [record | {"parameters": {"WIDTH": 4, "WG": 64}}])
    odd = lab.tune(kernel.problem(n=4097), protocol="quick", device=any_device)
    assert odd.path is None
    assert odd.reason.startswith("saxpy(WG=64, WIDTH=4) is on record, which stays: the sizes of n=4097")
    assert kernel._chosen(any_device, {"n": 4096}, None) == {"WIDTH": 4, "WG": 64}
    assert kernel._chosen(any_device, {"n": 4097}, None) == {"WIDTH": 1, "WG": 64}


def test_texts_of_configurations_are_names_of_variants(any_device: gpuopt.Device, brief_quick: None) -> None:
    problem = own_kernels.saxpy().problem(n=1000)
    study = lab.sweep(problem, ["saxpy(WIDTH=2)", "saxpy(WIDTH=4, WG=128)"], protocol="quick", device=any_device)
    own = {row["configuration"] for row in study.rows if row["kind"] == "summary" and row["role"] == "variant"}
    assert own == {"saxpy(WG=64, WIDTH=2)", "saxpy(WG=128, WIDTH=4)"}
    assert len(lab.isa(problem, "saxpy(WIDTH=4)", device=any_device)) == 1
    with pytest.raises(ParameterError, match=re.escape("'saxpy(WIDTH)' is no configuration")):
        lab.sweep(problem, "saxpy(WIDTH)", protocol="quick", device=any_device)


def test_a_search_says_what_failed() -> None:
    statuses = ["ok", "wrong", "timeout", "wrong"]
    results = tuple(Result({"X": at}, 1.0 if word == "ok" else None, word) for at, word in enumerate(statuses))
    found = Found(Study([]), Results("a device", "made", ("X",), results), 4, 9)
    assert "4 of 9 configurations were tried, of these 2 wrong (the first: made(X=1)), 1 timeout (made(X=2))" in str(
        found
    )


def test_every_variant_is_what_a_full_sweep_searches(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.saxpy()
    problem = kernel.problem(n=100)
    items = what_to_measure(problem, any_device, "all", True).items
    assert [getattr(item, "name", None) for item in items] == ["saxpy"]


def test_a_configuration_of_another_kernel_is_refused() -> None:
    kernel, other = own_kernels.saxpy(), Configuration("other", WIDTH=2)
    x = np.ones(8, np.float32)
    for attempt in (
        lambda: kernel.check(n=8, configuration=other),
        lambda: kernel(x=x, y=x.copy(), configuration=other),
        lambda: lab.judge("__kernel void mine(int n) {}", kernel, name="mine", configuration=other, n=8),
    ):
        with pytest.raises(ParameterError, match=r"^configuration: other\(WIDTH=2\) is none of (saxpy|mine)"):
            attempt()
    assert kernel.levels(Configuration("saxpy", WIDTH=2)) == kernel.levels({"WIDTH": 2})


@pytest.mark.parametrize("given", ["saxpy(WG=64)", "a", 5, True, [1], b"a", object(), {1: 2}])
def test_levels_of_what_is_no_configuration_are_refused(given: object) -> None:
    says = "its key: it is 1; give a text" if given == {1: 2} else "it is .*; give a Configuration, a Mapping or None"
    with pytest.raises(ParameterError, match=f"^configuration: {says}"):
        own_kernels.saxpy().levels(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["restarts", "exhaustive"])
def test_a_search_takes_what_problems_take(
    any_device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Words of a problem beside its sizes, given or of data; numbers stay as they are written."""
    monkeypatch.setattr(WORKERS, "of", lambda device: pytest.fail("it is not in this process"))
    kernel, x = own_kernels.saxpy(constraints=["a == 0.1", "n % WIDTH == 0"]), np.ones(102, np.float32)
    how: dict[str, Any] = {"strategy": strategy, "evaluations": 2, "device": any_device, "isolated": False, "a": 0.1}
    for more in ({"n": 102}, {"data": {"x": x}}, {"n": 102, "versions": ()}):
        found = lab.search(kernel, **how, **more)
        assert (found.evaluations, found.configurations) == (2, 4)
        assert found.best is not None
    other = own_kernels.saxpy(own_kernels.SAXPY.replace("saxpy", "other"), "other")
    found = lab.search(kernel, **how, n=102, versions=[other])
    assert {one.levels["WIDTH"] for one in found.results.results} <= {1, 2}
    assert found.best is not None
    with pytest.raises(ParameterError, match=r"^constraints: they admit no configuration for a=0\.2, n=102$"):
        lab.search(kernel, **how | {"a": 0.2}, n=102)
    with pytest.raises(ParameterError, match=r"^n: saxpy needs it"):
        lab.search(kernel, **how)


@pytest.mark.parametrize("levels", [["float2", "float4"], [0.5, 1.5], [1, 2.0]])
def test_a_parameter_called_width_may_be_a_word_or_a_real_number(levels: list[Any], any_device: gpuopt.Device) -> None:
    text = "kernel void twice(global float* x, int n) { int i = get_global_id(0); if (i < n) x[i] *= 2; }"
    arguments = [lab.inout("x", "n"), lab.value("n")]
    kernel = lab.Kernel(
        text,
        "twice",
        parameters={"WIDTH": levels},
        arguments=arguments,
        launch=lab.launch(items="n"),
        reference=lambda x: 2 * x,
    )
    found = lab.search(kernel, n=100, device=any_device, progress=False)
    assert {row["status"] for row in found.study.summary if row["role"] == "variant"} == {"ok"}
    assert {row["vector_width"] for row in found.study.summary} <= {None, 1}
