"""The ramp filter of filtered back projection, and its windows. It is sampled in space: sampled in frequency, the mean
of an image would come out wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt import host_memory
from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array

WINDOWS: dict[str, Callable[[Float64Array], Float64Array]] = {
    "ram-lak": np.ones_like,
    "shepp-logan": lambda w: np.sinc(w / 2),
    "cosine": lambda w: np.cos(np.pi * w / 2),
    "hann": lambda w: 0.5 + 0.5 * np.cos(np.pi * w),
    "hamming": lambda w: 0.54 + 0.46 * np.cos(np.pi * w),
}
"""Factors of the ramp, as functions of w = |frequency| / Nyquist frequency: even, and 1 at 0, so that means stay.
scikit-image samples Hann and Hamming between equal ends, which puts their top half a frequency beside 0: its images of
65 columns differ by 1.6e-3, of 257 by 2.2e-4."""

_AT_ONCE = 1 << 23  # numbers of padded rows
_BYTES_A_TAP = 40  # with what it is made of
_MANY_TAPS = 1 << 20  # Fewer fit everywhere.


@checked
def ramp(columns: int, spacing: float, fan: bool = False) -> Float64Array:
    """Taps h(n), n = 0 to columns - 1, (columns,), of the ramp filter for samples at the distance d = ``spacing``;
    h(-n) = h(n).

    h(0) = 1 / (4 d^2); h(n) = -1 / (pi n d)^2 for odd n and 0 for other even ones (Kak and Slaney, Principles of
    Computerized Tomographic Imaging, 1988, chapter 3, equation 61). d is in mm, the taps in 1/mm^2, float64. With
    ``fan``, d is an angle in radians, and the taps are multiplied by (n d / sin(n d))^2; (columns - 1) d is then below
    pi. Raises ParameterError.

    Examples
    --------
    >>> gt.ramp(4, spacing=1.0).round(4)
    array([ 0.25  , -0.1013,  0.    , -0.0113])
    """
    columns, spacing = checks.count("columns", columns), checks.positive("spacing", spacing)
    if not 1e-150 <= spacing <= 1e150:
        raise ParameterError(
            f"spacing: {spacing:g} is beyond what can be squared; give a distance of detector pixels, in mm or rad"
        )
    if fan and (columns - 1) * spacing >= np.pi:
        raise ParameterError(
            f"spacing: {columns} columns of {spacing:g} rad are half a turn or more; give less, or fewer columns"
        )
    _check_memory(columns)
    n = np.arange(columns)
    taps = np.zeros(columns)
    taps[0] = 1 / (4 * spacing**2)
    odd = n[1::2]
    taps[1::2] = -1 / (np.pi * odd * spacing) ** 2
    if fan:
        taps[1::2] *= (odd * spacing / np.sin(odd * spacing)) ** 2
    return taps


def _check_memory(columns: int) -> None:
    """Raises ParameterError where taps would take more than half of the host's free memory."""
    free = host_memory.free_bytes() if columns > _MANY_TAPS else None
    if free is not None and _BYTES_A_TAP * columns > free // 2:
        raise ParameterError(
            f"columns: {columns} taps take {_BYTES_A_TAP * columns / 1e6:,.0f} MB, where {free / 2e6:,.0f} MB, half of "
            "the free memory, may be taken; give fewer"
        )


