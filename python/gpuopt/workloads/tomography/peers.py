"""Peers of back projection: plain C++ loops for the geometry assumed for Jang et al. 2009, scikit-image for parallel
beams in a plane, ASTRA's CUDA kernels for 3D scans."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.checked import unsupported
from gpuopt.lab.run.cuda import imports, torch_sample, torch_sees
from gpuopt.problem import AnyPeer, Peer, Problem
from gpuopt.tomo.scans import Cone
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.tomography import loops


def _iradon(problem: Problem) -> Callable[[], np.ndarray]:
    from skimage.transform import iradon

    geometry, volume = problem.inputs["geometry"], problem.inputs["volume"]
    columns, size = geometry.detector.columns, math.floor(math.sqrt(geometry.detector.columns**2 / 2))
    same = volume.shape == (size, size) and volume.voxel == (geometry.detector.du,) * 2 and columns % 2
    # Its origin is the centre of pixel n // 2.
    middle = (0.0 if size % 2 else -0.5) * geometry.detector.du
    if not (geometry.parallel and volume.ndim == 2 and same and volume.centre == (middle, middle)):
        raise unsupported(
            "it takes parallel beams in a plane, an odd number of columns and the square inside them, as the case slice"
        )
    sinogram = np.ascontiguousarray(problem.inputs["projections"].T)
    # Its rows run towards -y, and it multiplies the sum by pi / (2 views).
    theta, scale = -np.rad2deg(geometry.angles), np.float32(2 * geometry.views / math.pi)
    return lambda: np.asarray(iradon(sinogram, theta=theta, filter_name=None, circle=False) * scale)


def _rounded(problem: Problem) -> np.ndarray:
    """It computes places on the detector in fp32, and sums in fp32."""
    return 4 * problem.tolerance


def _astra(problem: Problem) -> Callable[[], Any]:
    import astra
    import astra.experimental
    import torch

    geometry, volume = problem.inputs["geometry"], problem.inputs["volume"]
    if not isinstance(geometry, Cone) or geometry.radius or problem.inputs["weight"] != "fdk":
        raise unsupported("it is compared on cone beams with flat detectors and the weight 'fdk' alone")
    nz, ny, nx = volume.shape
    corners = volume.corners()
    ends = np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1).ravel().tolist()
    where = astra.create_projector("cuda3d", geometry.to_astra(), astra.create_vol_geom(ny, nx, nz, *ends))
    given = np.ascontiguousarray(np.moveaxis(problem.inputs["projections"], 0, 1))  # rows, views, columns
    projections = torch.as_tensor(given, device="cuda")
    # On the axis its weight is that of a transpose, cell D^2 / (R^2 du dv), where 'fdk' is 1.
    detector = geometry.detector
    projections *= (geometry.sod / geometry.sdd) ** 2 * detector.du * detector.dv / volume.cell
    image = torch.zeros(volume.shape, device="cuda")

    def run() -> Any:
        astra.experimental.direct_BP3D(where, image, projections)
        return image

    return run


def _textures(problem: Problem) -> np.ndarray:
    """It rounds places between pixels to 1/256, and its weights are approximate."""
    return np.maximum(problem.tolerance, 0.01 * np.abs(problem.reference).max())


SERIAL_UPDATES = 1e8  # beyond so many a loop on one core would take seconds


def _loop(problem: Problem, flags: tuple[str, ...], most: float) -> Callable[[], np.ndarray]:
    updates = problem.counted["update"]
    if updates > most:
        raise unsupported(f"{updates:.3g} updates take it seconds a run; take fewer views, as I1:64")
    found = loops.Loops(problem.inputs["geometry"], problem.inputs["volume"], flags)
    p, weight = problem.inputs["projections"], problem.inputs["weight"]
    return lambda: found.back_project(p, weight)


def _loops(notes: list[str]) -> list[AnyPeer]:
    """Four nested loops on one core, as the paper's CPU code, and on all."""
    if cpp_loops.compiler() is None:
        notes.append("the plain C++ loops are left out: there is no C++ compiler")
        return []
    return [
        Peer(
            name,
            functools.partial(_loop, flags=flags, most=most),
            lambda run: run(),
            np.ravel,
            platform=cpp_loops.described(flags),
        )
        for name, flags, most in (
            ("C++ loop, 1 thread", loops.SERIAL, SERIAL_UPDATES),
            ("C++ loop, OpenMP", loops.THREADED, math.inf),
        )
    ]


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """The peers that are installed and run on the device."""
    found = _loops(notes)
    if device.type == "cpu" and importlib.util.find_spec("skimage") is not None:
        platform = f"scikit-image {importlib.metadata.version('scikit-image')}, host, 1 thread"
        fetch = functools.partial(np.ravel)
        found.append(Peer("iradon", _iradon, lambda run: run(), fetch, platform=platform, tolerance=_rounded))
    if "nvidia" in device.vendor.lower() and imports("astra", "ASTRA", notes):
        if not torch_sees(device, notes):
            notes.append("ASTRA is left out: it needs PyTorch to hold its arrays, which is not installed")
            return found
        import astra

        found.append(
            Peer(
                "ASTRA",
                _astra,
                lambda run: run(),
                lambda image: image.cpu().numpy().ravel(),
                torch_sample,
                f"ASTRA {astra.__version__}",
                _textures,
            )
        )
    return found
