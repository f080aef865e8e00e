"""Peers of matrix products: libraries' own, and on NVIDIA's GPUs the splits into short numbers that our kernels make,
written with the vendor's products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt._core import Device, UnsupportedError
from gpuopt.problem import AnyPeer, Problem
from gpuopt.workloads.common.dense_peers import TorchProduct, dense_peers, torch_plain


def _torch_tf32(a: Any, b: Any) -> Any:
    import torch

    require_float32(a.dtype == torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


def _torch_fp16x3(a: Any, b: Any) -> Any:
    """Each factor as the sum of two halves, the lower times 2^11; what a PyTorch user can write."""
    import torch

    require_float32(a.dtype == torch.float32)

    def split(x: Any) -> tuple[Any, Any]:
        high = x.half()
        return high, ((x - high.float()) * 2048).half()

    (a0, a1), (b0, b1) = split(a), split(b)
    low = _wide(a1, b0) + _wide(a0, b1)
    return _wide(a0, b0) + low / 2048


def _torch_bf16x6(a: Any, b: Any) -> Any:
    """Each factor as the sum of three bfloat16, of whose products the six largest are taken."""
    import torch

    require_float32(a.dtype == torch.float32)

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


def require_float32(holds: bool) -> None:
    """Raises UnsupportedError where it does not hold."""
    if not holds:
        raise UnsupportedError("it computes float32 alone")


def short_sums(part: float) -> Callable[[Problem], np.ndarray]:
    """The tolerance of factors rounded to ``part``, whose products are summed in float32 that rounds toward zero."""

    def tolerance(problem: Problem) -> np.ndarray:
        relative = part + problem.sizes["K"] * 2.0**-23
        return np.maximum(problem.tolerance, relative * problem.inputs["magnitude"])

    return tolerance


# What PyTorch computes, by the name it has in a study, and what that may be off by.
_TORCH_PRODUCTS: dict[str, TorchProduct] = {
    "PyTorch": TorchProduct(torch_plain),
    "PyTorch TF32": TorchProduct(_torch_tf32, short_sums(2.0**-10)),
    "PyTorch 3 x fp16": TorchProduct(_torch_fp16x3, short_sums(2.0**-20)),
    "PyTorch 6 x bf16": TorchProduct(_torch_bf16x6, short_sums(2.0**-20)),
}


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Those that are installed and fit the device; ``notes`` receive why an installed one was left out."""
    return dense_peers(device, notes, ("A", "B"), _TORCH_PRODUCTS)
