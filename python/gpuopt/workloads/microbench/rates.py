"""The questions of `gpuopt.microbench` about rates of operations, branches, registers, latency, launches and transfers;
what they share is said there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import whole_number
from gpuopt.configuration import variants
from gpuopt.lab.report import Study
from gpuopt.selection import Selector, select
from gpuopt.workloads.microbench.asking import OF_TYPE, ask, called, execution, named, typed
from gpuopt.workloads.microbench.points import TransferPoint
from gpuopt.workloads.microbench.questions import BRANCHES, LIVE_VALUES, MIB, family_rows, memory_bytes, points


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

    Raises ParameterError for a level that the table does not have.

    Examples
    --------
    >>> study = microbench.branches(paths=[1, 2], length=64)  # doctest: +SKIP
    >>> [(row["params"], row["gflop_s"]) for row in study.points]  # doctest: +SKIP
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

    Raises ParameterError for a level that the table does not have.

    Examples
    --------
    >>> study = microbench.registers(live=[64, 128], chained=False)  # doctest: +SKIP
    >>> [(row["registers"], row["gflop_s"]) for row in study.points]  # doctest: +SKIP
    """
    asked = {"LIVE": live, "CHAINED": None if chained is None else int(chained), "LOCAL": local_size}
    return execution("registers", LIVE_VALUES, asked, dtype, device, how)


def flops(dtype: str = "float", width: int | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure fused multiply-adds per second, two flop each, alone and beside as many additions, which some devices
    issue at once, in vectors of ``width`` (None: the type's width, of a scalar what may be best).

    Raises ParameterError for another type, and for a width that is not the type's.

    Examples
    --------
    >>> study = microbench.flops("double")  # doctest: +SKIP
    >>> max(row["gflop_s"] for row in study.points)  # doctest: +SKIP
    """
    chosen = select(device)
    rows = family_rows("flops")
    scalar, levels = typed(dtype, rows)
    own = levels["WIDTH"] if levels["WIDTH"] > 1 else None
    if own is not None and width not in (None, own):
        raise ParameterError(f"width: {width}, but {dtype!r} has {own}; leave it out, or give the type of a scalar")
    given = own if width is None else width
    widths = (given,) if given is not None else ((4, 8, 16) if chosen.type == "cpu" else (1, 2, 4))
    chains = (8, 16) if chosen.type != "cpu" else (4, 8)
    with called(width=OF_TYPE if width is None else "width: "):
        return ask(points(chosen, rows, scalar, 16384, {"WIDTH": widths, "CHAINS": chains}), chosen, how)


def special(function: str | None = None, dtype: str = "float", device: Selector = None, **how: Any) -> Study:
    """Measure results of a special function per second: ``"native_rsqrt"``, ``"divide"`` ...; None: all. ``dtype``
    may be a vector's, ``"float4"``; of a scalar's name, the width is what may be best.

    Raises ParameterError for another function or type.

    Examples
    --------
    >>> study = microbench.special("native_rsqrt")  # doctest: +SKIP
    >>> [row["gop_s"] for row in study.points]  # doctest: +SKIP
    """
    return named("special", function, "function", dtype, device, how)


def integer(op: str | None = None, dtype: str = "uint", device: Selector = None, **how: Any) -> Study:
    """Measure integer operations per second: ``"int_mad"`` (a multiply-add) or ``"int_xorshift"``; None: both.
    ``dtype`` is as in :func:`special`.

    Raises ParameterError for another operation or type.

    Examples
    --------
    >>> study = microbench.integer("int_mad")  # doctest: +SKIP
    >>> print(study)  # doctest: +SKIP
    """
    return named("integer", op, "op", dtype, device, how)


def tensor(instruction: str | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure flop per second of matrix products on NVIDIA's tensor cores, summed in fp32, by ``"mma_fp16"``,
    ``"mma_bf16"`` or ``"mma_tf32"``; None measures all. On other devices the rows say that PTX is not supported.

    Raises ParameterError for another instruction.

    Examples
    --------
    >>> study = microbench.tensor("mma_fp16")  # doctest: +SKIP
    >>> [(row["status"], row["reason"]) for row in study.points]  # doctest: +SKIP
    """
    return named("tensor", instruction, "instruction", "float32", device, how)


def latency(memory: str = "global", working_set: int | None = None, device: Selector = None, **how: Any) -> Study:
    """Measure the time of one dependent load in ns: a pointer chase through ``"global"``, ``"local"`` or ``"constant"``
    memory.

    ``working_set`` in bytes decides which cache holds the chain. None takes 16 KiB, and for global memory several sizes
    up to one that no cache holds.

    Raises ParameterError for another memory.

    Examples
    --------
    >>> study = microbench.latency("global", working_set=2**20)  # doctest: +SKIP
    >>> [row["latency_ns"] for row in study.points]  # doctest: +SKIP
    """
    chosen = select(device)
    names = {"global": "chase", "local": "chase_local", "constant": "chase_constant"}
    if memory not in names:
        raise ParameterError(f"memory: {memory!r} is none; use one of {', '.join(names)}")
    several = (16384, MIB, 8 * MIB, memory_bytes(chosen)) if memory == "global" else (16384,)
    rows = [v for v in variants("microbench") if v.name == names[memory]]
    sizes = several if working_set is None else (working_set,)
    with called(bytes="working_set: "):
        return ask([one for size in sizes for one in points(chosen, rows, "uint32", size, {})], chosen, how)


def launch_overhead(device: Selector = None, **how: Any) -> Study:
    """Measure the time of a kernel that does nothing: by OpenCL events, and in the rows' ``wall_ms`` by the host's
    clock, in ms. Raises ParameterError for other keywords, NoDeviceError.

    Examples
    --------
    >>> study = microbench.launch_overhead()  # doctest: +SKIP
    >>> [(row["median_ms"], row["wall_ms"]) for row in study.points]  # doctest: +SKIP
    """
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
    allocated (``pinned``) or from any; None measures both. ``bytes`` is the size of a copy in bytes,
    64 MiB if None.

    Raises ParameterError for another direction and for bytes below 1 or that do not fit the memory, NoDeviceError.

    Examples
    --------
    >>> study = microbench.transfer("upload", pinned=True)  # doctest: +SKIP
    >>> [row["gb_s"] for row in study.points]  # doctest: +SKIP
    """
    if direction not in (None, "upload", "download"):
        raise ParameterError(f"direction: {direction!r} is none; use upload or download")
    ways = (direction,) if direction else ("upload", "download")
    kinds = (True, False) if pinned is None else (bool(pinned),)
    size = 64 * MIB if bytes is None else whole_number("bytes", bytes, 1, 2**62)
    wanted = [TransferPoint(way, kind, size) for way in ways for kind in kinds]
    return ask(wanted, select(device), how)


def concurrency(device: Selector = None, **how: Any) -> Study:
    """Measure how many work-groups run at the same time: a chain of dependent operations takes the same time for any
    number of them until the device is full. Times are in ms. Raises ParameterError for other keywords, NoDeviceError.

    Examples
    --------
    >>> study = microbench.concurrency()  # doctest: +SKIP
    >>> [(row["params"]["GROUPS"], row["median_ms"]) for row in study.points]  # doctest: +SKIP
    """
    chosen = select(device)
    (row,) = family_rows("concurrency")
    groups = next(p.levels for p in row.parameters if p.name == "GROUPS")
    wanted = points(chosen, [row], "float32", 16384, {"GROUPS": groups}, trips=256)
    return ask(wanted, chosen, how)
