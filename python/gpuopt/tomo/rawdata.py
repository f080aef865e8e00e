"""Line integrals from what a detector counted, and the noise of counting."""

from __future__ import annotations

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.kinds import Numbers

_MOST_COUNTS = 1e18  # whole numbers of 64 bits
_NORMAL_FROM = 1e12


@checked
def normalise(raw: np.ndarray, flat: Numbers, dark: Numbers = 0.0, floor: float = 1e-6) -> np.ndarray:
    """Line integrals -ln(max(raw - dark, eps) / (flat - dark)), where eps = ``floor`` (flat - dark).

    ``raw`` (view, v, u) or (view, u), of any real dtype, is what the detector counted. ``flat`` is what it counts with
    the beam on and no object, ``dark`` with the beam off: each a number, or an array of the shape of a view or of all
    views (take the mean of repeated measurements first). Returns float64 if ``raw`` is, else float32; whole numbers
    beyond 2^53 are rounded first. Raises ArrayError where flat is not above dark, or where something is NaN or
    infinite, and ParameterError for a floor that is not above 0 and below 1.

    Examples
    --------
    >>> raw = np.array([[60.0, 35.0], [20.0, 60.0]])
    >>> gt.normalise(raw, flat=110.0, dark=10.0).round(3)
    array([[0.693, 1.386],
           [2.303, 0.693]])
    """
    if not 0 < checks.number("floor", floor, "a transmission") < 1:
        raise ParameterError(f"floor: {floor} is not a transmission; give one above 0 and below 1, say 1e-6")
    counts = np.asarray(raw)
    if counts.dtype.kind not in "uif" or counts.ndim not in (2, 3):
        raise ArrayError(f"raw: it is {counts.dtype} {counts.shape}; give real numbers (view, v, u) or (view, u)")
    dtype = np.float64 if counts.dtype.newbyteorder("=") == np.float64 else np.float32
    level = {}
    for name, given in (("flat", flat), ("dark", dark)):
        level[name] = real(name, given, "a number, or an array of a view or of all")
        if level[name].shape not in ((), counts.shape[1:], counts.shape):
            raise ArrayError(
                f"{name}: its shape is {level[name].shape}; give a number, {counts.shape[1:]} or {counts.shape}"
            )
    result = np.empty(counts.shape, dtype=dtype)  # before values are looked at, of which there may be more than memory
    _refuse_pixels("dark", ~np.isfinite(level["dark"]), "NaN or infinite")
    checks.finite("raw", counts, checks.DATA_AXES[counts.ndim], "repair such pixels")
    with np.errstate(invalid="ignore"):
        beam = level["flat"] - level["dark"]
        bad = ~((beam > 0) & np.isfinite(beam))
    _refuse_pixels("flat", bad, "not above dark, NaN or infinite")
    wide = np.promote_types(counts.dtype, np.float64)  # NumPy 1 takes the dtype of counts where dark is a number
    for view in range(len(counts)):
        dark_here, beam_here = (a[view] if a.ndim == counts.ndim else a for a in (level["dark"], beam))
        result[view] = -np.log(np.maximum((counts[view].astype(wide) - dark_here) / beam_here, floor))
    return result


def _refuse_pixels(name: str, bad: np.ndarray, why: str) -> None:
    if bad.any():
        place = ", ".join(str(index) for index in np.argwhere(bad)[0])
        first = f", the first at [{place}]" if place else ""
        raise ArrayError(f"{name}: {int(bad.sum())} of {bad.size} values are {why}{first}; mend such dead pixels first")


def _poisson(random: np.random.Generator, expected: Float64Array) -> Float64Array:
    """Counts. Those of 1e14 and more NumPy draws with too wide a spread; from 1e12 on the normal distribution is the
    same but for a skewness of 1e-6."""
    many = expected > _NORMAL_FROM
    counts = random.poisson(np.where(many, 0.0, expected)).astype(np.float64)
    counts[many] = np.rint(random.normal(expected[many], np.sqrt(expected[many])))
    return counts


@checked
def poisson_noise(projections: np.ndarray, photons: float, seed: int = 0) -> np.ndarray:
    """The line integrals p with the noise of a detector that counts ``photons`` in each pixel without an object.

    Counts c are drawn from Poisson(photons exp(-p)); returns -ln(max(c, 1) / photons), of the shape and dtype of
    ``projections``, float32 or float64. The same ``seed`` draws the same. Raises ParameterError, ArrayError.

    Examples
    --------
    >>> p = np.full((2, 4), 0.5)
    >>> noisy = gt.poisson_noise(p, photons=1e6, seed=1)
    >>> np.allclose(noisy, p, atol=0.02), np.array_equal(noisy, p)
    (True, False)
    """
    intensity = checks.positive("photons", photons, "photons a pixel")
    if intensity > _MOST_COUNTS:
        raise ParameterError(f"photons: {photons:g} are more than can be counted; give at most {_MOST_COUNTS:g}")
    array = np.asarray(projections)
    checks.float_dtype("projections", array)
    result = np.empty(array.shape, array.dtype)  # as in normalise
    checks.finite("projections", array, [f"axis {i}" for i in range(array.ndim)])
    random = np.random.default_rng(seed)
    views, made = (each if each.ndim > 1 else each.reshape(1, -1) for each in (array, result))
    for view, lines in enumerate(views):
        with np.errstate(over="ignore"):
            expected = intensity * np.exp(-lines.astype(np.float64))
        if expected.max(initial=0) > _MOST_COUNTS:
            raise ArrayError(
                f"projections: view {view} amplifies the beam beyond what can be counted; check their sign"
            )
        counts = _poisson(random, expected.ravel()).reshape(expected.shape)  # NumPy draws along 32 axes at most
        made[view] = -np.log(np.maximum(counts, 1) / intensity)
    return result
