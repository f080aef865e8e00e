"""What a judge takes, and what it refuses; its verdicts are in test_honest.py and test_mutants.py."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
import honest_elements
import honest_gathers
import honest_ranges
import honest_sums
import own_kernels
from gpuopt import lab
from gpuopt.lab.kernels.judge import TaskError
from gpuopt.lab.kernels.other_sizes import free_sizes, other_sizes
from gpuopt.lab.kernels.remote import RemoteMemory, RemotePlan
from gpuopt.lab.kernels.verdicts import Verdict

SCALED = own_kernels.SCALE


def test_a_foreign_kernel_with_levels_and_launch_of_its_own(any_device: gpuopt.Device) -> None:
    text = """
    __kernel void mine(__global const float* x, __global float* z, int n) {
        for (int i = get_global_id(0) * W; i < n && i < (get_global_id(0) + 1) * W; ++i) z[i] = mad(2.0f, x[i], 1.0f);
    }
    """
    found = lab.judge(
        text,
        own_kernels.scaled(),
        name="mine",
        parameters={"W": [8]},
        launch=lab.launch(items="n / W", local=32),
        device=any_device,
        n=4099,
    )
    assert found.ok, str(found)
    assert str(found.configuration) == "mine(W=8)"


@pytest.mark.parametrize("text", ["\n", "int f() { return 1; }\n", "// a kernel\n"])
def test_a_text_without_a_kernel_is_told(any_device: gpuopt.Device, tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.cl"
    path.write_text(text)
    found = lab.judge(path, own_kernels.scaled(), device=any_device, n=100)
    assert (found.word, found.says) == ("compile", "other.cl holds no kernel")


def test_a_variable_between_launches_is_found_behind_macros_too(any_device: gpuopt.Device) -> None:
    """By the compiler, which takes it where no option names OpenCL C 1.2 (NVIDIA)."""
    text = SCALED.replace("__kernel", "#define WORD __global\n#define KIND int\nWORD KIND count;\n__kernel", 1)
    assert lab.judge(text, own_kernels.scaled(), device=any_device, n=1000).word in ("refused", "compile")


@pytest.mark.parametrize(("tolerance", "what"), [(10.0, "zeros"), (1e-3, "inputs rounded"), (4.0, "x itself")])
def test_a_task_that_wrong_results_pass_is_refused(any_device: gpuopt.Device, tolerance: float, what: str) -> None:
    with pytest.raises(TaskError, match=what):
        lab.judge(SCALED, own_kernels.scaled(tolerance=tolerance), device=any_device, n=1000)


def test_a_task_of_a_constant_result_is_no_task(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.scaled(reference=lambda n: np.zeros(n))
    with pytest.raises(TaskError, match="zeros"):
        lab.judge(SCALED, kernel, device=any_device, n=1000)


@pytest.mark.parametrize("level", ["quick", "judge"])
def test_a_task_without_a_result_is_no_task(any_device: gpuopt.Device, level: str) -> None:
    with pytest.raises(TaskError, match=r"^task: scaled has no result element .* give larger sizes"):
        lab.judge(SCALED, own_kernels.scaled(), device=any_device, level=level, n=0)


def test_levels_of_judging_are_named(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^level: "):
        lab.judge(SCALED, own_kernels.scaled(), device=any_device, level="hard", n=10)


def test_one_drawing_whose_result_is_near_zero_is_no_bad_task(
    device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum of numbers around zero lies within the tolerance of zero for a seed in some sixty."""
    task = own_kernels.total()

    def sum_of(seed: int) -> tuple[float, float]:
        arrays = task.task.data(task.task.numbers({"n": 5000}, {}, ["WG", "GROUPS"]), {}, seed)
        exact, allowed = task.task.right(task.task.numbers({"n": 5000}, {}, ["WG", "GROUPS"]), arrays)
        return abs(float(exact["sum"][0])), float(allowed["sum"][0])

    near = next(seed for seed in range(5000) if (found := sum_of(seed))[0] < found[1])
    drawn = iter([near, near, 1, 2, 3, 4])
    monkeypatch.setattr("gpuopt.lab.kernels.judge.secrets.randbelow", lambda most: next(drawn))
    assert lab.judge(own_kernels.SUM, task, device=device, level="quick", n=5000).ok
    with pytest.raises(TaskError, match="zeros"):
        lab.judge(own_kernels.SUM, task, device=device, level="quick", n=5000, seed=near)


