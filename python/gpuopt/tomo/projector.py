"""``gt.Projector``: projections on a device, in either direction, as an operator that every algorithm takes."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray, JosephPlan, ParameterError, Prepared
from gpuopt.configuration import resolve
from gpuopt.selection import Selector, select
from gpuopt.tomo import on_device
from gpuopt.tomo.device_backend import DeviceBackend, HostBackend
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.operators import GeometricOperator
from gpuopt.tomo.streaming import Streamed, spare
from gpuopt.tomo.volume import Volume

_USED = 0.9  # of a device's memory


class Projector(GeometricOperator):
    """The projections of a volume by a scan: ``A(x)``, ``A.T(p)``.

    NumPy arrays, or DeviceArrays of the operator's device, in float32; results are of the kind given, and data that
    stay on the device are never copied from it. Views that are subsets, arrays and kernels are prepared once each.

    Parameters
    ----------
    geometry, volume
        The scan and the grid of voxels.
    pair
        "exact": Joseph's method and its transpose, with the same weights to rounding, which CGLS needs. "fast": back
        projections go voxel by voxel instead, in a fifth of the time; on GPUs in texture units, which round the places
        between pixels to 1/256.
    device
        Where to run; see :func:`gpuopt.use`.
    memory_limit
        Bytes of device memory that an iteration may take; None: nine tenths of what is free. Where they do not hold an
        iteration's arrays, data stay in the host's memory, and slabs of the volume and blocks of views pass through the
        device. Raises DeviceMemoryError, naming the bytes, where not even one of each fits.

    Raises
    ------
    ParameterError, NoDeviceError, DeviceMemoryError
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
    ) -> None:
        super().__init__(geometry, volume, pair)
        self.device = select(device)
        free = max(0, self.device.global_bytes - self.device.allocated_bytes)
        self._limit = int(free * _USED) if memory_limit is None else _bytes(memory_limit)
        self._scratch = _core.JosephScratch(self.device)
        self._upright = _core.joseph_upright(on_device.kernel_geometry(geometry, volume))
        self._subsets: dict[bytes, Projector] = {}
        self._streamed: Streamed | None = None
        left = spare(geometry, volume, self.device, self._limit, not self.exact)
        if left is not None:
            self.backend = DeviceBackend(self.device, left)
        else:
            self.backend = HostBackend(self.device)
            self._streamed = Streamed(geometry, volume, self.device, self._limit, not self.exact)
        self._forget()

    def _forget(self) -> None:
        self._forward: JosephPlan | None = None
        self._adjoint: JosephPlan | None = None
        self._voxel_driven: tuple[weakref.ref[DeviceArray], weakref.ref[DeviceArray], Prepared] | None = None

    @property
    def on_host(self) -> bool:
        """Whether data stay in the host's memory, for lack of the device's."""
        return self._streamed is not None

    def forward(self, x: Any, out: Any = None) -> Any:
        if self._streamed is not None:
            found = np.empty(self.data_shape, np.float32) if out is None else out
            self._streamed.forward(x, found, self._project)
            return found
        found = self._empty(self.data_shape) if out is None else out
        if self._forward is None:
            self._forward = self._plan_forward(self.geometry, self.volume, x, found, False)
        self._forward.start(x, found)
        return found

    def back(self, p: Any, out: Any = None) -> Any:
        if not self.exact:
            return self.back_project(p, "adjoint", out)
        if self._streamed is not None:
            found = np.empty(self.image_shape, np.float32) if out is None else out
            self._streamed.back(p, found, self._gather)
            return found
        found = self._empty(self.image_shape) if out is None else out
        if self._adjoint is None:
            self._adjoint = self._plan_adjoint(self.geometry, self.volume, found, p, False)
        self._adjoint.start(found, p)
        return found

    def back_project(self, p: Any, weight: str, out: Any = None) -> Any:
        if self._streamed is not None:
            found = np.empty(self.image_shape, np.float32) if out is None else out

            def project(geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
                plan = on_device.prepare_back_projection(geometry, volume, data, image, weight, accumulate=accumulate)
                plan.start()

            self._streamed.back(p, found, project)
            return found
        found = self._empty(self.image_shape) if out is None else out
        if weight != "adjoint":
            on_device.prepare_back_projection(self.geometry, self.volume, p, found, weight).start()
            return found
        held = self._voxel_driven
        # It is bound to its arrays, which an iteration gives again and again, and goes with them.
        if held is None or held[0]() is not p or held[1]() is not found:
            self._voxel_driven = None
            plan = on_device.prepare_back_projection(self.geometry, self.volume, p, found, weight)
            held = self._voxel_driven = weakref.ref(p, self._drop()), weakref.ref(found, self._drop()), plan
        held[2].start()
        return found

    def _drop(self) -> Callable[[object], None]:
        """Called when an array dies that the plan of back projections is bound to."""
        this = weakref.ref(self)

        def drop(_: object) -> None:
            projector = this()
            if projector is not None:
                projector._voxel_driven = None

        return drop

    def subset(self, views: np.ndarray) -> Projector:
        """The operator of some views, in the order given; made once for each, it shares the rest with this one."""
        views = np.arange(self.views)[views]  # masks and slices, too
        key = views.tobytes()
        if key not in self._subsets:
            if len(self._subsets) >= self.views:  # as many as one iteration may have
                del self._subsets[next(iter(self._subsets))]
            part = object.__new__(Projector)
            part.__dict__.update(self.__dict__)
            part.geometry = self.geometry.subset(views)
            part.data_shape = part.geometry.shape
            part._subsets = {}
            part._forget()
            if self._streamed is not None:
                part._streamed = Streamed(part.geometry, self.volume, self.device, self._limit, not self.exact)
            self._subsets[key] = part
        return self._subsets[key]

    def _empty(self, shape: tuple[int, ...]) -> DeviceArray:
        return _core.empty(shape, np.dtype(np.float32), self.device)

    def _project(self, geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
        self._plan_forward(geometry, volume, image, data, accumulate).start(image, data)

    def _gather(self, geometry: Geometry, volume: Volume, image: Any, data: Any, accumulate: bool) -> None:
        self._plan_adjoint(geometry, volume, image, data, accumulate).start(image, data)

    def _plan_forward(
        self, geometry: Geometry, volume: Volume, image: DeviceArray, data: DeviceArray, accumulate: bool
    ) -> JosephPlan:
        return self._plan(geometry, volume, image, data, accumulate, "forward")

    def _plan_adjoint(
        self, geometry: Geometry, volume: Volume, image: DeviceArray, data: DeviceArray, accumulate: bool
    ) -> JosephPlan:
        return self._plan(geometry, volume, image, data, accumulate, "adjoint")

    def _plan(
        self,
        geometry: Geometry,
        volume: Volume,
        image: DeviceArray,
        data: DeviceArray,
        accumulate: bool,
        operation: str,
    ) -> JosephPlan:
        traits: dict[str, Any] = {"operation": lambda: operation, "upright": lambda: self._upright}
        configuration = resolve("tomography", self.device, "float32", None, traits)
        scan = on_device.kernel_geometry(geometry, volume)
        return _core.prepare_joseph(
            self._scratch,
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
        raise ParameterError(f"memory_limit: {memory_limit!r} is no number of bytes; give one above 0, or None")
    return count
