"""Precisions of a matrix product other than the arrays' own: what each does on tensor cores, and whether a device
computes it correctly, which a small product shows before the first use."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpuopt import _core
from gpuopt._core import (
    ArrayError,
    Device,
    DeviceMemoryError,
    KernelBuildError,
    OpenCLError,
    ParameterError,
    UnsupportedError,
)
from gpuopt.checked import unsupported
from gpuopt.configuration import NATIVE, Configuration, complete, variants
from gpuopt.resolution import resolve
from gpuopt.selection import reads_ptx
from gpuopt.signals import let_through

FAST_FP32 = "fast_fp32"

_VARIANT = "tensor"  # the variant with the parameters TYPE and PRODUCTS
_TYPES = {"fp16": 0, "bf16": 1, "tf32": 2}


@dataclass(frozen=True)
class Form:
    """How a precision computes: float32 numbers are split into sums of short numbers of ``type``, of whose products the
    ``products`` largest are added.

    ``error`` is the largest error that leaving out the others may cause, relative to the sum of the products'
    magnitudes; 0 where it is no larger than that of float32 arithmetic. ``narrow`` says that the short numbers have a
    small range, so that operands with numbers of very different sizes are refused.
    """

    type: str
    products: int
    error: float = 0.0
    narrow: bool = False

    @property
    def parameters(self) -> dict[str, int]:
        """The parameters of the tensor-core variant that compute in this precision."""
        return {"TYPE": _TYPES[self.type], "PRODUCTS": self.products}

    def tolerance(self, k: int) -> float:
        """The largest allowed error of a sum of ``k`` products, relative to the sum of their magnitudes."""
        return self.error + k * 2.0**-23 if self.error else (k + 2) * 2.0**-24


# The fastest first. Errors: two factors, each rounded to 11 bits (fp16, tf32), or two of the three parts of 8 bits
# (bf16).
FORMS = {
    "fp16": Form("fp16", 1, 2.0**-10, narrow=True),
    "tf32": Form("tf32", 1, 2.0**-10),
    "fp16x3": Form("fp16", 3, narrow=True),
    "bf16x3": Form("bf16", 3, 2.0**-16),
    "bf16x6": Form("bf16", 6),
    "tf32x3": Form("tf32", 3),
    "bf16x9": Form("bf16", 9),
}

# Multiplications from which a product gains by tensor cores: splitting the operands costs 35 us of launches and memory
# traffic, and sums then run at 130 instead of 40 TFLOP/s (H200, 2026-11).
_WORTH_SPLITTING = 1.2e9

_PROBE = (141, 75, 203)  # M, N, K: no multiples of any tile, and several steps along K


def choose(
    device: Device, dtype: np.dtype, precision: str | None = None, variant: str | Configuration | None = None
) -> Configuration:
    """Return the full configuration of a product in this precision that takes any finite numbers.

    None is the arrays' own precision. ``"fast_fp32"`` is the fastest one with float32's accuracy that works on the
    device, which may also be the arrays' own. Raises ParameterError for an unknown precision and for a variant that
    does not compute in it, UnsupportedError with the reason where the device or the arrays' dtype does not allow it.
    """
    if precision is None:
        return resolve("gemm", device, dtype.name, variant, {"precision": lambda: NATIVE})
    if precision not in FORMS and precision != FAST_FP32:
        raise ParameterError(
            f"precision: {precision!r} is none; use {', '.join(FORMS)}, {FAST_FP32}, or None for the arrays' own"
        )
    if dtype != np.float32:
        raise unsupported(f"precision: {precision} is made of float32 arrays, these are {dtype.name}; leave it out")
    if precision == FAST_FP32:
        return choose(device, dtype, next(_like_fp32(device, narrow=False), None), variant)
    reason = refusal(device, precision)
    if reason is not None:
        raise unsupported(f"precision: {precision}: {reason}; use None or {FAST_FP32!r}", "device")
    return _configuration(device, precision, variant)


def fallbacks(
    device: Device,
    dtype: np.dtype,
    precision: str | None = None,
    variant: str | Configuration | None = None,
    multiplications: float = math.inf,
) -> list[Configuration]:
    """Return the configurations to try in turn: each is for operands that the one before refuses by an ArrayError,
    or for which the memory is short.

    Arguments and errors are those of :func:`choose`. Of ``"fast_fp32"`` there may be several; a product with few
    ``multiplications`` does not use tensor cores.
    """
    fastest = precision == FAST_FP32 and variant is None
    if fastest and dtype == np.float32 and multiplications < _WORTH_SPLITTING:
        return [choose(device, dtype)]
    chosen = choose(device, dtype, precision, variant)
    if not fastest:
        return [chosen]
    narrow = [_configuration(device, name, None) for name in _like_fp32(device, narrow=True)]
    return list(dict.fromkeys([*narrow, chosen, choose(device, dtype)]))


def _like_fp32(device: Device, narrow: bool) -> Iterator[str]:
    """The precisions with float32's accuracy that the device computes correctly."""
    fitting = (name for name, form in FORMS.items() if not form.error and form.narrow == narrow)
    return (name for name in fitting if _computes(device, name))


