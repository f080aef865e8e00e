"""From a grey image to a matrix such as that of Catanzaro's article: pixels tied to their neighbours.

The article says that its matrices come from image segmentation; the normalised Laplacian is our reading.

The method is that of the Damascene contour detector (Catanzaro et al., ICCV 2009), with a plain gradient in place of
its multi-scale boundary detector: two pixels belong together unless a strong boundary lies on the straight walk between
them. The smallest eigenvectors of the normalised Laplacian cut the image into its parts (Shi and Malik, 2000).

Images are (height, width); pixel (x, y) is row ``y * width + x`` of the matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import real
from gpuopt.workloads.spmv.reference import disk_steps

if TYPE_CHECKING:
    from scipy.sparse import dia_array

Float64Array = NDArray[np.float64]


def boundary_strength(image: ArrayLike, smoothing: float = 0.0) -> Float64Array:
    """Return the gradient magnitude of a grey image, scaled to [0, 1]; 0 everywhere for a flat image.

    ``image`` and the result are (height, width); ``smoothing`` is the standard deviation in pixels of a Gaussian that
    is applied first. Central differences with replicated edge pixels. Raises ``ArrayError`` for an image that is not
    two-dimensional, is empty, or holds values that are complex or not finite.
    """
    image = real("image", image, "a grey image (height, width)")
    if image.ndim != 2 or image.size == 0:
        raise ArrayError(f"image: its shape is {image.shape}; give a grey image (height, width)")
    if not np.isfinite(image).all():
        raise ArrayError("image: it holds NaN or infinity; give finite values")
    if not 0 <= smoothing <= max(image.shape):
        raise ParameterError(
            f"smoothing: {smoothing:g} pixels; give 0 for none, or up to the image's {max(image.shape)}"
        )
    if smoothing > 0:
        from scipy.ndimage import gaussian_filter

        image = gaussian_filter(image, smoothing, mode="nearest")
    padded = np.pad(image, 1, mode="edge")
    gx = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    gy = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    strength = np.hypot(gx, gy)
    greatest = strength.max()
    return strength / greatest if greatest > 0 else strength


def crossing_weight(crossing: ArrayLike, sigma: float = 0.1) -> Float64Array:
    """Return the affinity of two pixels between which the strongest boundary is ``crossing`` (0 to 1)."""
    confidence = 1 / (1 + np.exp(-(1.8682 - 1.3113 * np.asarray(crossing, dtype=np.float64) / 0.3130)))
    return np.exp(-(1 - confidence) / sigma)


def walk(dx: int, dy: int) -> list[tuple[int, int]]:
    """Return the pixels of the digital straight walk from (0, 0) to (dx, dy), both ends included."""
    along_x = abs(dx) > abs(dy)
    major, minor = (abs(dx), abs(dy)) if along_x else (abs(dy), abs(dx))
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    x = y = 0
    t = -major
    pixels = [(0, 0)]
    for _ in range(major):
        t += 2 * minor
        move_minor = t > 0
        if move_minor:
            t -= 2 * major
        if along_x or move_minor:
            x += step_x
        if not along_x or move_minor:
            y += step_y
        pixels.append((x, y))
    return pixels


def affinity_matrix(
    image: ArrayLike,
    radius: int = 5,
    sigma: float = 0.1,
    smoothing: float = 0.0,
    dtype: str | np.dtype[Any] = "float64",
) -> tuple[dia_array, Float64Array]:
    """Return ``(W, degrees)`` of a grey image: W ties each pixel to all pixels within ``radius``, ``W_ii = 1``.

    W is a symmetric SciPy ``dia_array`` of ``dtype`` with ascending offsets ``dy * width + dx``; ``degrees`` (pixels,)
    are its row sums in fp64, taken before rounding to ``dtype``. Needs 81 entries a pixel for radius 5 (85 MB in fp32
    for 512 x 512) and little more while it is built. Raises as :func:`boundary_strength`, and ``ParameterError`` for a
    radius below 1.
    """
    if radius < 1:
        raise ParameterError(f"radius: {radius} reaches no neighbour; give at least 1")
    strength = boundary_strength(image, smoothing)
    height, width = strength.shape
    offsets, data = _empty_diagonals(strength.shape, radius, dtype)
    grids = data.reshape(len(offsets), height, width)
    position = {offset: k for k, offset in enumerate(offsets.tolist())}
    degrees = np.ones((height, width))
    grids[position[0]] = 1
    for dx, dy, weights in _half_of_the_weights(strength, radius, sigma):
        pixel, neighbour = _overlap(width, height, dx, dy)
        offset = dy * width + dx
        # data is indexed by column: entry (i, j) is kept at j, and its mirror (j, i) at i.
        grids[position[offset]][neighbour] = weights
        grids[position[-offset]][pixel] = weights
        degrees[pixel] += weights
        degrees[neighbour] += weights
    return _dia_array(data, offsets), degrees.ravel()


def normalised_laplacian(weights: dia_array, degrees: ArrayLike, overwrite: bool = False) -> dia_array:
    """Return ``A = D^-1/2 (D - W) D^-1/2`` of a symmetric W with unit diagonal, as a ``dia_array`` of W's dtype.

    ``overwrite`` reuses the memory of W, which is then lost. ``A sqrt(degrees) = 0``, and A's spectrum lies in [0, 2].
    """
    degrees = np.asarray(degrees, dtype=np.float64)
    scale = 1 / np.sqrt(degrees)
    n = len(degrees)
    data = weights.data if overwrite else np.empty_like(weights.data)
    for k, offset in enumerate(weights.offsets.tolist()):
        if offset == 0:
            data[k] = (degrees - 1) / degrees
            continue
        first, last = max(0, offset), max(0, offset, min(n, n + offset))
        # Both factors first: their product is the same for (i, j) and (j, i), which keeps A exactly symmetric.
        factor = scale[first - offset : last - offset] * scale[first:last]
        # 0 - keeps the stored zeros positive.
        data[k, first:last] = 0 - weights.data[k, first:last] * factor
        data[k, :first] = 0
        data[k, last:] = 0
    return _dia_array(data, weights.offsets)


def _half_of_the_weights(strength: Float64Array, radius: int, sigma: float) -> Iterator[tuple[int, int, Float64Array]]:
    """Yield (dx, dy, W between each pixel and its neighbour at that step) for the steps with a positive offset.

    The walk from i to j and the walk back may differ where they must choose between two pixels: W is their mean.
    """
    height, width = strength.shape
    # The weight falls as the boundary rises, so the weight of the strongest crossing is the least of the weights: it is
    # computed once a pixel, not once a pair. The rim stands for pixels outside the image, which no crossing needs.
    weight = crossing_weight(strength, sigma)
    corner = np.pad(weight, ((0, 1), (0, 1)), constant_values=np.inf)
    diagonal = np.minimum(weight, np.minimum(corner[:-1, 1:], corner[1:, :-1]))
    for dx, dy in disk_steps(radius).tolist():
        if dy < 0 or (dy == 0 and dx <= 0) or abs(dx) >= width or dy >= height:
            continue
        pixel, _ = _overlap(width, height, dx, dy)
        there = _least_on_walk(weight, diagonal, walk(dx, dy), pixel)
        back = [(dx + x, dy + y) for x, y in walk(-dx, -dy)]
        yield dx, dy, (there + _least_on_walk(weight, diagonal, back, pixel)) / 2


def _least_on_walk(
    weight: Float64Array, diagonal: Float64Array, pixels: list[tuple[int, int]], start: tuple[slice, slice]
) -> Float64Array:
    """Return, for every pixel of the window ``start`` as origin, the least weight the walk crosses."""
    rows, columns = start
    least: Float64Array | None = None
    for (x0, y0), (x1, y1) in pairwise(pixels):
        x, y = min(x0, x1), min(y0, y1)
        crossed = diagonal if x0 != x1 and y0 != y1 else weight
        window = crossed[rows.start + y : rows.stop + y, columns.start + x : columns.stop + x]
        least = window.copy() if least is None else np.minimum(least, window, out=least)
    assert least is not None, "a walk has at least one step"
    return least


def _overlap(width: int, height: int, dx: int, dy: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Return the windows of the pixels that have a neighbour at (dx, dy), and of those neighbours."""
    pixel = slice(max(0, -dy), height - max(0, dy)), slice(max(0, -dx), width - max(0, dx))
    neighbour = slice(max(0, dy), height - max(0, -dy)), slice(max(0, dx), width - max(0, -dx))
    return pixel, neighbour


def _empty_diagonals(shape: tuple[int, int], radius: int, dtype: str | np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    # In an image narrower than the neighbourhood two steps can share a diagonal; they never share an entry.
    steps = disk_steps(radius)
    offsets = np.unique(steps[:, 1] * shape[1] + steps[:, 0])
    return offsets, np.zeros((len(offsets), shape[0] * shape[1]), dtype=dtype)


def _dia_array(data: np.ndarray, offsets: np.ndarray) -> dia_array:
    from scipy.sparse import dia_array

    return dia_array((data, offsets), shape=(data.shape[1], data.shape[1]))
