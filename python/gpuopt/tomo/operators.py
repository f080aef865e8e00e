"""What the algorithms ask for: an operator A with a transpose and subsets of views, and arithmetic where its data live.

An algorithm sees arrays only through its operator's :class:`Backend`, so that the same code iterates over NumPy arrays
or over buffers of a device. Arrays of the caller cross over in ``take`` and ``give`` alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.geometry import Geometry, as_geometry
from gpuopt.tomo.volume import Volume

Array = Any
"""Whatever a backend keeps its data in."""


class Norms(Protocol):
    """Squared norms of a residual r = b - A x, sums in fp64. A device may wait until one is read."""

    @property
    def plain(self) -> float:
        """r . r"""

    @property
    def weighted(self) -> float:
        """r . (weights r)"""


class Backend(ABC):
    """Arithmetic on arrays of one dtype in one place.

    Every operation that has an ``out`` or works in place allocates nothing; ``out`` may be one of the inputs.
    """

    dtype: np.dtype[Any]
    """float32 or float64."""

    cache_bytes: int = 2 << 30
    """What may be kept to save a back projection a block of views in each iteration."""

    @abstractmethod
    def take(self, given: Any, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> Array:
        """The caller's array as this backend keeps it; it may share memory and is only read. Raises ArrayError for
        other shapes, by the name of the axis, for dtypes, NaN and infinity."""

    @abstractmethod
    def give(self, array: Array, like: Any) -> Any:
        """``array``, which nothing will write to again, in the kind and dtype of the caller's ``like``."""

    @abstractmethod
    def host(self, given: Any) -> np.ndarray:
        """A caller's array, checked, as a NumPy array: for what is filtered there."""

    @abstractmethod
    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """A new array."""

    @abstractmethod
    def fill(self, x: Array, value: float) -> None:
        """x = value"""

    @abstractmethod
    def copy(self, x: Array) -> Array:
        """A new array with the values of ``x``."""

    @abstractmethod
    def views(self, p: Array, index: np.ndarray) -> Array:
        """The projections of some views; they may share memory and are only read."""

    @abstractmethod
    def axpy(self, a: float, x: Array, y: Array, out: Array) -> None:
        """out = a x + y"""

    @abstractmethod
    def multiply(self, x: Array, by: Array) -> None:
        """x = x by"""

    @abstractmethod
    def reciprocal(self, x: Array, fraction: float, largest: float | None = None) -> None:
        """x = 1 / x where x > fraction largest, else 0; None: the largest of x, which need not come to the host."""

    @abstractmethod
    def residual(self, b: Array, ax: Array, weights: Array) -> Norms:
        """ax = weights (b - ax), and the norms of b - ax."""

    @abstractmethod
    def update(
        self,
        x: Array,
        step: float,
        weights: Array,
        g: Array,
        low: float | None,
        high: float | None,
        mask: Array | None,
        out: Array,
    ) -> None:
        """out = mask clamp(x + step weights g, low, high); None: no such bound, no mask"""

    @abstractmethod
    def largest(self, x: Array) -> float:
        """max x"""

    @abstractmethod
    def dot(self, x: Array, y: Array) -> float:
        """x . y, added in fp64."""


