"""``gt.Projector``: forward and back projection on a device, as an operator that every algorithm takes."""

from __future__ import annotations

import functools
import math
import operator
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, JosephScratch, ParameterError, ProjectorPlan
from gpuopt.checked import ArrayTypeError, checked
from gpuopt.configuration import Configuration
from gpuopt.resolution import resolve
from gpuopt.selection import Selector, select
from gpuopt.tomo import checks, on_device
from gpuopt.tomo.device_backend import DeviceBackend, HostBackend, require_float32
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.kinds import AnyArray, Given, Indices
from gpuopt.tomo.operators import GeometricOperator, Sums
from gpuopt.tomo.streaming import Needs, Streamed, spare
from gpuopt.tomo.view_blocks import ViewBlocks, goes_in_blocks, views_at_once
from gpuopt.tomo.volume import Volume

_SMALL = 32  # 1 / _SMALL of a device's memory
_LEFT = 16  # 1 / _LEFT of it may hold sums of rows and columns between calls
_USED = 0.9  # The part of a device's free memory that an iteration may take, unless the caller says.


@dataclass(frozen=True, eq=False)
class _Shared:
    """What a projector and its subsets have in common."""

    device: Device
    limit: int
    """Bytes of device memory that an iteration may take."""
    backend: DeviceBackend | HostBackend
    """Where data are kept: on the host where an iteration of all views does not fit the limit."""
    scratch: JosephScratch
    rays: dict[str, bool]
    """Of the whole scan: whether rays and volume lie in a plane ("planar"), and whether all detector rows are parallel
    to z and no ray is steeper than it is wide ("upright"). The choice of the adjoint's kernel depends on it."""

    variant: Configuration | None
    """What projects back voxel by voxel, where the caller said so."""

    keeps_sums: bool
    """Whether sums of rows and columns may stay between iterations, beside what the limit is for."""

    @classmethod
    def of(
        cls,
        geometry: Geometry,
        volume: Volume,
        device: Device,
        memory_limit: Any,
        variant: Configuration | None,
        *,
        fast: bool,
    ) -> _Shared:
        free = max(0, device.global_bytes - device.allocated_bytes)
        limit = int(free * _USED) if memory_limit is None else _bytes(memory_limit)
        left = spare(geometry, volume, device, limit, fast)
        backend = HostBackend(device) if left is None else DeviceBackend(device, left)
        rays = _core.joseph_properties(on_device.kernel_geometry(geometry, volume))
        return cls(device, limit, backend, JosephScratch(device), rays, variant, memory_limit is None)


