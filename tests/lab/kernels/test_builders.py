"""Programs of a sweep that are built ahead by several processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt import Configuration, lab
from gpuopt.lab.device import conditions
from gpuopt.lab.kernels import binding, builders, plans
from gpuopt.lab.kernels.worker import WORKERS, Worker

TEXT = """
__kernel void many(__global const float* x, __global float* z, int n) {
#if KIND == 5
    does not build;
#endif
    const int i = get_global_id(0);
    if (i < n) z[i] = x[i] + KIND;
}
"""


def many() -> lab.Kernel:
    return lab.Kernel(
        TEXT,
        "many",
        parameters={"KIND": list(range(1, 10))},
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: x + 1,
    )


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(builders, "builders", lambda: 2)
    monkeypatch.setattr(binding, "_seen", set())
    WORKERS.close()  # one that runs already has another cache
    return tmp_path / "programs"


def test_each_program_is_built_once_and_found(any_device: gpuopt.Device, two: Path) -> None:
    problem = many().problem(n=100)
    wanted = [Configuration("many", KIND=kind) for kind in range(1, 10)]
    problem.build_ahead(wanted, any_device)
    assert len(list(two.iterdir())) == 8  # one does not build
    assert len(binding._seen) == 8
    bound = problem.prepare(wanted[0], any_device)
    assert bound.prepared.kernels[0]["from_disk"]
    bound.checks.verify()
    with pytest.raises(gpuopt.KernelBuildError, match="does not build"):
        problem.prepare(wanted[4], any_device)


def test_few_programs_or_cores_start_nothing(device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many().problem(n=100)
    problem.build_ahead([Configuration("many", KIND=kind) for kind in range(1, 8)], device)
    monkeypatch.setattr(builders, "builders", lambda: 1)
    problem.build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)
    assert not two.exists() or not list(two.iterdir())


def test_a_declaration_that_does_not_fit_is_told_by_its_plan(device: gpuopt.Device, two: Path) -> None:
    kernel = lab.Kernel(
        TEXT,
        "many",
        parameters={"KIND": [1, 2, 3, 4, 6, 7, 8, 9]},
        arguments=[lab.input("x", "n", "int32"), lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: x + 1,
    )
    problem = kernel.problem(n=100)
    wanted = [Configuration("many", KIND=kind) for kind in (1, 2, 3, 4, 6, 7, 8, 9)]
    problem.build_ahead(wanted, device)
    with pytest.raises(gpuopt.ParameterError, match="x: argument 1"):
        problem.prepare(wanted[0], device)


class Refusing:
    """Stands for a worker that does not start."""

    tried = 0

    def __init__(self, device: gpuopt.Device, begun: object) -> None:
        type(self).tried += 1
        raise self.why

    why: Exception = gpuopt.Error("the device is another's")


@pytest.mark.parametrize("why", [gpuopt.Error("the device is another's"), OSError(11, "no more processes")])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_start_that_fails_is_not_tried_for_each_configuration(
    device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch, why: Exception
) -> None:
    monkeypatch.setattr(Refusing, "tried", 0)
    monkeypatch.setattr(Refusing, "why", why)
    monkeypatch.setattr(builders, "Worker", Refusing)
    many().problem(n=100).build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)
    assert Refusing.tried == 2


@pytest.mark.parametrize("after_s", [0.0, 0.1])  # where threads are started, and where they are waited for
def test_an_interrupt_leaves_no_worker(
    device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch, after_s: float
) -> None:
    made: list[Worker] = []
    starting, sent_s = threading.Event(), [0.0]

    class Late(Worker):
        def _started(self) -> Any:
            made.append(self)
            starting.set()
            time.sleep(0.3)  # the interrupt comes meanwhile
            return super()._started()

    def interrupt() -> None:
        starting.wait(10)
        time.sleep(after_s)
        sent_s[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(builders, "Worker", Late)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        many().problem(n=100).build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)
    assert time.monotonic() - sent_s[0] < 1.0
    assert made
    assert not [one for one in made if one.is_alive]


def test_an_interrupt_does_not_wait_for_a_process_that_starts(
    device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited until each had opened the device."""
    monkeypatch.setattr("gpuopt.lab.kernels.worker.SERVE", "import time; time.sleep(20)")
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun, before = time.monotonic(), {*conditions.OWN_PROCESSES}
    with pytest.raises(KeyboardInterrupt):
        many().problem(n=100).build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)
    assert time.monotonic() - begun < 2.0
    assert before == {*conditions.OWN_PROCESSES}


def test_without_threads_nothing_is_built_ahead(
    device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    many().problem(n=100).build_ahead([Configuration("many", KIND=kind) for kind in range(1, 10)], device)


def test_building_ends_at_its_time(device: gpuopt.Device, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Slow:
        is_alive = True

        def __init__(self, device: gpuopt.Device, begun: Any) -> None:
            self.closed = threading.Event()
            begun(self)

        def ask(self, *message: object) -> None:
            asked.append(1)
            self.closed.wait(60)
            raise gpuopt.Error("closed")

        def close(self) -> None:
            self.closed.set()

    monkeypatch.setattr(builders, "Worker", Slow)
    wanted = [Configuration("many", KIND=kind) for kind in range(1, 10)]
    many().problem(n=100).build_ahead(wanted, device, time.monotonic() + 0.2)
    assert not asked  # too little for processes to start in
    monkeypatch.setattr(builders, "SHORTEST_S", 0.1)
    many().problem(n=100).build_ahead(wanted, device, time.monotonic() + 0.2)
    assert len(asked) == 2


@pytest.mark.usefixtures("two")
def test_an_exhaustive_search_builds_within_its_budget_and_what_is_not_stored(
    device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[list[int], float]] = []

    def build_ahead(device: object, task: object, code: object, numbers: object, levels: Any, until: float) -> None:
        asked.append(([one["KIND"] for one in levels], until - time.monotonic()))

    monkeypatch.setattr(plans, "build_ahead", build_ahead)
    search = partial(lab.search, strategy="exhaustive", device=device, n=100, store=tmp_path / "rows.jsonl")
    search(many(), evaluations=2, seconds=100)
    kinds, left = asked[0]
    assert kinds == [1, 2]
    assert 40 < left <= 50
    asked.clear()
    search(many(), evaluations=4, seconds=100)
    assert asked[0][0] == [3, 4]
    asked.clear()
    lab.search(
        many(), strategy="exhaustive", evaluations=3, seconds=100, device=device, n=200, store=tmp_path / "rows.jsonl"
    )
    assert asked[0][0] == [1, 2, 3]
