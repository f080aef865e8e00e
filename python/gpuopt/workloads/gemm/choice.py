"""Which configuration a product of given sizes takes: the one that a model of its time finds the fastest, on a CPU that
of ``cpu_choice``, on a GPU the one here.

A unit of a GPU reaches a share of its peak with each tile, and a single work-group of it a smaller one. These numbers
and those below are the best fit to times of tiles and of streams, for 39 shapes on an H200 (decision
choice-of-configuration); they are taken for other GPUs too. What a GPU cannot run is left out. Records that somebody's
own tuning left stand above both models.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gpuopt import _core
from gpuopt._core import Device
from gpuopt.configuration import NATIVE, Configuration, complete
from gpuopt.resolution import FACTS, found
from gpuopt.workloads.gemm import cpu_choice
from gpuopt.workloads.gemm.precision import choose


class Sizes(NamedTuple):
    """The sizes of ``batch`` products (m, k) by (k, n), and whether the operands are given transposed."""

    batch: int
    m: int
    n: int
    k: int
    transpose_a: bool = False
    transpose_b: bool = False


class Estimate(NamedTuple):
    """A configuration, and the seconds that the model gives it."""

    configuration: Configuration
    seconds: float


class _Tile(NamedTuple):
    down: int
    across: int
    work: tuple[int, int]
    share: float  # of a unit's peak, when it is full
    alone: float  # of one work-group on it
    groups: int  # that a unit holds
    more: dict[str, int]


# Copied tiles are copied whole at the edges too (COPY=2). As they lie, or with a branch for the edges (COPY=1), they
# were the fastest for none of 39 shapes by more than 1 %.
_COPIED = {"COPY": 2, "STAGES": 3, "PASS": 1}
_TILES = (
    _Tile(32, 32, (4, 4), 0.59, 0.21, 8, {}),
    _Tile(32, 64, (4, 4), 0.72, 0.24, 6, {}),
    _Tile(64, 64, (4, 4), 0.69, 0.44, 4, {}),
    _Tile(64, 64, (8, 8), 0.78, 0.39, 8, {}),
    _Tile(128, 64, (8, 8), 0.97, 0.64, 4, {}),
    _Tile(128, 32, (8, 4), 0.75, 0.34, 4, {}),
    _Tile(64, 64, (8, 8), 0.94, 0.29, 8, _COPIED),
    _Tile(64, 128, (8, 8), 1.06, 0.55, 4, _COPIED),
    _Tile(128, 64, (8, 8), 1.09, 0.88, 4, _COPIED),
    _Tile(128, 128, (8, 8), 0.99, 1.02, 2, _COPIED),
    _Tile(128, 256, (8, 16), 1.17, 1.18, 1, {"COPY": 2, "STAGES": 2, "PASS": 1}),
)
_SPLITS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_FIRST_S, _LAUNCH_S = 2.3e-6, 2.2e-6  # a kernel; one more behind it
_ROUND_S = 0.7e-6  # beginning and end of a work-group
_STREAM_S = 1.5e-6  # what a work-group of a stream takes besides
# A tile beyond the result's edge takes so many times as long as a whole one: copied, and through registers.
_EDGE_COPIED, _EDGE = 1.12, 1.19
_UNALIGNED = 0.85  # of the share, where pieces of a row are no whole aligned vectors and are not turned
_REACHED = 0.92  # of the device's bandwidth
_IDLE_S = 5e-6  # of a unit, for a streamed work-group most of whose items have no row: 4096 of 16 x 16 x 16 take 146 us
_FLOPS_A_CLOCK = 206  # of a unit in float32: 53.9 TFLOP/s of 132 units at 1980 MHz
_BYTES_A_SECOND = 32e9  # of a unit, of 4.25 TB/s
_UNSURE = 1.03  # so much is a measured record preferred to an estimate
_SHORTEST = 64  # part of k
_HELD = (1, 2, 4, 8, 16)
_STREAMED = {16: 0.15}  # of a unit's peak, by how many sums are held
_NARROW = 64  # results that are narrower may be streamed


def chosen(device: Device, dtype: np.dtype[Any], variant: str | Configuration | None, sizes: Sizes) -> Configuration:
    """Return the full configuration of a product in the arrays' own precision. Raises as :func:`choose` does."""
    if variant is not None or device.type not in ("gpu", "cpu") or not math.prod(sizes[:4]):
        return choose(device, dtype, None, variant)
    record = found("gemm", device, dtype.name, {"precision": lambda: NATIVE})
    if record is not None and record.users:
        return record.configuration
    if device.type == "cpu":
        shipped = choose(device, dtype) if record is None else record.configuration
        if min(sizes.m, sizes.n) == 1:
            beside = sizes.transpose_a if sizes.m > sizes.n else not sizes.transpose_b
            return cpu_choice.of_vector(shipped, device.compute_units, sizes.m, sizes.n, sizes.k, beside)
        return cpu_choice.fitted(shipped, *sizes[:5])
    listed = explain(device, dtype, sizes)
    if not listed:
        return choose(device, dtype)
    measured = None if record is None else record.configuration
    for one in _near(listed):
        if measured is not None and _same_tile(one.configuration, measured):
            own = {name: one.configuration.parameters[name] for name in ("COPY", "SPLIT")}  # the estimate is of these
            return Configuration(measured.variant, **(measured.parameters | own))
    return listed[0].configuration


