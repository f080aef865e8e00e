"""Scans on OpenCL devices: the arguments of their kernels, and plans of back projections."""

from __future__ import annotations

import functools
import math

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, ParameterError, Prepared, ProjectorPlan
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, complete, table_of
from gpuopt.resolution import resolve
from gpuopt.selection import Selector, select
from gpuopt.tomo import checks
from gpuopt.tomo.device_backend import require_float32
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.operators import WEIGHTS
from gpuopt.tomo.scans import Cone
from gpuopt.tomo.volume import Volume


def kernel_geometry(geometry: Geometry, volume: Volume) -> _core.TomographyGeometry:
    """A scan and a volume as the kernels take them. Raises ParameterError where they do not belong together."""
    geometry.check(volume)
    return _core.TomographyGeometry(
        frames=np.concatenate(list(geometry.frames), axis=1),
        rows=geometry.detector.rows,
        columns=geometry.detector.columns,
        parallel=geometry.parallel,
        radius=geometry.radius or 0.0,
        shape=list(volume.shape),
        voxel=list(volume.voxel),
        middle=list(volume.centre),
    )


def prepare_back_projection(
    geometry: Geometry,
    volume: Volume,
    projections: DeviceArray,
    out: DeviceArray,
    weight: str = "adjoint",
    variant: str | Configuration | None = None,
    *,
    accumulate: bool = False,
) -> Prepared:
    """A plan that writes, at each voxel, the sum over the views of W times the projection's value there, bilinearly
    interpolated; W is one of :data:`gpuopt.tomo.operators.WEIGHTS`. It is built and bound to its arrays once: ``run()``
    computes it from what ``projections`` hold at that time.

    ``out`` has the size of the volume and is overwritten; with ``accumulate`` the sum is added to it. Raises
    ParameterError, ArrayError, UnsupportedError, DeviceMemoryError.
    """
    scan, configuration = _scan_and_configuration(geometry, volume, out.device, weight, variant)
    return plan_back_projection(scan, projections, out, *kernel_weight(geometry, weight), accumulate, configuration)


def plan_exchangeable(
    geometry: Geometry,
    volume: Volume,
    projections: DeviceArray,
    out: DeviceArray,
    weight: str,
    variant: str | Configuration | None = None,
    *,
    accumulate: bool = False,
) -> ProjectorPlan:
    """The same plan, whose arrays may be exchanged: ``start(out, projections)`` enqueues it on these, and does not wait
    on a GPU."""
    scan, configuration = _scan_and_configuration(geometry, volume, out.device, weight, variant)
    name, fdk = kernel_weight(geometry, weight)
    return _core.plan_back_projection(
        projections,
        out,
        scan,
        weight=name,
        fdk=fdk,
        accumulate=accumulate,
        variant=configuration.variant,
        parameters=configuration.parameters,
    )


def _scan_and_configuration(
    geometry: Geometry, volume: Volume, device: Device, weight: str, variant: str | Configuration | None
) -> tuple[_core.TomographyGeometry, Configuration]:
    if weight not in WEIGHTS:
        raise ParameterError(f"weight: {weight!r} is not known; give one of {', '.join(map(repr, WEIGHTS))}")
    scan = kernel_geometry(geometry, volume)
    known = input_properties_of(scan, volume)
    input_properties = {name: functools.partial(known.get, name) for name in known}
    found = resolve("tomography", device, "float32", variant, input_properties)
    if (
        variant is None
        and "images" in table_of("tomography")[found.variant].needs
        and not _fits_images(geometry, device)
    ):
        found = complete("tomography", Configuration("buffer"))
    return scan, found


def _fits_images(geometry: Geometry, device: Device) -> bool:
    """Whether a device has images as large as the detector."""
    wide, high = device.image2d_max
    return device.image_support and geometry.detector.columns <= wide and geometry.detector.rows <= high


def whole_configuration(
    geometry: Geometry, volume: Volume, device: Device, variant: Configuration | None
) -> Configuration:
    """What projects a whole scan back, for parts of it."""
    return _scan_and_configuration(geometry, volume, device, "none", variant)[1]


@checked
def back_project(
    projections: np.ndarray,
    geometry: Geometry,
    volume: Volume,
    weight: str = "adjoint",
    *,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> np.ndarray:
    """The back projection of a NumPy array as a new one, copies to the device and back included: at each voxel the sum
    over the views of W times the projection's value there, bilinearly interpolated.

    ``projections``, float32 of ``geometry.shape`` and C-contiguous; the result, float32 of ``volume.shape``. ``weight``
    says what W is, one of :data:`gpuopt.tomo.operators.WEIGHTS`; ``variant`` as in :class:`gpuopt.tomo.Projector`.
    Raises ParameterError, ArrayError, UnsupportedError, DeviceMemoryError, NoDeviceError.

    Examples
    --------
    >>> scan, volume = gt.parallel2d(4, det=12), gt.Volume((6, 6))
    >>> image = gt.back_project(np.ones((4, 12), np.float32), scan, volume, weight="none")
    >>> image.shape, np.allclose(image, 4.0)
    ((6, 6), True)
    """
    checks.shape("projections", projections, geometry.shape, checks.DATA_AXES[geometry.dimensions], "the geometry")
    require_float32("projections", projections)
    if not projections.flags.c_contiguous:
        raise ArrayError("projections: they are not C-contiguous; use np.ascontiguousarray(projections)")
    chosen = select(device)
    data = _core.to_device(projections, chosen)
    out = _core.empty(volume.shape, np.dtype(np.float32), chosen)
    prepare_back_projection(geometry, volume, data, out, weight, variant).run()
    return out.to_numpy()


def back_projector(device: Device, variant: str | Configuration) -> Configuration:
    """The full configuration that ``variant`` names. Raises ParameterError where it names no back projector."""
    found = resolve("tomography", device, "float32", variant)
    if table_of("tomography")[found.variant].family != FAMILY:
        raise ParameterError(f'variant: {found.variant!r} is no back projector; use one of the family "{FAMILY}"')
    return found


def plan_back_projection(
    scan: _core.TomographyGeometry,
    projections: DeviceArray,
    out: DeviceArray,
    weight: str,
    fdk: float,
    accumulate: bool,
    configuration: Configuration,
) -> Prepared:
    """The same plan from a scan of :func:`kernel_geometry`, a weight of :func:`kernel_weight` and a full
    configuration."""
    return _core.prepare_back_projection(
        projections,
        out,
        scan,
        weight=weight,
        fdk=fdk,
        accumulate=accumulate,
        variant=configuration.variant,
        parameters=configuration.parameters,
    )


def input_properties_of(scan: _core.TomographyGeometry, volume: Volume) -> dict[str, object]:
    """The properties of a back projection's input that tuned records choose a configuration by."""
    layers = volume.shape[0] if volume.ndim == 3 else 1
    return {
        "operation": FAMILY,
        "tall": scan.upright and layers >= TALL,
        "few": volume.size < FEW,
        "equiangular": scan.equiangular,
    }


FAMILY = "back_projection"
TALL = 8  # From so many voxels along z on, a work-item pays that computes several of them.
FEW = 1 << 22  # Fewer voxels do not fill a large device.


def kernel_weight(geometry: Geometry, weight: str) -> tuple[str, float]:
    """The name by which kernels know a weight, and the factor of its 1 / w^2 where the detector is flat."""
    if weight != "fdk":
        return weight, 1.0
    if not isinstance(geometry, Cone):
        return "none", 1.0
    return "fdk", math.pow(geometry.sod / geometry.sdd, 2) if geometry.radius is None else 1.0
