"""Scans as other libraries describe them, so that their arrays are taken as they are."""

from __future__ import annotations

import math

import numpy as np

from gpuopt.checked import as_array, checked
from gpuopt.tomo import checks
from gpuopt.tomo.kinds import Angles, Counts
from gpuopt.tomo.scans import Parallel, parallel2d
from gpuopt.tomo.volume import Volume


@checked
def from_skimage(theta: Angles, shape: Counts, circle: bool = True) -> tuple[Parallel, Volume]:
    """The scan and the image of scikit-image's ``radon`` and ``iradon``: ``gt.Projector(*gt.from_skimage(theta,
    image.shape))``.

    ``theta`` are its angles (views,) in degrees, ``shape`` is that of the image, (rows, columns) or one number for
    both; with ``circle`` as there the sinogram has as many columns as the image's shorter side, else as its diagonal
    needs.
    scikit-image turns about the pixel n // 2 of n (with ``circle`` about that of the square that it crops, one further
    where n is odd and the shorter side even), counts rows downwards, and has views as columns: its sinograms are
    ``A(image).T`` here, and a slice comes back by ``gt.fbp(A, np.ascontiguousarray(sinogram.T, np.float32))`` as by
    ``iradon``, which writes 0 outside the circle; of even sides pixels at its rim may differ by a tenth. One pixel is
    1 mm. Raises ParameterError, ArrayError.

    Examples
    --------
    >>> scan, volume = gt.from_skimage([0, 45, 90], (64, 64))
    >>> scan.shape, volume.shape
    ((3, 64), (64, 64))
    """
    rows, columns = (checks.count(*one, checks.MOST_CELLS) for one in checks.each("shape", shape, ("y", "x")))
    across = min(rows, columns) if circle else math.ceil(math.sqrt(2) * max(rows, columns))
    angles = checks.angles("theta", np.atleast_1d(as_array("theta", theta, "angles in degrees")), math.pi, units="deg")
    scan = parallel2d(-angles, across, 1.0, _middle(across), units="rad")
    cropped = [(length - across + 1) // 2 + across // 2 if circle else length // 2 for length in (rows, columns)]
    y, x = ((length - 1) / 2 - pixel for length, pixel in zip((rows, columns), cropped, strict=True))
    return scan, Volume((rows, columns), 1.0, (y, x))


def _middle(count: int) -> float:
    """Where the middle of so many pixels lies as seen from the pixel ``count // 2``, in pixels."""
    return (count - 1) / 2 - count // 2
