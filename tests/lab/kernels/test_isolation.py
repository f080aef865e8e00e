"""Kernels that hang, crash, stray or do not build cost a row each, and their worker is replaced."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, lab
from gpuopt.lab.kernels.remote import RemotePlan, Restore
from gpuopt.lab.kernels.worker import WORKERS, KernelCrashError, KernelTimeoutError, Worker
from gpuopt.lab.run import clocks
from gpuopt.lab.timing import samplers

HOSTILE = """
__kernel void hostile(__global const float* x, __global float* z, __global volatile int* flag, int n) {
    const int i = get_global_id(0);
#if KIND == 1
    while (flag[0] != 77) { }
#elif KIND == 2
    if (i == 0) for (long k = 0; k < 64; ++k) z[(1L << 40) + (k << 30)] = 1;
#elif KIND == 3
    if (i == 0) z[n] = 1;
#elif KIND == 4
    if (i == 1) { z[i] = NAN; return; }
#elif KIND == 5
    does not build;
#elif KIND == 6
    if (i == 0) ((__global float*)x)[0] += 1;
#elif KIND == 7
    if (i == 2) return;
#elif KIND == 9
    if (i == 3) __builtin_trap();
#elif KIND == 10
    __local float all[1 << 28];  // no device has a GiB for a work-group
    all[i] = z[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    z[0] = all[i + 1];
#endif
    if (i < n) z[i] = 2 * x[i] + 1;
}
"""


def hostile(**levels: Any) -> lab.Kernel:
    return lab.Kernel(
        HOSTILE,
        "hostile",
        parameters={"KIND": list(range(11)), **levels},
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.scratch("flag", 1, "int32"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: 2 * x + 1,
    )


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuopt.lab.kernels.remote.LEAST_S", 2.0)


def children() -> set[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(word) for word in listed.split()}


def memory_kb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_results_of_a_worker_that_ended_are_not_read(device: gpuopt.Device) -> None:
    """Another plan's kernel ends the process; in the next one nothing has run yet."""
    problem = hostile().problem(n=100)
    plan = problem.prepare(Configuration("hostile", KIND=0), device)
    plan.prepared.run()
    right = plan.output.to_numpy()
    worker = WORKERS.of(device)
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    with contextlib.suppress(KernelCrashError):  # where the end is not seen before the question
        problem.prepare(Configuration("hostile", KIND=8), device).prepared.run()
    with pytest.raises(gpuopt.Error, match=r"^output: another kernel ended the process"):
        plan.output.to_numpy()
    plan.prepared.run()
    np.testing.assert_array_equal(plan.output.to_numpy(), right)


def test_each_gets_its_row_and_the_sweep_goes_on(
    any_device: gpuopt.Device, brief_quick: None, short_limits: None
) -> None:
    """One that spins, writes astray, writes beside its array, returns NaN, does not build, writes its input, leaves an
    element out, traps, takes more memory than there is; right ones first and last. Pages astray end a process on a CPU
    alone; a GPU's driver reports them. PoCL compiles a trap to nothing, and the results are right."""
    wanted = [Configuration("hostile", KIND=kind) for kind in (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8)]
    study = lab.sweep(hostile().problem(n=1000, limit_s=3), wanted, protocol="quick", device=any_device, calls=False)
    rows = {row["params"]["KIND"]: row for row in study.rows if row["kind"] == "summary" and row["role"] == "variant"}
    statuses = {kind: row["status"] for kind, row in rows.items()}
    crash = "crash" if any_device.type == "cpu" else statuses[2]
    trap = "ok" if any_device.platform == "Portable Computing Language" else crash
    assert statuses == {
        0: "ok",
        1: "timeout",
        2: crash,
        3: "wrong",
        4: "wrong",
        5: "compile",
        6: "wrong",
        7: "wrong",
        9: trap,
        10: statuses[10],
        8: "ok",
    }
    assert statuses[10] in ("unsupported", "runtime", "compile")
    words = {kind: str(rows[kind]["reason"]).split(":")[0] for kind in (3, 4, 6, 7)}
    assert words == {3: "outside", 4: "nan", 6: "inputs", 7: "unwritten"}


@pytest.mark.parametrize(("kind", "status"), [(1, "timeout"), (2, "crash"), (0, "ok")])
def test_the_whole_call_of_a_hostile_kernel_does_not_run_here(
    any_device: gpuopt.Device, brief_quick: None, short_limits: None, kind: int, status: str
) -> None:
    """A call runs in this process: not before its kernel ran in the other, also where the sweep has other levels."""
    if any_device.type != "cpu":
        pytest.skip("a GPU that is shared runs nothing that hangs or strays")
    kernel = lab.Kernel(
        HOSTILE,
        "hostile",
        parameters={"KIND": [kind, 8]},
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.scratch("flag", 1, "int32"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: 2 * x + 1,
    )
    for configurations in ([Configuration("hostile", KIND=8)], kernel.configurations(n=1000)):
        study = lab.sweep(kernel.problem(n=1000, limit_s=3), configurations, protocol="quick", device=any_device)
        calls = {row["variant"]: row["status"] for row in study.summary if row["role"] == "call"}
        assert calls == {"hostile(...)": status}


def test_a_hang_ends_in_time_and_the_next_worker_is_soon_there(any_device: gpuopt.Device, short_limits: None) -> None:
    problem = hostile().problem(n=100, limit_s=3)
    bound = problem.prepare(Configuration("hostile", KIND=1), any_device)
    worker = WORKERS.of(any_device)
    begin = time.monotonic()
    with pytest.raises(KernelTimeoutError, match=r"did not end within"):
        bound.prepared.run()
    assert time.monotonic() - begin < 20
    assert not worker.is_alive
    with pytest.raises(KernelTimeoutError):  # it is not tried again
        bound.prepared.run()
    problem.prepare(Configuration("hostile", KIND=0), any_device).prepared.run()


def test_plans_are_loaded_again_after_a_crash(any_device: gpuopt.Device) -> None:
    problem = hostile().problem(n=100)
    bound = problem.prepare(Configuration("hostile", KIND=0), any_device)
    os.killpg(WORKERS.of(any_device).process.pid, signal.SIGKILL)
    time.sleep(0.3)
    assert bound.prepared.sample(2)["device_ms"]
    assert bound.checks.verify(problem.reference, problem.tolerance)


def test_a_worker_that_is_killed_at_work_is_a_crash(any_device: gpuopt.Device) -> None:
    worker = Worker(any_device)
    pid = worker.process.pid
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(KernelCrashError, match="SIGKILL"):
        worker.ask({"do": "drop", "plan": 1}, 10, "forgetting")
    assert pid not in children()


def test_a_worker_ends_with_its_parent(any_device: gpuopt.Device) -> None:
    code = (
        "import gpuopt, os, sys\nfrom gpuopt.lab.kernels.worker import WORKERS\n"
        f"print(WORKERS.of(gpuopt.devices()[{any_device.index}]).process.pid, flush=True)\nos._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    pid = int(done.stdout)
    for _ in range(100):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or " Z " in stat.read_text().rsplit(")", 1)[1][:4]:
            return
        time.sleep(0.1)
    pytest.fail(f"worker {pid} is still there")


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "<&-", ">&- 2>&-"])
def test_a_worker_starts_without_standard_streams(any_device: gpuopt.Device, tmp_path: Path, closed: str) -> None:
    code = (
        "import gpuopt, os, sys\nfrom gpuopt.lab.kernels.worker import WORKERS\n"
        f"device = gpuopt.devices()[{any_device.index}]\n"
        "free = lambda: [n for n in range(3) if not os.path.lexists(f'/proc/self/fd/{n}')]\n"
        "before, worker = free(), WORKERS.of(device)\n"
        "worker.ask({'do': 'drop', 'plan': 1}, 60, 'forgetting')\n"
        "found = worker.is_alive, before == free()\n"
        "with open(sys.argv[1], 'w') as told: print(*found, file=told)\n"
    )
    line = ["bash", "-c", f'exec "$@" {closed}', "bash", sys.executable, "-c", code, str(tmp_path / "told")]
    assert subprocess.run(line, timeout=120, check=False).returncode == 0
    assert (tmp_path / "told").read_text() == "True True\n"


def test_what_kernels_print_is_kept_to_its_beginning(any_device: gpuopt.Device) -> None:
    body = 'z[get_global_id(0)] = 1; printf("result 123456789 %d\\n", (int)get_global_id(0));'
    text = f"__kernel void loud(__global int* z) {{ {body} }}"
    kernel = lab.Kernel(
        text,
        "loud",
        arguments=[lab.output("z", 20_000, "int32")],
        launch=lab.launch(items=20_000, local=50),
        reference=lambda: np.ones(20_000),
    )
    try:
        kernel.check(device=any_device)
    except gpuopt.KernelBuildError:
        pytest.skip(f"{any_device.name} has no printf")
    assert len(WORKERS.of(any_device).output) <= 65536


@pytest.mark.timeout(1800)
def test_hangs_and_crashes_in_one_sweep_leave_nothing(
    any_device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPUOPT_HANGS makes a longer run: `./dev attack --stage workers` asks for up to 200."""
    if any_device.type != "cpu":
        pytest.skip("a shared GPU runs nothing that hangs or strays")
    count = int(os.environ.get("GPUOPT_HANGS", "10")) // 2 * 2
    monkeypatch.setattr("gpuopt.lab.kernels.remote.LEAST_S", 1.0)
    kernel = hostile(NUMBER=list(range(count // 2)))
    bad = [Configuration("hostile", KIND=kind, NUMBER=number) for number in range(count // 2) for kind in (1, 2)]
    good = [Configuration("hostile", KIND=kind, NUMBER=0) for kind in (0, 8)]
    problem, before = kernel.problem(n=64, limit_s=1.0), children()
    lab.sweep(problem, good, protocol="quick", device=any_device, calls=False)  # what a driver and ceilings keep
    held = memory_kb()
    study = lab.sweep(problem, [*bad, *good], protocol="quick", device=any_device, calls=False)
    rows = [row for row in study.rows if (row["kind"], row["role"]) == ("summary", "variant")]
    ended = {str(row["configuration"]): row["status"] for row in rows}
    assert ended == {str(one): "timeout" if one.parameters["KIND"] == 1 else "crash" for one in bad} | {
        str(one): "ok" for one in good
    }
    WORKERS.close()
    assert children() <= before
    assert memory_kb() - held < 50_000 + 50 * count  # a row and a reason each


def test_results_are_those_of_this_process(device: gpuopt.Device) -> None:
    kernel = own_kernels.total()
    results = []
    for isolated in (True, False):
        problem = kernel.problem(n=4321, isolated=isolated)
        exact = gpuopt.configuration.complete("total", Configuration("total"))
        bound = problem.prepare(exact, device)
        bound.checks.verify(problem.reference, problem.tolerance)
        results.append(bound.checks.memory.taken()["sum"])
        assert bound.prepared.kernels[0]["entry_point"] == "partial"
        assert len(bound.prepared.kernels) == 2
    np.testing.assert_array_equal(*results)


def test_samples_of_restored_memory_are_one_question(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = own_kernels.saxpy().problem(n=100)
    bound = problem.prepare(Configuration("saxpy"), any_device)
    y, taken = problem.inputs["y"], bound.checks.memory.taken
    bound.prepared.repeat(3)
    assert not np.allclose(taken()["y"], problem.reference)
    asked: list[str] = []
    ask = Worker.ask
    monkeypatch.setattr(Worker, "ask", lambda self, sent, *more: asked.append(sent["do"]) or ask(self, sent, *more))
    assert bound.restore is not None
    sampler = samplers.device_sampler(bound.prepared, 1.0, bound.restore, "event")
    assert len(sampler.take(5)) == len(sampler.told.wall_ms) == len(sampler.told.start_s) == 5
    assert asked == ["sample"]
    np.testing.assert_allclose(taken()["y"], problem.reference, rtol=1e-5)  # of one run, on what was there at first
    bound.restore()
    np.testing.assert_array_equal(taken()["y"], y)


@pytest.mark.parametrize("restored", [False, True])
def test_a_message_is_in_no_time_by_the_hosts_clock(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, restored: bool
) -> None:
    """Times of peers and of whole calls are held against those of a kernel by this clock."""
    kernel = own_kernels.saxpy()
    bound = kernel.problem(n=64).prepare(kernel.configurations(n=64)[0], any_device)
    asked = Worker.ask

    def late(self: Worker, *args: Any, **given: Any) -> Any:
        time.sleep(0.2)
        return asked(self, *args, **given)

    assert isinstance(bound.prepared, RemotePlan)
    before = Restore(bound.prepared) if restored else None
    sampler = clocks.device_clocks(bound.prepared, 1.0, before)("wall")
    sampler.take(1)
    monkeypatch.setattr(Worker, "ask", late)
    times = sampler.take(3)
    assert len(times) == len(sampler.told.start_s) - 1 == 3
    assert max(times) < 200


@pytest.mark.parametrize("isolated", [True, False])
def test_what_a_plan_wrote_is_read_as_the_reference_is(any_device: gpuopt.Device, isolated: bool) -> None:
    kernel = lab.Kernel(
        "kernel void both(global float* x, global double* y) { const int i = get_global_id(0); x[i] *= 2; y[i] = i; }",
        "both",
        arguments=[lab.inout("x", "n"), lab.output("y", ("n / 2", 2), "float64")],
        launch=lab.launch(items="n", local=1),
        reference=lambda x, n: {"x": 2 * x, "y": np.arange(n).reshape(-1, 2)},
    )
    problem = kernel.problem(n=6, isolated=isolated)
    plan = problem.prepare(kernel.configurations(n=6)[0], any_device)
    plan.prepared.run()
    assert plan.output.shape == problem.reference.shape
    assert plan.output.to_numpy().dtype == plan.output.dtype == np.float64
    assert (np.abs(problem.seen(plan.output.to_numpy()) - problem.reference) <= problem.tolerance).all()
