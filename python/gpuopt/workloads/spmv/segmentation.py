"""Cut a photograph along the smallest eigenvectors of its affinity matrix: what the SpMV of the article is for.

The eigenvectors come from SciPy's LOBPCG, to which the operator, on a device or SciPy's own, is a product and no more.
Alone LOBPCG would need hundreds of products: the smallest eigenvalues of a 512 x 512 photograph lie near 1e-4, and the
spectrum reaches to 1. So blocks of pixels help: a small matrix of how they are tied, found by products with the
operator too, gives a start and a two-grid preconditioner. camera, six eigenvectors: residuals of 2e-5 to 2e-4 after 60
plain iterations from the same start; below 1e-6 after 12 with it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ArrayError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Float64Array = NDArray[np.float64]

_COARSE_UNKNOWNS = 17_000  # few enough to factorise in 0.2 s, and blocks of 4 x 4 pixels at 512 x 512
_SHIFT = 1e-6  # keeps the singular coarse matrix factorisable, far below the eigenvalues looked for
_DAMPING = 0.9  # of Jacobi's step: below 1, for pixels tied to each other alone have an eigenvalue near 2


@dataclass(frozen=True)
class Eigenvectors:
    """The smallest eigenpairs of a normalised Laplacian, the null vector left out.

    ``vectors`` (pixels, count) are orthonormal, ``values`` (count,) ascend, ``residuals`` (count,) are the norms of
    ``A u - value u`` computed anew with the operator, ``history`` (steps, count) those that LOBPCG saw on the way.
    ``products`` counts matrix-vector products, a block of k as k. ``block_side`` (pixels) is that of the blocks whose
    matrix was solved directly: at 1 the start is exact already.
    """

    values: Float64Array
    vectors: Float64Array
    residuals: Float64Array
    history: Float64Array
    iterations: int
    max_iterations: int
    block_side: int
    tolerance: float
    products: int
    seconds: float
    product_seconds: float
    degrees: Float64Array
    image_shape: tuple[int, int]

    @property
    def converged(self) -> bool:
        return bool(self.residuals.max() <= self.tolerance)

    @property
    def cuts(self) -> Float64Array:
        """The cut vectors ``D^-1/2 u`` as images (count, height, width)."""
        return (self.vectors / np.sqrt(self.degrees)[:, np.newaxis]).T.reshape(-1, *self.image_shape)


def smallest_eigenvectors(  # long: its arguments, and every field of the result, each named once
    operator: Any,
    count: int,
    degrees: ArrayLike,
    image_shape: tuple[int, int],
    max_iterations: int = 20,
    tol: float = 1e-6,
    radius: int = 5,
) -> Eigenvectors:
    """Return the ``count`` smallest eigenpairs of a normalised Laplacian beyond its null vector ``sqrt(degrees)``.

    ``operator`` is anything with a shape, a dtype and ``@`` for (pixels, k) arrays of it: a ``LinearOperator`` over a
    device, a SciPy matrix. It ties pixels at most ``radius`` apart. Products run in its own precision, the rest in
    fp64. The iterations stop at ``max_iterations`` or when all residual norms are below ``tol``: the result says which,
    and not to have converged is no error. Raises ArrayError for sizes that do not fit, ParameterError for an image too
    small to have ``count`` eigenvectors.
    """
    from scipy.sparse.linalg import LinearOperator, lobpcg

    degrees = np.asarray(degrees, dtype=np.float64)
    n = degrees.size
    if image_shape[0] * image_shape[1] != n or tuple(operator.shape) != (n, n):
        raise ArrayError(
            f"degrees: {n} of them do not fit an operator {tuple(operator.shape)} and an image {image_shape}; "
            "take all three from one problem"
        )
    if max_iterations < 1:
        raise ParameterError(f"max_iterations: {max_iterations} leaves nothing to do; give at least 1")
    if not 1 <= count <= n // 5 - 1:
        raise ParameterError(f"count: {count} eigenvectors of {n} pixels; give 1 to {n // 5 - 1}")
    counted = _CountedProducts(operator)
    started = time.perf_counter()
    null = np.sqrt(degrees)
    null /= np.linalg.norm(null)
    coarse = _BlockedPixels(counted, degrees, image_shape, radius)
    with warnings.catch_warnings(), _one_blas_thread():
        # Stopping early is the plan, and the result says how far it came.
        warnings.filterwarnings("ignore", category=UserWarning)
        values, vectors, history = lobpcg(
            LinearOperator((n, n), matvec=counted, matmat=counted, dtype=np.float64),
            coarse.start(count),
            M=LinearOperator((n, n), matvec=coarse.precondition, matmat=coarse.precondition, dtype=np.float64),
            Y=null[:, np.newaxis],
            tol=tol,
            maxiter=max_iterations - 1,  # SciPy counts from 0
            largest=False,
            retResidualNormsHistory=True,
        )
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    residuals = np.linalg.norm(counted(vectors) - vectors * values, axis=0)
    return Eigenvectors(
        values=values,
        vectors=vectors,
        residuals=residuals,
        history=np.array(history).reshape(len(history), count),
        iterations=coarse.calls,
        max_iterations=max_iterations,
        block_side=coarse.side,
        tolerance=tol,
        products=counted.products,
        seconds=time.perf_counter() - started,
        product_seconds=counted.seconds,
        degrees=degrees,
        image_shape=(image_shape[0], image_shape[1]),
    )


def segment(eigenvectors: Eigenvectors) -> NDArray[np.intp]:
    """Return labels (height, width): one segment more than there are eigenvectors.

    Pivoted QR picks the pixels that differ most in the eigenvectors, one a segment, and rotates the eigenvectors onto
    them (Damle, Minden and Ying, 2018): nothing is random, nothing is iterated.
    """
    from scipy.linalg import qr, svd

    null = np.sqrt(eigenvectors.degrees)
    basis = np.column_stack([null / np.linalg.norm(null), eigenvectors.vectors])
    pivots = qr(basis.T, mode="r", pivoting=True)[1][: basis.shape[1]]
    left, _, right = svd(basis[pivots].T)
    return np.abs(basis @ (left @ right)).argmax(axis=1).reshape(eigenvectors.image_shape)


def spectral_contours(eigenvectors: Eigenvectors) -> Float64Array:
    """Return the boundaries the eigenvectors see, (height, width): gradients of the cut vectors, 1/sqrt(value) each."""
    strength = np.zeros(eigenvectors.image_shape)
    for value, cut in zip(eigenvectors.values, eigenvectors.cuts, strict=True):
        strength += np.hypot(*np.gradient(cut / cut.std())) / np.sqrt(value)
    return strength


def plot_cut(image: ArrayLike, eigenvectors: Eigenvectors, name: str = "image", device: str = "") -> Figure:
    """Return a figure: the photograph cut into segments, the spectral contours, each eigenvector with its residual.

    ``image`` is the grey image (height, width) whose Laplacian was taken; ``name`` and ``device`` are for the titles.
    """
    from matplotlib.figure import Figure

    from gpuopt.lab.show.fitting import wrapped

    image = np.asarray(image)
    if image.shape != eigenvectors.image_shape:
        raise ArrayError(f"image: its shape is {image.shape}; give the one of {eigenvectors.image_shape} that was cut")
    count = len(eigenvectors.values)
    height, width = image.shape
    columns = min(max(count, 4), 8)
    rows = -(-count // columns)
    large, small = (11 / across * height / width + 0.4 for across in (2, columns))
    figure = Figure(figsize=(11, large + rows * small + 0.7), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[large, rows * small], squeeze=False)[:, 0]
    cut_axes, contour_axes = top.subplots(1, 2)
    _draw_cut(cut_axes, image, segment(eigenvectors))
    cut_axes.set_title(f"{name}: {count + 1} segments", fontsize=11)
    contours = spectral_contours(eigenvectors)
    contour_axes.imshow(contours, cmap="gray_r", vmin=0, vmax=np.quantile(contours, 0.99))
    contour_axes.set_title("boundaries the eigenvectors see", fontsize=11)
    cuts = eigenvectors.cuts
    for k, axes in enumerate(bottom.subplots(rows, columns, squeeze=False).flat):
        _bare(axes)
        if k >= count:
            continue
        cut = cuts[k]
        limit = np.quantile(np.abs(cut), 0.98)
        axes.imshow(cut, cmap="RdBu_r", vmin=-limit, vmax=limit)
        title = f"$\\lambda_{{{k + 2}}}$ = {eigenvectors.values[k]:.2e}\nresidual {eigenvectors.residuals[k]:.0e}"
        axes.set_title(title, fontsize=9)
    _bare(cut_axes)
    _bare(contour_axes)
    caption = "\n".join(wrapped(_caption(eigenvectors, device), 0.96 * figure.get_figwidth(), 9))
    figure.supxlabel(caption, fontsize=9, color="0.25")
    return figure


def _caption(eigenvectors: Eigenvectors, device: str) -> str:
    n = eigenvectors.vectors.shape[0]
    e = eigenvectors
    end = (
        f"every residual below {e.tolerance:.0e}"
        if e.converged
        else f"stopped at the cap of {e.max_iterations} iterations before every residual was below {e.tolerance:.0e}"
    )
    taken = f"{e.iterations} iterations" if e.iterations else "whose matrix was factorised; no iteration was needed"
    where = f" on {device}" if device else ""
    return (
        f"Smallest eigenvectors of the normalised Laplacian of {n:,} pixels, the constant one left out. "
        f"LOBPCG from blocks of {e.block_side} x {e.block_side} pixels, {taken}: {end}. "
        f"{e.products} products A x{where} took {e.product_seconds:.1f} s of {e.seconds:.1f} s. "
        "Residual: norm of A\u00a0u\u00a0-\u00a0$\\lambda$u. Colours of an eigenvector: its sign is one cut."
    )


def _draw_cut(axes: Axes, image: np.ndarray, labels: NDArray[np.intp]) -> None:
    axes.imshow(image, cmap="gray")
    for label in np.unique(labels):
        inside = labels == label
        if 0 < inside.sum() < inside.size:
            axes.contour(inside, levels=[0.5], colors=["white"], linewidths=3.0, alpha=0.7)
            axes.contour(inside, levels=[0.5], colors=["#d1285e"], linewidths=1.5)


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread where threadpoolctl is installed.

    Its blocks of a few columns gain nothing from more, and its threads spin on the cores that a CPU device computes on:
    two of them cost 1.6 times the processor time of one (2-core CPU, 512 x 512 pixels).
    """
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield


