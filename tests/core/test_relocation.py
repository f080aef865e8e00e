"""Plans whose memory is moved to another place."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core, problems
from gpuopt.configuration import complete
from gpuopt.lab.timing import verification
from gpuopt.problem import BoundPlan, Problem
from made_up import BUILD, needs_a_dynamic_loader, run_python


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(48, 32, radius=2, seed=1)


def bound_to(problem: Problem, name: str, device: gpuopt.Device) -> tuple[BoundPlan, Configuration]:
    exact = complete("spmv", Configuration(name))
    return problem.prepare(exact, device), exact


def test_contents_and_guard_zones_move_along(device: gpuopt.Device) -> None:
    data = np.random.default_rng(0).uniform(0, 1, 1 << 12).astype(np.float32)
    source = _core.to_device(data, device)
    target = _core.empty(data.shape, data.dtype, device, True)
    parameters = complete("microbench", Configuration("copy_chunks")).parameters
    plan = _core.prepare_microbench(
        source, target, width=0, trips=1, store=True, variant="copy_chunks", parameters=parameters
    )
    target.fill_bytes(0x5A)
    held = device.allocated_bytes
    for pad in (0, 1, 4096, 3 << 20):
        assert plan.relocate(pad)
        np.testing.assert_array_equal(source.to_numpy(), data)
        assert (target.to_numpy().view(np.uint8) == 0x5A).all()
        assert target.guards_intact()
    assert device.allocated_bytes == held
    plan.run()
    np.testing.assert_array_equal(target.to_numpy(), data)
    assert plan.relocate(4096)
    np.testing.assert_array_equal(target.to_numpy(), data)
    assert target.guards_intact()


def test_plans_that_share_memory_go_on(device: gpuopt.Device, problem: Problem) -> None:
    """The matrix and x are shared by all plans of a problem; `image` reads its x through an image."""
    names = [
        name for name in ("basic", "padded", "image", "local") if name in {v.name for v in gpuopt.variants("spmv")}
    ]
    plans = [bound_to(problem, name, device) for name in names]
    for moved, _ in plans:
        assert moved.prepared.relocate(1 << 16)
        for bound, configuration in plans:
            verification.verify(bound, problem, configuration)
            verification.check_again(bound, problem, configuration)


def test_an_image_of_a_buffer_follows_it(device: gpuopt.Device) -> None:
    if not device.image_support:
        pytest.skip("no images")
    row = next(v for v in gpuopt.variants("microbench") if v.family == "image1d")
    data = np.random.default_rng(0).uniform(0, 1, 1 << 12).astype(np.float32)
    source = _core.to_device(data, device)

    def plan_of(name: str, store: bool) -> tuple[_core.Prepared, _core.DeviceArray]:
        parameters = complete("microbench", Configuration(name)).parameters
        facts = _core.microbench_facts(
            device, data.dtype, elements=data.size, width=0, trips=1, variant=name, parameters=parameters
        )
        out = _core.empty((facts["outputs"],), data.dtype, device, True)
        plan = _core.prepare_microbench(source, out, width=0, trips=1, store=store, variant=name, parameters=parameters)
        return plan, out

    through_image, out = plan_of(row.name, True)
    through_buffer, _ = plan_of("read_chunks", True)
    through_image.run()
    wanted = out.to_numpy()
    for moved in (through_image, through_buffer):
        out.fill_bytes(0xFF)
        assert moved.relocate(4096)
        through_image.run()
        np.testing.assert_array_equal(out.to_numpy(), wanted)


def test_a_plan_that_does_not_fit_twice_stays(device: gpuopt.Device, problem: Problem) -> None:
    bound, configuration = bound_to(problem, "basic", device)
    held = device.allocated_bytes
    assert not bound.prepared.relocate(device.max_alloc_bytes + 1)
    assert device.allocated_bytes == held
    verification.verify(bound, problem, configuration)


def test_a_copy_between_host_and_device_moves_its_array(device: gpuopt.Device) -> None:
    array = _core.to_device(np.arange(64, dtype=np.float32), device)
    plan, host = _core.prepare_transfer(array, False, False)
    assert plan.relocate(4096)
    plan.run()
    np.testing.assert_array_equal(host.view(np.float32), np.arange(64))


def test_runs_and_moves_of_several_threads_take_turns(device: gpuopt.Device, problem: Problem) -> None:
    plans = [bound_to(problem, name, device) for name in ("basic", "padded")]
    failed: list[object] = []

    def work(bound: BoundPlan, configuration: Configuration) -> None:
        try:
            for turn in range(10):
                if not bound.prepared.relocate(turn << 12):
                    failed.append("not moved")
                bound.prepared.run()
                verification.compare(
                    problem.seen(bound.output.to_numpy()), problem.reference, problem.tolerance_for(configuration)
                )
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=plan) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


# ---------------------------------------------------------------- on a driver that is watched

MOVE = (
    BUILD
    + """
import sys
array = []
def empty(*args):
    array.append(gpuopt._core.empty(*args))
    return array[-1]
a = gpuopt.to_device(np.arange({elements}, dtype=np.float32), d)
b = empty((a.shape[0],), np.dtype(np.float32), d)
c = gpuopt.Configuration("copy_chunks", WIDTH=4, ITEMS=8)
plan = gpuopt._core.prepare_microbench(a, b, width=0, trips=1, store=True, variant=c.variant, parameters=c.parameters)
held = d.allocated_bytes
for pad in ({pads}):
    b.fill_bytes(0)
    plan.run()
    right = bool((b.to_numpy() == a.to_numpy()).all())
    moved = plan.relocate(pad)
    print(right, moved, d.allocated_bytes == held, bool((b.to_numpy() == np.arange({elements})).all()))
plan.run()
"""
)


@pytest.mark.parametrize("elements", [1 << 10, 1 << 21])
def test_each_move_leads_to_another_place(device: gpuopt.Device, built: Path, elements: int) -> None:
    if device.type != "cpu":
        pytest.skip("where memory lies on a GPU cannot be seen from the host")
    needs_a_dynamic_loader()
    code = MOVE.format(index=device.index, elements=elements, pads="0, 1 << 16, 5 << 20")
    done = run_python(code, LD_PRELOAD=str(built / "memory.so"), PLACES="1")
    assert done.stdout.splitlines() == ["True True True True"] * 3, done.stderr
    places: dict[str, list[str]] = {}
    for line in done.stderr.splitlines():
        argument, place = line.split()
        places.setdefault(argument, []).append(place)
    assert list(places) == ["0", "1"]
    for seen in places.values():
        assert len(seen) == 4
        assert all(before != after for before, after in itertools.pairwise(seen))


def test_a_driver_without_memory_leaves_the_plan_where_it_was(device: gpuopt.Device, built: Path) -> None:
    needs_a_dynamic_loader()
    elements = 1 << 10
    code = MOVE.format(index=device.index, elements=elements, pads="0, 1 << 16")
    code = code.replace(
        "a.shape[0],)", "a.shape[0] + 16,)"
    )  # the source has a size of its own, and moves first or last
    done = run_python(
        code.replace("b.to_numpy()", f"b.to_numpy()[:{elements}]"),
        LD_PRELOAD=str(built / "memory.so"),
        REFUSED=str(4 * elements),
        PLACES="1",
    )
    assert done.stdout.splitlines() == ["True False True True"] * 2, done.stderr
    assert len(set(done.stderr.splitlines())) == 2  # both arrays where they were
