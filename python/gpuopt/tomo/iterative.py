"""Reconstruction by iteration, on any operator: SIRT, SART, OS-SART, CGLS, and by expectation maximisation MLEM, OS-EM.

Data stay with the operator's backend from the first iteration to the last. Ctrl-C raises no exception here: it ends the
iterations, and the image after the last finished one is returned with its history.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from gpuopt.checked import checked, unsupported
from gpuopt.tomo.blocks import Blocks
from gpuopt.tomo.kinds import AnyArray, Given, Subsets
from gpuopt.tomo.operators import Norms, Operator
from gpuopt.tomo.ordering import blocks_of, visits
from gpuopt.tomo.reconstruction import Callback, Reconstruction, Run, Steps, to_one

_BLOCKS = 10  # of views unless told otherwise, or one for each view if there are fewer
_UNREAD = 8  # norms of blocks that a device may still be at work on
_LEFT = 8  # of the dtype's steps: what they leave of a voxel whose rays all counted nothing
_ROUNDING = 1e-7  # A ray whose A x is below this part of the largest has no ratio b / A x in float32.


@checked
def sirt(
    A: Operator,
    projections: Given,
    iterations: int = 100,
    *,
    x0: AnyArray | None = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: AnyArray | None = None,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """x += lambda C^-1 A^T R^-1 (b - A x): all views at once. R and C are the sums of A's rows and columns (Gregor and
    Benson, IEEE Trans. Med. Imaging 27, 918, 2008).

    Parameters
    ----------
    A, projections
        The operator, and b: a NumPy array or one of the operator's device, of the shape ``A.data_shape``; float32, of a
        :class:`NumpyProjector` float64 too. Never modified.
    x0
        The first image, of the shape ``A.image_shape``; zeros if None.
    relaxation, decay
        In iteration n, from 0, lambda = relaxation decay^n. relaxation lies above 0 and below 2, decay above 0 and is
        at most 1.
    bounds, mask
        After each update the image is clamped to (low, high), where None means no bound, and multiplied by the mask (0
        or 1, or bool).
    axes
        "avu", or "vau" for projections (v, view, u).
    progress, callback
        Whether to show a progress bar (needs tqdm); a function that is called with a :class:`State` after each
        iteration, and ends the iterations by returning True; False and None go on, an array raises ParameterError.

    Returns
    -------
    Reconstruction
        Its ``image`` is in 1/mm, of the kind and dtype of the projections.

    Raises
    ------
    ParameterError, ArrayError (also where the image leaves the dtype), and what the operator raises

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.sirt(A, A(x), iterations=50, bounds=(0, None))
    >>> bool(np.abs(found.image - x).mean() < 0.05)
    True
    """
    steps, visited = Steps.of(relaxation, decay, bounds, A), _visited(A, 1)
    return _sweeps(Run(A, projections, iterations, x0, mask, axes, progress, callback), *visited, steps)


@checked
def sart(
    A: Operator,
    projections: Given,
    iterations: int = 10,
    *,
    x0: AnyArray | None = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: AnyArray | None = None,
    order: str = "golden",
    seed: int = 0,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """As :func:`os_sart` with blocks of one view: an update after each view, every view once in an iteration (Andersen
    and Kak, Ultrasonic Imaging 6, 81, 1984).

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.sart(A, A(x), iterations=5)
    >>> bool(np.abs(found.image - x).mean() < 0.05)
    True
    """
    return os_sart(
        A,
        projections,
        iterations,
        subsets=A.views,
        x0=x0,
        relaxation=relaxation,
        decay=decay,
        bounds=bounds,
        mask=mask,
        order=order,
        seed=seed,
        axes=axes,
        progress=progress,
        callback=callback,
    )


@checked
def os_sart(
    A: Operator,
    projections: Given,
    iterations: int = 10,
    *,
    subsets: Subsets | None = None,
    x0: AnyArray | None = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: AnyArray | None = None,
    order: str = "golden",
    seed: int = 0,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """x += lambda C_s^-1 A_s^T R_s^-1 (b_s - A_s x) for one block s of views after the other; an iteration visits all
    blocks (Wang and Jiang, J. X-Ray Sci. Technol. 12, 169, 2004).

    ``subsets`` is how many interleaved blocks there are (None: 10, or one for each view if there are fewer), or lists
    of the views of each block. ``order`` is that of the blocks: "sequential", "random" (drawn anew for each iteration,
    by ``seed``), "golden" (steps of the golden ratio around the circle) or "max_distance" (each time the block farthest
    from those before). C_s, the column sums of a block, are kept if the backend's ``cache_bytes`` allow it; else they
    are computed at each visit, which costs a back projection. The other arguments, result and errors as in
    :func:`sirt`.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.os_sart(A, A(x), iterations=5, subsets=4, bounds=(0, 1))
    >>> bool(np.abs(found.image - x).mean() < 0.05)
    True
    """
    steps, visited = Steps.of(relaxation, decay, bounds, A), _visited(A, subsets, order, seed)
    return _sweeps(Run(A, projections, iterations, x0, mask, axes, progress, callback), *visited, steps)


@checked
def cgls(
    A: Operator,
    projections: Given,
    iterations: int = 20,
    *,
    x0: AnyArray | None = None,
    mask: AnyArray | None = None,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """Conjugate gradients on the normal equations: approaches the least squares solution in the fewest iterations, but
    knows no bounds (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49, 409, 1952, section 10).

    Where a ``mask`` is 0 the image stays as it was. The other arguments, result and errors as in :func:`sirt`; also
    raises UnsupportedError where the operator's transpose is not exact, which the method relies on.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.cgls(A, A(x), iterations=20)
    >>> bool(np.abs(found.image - x).mean() < 0.05)
    True
    """
    if not A.exact:
        raise unsupported("cgls: it needs an exact transpose; make the projector with pair='exact', or use sirt")
    run = Run(A, projections, iterations, x0, mask, axes, progress, callback)
    backend = run.backend
    with run.until_interrupted():
        spare, w = backend.copy(run.image), backend.full(A.data_shape, 0.0)
        r, scale = run.residual(w)
        g, p = run.masked(A.back(r)), backend.full(A.image_shape, 0.0)
        near = to_one(math.sqrt(backend.dot(g, g)))  # else A^T A b, of the order of b pixel^2, may leave float32
        backend.axpy(near, g, p, out=p)
        backend.axpy(near, r, w, out=r)
        scale *= near
        first = gamma = near**2 * backend.dot(g, g)
        for _ in range(run.iterations):
            if gamma <= first * float(np.finfo(backend.dtype).eps) ** 2:
                run.ended = "converged"
                break
            began, met = time.perf_counter(), math.sqrt(backend.dot(r, r))
            w = A.forward(p, out=w)
            step = gamma / backend.dot(w, w)
            backend.axpy(step / scale, p, run.image, out=spare)
            backend.axpy(-step, w, r, out=r)
            g = run.masked(A.back(r, out=g))
            before, gamma = gamma, backend.dot(g, g)
            backend.axpy(gamma / before, p, g, out=p)
            spare = run.finish(spare, met / scale, math.sqrt(before) / scale, time.perf_counter() - began)
            if run.stops():
                break
    return run.result()


def _visited(
    A: Operator, subsets: Subsets | None, order: str = "sequential", seed: int = 0
) -> tuple[list[np.ndarray], Callable[[], np.ndarray]]:
    """The blocks of views, and a function that returns their order in the next iteration."""
    blocks = blocks_of(A.views, min(_BLOCKS, A.views) if subsets is None else subsets)
    return blocks, visits(order, A.view_places[[block[0] for block in blocks]], seed)


def _sweeps(run: Run, blocks: list[np.ndarray], order: Callable[[], np.ndarray], steps: Steps) -> Reconstruction:
    backend, A = run.backend, run.A
    with run.until_interrupted():
        gradient, spare = (backend.full(A.image_shape, 0.0) for _ in range(2))
        visited = Blocks(run, blocks)
        rows = visited.rows(gradient)
        zeros = run.from_zeros
        for iteration in range(run.iterations):
            began, norms, source = time.perf_counter(), list[Norms](), run.image
            for i in order():
                part = visited.parts[i]
                columns = visited.columns(part)
                ax = visited.work[tuple(part.A.data_shape)]
                if zeros:
                    backend.fill(ax, 0.0)
                else:
                    ax = part.A.forward(source, out=ax)
                zeros = False
                norms.append(backend.residual(part.b, ax, rows[i]))
                _read_some(norms)
                g = part.A.back(ax, out=gradient)
                step = steps.at(iteration)
                backend.update(source, step, columns, g, steps.low, steps.high, run.mask, out=spare)
                # The image of the last finished iteration is only read; blocks after the first update the other array.
                source = spare
            plain, weighted = math.sqrt(sum(n.plain for n in norms)), math.sqrt(sum(n.weighted for n in norms))
            spare = run.finish(spare, plain, weighted, time.perf_counter() - began)
            if run.stops():
                break
    return run.result()


def _read_some(norms: list[Norms]) -> None:
    """Reads what was computed some blocks ago, so that sums take little of a device."""
    if len(norms) > _UNREAD:
        _ = norms[-1 - _UNREAD].plain


# ---------------------------------------------------------------- expectation maximisation


@checked
def mlem(
    A: Operator,
    projections: Given,
    iterations: int = 50,
    *,
    x0: AnyArray | None = None,
    mask: AnyArray | None = None,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """``x *= C^-1 A^T (b / A x)``, where C are the column sums of A: all views at once.

    The image stays at least 0. Of numbers b that are drawn from Poisson distributions with the means A x it approaches
    the likeliest x, and the likelihood never falls (Shepp and Vardi, IEEE Trans. Med. Imaging 1, 113, 1982). Of other
    projections it approaches the x of the least Kullback-Leibler divergence.

    Parameters
    ----------
    A, projections
        The operator, whose weights are at least 0, and b, at least 0: a NumPy array or one of the operator's device,
        of the shape ``A.data_shape``. Never modified.
    x0
        The first image, at least 0. Where it is 0 the image stays 0. Its scale does not count: it is multiplied, so
        that the sum of A x is that of b. None: the same number everywhere.
    mask
        The image is multiplied by it (0 or 1, or bool).
    axes, progress, callback
        As in :func:`sirt`.

    Returns
    -------
    Reconstruction
        Its ``weighted`` is the root of Pearson's chi^2, sum (b - A x)^2 / A x.

    Raises
    ------
    ParameterError, ArrayError (also for negative numbers), and what the operator raises

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.mlem(A, A(x), iterations=50)
    >>> bool(np.abs(found.image - x).mean() < 0.05), bool(found.image.min() >= 0)
    (True, True)
    """
    visited = _visited(A, 1)
    return _maximise(Run(A, projections, iterations, x0, mask, axes, progress, callback), *visited, x0 is None)


@checked
def os_em(
    A: Operator,
    projections: Given,
    iterations: int = 5,
    *,
    subsets: Subsets | None = None,
    x0: AnyArray | None = None,
    mask: AnyArray | None = None,
    order: str = "golden",
    seed: int = 0,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback[Given] | None = None,
) -> Reconstruction[Given]:
    """``x *= C_s^-1 A_s^T (b_s / A_s x)`` for one block s of views after the other; an iteration visits all blocks.

    About as many times as fast as :func:`mlem` as there are blocks, but the likelihood may fall: of data that no image
    explains it ends in a cycle (Hudson and Larkin, IEEE Trans. Med. Imaging 13, 601, 1994). ``subsets``, ``order`` and
    ``seed`` are as in :func:`os_sart`, the other arguments, result and errors as in :func:`mlem`.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    >>> x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    >>> found = gt.os_em(A, A(x), iterations=10, subsets=4)
    >>> bool(np.abs(found.image - x).mean() < 0.05), bool(found.image.min() >= 0)
    (True, True)
    """
    visited = _visited(A, subsets, order, seed)
    return _maximise(Run(A, projections, iterations, x0, mask, axes, progress, callback), *visited, x0 is None)


def _maximise(run: Run, blocks: list[np.ndarray], order: Callable[[], np.ndarray], flat: bool) -> Reconstruction:
    """The update as x += x C^-1 A^T (b / A x - 1), which rounds less where it has converged. A ray without a ratio
    changes nothing. What only rounding leaves of a voxel is 0: the ratios of a later block would make it grow again."""
    backend, A = run.backend, run.A
    rounding = _LEFT * float(np.finfo(backend.dtype).eps)
    with run.until_interrupted():
        gradient, spare = (backend.full(A.image_shape, 0.0) for _ in range(2))
        work = backend.full(A.data_shape, 0.0)
        run.refuse_negative("projections", run.b, work)
        if flat:
            run.start_with(1.0)  # an interrupt in what follows leaves an image that one can start from
            run.start_with(run.level(gradient, work))
        else:
            run.refuse_negative("x0", run.image, gradient)
            run.masked(run.image)
            run.rescale(spare, work)  # else b / A x - 1 would be -1 to rounding where x0 is large
        del work
        visited = Blocks(run, blocks, compared=True)
        inverses = {shape: backend.full(shape, 0.0) for shape in visited.work}
        for _ in range(run.iterations):
            began, norms, source = time.perf_counter(), list[Norms](), run.image
            for part in (visited.parts[i] for i in order()):
                columns = visited.columns(part)
                ax = part.A.forward(source, out=visited.work[tuple(part.A.data_shape)])
                inverse = inverses[tuple(part.A.data_shape)]
                backend.axpy(0.0, ax, ax, out=inverse)
                backend.reciprocal(inverse, _ROUNDING)
                norms.append(backend.residual(part.b, ax, inverse))
                _read_some(norms)
                g = part.A.back(ax, out=gradient)
                backend.multiply(g, columns)
                backend.update(source, 1.0, source, g, 0.0, None, run.mask, spare, rounding)
                source = spare
            plain, weighted = math.sqrt(sum(n.plain for n in norms)), math.sqrt(sum(n.weighted for n in norms))
            spare = run.finish(spare, plain, weighted, time.perf_counter() - began)
            if run.stops():
                break
    return run.result()
