"""Peers of dense products: NumPy beside CPUs, PyTorch and CuPy beside NVIDIA's GPUs, and there the splits into short
numbers that our own kernels make, written with the vendor's products."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gpuopt._core import Device, UnsupportedError
from gpuopt.lab.peers import Peer, _cupy_device, _cupy_fetch, _cupy_run, _cupy_sample, _on, _torch_sample, _torch_sees
from gpuopt.problems.problem import Problem


def _numpy_product(problem: Problem) -> Callable[[], Any]:
    if problem.workload == "tmv":
        return lambda: problem.inputs["A"].T @ problem.inputs["v"]
    return lambda: problem.inputs["A"] @ problem.inputs["B"]


def _torch_product(problem: Problem, gpu: int, product: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    import torch

    where = torch.device("cuda", gpu)
    first, second = (torch.as_tensor(problem.inputs[name], device=where) for name in _operands(problem))
    return lambda: product(first, second)


def _operands(problem: Problem) -> tuple[str, str]:
    return ("A", "v") if problem.workload == "tmv" else ("A", "B")


def _torch_plain(a: Any, b: Any) -> Any:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False  # each time: the flag is the process's, and the next peer sets it
    return a @ b


def _torch_transposed(a: Any, v: Any) -> Any:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    return a.T @ v


def _torch_tf32(a: Any, b: Any) -> Any:
    import torch

    _require_float32(a.dtype == torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


def _torch_fp16x3(a: Any, b: Any) -> Any:
    """Each factor as the sum of two halves, the lower times 2^11; what a PyTorch user can write."""
    import torch

    _require_float32(a.dtype == torch.float32)

    def split(x: Any) -> tuple[Any, Any]:
        high = x.half()
        return high, ((x - high.float()) * 2048).half()

    (a0, a1), (b0, b1) = split(a), split(b)
    low = _wide(a1, b0) + _wide(a0, b1)
    return _wide(a0, b0) + low / 2048


def _torch_bf16x6(a: Any, b: Any) -> Any:
    """Each factor as the sum of three bfloat16, of whose products the six largest are taken."""
    import torch

    _require_float32(a.dtype == torch.float32)

    def split(x: Any) -> list[Any]:
        parts = []
        for _ in range(3):
            parts.append(x.bfloat16())
            x = x - parts[-1].float()
        return parts

    of_a, of_b = split(a), split(b)
    pairs = sorted(((i, j) for i in range(3) for j in range(3 - i)), key=sum, reverse=True)  # the small ones first
    terms = [_wide(of_a[i], of_b[j]) for i, j in pairs]
    total = terms[0]
    for term in terms[1:]:
        total += term
    return total


def _wide(a: Any, b: Any) -> Any:
    """A product of short numbers, summed and returned in float32."""
    import torch

    return torch.mm(a, b, out_dtype=torch.float32)


def _require_float32(holds: bool) -> None:
    if not holds:
        raise UnsupportedError("it computes float32 alone")


def _short_sums(part: float) -> Callable[[Problem], np.ndarray]:
    """The tolerance of factors rounded to ``part``, whose products are summed in float32 that rounds toward zero."""

    def tolerance(problem: Problem) -> np.ndarray:
        relative = part + problem.sizes["K"] * 2.0**-23
        return np.maximum(problem.tolerance, relative * problem.inputs["magnitude"])

    return tolerance


def _to_cupy_operands(problem: Problem, gpu: int) -> Any:
    import cupy

    with _on(gpu):
        first, second = (cupy.asarray(problem.inputs[name]) for name in _operands(problem))
        return (first.T if problem.workload == "tmv" else first), second, gpu


# What PyTorch computes, by the name it has in a study, and what that may be off by.
_TORCH_PRODUCTS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Problem], np.ndarray] | None]] = {
    "PyTorch": (_torch_plain, None),
    "PyTorch TF32": (_torch_tf32, _short_sums(2.0**-10)),
    "PyTorch 3 x fp16": (_torch_fp16x3, _short_sums(2.0**-20)),
    "PyTorch 6 x bf16": (_torch_bf16x6, _short_sums(2.0**-20)),
}


def _dense_peers(device: Device, notes: list[str], products: Iterable[str]) -> list[Peer]:
    if device.type == "cpu":
        return [Peer("NumPy", _numpy_product, lambda run: run(), platform=f"NumPy {np.__version__}, {_blas()}")]
    if "nvidia" not in device.vendor.lower():
        return []
    peers = []
    if _torch_sees(device, notes):
        import torch

        fetch, platform = operator.methodcaller("numpy", force=True), f"PyTorch {torch.__version__}"
        for name in products:
            product, tolerance = _TORCH_PRODUCTS.get(name, (_torch_transposed, None))
            prepare = functools.partial(_torch_product, gpu=0, product=product)
            peers.append(Peer(name, prepare, lambda run: run(), fetch, _torch_sample, platform, tolerance))
    gpu = _cupy_device(device, notes)
    if gpu is not None:
        import cupy

        prepare = functools.partial(_to_cupy_operands, gpu=gpu)
        peers.append(Peer("CuPy", prepare, _cupy_run, _cupy_fetch, _cupy_sample, f"CuPy {cupy.__version__}"))
    return peers


def _blas() -> str:
    """NumPy's own, with the threads it may take."""
    known = getattr(np.__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
    return f"{known.get('name', 'BLAS')} {known.get('version', '')}, {len(os.sched_getaffinity(0))} cores"


def _gemm_peers(device: Device, notes: list[str]) -> list[Peer]:
    return _dense_peers(device, notes, _TORCH_PRODUCTS)


def _tmv_peers(device: Device, notes: list[str]) -> list[Peer]:
    return _dense_peers(device, notes, ["PyTorch A.T @ v"])


PEERS: dict[str, Callable[[Device, list[str]], list[Peer]]] = {"gemm": _gemm_peers, "tmv": _tmv_peers}
