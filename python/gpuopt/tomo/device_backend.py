"""Arithmetic of iterations on a device; and in float32 on the host, for data that do not fit a device."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray
from gpuopt.tomo import checks
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.numpy_projector import NumpyBackend
from gpuopt.tomo.operators import Backend, Norms

_KEPT = 3  # 1 / _KEPT of a device's free memory may be kept to save back projections.
_AT_ONCE = 1 << 20  # So many elements of a sum are converted to fp64 at a time.

FLOAT32 = np.dtype(np.float32)


class DeviceBackend(Backend[DeviceArray]):
    """Arrays of a device, float32. Operations are enqueued; those that return a number wait for the device."""

    dtype = FLOAT32

    def __init__(self, device: Device, spare: int | None = None) -> None:
        """``spare`` is how many bytes may be kept beside the arrays of an iteration; None: there is no such limit."""
        self.device = device
        self._arithmetic = _core.DeviceArithmetic(device)
        free = max(0, device.global_bytes - device.allocated_bytes)
        self.cache_bytes = free // _KEPT if spare is None else max(0, min(free // _KEPT, spare))

    def take(self, given: Any, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> DeviceArray:
        if isinstance(given, DeviceArray):
            checks.shape(name, given, shape, axes, "the operator")
            return self._checked(given, name, axes)
        require_float32(name, given)
        checks.shape(name, given, shape, axes, "the operator")
        found = _core.to_device(np.ascontiguousarray(given), self.device)
        if self._arithmetic.not_finite(found):
            checks.floats(name, given, axes)  # which says where
        return found

    def give(self, array: DeviceArray, like: Any) -> Any:
        return array if isinstance(like, DeviceArray) else array.to_numpy()

    def host(self, given: Any, axes: tuple[str, ...]) -> np.ndarray:
        if isinstance(given, DeviceArray):
            return self._checked(given, "projections", axes).to_numpy()
        require_float32("projections", given)
        checks.floats("projections", given, axes)
        return np.asarray(given)

    def filtered(self, given: Any, by: RowFilter, axes: tuple[str, ...]) -> tuple[DeviceArray, Any]:
        on_device = isinstance(given, DeviceArray)
        require_float32("projections", given)
        if on_device:
            self._require_here(given, "projections")
        shape = (by.shape[0], *by.shape[1 : len(axes) - 1], by.wide)  # in 2D without rows
        if not by.fits(self.device):
            found, facts = by.on_host(given.to_numpy() if on_device else np.asarray(given))
            return _core.to_device(found.reshape(shape), self.device), facts
        data = given if on_device else _core.to_device(np.ascontiguousarray(given), self.device)
        out = data if by.in_place and not on_device else self.empty(shape)
        return out, by.on_device(data, out)

    def _checked(self, given: DeviceArray, name: str, axes: tuple[str, ...]) -> DeviceArray:
        require_float32(name, given)
        self._require_here(given, name)
        if self._arithmetic.not_finite(given):
            checks.floats(name, given.to_numpy(), axes)  # which says where
        return given

    def _require_here(self, given: DeviceArray, name: str) -> None:
        if given.device.index != self.device.index:
            raise ArrayError(
                f"{name}: it is on {given.device.name}, the operator on {self.device.name}; use {name}.to_numpy(), "
                "or make the operator on that device"
            )

    def empty(self, shape: tuple[int, ...]) -> DeviceArray:
        """A new array; its values are undefined."""
        return _core.empty(shape, self.dtype, self.device)

    def full(self, shape: tuple[int, ...], value: float) -> DeviceArray:
        made = self.empty(shape)
        self._arithmetic.fill(made, value)
        return made

    def fill(self, x: DeviceArray, value: float) -> None:
        self._arithmetic.fill(x, value)

    def copy(self, x: DeviceArray) -> DeviceArray:
        made = self.empty(x.shape)
        self._arithmetic.copy(x, made)
        return made

    def views(self, p: DeviceArray, index: np.ndarray) -> DeviceArray:
        return self._arithmetic.views(p, [int(i) for i in index])

    def axpy(self, a: float, x: DeviceArray, y: DeviceArray, out: DeviceArray) -> None:
        self._arithmetic.axpy(a, x, y, out)

    def multiply(self, x: DeviceArray, by: DeviceArray) -> None:
        self._arithmetic.multiply(x, by)

    def reciprocal(self, x: DeviceArray, fraction: float, largest: float | None = None) -> None:
        self._arithmetic.reciprocal(x, fraction, largest)

    def residual(self, b: DeviceArray, ax: DeviceArray, weights: DeviceArray) -> Norms:
        return _Norms(self._arithmetic.residual(b, ax, weights))

    def update(
        self,
        x: DeviceArray,
        step: float,
        weights: DeviceArray,
        g: DeviceArray,
        low: float | None,
        high: float | None,
        mask: DeviceArray | None,
        out: DeviceArray,
        rounding: float = 0.0,
    ) -> None:
        bounds = -math.inf if low is None else low, math.inf if high is None else high
        self._arithmetic.update(x, step, weights, g, *bounds, rounding, mask, out)

    def largest(self, x: DeviceArray) -> float:
        return self._arithmetic.largest(x)

    def dot(self, x: DeviceArray, y: DeviceArray) -> float:
        return self._arithmetic.dot(x, y)


class _Norms:
    """Waits for the device when the first of them is read."""

    def __init__(self, sums: _core.DeviceSums) -> None:
        self._sums: _core.DeviceSums | None = sums

    @cached_property
    def _read(self) -> tuple[float, float]:
        sums, self._sums = self._sums, None  # whose memory on the device is needed no longer
        assert sums is not None
        plain, weighted = sums.read()
        return plain, weighted

    @property
    def plain(self) -> float:
        return self._read[0]

    @property
    def weighted(self) -> float:
        return self._read[1]


class HostBackend(NumpyBackend):
    """NumPy arrays, float32, with sums in fp64, for operators that stream their data through a device.

    The caller may give arrays of that device: they are copied to the host, and results back to the device.
    """

    dtype = FLOAT32

    def __init__(self, device: Device) -> None:
        self.device = device

    def take(self, given: Any, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> np.ndarray:
        require_float32(name, given)
        return np.ascontiguousarray(super().take(_on_host(given), name, shape, axes))

    def give(self, array: np.ndarray, like: Any) -> Any:
        return _core.to_device(array, self.device) if isinstance(like, DeviceArray) else array

    def host(self, given: Any, axes: tuple[str, ...]) -> np.ndarray:
        require_float32("projections", given)
        return super().host(_on_host(given), axes)

    def filtered(self, given: Any, by: RowFilter, axes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        require_float32("projections", given)
        return super().filtered(_on_host(given), by, axes)

    def views(self, p: np.ndarray, index: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(p[index])

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        one, other = x.ravel(), y.ravel()
        parts = (slice(first, first + _AT_ONCE) for first in range(0, one.size, _AT_ONCE))
        return float(sum(np.vdot(one[part].astype(np.float64), other[part].astype(np.float64)) for part in parts))


def _on_host(given: Any) -> Any:
    return given.to_numpy() if isinstance(given, DeviceArray) else given


def require_float32(name: str, given: Any) -> None:
    """Refuses anything but an array of native float32, in which devices compute."""
    if not isinstance(given, (np.ndarray, DeviceArray)):
        raise ArrayError(
            f"{name}: {type(given).__name__} is neither a NumPy array nor a DeviceArray; use np.asarray({name}, "
            "np.float32)"
        )
    if given.dtype != FLOAT32:
        raise ArrayError(
            f"{name}: its dtype is {given.dtype.name if given.dtype.isnative else given.dtype.str}, but devices take "
            f"float32; use {name}.astype(np.float32)"
        )