def test_a_kernel_that_outruns_its_device_is_flagged(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever work is claimed, the bound is of the results, which must be written."""
    slow = SimpleNamespace(ceilings={"dram_copy": SimpleNamespace(rate=1e-6)})
    monkeypatch.setattr("gpuopt.lab.device.profile.stored", lambda device: slow)
    honest = honest_elements.in_place()
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="quick", **honest.sizes)
    assert (found.word, found.flags, found.ok) == ("ok", ("impossible",), False)


def test_a_long_sum_is_told_what_to_declare(any_device: gpuopt.Device) -> None:
    honest = honest_sums.long_sums(absolute=5e-5)
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="quick", seed=5, **honest.sizes)
    assert found.word == "inexact"
    assert "give tolerance=lab.rounding(...)" in found.says


def test_runs_that_differ_are_told_by_how_much(any_device: gpuopt.Device) -> None:
    honest = honest_sums.any_order()
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="full", repeatable=False, **honest.sizes)
    assert any(re.search(r"runs may differ .* 5 did by \S+", note) for note in found.notes)


def test_an_audit_sees_what_passes_beside_results_that_are_not_finite(any_device: gpuopt.Device) -> None:
    honest = honest_elements.not_finite(tolerance=0.5)
    with pytest.raises(TaskError, match="inputs rounded to the next lower type would pass"):
        lab.judge(honest.text, honest.kernel, device=any_device, **honest.sizes)


def test_a_task_of_long_sums_is_told_what_to_declare(any_device: gpuopt.Device) -> None:
    text = own_kernels.SUM
    positive = [lab.input("x", "n", low=0.0), *own_kernels.total().task.arguments[1:]]
    sizes = {"device": any_device, "level": "quick", "n": 100_000}
    with pytest.raises(TaskError, match=r"inputs rounded .* or tolerance=lab.rounding\(...\) where they are summed"):
        lab.judge(text, own_kernels.total(arguments=positive, tolerance=None), **sizes)
    assert lab.judge(text, own_kernels.total(arguments=positive), **sizes).ok


def found_by(device: gpuopt.Device, task: lab.Kernel, text: str = SCALED, **more: Any) -> Verdict:
    """A verdict, at level full where none is named."""
    sizes = {"n": 1000} if task.task.sizes_wanted([]) == ["n"] else {}
    return lab.judge(text, task, device=device, **({"level": "full"} | sizes | more))


def test_no_two_fills_are_alike(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What memory holds before a run is known to nobody, and each timed run finds other poison, whatever the seed."""
    asked: list[dict[str, Any]] = []

    def ask(plan: RemotePlan, does: str, phase: str, runs: int = 0, **more: Any) -> Any:
        asked.append({"does": does, **more})
        return told(plan, does, phase, runs, **more)

    told = RemotePlan.ask
    monkeypatch.setattr(RemotePlan, "ask", ask)
    for _ in range(2):
        assert found_by(any_device, own_kernels.scaled(), seed=5).ok
    fills = [one["seed"] for one in asked if one["does"] == "ready" and not one["inverted"]]
    seeds = [one for one in fills if one is not None]
    assert len(seeds) > 70
    assert len(set(seeds)) == len(seeds)
    samples = [number for number, one in enumerate(asked) if one["does"] == "sample"]
    before = [asked[number - 1] for number in samples]
    assert len(samples) > 60
    assert all(one["does"] == "ready" and not one["keep_scratch"] for one in before)


def test_data_change_while_a_kernel_is_timed(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    give = RemoteMemory.give

    def counted(memory: RemoteMemory, arrays: dict[str, np.ndarray]) -> None:
        given.append(1)
        give(memory, arrays)

    monkeypatch.setattr(RemoteMemory, "give", counted)
    monkeypatch.setattr("gpuopt.lab.kernels.trial.Trial._full", lambda *all_of_it: None)
    assert found_by(any_device, own_kernels.scaled()).ok
    assert 2 <= len(given) <= 3


def test_each_of_the_runs_that_may_differ_is_right(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A race that shows in one run of five, made from the poison of the sixth fill."""
    numbers = itertools.count(1)
    for place in ("checks", "trial.checks"):
        monkeypatch.setattr(f"gpuopt.lab.kernels.{place}.fresh_seed", lambda: next(numbers))
    word = int(np.frombuffer(np.random.default_rng(4).bytes(4), np.uint32)[0])
    for wrong in ("1000", "NAN"):
        text = SCALED.replace("if (i < n)", f"const int bad = as_uint(z[i]) == {word}u; if (i < n)").replace(
            "2 * x[i] + 1", f"bad ? {wrong} : 2 * x[i] + 1"
        )
        found = found_by(any_device, own_kernels.scaled(), text, repeatable=False)
        assert found.word == "unstable", str(found)
        assert "in run 3 of 5" in found.says
        numbers = itertools.count(1)


def test_a_launch_that_takes_no_other_size_is_told(any_device: gpuopt.Device) -> None:
    found = found_by(any_device, own_kernels.scaled(), launch=lab.launch(groups=4, local="n / 4"))
    assert found.ok, str(found)
    assert any(re.search(r"its launch does not take \d of the other sizes, such as n=\d+ \(", n) for n in found.notes)


BY_FOURS = """
__kernel void scaled(__global const float* x, __global float* z, int n) {
    const int i = 4 * get_global_id(0);
    for (int k = i; k < i + 4; ++k) z[k] = 2 * x[k] + 1;
}
"""


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("parameters", [None, {}, {"Q": [1]}])
def test_constraints_of_the_call_and_of_the_task_hold(
    any_device: gpuopt.Device, own: bool, parameters: dict[str, list[int]] | None
) -> None:
    by_fours = ["n % 4 == 0"]
    task = own_kernels.scaled(BY_FOURS, constraints=by_fours if own else (), launch=lab.launch(items="n / 4", local=1))
    found = found_by(any_device, task, BY_FOURS, parameters=parameters, constraints=[] if own else by_fours)
    assert found.ok, str(found)


def test_constraints_on_levels_of_the_task_are_left_out(any_device: gpuopt.Device) -> None:
    task = own_kernels.scaled(parameters={"W": [1, 2]}, constraints=["W < n"])
    assert found_by(any_device, task, parameters={"Q": [1]}).ok


def test_inputs_wider_than_results_are_not_rounded(any_device: gpuopt.Device) -> None:
    honest = honest_ranges.sixth_powers()
    found = found_by(any_device, honest.kernel, honest.text)
    assert any("inputs rounded to the next lower type were not tried: x is wider" in note for note in found.notes)


def test_scales_that_the_types_of_a_task_do_not_hold_are_told(any_device: gpuopt.Device) -> None:
    for honest in (honest_ranges.steep(), honest_ranges.cut_to_whole()):
        found = found_by(any_device, honest.kernel, honest.text)
        assert any("data times 8 were not tried: " in note for note in found.notes)


def test_sizes_change_together_and_each_alone() -> None:
    task = honest_gathers.transpose().kernel.task
    tried = [(one["h"], one["w"]) for one in other_sizes(["h", "w"], {}, {}, {"h": 64, "w": 64})]
    assert {(63, 63), (65, 65), (61, 61), (32, 32), (1, 1), (63, 64), (64, 63), (32, 64), (64, 32)} <= set(tried)
    assert len(set(tried)) == len(tried)
    assert free_sizes(task, {}, {"h": 64, "w": 64}) == ["h", "w"]
    (all_differ,) = [
        one for one in other_sizes([*"abc"], {}, {}, dict.fromkeys("abc", 9)) if one["a"] == 8 and one["b"] == 7
    ]
    assert all_differ == {"a": 8, "b": 7, "c": 6}


def test_sizes_that_data_of_whole_numbers_may_refer_to_stay() -> None:
    first = np.array([0, 2, 3], np.int32)
    assert free_sizes(own_kernels.search(data={"first": first}).task, {}, {"n": 2, "edges": 3}) == []
    assert free_sizes(own_kernels.search().task, {}, {"n": 2, "edges": 3}) == ["edges", "n"]


def test_sizes_that_never_differ_are_told(any_device: gpuopt.Device) -> None:
    honest = honest_gathers.transpose()
    found = found_by(any_device, honest.kernel, honest.text, constraints=["h == w"], h=64, w=64)
    assert any("the sizes were never all different" in note for note in found.notes)


@pytest.mark.parametrize("name", ["kernel", "path", "self"])
def test_sizes_may_be_called_as_what_goes_by_its_place(any_device: gpuopt.Device, name: str, tmp_path: Path) -> None:
    task = own_kernels.scaled(
        arguments=[lab.input("x", name), lab.output("z", name), lab.value(name)],
        launch=lab.launch(items=name),
    )
    sizes = {name: 64}
    assert lab.search(task, device=any_device, **sizes).configurations == 1
    lab.write_t1(task, tmp_path / "task.json", **sizes)
    assert task.check(device=any_device, **sizes)["canary_ok"]
    assert task(x=np.ones(64, np.float32), device=any_device, **sizes)[0] == 3
    assert found_by(any_device, task, **sizes).ok


def test_a_kernel_that_ignores_a_number_is_found(any_device: gpuopt.Device) -> None:
    """Real numbers, whole ones that are no sizes, and structs; one that what is right does not follow is left alone."""
    step = np.dtype([("shift", "int32"), ("scale", "float32")])
    text = """typedef struct { int shift; float scale; } Step;
    kernel void k(int n, float a, int steps, Step s, float unused, global const float* x, global float* y) {
        int i = get_global_id(0);
        if (i < n) y[i] = %s * x[i] + %s + s.shift * %s;
    }"""
    right = ("a", "steps", "s.scale")
    task = lab.Kernel(
        text % right,
        "k",
        arguments=[
            lab.value("n"),
            lab.value("a", "float32", 1.5),
            lab.value("steps", default=3),
            lab.value("s", step, (2, 0.5)),
            lab.value("unused", "float32", 7.0),
            lab.input("x", "n"),
            lab.output("y", "n"),
        ],
        launch=lab.launch(items="n", local=16),
        reference=lambda a, steps, s, x: a * x + steps + float(s["shift"]) * float(s["scale"]),
    )
    found = lab.judge(text % right, task, n=1000, device=any_device, level="full")
    assert found.word == "ok"
    assert "3 other values" in found.passed
    assert any("s.shift" in note and "no other value" in note for note in found.notes)
    for wrong, name in ((("1.5f", *right[1:]), "a"), (("a", "3", "s.scale"), "steps"), ((*right[:2], "0.5f"), "s")):
        found = lab.judge(text % wrong, task, n=1000, device=any_device, level="full")
        assert found.word == "value", str(found)
        assert f"for another {name} " in found.says


@pytest.mark.parametrize(("number", "word"), [(-3, "value"), (9, "value"), (1, "ok"), (-1, "ok"), (0, "ok")])
def test_whole_numbers_are_changed_towards_zero_unless_they_may_be_flags(
    any_device: gpuopt.Device, number: int, word: str
) -> None:
    text = """kernel void k(int c, int n, global const float* x, global float* y) {
        int i = get_global_id(0);
        if (i < n) y[i] = x[i] + %s;
    }"""
    task = lab.Kernel(
        text % "c",
        "k",
        arguments=[lab.value("c", "int32", number), lab.value("n"), lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n", local=16),
        reference=lambda c, x: x + c,
    )
    assert lab.judge(text % "c", task, n=200, device=any_device, level="full").word == "ok"
    found = lab.judge(text % f"({number})", task, n=200, device=any_device, level="full")
    assert found.word == word
    assert any("no other value was tried of c" in note for note in found.notes) == (word == "ok")


def test_other_real_values_are_those_of_their_dtype(device: gpuopt.Device) -> None:
    """Three quarters of what single precision holds is nothing that it holds."""
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    text = """#pragma OPENCL EXTENSION cl_khr_fp64: enable
    kernel void k(float a, global const double* x, global double* y) { int i = get_global_id(0); y[i] = a * x[i]; }"""
    task = lab.Kernel(
        text,
        "k",
        arguments=[lab.value("a", "float32"), lab.input("x", "n", "float64"), lab.output("y", "n", "float64")],
        launch=lab.launch(items="n", local=1),
        reference=lambda a, x: a * x,
    )
    for a in (0.1, float(np.float32(0.1))):
        found = lab.judge(text, task, n=100, a=a, device=device)
        assert found.word == "ok", str(found)
        assert "1 other value" in found.passed


def test_what_rare_data_show_is_no_state(any_device: gpuopt.Device) -> None:
    """The kernel keeps nothing from run to run; its fault needs two neighbours of one value."""
    text = (
        "kernel void r(int n, global const int* x, global int* y) { int i = get_global_id(0); if (i < n) y[i] = x[i]; }"
    )
    wrong = text.replace("= x[i];", "= x[i] + (i > 0 && x[i] == 49 && x[i - 1] == 49);")
    arguments = [lab.value("n"), lab.input("x", "n", "int32", low=-50, high=50), lab.output("y", "n", "int32")]
    task = lab.Kernel(text, "r", arguments=arguments, launch=lab.launch(items="n", local=8), reference=lambda x: x)
    words = {lab.judge(wrong, task, level="full", device=any_device, n=500, seed=seed).word for seed in range(40)}
    assert words <= {"ok", "seed", "size", "wrong"}
    assert "seed" in words


def test_a_verdict_names_what_it_is_not_made_of() -> None:
    good = ("ok", "x", "quick", gpuopt.Configuration("k"), "d", (), "r")
    assert lab.Verdict(*good).ok
    with pytest.raises(gpuopt.ParameterError, match=r"^notes: it is 3; give"):
        lab.Verdict(*good, notes=3)
    with pytest.raises(gpuopt.ParameterError, match=r"^passed: it is 3; give"):
        lab.Verdict(*good[:5], 3, "r")


def doubled(text: str) -> lab.Kernel:
    arguments = [lab.inout("x", "n"), lab.value("n")]
    return lab.Kernel(text, "twice", arguments=arguments, launch=lab.launch(items="n"), reference=lambda x: 2 * x)


TWICE = "kernel void twice(global float* x, int n) { int i = get_global_id(0); if (i < n) x[i] *= 2; }"


def test_a_name_that_the_text_lacks_is_told_as_name(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^name: there is no kernel nope in "):
        lab.judge(TWICE, doubled(TWICE), name="nope", n=8, device=any_device)


def test_a_kernel_that_is_wrong_from_the_next_size_on_is_wrong(any_device: gpuopt.Device) -> None:
    cut = TWICE.replace("i < n", "i < min(n, 100)")
    verdict = lab.judge(cut, doubled(TWICE), n=100, device=any_device)
    assert (verdict.word, verdict.reproducer.split(", ")[-1]) == ("size", "n=101")
