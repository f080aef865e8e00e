"""Problems of the diagonal sparse matrix-vector product: the affinity matrix of a photograph, stencils, and grids of
any size with random values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuopt._core import ArrayError, Device, ParameterError
from gpuopt.arrays import to_device
from gpuopt.checked import checked, real, real_dtype
from gpuopt.configuration import Configuration
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.common.values import uniform
from gpuopt.workloads.spmv import affinity, operation, photographs
from gpuopt.workloads.spmv import reference as oracle
from gpuopt.workloads.spmv.matrix import DiaMatrix
from gpuopt.workloads.spmv.peers import peers
from gpuopt.workloads.spmv.tolerance import Tolerance

if TYPE_CHECKING:
    from scipy.sparse import dia_array

_STENCILS = {3: 1, 5: 2, 7: 3, 9: 2, 27: 3}  # points: dimensions
# Beside each problem, grids whose rows leave 7 of 64, and 48 x 48; a group of rows inside, and none, where diagonals
# reach farther than the last work-item has rows; few diagonals, without the main one, and an addend; and of the last of
# these a product with more columns than a vector, and no multiple of one.
AWKWARD = (  # width, height, radius, columns of x
    (219, 5, 5, None),
    (17, 87, 5, None),
    (48, 48, 5, None),
    (67, 61, 1, None),  # fewer diagonals than any loop takes at once, and groups of rows that no end is near
    (23, 81, 2, None),
    (23, 29, 2, 19),
)
# And one of no grid: more rows than columns, and fewer stored than there are.
OBLONG, STORED, OFFSETS = (199, 135), 101, (-130, -9, -8, 0, 1, 2, 90)
ALPHA, BETA = -1, 3  # where there is an addend
_MOST_AXES = 3
_FLOPS_COUNTED = "2 an entry of the diagonals inside the matrix, zeros at the grid's sides included"


@checked
def spmv_image_affinity(
    image: str | Path | np.ndarray = "camera",
    radius: int = 5,
    dtype: str | np.dtype[Any] = "float32",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
    smoothing: float = 1.0,
) -> Problem:
    """Return the product with the normalised Laplacian of a photograph, whose pixels have a weight with all neighbours
    within ``radius`` pixels: a reading of Catanzaro 2010, whose weights are after Catanzaro et al., ICCV 2009.

    ``image`` is the name of a picture in scikit-image, a picture file (PNG, JPEG, TIFF, BMP, GIF, PPM or WebP, of at
    most 40 million pixels), or a grey array (height, width) of any real dtype. A Gaussian of ``smoothing`` pixels is
    applied before boundaries are searched. x is uniform in [-1, 1), drawn from ``seed``. The image is halved until the
    problem fits half of the free memory, or ``max_bytes`` bytes; ``notes`` then says so. ``inputs`` holds A, x, the
    grey image and the degrees. Needs the extra ``lab``. Raises ArrayError, ParameterError.

    Examples
    --------
    >>> problem = problems.spmv_image_affinity(np.tile([0.0, 0.0, 1.0, 1.0], (4, 1)), radius=1)
    >>> problem.inputs["A"].shape, problem.sizes["diags"]
    ((16, 16), 5)
    """
    kind, chosen = real_dtype(dtype), _device(device)
    name, grey = ("array", image) if isinstance(image, np.ndarray) else photographs.read(image)
    if grey.ndim != 2 or grey.size == 0:
        raise ArrayError(f"image: its shape is {grey.shape}; give a grey image (height, width)")
    steps = oracle.disk_steps(radius)
    (width, height), notes = memory.fit(
        (grey.shape[1], grey.shape[0]),
        lambda extents: _needs(extents, len(steps), kind),
        lambda extents: (max(1, extents[0] // 2), max(1, extents[1] // 2)),
        chosen,
        max_bytes,
    )
    read = real("image", grey, "a grey image (height, width)")
    grey = read.copy() if read is image else read  # what was read from a file is nobody else's
    while grey.shape != (height, width):
        grey = photographs.halved(grey)
    weights, degrees = affinity.affinity_matrix(grey, radius, smoothing=smoothing, dtype=kind)
    matrix = affinity.normalised_laplacian(weights, degrees, overwrite=True)
    notes.append(
        f"{name}, {width} x {height}: normalised Laplacian of pixels tied within {radius} pixels, "
        f"boundaries by gradient after a Gaussian of {smoothing:g} px"
    )
    return problem_of(
        f"affinity_{name}_{width}x{height}_r{radius}",
        matrix,
        {"width": width, "height": height, "radius": radius},
        oracle.neighbour_count(steps, (width, height)),
        seed,
        notes,
        {"image": grey, "degrees": degrees},
        data=None if smoothing == 1.0 and photographs.is_own(image) else photographs.digest(grey, smoothing),
    )


@checked
def spmv_stencil(
    shape: Sequence[int],
    points: int = 5,
    dtype: str | np.dtype[Any] = "float32",
    values: str = "laplacian",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
) -> Problem:
    """Return the product with a stencil on a grid of ``shape`` (nx,), (nx, ny) or (nx, ny, nz); the index of x runs
    fastest.

    ``points`` is 3 in one dimension, 5 or 9 in two, 7 or 27 in three. ``values``: ``"laplacian"`` has points - 1 on the
    main diagonal and -1 for each neighbour inside the grid; ``"hpcg"`` has 26 and -1 as in the HPCG benchmark, for 27
    points; ``"random"`` is uniform in [-1, 1). With ``max_bytes``, the last axis is halved until the problem fits these
    bytes.
    Raises ParameterError, also for a shape that needs more than half of the free memory, before any data are made.

    Examples
    --------
    >>> problems.spmv_stencil((4, 4)).inputs["A"].toarray()[0, :6]
    array([ 4., -1.,  0.,  0., -1.,  0.], dtype=float32)
    """
    extents = _extents("shape", shape)
    if points not in _STENCILS:
        raise ParameterError(f"points: there is no {points}-point stencil; use one of {', '.join(map(str, _STENCILS))}")
    if len(extents) != _STENCILS[points]:
        raise ParameterError(
            f"shape: {points} points need {_STENCILS[points]} axes, not {len(extents)}; give (nx, ...)"
        )
    if values not in ("laplacian", "hpcg", "random"):
        raise ParameterError(f"values: {values!r} is unknown; use 'laplacian', 'hpcg' or 'random'")
    if values == "hpcg" and points != 27:
        raise ParameterError(f"values: 'hpcg' is a 27-point stencil, not {points}; use 'laplacian'")
    dense = points == 3 ** len(extents)
    reach = [step[::-1] for step in product((-1, 0, 1), repeat=len(extents))]
    steps = np.array([step for step in reach if dense or np.abs(step).sum() <= 1], dtype=np.int64)
    fill = None if values == "random" else _constant(points)
    label = f"stencil{points}_{values}"
    return _grid_problem(
        label, extents, steps, fill, real_dtype(dtype), seed, _device(device), max_bytes, {"points": points}, "shape"
    )


@checked
def spmv_grid(
    width: int,
    height: int,
    radius: int = 5,
    dtype: str | np.dtype[Any] = "float32",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
    symmetric: bool = False,
) -> Problem:
    """Return the product with random values on the diagonals of :func:`spmv_image_affinity`, for any size without an
    image.

    Entries are uniform in [-1, 1), and 0 where a diagonal would connect opposite sides of the grid. With ``symmetric``
    the entries below the main diagonal are those above it, mirrored. With ``max_bytes``, the height is halved until the
    problem fits these bytes. Raises ParameterError, also for sizes that need more than half of the free memory, before
    any data are made.

    Examples
    --------
    >>> problem = problems.spmv_grid(8, 4, radius=1)
    >>> problem.inputs["A"].shape, problem.inputs["A"].offsets.tolist()
    ((32, 32), [-8, -1, 0, 1, 8])
    """
    extents = _extents("width, height", (width, height))
    steps, sizes = oracle.disk_steps(radius), {"radius": radius}
    label = "grid_symmetric" if symmetric else "grid"
    return _grid_problem(
        label,
        extents,
        steps,
        None,
        real_dtype(dtype),
        seed,
        _device(device),
        max_bytes,
        sizes,
        "width, height",
        symmetric,
    )


def _grid_problem(
    label: str,
    extents: tuple[int, ...],
    steps: np.ndarray,
    fill: Callable[[np.ndarray], float] | None,
    dtype: np.dtype[Any],
    seed: int,
    device: Device | None,
    max_bytes: int | None,
    sizes: dict[str, int],
    argument: str,
    symmetric: bool = False,
) -> Problem:
    extents, notes = memory.fit(
        extents,
        lambda e: _needs(e, len(steps), dtype),
        lambda e: (*e[:-1], max(1, e[-1] // 2)),
        device,
        max_bytes,
        argument,
    )
    matrix = _grid_matrix(extents, steps, fill, dtype, np.random.default_rng(seed))
    if symmetric:
        _mirror(matrix)
    axes = dict(zip(("width", "height", "depth"), extents, strict=False))
    name = f"{label}_{'x'.join(map(str, extents))}" + (f"_r{sizes['radius']}" if "radius" in sizes else "")
    return problem_of(name, matrix, {**axes, **sizes}, oracle.neighbour_count(steps, extents), seed, notes, {})


def _grid_matrix(
    extents: tuple[int, ...],
    steps: np.ndarray,
    fill: Callable[[np.ndarray], float] | None,
    dtype: np.dtype[Any],
    random: np.random.Generator,
) -> dia_array:
    from scipy.sparse import dia_array

    strides = np.cumprod([1, *extents[:-1]])
    # Two steps share a diagonal where an axis is shorter than the stencil, but never an entry.
    offsets, diagonal = np.unique(steps @ strides, return_inverse=True)
    rows = prod(extents)
    data = np.zeros((len(offsets), rows), dtype=dtype)
    for step, k in zip(steps, diagonal, strict=True):
        # SciPy stores an entry at its column: the neighbours' window, slowest axis first.
        window = tuple(slice(max(0, d), max(0, n + min(0, d))) for d, n in zip(step[::-1], extents[::-1], strict=True))
        entries = data[k].reshape(extents[::-1])[window]
        if fill is not None:
            entries[...] = fill(step)
        elif entries.size:
            entries[...] = uniform(random, entries.shape, dtype)
    return dia_array((data, offsets), shape=(rows, rows))


def _mirror(matrix: dia_array) -> None:
    """Copy the entries above the main diagonal below it: A[i, i + o] is stored at column i + o, its mirror at column
    i."""
    place = {offset: k for k, offset in enumerate(matrix.offsets.tolist())}
    for offset, k in place.items():
        if offset > 0:
            length = max(0, matrix.shape[0] - offset)
            matrix.data[place[-offset]][:length] = matrix.data[k][offset:]


def _constant(points: int) -> Callable[[np.ndarray], float]:
    return lambda step: -1.0 if step.any() else points - 1.0


def problem_of(  # long: one record of everything that a problem is
    name: str,
    matrix: dia_array,
    sizes: dict[str, int],
    nnz_true: int,
    seed: int,
    notes: list[str],
    inputs: dict[str, Any],
    whole: bool = False,
    columns: int | None = None,
    addend: bool = False,
    properties: dict[str, bool] | None = None,
    data: str | None = None,
) -> Problem:
    """The product with a matrix. ``whole``: its entries are whole numbers from -8 to 8, as x then is, and fp32 or fp64
    is allowed no error. ``columns`` are those of x; None: it is one vector. ``addend``: the result is ALPHA A x + BETA
    y, y of whole numbers. ``properties`` are more than are known of any matrix; ``data`` tells two of a name apart."""
    rows, cols = matrix.shape
    dtype = matrix.data.dtype
    across = () if columns is None else (columns,)
    # Another seed, so that x does not repeat the first numbers of a random matrix.
    x = uniform(np.random.default_rng([seed, 1]), (cols, *across), dtype)
    if whole:
        x = np.rint(8 * x)
    given: dict[str, Any] = {}  # beside A and x
    if addend:
        y = np.random.default_rng([seed, 2]).integers(-8, 9, (rows, *across)).astype(dtype)
        given = {"y": y, "alpha": ALPHA, "beta": BETA}
    stored = matrix.data, matrix.offsets, matrix.shape
    diags = len(matrix.offsets)
    nnz_range = oracle.dia_range_count(matrix.offsets, matrix.shape, matrix.data.shape[1])
    tolerance = np.zeros((rows, *across)) if whole else oracle.tolerance(oracle.dia_abs_sum(*stored, x), diags, dtype)
    held = OnDevices(lambda device: (DiaMatrix(matrix, device=device), to_device(x, device)))
    beside = OnDevices(lambda device: given | ({"y": to_device(given["y"], device)} if given else {}))

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        on_device, operand = held(device)
        out = guarded_output((rows, *across), dtype, device)
        return BoundPlan(operation.prepare_spmv(on_device, operand, out, configuration, **beside(device)), out)

    def upload_and_multiply(device: Device) -> Callable[[], np.ndarray]:
        """A product from a SciPy matrix, uploaded and packed each time."""
        return lambda: operation.spmv(matrix, x, device=device)

    def multiply(device: Device) -> Callable[[], np.ndarray]:
        """A product with the matrix on the device; x goes there and the result comes back."""
        on_device, _ = held(device)
        return lambda: on_device @ x

    notes.append(f"{nnz_range:,} entries inside the diagonals, {nnz_true:,} without those wrapped round a side")
    return Problem(
        workload="spmv",
        name=name,
        dtype=dtype,
        sizes={"rows": rows, "cols": cols, "diags": diags, "nnz_range": nnz_range, "nnz_true": nnz_true, **sizes},
        seed=seed,
        inputs={"A": matrix, "x": x, **inputs},
        reference=oracle.dia_spmv(*stored, x, **given),
        tolerance=tolerance,
        footprint_bytes=(nnz_range + rows + cols) * dtype.itemsize,
        prepare=prepare,
        flops=2.0 * nnz_range,
        flops_counted=_FLOPS_COUNTED,
        peers=peers,
        notes=notes,
        tolerance_of=Tolerance(matrix, x, tolerance),
        data=data,
        calls={"gpuopt.spmv(A, x)": upload_and_multiply, "M @ x": multiply},
        input_properties={"columns": columns is not None, "stored": None, **(properties or {})},
        plain=lambda device: held(device)[0].resolve(None, columns is not None),
        awkward=functools.cache(lambda: [*(exact(dtype, *sizes) for sizes in AWKWARD), oblong(dtype)]),
    )


def exact(dtype: np.dtype[Any], width: int, height: int, radius: int, columns: int | None) -> Problem:
    """Return the problem of a symmetric grid of whole numbers from -8 to 8, whose sums are exact in any order; with a
    radius of 2, without neighbours on the same line: no main diagonal. There one vector's product has an addend."""
    steps = oracle.disk_steps(radius)
    if radius == 2:
        steps = steps[steps[:, 1] != 0]
    matrix = _grid_matrix((width, height), steps, None, dtype, np.random.default_rng([width, height]))
    np.rint(8 * matrix.data, out=matrix.data)
    _mirror(matrix)
    name, neighbours = f"grid_{width}x{height}_r{radius}_whole_numbers", oracle.neighbour_count(steps, (width, height))
    sizes = {"width": width, "height": height}
    addend = radius == 2 and columns is None
    return problem_of(name, matrix, sizes, neighbours, 0, [], {}, whole=True, columns=columns, addend=addend)


