"""Other people's code beside ours: verified against the same reference and visited in the same blocks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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


def _to_cupy(form: str) -> Callable[[Problem], Any]:
    def prepare(problem: Problem) -> Any:
        import cupy
        import cupyx.scipy.sparse as sparse
        from scipy.sparse import csr_matrix, dia_matrix

        if form == "csr":
            matrix = csr_matrix(problem.inputs["A"].tocsr())
            # Wrap entries and zeros of the diagonals are no entries of a general format: a CSR user would not store
            # them.
            matrix.eliminate_zeros()
            on_device = sparse.csr_matrix(matrix)
        else:
            on_device = sparse.dia_matrix(dia_matrix(problem.inputs["A"]))
        return on_device, cupy.asarray(problem.inputs["x"])

    return prepare


def _cupy_sample(state: Any, count: int, batch: int) -> list[float]:
    import cupy

    matrix, x = state
    times = []
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


def _cupy_works() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def _spmv_peers(device: Device) -> list[Peer]:
    peers = [
        Peer("SciPy dia_array", _scipy("dia"), _multiply, platform=_scipy_version()),
        Peer("SciPy csr_array", _scipy("csr"), _multiply, platform=_scipy_version()),
    ]
    if "nvidia" in device.vendor.lower() and _cupy_works():
        peers += [
            Peer("cuSPARSE CSR", _to_cupy("csr"), _multiply, _cupy_fetch, _cupy_sample, "CuPy"),
            Peer("CuPy dia_matrix", _to_cupy("dia"), _multiply, _cupy_fetch, _cupy_sample, "CuPy"),
        ]
    return peers


_PEERS: dict[str, Callable[[Device], list[Peer]]] = {"spmv": _spmv_peers}


def default_peers(workload: str, device: Device) -> list[Peer]:
    """The peers that are installed and fit the device."""
    make = _PEERS.get(workload)
    return make(device) if make else []
