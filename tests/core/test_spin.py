"""Runs that are timed behind a kernel that takes time, as on GPUs: here on every device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpuopt
from gpuopt import _core, problems
from gpuopt.workloads.gemm.operation import prepare_gemm


@pytest.fixture(params=[True, False], ids=["spin", "event"])
def gate(request: pytest.FixtureRequest, device: gpuopt.Device) -> Iterator[bool]:
    assert _core.set_spin(device, request.param) == request.param
    yield request.param
    _core.set_spin(device, device.type != "cpu")


@pytest.mark.parametrize("period", [False, True])
def test_times_are_those_of_a_group_whatever_it_waits_behind(device: gpuopt.Device, gate: bool, period: bool) -> None:
    A = gpuopt.to_device(np.ones((256, 256), np.float32), device)
    out = gpuopt.to_device(np.zeros((256, 256), np.float32), device)
    plan = prepare_gemm(A, A, out)
    taken = plan.sample(5, 40, period)
    np.testing.assert_array_equal(out.to_numpy(), 256)
    counted, runs = 40, 41 if period else 40
    for device_ms, all_ms, wall_ms in zip(taken["device_ms"], taken["all_ms"], taken["wall_ms"], strict=True):
        assert 0 < device_ms * counted <= all_ms * runs * 1.0001
        assert wall_ms > 0
    # The host sees the end of the gate late, at worst; what it takes to enqueue is no part of a time.
    assert np.median(taken["wall_ms"]) < 3 * np.median(taken["all_ms"]) + 1
    alone = np.median(plan.sample(20)["device_ms"])
    assert np.median(taken["device_ms"]) < 5 * alone + 0.05


def test_long_groups_short_groups_and_plans_of_many_commands(device: gpuopt.Device, gate: bool) -> None:
    ready = problems.gemm(8, 64, 4096).prepare(gpuopt.Configuration("constant"), device)
    plan = ready.prepared
    assert len(plan.kernels) > 10
    for batch in (2, 40, 3):
        taken = plan.sample(2, batch, True)
        assert min(taken["device_ms"]) > 0
        assert min(taken["busy_ms"]) > 0
    small = problems.gemm(8).prepare(gpuopt.Configuration("naive"), device).prepared
    assert min(small.sample(2, 3000, True)["device_ms"]) > 0  # several groups


def test_two_queues_begin_behind_the_gate_too(device: gpuopt.Device, gate: bool) -> None:
    configuration = gpuopt.Configuration("constant", HEIGHT=8, DEPTH=32, TILES=1, LOCAL=64, QUEUES=2)
    plan = problems.gemm(8, 3000, 500).prepare(configuration, device).prepared
    assert {step["queue"] for step in plan.kernels} == {0, 1}
    assert min(plan.sample(3, 20, True)["device_ms"]) > 0