def oblong(dtype: np.dtype[Any]) -> Problem:
    """Return the problem of a few diagonals of whole numbers from -8 to 8 that are no grid's: A has more rows than
    columns, of which the last are not stored, and there is an addend."""
    from scipy.sparse import dia_array

    data = np.random.default_rng(OBLONG).integers(-8, 9, (len(OFFSETS), STORED)).astype(dtype)
    matrix, count = dia_array((data, OFFSETS), shape=OBLONG), oracle.dia_range_count(OFFSETS, OBLONG, STORED)
    name = f"oblong_{OBLONG[0]}x{OBLONG[1]}_whole_numbers"
    none = {"grid": False, "symmetric": False}
    return problem_of(name, matrix, {}, count, 0, [], {}, whole=True, addend=True, properties=none)


def _needs(extents: tuple[int, ...], diags: int, dtype: np.dtype[Any]) -> memory.Needs:
    rows = prod(extents)
    matrix = diags * rows * dtype.itemsize
    # Host: the matrix, and twelve fp64 vectors while it is built and its reference is computed. Device: a variant may
    # hold the matrix in a second layout.
    return memory.Needs(host=matrix + 12 * 8 * rows, device=2 * matrix + 8 * rows * dtype.itemsize, largest=matrix)


def _extents(argument: str, given: Sequence[int]) -> tuple[int, ...]:
    if len(given) > _MOST_AXES:
        raise ParameterError(f"{argument}: it has {len(given)} axes; give at most {_MOST_AXES}")
    extents = tuple(int(n) for n in given)
    if not extents or min(extents) < 1:
        raise ParameterError(f"{argument}: {tuple(given)} is not the size of a grid; give whole numbers of at least 1")
    return extents


def _device(device: Selector) -> Device | None:
    return None if device is None else select(device)