def _near(listed: list[Estimate]) -> list[Estimate]:
    """Those that the model does not tell from the fastest: at 1024^3 it was wrong by 15 % (H200, 2026-11)."""
    return [one for one in listed if one.seconds <= _UNSURE * listed[0].seconds]


def _same_tile(one: Configuration, other: Configuration) -> bool:
    names = ("TILE_M", "TILE_N", "WORK_M", "WORK_N")
    return one.variant == other.variant and all(
        one.parameters.get(name) == other.parameters.get(name) for name in names
    )


def explain(device: Device, dtype: np.dtype[Any], sizes: Sizes) -> list[Estimate]:
    """Return what the model gives every configuration that the device can run, the fastest first."""
    facts = {name: getattr(device, name) for name in FACTS if hasattr(device, name)}
    listed = []
    for configuration, seconds in (*_tiled(device, dtype, sizes), *_streamed(device, dtype, sizes)):
        full = complete("gemm", configuration)
        if not _core.refusal("gemm", full.variant, full.parameters, dtype.name, facts):
            listed.append(Estimate(full, seconds))
    return sorted(listed, key=lambda estimate: estimate.seconds)


def without_copies(device: Device, dtype: np.dtype[Any], sizes: Sizes, taken: Configuration) -> Configuration | None:
    """Return the fastest that makes no copy of an operand, where the one that was ``taken`` does so on a GPU and there
    is one."""
    if device.type != "gpu" or not taken.parameters.get("PASS"):
        return None
    listed = (one.configuration for one in explain(device, dtype, sizes))
    return next((one for one in listed if not one.parameters.get("PASS")), None)


def _peaks(device: Device, dtype: np.dtype[Any]) -> tuple[float, float]:
    """Multiply-adds' flops a second of a unit, and bytes a second of the device."""
    peak = _FLOPS_A_CLOCK * (device.clock_mhz or 1500) * 1e6 * 4 / dtype.itemsize
    return peak, _BYTES_A_SECOND * max(1, device.compute_units)


