"""Whole reconstructions and exact projections, of NumPy arrays and of device arrays, beside ASTRA where it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from whole_calls import Case, Made

import gpuopt
import gpuopt.tomo as gt


def _scan(size: int, views: int, det: tuple[int, int]) -> tuple[gt.Geometry, gt.Volume, gt.Phantom]:
    """A head in a cube of 128 mm, which a circle of cones sees whole."""
    scan = gt.circular(views, sod=500, sdd=750, det=det, pixel=192 / min(det))
    return scan, gt.Volume((size,) * 3, 128 / size), gt.shepp_logan(field=128)


def _astra(
    scan: gt.Geometry, volume: gt.Volume, data: np.ndarray, name: str, iterations: int
) -> Callable[[], Any] | None:
    """An algorithm of ASTRA's, from a NumPy array to a NumPy array; None where ASTRA or its CUDA part is not there."""
    try:
        import astra

        if not astra.use_cuda():
            return None
    except ImportError:
        return None
    nz, ny, nx = volume.shape
    corners = volume.corners()
    ends = np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1).ravel().tolist()
    images = astra.create_vol_geom(ny, nx, nz, *ends)
    given = np.ascontiguousarray(np.moveaxis(data, 0, 1))  # rows, views, columns

    def run() -> Any:
        there = astra.data3d.create("-sino", scan.to_astra(), given)
        image = astra.data3d.create("-vol", images)
        algorithm = astra.algorithm.create(
            {"type": name, "ProjectionDataId": there, "ReconstructionDataId": image, "option": {}}
        )
        astra.algorithm.run(algorithm, iterations)
        found = astra.data3d.get(image)
        astra.algorithm.delete(algorithm)
        astra.data3d.delete([there, image])
        return found

    return run


def fdk(size: int, views: int, det: tuple[int, int], device: Any) -> Made:
    """Feldkamp's method; its errors are those of test_analytic, here the means of two parts of the head are."""
    scan, volume, head = _scan(size, views, det)
    data = head.project(scan, device=device)
    there = gpuopt.to_device(data, device)
    A = gt.Projector(scan, volume, pair="fast", device=device)
    calls: dict[str, Callable[[], Any]] = {"gpuopt": lambda: gt.fdk(A, data)}
    calls["device arrays"] = lambda: np.asarray(gt.fdk(A, there)[:1])  # waits for it
    if (peer := _astra(scan, volume, data, "FDK_CUDA", 1)) is not None:
        calls["astra"] = peer
    truth = head.sample(volume)
    soft, skull = np.abs(truth - 0.2) < 1e-3, truth > 0.99

    def check() -> None:
        image = gt.fdk(A, data)
        if not np.allclose(image, gt.fdk(A, there).to_numpy(), atol=1e-5):
            raise AssertionError("NumPy arrays and device arrays give two images")
        for part, wanted, within in ((soft, 0.2, 0.02), (skull, 1.0, 0.1)):
            if not abs(float(image[part].mean(dtype=np.float64)) - wanted) < within:
                raise AssertionError(f"the mean of a part is {image[part].mean():.4g}, {wanted} was due")

    return Made(calls, check)


def sirt(size: int, views: int, det: tuple[int, int], iterations: int, device: Any) -> Made:
    """SIRT from NumPy to NumPy: a Projector that has been used before, and a fresh one."""
    scan, volume, head = _scan(size, views, det)
    data = head.project(scan, device=device)
    A = gt.Projector(scan, volume, pair="fast", device=device)
    calls: dict[str, Callable[[], Any]] = {"gpuopt": lambda: gt.sirt(A, data, iterations)}
    calls["fresh"] = lambda: gt.sirt(gt.Projector(scan, volume, pair="fast", device=device), data, iterations)
    if (peer := _astra(scan, volume, data, "SIRT3D_CUDA", iterations)) is not None:
        calls["astra"] = peer

    def check() -> None:
        found = gt.sirt(A, data, iterations)
        if not found.residuals[-1] < 0.5 * found.residuals[0]:
            raise AssertionError(f"residuals {found.residuals}")

    return Made(calls, check)


def phantom(views: int, det: tuple[int, int], device: Any) -> Made:
    """Exact projections of the head, into a new NumPy array; NumPy computes some of the views."""
    scan, _, head = _scan(64, views, det)
    some = np.linspace(0, views - 1, 3).astype(int)

    def check() -> None:
        wanted = head.project(scan.subset(some), dtype=np.float64)
        error = np.abs(head.project(scan, device=device)[some] - wanted).max()
        if not error < 1e-6 * wanted.max():
            raise AssertionError(f"an error of {error:.3g}")

    return Made({"gpuopt": lambda: head.project(scan, device=device)}, check)


def copies(mebibytes: int, down: bool, device: Any) -> Made:
    """Between NumPy and a device, pageable memory."""
    data = np.random.default_rng(1).random(mebibytes << 18, dtype=np.float32)
    there = gpuopt.to_device(data, device)

    def check() -> None:
        if not np.array_equal(there.to_numpy(), data):
            raise AssertionError("another array came back")

    return Made({"gpuopt": there.to_numpy if down else lambda: gpuopt.to_device(data, device)}, check)


LARGE, SMALL = (512, 496, (960, 1248)), (128, 128, (192, 192))
GPU = ("gpu",)
CASES = [
    Case("fdk 512^3, 496 views of 960 x 1248", functools.partial(fdk, *LARGE), GPU, goal_ms=150, longest_s=20),
    Case("fdk 128^3, 128 views of 192 x 192", functools.partial(fdk, *SMALL), goal_ms=6, longest_s=3),
    Case("sirt, 5 iterations, 512^3", functools.partial(sirt, *LARGE, 5), GPU, goal_ms=1250, longest_s=60),
    Case("sirt, 5 iterations, 128^3", functools.partial(sirt, *SMALL, 5), longest_s=20),
    Case("phantom, 496 views of 960 x 1248", functools.partial(phantom, *LARGE[1:]), GPU, goal_ms=150, longest_s=10),
    Case("phantom, 128 views of 192 x 192", functools.partial(phantom, *SMALL[1:]), longest_s=3),
    Case("to_device, 256 MiB", functools.partial(copies, 256, False), GPU, goal_ms=7),
    Case("to_numpy, 256 MiB", functools.partial(copies, 256, True), GPU, goal_ms=8),
]
