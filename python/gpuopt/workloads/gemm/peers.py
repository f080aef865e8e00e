"""Peers of matrix products: libraries' own; on NVIDIA's GPUs the splits into short numbers that our kernels make,
written with the vendor's products; beside every device plain loops on the host, which papers compared with."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.checked import unsupported
from gpuopt.problem import AnyPeer, Peer, Problem
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.common.dense_peers import TorchProduct, dense_peers, torch_plain

SERIAL_LOOP = "C++ loop, 1 thread"
# As a compiler of the papers' time was used: -O3 of today's would exchange the loops.
_LOOPS = {SERIAL_LOOP: ("-O2",), "C++ loop, OpenMP": ("-O2", "-fopenmp")}
LONGEST_S = 3.0  # of a run of a plain loop
_ENOUGH_S = 0.02  # to tell from some rows how long all would take


def _torch_tf32(a: Any, b: Any) -> Any:
    import torch

    require_float32(a.dtype == torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


def _torch_fp16x3(a: Any, b: Any) -> Any:
    """Each factor as the sum of two halves, the lower times 2^11; what a PyTorch user can write."""
    import torch

    _require_one(a.dim() == 2)
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

    _require_one(a.dim() == 2)
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
        raise unsupported("it computes float32 alone")


def _require_one(holds: bool) -> None:
    if not holds:
        raise unsupported("it computes one product, no batch of them")


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


def _plain_loop(problem: Problem, flags: tuple[str, ...]) -> Callable[[], np.ndarray]:
    """The three loops, ready to be called. Raises UnsupportedError where a call would take longer than LONGEST_S."""
    a, b = (np.ascontiguousarray(problem.inputs[name]) for name in ("A", "B"))
    _require_one(a.ndim == 2)
    (m, depth), n = a.shape, b.shape[1]
    c = np.empty((m, n), problem.dtype)
    matrix = np.ctypeslib.ndpointer(problem.dtype, 2, flags="C_CONTIGUOUS")
    source = resources.files(__package__).joinpath("triple_loop.cpp").read_text(encoding="utf-8")
    arguments = (matrix, matrix, matrix, ctypes.c_long, ctypes.c_long, ctypes.c_long)
    loop = cpp_loops.function(source, f"product_{problem.dtype.name}", arguments, flags, "triple_loop")
    rows = min(m, len(os.sched_getaffinity(0)) if "-fopenmp" in flags else 1)
    while True:
        start = time.perf_counter()
        loop(a, b, c, rows, n, depth)
        seconds = time.perf_counter() - start
        if rows == m or seconds > _ENOUGH_S:
            break
        rows = min(m, 4 * rows)
    if (whole := seconds * m / rows) > LONGEST_S:
        raise unsupported(f"a run would take some {whole:.0f} s on this host; the limit is {LONGEST_S:g} s")

    def run() -> np.ndarray:
        loop(a, b, c, m, n, depth)
        return c

    return run


def libraries(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Libraries' products in the arrays' own precision that are installed and fit the device; ``notes`` as of
    :func:`peers`."""
    return dense_peers(device, notes, ("A", "B"), {"PyTorch": _TORCH_PRODUCTS["PyTorch"]})


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Those that are installed and fit the device; ``notes`` receive why an installed one was left out."""
    found = dense_peers(device, notes, ("A", "B"), _TORCH_PRODUCTS)
    if cpp_loops.compiler() is None:
        notes.append("the plain C++ loops are left out: there is no C++ compiler")
        return found
    for name, flags in _LOOPS.items():
        prepare, platform = functools.partial(_plain_loop, flags=flags), cpp_loops.described(flags)
        found.append(Peer(name, prepare, lambda run: run(), platform=platform))
    return found
