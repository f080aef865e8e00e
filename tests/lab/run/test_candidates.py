"""What is visited in a block: calls, peers and their clocks, a launch, and configurations that round their inputs."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, MismatchError, lab, problems
from gpuopt.lab.rows.schema import comparison_key, resume_key
from gpuopt.lab.run import cuda, wanted
from gpuopt.lab.run.candidates import (
    call_candidate,
    overhead_candidate,
    peer_candidate,
    problem_fields,
    variant_candidate,
)
from gpuopt.lab.run.plan_fields import kernel_fields
from gpuopt.lab.timing import samplers
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.problem import Problem
from gpuopt.workloads.spmv.peers import peers


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(48, 32, radius=2, seed=1)


def common(problem: Problem, device: gpuopt.Device) -> dict[str, Any]:
    return problem_fields(problem, device, "quick", "hot", None)


# ---------------------------------------------------------------- clocks of others


@pytest.mark.parametrize(
    ("once_ms", "clock", "batch", "word"),
    [
        (0.01, None, 100, "batch"),
        (0.0001, None, 1000, "batch"),
        (0.1, None, 1, "event"),
        (0.01, "event", 1, "event"),
        (15.0, "batch", 1, "batch"),
    ],
)
def test_short_products_are_queued_together(once_ms: float, clock: str | None, batch: int, word: str) -> None:
    asked: list[tuple[int, int]] = []

    def sample(count: int, batch: int) -> list[float]:
        asked.append((count, batch))
        return [once_ms] * count

    sampler = samplers.queued_sampler(sample, clock=clock)
    assert (sampler.clock, sampler.batch_n) == (word, batch)
    assert sampler.take(4) == [once_ms] * 4
    assert asked[-1] == (4, batch)


def test_a_cold_sample_is_single_and_flushed_whoever_takes_it() -> None:
    log: list[str] = []

    def sample(count: int, batch: int) -> list[float]:
        log.append(f"{count}x{batch}")
        return [0.1] * count

    theirs = samplers.queued_sampler(sample, lambda: log.append("flush"))
    assert (theirs.take(2), theirs.clock, theirs.batch_n) == ([0.1, 0.1], "event", 1)
    assert log == ["flush", "1x1", "flush", "1x1"]
    log.clear()
    host = samplers.wall_sampler(lambda: log.append("run"), lambda: log.append("flush"))
    assert len(host.take(2)) == 2
    assert log == ["flush", "run", "flush", "run"]
    log.clear()

    def ours(count: int, batch: int = 1, period: bool = False) -> dict[str, list[float]]:
        log.append(f"{count}x{batch}")
        return dict.fromkeys(("device_ms", "busy_ms", "queued_ms", "wall_ms", "start_s"), [0.001] * count)

    plan: Any = SimpleNamespace(sample=ours, kernels=[{}])
    device = samplers.device_sampler(plan, 1.0, lambda: log.append("flush"))
    log.clear()
    assert (device.take(3), device.clock, device.batch_n) == ([0.001] * 3, "event", 1)
    assert log == ["flush", "1x1"] * 3


class Cupy:
    """Stands for CuPy on a machine with GPUs at these PCI addresses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *addresses: str, broken: Exception | None = None) -> None:
        def count() -> int:
            if broken is not None:
                raise broken
            return len(addresses)

        runtime = SimpleNamespace(getDeviceCount=count, deviceGetByPCIBusId=addresses.index)
        module: Any = ModuleType("cupy")
        module.cuda = SimpleNamespace(runtime=runtime)
        module.__version__ = "14.0"
        module.__spec__ = SimpleNamespace(name="cupy")
        monkeypatch.setitem(sys.modules, "cupy", module)


def nvidia(**facts: str) -> Any:
    return SimpleNamespace(name="Made Up 1", vendor="NVIDIA Corporation", **facts)


