"""Other people's code beside ours: verified against the same reference and visited in the same blocks."""

from __future__ import annotations

import functools
import importlib.util
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import Device, UnsupportedError
from gpuopt.problems.problem import Problem
from gpuopt.solvation import ALPHA

TORCH_PAIRS = 1 << 28  # of which the distances are held at once


def _identity(result: Any) -> np.ndarray:
    return np.asarray(result)


@dataclass(frozen=True)
class Peer:
    """A competitor in a sweep.

    ``prepare(problem)`` makes its state (uploads, conversions: not timed). ``run(state)`` is one product, which returns
    only when it is done, unless ``sample(state, count, batch)`` gives ``count`` times in ms a product from a clock of
    its own, each of ``batch`` products queued one behind the other. ``fetch(result)`` turns its result into NumPy.
    ``platform`` says whose code it is. ``tolerance`` is what its result may be off by where that is more than the
    problem's own: of products of short numbers.
    """

    name: str
    prepare: Callable[[Problem], Any]
    run: Callable[[Any], Any]
    fetch: Callable[[Any], np.ndarray] = _identity
    sample: Callable[[Any, int, int], list[float]] | None = None
    platform: str = "host"
    tolerance: Callable[[Problem], np.ndarray] | None = None


def _scipy_version() -> str:
    import scipy

    return f"SciPy {scipy.__version__}, host, 1 thread"


def _scipy(form: str) -> Callable[[Problem], Any]:
    def prepare(problem: Problem) -> Any:
        matrix, x = problem.inputs["A"], problem.inputs["x"]
        return matrix.asformat(form), x

    return prepare


def _multiply(state: Any) -> Any:
    matrix, x = state
    return matrix @ x


def _to_cupy(form: str, gpu: int) -> Callable[[Problem], Any]:
    def prepare(problem: Problem) -> Any:
        import cupy
        import cupyx.scipy.sparse as sparse
        from scipy.sparse import csr_matrix, dia_matrix

        with _on(gpu):
            if form == "csr":
                matrix = csr_matrix(problem.inputs["A"].tocsr())
                # Wrap entries and zeros of the diagonals are no entries of a general format: a CSR user would not
                # store them.
                matrix.eliminate_zeros()
                on_device = sparse.csr_matrix(matrix)
            else:
                on_device = sparse.dia_matrix(dia_matrix(problem.inputs["A"]))
            return on_device, cupy.asarray(problem.inputs["x"]), gpu

    return prepare


def _on(gpu: int) -> AbstractContextManager[Any]:
    """CuPy works on its current device, whatever holds the arrays."""
    import cupy

    context: AbstractContextManager[Any] = cupy.cuda.Device(gpu)
    return context


def _cupy_run(state: Any) -> Any:
    matrix, x, gpu = state
    with _on(gpu):
        return matrix @ x


def _cupy_sample(state: Any, count: int, batch: int) -> list[float]:
    import cupy

    matrix, x, gpu = state
    times = []
    with _on(gpu):
        for _ in range(count):
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(batch):
                matrix @ x
            stop.record()
            stop.synchronize()
            times.append(float(cupy.cuda.get_elapsed_time(start, stop)) / batch)
    return times


def _cupy_fetch(result: Any) -> np.ndarray:
    import cupy

    fetched: np.ndarray = cupy.asnumpy(result)
    return fetched


