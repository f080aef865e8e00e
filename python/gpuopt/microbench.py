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
from gpuopt.workloads.microbench.asking import ask, by_size, execution, local, named, stream
from gpuopt.workloads.microbench.points import Point, TransferPoint
from gpuopt.workloads.microbench.questions import (
    ACTIVATIONS,
    BLOCK_KERNELS,
    BRANCHES,
    CACHES,
    DATA_TYPES,
    LIVE_VALUES,
    MIB,
    PATTERNS,
    Levels,
    activation_points,
    block_points,
    element,
    family_rows,
    fitting,
    memory_bytes,
    packs,
    pattern_bytes,
    points,
    shapes,
    some_sizes,
    sweep_sizes,
    vias,
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
    dtype
        ``"float4"``, ``"char"``, ``"struct5"`` and so on; None measures all types, as in Figures 1 and 2 of Yang 2012.
    pattern
        ``"coalesced"`` (neighbouring work-items copy neighbouring elements), ``"chunks"`` (few work-items, each with a
        contiguous part), ``"packed"`` and ``"staged"`` (the paper's remedies for narrow and wide types; staged as
        scalars and, where their number is even, as pairs); None takes what suits the device and the type.
    local_size
        Work-items in a work-group; None takes 256.

    Each work-item copies one element, as in the paper; through ``lab.survey`` several may be in flight (AHEAD).
    """
    chosen = select(device)
    types = DATA_TYPES if dtype is None else (dtype,)
    if dtype is None and pattern is None:
        pattern = "coalesced and mends"  # types are compared in one shape
    wanted = []
    for name in types:
        scalar, levels = element(name)
        for variant in shapes("copy", by_size(local_size) if pattern is None else pattern, chosen, scalar, levels):
            via = vias(levels["WIDTH"]) if pattern == "staged" else 1
            given: Levels = {"AHEAD": 1, "BYTES": packs(scalar), "VIA": via, **levels, **local(local_size)}
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

    The parameters are those of :func:`copy_bandwidth`; patterns are ``"coalesced"`` and ``"chunks"``.
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

    The parameters are those of :func:`read_bandwidth`.
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
    """
    chosen = select(device)
    if kind not in CACHES:
        raise ParameterError(f"kind: {kind!r} is none; use one of {', '.join(CACHES)}")
    family, sizes, levels = CACHES[kind]
    if uniform is not None:
        levels = {**levels, "UNIFORM": int(uniform)}
    wanted: list[Point] = []
    for size in sizes[chosen.type == "cpu"]:
        width = 256 if family == "image2d" else 0
        wanted += points(chosen, fitting(family, chosen), "float32", size, levels, width=width)
    return ask(wanted, chosen, how)


def working_sets(
    sizes: Iterable[int] | None = None,
    dtype: str = "float4",
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure the bandwidth of reading working sets of ``sizes`` bytes; None takes sizes from 16 KiB to beyond all
    caches.

    ``dtype`` is a type's name as in :func:`copy_bandwidth`. The steps in the curve are the caches.
    """
    chosen = select(device)
    scalar, levels = element(dtype)
    levels = {"WIDTH": 16 if chosen.type == "cpu" and scalar == "float32" else levels["WIDTH"]}
    asked, rows = sweep_sizes(chosen, 4) if sizes is None else some_sizes(sizes), fitting("cached", chosen)
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
    ``"broadcast"``.
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
    """
    if kernel not in BLOCK_KERNELS:
        raise ParameterError(f"kernel: {kernel!r} is none; use one of {', '.join(BLOCK_KERNELS)}")
    chosen = select(device)
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
    """
    if form is not None and form not in ACTIVATIONS:
        raise ParameterError(f"form: {form!r} is none; use one of {', '.join(ACTIVATIONS)}")
    chosen = select(device)
    return ask(activation_points(chosen, ACTIVATIONS if form is None else (form,), sizes), chosen, how)


# ---------------------------------------------------------------- branches and registers


def branches(
    paths: int | Iterable[int] | None = None,
    length: int | Iterable[int] | None = None,
    divergent: bool | None = None,
    dtype: str = "float",
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure branches that neighbouring work-items take apart, beside the same branches taken by 64 neighbours alike
    (Daga 2011, II.B and III.B).

    Parameters
    ----------
    paths
        Paths of the branch, of 1 (no branch), 2, 4, 8, 16 and 32; None takes all.
    length
        Dependent multiply-adds of a path, whichever is taken: of 16, 64 and 256; None takes 16 and 64.
    divergent
        Whether neighbours take different paths; None measures both.

    A rate counts what work-items asked for, 2 flop a multiply-add. At the same ``paths`` and ``length``, uniform over
    divergent is the loss by divergence; one path over two uniform ones is what a branch itself costs.
    """
    asked = {"PATHS": paths, "LENGTH": length, "DIVERGENT": None if divergent is None else int(divergent)}
    return execution("branches", BRANCHES, asked, dtype, device, how)


def registers(
    live: int | Iterable[int] | None = None,
    chained: bool | None = None,
    local_size: int | None = None,
    dtype: str = "float",
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure multiply-adds per second of work-items that hold ``live`` values at once, 8 to 512, until these leave the
    registers (Daga 2011, III.C; Jang 2009, 3.3).

    Parameters
    ----------
    live
        Numbers of values; None takes all levels of the table.
    chained
        Whether each value waits for the one before, so that many work-items are needed to keep a device busy; None
        measures both.
    local_size
        Work-items in a work-group; None takes 256.

    Rows have ``registers`` and ``spill_bytes`` where the compiler tells them, and ``private_bytes`` of the kernel.
    """
    asked = {"LIVE": live, "CHAINED": None if chained is None else int(chained), "LOCAL": local_size}
    return execution("registers", LIVE_VALUES, asked, dtype, device, how)


# ---------------------------------------------------------------- operations, latency, the way there


def flops(dtype: str = "float", width: int | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure fused multiply-adds per second, two flop each, alone and beside as many additions, which some devices
    issue at once, in vectors of ``width`` (None: what may be best)."""
    chosen = select(device)
    widths = (width,) if width is not None else ((4, 8, 16) if chosen.type == "cpu" else (1, 2, 4))
    chains = (8, 16) if chosen.type != "cpu" else (4, 8)
    wanted = points(chosen, family_rows("flops"), element(dtype)[0], 16384, {"WIDTH": widths, "CHAINS": chains})
    return ask(wanted, chosen, how)


def special(function: str | None = None, dtype: str = "float", device: Selector = None, **how: Any) -> Study:
    """Measure results of a special function per second: ``"native_rsqrt"``, ``"divide"`` ...; None: all."""
    return named("special", function, "function", element(dtype)[0], device, how)


def integer(op: str | None = None, dtype: str = "uint", device: Selector = None, **how: Any) -> Study:
    """Measure integer operations per second: ``"int_mad"`` (a multiply-add) or ``"int_xorshift"``; None: both."""
    return named("integer", op, "op", element(dtype)[0], device, how)


def tensor(instruction: str | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure flop per second of matrix products on NVIDIA's tensor cores, summed in fp32, by ``"mma_fp16"``,
    ``"mma_bf16"`` or ``"mma_tf32"``; None measures all. On other devices the rows say that PTX is not supported."""
    return named("tensor", instruction, "instruction", "float32", device, how)


def latency(memory: str = "global", working_set: int | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure the time of one dependent load in ns: a pointer chase through ``"global"``, ``"local"`` or ``"constant"``
    memory.

    ``working_set`` in bytes decides which cache holds the chain. None takes 16 KiB, and for global memory several sizes
    up to one that no cache holds.
    """
    chosen = select(device)
    names = {"global": "chase", "local": "chase_local", "constant": "chase_constant"}
    if memory not in names:
        raise ParameterError(f"memory: {memory!r} is none; use one of {', '.join(names)}")
    several = (16384, MIB, 8 * MIB, memory_bytes(chosen)) if memory == "global" else (16384,)
    rows = [v for v in variants("microbench") if v.name == names[memory]]
    sizes = several if working_set is None else (working_set,)
    return ask([one for size in sizes for one in points(chosen, rows, "uint32", size, {})], chosen, how)


def launch_overhead(device: Selector = None, **how: Any) -> Study:
    """Measure the time of a kernel that does nothing: by OpenCL events, and in the rows' ``wall_ms`` by the host's
    clock."""
    chosen = select(device)
    return ask(points(chosen, family_rows("launch"), "float32", 16384, {}), chosen, how)


def transfer(
    direction: str | None = None,
    pinned: bool | None = None,
    bytes: int | None = None,
    device: Selector = None,
    **how: Any,
) -> Study:
    """Measure copies between host and device in GB/s: ``"upload"`` or ``"download"``, from memory that the driver
    allocated (``pinned``) or from any; None measures both."""
    if direction not in (None, "upload", "download"):
        raise ParameterError(f"direction: {direction!r} is none; use upload or download")
    ways = (direction,) if direction else ("upload", "download")
    kinds = (True, False) if pinned is None else (bool(pinned),)
    size = 64 * MIB if bytes is None else bytes
    wanted = [TransferPoint(way, kind, size) for way in ways for kind in kinds]
    return ask(wanted, select(device), how)


def concurrency(device: Selector = None, **how: Any) -> Study:
    """Measure how many work-groups run at the same time: a chain of dependent operations takes the same time for any
    number of them until the device is full."""
    chosen = select(device)
    (row,) = family_rows("concurrency")
    groups = next(p.levels for p in row.parameters if p.name == "GROUPS")
    wanted = points(chosen, [row], "float32", 16384, {"GROUPS": groups}, trips=256)
    return ask(wanted, chosen, how)


globals().update({name: checked(globals()[name]) for name in __all__})  # each function above
