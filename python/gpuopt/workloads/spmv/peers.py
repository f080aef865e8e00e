"""Peers of SpMV: SciPy on the host, cuSPARSE and CuPy on NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuopt._core import Device
from gpuopt.lab.run.cuda import CupyProduct, cupy_device, cupy_fetch, cupy_run, cupy_sample, on_gpu
from gpuopt.problem import AnyPeer, Peer, Problem


def _scipy_version() -> str:
    import scipy

    return f"SciPy {scipy.__version__}, host, 1 thread"


def _scipy(form: str) -> Callable[[Problem], Callable[[], Any]]:
    def prepare(problem: Problem) -> Callable[[], Any]:
        matrix, x = problem.inputs["A"].asformat(form), problem.inputs["x"]
        return lambda: matrix @ x

    return prepare


def _to_cupy(form: str, gpu: int) -> Callable[[Problem], CupyProduct]:
    def prepare(problem: Problem) -> CupyProduct:
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
            return CupyProduct(on_device, cupy.asarray(problem.inputs["x"]), gpu)

    return prepare


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Those that are installed and fit the device; ``notes`` receive why an installed one was left out."""
    found: list[AnyPeer] = [
        Peer("SciPy dia_array", _scipy("dia"), lambda run: run(), platform=_scipy_version()),
        Peer("SciPy csr_array", _scipy("csr"), lambda run: run(), platform=_scipy_version()),
    ]
    gpu = cupy_device(device, notes) if "nvidia" in device.vendor.lower() else None
    if gpu is not None:
        import cupy

        found += [
            Peer(name, _to_cupy(form, gpu), cupy_run, cupy_fetch, cupy_sample, f"CuPy {cupy.__version__}")
            for name, form in (("cuSPARSE CSR", "csr"), ("CuPy dia_matrix", "dia"))
        ]
    return found
