"""From counts to line integrals, and back with noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.tomo import checks


def normalise(raw: np.ndarray, flat: Any, dark: Any = 0.0, floor: float = 1e-6) -> np.ndarray:
    """Line integrals -ln(max(raw - dark, eps) / (flat - dark)) from what a detector counted.

    ``raw`` (view, v, u) or (view, u) of any real dtype; ``flat``, with the beam and nothing in it, and ``dark``,
    without the beam: numbers, or arrays of a view's shape or of all views' (a mean over repeated ones is the caller's).
    eps is ``floor`` (flat - dark). float64 where ``raw`` is, else float32. Raises ArrayError where flat is not above
    dark, or something is NaN.
    """
    if not 0 < checks.number("floor", floor, "a transmission") < 1:
        raise ParameterError(f"floor: {floor} is no transmission; give one above 0, say 1e-6")
    counts = np.asarray(raw)
    if counts.dtype.kind not in "uif" or counts.ndim not in (2, 3):
        raise ArrayError(f"raw: it is {counts.dtype} {counts.shape}; give real numbers (view, v, u) or (view, u)")
    dtype = np.float64 if counts.dtype == np.float64 else np.float32
    level = {}
    for name, given in (("flat", flat), ("dark", dark)):
        level[name] = np.asarray(given, dtype=np.float64)
        if level[name].shape not in ((), counts.shape[1:], counts.shape):
            raise ArrayError(
                f"{name}: its shape is {level[name].shape}; give a number, {counts.shape[1:]} or {counts.shape}"
            )
    beam = level["flat"] - level["dark"]
    if not (beam > 0).all():
        raise ArrayError(
            f"flat: {int((~(beam > 0)).sum())} of {beam.size} values are not above dark, or NaN; mend dead pixels first"
        )
    result = np.empty(counts.shape, dtype=dtype)
    for view in range(len(counts)):
        dark_here, beam_here = (a[view] if a.ndim == counts.ndim else a for a in (level["dark"], beam))
        transmission = (counts[view] - dark_here) / beam_here
        if np.isnan(transmission).any():
            raise ArrayError(f"raw: view {view} holds NaN; mend it first")
        result[view] = -np.log(np.maximum(transmission, floor))
    return result


def poisson_noise(projections: np.ndarray, photons: float, seed: int = 0) -> np.ndarray:
    """Line integrals as a detector would see them that counts ``photons`` a pixel without an object.

    Counts c are drawn from Poisson(photons exp(-p)), and -ln(max(c, 1) / photons) is returned, of the dtype of
    ``projections``. Raises ParameterError, ArrayError.
    """
    intensity = checks.positive("photons", photons, "photons a pixel")
    array = np.asarray(projections)
    checks.floats("projections", array, [f"axis {i}" for i in range(array.ndim)])
    random = np.random.default_rng(seed)
    result = np.empty_like(array)
    for view in range(len(array)):
        with np.errstate(over="ignore"):
            expected = intensity * np.exp(-array[view].astype(np.float64))
        if expected.max(initial=0) > 1e18:
            raise ArrayError(f"projections: view {view} amplifies the beam beyond what can be counted; check the sign")
        result[view] = -np.log(np.maximum(random.poisson(expected), 1) / intensity)
    return result
