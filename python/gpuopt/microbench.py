"""Measurements of a device: bandwidth by data type, cache and access pattern, work-group shapes, rates of operations,
latency, launches and transfers.

Each function selects rows of the table ``gpuopt.variants("microbench")``, verifies and times them through
:func:`gpuopt.lab.survey`, and returns a study. Print it, or use ``.points`` (rows), ``.to_pandas()`` and
``gpuopt.lab.device_plots``. ``bytes`` is the size of the source array; None takes several times the last-level cache.
``device`` is what :func:`gpuopt.use` takes. The other keyword arguments are ``protocol``, ``store`` and ``progress`` of
:func:`gpuopt.lab.survey`. All raise ParameterError for an unknown word and NoDeviceError without a device; what a
device does not support becomes a row with its reason. The source of most is Yang, Xiang, Mantor, Zhou 2012.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import variants
from gpuopt.lab.report import Study
from gpuopt.selection import Selector, select
from gpuopt.workloads.microbench.asking import OF_TYPE, ask, by_size, called, local, stream, typed
from gpuopt.workloads.microbench.points import Point
from gpuopt.workloads.microbench.questions import (
    ACTIVATIONS,
    BLOCK_KERNELS,
    CACHES,
    PATTERNS,
    Levels,
    activation_points,
    block_points,
    element,
    fitting,
    packs,
    pattern_bytes,
    points,
    shapes,
    some_sizes,
    sweep_sizes,
    types_for,
    vias,
)
from gpuopt.workloads.microbench.rates import (
    branches,
    concurrency,
    flops,
    integer,
    latency,
    launch_overhead,
    registers,
    special,
    tensor,
    transfer,
)

__all__ = [
    "access_pattern",
    "activation_matrix",
    "block_dimensions",
    "branches",
    "cache_bandwidth",
    "concurrency",
    "copy_bandwidth",
    "flops",
    "integer",
    "latency",
    "launch_overhead",
    "read_bandwidth",
    "registers",
    "special",
    "tensor",
    "transfer",
    "triad_bandwidth",
    "working_sets",
    "write_bandwidth",
]


# ---------------------------------------------------------------- bandwidth


def copy_bandwidth(
    dtype: str | None = "float4",
    bytes: int | None = None,
    pattern: str | None = None,
    local_size: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure how fast elements of one type are copied, in GB/s read and written together.

    Parameters
    ----------
    bytes
        Size of the source array in bytes; None takes several times the last-level cache.
    dtype
        ``"float4"``, ``"char"``, ``"struct5"`` and so on; None measures all types that the pattern has,
        as in Figures 1 and 2 of Yang 2012: "packed" has scalars, "staged" structs, "chunks" no structs.
    pattern
        ``"coalesced"`` (neighbouring work-items copy neighbouring elements), ``"chunks"`` (few work-items, each with a
        contiguous part), ``"packed"`` and ``"staged"`` (the paper's remedies for narrow and wide types; staged as
        scalars and, where their number is even, as pairs); None takes what suits the device and the type.
    local_size
        Work-items in a work-group; None takes what the pattern has: 256, of "staged" 128, of "chunks" 1, which has no
        other.

    Each work-item copies one element, as in the paper, but for "chunks"; through ``lab.survey`` several may be in
    flight (AHEAD).

    Raises ParameterError for a type, pattern or size of work-groups that there is not, or that the pattern does not
    have, and for bytes that do not fit the memory, NoDeviceError.

    Examples
    --------
    >>> study = microbench.copy_bandwidth("char")  # doctest: +SKIP
    >>> [row["gb_s"] for row in study.points]  # doctest: +SKIP
    """
    chosen = select(device)
    types = types_for(pattern) if dtype is None else (dtype,)
    if dtype is None and pattern is None:
        pattern = "coalesced and mends"  # types are compared in one shape
    wanted = []
    for name in types:
        scalar, levels = element(name)
        rows = shapes("copy", by_size(local_size) if pattern is None else pattern, chosen, scalar, levels)
        typed(name, rows, local_size)
        for variant in rows:
            via = vias(levels["WIDTH"]) if pattern == "staged" else 1
            given: Levels = {"AHEAD": 1, "BYTES": packs(scalar), "VIA": via, **levels, **local(local_size)}
            with called(width=OF_TYPE):
                wanted += points(chosen, [variant], scalar, bytes, given)
    return ask(wanted, chosen, how)


