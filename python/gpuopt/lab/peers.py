"""Other people's code beside ours: verified against the same reference and visited in the same blocks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.problems.problem import Problem


def _identity(result: Any) -> np.ndarray:
    return np.asarray(result)


@dataclass(frozen=True)
class Peer:
    """A competitor in a sweep.

    ``prepare(problem)`` makes its state (uploads, conversions: not timed). ``run(state)`` is one product, which returns
    only when it is done, unless ``sample(state, count, batch)`` gives ``count`` times in ms a product from a clock of
    its own, each of ``batch`` products queued one behind the other. ``fetch(result)`` turns its result into NumPy.
    ``platform`` says whose code it is.
    """

    name: str
    prepare: Callable[[Problem], Any]
    run: Callable[[Any], Any]
    fetch: Callable[[Any], np.ndarray] = _identity
    sample: Callable[[Any, int, int], list[float]] | None = None
    platform: str = "host"


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


_PEERS: dict[str, Callable[[Device, list[str]], list[Peer]]] = {"spmv": _spmv_peers}


def default_peers(workload: str, device: Device, notes: list[str]) -> list[Peer]:
    """The peers that are installed and fit the device; ``notes`` receive what an installed one was left out for."""
    make = _PEERS.get(workload)
    return make(device, notes) if make else []