class _CountedProducts:
    """The operator in its own precision for callers in fp64, counted and timed."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.products = 0
        self.seconds = 0.0

    def __call__(self, x: np.ndarray) -> Float64Array:
        started = time.perf_counter()
        product = self.operator @ np.ascontiguousarray(x, dtype=self.operator.dtype)
        self.seconds += time.perf_counter() - started
        self.products += 1 if x.ndim == 1 else x.shape[1]
        return np.asarray(product, dtype=np.float64)


class _BlockedPixels:
    """The operator restricted to vectors that follow the null vector within square blocks of pixels."""

    def __init__(
        self, product: _CountedProducts, degrees: Float64Array, image_shape: tuple[int, int], radius: int
    ) -> None:
        from scipy.sparse import csc_array, csr_array, dia_array
        from scipy.sparse.linalg import splu

        height, width = image_shape
        side = 1
        while -(-height // side) * -(-width // side) > _COARSE_UNKNOWNS:
            side += 1
        self._product = product
        self.side = side
        self._jacobi = (_DAMPING * degrees / (degrees - 1))[:, np.newaxis]
        self.calls = 0
        rows, columns = -(-height // side), -(-width // side)
        y, x = np.divmod(np.arange(height * width), width)
        block = (y // side) * columns + x // side
        # Orthonormal columns, with the null vector in their span: the coarse matrix is singular where A is.
        weight = np.sqrt(degrees / np.bincount(block, degrees)[block])
        self._expand = csr_array((weight, (np.arange(height * width), block)), shape=(height * width, rows * columns))
        self._collect = csr_array(self._expand.T)

        # Blocks further apart than `reach` are not tied, so one product serves every `period`-th block at once.
        reach = -(-radius // side)
        period = 2 * reach + 1
        block_y, block_x = np.divmod(np.arange(rows * columns), columns)
        entries: list[tuple[np.ndarray, NDArray, NDArray]] = []
        for first_y in range(min(period, rows)):
            for first_x in range(min(period, columns)):
                probed = (block_y % period == first_y) & (block_x % period == first_x)
                response = self._collect @ product(self._expand @ probed.astype(np.float64))
                near_y = block_y + (first_y - block_y + reach) % period - reach
                near_x = block_x + (first_x - block_x + reach) % period - reach
                inside = (near_y >= 0) & (near_y < rows) & (near_x >= 0) & (near_x < columns)
                entries.append((response[inside], np.flatnonzero(inside), (near_y * columns + near_x)[inside]))
        values, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = csc_array((values, (i, j)), shape=(rows * columns, rows * columns))
        self._matrix = csc_array((matrix + matrix.T) / 2)
        shift = dia_array((np.full((1, rows * columns), _SHIFT), [0]), shape=matrix.shape)
        self._solver = splu(
            csc_array(self._matrix + shift),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def start(self, count: int) -> Float64Array:
        """Return ``count`` vectors near the eigenvectors: those of the coarse matrix."""
        from scipy.sparse.linalg import LinearOperator, eigsh

        unknowns = self._matrix.shape[0]
        solve = LinearOperator((unknowns, unknowns), matvec=self._solver.solve, dtype=np.float64)
        first = np.random.default_rng(0).standard_normal(unknowns)
        _, vectors = eigsh(self._matrix, k=count + 1, sigma=-_SHIFT, OPinv=solve, v0=first, tol=1e-9)
        return self._expand @ vectors[:, 1:]

    def precondition(self, residuals: np.ndarray) -> Float64Array:
        """Return roughly A^-1 residuals: a damped Jacobi step, a solve on the blocks, a Jacobi step again.

        Jacobi's step serves what the blocks cannot represent, pixels against their neighbourhood; the same step before
        and after keeps the whole symmetric.
        """
        self.calls += 1
        z = self._jacobi * residuals
        z += self._expand @ self._solver.solve(self._collect @ (residuals - self._product(z)))
        z += self._jacobi * (residuals - self._product(z))
        return z