def _computes(device: Device, precision: str) -> bool:
    """Whether a device offers ``precision``; not now, where it cannot be found out now."""
    try:
        return refusal(device, precision) is None
    except (DeviceMemoryError, OpenCLError) as error:
        let_through(error)
        return False


def refusal(device: Device, precision: str) -> str | None:
    """Return why a device does not offer ``precision``, None where it does. Found out once in a process: a small
    product is built, run and compared with fp64. Raises DeviceMemoryError, OpenCLError where that cannot be found out
    now."""
    return _refusal(device.index, precision)


@functools.cache
def _refusal(index: int, precision: str) -> str | None:
    device = _core.devices()[index]
    if not reads_ptx(device):
        return f"{device.name} has no tensor cores that OpenCL reaches: NVIDIA's have, through PTX"
    if all(variant.name != _VARIANT for variant in variants("gemm")):
        return "there is no kernel for tensor cores"
    try:
        worst = _probe(device, _configuration(device, precision, None))
    except (ArrayError, KernelBuildError, ParameterError, UnsupportedError) as error:  # others may pass
        let_through(error)
        return f"{device.name} does not run it: {error}"
    allowed = FORMS[precision].tolerance(_PROBE[2])
    if not worst <= allowed:  # NaN too
        return f"{device.name} computes it wrongly: an error of {worst:.2g} where {allowed:.2g} is allowed"
    return None


def _configuration(device: Device, precision: str, variant: str | Configuration | None) -> Configuration:
    """The tuned one or the one named, with the parameters that make it this precision."""
    if variant is None:
        try:
            chosen = resolve("gemm", device, "float32", None, {"precision": lambda: precision})
        except ParameterError:  # no record: as the table has it
            chosen = Configuration(_VARIANT)
    else:
        chosen = resolve("gemm", device, "float32", variant)
    if chosen.variant != _VARIANT:
        raise ParameterError(f"variant: {chosen.variant} has no precision of its own; leave out one of the two")
    given = variant.parameters if isinstance(variant, Configuration) else {}
    wanted = FORMS[precision].parameters
    if any(given.get(name, level) != level for name, level in wanted.items()):
        raise ParameterError(f"variant: {variant} is not {precision}; leave out one of the two")
    return complete("gemm", Configuration(_VARIANT, **{**chosen.parameters, **wanted}))


def _probe(device: Device, configuration: Configuration) -> float:
    """Return the largest error of a small product, relative to the sum of the magnitudes of an element's products."""
    m, n, k = _PROBE
    draw = np.random.default_rng(0)
    a, b = (draw.normal(size=shape).astype(np.float32) for shape in ((m, k), (k, n)))
    out = _core.empty((m, n), a.dtype, device)
    out.fill_bytes(0xFF)
    on_device = _core.to_device(a, device), _core.to_device(b, device)
    name, parameters = configuration.variant, configuration.parameters
    _core.prepare_gemm(*on_device, None, 1.0, 0.0, out, False, False, name, parameters).run()
    wide = a.astype(np.float64), b.astype(np.float64)
    return float(np.max(np.abs(out.to_numpy() - wide[0] @ wide[1]) / (np.abs(wide[0]) @ np.abs(wide[1]))))