def _cupy_device(device: Device, notes: list[str]) -> int | None:
    """The number that CUDA gives to this OpenCL device; None where CuPy cannot be held against it, which ``notes`` say
    if it is installed."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        import cupy

        runtime = cupy.cuda.runtime
        count, pci = int(runtime.getDeviceCount()), getattr(device, "pci", None)
        if count == 1:
            return 0
        if count and pci:
            return int(runtime.deviceGetByPCIBusId(pci))
        why = f"it sees {count} GPUs, and which of them is {device.name} cannot be told"
    except Exception as error:  # a half-installed package may fail in any way it likes
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    notes.append(f"CuPy and cuSPARSE are left out: {why}")
    return None


def _spmv_peers(device: Device, notes: list[str]) -> list[Peer]:
    peers = [
        Peer("SciPy dia_array", _scipy("dia"), _multiply, platform=_scipy_version()),
        Peer("SciPy csr_array", _scipy("csr"), _multiply, platform=_scipy_version()),
    ]
    gpu = _cupy_device(device, notes) if "nvidia" in device.vendor.lower() else None
    if gpu is not None:
        import cupy

        peers += [
            Peer(name, _to_cupy(form, gpu), _cupy_run, _cupy_fetch, _cupy_sample, f"CuPy {cupy.__version__}")
            for name, form in (("cuSPARSE CSR", "csr"), ("CuPy dia_matrix", "dia"))
        ]
    return peers


def _require_k0(problem: Problem) -> None:
    scene = problem.inputs["scene"]
    if scene.form != "K0" or scene.model.phi_type != "total" or scene.model.compat or np.ptp(scene.r):
        raise UnsupportedError("it computes the sum of q/d alone: points of one surface, no salt, the whole potential")


def _gem_loop(problem: Problem) -> Any:
    import ctypes

    from gpuopt.lab import native

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
        function(*pointers, *counts, *numbers, ctypes.c_void_p(phi.ctypes.data))
        return phi

    return run


def _torch_rows(problem: Problem, gpu: int) -> Any:
    import torch

    _require_k0(problem)
    scene, where = problem.inputs["scene"], torch.device("cuda", gpu)
    model = scene.model
    middle = scene.xyz.mean(axis=0)
    atoms = torch.as_tensor(scene.xyz - middle, device=where)
    points = torch.as_tensor(scene.points - middle, device=where)
    charge = torch.as_tensor(scene.charge, device=where) * model.coulomb
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


def _torch_sample(run: Callable[[], Any], count: int, batch: int) -> list[float]:
    import torch

    times = []
    for _ in range(count):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(batch):
            run()
        stop.record()
        stop.synchronize()
        times.append(float(start.elapsed_time(stop)) / batch)
    return times


def _torch_sees(device: Device, notes: list[str]) -> bool:
    """Whether PyTorch is installed and sees this GPU; ``notes`` say where it cannot be held against it."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    if not torch.cuda.is_available():
        return False
    if torch.cuda.device_count() > 1:
        notes.append(f"PyTorch is left out: it sees several GPUs, and which of them is {device.name} cannot be told")
        return False
    return True


def _gem_peers(device: Device, notes: list[str]) -> list[Peer]:
    """Of K0 alone: what others write is the sum of q/d."""
    from gpuopt.lab import native

    peers = []
    if native.compiler() is None:
        notes.append("the plain C++ loop is left out: there is no C++ compiler")
    elif device.type == "cpu":
        peers.append(Peer("C++ loop", _gem_loop, lambda run: run(), platform=native.version()))
    if "nvidia" in device.vendor.lower() and _torch_sees(device, notes):
        import torch

        prepare = functools.partial(_torch_rows, gpu=0)
        fetch = operator.methodcaller("numpy", force=True)
        platform = f"PyTorch {torch.__version__}"
        peers.append(Peer("PyTorch rows", prepare, lambda run: run(), fetch, _torch_sample, platform))
    return peers


_PEERS: dict[str, Callable[[Device, list[str]], list[Peer]]] = {"spmv": _spmv_peers, "gem": _gem_peers}


def default_peers(workload: str, device: Device, notes: list[str]) -> list[Peer]:
    """The peers that are installed and fit the device; ``notes`` receive what an installed one was left out for."""
    from gpuopt.lab import dense_peers, tomography_peers  # which are made of what stands here

    others = dense_peers.PEERS | {"tomography": tomography_peers.back_projection_peers}
    make = (_PEERS | others).get(workload)
    return make(device, notes) if make else []
