"""The class of a device, by which entries predict: CPUs, and GPUs with fast or slow fp64."""

from __future__ import annotations

from gpuopt import _core
from gpuopt._core import Device, Error
from gpuopt.configuration import Configuration, complete
from gpuopt.lab.device import profile
from gpuopt.workloads.casebook.entry import DeviceClass
from gpuopt.workloads.microbench.problem import plan

FAST_FP64 = 1 / 4  # of the rate of fp32: devices for computing have 1/2 and more, those for pictures 1/16 and less
_known: dict[str, DeviceClass] = {}


def class_of(device: Device) -> DeviceClass:
    """The class, of a GPU by the rates of multiply-adds in its profile; without one they are measured for a moment,
    once in a process."""
    if device.type == "cpu":
        return "cpu"
    if not device.fp64:
        return "gpu_slow_fp64"
    if device.key not in _known:
        _known[device.key] = "gpu_fast_fp64" if _fp64_share(device) >= FAST_FP64 else "gpu_slow_fp64"
    return _known[device.key]


def _fp64_share(device: Device) -> float:
    """The rate of multiply-adds in fp64, as a part of that in fp32; 0 where it cannot be measured."""
    held = profile.stored(device)
    rates = [held.rate(name) if held else None for name in ("float64", "float32")]
    if None in rates:
        try:
            rates = [_measured(device, dtype) for dtype in ("float64", "float32")]
        except Error:
            return 0.0
    return float(rates[0] or 0) / float(rates[1] or 1)


def _measured(device: Device, dtype: str) -> float:
    made: _core.Prepared = plan(complete("microbench", Configuration("fma")), dtype, 1 << 22, trips=256, device=device)
    made.run()
    return float(made.work["flops"]) / min(made.sample(5)["device_ms"])
