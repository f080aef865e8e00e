"""The regions that Jang et al. 2009 reconstructed by ten iterations of SART (Figures 10 and 11): here with a step of
theirs as back projector on a device, and by plain C++ loops on the host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpuopt._core import Device, Error, ParameterError
from gpuopt.configuration import Configuration
from gpuopt.tomo import Ellipsoid, Geometry, Operator, Phantom, Projector, Volume, sart, shepp_logan
from gpuopt.workloads.tomography.loops import LoopProjector
from gpuopt.workloads.tomography.problem import HEART, SLICES, Case

ITERATIONS = 10  # as many as the paper's
RELAXATION, BOUNDS = 0.3, (0.0, None)  # which the paper does not print
FEW_VIEWS = 35  # of which images take seconds; of an odd number none stands where another turn has one


@dataclass(frozen=True)
class Region:
    """A case of the paper's, and a head of Shepp and Logan in place of its heart, which nobody else has: ``wide`` times
    as wide and deep as the region, and as high."""

    name: str
    case: Case
    wide: float = 0.95

    @property
    def truncated(self) -> bool:
        """Whether the object reaches beyond the region, which then has to answer for rays that others dampen."""
        return self.wide > 1

    @cached_property
    def phantom(self) -> Phantom:
        """The object."""
        nz, ny, nx = self.case.shape
        scale = np.array([self.wide * nx / 2, self.wide * ny / 2, 0.95 * nz / 2])
        return Phantom([_scaled(body, scale) for body in shepp_logan(3).bodies])

    def scan(self, views: int | None = None) -> tuple[Geometry, Volume]:
        """The geometry and the volume, of all the paper's views or of some over the same turns."""
        return (self.case if views is None else replace(self.case, views=views)).scan()


def _scaled(body: object, scale: np.ndarray) -> Ellipsoid:
    assert isinstance(body, Ellipsoid)
    return Ellipsoid(body.density, np.array(body.axes) * scale, body.centre * scale, body.rotation)


REGIONS = {
    region.name: region
    for region in (Region("I1", HEART), Region("I2", SLICES), Region("I1 truncated", HEART, wide=1.5))
}


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """An image (z, y, x), what it took, and the residuals' norms before each iteration."""

    name: str
    image: np.ndarray
    seconds: float
    residuals: list[float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Reconstructions of one region from the same projections: on a device with each of some back projectors, and last
    by C++ loops on the host."""

    region: Region
    views: int
    truth: np.ndarray
    found: list[Reconstructed]

    def apart(self, which: Reconstructed) -> float:
        """The largest difference from the host's image."""
        return float(np.abs(which.image.astype(np.float64) - self.found[-1].image).max())

    def error(self, which: Reconstructed) -> float:
        """The root of the mean square error over the object's own."""
        return float(np.linalg.norm(which.image - self.truth) / np.linalg.norm(self.truth))


def compare(
    region: str,
    device: Device,
    variants: Sequence[str | Configuration] = ("paper:alu",),
    views: int | None = None,
    iterations: int = ITERATIONS,
) -> Comparison:
    """Reconstruct a region, one of ``REGIONS``, by SART: on ``device`` with each of the back projectors, and by the C++
    loops. ``views`` None takes all of the paper's.

    Raises ParameterError, UnsupportedError where the device lacks what a variant needs, and Error without a compiler.
    """
    if region not in REGIONS:
        raise ParameterError(f"region: {region!r} is not known; give one of {', '.join(map(repr, REGIONS))}")
    chosen = REGIONS[region]
    geometry, volume = chosen.scan(views)
    projections = chosen.phantom.project(geometry)
    found = []
    for variant in variants:  # one projector at a time: each keeps plans for every view
        operator = Projector(geometry, volume, "fast", device, variant=variant)
        found.append(_reconstructed(str(variant), operator, projections, iterations))
    found.append(_reconstructed("C++ loops", LoopProjector(geometry, volume), projections, iterations))
    return Comparison(chosen, geometry.views, chosen.phantom.sample(volume), found)


def _reconstructed(name: str, operator: Operator, projections: np.ndarray, iterations: int) -> Reconstructed:
    start = time.perf_counter()
    result = sart(operator, projections, iterations, relaxation=RELAXATION, bounds=BOUNDS)
    if result.iterations != iterations:
        raise Error(f"SART ended after {result.iterations} of {iterations} iterations")
    image = np.asarray(result.image)
    return Reconstructed(name, image, time.perf_counter() - start, result.residuals.tolist())
