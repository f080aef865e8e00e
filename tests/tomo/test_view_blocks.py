"""Filtered back projections in blocks of views: GPUs compute large NumPy arrays so, here every device small ones."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, _core
from gpuopt.tomo import view_blocks
from gpuopt.tomo.filtering import RowFilter
from scans import interpolated

SLOT = 4096


@pytest.fixture
def blocked(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[gpuopt.Device]:
    monkeypatch.setattr(RowFilter, "fits", lambda self, device: True)
    monkeypatch.setattr(view_blocks, "LEAST_BYTES", 1)
    _core.set_staging(any_device, True, SLOT, 3, 2)
    yield any_device
    _core.set_staging(any_device, any_device.type != "cpu")


def scans() -> dict[str, tuple[gt.Geometry, gt.Volume, Any]]:
    flat, solid = gt.Volume((16, 16), 2.0), gt.Volume((9, 16, 16), 2.0)
    short = np.arange(30) * (np.pi + 0.9) / 30
    return {
        "fan": (gt.fan(27, 60.0, 90.0, 20, 3.0), flat, gt.fdk),
        "short": (gt.fan(short, 60.0, 90.0, 20, 3.0), flat, gt.fdk),
        "displaced": (gt.fan(24, 60.0, 90.0, 14, 3.0, offset=9.0), flat, gt.fdk),
        "parallel": (gt.parallel2d(19, 20, 2.0), flat, gt.fbp),
        "slices": (gt.parallel3d(19, (9, 20), (2.0, 2.0)), solid, gt.fbp),
        "cone": (gt.circular(25, 60.0, 90.0, (14, 20), 3.0), solid, gt.fdk),
        "displaced cone": (gt.circular(25, 60.0, 90.0, (14, 14), 3.0, offset=(0.0, 9.0)), solid, gt.fdk),
    }


def projections(scan: gt.Geometry) -> np.ndarray:
    return gt.sphere(8.0, (2.0, -1.0, 0.0)).project(scan)


def uploads(trace: gpuopt.trace) -> int:
    return sum(span.name == "upload" for span in trace.spans)


@pytest.mark.parametrize("name", scans())
@pytest.mark.parametrize("pair", ["exact", "fast"])
def test_blocks_give_the_image_of_the_whole(
    blocked: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str, pair: str
) -> None:
    """Twice, on plans of the first time; what is given stays as it is."""
    scan, volume, algorithm = scans()[name]
    p = projections(scan)
    want = algorithm(gt.NumpyProjector(scan, volume), p.astype(float))
    A = gt.Projector(scan, volume, pair=pair, device=blocked)
    for number in range(2):
        given = p * (number + 1)
        kept = given.copy()
        got = algorithm(A, given)
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, want * (number + 1), atol=interpolated(blocked, 2e-5, want * (number + 1)))
        np.testing.assert_array_equal(given, kept)
    with gpuopt.trace() as trace:
        algorithm(A, p)
    assert uploads(trace) == -(-scan.views // -(-scan.views // 8))
    on_device = algorithm(A, gpuopt.to_device(p, blocked)).to_numpy()  # as one
    np.testing.assert_allclose(algorithm(A, p), on_device, atol=2e-6 * np.abs(on_device).max())


class Logged:
    """As ``_core.CopiesBeside``, with a look at the order in which it is called."""

    def __init__(self, device: gpuopt.Device) -> None:
        self.real = REAL(device)
        self.written: set[int] = set()  # arrays whose kernels have not been told
        self.told: set[int] = set()
        self.log = LOG
        self.log.clear()

    def upload(self, projections: np.ndarray, to: gpuopt.DeviceArray) -> None:
        assert id(to) not in self.written, "a buffer is written again before anybody told what works on it"
        self.written.add(id(to))
        self.log.append(id(to))
        self.real.upload(projections, to)

    def used(self, array: gpuopt.DeviceArray) -> None:
        if array.shape[-1] == 4:  # what a filter found
            self.told.add(id(array))
        else:
            self.written.remove(id(array))
        self.real.used(array)

    def download(self, from_: gpuopt.DeviceArray, to: np.ndarray) -> None:
        self.told.remove(id(from_))  # else it is read before anybody told what works on it
        self.real.download(from_, to)


REAL = _core.CopiesBeside
LOG: list[int] = []


def test_buffers_take_turns_and_each_use_is_told(blocked: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "CopiesBeside", Logged)
    for name, buffers in (("cone", 3 + 1), ("parallel", 3 + 1), ("displaced", 3), ("displaced cone", 3 + 1)):
        scan, volume, algorithm = scans()[name]  # of 25, 19, 24 and 25 views
        A = gt.Projector(scan, volume, device=blocked)
        algorithm(A, projections(scan))
        assert len(set(LOG)) == buffers
        assert len(LOG) == -(-scan.views // -(-scan.views // 8))
        assert all(one != other for one, other in itertools.pairwise(LOG))


@pytest.mark.parametrize("down", [False, True])
def test_a_copy_begins_when_what_was_told_has_ended(any_device: gpuopt.Device, down: bool) -> None:
    cl = pytest.importorskip("pyopencl")
    queue = gpuopt.pyopencl_queue(any_device)
    array = gpuopt.to_device(np.zeros(1000, np.float32), any_device)
    copies = _core.CopiesBeside(any_device)
    ones, found = np.ones(1000, np.float32), np.full(1000, 7, np.float32)
    copies.upload(ones, array)
    gate = cl.UserEvent(queue.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    copies.used(array)
    copy, arguments = (copies.download, (array, found)) if down else (copies.upload, (2 * ones, array))
    copier = threading.Thread(target=copy, args=arguments)
    copier.start()
    copier.join(0.3)
    waits = copier.is_alive() and (found == 7).all()
    gate.set_status(cl.command_execution_status.COMPLETE)
    copier.join(20)
    assert waits
    assert not copier.is_alive()
    np.testing.assert_array_equal(found if down else array.to_numpy(), 1 if down else 2)


def test_windows_share_plans(blocked: gpuopt.Device) -> None:
    """Each had copies of all projections for itself."""
    scan, volume, algorithm = scans()["cone"]
    A, p = gt.Projector(scan, volume, pair="fast", device=blocked), projections(scan)
    taken = []
    for window in ("ram-lak", "hann", "hamming", "cosine"):
        algorithm(A, p, window=window)
        _core.drop_kept(blocked)
        taken.append(blocked.allocated_bytes)
    assert taken[3] - taken[0] < p.nbytes / 2


def test_threads_share_blocks(blocked: gpuopt.Device) -> None:
    scan, volume, algorithm = scans()["cone"]
    A, p = gt.Projector(scan, volume, device=blocked), projections(scan)
    windows = ("ram-lak", "hann", "hamming", "cosine")
    wanted = [algorithm(A, p, window=window) for window in windows]

    def is_right(number: int) -> bool:
        return np.array_equal(algorithm(A, p, window=windows[number % 4]), wanted[number % 4])

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(is_right, range(16)))


@pytest.mark.parametrize("view", [0, 3, 24])
def test_a_nan_in_any_block_is_named_by_its_view(blocked: gpuopt.Device, view: int) -> None:
    scan, volume, algorithm = scans()["cone"]
    p = projections(scan)
    A = gt.Projector(scan, volume, device=blocked)
    p[view, 2, 5] = np.inf
    with pytest.raises(ArrayError, match=f"projections: view {view}, v 2, u 5 holds NaN or infinity"):
        algorithm(A, p)
    p[view, 2, 5] = 0
    np.testing.assert_allclose(algorithm(A, p), algorithm(gt.NumpyProjector(scan, volume), p), atol=1e-2)


def test_edges_of_all_blocks_count(blocked: gpuopt.Device) -> None:
    scan, volume, algorithm = scans()["fan"]
    A = gt.Projector(scan, volume, device=blocked)
    p = gt.sphere(40.0).project(scan)
    with pytest.warns(gt.TruncationWarning, match=r"in 100% of the rows"):
        algorithm(A, p)


def test_what_does_not_go_in_blocks(blocked: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    scan, volume, algorithm = scans()["cone"]
    A = gt.Projector(scan, volume, device=blocked)
    p = projections(scan)
    want = algorithm(A, p)
    with pytest.raises(ArrayError, match=r"projections: its dtype is float64"):
        algorithm(A, p.astype(np.float64))
    apart = np.ascontiguousarray(p[:, :, ::-1])[:, :, ::-1]  # as one
    np.testing.assert_allclose(algorithm(A, apart), want, atol=2e-6 * np.abs(want).max())
    monkeypatch.setattr(view_blocks, "LEAST_BYTES", p.nbytes)
    with gpuopt.trace() as trace:
        algorithm(A, p)
    assert uploads(trace) == 1


@pytest.mark.parametrize("most", [3, 4, 5])
@pytest.mark.parametrize("views", [6, 9, 10, 11, 12, 13])
def test_any_number_of_blocks_and_of_views_in_them(
    blocked: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, views: int, most: int
) -> None:
    monkeypatch.setattr(view_blocks, "MOST", most)
    scan, volume = gt.parallel2d(views, 20, 2.0), gt.Volume((16, 16), 2.0)
    p = projections(scan)
    A = gt.Projector(scan, volume, device=blocked)
    with gpuopt.trace() as trace:
        got = gt.fbp(A, p)
    assert uploads(trace) >= 3
    want = gt.fbp(gt.NumpyProjector(scan, volume), p.astype(float))
    np.testing.assert_allclose(got, want, atol=interpolated(blocked, 2e-5, want))