@checked
class Projector(GeometricOperator[Any]):
    """The projection of a volume by a scan, ``A(x)``, and its transpose, ``A.T(p)``.

    Takes float32 arrays, of NumPy or of the operator's device, and returns the kind it was given; unless data stay in
    the host's memory, ``A(x)`` and ``A.T(p)`` copy no array of the device to it. Kernels, subsets of views and work
    arrays are prepared once and kept. So are the sums of rows and columns that SIRT divides by, unless there is a
    ``memory_limit`` or they take more than a sixteenth of the device's memory.

    Parameters
    ----------
    geometry, volume
        The scan and the grid of voxels.
    pair
        "exact": Joseph's method (IEEE Trans. Med. Imaging 1, 192, 1982) and its transpose, with the same weights up to
        rounding, which CGLS needs. "fast": in place of the transpose a back projection voxel by voxel, in a fifth of
        the time; on GPUs it interpolates in texture units, which round places between pixels to 1/256, unless the
        detector is larger than their images.
    device
        Where to run; see :func:`gpuopt.use`.
    memory_limit
        Bytes of device memory that an iteration may take; None: nine tenths of what is free. If an iteration of any
        algorithm may need more, data stay in the host's memory, and slabs of the volume and blocks of views pass
        through the device. If not even one slice and one view fit, DeviceMemoryError names the bytes they take.
    variant
        Of the fast pair alone: what projects back, a variant of ``gpuopt.variants("tomography")``, a preset such as
        "paper:alu" (for arcs about the source) or a Configuration; None: what is fastest here. One that the scan does
        not allow raises UnsupportedError when it first projects back.

    Raises
    ------
    ParameterError, NoDeviceError, DeviceMemoryError

    Examples
    --------
    >>> A = gt.Projector(gt.parallel2d(8, det=12), gt.Volume((8, 8)))
    >>> p = A(np.ones((8, 8), np.float32))
    >>> p.shape, p.dtype
    ((8, 12), dtype('float32'))
    >>> np.allclose(p[0, 2:10], 8.0)
    True
    """

    backend: DeviceBackend | HostBackend

    def __init__(
        self,
        geometry: Geometry,
        volume: Volume,
        pair: str = "exact",
        device: Selector = None,
        *,
        memory_limit: int | None = None,
        variant: str | Configuration | None = None,
    ) -> None:
        super().__init__(geometry, volume, pair)
        if variant is not None and self.exact:
            raise ParameterError("variant: the exact pair has one transpose; give pair='fast', or leave variant out")
        chosen = select(device)
        named = None if variant is None else on_device.back_projector(chosen, variant)
        self._share(_Shared.of(geometry, volume, chosen, memory_limit, named, fast=not self.exact))

    @classmethod
    def _sharing(cls, shared: _Shared, geometry: Geometry, volume: Volume, pair: str) -> Projector:
        """A projector that needs no device, limit and backend of its own: a subset of another one."""
        part = cls.__new__(cls)
        GeometricOperator.__init__(part, geometry, volume, pair)
        part._share(shared)
        return part

    def _share(self, shared: _Shared) -> None:
        """Takes what subsets have in common; plans, which belong to these views alone, come when they are needed."""
        self._shared, self.device, self.backend = shared, shared.device, shared.backend
        self._streamed: Streamed | None = None
        if isinstance(shared.backend, HostBackend):
            self._streamed = Streamed(self.geometry, self.volume, shared.device, shared.limit, not self.exact)
        self._subsets: dict[bytes, Projector] = {}
        self._lock = threading.Lock()
        self._forward: ProjectorPlan | None = None
        self._adjoint: ProjectorPlan | None = None
        self._voxel_driven: dict[str, ProjectorPlan] = {}
        self._view_blocks: dict[str, ViewBlocks] = {}
        self._is_subset = False
        self._until: list[weakref.ref[DeviceArray]] = []
        floats = math.prod(self.data_shape) + math.prod(self.image_shape)
        if shared.keeps_sums and self._streamed is None and 4 * floats <= shared.device.global_bytes // _LEFT:
            self._sums = Sums()

    @property
    def on_host(self) -> bool:
        """Whether data stay in the host's memory because they do not fit the device."""
        return self._streamed is not None

    def _check_forward(self, x: Any, out: Any) -> None:
        """Refuses arrays that are no image and no projections of this projector, or that meet."""
        self._check("x", x, self.image_shape, self.image_axes)
        if out is not None:
            self._check("out", out, self.data_shape, self.data_axes)
            checks.apart("x", x, out)

    def _check_back(self, p: Any, out: Any) -> None:
        """As ``_check_forward``, for the way back."""
        self._check("projections", p, self.data_shape, self.data_axes)
        if out is not None:
            self._check("out", out, self.image_shape, self.image_axes)
            checks.apart("projections", p, out)

    def _check(self, name: str, array: Any, shape: tuple[int, ...], axes: tuple[str, ...]) -> None:
        """Refuses an array that does not lie where data of this projector lie, or is of another dtype or shape."""
        kind = DeviceArray if self._streamed is None else np.ndarray
        if not isinstance(array, kind):
            raise ArrayTypeError(
                f"{name}: it is a {type(array).__name__}, not a {kind.__name__}; call the operator itself, which takes "
                "both kinds"
            )
        checks.shape(name, array, shape, axes, "the operator")
        require_float32(name, array)
        if name == "out" and isinstance(array, np.ndarray) and not array.flags.writeable:
            raise ArrayError("out: it is read-only; give a writable array")

    def forward(self, x: Given, out: Given | None = None) -> Given:
        self._check_forward(x, out)
        image, found = cast(Any, x), self._out(out, self.data_shape)
        if self._streamed is not None:
            self._streamed.forward(image, found, self._project)
            return found
        if self._forward is None:
            self._forward = self._plan_forward(self.geometry, self.volume, image, found, False)
        self._forward.start(image, found)
        return found

    def back(self, p: Given, out: Given | None = None) -> Given:
        if not self.exact:
            return self.back_project(p, "adjoint", out)
        self._check_back(p, out)
        data, found = cast(Any, p), self._out(out, self.image_shape)
        if self._streamed is not None:
            self._streamed.back(data, found, self._gather)
            return found
        if self._adjoint is None:
            self._adjoint = self._plan_adjoint(self.geometry, self.volume, found, data, False)
        self._adjoint.start(found, data)
        return found

    def back_project(self, p: Given, weight: str, out: Given | None = None) -> Given:
        self._check_back(p, out)
        projections, found = cast(Any, p), self._out(out, self.image_shape)
        if self._streamed is not None:

            def project(geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
                on_device.prepare_back_projection(
                    geometry, volume, data, image, weight, self._shared.variant, accumulate=accumulate
                ).start()

            self._streamed.back(projections, found, project)
            return found
        plan = self._voxel_driven.get(weight)
        if plan is None:
            variant = self._shared.variant
            plan = on_device.plan_exchangeable(self.geometry, self.volume, projections, found, weight, variant)
            if not self.exact or self._small_images():
                self._voxel_driven[weight] = plan
                if self._is_subset:  # There may be many: their copies of projections end with an iteration's arrays.
                    self._until += [weakref.ref(array, self._drop()) for array in (projections, found)]
        plan.start(found, projections)
        return found

    def _in_blocks(self, given: AnyArray, rows: RowFilter, weight: str) -> tuple[Any, np.ndarray] | None:
        if self._streamed is not None or not goes_in_blocks(given, rows, self.device):
            return None
        require_float32("projections", given)
        blocks = self._view_blocks.get(weight)
        if blocks is None:
            views, variant = views_at_once(rows), self._shared.variant
            blocks = ViewBlocks(self.geometry, self.volume, views, weight, variant, self.device)
            if not self.exact or self._small_images():
                self._view_blocks[weight] = blocks
        return blocks.run(cast(np.ndarray, given), rows)

    def _drop(self) -> Callable[[object], None]:
        """A callback that drops the plans of back projections when an array is deleted."""
        this = weakref.ref(self)

        def drop(_: object) -> None:
            projector = this()
            if projector is not None:
                projector._voxel_driven.clear()
                projector._until.clear()

        return drop

    def _small_images(self) -> bool:
        """Whether copies of the projections for back projection, which an exact pair needs for no iteration, take so
        little that they are kept."""
        needs = Needs.of(self.volume.shape, self.views, self.geometry, fast=True)
        return needs.fast <= self.device.global_bytes // _SMALL

    def subset(self, views: Indices) -> Projector:
        """The operator of some views, in the order given. It is made once and kept, and shares the device and its
        scratch memory with this one."""
        index = self.geometry.view_indices(views)  # from masks and slices as well
        key = index.tobytes()
        found = self._subsets.get(key)
        if found is None:
            found = Projector._sharing(self._shared, self.geometry.subset(index), self.volume, self.pair)
            found._is_subset, found._sums = True, None  # there may be many
            with self._lock:
                if key not in self._subsets and len(self._subsets) >= self.views:  # No iteration has more than views.
                    del self._subsets[next(iter(self._subsets))]
                found = self._subsets.setdefault(key, found)
        return found

    def with_scan(self, geometry: Geometry, volume: Volume) -> Projector:
        shared = self._shared
        fast = not self.exact
        other = _Shared.of(geometry, volume, shared.device, shared.limit, shared.variant, fast=fast)
        return Projector._sharing(replace(other, scratch=shared.scratch), geometry, volume, self.pair)

    def _out(self, out: AnyArray | None, shape: tuple[int, ...]) -> Any:
        """``out``, or a new array where data of this projector lie."""
        if out is not None:
            return out
        if self._streamed is not None:
            return np.empty(shape, np.float32)
        return _core.empty(shape, np.dtype(np.float32), self.device)

    def _project(self, geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
        self._plan_forward(geometry, volume, image, data, accumulate).start(image, data)

    def _gather(self, geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
        self._plan_adjoint(geometry, volume, image, data, accumulate).start(image, data)

    def _plan_forward(
        self, geometry: Geometry, volume: Volume, image: DeviceArray, data: DeviceArray, accumulate: bool
    ) -> ProjectorPlan:
        return self._plan(geometry, volume, image, data, accumulate, "forward")

    def _plan_adjoint(
        self, geometry: Geometry, volume: Volume, image: DeviceArray, data: DeviceArray, accumulate: bool
    ) -> ProjectorPlan:
        return self._plan(geometry, volume, image, data, accumulate, "adjoint")

    def _plan(
        self,
        geometry: Geometry,
        volume: Volume,
        image: DeviceArray,
        data: DeviceArray,
        accumulate: bool,
        operation: str,
    ) -> ProjectorPlan:
        known: dict[str, object] = {"operation": operation, **self._shared.rays}
        asked = {name: functools.partial(known.get, name) for name in known}
        configuration = resolve("tomography", self.device, "float32", None, asked)
        scan = on_device.kernel_geometry(geometry, volume)
        return _core.prepare_joseph(
            self._shared.scratch,
            image,
            data,
            scan,
            accumulate=accumulate,
            variant=configuration.variant,
            parameters=configuration.parameters,
        )


def _bytes(memory_limit: Any) -> int:
    try:
        count = 0 if isinstance(memory_limit, bool) else operator.index(memory_limit)
    except TypeError:
        count = 0
    if count < 1:
        raise ParameterError(f"memory_limit: {memory_limit!r} is not a number of bytes; give one above 0, or None")
    return count
