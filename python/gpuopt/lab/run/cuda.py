"""Peers on NVIDIA's GPUs: which device CuPy and PyTorch see, and times by CUDA's events."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import Device


def on_gpu(gpu: int) -> AbstractContextManager[Any]:
    """CuPy works on its current device, whatever holds the arrays."""
    import cupy

    context: AbstractContextManager[Any] = cupy.cuda.Device(gpu)
    return context


@dataclass(frozen=True)
class CupyProduct:
    """The two factors of a product, as CuPy's arrays on the GPU of this number."""

    left: Any
    right: Any
    gpu: int


def cupy_run(product: CupyProduct) -> Any:
    with on_gpu(product.gpu):
        return product.left @ product.right


def cupy_sample(product: CupyProduct, count: int, batch: int) -> list[float]:
    import cupy

    times = []
    with on_gpu(product.gpu):
        for _ in range(count):
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(batch):
                product.left @ product.right
            stop.record()
            stop.synchronize()
            times.append(float(cupy.cuda.get_elapsed_time(start, stop)) / batch)
    return times


def cupy_fetch(result: Any) -> np.ndarray:
    import cupy

    fetched: np.ndarray = cupy.asnumpy(result)
    return fetched


def cupy_device(device: Device, notes: list[str]) -> int | None:
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


def torch_sample(run: Callable[[], Any], count: int, batch: int) -> list[float]:
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


def torch_sees(device: Device, notes: list[str]) -> bool:
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
