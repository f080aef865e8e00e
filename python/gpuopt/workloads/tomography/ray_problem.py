"""Problems of projectors along rays: random images or projections, and what the oracle makes of them at some rays or
voxels, spread over all."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector
from gpuopt.tomo import Geometry, Volume, circular, on_device, parallel2d, parallel3d
from gpuopt.workloads.common import rounding
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.problem import PLACE_ROUNDINGS, TEXTURE_STEP, Case, scan_of, spread, turned
from gpuopt.workloads.tomography.reference_inputs import reference_inputs

OPERATIONS = ("forward", "adjoint")  # the families of variants
CHECKED_RAYS, CHECKED_VIEWS, CHECKED_VOXELS = 2000, 16, 400  # at most so many are held against the reference
CLOSELY = 8000  # of small problems
_FLOAT = np.dtype(np.float32)
_BLOCK = 1 << 22  # So many random numbers are drawn; longer data repeat them.


@checked
def projection(
    case: str | Case = "cube",
    operation: str = "forward",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
) -> Problem:
    """Return the projection by Joseph's method (Joseph, IEEE Trans. Med. Imaging 1, 192, 1982) of a case of
    :func:`gpuopt.problems.back_projection`, or with ``operation`` "adjoint" its transpose.

    Images and projections are random in [0, 1), float32, drawn from ``seed``; at most 2000 rays of 16 views, or 400
    voxels, are held against fp64. ``max_bytes`` is as there. Raises ParameterError, also for counts that do not fit,
    before any data are made.

    Examples
    --------
    >>> problem = problems.projection("8x6x4x12", "adjoint")
    >>> problem.inputs["given"].shape, problem.sizes["checked"]
    ((6, 4, 12), 400)
    """
    if operation not in OPERATIONS:
        raise ParameterError(f"operation: {operation!r} is not known; give one of {', '.join(map(repr, OPERATIONS))}")
    name, geometry, volume, notes = scan_of(case, device, max_bytes)
    return of_rays(name, geometry, volume, operation, seed, notes)


def of_rays(  # long: the plan, its reference and what makes it awkward share the geometry
    name: str,
    geometry: Geometry,
    volume: Volume,
    operation: str,
    seed: int = 0,
    notes: Sequence[str] = (),
    most: int | None = None,
    straight: bool = False,
) -> Problem:
    """Return the projection of any scan, or its transpose, of which ``most`` rays or voxels at most are held against
    the reference. ``straight``: rays pass through the middles of voxels, so
    that no place is rounded, and whole numbers are added. Raises ParameterError where scan and volume do not belong
    together."""
    scan = on_device.kernel_geometry(geometry, volume)
    to_image, random = operation == "adjoint", np.random.default_rng(seed)
    shape = geometry.shape if to_image else volume.shape
    drawn = random.random(min(math.prod(shape), _BLOCK), dtype=np.float32)
    given = np.resize(np.rint(8 * drawn) if straight else drawn, shape)
    exact, grid = reference_inputs(geometry, volume)
    planes = max(volume.shape)
    off = 0.0 if straight else PLACE_ROUNDINGS * planes * rounding.unit_roundoff(_FLOAT)
    if to_image:
        checked = spread(volume.size, most or CHECKED_VOXELS, random)
        reference, near = oracle.joseph_adjoint_at(exact, grid, given, checked)
        roundings = 8 + (0 if straight else geometry.views)
    else:
        checked = _spread_rays(geometry, most or CHECKED_RAYS, random)
        reference, near = oracle.joseph_at(exact, grid, given, checked), _near(geometry, volume, checked, given)
        roundings = 8 + (0 if straight else planes)

    def tolerance(configuration: Configuration) -> np.ndarray:
        """A place along either axis that is off moves a weight by as much, of all that lies within a voxel."""
        texture = TEXTURE_STEP / 2 if configuration.variant == "joseph_image" and not straight else 0.0
        unit = rounding.unit_roundoff(_FLOAT)
        return np.asarray(2 * (off + texture) * near + roundings * unit * (np.abs(reference) + unit * near))

    held = OnDevices(lambda device: _core.to_device(given, device))

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output((volume.size if to_image else math.prod(geometry.shape),), _FLOAT, device)
        image, data = (out, held(device)) if to_image else (held(device), out)
        levels = configuration.parameters
        plan = _core.prepare_joseph(
            None, image, data, scan, accumulate=False, variant=configuration.variant, parameters=levels
        )
        return BoundPlan(plan.prepared, out)

    what, all_of_them = ("voxels", volume.size) if to_image else ("rays", math.prod(geometry.shape))
    return Problem(
        workload="tomography",
        name=f"{name}_rays-{operation}",
        dtype=_FLOAT,
        sizes={
            **dict(zip("zyx"[3 - volume.ndim :], volume.shape, strict=True)),
            "views": geometry.views,
            "rows": geometry.detector.rows,
            "columns": geometry.detector.columns,
            "checked": len(checked),
        },
        seed=seed,
        inputs={"given": given, "geometry": geometry, "volume": volume},
        reference=reference,
        tolerance=tolerance(Configuration("joseph")),
        tolerance_of=tolerance,
        footprint_bytes=4 * (math.prod(geometry.shape) + volume.size),
        prepare=prepare,
        notes=[*notes, f"{len(checked):,} of the {all_of_them:,} {what} are held against the reference"],
        checked=checked,
        input_properties={"operation": operation, **_core.joseph_properties(scan)},
        family=operation,
        awkward=functools.cache(lambda: awkward(geometry, operation)),
    )


def awkward(geometry: Geometry, operation: str) -> list[Problem]:
    """Return small problems: of nothing that groups or vectors divide and voxels of unequal edges; of 48 x 48 voxels
    with many rays in each, in a plane of 48 x 263; of more views than a launch takes or a group looks at together; of
    rays that go mostly along z; and of straight rays, where an error of the sum shows."""
    angles, scans = np.array([0.0, math.pi / 2]), list[tuple[Geometry, Volume]]()
    if geometry.dimensions == 2:
        scans += [(parallel2d(7, 71), Volume((39, 71))), (parallel2d(5, 277), Volume((48, 263)))]
        straight = parallel2d(angles, 23), Volume((23, 23))
    else:
        cone = circular(7, 300, 500, (23, 71), (1.6, 1.7), offset=(1.0, -2.0))
        fine = circular(3, 300, 500, (23, 99), (0.3, 1.6))
        many = circular(199, 300, 500, (2, 7), (1.6, 9.0))
        scans += [(cone, Volume((23, 13, 71), (1.3, 0.9, 1.1))), (fine, Volume((3, 48, 48))), (many, Volume((3, 7, 9)))]
        scans += [(turned(parallel3d(5, (29, 31), 1.3), 1.2, 0.1), Volume((13, 19, 23), (1.3, 0.9, 1.1)))]
        straight = parallel3d(angles, (13, 23)), Volume((13, 23, 23))
    made = [of_rays(f"awkward{number}", *scan, operation, number, most=CLOSELY) for number, scan in enumerate(scans)]
    return [*made, of_rays("awkward_straight", *straight, operation, straight=True)]


def _spread_rays(geometry: Geometry, most: int, random: np.random.Generator) -> np.ndarray:
    """Flat indices of rays: of a few views, the first and the last among them."""
    per_view = math.prod(geometry.shape) // geometry.views
    views = np.unique(np.linspace(0, geometry.views - 1, min(geometry.views, CHECKED_VIEWS)).astype(np.int64))
    return np.concatenate([view * per_view + spread(per_view, most // len(views), random) for view in views])


def _near(geometry: Geometry, volume: Volume, checked: np.ndarray, given: np.ndarray) -> np.ndarray:
    """What a place that is off by a voxel may change a ray's sum by: the ray's length within a voxel of the volume
    times the image's largest value."""
    wider = Volume(tuple(n + 2 for n in volume.shape), volume.voxel, volume.centre)
    exact, grid = reference_inputs(geometry, wider)
    ones = np.broadcast_to(np.float32(1), wider.shape)
    return np.asarray(oracle.joseph_at(exact, grid, ones, checked) * float(given.max(initial=0)))
