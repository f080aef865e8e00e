"""Peers of SpMV: SciPy on the host, cuSPARSE and CuPy on NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuopt._core import Device
from gpuopt.lab.run.cuda import cupy_device, cupy_fetch, cupy_run, cupy_sample, on_gpu
from gpuopt.problem import Peer, Problem


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

        with on_gpu(gpu):
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


def peers(device: Device, notes: list[str]) -> list[Peer]:
    """Those that are installed and fit the device; ``notes`` receive why an installed one was left out."""
    found = [
        Peer("SciPy dia_array", _scipy("dia"), _multiply, platform=_scipy_version()),
        Peer("SciPy csr_array", _scipy("csr"), _multiply, platform=_scipy_version()),
    ]
    gpu = cupy_device(device, notes) if "nvidia" in device.vendor.lower() else None
    if gpu is not None:
        import cupy

        found += [
            Peer(name, _to_cupy(form, gpu), cupy_run, cupy_fetch, cupy_sample, f"CuPy {cupy.__version__}")
            for name, form in (("cuSPARSE CSR", "csr"), ("CuPy dia_matrix", "dia"))
        ]
    return found
