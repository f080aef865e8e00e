"""Reconstruction by iteration: SIRT, SART, OS-SART and CGLS, on any operator.

Data stay with the operator's backend from the first iteration to the last. Ctrl-C raises no exception here: it ends the
iterations, and the image after the last finished one is returned with its history.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import UnsupportedError
from gpuopt.checked import checked
from gpuopt.tomo.operators import Array, Norms, Operator
from gpuopt.tomo.ordering import blocks_of, visits
from gpuopt.tomo.reconstruction import Callback, Reconstruction, Run, Steps

_NOTHING = 1e-6  # A ray or voxel whose sum of weights is below this part of the largest counts as missed.


@checked
def sirt(
    A: Operator,
    projections: Any,
    iterations: int = 100,
    *,
    x0: Any = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: Any = None,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback | None = None,
) -> Reconstruction:
    """x += lambda C^-1 A^T R^-1 (b - A x): all views at once. R and C are the sums of A's rows and columns.

    Parameters
    ----------
    A, projections
        The operator, and b: a NumPy array or one of the operator's device, of the shape ``A.data_shape``. Never
        modified.
    x0
        The first image; zeros if None.
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
        iteration, and ends the iterations by returning True.

    Returns
    -------
    Reconstruction

    Raises
    ------
    ParameterError, ArrayError, and what the operator raises
    """
    steps, order = Steps.of(relaxation, decay, bounds), visits("sequential", np.zeros(1), 0)
    run = Run(A, projections, iterations, x0, mask, axes, progress, callback)
    return _sweeps(run, [np.arange(A.views)], order, steps)


@checked
def sart(
    A: Operator,
    projections: Any,
    iterations: int = 10,
    *,
    x0: Any = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: Any = None,
    order: str = "golden",
    seed: int = 0,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback | None = None,
) -> Reconstruction:
    """As :func:`os_sart` with blocks of one view: an update after each view, every view once in an iteration."""
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
    projections: Any,
    iterations: int = 10,
    *,
    subsets: Any = None,
    x0: Any = None,
    relaxation: float = 1.0,
    decay: float = 1.0,
    bounds: tuple[float | None, float | None] | None = None,
    mask: Any = None,
    order: str = "golden",
    seed: int = 0,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback | None = None,
) -> Reconstruction:
    """x += lambda C_s^-1 A_s^T R_s^-1 (b_s - A_s x) for one block s of views after the other; an iteration visits all
    blocks.

    ``subsets`` is how many interleaved blocks there are (None: 10, or one for each view if there are fewer), or lists
    of the views of each block. ``order`` is that of the blocks: "sequential", "random" (drawn anew for each iteration,
    by ``seed``), "golden" (steps of the golden ratio around the circle) or "max_distance" (each time the block farthest
    from those before). C_s, the column sums of a block, are kept if the backend's ``cache_bytes`` allow it; else they
    are computed at each visit, which costs a back projection. The other arguments, result and errors as in
    :func:`sirt`.
    """
    steps = Steps.of(relaxation, decay, bounds)
    blocks = blocks_of(A.views, min(10, A.views) if subsets is None else subsets)
    visited = visits(order, A.view_places[[block[0] for block in blocks]], seed)
    run = Run(A, projections, iterations, x0, mask, axes, progress, callback)
    return _sweeps(run, blocks, visited, steps)


@checked
def cgls(
    A: Operator,
    projections: Any,
    iterations: int = 20,
    *,
    x0: Any = None,
    mask: Any = None,
    axes: str = "avu",
    progress: bool = False,
    callback: Callback | None = None,
) -> Reconstruction:
    """Conjugate gradients on the normal equations: approaches the least squares solution in the fewest iterations, but
    knows no bounds.

    Where a ``mask`` is 0 the image stays as it was. The other arguments, result and errors as in :func:`sirt`; also
    raises UnsupportedError where the operator's transpose is not exact, which the method relies on.
    """
    if not A.exact:
        raise UnsupportedError("cgls: it needs an exact transpose; make the projector with pair='exact', or use sirt")
    run = Run(A, projections, iterations, x0, mask, axes, progress, callback)
    backend = run.backend
    with run.until_interrupted():
        spare = backend.copy(run.image)
        r = A.forward(run.image)
        backend.axpy(-1.0, r, run.b, out=r)
        g = run.masked(A.back(r))
        p, w = backend.copy(g), backend.full(A.data_shape, 0.0)
        first = gamma = backend.dot(g, g)
        for _ in range(run.iterations):
            if gamma <= first * float(np.finfo(backend.dtype).eps) ** 2:
                run.ended = "converged"
                break
            began, met = time.perf_counter(), math.sqrt(backend.dot(r, r))
            w = A.forward(p, out=w)
            step = gamma / backend.dot(w, w)
            backend.axpy(step, p, run.image, out=spare)
            backend.axpy(-step, w, r, out=r)
            g = run.masked(A.back(r, out=g))
            before, gamma = gamma, backend.dot(g, g)
            backend.axpy(gamma / before, p, g, out=p)
            spare = run.finish(spare, met, math.sqrt(before), time.perf_counter() - began)
            if run.stops():
                break
    return run.result()


@dataclass(eq=False)
class _Block:
    """A block of views: their operator, their projections b, and their weights."""

    A: Operator
    b: Array
    rows: Array
    """R^-1."""
    columns: Array | None
    """C^-1; None where it is computed at each visit."""


def _sweeps(run: Run, blocks: list[np.ndarray], order: Callable[[], np.ndarray], steps: Steps) -> Reconstruction:
    backend, A = run.backend, run.A
    with run.until_interrupted():
        gradient, spare = (backend.full(A.image_shape, 0.0) for _ in range(2))
        parts, work = _weighted(run, blocks, gradient)
        computed = None if all(part.columns is not None for part in parts) else backend.full(A.image_shape, 0.0)
        for iteration in range(run.iterations):
            began, norms, source = time.perf_counter(), list[Norms](), run.image
            for part in (parts[i] for i in order()):
                shape = part.A.data_shape
                columns = part.columns
                if columns is None:
                    backend.fill(work[shape], 1.0)
                    columns = part.A.back(work[shape], out=computed)
                    backend.reciprocal(columns, _NOTHING)
                ax = part.A.forward(source, out=work[shape])
                norms.append(backend.residual(part.b, ax, part.rows))
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


def _weighted(run: Run, blocks: list[np.ndarray], gradient: Array) -> tuple[list[_Block], dict[tuple[int, ...], Array]]:
    """The blocks with their weights, and a work array for projections of each shape that occurs."""
    A, backend = run.A, run.backend
    whole = len(blocks) == 1 and np.array_equal(blocks[0], np.arange(A.views))
    parts, work = [], dict[tuple[int, ...], Array]()
    backend.fill(gradient, 1.0)
    largest = 0.0
    for block in blocks:
        some = A if whole else A.subset(block)
        rows = some.forward(gradient)
        largest = max(largest, backend.largest(rows))
        parts.append(_Block(some, run.b if whole else backend.views(run.b, block), rows, None))
        if some.data_shape not in work:
            work[some.data_shape] = backend.full(some.data_shape, 0.0)
    kept = math.prod(A.image_shape) * backend.dtype.itemsize * len(blocks) <= backend.cache_bytes
    for part in parts:
        backend.reciprocal(part.rows, _NOTHING, largest)
        if kept or whole:
            backend.fill(work[part.A.data_shape], 1.0)
            part.columns = part.A.back(work[part.A.data_shape])
            backend.reciprocal(part.columns, _NOTHING)
    return parts, work