def _tiled(device: Device, dtype: np.dtype[Any], sizes: Sizes) -> Iterator[Estimate]:
    """The best division of k for each tile."""
    batch, m, n, k, transpose_a, transpose_b = sizes
    peak, bandwidth = _peaks(device, dtype)
    aligned_a, aligned_b = (m if transpose_a else k) % 4 == 0, (k if transpose_b else n) % 4 == 0
    needed = (m * k + k * n + m * n) * batch * dtype.itemsize / (_REACHED * bandwidth)
    for tile in _TILES:
        launches, moved = 1, 0.0
        share = tile.share
        if tile.more.get("PASS"):
            for turned, elements in ((not (transpose_a and aligned_a), m * k), (transpose_b or not aligned_b, k * n)):
                launches, moved = launches + turned, moved + 2 * turned * elements * batch * dtype.itemsize
        elif not (aligned_a and aligned_b):
            share *= _UNALIGNED
        slower = _EDGE_COPIED if tile.more else _EDGE
        inside = (m // tile.down) * (n // tile.across) / (-(-m // tile.down) * -(-n // tile.across))
        best = (math.inf, 1)
        for split in _SPLITS if batch == 1 else (1,):
            if split > 1 and k < split * _SHORTEST:
                break
            tiles = -(-m // tile.down) * -(-n // tile.across) * split * batch
            flops = 2.0 * tile.down * tile.across * -(-k // split)
            stored = tile.down * tile.across * dtype.itemsize / _BYTES_A_SECOND
            groups = -(-tiles // max(1, device.compute_units))
            work = _of_groups(tile, share, groups, (flops / peak, stored), (slower, 1 - inside))
            sums = 2 * split * m * n * dtype.itemsize / bandwidth + _LAUNCH_S if split > 1 else 0.0
            best = min(best, (max(work, needed) + sums, split))
        levels = {"TILE_M": tile.down, "TILE_N": tile.across, "WORK_M": tile.work[0], "WORK_N": tile.work[1]}
        configuration = Configuration("register_tile", **levels, **tile.more, SPLIT=best[1])
        yield Estimate(configuration, best[0] + _FIRST_S + (launches - 1) * _LAUNCH_S + moved / bandwidth)


def _of_groups(
    tile: _Tile, share: float, groups: int, seconds: tuple[float, float], edge: tuple[float, float]
) -> float:
    """The seconds of so many work-groups on one unit, each of which multiplies for ``seconds[0]`` at the unit's peak
    and stores its sums for ``seconds[1]``. ``edge`` says how many times as long those at the result's edge take, and
    what share they are: they hold up the others in the last round, and take their share of the rounds before."""
    times, share_of_edges = edge
    multiplied, stored = seconds
    full = tile.groups / min(share, tile.groups * tile.alone)
    rounds, rest = divmod(groups - 1, tile.groups)
    last = (rest + 1) / min(share, (rest + 1) * tile.alone)
    edges = 1 + (times - 1) * share_of_edges
    busy = multiplied * (rounds * full * edges + last * (times if share_of_edges else 1.0))
    return busy + (rounds + 1) * (_ROUND_S + stored)


def _streamed(device: Device, dtype: np.dtype[Any], sizes: Sizes) -> Iterator[Estimate]:
    """Narrow results, by the time of reading the operand of the longer side."""
    batch, m, n, k, transpose_a, transpose_b = sizes
    shorter, longer = min(m, n), max(m, n)
    if shorter > _NARROW:
        return
    peak, bandwidth = _peaks(device, dtype)
    units = max(1, device.compute_units)
    held = next((count for count in _HELD if count >= shorter), _HELD[-1])
    beside = transpose_a if m > n else not transpose_b
    each = 4 if held >= 8 else 2
    passes = -(-shorter // held)
    lanes = 32 if k >= 256 else max(4, k // 8)
    rows = 256 if beside else 256 // lanes * each  # of a group
    groups = -(-longer // rows) * passes * batch
    splits = [split for split in _SPLITS if split == 1 or (batch == 1 and k >= split * _SHORTEST)]
    split = next((split for split in splits if groups * split >= 4 * units), splits[-1])
    full = min(1.0, groups * split / (2.0 * units))
    read = passes * k * longer * batch * dtype.itemsize / (0.85 * bandwidth * full)
    work = 2.0 * passes * held * longer * k * batch / (_STREAMED.get(held, 0.35) * peak * units * full)
    sums = 2 * split * m * n * dtype.itemsize / bandwidth + _LAUNCH_S if split > 1 else 0.0
    written = 2 * m * n * batch * dtype.itemsize / bandwidth
    idle = _IDLE_S * groups * split / units * (1 - longer / (-(-longer // rows) * rows))
    seconds = max(read + written, work, idle) + sums + _FIRST_S + _ROUND_S + _STREAM_S
    yield Estimate(Configuration("thin", HOLD=held, EACH=each, SPLIT=split), seconds)
