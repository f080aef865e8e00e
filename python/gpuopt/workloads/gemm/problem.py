"""Problems of the matrix product: random operands, and rows of the result that are compared with fp64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpuopt._core import Device, ParameterError
from gpuopt.arrays import to_device
from gpuopt.checked import checked, real_dtype
from gpuopt.configuration import Configuration, complete
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory, rounding
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.gemm import operation
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.choice import Sizes
from gpuopt.workloads.gemm.choice import chosen as chosen_of
from gpuopt.workloads.gemm.peers import peers
from gpuopt.workloads.gemm.precision import FAST_FP32, FORMS, NATIVE, Form

ALL_PRODUCTS = 1e10  # up to which the reference computes the whole result, in some seconds
# Beside each problem: sizes that leave 7 of 64, and more than a thousand steps; that whole tiles of 16 divide and
# larger ones do not; that are below a tile, or a vector, along one side, the last in parts of k.
AWKWARD = ((71, 135, 1031), (48, 48, 48), (199, 263, 3), (3, 7, 331))
# And a batch of products of transposed operands, all with one addend: M, N, K, products, alpha, beta.
WHOLE_CALL = (71, 103, 37, 3, -1, 3)
FEWEST_ROWS = 32  # of a larger product are checked at least
# Whole calls beside the plain one, for what papers say of a step beside a CPU: Jang's first and last.
CALLED_STEPS = ("paper:naive", "paper:multiple_output")
_FLOPS_COUNTED = "2 M N K, whatever the precision"


@checked
def gemm(  # long: its arguments, and every field of a problem, each named once
    m: int,
    n: int | None = None,
    k: int | None = None,
    dtype: str | np.dtype[Any] = "float32",
    distribution: str = "uniform",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
    precision: str | None = None,
    batch: int = 1,
) -> Problem:
    """Return the problem ``A @ B`` for A (m, k) and B (k, n), float32 or float64; n and k are m where left out.
    With a ``batch`` above 1 it is so many products, of A (batch, m, k) and B (batch, k, n).

    ``distribution``, of the values, is one of ``gpuopt.workloads.gemm.reference.DISTRIBUTIONS``; "uniform" is from -1
    to 1. With more than 1e10 multiplications, only some rows of the result (of a batch, products), spread from the
    first to the last, are compared with the reference. ``precision`` is that of the whole call and of tuning; None is
    the arrays' own. With ``max_bytes``, all sizes are halved until the problem fits these bytes; ``notes`` then says
    so. Raises ParameterError, also for sizes that need more than half of the free memory, before any data are made.

    Examples
    --------
    >>> problem = problems.gemm(8, 4, 2)
    >>> problem.sizes, problem.flops, problem.reference.shape
    ({'M': 8, 'N': 4, 'K': 2}, 128.0, (8, 4))
    """
    kind, wanted = real_dtype(dtype), (m, m if n is None else n, m if k is None else k)
    _check(wanted, distribution, precision, batch)
    chosen = None if device is None else select(device)
    (m, n, k), notes = memory.fit(
        wanted,
        lambda extents: _needs(extents, kind, batch),
        lambda extents: tuple(max(1, length // 2) for length in extents),
        chosen,
        max_bytes,
        "m, n, k",
    )
    a, b = _operands(distribution, (m, n, k), seed, kind, batch)
    count, each = (m, n * k) if batch == 1 else (batch, m * n * k)
    rows = _rows(count, each, seed)
    if rows is not None:
        of = "rows of the result" if batch == 1 else "products"
        notes.append(f"{len(rows):,} of the {count:,} {of}, spread over all, are held against the reference")
    left, right = (a, b) if rows is None else (a[rows], b if batch == 1 else b[rows])
    magnitude = oracle.magnitude(left, right)
    held = OnDevices(lambda device: (to_device(a, device), to_device(b, device)))
    # On a CPU, fast_fp32 is float32 itself.
    fast = chosen is not None and chosen.type != "cpu" and precision is None and kind == np.float32
    # Devices may flush subnormal products to zero.
    flushed = (k + 2) * float(np.finfo(kind).tiny)

    def tolerance(form: Form | None) -> np.ndarray:
        relative = form.tolerance(k) if form else (k + 2) * rounding.unit_roundoff(kind)
        return np.asarray(relative * magnitude + flushed)

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output((*a.shape[:-1], n), kind, device)
        return BoundPlan(operation.prepare_gemm(*held(device), out, configuration), out)

    def plain(device: Device) -> Configuration:
        return chosen_of(device, kind, None, Sizes(batch, m, n, k))

    return Problem(
        workload="gemm",
        name="_".join(["gemm", _name(m, n, k, batch), *([distribution] if distribution != "uniform" else [])]),
        dtype=kind,
        sizes={"M": m, "N": n, "K": k}
        | ({"batch": batch} if batch > 1 else {})
        | ({"checked": len(rows)} if rows is not None else {}),
        seed=seed,
        inputs={"A": a, "B": b, "magnitude": magnitude},
        reference=oracle.product(left, right),
        tolerance=tolerance(FORMS[precision] if precision else None),
        footprint_bytes=(m * k + k * n + m * n) * batch * kind.itemsize,
        prepare=prepare,
        flops=2.0 * m * n * k * batch,
        flops_counted=_FLOPS_COUNTED,
        peers=peers,
        notes=notes,
        tolerance_of=lambda configuration: tolerance(_form(configuration)[1]),
        calls=_calls(a, b, precision, fast),
        checked=rows,
        awkward=cache(lambda: [*(exact(*sizes, kind) for sizes in AWKWARD), whole_call(kind)]),
        input_properties={"precision": precision or NATIVE},
        default_configuration=complete("gemm", Configuration("tensor", **FORMS[precision].parameters))
        if precision
        else None,
        plain=None if precision else plain,
        # Sums that stay in the tensor unit lose digits with every step (PROMOTE=0).
        tunable=lambda configuration: (
            _form(configuration)[0] == (precision or NATIVE) and configuration.parameters.get("PROMOTE", 1) == 1
        ),
    )


def exact(m: int, n: int, k: int, dtype: np.dtype[Any]) -> Problem:
    """Return the problem of whole numbers from -8 to 8, whose products and sums are exact in any order while
    64 k < 2^24: the arrays' own precision is allowed no error, others what they round."""
    random = np.random.default_rng([m, n, k])
    a, b = (random.integers(-8, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))
    return _exact(f"gemm_{m}x{n}x{k}_whole_numbers", (m, n, k), a, b)


