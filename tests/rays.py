"""Plans along rays, between guards, and what they are held against."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpuopt
from gpuopt import Configuration, _core
from gpuopt import tomo as gt
from gpuopt.tomo import on_device

FLOAT = np.dtype(np.float32)
Scan = tuple[gt.Geometry, gt.Volume]


def random(scan: Scan, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """An image and projections of mean 0."""
    draw = np.random.default_rng(seed)
    return tuple(draw.standard_normal(shape).astype(np.float32) for shape in (scan[1].shape, scan[0].shape))  # type: ignore[return-value]


def apart(found: Any, expected: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(found, dtype=np.float64) - expected) / np.linalg.norm(expected))


def planned(
    device: gpuopt.Device, scan: Scan, configuration: Configuration, given: np.ndarray, accumulate: bool = False
) -> tuple[np.ndarray, _core.JosephPlan]:
    """The result of a plan whose arrays have guards around them."""
    family = next(v.family for v in gpuopt.variants("tomography") if v.name == configuration.variant)
    geometry, volume = scan
    to_image = family == "adjoint"
    out = _core.empty(volume.shape if to_image else geometry.shape, FLOAT, device, True)
    if accumulate:
        _core.DeviceArithmetic(device).fill(out, 2.0)
    else:
        out.fill_bytes(0xFF)
    taken = gpuopt.to_device(given, device)
    image, data = (out, taken) if to_image else (taken, out)
    kernels = on_device.kernel_geometry(geometry, volume)
    name, parameters = configuration.variant, configuration.parameters
    plan = _core.prepare_joseph(None, image, data, kernels, accumulate=accumulate, variant=name, parameters=parameters)
    plan.prepared.run()
    assert out.guards_intact()
    return out.to_numpy(), plan
