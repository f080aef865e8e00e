"""Rounds of stages that a flag ends: the host reads it after each."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, ParameterError, lab
from own_kernels import SEARCH, levels_of, search


def graph(n: int, chain: int) -> dict[str, np.ndarray]:
    """A chain of so many vertices from 0, each with a leaf, and vertices that nothing leads to."""
    edges = [[] for _ in range(n)]
    for i in range(chain - 1):
        edges[i] = [i + 1, chain + i]
    first = np.cumsum([0, *map(len, edges)]).astype(np.int32)
    return {"first": first, "next": np.array([k for each in edges for k in each], dtype=np.int32)}


@pytest.mark.parametrize("chain", [1, 2, 17])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_search_goes_on_as_long_as_it_finds_something(any_device: gpuopt.Device, chain: int, isolated: bool) -> None:
    problem = search().problem(data=graph(100, chain), n=100, edges=2 * (chain - 1), isolated=isolated)
    bound = problem.prepare(Configuration("search"), any_device)
    bound.checks.verify()
    bound.checks.verify()
    times = bound.prepared.sample(3, 2, True)
    assert min(times["device_ms"]) > 0
    bound.checks.again()
    if not isolated:
        # start, and a clear and an advance a round; the last round finds nothing
        assert len([one for one in bound.prepared.kernels if one["entry_point"] == "ask"]) == 100


def test_rounds_that_are_too_few_are_seen_in_the_result(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.Error, match="level"):
        search("3").check(device=any_device, data=graph(50, 17), n=50, edges=32)


def test_as_a_call_and_in_a_judge(device: gpuopt.Device) -> None:
    given = graph(60, 9)
    np.testing.assert_array_equal(search()(**given, n=60, device=device), levels_of(given["first"], given["next"], 60))
    lazy = SEARCH.replace("more[0] = 1;", "")
    sizes = {"n": 60, "edges": 16}
    task = search(data=given)
    assert lab.judge(SEARCH, task, device=device, level="full", **sizes).ok
    assert lab.judge(lazy, task, device=device, level="quick", **sizes).word == "wrong"


EACH = lab.launch(items="n", local=1)
FILL = "kernel void fill(global float* y, int k) { y[get_global_id(0)] = k; }"


def filled(size: str, value: lab.kernels.arguments.Value, rounds: int = 0, **more: Any) -> lab.Kernel:
    """y = the value, in one launch or in rounds."""
    launch = lab.launch(items=size, local=1)
    stages = [lab.repeat(lab.stage("fill", ["y", value.name], launch), rounds)] if rounds else None
    given: dict[str, Any] = {"stages": stages} if rounds else {"launch": launch}
    reference = None if value.each is not None else lambda y, **values: y * 0 + values[value.name]
    return lab.Kernel(FILL, "fill", arguments=[lab.inout("y", size), value], reference=reference, **given, **more)


def test_i_is_a_name_as_any_other_where_there_are_no_rounds(any_device: gpuopt.Device) -> None:
    y = np.zeros(4, np.float32)
    assert filled("n", lab.value("i"))(y=y, i=3, device=any_device).tolist() == [3] * 4
    assert filled("i", lab.value("k"))(y=y, k=7, device=any_device).tolist() == [7] * 4
    assert filled("n", lab.value("k"), parameters={"i": [5]}).levels() == {"i": 5}
    assert filled("n", lab.value("i", each="2 * i"), rounds=3)(y=y, device=any_device).tolist() == [4] * 4


def test_a_number_for_a_value_with_each_is_refused(any_device: gpuopt.Device) -> None:
    kernel = filled("n", lab.value("k", each="i"), rounds=3)
    for ask in (partial(kernel, y=np.zeros(4, np.float32), device=any_device), partial(kernel.problem, n=4)):
        with pytest.raises(ParameterError, match=r"^k: it is 'i' in each round; leave it out$"):
            ask(k=5)
    with pytest.raises(ParameterError, match=r"^k\.default: each says what it is"):
        lab.value("k", default=1, each="i")


@pytest.mark.parametrize(
    ("size", "name", "more"), [("i", "k", {}), ("n", "i", {}), ("n", "k", {"parameters": {"i": [1]}})]
)
def test_i_is_the_round_alone_within_rounds(size: str, name: str, more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"^i: within lab\.repeat it is the round; call it otherwise$"):
        filled(size, lab.value(name), rounds=2, **more)


def test_a_launch_outside_of_rounds_has_no_round() -> None:
    with pytest.raises(ParameterError, match=r"^launch: 'i' of fill is unknown; known: k, n$"):
        lab.Kernel(FILL, "fill", arguments=[lab.inout("y", "n"), lab.value("k")], launch=lab.launch(items="n + i"))


@pytest.mark.parametrize(
    ("flag", "swap", "said"),
    [
        ("x", (), "until: x is no array of whole numbers"),
        ("nothing", (), "until: nothing is no array"),
        ("z", (), "until: z is no array of whole numbers"),
        ("flag", ("z", "w"), "swap: z must stay"),
        ("flag", ("flag", "other"), "swap: flag must stay"),
    ],
)
def test_flags_that_cannot_end_rounds(flag: str, swap: tuple[str, ...], said: str) -> None:
    names = ["x", "z", "w", "flag", "other"]
    with pytest.raises(ParameterError, match=said):
        lab.Kernel(
            "__kernel void f(...) {}",
            "f",
            arguments=[
                lab.input("x", 4),
                lab.output("z", 4),
                lab.scratch("w", 4),
                lab.scratch("flag", 1, "int32"),
                lab.scratch("other", 1, "int32"),
            ],
            stages=[lab.repeat(lab.stage("f", names, lab.launch(items=4)), 3, swap=swap, until=lab.zero(flag))],
            reference=lambda x: x,
        )


COUNT = """kernel void advance(global const float* a, global float* b, global float* y, global int* more) {
    int i = get_global_id(0);
    b[i] = y[i] = a[i] + 1;
    if (b[i] < 3) more[0] = 1;
}
kernel void taken(global const float* x, global float* a) { a[get_global_id(0)] = x[get_global_id(0)]; }
"""


@pytest.mark.parametrize("later", ["a y", "b y"])
@pytest.mark.parametrize("again", [False, True])
def test_what_a_flag_leaves_in_one_array_of_a_pair_is_taken_by_no_later_stage(
    any_device: gpuopt.Device, later: str, again: bool
) -> None:
    def counted(*more: Any) -> lab.Kernel:
        rounds = lab.repeat(lab.stage("advance", "a b y more", EACH), 9, swap=("a", "b"), until=lab.zero("more"))
        arguments = [lab.input("x", "n"), lab.scratch("a", "n"), lab.scratch("b", "n"), lab.output("y", "n")]
        return lab.Kernel(
            COUNT,
            "count",
            arguments=[*arguments, lab.scratch("more", 1, "int32")],
            stages=[lab.stage("taken", "x a", EACH), rounds, *more],
            reference=lambda x: x * 0 + 3,
        )

    assert counted()(x=np.zeros(4, np.float32), device=any_device).tolist() == [3] * 4
    after = lab.stage("taken", later, EACH)
    with pytest.raises(ParameterError, match=rf"^swap: a later stage takes {later[0]}, and a flag ends.* stays$"):
        counted(lab.repeat(after, 2) if again else after)
    with pytest.raises(ParameterError, match=r"^swap: a later stage takes b, and a flag"):
        counted(lab.repeat(lab.stage("taken", "x y", EACH), 2, swap=("b", "y")))  # y is b from the second round on


STEP = """__kernel void step(__global float* w, __global float* o) {
    o[get_global_id(0)] = w[get_global_id(0)] + 1;
}
__kernel void copied(__global const float* x, __global float* to) { to[get_global_id(0)] = x[get_global_id(0)]; }
"""


def stepped(*stages: object, w: str = "input", o: str = "output", text: str = STEP) -> lab.Kernel:
    role = {"input": lab.input, "scratch": lab.scratch, "output": lab.output, "inout": lab.inout}
    arguments = [role[w]("w", "n"), role[o]("o", "n"), lab.input("x", "n"), lab.value("rounds")]
    return lab.Kernel(text, "step", arguments=arguments, stages=stages, reference=lambda x: x)


TURNS = lab.repeat(lab.stage("step", "w o", EACH), "rounds", swap=("w", "o"))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_an_output_that_is_older_than_what_the_last_round_wrote(any_device: gpuopt.Device, rounds: int) -> None:
    kernel = stepped(TURNS)
    zeros = np.zeros(4, np.float32)
    given = {"w": zeros, "x": zeros, "rounds": rounds, "device": any_device}
    if rounds % 2:
        assert (kernel(**given) == rounds).all()
        return
    with pytest.raises(ParameterError, match=r"^swap: the last round writes to w, which is no result"):
        kernel(**given)
    with pytest.raises(ParameterError, match=r"^swap: "):
        kernel.check(n=4, rounds=rounds, device=any_device)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_an_inout_that_is_older_than_what_the_last_round_wrote(any_device: gpuopt.Device, rounds: int) -> None:
    kernel = stepped(TURNS, w="inout", o="scratch")
    zeros = np.zeros(4, np.float32)
    given = {"w": zeros, "x": zeros, "rounds": rounds, "device": any_device}
    if rounds % 2 == 0:
        assert (kernel(**given) == rounds).all()
        return
    with pytest.raises(ParameterError, match=r"^swap: the last round writes to o, which is no result.* an even one"):
        kernel(**given)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(("w", "o"), [("output", "scratch"), ("scratch", "output")])
def test_what_a_round_writes_is_what_is_not_const_where_both_arrays_of_a_pair_were_written_before(
    any_device: gpuopt.Device, rounds: int, w: str, o: str
) -> None:
    text = STEP.replace("step(__global float* w", "step(__global const float* w")
    both = [lab.stage("copied", "x w", EACH), lab.stage("copied", "x o", EACH)]
    given = {"x": np.zeros(4, np.float32), "rounds": rounds, "device": any_device}
    if (w == "output") == (rounds % 2 == 0):
        assert (stepped(*both, TURNS, w=w, o=o, text=text)(**given) == rounds).all()
        return
    way = "even" if w == "output" else "odd"
    with pytest.raises(
        ParameterError, match=rf"^swap: the last round writes to [wo], which is no result.*an {way} one"
    ):
        stepped(*both, TURNS, w=w, o=o, text=text)(**given)
    stepped(*both, TURNS, w=w, o=o)(**given)  # each may be written


@pytest.mark.parametrize(("w", "o"), [("output", "scratch"), ("scratch", "output")])
def test_no_rounds_at_all_leave_what_was_written_before(any_device: gpuopt.Device, w: str, o: str) -> None:
    text = STEP.replace("step(__global float* w", "step(__global const float* w")
    both = [lab.stage("copied", "x w", EACH), lab.stage("copied", "x o", EACH)]
    ones = np.ones(4, np.float32)
    assert (stepped(*both, TURNS, w=w, o=o, text=text)(x=ones, rounds=0, device=any_device) == 1).all()


def test_results_that_may_be_swapped(any_device: gpuopt.Device) -> None:
    zeros = np.zeros(4, np.float32)
    given = {"x": zeros, "rounds": 2, "device": any_device}
    into, out = (lab.stage("copied", names, EACH) for names in ("x w", "w o"))
    copied = stepped(into, TURNS, out, w="scratch")  # by a stage behind the rounds
    assert (copied(**given) == 2).all()
    both = stepped(TURNS, w="inout")(w=zeros, **given)  # what the last round wrote is a result too
    assert isinstance(both, dict)
    assert (both["w"] == 2).all()
    back = lab.repeat(lab.stage("step", "o w", EACH), "rounds", swap=("o", "w"))
    filled = stepped(lab.stage("copied", "x o", EACH), back, w="scratch")  # rounds begin with what a stage wrote
    assert (filled(**given) == 2).all()


def test_zero_wants_a_name() -> None:
    with pytest.raises(ParameterError, match="flag"):
        lab.zero("a b")


@pytest.mark.parametrize(
    "swap", [(1,), [None], [("w", "o"), "wo"], [("w",)], [("w", 1)], np.array([["w", "o"]]), [np.array(["w", "o"])]]
)
def test_swaps_that_are_no_pairs_of_names(swap: Any) -> None:
    with pytest.raises(ParameterError, match=r"^swap: .* is no pair of names; write swap=\('a', 'b'\)"):
        lab.repeat(lab.stage("step", "w o", EACH), 3, swap=swap)


def test_a_pair_of_names_may_be_an_array() -> None:
    assert lab.repeat(lab.stage("step", "w o", EACH), 3, swap=np.array(["w", "o"])).swap == (("w", "o"),)


def added(dtype: Any, each: str) -> lab.Kernel:
    """y + a value that changes from round to round."""
    name = {"int32": "int", "float32": "float"}[dtype]
    return lab.Kernel(
        f"kernel void f(global float* y, {name} v) {{ y[get_global_id(0)] += v; }}",
        "f",
        arguments=[lab.inout("y", "n"), lab.value("v", dtype, each=each)],
        stages=[lab.repeat(lab.stage("f", "y v", lab.launch(items="n", local=1)), 4)],
    )


def test_values_of_rounds_are_what_they_were_declared_as(any_device: gpuopt.Device) -> None:
    given = {"y": np.zeros(2, np.float32), "device": any_device}
    for dtype, each, total in (
        ("int32", "2 * i / 2", 6),
        ("int32", "i > 1", 2),
        ("float32", "3 / 2", 6),
        ("float32", "i / 2", 3),
    ):
        assert (added(dtype, each)(**given) == total).all()
    for each, says in (
        ("3 / 2", "^v: '3 / 2' is 3/2 in round 0, which is no whole number; declare float32 or float64"),
        ("i / 2", "^v: 'i / 2' is 1/2 in round 1"),
        ("2 ** 40", "^v: 1099511627776 does not fit int32"),
    ):
        with pytest.raises(ParameterError, match=says):
            added("int32", each)(**given)
    with pytest.raises(ParameterError, match=r"^v\.each: a struct stays as it is"):
        lab.value("v", np.dtype([("a", "i4")]), each="i")
