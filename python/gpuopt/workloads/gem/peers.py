"""Peers of GEM: a plain C++ loop on the host, serial and in threads, PyTorch on NVIDIA GPUs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.checked import unsupported
from gpuopt.lab.run.cuda import torch_sample, torch_sees
from gpuopt.problem import AnyPeer, Peer, Problem
from gpuopt.workloads.gem import native
from gpuopt.workloads.gem.solvation import ALPHA

TORCH_PAIRS = 1 << 28  # of which the distances are held at once


def _require_k0(problem: Problem) -> None:
    scene = problem.inputs["scene"]
    if scene.form != "K0" or scene.model.phi_type != "total" or scene.model.compat or np.ptp(scene.r):
        raise unsupported("it computes the sum of q/d alone: points of one surface, no salt, the whole potential")


def _gem_loop(problem: Problem, threads: int) -> Callable[[], np.ndarray]:
    import ctypes

    _require_k0(problem)
    scene, dtype = problem.inputs["scene"], problem.dtype
    model = scene.model
    scale = (1 + ALPHA) * model.prefactor
    offset = -ALPHA * (1 - model.beta) * model.prefactor * model.coulomb * float(scene.charge.sum(dtype=np.float64))
    columns = [np.ascontiguousarray(scene.xyz[:, axis]) for axis in range(3)]
    charge = np.ascontiguousarray(scene.charge * dtype.type(model.coulomb))
    points, phi = np.ascontiguousarray(scene.points), np.empty(len(scene.points), dtype)
    function = getattr(native.library("gem"), f"gem_{dtype.name}")
    function.restype = None

    def run() -> np.ndarray:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*columns, charge)]
        counts = ctypes.c_long(len(charge)), ctypes.c_void_p(points.ctypes.data), ctypes.c_long(len(points))
        numbers = ctypes.c_double(scale), ctypes.c_double(offset / float(scene.r[0]))
        function(*pointers, *counts, *numbers, ctypes.c_void_p(phi.ctypes.data), ctypes.c_int(threads))
        return phi

    return run


def _torch_rows(problem: Problem, gpu: int) -> Callable[[], Any]:
    import torch

    _require_k0(problem)
    scene, where = problem.inputs["scene"], torch.device("cuda", gpu)
    model = scene.model
    middle = scene.xyz.mean(axis=0)
    atoms = torch.as_tensor(scene.xyz - middle, device=where)
    points = torch.as_tensor(scene.points - middle, device=where)
    charge = torch.as_tensor(scene.charge.copy(), device=where) * model.coulomb
    offset = -ALPHA * (1 - model.beta) * model.prefactor * float(charge.double().sum()) / float(scene.r[0])
    at_once = max(1, TORCH_PAIRS // len(atoms))

    def run() -> Any:
        parts = []
        for start in range(0, len(points), at_once):
            square = torch.zeros((len(points[start : start + at_once]), len(atoms)), device=where, dtype=atoms.dtype)
            for axis in range(3):
                square += (points[start : start + at_once, axis, None] - atoms[None, :, axis]) ** 2
            parts.append(square.rsqrt_() @ charge)
        return torch.cat(parts) * ((1 + ALPHA) * model.prefactor) + offset

    return run


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Those that are installed and fit the device, of K0 alone: what others write is the sum of q/d."""
    found: list[AnyPeer] = []
    if native.compiler() is None:
        notes.append("the plain C++ loop is left out: there is no C++ compiler")
    elif device.type == "cpu":
        # All threads, and the serial program that is the baseline of articles on GEM.
        for name, threads in (("C++ loop", 0), ("C++ loop, 1 thread", 1)):
            prepare = functools.partial(_gem_loop, threads=threads)
            found.append(Peer(name, prepare, lambda run: run(), platform=native.version(threads)))
    if "nvidia" in device.vendor.lower() and torch_sees(device, notes):
        import torch

        prepare = functools.partial(_torch_rows, gpu=0)
        fetch = operator.methodcaller("numpy", force=True)
        platform = f"PyTorch {torch.__version__}"
        found.append(Peer("PyTorch rows", prepare, lambda run: run(), fetch, torch_sample, platform))
    return found