@checked
def filter_rows(rows: np.ndarray, taps: Float64Array, window: str = "ram-lak", scale: float = 1.0) -> np.ndarray:
    """Each row (..., columns) along the last axis becomes ``scale sum_j row(j) taps(|i - j|)``, smoothed by a window as
    in :func:`fbp`; the dtype stays.

    Rows count as 0 outside: Fourier transforms are padded to at least 2 n - 1. ``taps`` (columns,) are those of
    :func:`ramp`. Raises ParameterError for unknown windows, ArrayError for rows that are not finite float32 or float64
    or would not be when filtered, and for taps of another length or not finite.

    Examples
    --------
    >>> taps = gt.ramp(4, spacing=1.0)
    >>> filtered = gt.filter_rows(np.array([0.0, 1.0, 0.0, 0.0]), taps)
    >>> np.allclose(filtered, taps[[1, 0, 1, 2]])
    True
    """
    require_window(window)
    checks.float_dtype("rows", rows)
    result = np.empty(rows.shape, rows.dtype)  # before values are looked at, of which there may be more than memory
    checks.finite("rows", rows, [f"axis {i}" for i in range(rows.ndim)])
    taps = real("taps", taps, "ramp(columns, spacing)")
    columns = rows.shape[-1] if rows.ndim else 0
    if columns < 1 or np.shape(taps) != (columns,):
        raise ArrayError(
            f"taps: their shape is {np.shape(taps)}, that of rows {rows.shape}; give ramp(columns, spacing)"
        )
    if not np.isfinite(taps).all():
        raise ArrayError("taps: one is NaN or infinite; give ramp(columns, spacing)")
    scale = checks.number("scale", scale, "a factor")
    length, response = host_response(taps, window, scale, np.dtype(np.float64))
    given, made = rows.reshape(-1, columns), result.reshape(-1, columns)
    for part in checks.parts(len(given), length, _AT_ONCE):
        with np.errstate(over="ignore", invalid="ignore"):
            made[part] = _convolved(given[part].astype(np.float64), response, length)
        if not np.isfinite(made[part]).all():
            raise ArrayError(f"rows: filtered they are beyond {rows.dtype}; scale them")
    return result


def require_window(window: str) -> None:
    """Raises ParameterError for unknown windows."""
    if window not in WINDOWS:
        raise ParameterError(f"window: {window!r} is not known; give one of {', '.join(map(repr, WINDOWS))}")


def response_of(taps: Float64Array, window: str, scale: float, length: int) -> Float64Array:
    """What frequencies 0 to length // 2 of rows padded to ``length`` are multiplied by; ``length`` is even, and at
    least 2 n - 1 for n taps."""
    columns = len(taps)
    kernel = np.zeros(length)
    kernel[:columns] = taps
    kernel[length - columns + 1 :] = taps[:0:-1]
    frequency = 2 * np.arange(length // 2 + 1) / length
    found: Float64Array = scale * np.fft.rfft(kernel).real * WINDOWS[window](frequency)
    return found


def host_response(taps: Float64Array, window: str, scale: float, dtype: np.dtype[Any]) -> tuple[int, np.ndarray]:
    """The length that the host pads rows to, and the response over it in a dtype."""
    length = _length(2 * len(taps) - 1)
    return length, response_of(taps, window, scale, length).astype(dtype)


def convolved(rows: np.ndarray, response: np.ndarray, length: int) -> np.ndarray:
    """Rows along the last axis, filtered by a response; the dtype stays. Signals are answered between parts."""
    flat = rows.reshape(-1, rows.shape[-1])
    found = np.empty(flat.shape, rows.dtype)
    for part in checks.parts(len(flat), length, _AT_ONCE):
        found[part] = _convolved(flat[part], response, length)
    return found.reshape(rows.shape)


def _convolved(rows: np.ndarray, response: np.ndarray, length: int) -> np.ndarray:
    """Rows (n, columns)."""
    fft = _fft()
    spectrum = fft.rfft(rows, length)
    spectrum *= response
    found: np.ndarray = fft.irfft(spectrum, length)[:, : rows.shape[-1]]
    return found


def _fft() -> Any:
    """SciPy's transforms keep float32; NumPy's do so from NumPy 2.0 on."""
    try:
        from scipy import fft
    except ImportError:
        return np.fft
    return fft


def _length(least: int) -> int:
    """The next even number whose prime factors are 2, 3 and 5 alone, for which transforms are fast."""
    length = least + least % 2
    while True:
        rest = length
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return length
        length += 2