class Operator(ABC):
    """A linear map from an image to projections, a block of rows a view. ``A(x)`` applies it, ``A.T(p)`` its transpose.

    A subclass gives ``forward``, ``back``, ``subset`` and the attributes; those two work on arrays of the backend.
    """

    backend: Backend
    image_shape: tuple[int, ...]
    data_shape: tuple[int, ...]
    """Its first axis is the views."""
    exact: bool
    """Whether ``back`` is the transpose of ``forward`` to rounding; CGLS refuses others."""

    @abstractmethod
    def forward(self, x: Array, out: Array | None = None) -> Array:
        """A x; ``out`` receives it, else a new array."""

    @abstractmethod
    def back(self, p: Array, out: Array | None = None) -> Array:
        """The transpose, or what stands for it, times p; ``out`` receives it, else a new array."""

    @abstractmethod
    def subset(self, views: np.ndarray) -> Operator:
        """The operator of some views, in the order given."""

    @property
    def views(self) -> int:
        """How many views."""
        return self.data_shape[0]

    @property
    def image_axes(self) -> tuple[str, ...]:
        """Names of the image's axes, for messages."""
        return checks.IMAGE_AXES.get(len(self.image_shape), tuple(f"axis {i}" for i in range(len(self.image_shape))))

    @property
    def data_axes(self) -> tuple[str, ...]:
        """Names of the projections' axes, for messages."""
        return checks.DATA_AXES.get(len(self.data_shape), tuple(f"axis {i}" for i in range(len(self.data_shape))))

    @property
    def view_places(self) -> Float64Array:
        """Where views look from, as fractions of the circle after which they repeat; by default spread evenly."""
        return np.arange(self.views) / self.views

    def __call__(self, x: Any) -> Any:
        """A x, of the kind and dtype of ``x``. Raises ArrayError."""
        return self.backend.give(self.forward(self.backend.take(x, "image", self.image_shape, self.image_axes)), like=x)

    @property
    def T(self) -> Transpose:
        """The transpose, or what stands for it."""
        return Transpose(self)

    def adjoint_error(self, seed: int = 0) -> float:
        """|<A x, y> - <x, A' y>| / (|A x| |y|) for normal random x and y of mean 0; sums in fp64."""
        random = np.random.default_rng(seed)
        x, y = (
            random.standard_normal(shape).astype(self.backend.dtype) for shape in (self.image_shape, self.data_shape)
        )
        ax, aty = (np.asarray(a, dtype=np.float64) for a in (self(x), self.T(y)))
        norms = math.sqrt(float((ax**2).sum())) * math.sqrt(float((y.astype(np.float64) ** 2).sum()))
        if not norms:
            raise ParameterError("geometry: no ray meets the volume, so that there is no adjoint to measure")
        return abs(float((ax * y).sum()) - float((x * aty).sum())) / norms

    def linear_operator(self) -> Any:
        """A ``scipy.sparse.linalg.LinearOperator`` over flat NumPy vectors of the backend's dtype."""
        from scipy.sparse.linalg import LinearOperator

        dtype = self.backend.dtype

        def flat(apply: Any, shape: tuple[int, ...]) -> Any:
            return lambda v: np.asarray(apply(np.ascontiguousarray(v, dtype=dtype).reshape(shape))).ravel()

        return LinearOperator(
            (math.prod(self.data_shape), math.prod(self.image_shape)),
            matvec=flat(self, self.image_shape),
            rmatvec=flat(self.T, self.data_shape),
            dtype=dtype,
        )


class Transpose:
    """``A.T``: from projections to an image."""

    def __init__(self, operator: Operator) -> None:
        self.T = operator

    def __call__(self, p: Any) -> Any:
        """The transpose, or what stands for it, times p, of the kind and dtype of ``p``. Raises ArrayError."""
        A = self.T
        return A.backend.give(A.back(A.backend.take(p, "projections", A.data_shape, A.data_axes)), like=p)


class GeometricOperator(Operator):
    """An operator of a geometry and a volume, which filtered back projections need as well.

    ``pair`` is "exact", forward by Joseph and its transpose, or "fast", with a voxel-driven back projection instead.
    Raises ParameterError where geometry and volume do not belong together.
    """

    def __init__(self, geometry: Geometry, volume: Volume, pair: str = "exact") -> None:
        if pair not in ("exact", "fast"):
            raise ParameterError(f"pair: {pair!r} is not known; give 'exact' or 'fast'")
        if not isinstance(volume, Volume):
            raise ParameterError(f"volume: {type(volume).__name__} is none; give Volume(shape, voxel)")
        as_geometry(geometry).check(volume)
        self.geometry, self.volume, self.pair = geometry, volume, pair
        self.image_shape, self.data_shape = volume.shape, geometry.shape
        self.exact = pair == "exact"

    @abstractmethod
    def back_project(self, p: Array, weight: str, out: Array | None = None) -> Array:
        """The sum over the views of the projections where voxels fall, times ``weight``; ``out`` receives it.

        "adjoint", "none" and "fdk" are those of ``gpuopt.reference.tomography``."""

    @property
    def view_places(self) -> Float64Array:
        period = math.pi if self.geometry.parallel else 2 * math.pi
        return self.geometry.view_angles / period % 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.pair} pair, {self.geometry!r}, {self.volume!r}>"
