"""Peers of dense products: NumPy beside CPUs, PyTorch and CuPy beside NVIDIA's GPUs."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuopt._core import Device
from gpuopt.lab.run.cuda import (
    CupyProduct,
    cupy_device,
    cupy_fetch,
    cupy_run,
    cupy_sample,
    on_gpu,
    torch_sample,
    torch_sees,
)
from gpuopt.problem import AnyPeer, Peer, Problem

# What makes both factors of a problem, each by a function that takes a NumPy array.
Factors = Callable[[Problem, Callable[[np.ndarray], Any]], tuple[Any, Any]]


class TorchProduct(NamedTuple):
    """A product of two tensors, and what its result may be off by (None: the problem's own tolerance)."""

    product: Callable[[Any, Any], Any]
    tolerance: Callable[[Problem], np.ndarray] | None = None


def dense_peers(
    device: Device,
    notes: list[str],
    operands: tuple[str, str],
    products: Mapping[str, TorchProduct],
    *,
    transposed: bool = False,
) -> list[AnyPeer]:
    """The peers that are installed and fit the device; ``notes`` receive why an installed one was left out.

    ``operands`` are the names of the two factors among the problem's inputs; the first takes part ``transposed``.
    ``products`` are PyTorch's, by the name each has in a study.
    """
    factors = functools.partial(_factors, operands=operands, transposed=transposed)
    if device.type == "cpu":
        run = functools.partial(_numpy_product, factors=factors)
        return [Peer("NumPy", run, lambda run: run(), platform=f"NumPy {np.__version__}, {_blas()}")]
    if "nvidia" not in device.vendor.lower():
        return []
    peers: list[AnyPeer] = []
    if torch_sees(device, notes):
        import torch

        fetch, platform = operator.methodcaller("numpy", force=True), f"PyTorch {torch.__version__}"
        for name, wanted in products.items():
            prepare = functools.partial(_torch_product, gpu=0, factors=factors, product=wanted.product)
            peers.append(Peer(name, prepare, lambda run: run(), fetch, torch_sample, platform, wanted.tolerance))
    gpu = cupy_device(device, notes)
    if gpu is not None:
        import cupy

        on_device = functools.partial(_cupy_product, gpu=gpu, factors=factors)
        peers.append(Peer("CuPy", on_device, cupy_run, cupy_fetch, cupy_sample, f"CuPy {cupy.__version__}"))
    return peers


def torch_plain(a: Any, b: Any) -> Any:
    """PyTorch's product in the tensors' own precision."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False  # each time: the flag is the process's, and another peer sets it
    return a @ b


def _factors(
    problem: Problem, take: Callable[[np.ndarray], Any], operands: tuple[str, str], transposed: bool
) -> tuple[Any, Any]:
    """Both factors as ``take`` makes them of NumPy arrays."""
    first, second = (take(problem.inputs[name]) for name in operands)
    return first.T if transposed else first, second


def _numpy_product(problem: Problem, factors: Factors) -> Callable[[], Any]:
    first, second = factors(problem, np.asarray)
    return lambda: first @ second


def _torch_product(
    problem: Problem, gpu: int, factors: Factors, product: Callable[[Any, Any], Any]
) -> Callable[[], Any]:
    import torch

    where = torch.device("cuda", gpu)
    first, second = factors(problem, lambda array: torch.as_tensor(array, device=where))
    return lambda: product(first, second)


def _cupy_product(problem: Problem, gpu: int, factors: Factors) -> CupyProduct:
    import cupy

    with on_gpu(gpu):
        return CupyProduct(*factors(problem, cupy.asarray), gpu)


def _blas() -> str:
    """NumPy's own, with the threads it may take."""
    known = getattr(np.__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
    return f"{known.get('name', 'BLAS')} {known.get('version', '')}, {len(os.sched_getaffinity(0))} cores"
