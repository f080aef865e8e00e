"""What the algorithms work with: an operator A with a transpose and subsets of views, and a backend that does the
arithmetic where the operator's data are.

An algorithm handles arrays only through its operator's :class:`Backend`, so that the same code iterates over NumPy
arrays or over buffers of a device. The caller's arrays come in by ``take`` and go out by ``give``, nowhere else.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked, unmasked, unsupported
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.geometry import Geometry, as_geometry
from gpuopt.tomo.kinds import AnyArray, Given
from gpuopt.tomo.volume import Volume

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

Array = Any
"""An array of the kind in which a backend keeps its data, where algorithms do not know which."""

Kept = TypeVar("Kept")
"""The kind of array in which a backend keeps its data."""

WEIGHTS = ("adjoint", "none", "fdk")
"""What a back projection multiplies a view's value at a voxel with: what approximates the transpose of a projector; 1;
or the weight of a filtered view, which is 1 unless the geometry is a cone on a circle or a helix."""


class Norms(Protocol):
    """Squared norms of a residual r = b - A x, summed in fp64. On a device they may be computed by the time they are
    read."""

    @property
    def plain(self) -> float:
        """r . r"""

    @property
    def weighted(self) -> float:
        """r . (weights r)"""


class Backend(ABC, Generic[Kept]):
    """Arithmetic on arrays of one dtype, in one memory: of NumPy, of a device, or of another library.

    An operation that has an ``out`` or works in place allocates no array; ``out`` may be one of the inputs.

    Examples
    --------
    >>> backend = gt.NumpyProjector(gt.parallel2d(4, 8), gt.Volume((8, 8))).backend
    >>> isinstance(backend, gt.Backend)
    True
    >>> backend.dot(backend.full((2, 2), 3.0), backend.full((2, 2), 1.0))
    12.0
    >>> x, y = backend.full((2, 2), 3.0), backend.full((2, 2), 1.0)
    >>> backend.axpy(2.0, x, y, out=y)  # y = 2 x + y
    >>> backend.multiply(y, by=x)
    >>> backend.largest(y), backend.views(x, np.array([1])).shape, backend.copy(x).shape
    (21.0, (1, 2), (2, 2))
    """

    dtype: np.dtype[Any]
    """float32 or float64."""

    cache_bytes: int = 2 << 30
    """How much memory OS-SART may use to keep the column sums of its blocks, each of which saves a back projection in
    every iteration."""

    @abstractmethod
    def take(self, given: AnyArray, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> Kept:
        """The caller's array as an array of this backend, which may share its memory and is only read. Raises
        ArrayError, naming the axis or the place, for other shapes and dtypes, and for NaN and infinity."""

    @abstractmethod
    def give(self, array: Kept, like: Given) -> Given:
        """``array`` as the kind of array and of the dtype that the caller's ``like`` is. Nothing may write to ``array``
        afterwards."""

    def finite(self, array: Kept, like: Given) -> bool:
        """Whether ``give`` of these holds no infinity and no NaN. By default that is told by the squared norm of
        ``array``, which does for float32."""
        return math.isfinite(self.dot(array, array))

    @abstractmethod
    def host(self, given: AnyArray, axes: tuple[str, ...]) -> np.ndarray:
        """The caller's projections, checked, as a NumPy array, for filters, which run on the host. Raises ArrayError
        as ``take`` does."""

    def filtered(self, given: AnyArray, by: RowFilter, axes: tuple[str, ...]) -> tuple[Kept | np.ndarray, AnyArray]:
        """The caller's projections as filtered rows (views, rows, columns), and what was found of each row, as of
        :meth:`RowFilter.on_host`: an array of NumPy, or of a device that is still at work. Raises ArrayError for other
        dtypes; NaN and infinity are what was found."""
        return by.on_host(self.host(given, axes))

    @abstractmethod
    def full(self, shape: tuple[int, ...], value: float) -> Kept:
        """A new array."""

    @abstractmethod
    def fill(self, x: Kept, value: float) -> None:
        """x = value"""

    @abstractmethod
    def copy(self, x: Kept) -> Kept:
        """A new array with the values of ``x``."""

    @abstractmethod
    def views(self, p: Kept, index: np.ndarray) -> Kept:
        """The projections of some views, which may share the memory of ``p`` and are only read."""

    @abstractmethod
    def axpy(self, a: float, x: Kept, y: Kept, out: Kept) -> None:
        """out = a x + y"""

    @abstractmethod
    def multiply(self, x: Kept, by: Kept) -> None:
        """x = x by"""

    @abstractmethod
    def reciprocal(self, x: Kept, fraction: float, largest: float | None = None) -> None:
        """x = 1 / x where x > fraction largest, else 0. If ``largest`` is None it is the largest of x, and a device
        need not send it to the host."""

    @abstractmethod
    def residual(self, b: Kept, ax: Kept, weights: Kept) -> Norms:
        """ax = weights (b - ax), and the norms of b - ax."""

    @abstractmethod
    def update(
        self,
        x: Kept,
        step: float,
        weights: Kept,
        g: Kept,
        low: float | None,
        high: float | None,
        mask: Kept | None,
        out: Kept,
        rounding: float = 0.0,
    ) -> None:
        """out = mask clamp(x + step weights g, low, high), where a bound or a mask that is None changes nothing; a sum
        of which no more than ``rounding`` of x is left is 0."""

    @abstractmethod
    def largest(self, x: Kept) -> float:
        """max x"""

    @abstractmethod
    def dot(self, x: Kept, y: Kept) -> float:
        """x . y, summed in fp64."""


@dataclass(eq=False)
class Sums(Generic[Kept]):
    """Inverse sums of an operator's rows and columns, which one call of an algorithm leaves for the next. They are only
    read; each is set at once, when all of it has been enqueued."""

    rows: Kept | None = None
    columns: Kept | None = None


@checked
class Operator(ABC, Generic[Kept]):
    """A linear map from an image to projections, with a block of rows for each view. ``A(x)`` applies it, ``A.T(p)``
    applies its transpose.

    A subclass defines ``forward`` and ``back``, which work on arrays of the backend, ``subset``, and the attributes
    below.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(6, 8), gt.Volume((8, 8)))
    >>> isinstance(A, gt.Operator), A.image_shape, A.data_shape
    (True, (8, 8), (6, 8))
    >>> A.T(A(np.ones((8, 8)))).shape
    (8, 8)
    >>> A.subset([0, 3]).data_shape
    (2, 8)
    >>> A.back(A.forward(np.ones((8, 8)))).shape  # the same without checks of the arrays
    (8, 8)
    >>> A.views, A.image_axes, A.data_axes, A.view_places.round(2)
    (6, ('y', 'x'), ('view', 'u'), array([0.  , 0.17, 0.33, 0.5 , 0.67, 0.83]))
    >>> flat = A.linear_operator()  # of SciPy, for its solvers
    >>> flat.shape
    (48, 64)
    """

    backend: Backend[Kept]
    image_shape: tuple[int, ...]
    data_shape: tuple[int, ...]
    """The first axis counts the views."""
    exact: bool
    """Whether ``back`` is the transpose of ``forward`` to rounding; CGLS refuses others."""
    _sums: Sums[Kept] | None = None
    """None: each call computes the sums anew, for the operator may have changed, or they would take too much memory."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("geometry", "volume", "pair") and name in self.__dict__:
            raise AttributeError(f"{name}: an operator is of one; make another operator")
        if name in ("image_shape", "data_shape"):
            try:
                value = tuple(operator.index(length) for length in value)
            except TypeError as error:
                raise ParameterError(f"{name}: it is {value!r}; give a tuple of whole numbers") from error
        object.__setattr__(self, name, value)

    @abstractmethod
    def forward(self, x: Kept, out: Kept | None = None) -> Kept:
        """A x, in ``out``, which shares no memory with x, or in a new array."""

    @abstractmethod
    def back(self, p: Kept, out: Kept | None = None) -> Kept:
        """The transpose, or what approximates it, times p, in ``out``, which shares no memory with p, or in a new
        array."""

    @abstractmethod
    def subset(self, views: np.ndarray) -> Operator[Kept]:
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
        """The views' angles as fractions of the circle after which views repeat; by default they are spread evenly."""
        return np.arange(self.views) / self.views

    def __call__(self, x: Given) -> Given:
        """A x of the shape ``data_shape``, of the kind and dtype of ``x``, whose shape is ``image_shape``. Raises
        ArrayError."""
        return self.backend.give(self.forward(self.backend.take(x, "image", self.image_shape, self.image_axes)), like=x)

    @property
    def T(self) -> Transpose:
        """The transpose, or what approximates it."""
        return Transpose(self)

    def adjoint_error(self, seed: int = 0) -> float:
        """|<A x, y> - <x, A.T y>| / (|A x| |y|) for random x and y, normal of mean 0; summed in fp64. Raises
        ParameterError where no ray meets the volume."""
        random = np.random.default_rng(seed)
        x, y = (
            random.standard_normal(shape).astype(self.backend.dtype) for shape in (self.image_shape, self.data_shape)
        )
        ax, aty = (np.asarray(a, dtype=np.float64) for a in (self(x), self.T(y)))
        norms = math.sqrt(float((ax**2).sum())) * math.sqrt(float((y.astype(np.float64) ** 2).sum()))
        if not norms:
            raise ParameterError("geometry: no ray meets the volume, so that there is no adjoint to measure")
        return abs(float((ax * y).sum()) - float((x * aty).sum())) / norms

    def linear_operator(self) -> LinearOperator:
        """A ``scipy.sparse.linalg.LinearOperator`` over flat NumPy vectors of the backend's dtype; of complex ones
        it takes both parts. Needs SciPy."""
        from scipy.sparse.linalg import LinearOperator

        dtype = self.backend.dtype

        def flat(apply: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
            def of(v: Any) -> np.ndarray:
                if np.iscomplexobj(unmasked("v", v)):
                    return np.asarray(of(np.real(v)) + 1j * of(np.imag(v)))
                return np.asarray(apply(np.ascontiguousarray(v, dtype=dtype).reshape(shape))).ravel()

            return of

        return LinearOperator(
            (math.prod(self.data_shape), math.prod(self.image_shape)),
            matvec=flat(self, self.image_shape),
            rmatvec=flat(self.T, self.data_shape),
            dtype=dtype,
        )


@checked
class Transpose:
    """``A.T``: from projections to an image."""

    def __init__(self, operator: Operator) -> None:
        self.T = operator

    def __call__(self, p: Given) -> Given:
        """The transpose, or what approximates it, times p, of the kind and dtype of ``p``. Raises ArrayError."""
        A = self.T
        return A.backend.give(A.back(A.backend.take(p, "projections", A.data_shape, A.data_axes)), like=p)


@checked
class GeometricOperator(Operator[Kept]):
    """An operator that knows its geometry and its volume, which filtered back projection needs.

    ``pair`` is "exact": Joseph's method (IEEE Trans. Med. Imaging 1, 192, 1982) and its transpose; or "fast": Joseph's
    method, and a voxel-driven back projection in place of the transpose. Raises ParameterError where geometry and
    volume do not belong together.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(3, 4), gt.Volume((6, 6)), pair="fast")
    >>> isinstance(A, gt.GeometricOperator), A.exact
    (True, False)
    >>> A.geometry.shape, A.volume.shape
    ((3, 4), (6, 6))
    >>> A.back_project(np.ones(A.data_shape), "none").shape
    (6, 6)
    >>> A.with_scan(A.geometry.refined(2), A.volume).data_shape
    (3, 8)
    """

    def __init__(self, geometry: Geometry, volume: Volume, pair: str = "exact") -> None:
        if pair not in ("exact", "fast"):
            raise ParameterError(f"pair: {pair!r} is not known; give 'exact' or 'fast'")
        if not isinstance(volume, Volume):
            raise ParameterError(f"volume: {type(volume).__name__} is not a Volume; give Volume(shape, voxel)")
        as_geometry(geometry).check(volume)
        self.geometry, self.volume, self.pair = geometry, volume, pair
        self.image_shape, self.data_shape = volume.shape, geometry.shape
        self.exact = pair == "exact"

    @abstractmethod
    def back_project(self, p: Kept, weight: str, out: Kept | None = None) -> Kept:
        """At each voxel, the sum over the views of the projection's value there times a ``weight``, one of ``WEIGHTS``;
        in ``out``, which shares no memory with p, or in a new array."""

    def _in_blocks(self, given: AnyArray, rows: RowFilter, weight: str) -> tuple[Kept, np.ndarray] | None:
        """The back projection of projections that ``rows`` filters, and what was found of their rows, as
        :meth:`RowFilter.on_host` tells it; None where it is not computed in blocks of views."""
        return None

    @abstractmethod
    def subset(self, views: np.ndarray) -> GeometricOperator[Kept]: ...

    def with_scan(self, geometry: Geometry, volume: Volume) -> GeometricOperator[Kept]:
        """The operator of another scan and volume, where and as this one computes. Raises UnsupportedError unless a
        subclass defines it."""
        raise unsupported(
            f"geometry: {type(self).__name__} stays with its own; use Projector, or define with_scan in the subclass"
        )

    @property
    def view_places(self) -> Float64Array:
        """The views' angles (views,) as fractions of the circle after which views repeat: half a turn of parallel
        beams."""
        period = math.pi if self.geometry.parallel else 2 * math.pi
        return self.geometry.view_angles / period % 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.pair} pair, {self.geometry!r}, {self.volume!r}>"
