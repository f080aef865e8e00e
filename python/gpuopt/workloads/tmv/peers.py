"""Peers of the transposed product: NumPy beside CPUs, PyTorch and CuPy beside NVIDIA's GPUs."""

from __future__ import annotations

from gpuopt._core import Device
from gpuopt.problem import AnyPeer
from gpuopt.workloads.common.dense_peers import TorchProduct, dense_peers, torch_plain


def peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    """Those that are installed and fit the device; ``notes`` receive why an installed one was left out."""
    return dense_peers(device, notes, ("A", "v"), {"PyTorch A.T @ v": TorchProduct(torch_plain)}, transposed=True)