def read_bandwidth(
    dtype: str = "float4",
    bytes: int | None = None,
    pattern: str | None = None,
    local_size: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure how fast elements of one type are read and added up, in GB/s, with several loads in flight per work-item.

    The parameters and errors are those of :func:`copy_bandwidth`; patterns are ``"coalesced"`` and ``"chunks"``.

    Examples
    --------
    >>> study = microbench.read_bandwidth("float4", bytes=2**28)  # doctest: +SKIP
    >>> [row["gb_s"] for row in study.points]  # doctest: +SKIP
    """
    return stream("read", dtype, bytes, pattern, local_size, device, how)


def write_bandwidth(
    dtype: str = "float4",
    bytes: int | None = None,
    pattern: str | None = None,
    local_size: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure how fast an array is filled, in GB/s written. Cache lines that a CPU reads before it writes are not
    counted.

    The parameters and errors are those of :func:`read_bandwidth`.

    Examples
    --------
    >>> study = microbench.write_bandwidth("float4", local_size=64)  # doctest: +SKIP
    >>> [row["gb_s"] for row in study.points]  # doctest: +SKIP
    """
    return stream("write", dtype, bytes, pattern, local_size, device, how)


def triad_bandwidth(
    dtype: str = "float4",
    bytes: int | None = None,
    pattern: str | None = None,
    local_size: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure how fast a = b + s c is, in GB/s of two arrays read and one written. ``bytes`` is the size of b and c
    together; the other parameters are those of :func:`read_bandwidth`.

    Examples
    --------
    >>> study = microbench.triad_bandwidth(bytes=2**28)  # doctest: +SKIP
    >>> [row["gb_s"] for row in study.points]  # doctest: +SKIP
    """
    return stream("triad", dtype, bytes, pattern, local_size, device, how)


def cache_bandwidth(
    kind: str = "l1",
    uniform: bool | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure how fast small data are read repeatedly, in GB/s requested by all work-items (Yang 2012, Fig. 13).

    Parameters
    ----------
    kind
        ``"constant"``, ``"local"``, ``"image1d"``, ``"image2d"``; or ``"l1"`` and ``"l2"``, which read global memory
        with working sets that fit these caches.
    uniform
        For constant memory: whether all work-items of a group read the same address at a time; None measures both.

    Raises ParameterError for another kind, and for ``uniform`` of another memory.

    Examples
    --------
    >>> study = microbench.cache_bandwidth("constant", uniform=True)  # doctest: +SKIP
    >>> [(row["footprint_bytes"], row["gb_s"]) for row in study.points]  # doctest: +SKIP
    """
    chosen = select(device)
    if kind not in CACHES:
        raise ParameterError(f"kind: {kind!r} is none; use one of {', '.join(CACHES)}")
    family, sizes, levels = CACHES[kind]
    if uniform is not None:
        if "UNIFORM" not in levels:
            raise ParameterError(f"uniform: it is of constant memory; leave it None for {kind!r}")
        levels = {**levels, "UNIFORM": int(uniform)}
    wanted: list[Point] = []
    for size in sizes[chosen.type == "cpu"]:
        width = 256 if family == "image2d" else 0
        wanted += points(chosen, fitting(family, chosen), "float32", size, levels, width=width)
    return ask(wanted, chosen, how)


def working_sets(
    sizes: Iterable[int] | None = None,
    dtype: str | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure the bandwidth of reading working sets of ``sizes`` bytes; None takes sizes from 16 KiB to beyond all
    caches.

    ``dtype`` is a type's name as in :func:`copy_bandwidth`; None takes ``"float4"``, on a CPU ``"float16"``. The steps
    in the curve are the caches.

    Raises ParameterError for another type, and for a size that does not fit the memory.

    Examples
    --------
    >>> study = microbench.working_sets([2**14], protocol="short")
    >>> [(row["footprint_bytes"], row["status"]) for row in study.points]
    [(16384, 'ok')]
    """
    chosen = select(device)
    asked, rows = sweep_sizes(chosen, 4) if sizes is None else some_sizes(sizes), fitting("cached", chosen)
    scalar, levels = typed(("float16" if chosen.type == "cpu" else "float4") if dtype is None else dtype, rows)
    with called(bytes="sizes: ", width=OF_TYPE):
        return ask([one for size in asked for one in points(chosen, rows, scalar, size, levels)], chosen, how)


# ---------------------------------------------------------------- addressing and shapes


def access_pattern(
    kind: str = "adjacent",
    bytes: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure what a pattern of addresses costs, and the remedy for it (Yang 2012, V.A.2 and Fig. 3).

    ``kind`` is ``"adjacent"``, ``"row"``, ``"shared"``, ``"strided"``, ``"unaligned"``, ``"random"`` or
    ``"broadcast"``. ``bytes`` is the size of the data in bytes; None takes what suits the device.

    Raises ParameterError for another kind and for bytes that do not fit the memory, NoDeviceError.

    Examples
    --------
    >>> study = microbench.access_pattern("row")  # doctest: +SKIP
    >>> [(row["variant"], row["gb_s"]) for row in study.points]  # doctest: +SKIP
    """
    if kind not in PATTERNS:
        raise ParameterError(f"kind: {kind!r} is none; use one of {', '.join(PATTERNS)}")
    chosen = select(device)
    rows = [v for v in variants("microbench") if v.family == kind]
    size = pattern_bytes(chosen) if bytes is None else bytes
    wanted = points(chosen, rows, "float32", size, PATTERNS[kind], width=64 if kind == "row" else 0)
    return ask(wanted, chosen, how)


def block_dimensions(kernel: str = "copy2d", width: int | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure every shape of work-group: all powers of two in width and height with 64 to 1024 items (Yang 2012, V.B).

    ``kernel`` is ``"copy2d"`` (no reuse, Fig. 5), ``"transpose"``, ``"tiled"`` (reuse through local memory, Fig. 7) or
    ``"cache_reuse"`` (reuse through the caches). ``width`` is the number of scalars in a line of the array.

    Raises ParameterError for another kernel, and for a width that does not fit the memory.

    Examples
    --------
    >>> study = microbench.block_dimensions("transpose", width=4096)  # doctest: +SKIP
    >>> max(study.points, key=lambda row: row["gb_s"])["params"]  # doctest: +SKIP
    """
    if kernel not in BLOCK_KERNELS:
        raise ParameterError(f"kernel: {kernel!r} is none; use one of {', '.join(BLOCK_KERNELS)}")
    chosen = select(device)
    with called(bytes="width: "):
        return ask(block_points(chosen, kernel, width), chosen, how)


def activation_matrix(
    form: str | None = "pow", sizes: Iterable[int] | None = None, device: Selector = None, **how: Any
) -> Study:
    """Measure the activation matrix of two N x N arrays for every shape of work-group with 256 and 512 items, and for
    8 x 128 (Yang 2012, V.B.3, Fig. 8 and 9).

    Parameters
    ----------
    form
        ``"pow"``: the loop as the paper prints it; ``"exp"``: with exp of the sum behind it, ``"pown"``: that with the
        square by pown, ``"product"``: the squared distance alone, no pow. None measures all.
    sizes
        N; None takes 1024, 2048 and 4096, on a CPU 128 and 256.

    Rates count a difference, a square and an addition a pair of scalars, whatever the form.

    Raises ParameterError for another form, and for a size below 1 or that does not fit the memory.

    Examples
    --------
    >>> study = microbench.activation_matrix("pow", sizes=[1024])  # doctest: +SKIP
    >>> [(row["params"], row["gflop_s"]) for row in study.points]  # doctest: +SKIP
    """
    if form is not None and form not in ACTIVATIONS:
        raise ParameterError(f"form: {form!r} is none; use one of {', '.join(ACTIVATIONS)}")
    chosen = select(device)
    with called(bytes="sizes: ", width="sizes: "):
        return ask(activation_points(chosen, ACTIVATIONS if form is None else (form,), sizes), chosen, how)


globals().update({name: checked(globals()[name]) for name in __all__})  # each function