def whole_call(dtype: np.dtype[Any]) -> Problem:
    """Return such a problem with all that :func:`gpuopt.gemm` offers beside a product."""
    m, n, k, batch, alpha, beta = WHOLE_CALL
    random = np.random.default_rng(WHOLE_CALL[:3])
    a, b, c = (random.integers(-8, 9, shape).astype(dtype) for shape in ((batch, k, m), (batch, n, k), (m, n)))
    given = {"alpha": alpha, "beta": beta, "transpose_a": True, "transpose_b": True}
    return _exact(f"gemm_{m}x{n}x{k}_batch_whole_numbers", (m, n, k), a, b, c, **given)


def _exact(
    name: str, sizes: tuple[int, int, int], a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, **given: Any
) -> Problem:
    reference, magnitude = oracle.product(a, b, c, **given), oracle.magnitude(a, b, c, **given)
    held = OnDevices(
        lambda device: (to_device(a, device), to_device(b, device), c if c is None else to_device(c, device))
    )

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output(reference.shape, a.dtype, device)
        on_a, on_b, on_c = held(device)
        return BoundPlan(operation.prepare_gemm(on_a, on_b, out, configuration, C=on_c, **given), out)

    def tolerance(configuration: Configuration) -> np.ndarray:
        form = _form(configuration)[1]
        return np.zeros(reference.shape) if form is None else np.asarray(form.tolerance(sizes[2]) * magnitude)

    return Problem(
        workload="gemm",
        name=name,
        dtype=a.dtype,
        sizes=dict(zip("MNK", sizes, strict=True)),
        seed=0,
        inputs={"A": a, "B": b} | ({} if c is None else {"C": c}),
        reference=reference,
        tolerance=np.zeros(reference.shape),
        tolerance_of=tolerance,
        footprint_bytes=(a.size + b.size + reference.size) * a.dtype.itemsize,
        prepare=prepare,
    )


def _name(m: int, n: int, k: int, batch: int) -> str:
    return f"{m}x{n}x{k}" + (f"x{batch}" if batch > 1 else "")