@pytest.mark.parametrize(
    ("addresses", "facts", "number"),
    [
        (["0000:01:00.0"], {}, 0),
        (["0000:01:00.0", "0000:02:00.0"], {"pci": "0000:02:00.0"}, 1),
        (["0000:01:00.0", "0000:02:00.0"], {}, None),
        ([], {}, None),
    ],
)
def test_cupy_runs_on_the_gpu_that_is_the_opencl_device(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], facts: dict[str, str], number: int | None
) -> None:
    Cupy(monkeypatch, *addresses)
    notes: list[str] = []
    assert cuda.cupy_device(nvidia(**facts), notes) == number
    assert len(notes) == (number is None)
    found = {peer.name: peer.platform for peer in peers(nvidia(**facts), [])}
    assert ("cuSPARSE CSR" in found) is (number is not None)
    if number is not None:
        assert found["cuSPARSE CSR"] == "CuPy 14.0"
    else:
        assert f"it sees {len(addresses)} GPUs, and which of them is Made Up 1 cannot be told" in notes[0]


def test_a_peer_that_does_not_import_is_left_out_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As ASTRA does where CUDA's runtime is of another version."""
    (tmp_path / "halfway.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    notes: list[str] = []
    assert not cuda.imports("halfway", "Half a Package", notes)
    assert notes == ["Half a Package is left out: ImportError: libcudart.so.12: cannot open shared object file"]
    assert not cuda.imports("no_such_package", "None", notes)
    assert len(notes) == 1
    assert cuda.imports("numpy", "NumPy", notes)


def test_cupy_works_on_the_chosen_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    Cupy(monkeypatch, "a", "b")
    current = [0]

    @contextlib.contextmanager
    def on(number: int) -> Iterator[None]:
        current.append(number)
        yield
        current.pop()

    class Matrix:
        def __matmul__(self, x: object) -> int:
            return current[-1]

    sys.modules["cupy"].cuda.Device = on
    assert cuda.cupy_run(cuda.CupyProduct(Matrix(), None, 1)) == 1


def test_a_broken_cupy_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    Cupy(monkeypatch, "a", broken=RuntimeError("driver too old"))
    notes: list[str] = []
    assert len(peers(nvidia(), notes)) == 2
    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cupy", None)  # found, and not to be imported
    assert len(peers(nvidia(), notes)) == 2
    assert notes[0] == "CuPy and cuSPARSE are left out: RuntimeError: driver too old"
    assert notes[1].startswith("CuPy and cuSPARSE are left out: ModuleNotFoundError: ")
    assert peers(SimpleNamespace(vendor="Another"), notes)  # type: ignore[arg-type]
    assert len(notes) == 2


def test_a_stored_clock_is_kept(any_device: gpuopt.Device, problem: Problem) -> None:
    def timed(state: Any, count: int, batch: int) -> list[float]:
        return [0.1] * count

    peer = lab.Peer("other", lambda p: p.reference, lambda y: y, sample=timed)
    fields = common(problem, any_device)
    assert peer_candidate(problem, peer, fields, PhaseTimer()).sampler.clock == "event"
    kept = peer_candidate(problem, peer, fields, PhaseTimer(), clock_of=lambda fields: "batch")
    assert (kept.sampler.batch_n, kept.fields["clock"]) == (10, "batch")


# ---------------------------------------------------------------- whole calls


def test_calls_return_what_a_user_gets(device: gpuopt.Device, problem: Problem) -> None:
    assert list(problem.calls) == ["gpuopt.spmv(A, x)", "M @ x"]
    for name, make in problem.calls.items():
        result = make(device)()
        assert isinstance(result, np.ndarray), name
        assert (np.abs(result - problem.reference) <= problem.tolerance).all(), name


def test_a_call_is_a_verified_target_of_the_hosts_clock(any_device: gpuopt.Device, problem: Problem) -> None:
    target = call_candidate(problem, "M @ x", any_device, common(problem, any_device), PhaseTimer())
    assert (target.role, target.sampler.clock, target.label) == ("call", "wall", "M @ x")
    assert target.fields["max_abs"] <= target.fields["tol"]
    assert target.work["flops"] == 2 * problem.sizes["nnz_range"]
    assert target.fields["platform"] == any_device.platform
    assert target.bytes == {}
    assert min(target.sampler.take(3)) > 0


def test_the_row_of_a_call_says_by_a_hash_which_configuration_it_takes(
    any_device: gpuopt.Device, problem: Problem
) -> None:
    one, other = Configuration("basic"), Configuration("sliced")
    problems = [dataclasses.replace(problem, plain=lambda device, taken=taken: taken) for taken in (one, one, other)]
    problems.append(dataclasses.replace(problem, call_configurations={"M @ x": other}))
    rows = [
        call_candidate(each, "M @ x", any_device, common(problem, any_device), PhaseTimer()).fields for each in problems
    ]
    keys = [resume_key(row) for row in rows]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert len({comparison_key(row) for row in rows}) == 1
    assert wanted.call_plan(dataclasses.replace(problem, workload="made_up", plain=None), "M @ x", any_device) is None


def test_an_edit_under_the_kernel_folder_is_another_call(
    any_device: gpuopt.Device, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan() -> str | None:
        return wanted.call_plan(problem, "M @ x", any_device)

    packaged = plan()
    for path in ("spmv/basic.cl", "common/real.cl", "gemm/naive.cl"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_bytes(Path(__file__).parents[3].joinpath("kernels", path).read_bytes())
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    plans = [plan()]
    for path in (
        "gemm/naive.cl",
        "spmv/basic.cl",
        "common/real.cl",
    ):  # the last is an include
        with (tmp_path / path).open("a") as file:
            file.write("// edited\n")
        plans.append(plan())
    assert plans[0] == plans[1]
    assert len({packaged, *plans}) == 4
    (tmp_path / "spmv" / "broken.cl").write_text('#include "spmv/nowhere.cl"\n')  # no call takes it: none ends
    assert plan() not in plans
    monkeypatch.delenv("GPUOPT_KERNEL_DIR")
    assert plan() == packaged


def test_a_wrong_call_is_no_target(any_device: gpuopt.Device, problem: Problem) -> None:
    wrong = dataclasses.replace(problem, calls={"wrong": lambda device: lambda: problem.reference + 1})
    with pytest.raises(MismatchError, match="elements are off"):
        call_candidate(wrong, "wrong", any_device, common(problem, any_device), PhaseTimer())


def test_a_sweep_visits_calls_and_a_launch(
    any_device: gpuopt.Device, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = dataclasses.replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    monkeypatch.setitem(PROTOCOLS, "brief", brief)
    study = lab.sweep(problem, "basic", protocol="brief", device=any_device, peers=())
    made = {row["variant"]: row for row in study.rows if row["kind"] == "summary" and row["role"] != "clone"}
    assert {"gpuopt.spmv(A, x)", "M @ x", "launch"} <= set(made)
    assert made["M @ x"]["blocks"] == made["launch"]["blocks"] == 10
    assert made["launch"]["batch_n"] > 1
    assert made["basic"]["launches"] == 1
    assert made["basic"]["accuracy"] == ""
    assert made["basic"]["uncached_ms"] > 0
    assert made["basic"]["in_turn"] == 1
    assert "one launch, queued back to back: " in study.explain(120)
    assert study.speedup("M @ x", "gpuopt.spmv(A, x)").blocks == 10
    alone = lab.sweep(problem, "basic", protocol="brief", device=any_device, peers=(), calls=False)
    assert not [row for row in alone.rows if row["role"] == "call"]


def test_a_failed_call_is_a_row(any_device: gpuopt.Device, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    brief = dataclasses.replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    monkeypatch.setitem(PROTOCOLS, "brief", brief)
    wrong = dataclasses.replace(problem, calls={"wrong": lambda device: lambda: problem.reference + 1})
    study = lab.sweep(wrong, "basic", protocol="brief", device=any_device, peers=())
    assert [(r["role"], r["status"]) for r in study.summary] == [("variant", "ok"), ("call", "wrong")]


# ---------------------------------------------------------------- a launch, and rounded inputs


def test_a_launch_is_the_same_kernel_each_time(any_device: gpuopt.Device, problem: Problem) -> None:
    first, second = (overhead_candidate(any_device, common(problem, any_device), PhaseTimer(), []) for _ in range(2))
    assert (first.role, first.sampler.clock) == ("overhead", "batch")
    assert first.sampler.batch_n > 1
    assert first.bytes["dram"] <= 16384
    for key in ("source_sha256", "options", "params", "global_size", "sizes"):
        assert first.fields[key] == second.fields[key]


def test_a_rounded_configuration_is_held_to_its_own_tolerance(device: gpuopt.Device, problem: Problem) -> None:
    half = Configuration("padded", HALF=1)
    fields = common(problem, device)
    target = variant_candidate(problem, half, None, device, fields, PhaseTimer(), None, lambda fields: None)
    assert target.fields["accuracy"] == "HALF=1"
    assert target.fields["tol"] == pytest.approx(problem.tolerance_for(half).max())
    assert target.fields["max_abs"] > problem.tolerance.max() / 10  # fp32 stays far below its worst case
    target.check()
    strict = dataclasses.replace(problem, tolerance_of=None)
    with pytest.raises(MismatchError):
        variant_candidate(strict, half, None, device, fields, PhaseTimer(), None, lambda fields: None)


# ---------------------------------------------------------------- what rows are keyed by


def test_twins_have_rows_of_their_own(any_device: gpuopt.Device, problem: Problem) -> None:
    assert common(problem, any_device)["device"] == any_device.name
    assert common(problem, any_device)["device_type"] == any_device.type
    facts = {"name": "Card", "platform": "Maker", "driver": "1", "type": "gpu"}
    labels = [
        problem_fields(problem, SimpleNamespace(**facts, key=key), "quick", "hot", None)["device"]  # type: ignore[arg-type]
        for key in ("Maker / Card", "Maker / Card #2")
    ]
    assert labels == ["Card", "Card #2"]


def test_a_plan_is_known_by_all_its_kernels() -> None:
    def kernel(source: str, options: str = "-DX") -> dict[str, Any]:
        names = ("global_size", "local_size", "binary_sha256", "registers", "spill_bytes", "local_bytes")
        return dict.fromkeys((*names, "private_bytes"), None) | {
            "source_sha256": source,
            "options": options,
            "build_ms": 1.0,
            "global_size": [1],
            "queue": 0,
        }

    def known(*kernels: dict[str, Any]) -> str:
        plan: Any = SimpleNamespace(kernels=list(kernels), main_step=0)
        fields = kernel_fields(plan)
        assert fields["options"] == "-DX"
        return str(fields["source_sha256"])

    assert known(kernel("a")) == "a"  # as rows have it that are stored already
    hashes = {
        known(kernel("a"), kernel("b")),
        known(kernel("a"), kernel("c")),
        known(kernel("a"), kernel("b", "-DY")),
    }
    assert len(hashes) == 3
    rounds: Any = SimpleNamespace(
        kernels=[*(kernel("a") for _ in range(9)), kernel("a", "-DY"), kernel("b")], main_step=0
    )
    assert kernel_fields(rounds)["build_ms"] == 3.0  # a program once, however often it is launched


def test_launches_of_two_queues_need_not_follow_one_another() -> None:
    def step(queue: int, source: str | None = "a", size: int = 64) -> dict[str, Any]:
        return {"queue": queue, "source_sha256": source, "global_size": [size]} | dict.fromkeys(
            ("local_size", "options", "binary_sha256", "registers", "spill_bytes", "local_bytes", "private_bytes"), None
        ) | {"build_ms": 0.0}  # fmt: skip

    # A copy is no kernel; a kernel without work-items is left out.
    steps = [step(0), step(0), step(0, None), step(1), step(0), step(0, size=0)]
    fields = kernel_fields(SimpleNamespace(kernels=steps, main_step=0))  # type: ignore[arg-type]
    assert (fields["launches"], fields["in_turn"]) == (4, 3)


def test_of_rounds_that_a_flag_ends_one_is_sure_to_run(any_device: gpuopt.Device) -> None:
    text = "kernel void go(global int* y, global int* more) { y[get_global_id(0)] = more[0]; }"
    one = lab.stage("go", "y more", lab.launch(items="n"))

    def launches(rounds: int, *more: Any, isolated: bool = True) -> tuple[int | None, int | None]:
        stages = [one, lab.repeat([one, one], rounds, until=lab.zero("more")), *more]
        arguments = [lab.output("y", "n", "int32"), lab.scratch("more", 1, "int32")]
        kernel = lab.Kernel(text, "go", arguments=arguments, stages=stages, reference=lambda n: np.zeros(n))
        problem = kernel.problem(n=64, isolated=isolated)
        fields = kernel_fields(problem.prepare(Configuration("go"), any_device).prepared)
        return fields["launches"], fields["in_turn"]

    assert [launches(rounds) for rounds in (1, 2, 100)] == [(3, 3)] * 3
    assert launches(5, one) == launches(1, one, isolated=False) == (4, 4)
    again = lab.repeat(one, 7, until=lab.zero("more"))
    assert launches(5, again) == launches(1, again, isolated=False) == (4, 4)
    assert launches(5, again, again, one) == (6, 6)