def _operands(
    distribution: str, extents: tuple[int, int, int], seed: int, dtype: np.dtype[Any], batch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B; those of a batch are cut from the operands of one large product, so that no two are alike."""
    m, n, k = extents
    if batch == 1:
        return oracle.operands(distribution, m, n, k, seed, dtype)
    a, b = oracle.operands(distribution, batch * m, n * batch, k, seed, dtype)
    return a.reshape(batch, m, k), np.ascontiguousarray(b.reshape(k, batch, n).swapaxes(0, 1))


def _check(wanted: tuple[int, int, int], distribution: str, precision: str | None, batch: int) -> None:
    """Raise ParameterError for sizes, a distribution or a precision that is not offered."""
    if min(wanted) < 1:
        raise ParameterError(f"m, n, k: {wanted} give no product; use whole numbers of at least 1")
    if not 1 <= batch < 2**31:
        raise ParameterError(f"batch: {batch} products are no problem; use a whole number of at least 1")
    if distribution not in oracle.DISTRIBUTIONS:
        known = ", ".join(oracle.DISTRIBUTIONS)
        raise ParameterError(f"distribution: there is none called {distribution!r}; use one of {known}")
    if precision is not None and precision not in FORMS:
        raise ParameterError(f"precision: {precision!r} is none; use one of {', '.join(FORMS)}, or None")


def _calls(
    a: np.ndarray, b: np.ndarray, precision: str | None, fast: bool
) -> dict[str, Callable[[Device], Callable[[], np.ndarray]]]:
    """Return what makes each whole call for a device, by what a user writes; NumPy arrays travel each time."""
    asked: list[dict[str, str]] = [{"precision": precision} if precision else {}]
    asked += [{"precision": FAST_FP32}] if fast else []
    asked += [{"variant": step} for step in CALLED_STEPS if precision is None and a.dtype == np.float32]

    def maker(words: dict[str, str]) -> Callable[[Device], Callable[[], np.ndarray]]:
        return lambda device: lambda: operation.gemm(a, b, device=device, **words)  # type: ignore[arg-type]

    return {
        f"gpuopt.gemm(A, B{''.join(f', {name}={value!r}' for name, value in words.items())})": maker(words)
        for words in asked
    }


def _form(configuration: Configuration) -> tuple[str, Form | None]:
    """Return the name of the precision that a configuration computes in, and its Form; None for the arrays' own."""
    given = configuration.parameters.items()
    found = ((name, form) for name, form in FORMS.items() if form.parameters.items() <= given)
    return next(found, (NATIVE, None))


def precisions() -> list[Configuration]:
    """Return a configuration for each precision other than the arrays' own, and two more whose sums stay in the tensor
    unit."""
    forms = {name: form.parameters for name, form in FORMS.items()}
    kept = [{**forms[name], "PROMOTE": 0} for name in ("tf32x3", "fp16x3")]
    return [complete("gemm", Configuration("tensor", **parameters)) for parameters in (*forms.values(), *kept)]


def _rows(m: int, products_a_row: int, seed: int) -> np.ndarray | None:
    """Return the rows to check, None for all: one random row of each of some equal parts of the result, as many as the
    reference has time for, with the first and the last row among them."""
    if m * products_a_row <= ALL_PRODUCTS:
        return None
    count = min(m, max(FEWEST_ROWS, int(ALL_PRODUCTS / products_a_row)))
    if count == m:
        return None
    places = (np.arange(count) + np.random.default_rng([seed, 2]).random(count)) * m / count
    rows = np.minimum(places.astype(np.int64), m - 1)
    rows[0], rows[-1] = 0, m - 1
    return rows


def _needs(extents: tuple[int, ...], dtype: np.dtype[Any], batch: int) -> memory.Needs:
    m, n, k = extents
    arrays = (m * k + k * n + m * n) * batch * dtype.itemsize
    # Host: operands while they are drawn in fp64; then the reference's operands and results.
    if batch == 1:
        rows = min(m, max(FEWEST_ROWS, int(ALL_PRODUCTS / (n * k))))
        wide = 8 * max(m * k + k * n, 2 * k * n + 2 * rows * k + 4 * rows * n)
    else:
        some = min(batch, max(FEWEST_ROWS, int(ALL_PRODUCTS / (m * n * k))))
        wide = 8 * max((m * k + k * n) * batch, (2 * m * k + 2 * k * n + 4 * m * n) * some)
    # Device: each variant in a comparison has its own result, and some have packed operands.
    largest = max(m * k, k * n, m * n) * batch * dtype.itemsize
    return memory.Needs(host=arrays + wide, device=4 * arrays, largest=largest)
