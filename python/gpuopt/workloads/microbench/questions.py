"""How a question to a device becomes the points of a survey: which variants answer it, and at which levels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, ParameterError, UnsupportedError, Variant
from gpuopt.configuration import Configuration, complete, variants
from gpuopt.lab.device.bandwidth import affordable_bytes
from gpuopt.lab.device.bounds import TENSOR
from gpuopt.lab.show.points import OPENCL_NAMES
from gpuopt.workloads.microbench.points import Point

Levels = Mapping[str, int | Sequence[int]]

MIB = 1 << 20
# Amount of work of one timed run of a loop, by kind: some milliseconds on any device of the type.
_RUN = {
    "gpu": {"bytes": 3e10, "flops": 1e11, "tensor": 2e12, "special": 5e9, "fetch": 2e9},
    "cpu": {"bytes": 1e9, "flops": 2e9, "tensor": 2e9, "special": 1e8, "fetch": 4e6},
}
_LOADS = 1 << 15  # loads of a pointer chase

SCALARS = {name: scalar for scalar, name in OPENCL_NAMES.items()}


def element(dtype: str) -> tuple[str, dict[str, int]]:
    """Return the NumPy scalar type that a type's name means, and the levels of WIDTH and STRUCT.

    A name is OpenCL's (``"float4"``, ``"char"``), ``"struct5"`` for a struct of five floats, or NumPy's
    (``"float32"``). ``"float16"`` is OpenCL's vector of sixteen floats; the 16-bit type is ``"half"``. Raises
    ParameterError.
    """
    if dtype in OPENCL_NAMES and dtype != "float16":
        return dtype, {"WIDTH": 1, "STRUCT": 0}
    if found := re.fullmatch(r"struct(\d{1,9})", dtype):
        return "float32", {"WIDTH": int(found[1]), "STRUCT": 1}
    found = re.fullmatch(r"([a-z]+?)(\d*)", dtype)
    if found and found[1] in SCALARS and found[2] in ("", "2", "3", "4", "8", "16"):
        return SCALARS[found[1]], {"WIDTH": int(found[2] or 1), "STRUCT": 0}
    names = ", ".join(SCALARS)
    raise ParameterError(
        f"dtype: {dtype!r} is none; use {names}, with 2, 3, 4, 8 or 16 behind it, or struct5 and so on"
    )


DATA_TYPES = (
    *("char", "char2", "char4", "char16", "short", "short2", "short4", "half", "half2", "half4", "int", "int4"),
    *("float", "float2", "float3", "float4", "float8", "float16"),
    *("double", "double2", "double4", "double8", "long", "long2"),
    *("struct3", "struct5", "struct8", "struct16", "struct32"),
)


def types_for(pattern: str | None) -> tuple[str, ...]:
    """Return the types of which copies of a pattern are measured where none is named: those that it has."""
    row = next((row for row in family_rows("copy") if row.name == f"copy_{pattern}"), None)
    if row is None:
        return DATA_TYPES
    known = {parameter.name: parameter.levels for parameter in row.parameters}
    widths, struct = known.get("WIDTH", [1]), int("VIA" in known)
    return tuple(name for name in DATA_TYPES if (of := element(name)[1])["WIDTH"] in widths and of["STRUCT"] == struct)


def packs(scalar: str) -> tuple[int, ...]:
    """Return the bytes of a load by which packed copies of a type are measured: a float's, the paper's, and 16."""
    return (4, 16) if np.dtype(scalar).itemsize < 4 else (16,)


def vias(width: int) -> tuple[int, ...]:
    """Return the scalars of a load by which structs of ``width`` scalars are staged: 1, and 2 where it divides."""
    return tuple(via for via in (1, 2) if width % via == 0)


# By kind: the family, the working sets in bytes on a GPU and on a CPU (whole device), and the levels to measure.
CACHES: dict[str, tuple[str, tuple[tuple[int, ...], tuple[int, ...]], Levels]] = {
    "constant": ("constant", ((16384,), (16384,)), {"UNIFORM": (0, 1), "WIDTH": (1, 4)}),
    "local": ("local", ((16384,), (16384,)), {"STRIDE": (1, 2, 4, 8, 16, 32), "WIDTH": (1, 4)}),
    "image1d": ("image1d", ((16384,), (16384,)), {}),
    "image2d": ("image2d", ((16384,), (16384,)), {"LINEAR": (0, 1), "CHANNELS": (1, 4)}),
    "l1": ("cached", ((16384, 65536), (32768, 65536)), {"WIDTH": (4, 16)}),
    "l2": ("cached", ((4 * MIB, 8 * MIB), (MIB // 2, MIB)), {"WIDTH": (4, 16)}),
}


def sweep_sizes(device: Device, per_octave: int) -> list[int]:
    """Return working sets in bytes from 16 KiB to one that no cache holds, ``per_octave`` for each doubling."""
    last = min(memory_bytes(device), (1 << 30) if device.type != "cpu" else 512 * MIB)
    count = 1
    while 16384 * 2 ** (count / per_octave) <= last:
        count += 1
    return [round(16384 * 2 ** (k / per_octave) / 4096) * 4096 for k in range(count)]


def family_rows(name: str) -> list[Variant]:
    return [variant for variant in variants("microbench") if variant.family == name]


def fitting(family: str, device: Device) -> list[Variant]:
    """Return the variants of a family that suit the device's type: on a CPU those with few work-items, each with a
    contiguous part."""
    rows = family_rows(family)
    runs = [row for row in rows if row.name.endswith("_chunks")]
    if not runs:
        return rows
    return runs if device.type == "cpu" else [row for row in rows if not row.name.endswith("_chunks")]


def shapes(
    family: str, pattern: str | None, device: Device, scalar: str = "float32", levels: Levels | None = None
) -> list[Variant]:
    """Return the variants of a streaming family that a pattern names. Raises ParameterError."""
    table = {row.name: row for row in family_rows(family)}
    names = {
        "coalesced": family,
        "chunks": f"{family}_chunks",
        "packed": f"{family}_packed",
        "staged": f"{family}_staged",
    }
    known = {word: name for word, name in names.items() if name in table}
    together = pattern == "coalesced and mends"
    if pattern is not None and not together:
        if pattern not in known:
            raise ParameterError(f"pattern: {pattern!r} is none of a {family}; use one of {', '.join(known)}")
        return [table[known[pattern]]]
    width, struct = int((levels or {}).get("WIDTH", 1)), (levels or {}).get("STRUCT", 0)  # type: ignore[arg-type]
    if struct:
        return [table[family], *([table[known["staged"]]] if "staged" in known else [])]
    if width == 1 and scalar in ("int8", "uint8", "int16", "uint16", "float16") and "packed" in known:
        return [table[family], table[known["packed"]]]
    return [table[family] if together or device.type != "cpu" or width == 3 else table[known["chunks"]]]


def widest(device: Device) -> int:
    return 16 if device.type == "cpu" else 1


def points(
    device: Device,
    rows: Iterable[Variant],
    scalar: str,
    size: int | None,
    levels: Levels,
    width: int = 0,
    trips: int | None = None,
) -> list[Point]:
    """Return a point for each of the variants ``rows`` and each combination of ``levels``.

    A parameter that a variant does not have is ignored for it. A loop gets as many trips as take some milliseconds,
    unless ``trips`` is given. Raises ParameterError where a parameter has none of the given levels.
    """
    if not 0 <= width < 2**31:
        raise ParameterError(f"width: {width}; give the number of scalars in a line, below 2^31")
    if size is not None and size < 1:
        raise ParameterError(f"bytes: {size}; a size is at least 1")
    exact_size = memory_bytes(device) if size is None else int(size)
    found: list[Point] = []
    for row in rows:
        known = {p.name: p.levels for p in row.parameters}
        asked = {k: list(v) if isinstance(v, Sequence) else [v] for k, v in levels.items() if k in known}
        for name, values in asked.items():
            if not values:
                some = ", ".join(map(str, known[name]))
                raise ParameterError(f"{_called(name)}: no level is given; use some of {some}")
            asked[name] = [value for value in values if value in known[name]]
            if not asked[name]:
                raise no_level(name, values[0], row.name, known[name])
        for combination in itertools.product(*asked.values()):
            configuration = Configuration(row.name, **dict(zip(asked, combination, strict=True)))
            loops = trips or trips_for(device, configuration, scalar, exact_size, width)
            found.append(Point(configuration, scalar, exact_size, width, loops))
    return found


def no_level(parameter: str, value: object, row: str, known: Sequence[int]) -> ParameterError:
    listed = ", ".join(map(str, known))
    return ParameterError(f"{_called(parameter)}: {value} is not one of its levels for {row}; use one of {listed}")


def _called(parameter: str) -> str:
    """A parameter as the argument of a question."""
    return {"LOCAL": "local_size"}.get(parameter, parameter.lower())


def trips_for(device: Device, configuration: Configuration, scalar: str, size: int, width: int = 0) -> int:
    """Return how many trips of a loop take some milliseconds: a power of two, so that a repeated question is the same
    one. 1 for a kernel that does not loop or cannot run."""
    exact = complete("microbench", configuration)
    kind = np.dtype(scalar)
    elements = max(size // kind.itemsize // 128, 1) * 128

    def amount(trips: int) -> dict[str, float]:
        name, parameters = exact.variant, exact.parameters
        facts = _core.microbench_facts(
            device, kind, elements=elements, width=width, trips=trips, variant=name, parameters=parameters
        )
        tensor = sum(amount for name, amount in facts["special"].items() if name.startswith(TENSOR))
        return {
            "bytes": sum(facts["bytes"].values()),
            "flops": facts["flops"],
            "tensor": tensor,
            "special": sum(facts["special"].values()) - tensor,
            "fetch": facts["special"].get("fetch", 0.0),
            "load": facts["special"].get("load", 0.0),
        }

    try:
        one, two = amount(1), amount(2)
    except (UnsupportedError, ParameterError):
        return 1
    if two["load"] > one["load"]:
        return _LOADS
    wanted = _RUN["cpu" if device.type == "cpu" else "gpu"]
    # A CPU's compiler finds no lanes for these: they run at the latency of their steps.
    share = 1 / 32 if device.type == "cpu" and exact.variant in ("branches", "registers") else 1.0
    needed = [share * wanted[kind] / (two[kind] - one[kind]) for kind in wanted if two[kind] > one[kind]]
    return 1 << max(2, round(math.log2(max(min(needed), 1)))) if needed else 1


def pattern_bytes(device: Device) -> int:
    """Return the bytes on which access patterns are compared: a quarter of a stream's."""
    return max(memory_bytes(device) // 4, MIB)


def memory_bytes(device: Device) -> int:
    """Return the bytes of a stream: more than eight times any last-level cache, unless the memory is too small for
    it."""
    wanted = 512 * MIB if device.type == "cpu" else 1024 * MIB
    return max(min(wanted, affordable_bytes(device) // 2) // MIB * MIB, MIB)


# ---------------------------------------------------------------- the whole cube

_STREAM_TYPES = {
    "int8": (1, 4, 16),
    "int16": (1, 4, 8),
    "float16": (1, 4, 8),
    "int32": (1, 4),
    "float32": (1, 2, 4, 8, 16),
    "float64": (1, 2, 4, 8),
    "int64": (1, 2),
}


def cube(device: Device, quick: bool = False) -> list[Point]:
    """Return the points of a whole survey, data type x width x pattern x memory x working set, shapes of work-groups,
    branches and live values: about six hundred, a quarter of them where ``quick``."""
    gpu = device.type != "cpu"
    found: list[Point] = []

    def ask(
        rows: Iterable[Variant], levels: Levels, dtype: str = "float32", size: int | None = None, width: int = 0
    ) -> None:
        found.extend(points(device, rows, dtype, size, levels, width=width))

    copies = [row for row in family_rows("copy") if row.name == "copy"]
    for dtype, widths in _STREAM_TYPES.items():
        narrow = widths[:1] if quick else widths
        for width in narrow:
            ahead = (1,) if quick or not gpu else (1, 4)
            ask(copies, {"WIDTH": width, "AHEAD": ahead}, dtype)
            for family in () if quick else ("read", "write"):
                ask(shapes(family, None, device, dtype, {"WIDTH": 2}), {"WIDTH": width}, dtype)
        ask([row for row in family_rows("copy") if row.name == "copy_packed"], {"BYTES": packs(dtype)}, dtype)
    for width in (5, 32) if quick else (3, 5, 8, 16, 32):
        ask(copies, {"WIDTH": width, "STRUCT": 1, "AHEAD": 1})
        via = 1 if quick else vias(width)
        ask([row for row in family_rows("copy") if row.name == "copy_staged"], {"WIDTH": width, "VIA": via})
    ask(fitting("triad", device), {"WIDTH": (4,) if quick else (1, 2, 4, 8)})
    for kind, levels in PATTERNS.items():
        some = {name: values[:2] if quick and isinstance(values, tuple) else values for name, values in levels.items()}
        ask(family_rows(kind), some, size=pattern_bytes(device), width=64 if kind == "row" else 0)
    for family, sizes, levels in CACHES.values():
        for size in sizes[device.type == "cpu"]:
            ask(fitting(family, device), levels, size=size, width=256 if family == "image2d" else 0)
    for size in sweep_sizes(device, 1 if quick else 4):
        ask(fitting("cached", device), {"WIDTH": 4 if gpu else 16}, size=size)
    for kernel in BLOCK_KERNELS:
        found.extend(block_points(device, kernel, None, quick))
    found.extend(activation_points(device, ("pow",), quick=quick))
    if not quick:
        found.extend(activation_points(device, ("exp", "pown"), _activation_sizes(device)[:1]))
    ask(family_rows("branches"), {**BRANCHES, "LENGTH": 64} if quick else BRANCHES, size=16384)
    ask(family_rows("registers"), {**LIVE_VALUES, "CHAINED": 0} if quick else LIVE_VALUES, size=16384)
    if not quick:
        ask(family_rows("registers"), {**LIVE_VALUES, "CHAINED": 0, "LOCAL": 1024}, size=16384)
    return found


PATTERNS: dict[str, Levels] = {
    "adjacent": {"SPAN": (2, 4)},
    "row": {},
    "shared": {},
    "strided": {"STRIDE": (1, 2, 4, 8, 16, 32, 64, 128)},
    "unaligned": {"OFFSET": (0, 1, 4, 16)},
    "random": {},
    "broadcast": {},
}
BLOCK_KERNELS = ("copy2d", "transpose", "tiled", "cache_reuse")
_SIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_COMMON_SHAPES = ((16, 16), (32, 8), (8, 32), (32, 16), (32, 32), (64, 4), (256, 1))


def block_points(device: Device, kernel: str, width: int | None, quick: bool = False) -> list[Point]:
    """Return points for all shapes of work-groups of 64 to 1024 items, for one of ``BLOCK_KERNELS`` on lines of
    ``width`` scalars (None: a width that suits kernel and device)."""
    gpu = device.type != "cpu"
    compute = kernel in ("tiled", "cache_reuse")
    if width is None:
        width = (1024 if gpu else 256) if compute else (8192 if gpu else 2048)
    elif width < 1:
        raise ParameterError(f"width: {width}; give the number of scalars in a line, at least 1")
    size = (2 if compute else 1) * width * width * 4
    every = [
        (x, y) for x, y in itertools.product(_SIDES, _SIDES) if 64 <= x * y <= min(1024, device.max_work_group_size)
    ]
    found: list[Point] = []
    for x, y in _COMMON_SHAPES if quick else every:
        levels = {"LOCAL_X": x, "LOCAL_Y": y}
        found += points(device, family_rows(kernel), "float32", size, levels, width=width)
    return found


# The activation matrix of Yang 2012, Figure 8, by form: the level of MATH.
ACTIVATIONS = {"pow": 1, "exp": 2, "pown": 3, "product": 0}
_ACTIVATION_SHAPES = (
    *((x, y) for x, y in itertools.product(_SIDES, _SIDES) if x * y in (256, 512)),
    (8, 128),
)
_FIGURE_9 = ((4, 64), (8, 32), (16, 16), (32, 8), (8, 64), (8, 128))
BRANCHES: Levels = {"PATHS": (1, 2, 4, 8, 16, 32), "DIVERGENT": (0, 1), "LENGTH": (16, 64)}
LIVE_VALUES: Levels = {
    "LIVE": (8, 16, 32, 64, 96, 124, 128, 160, 192, 224, 255, 256, 320, 512),
    "CHAINED": (0, 1),
    "LOCAL": 256,
}


def _activation_sizes(device: Device) -> tuple[int, ...]:
    return (1024, 2048, 4096) if device.type != "cpu" else (128, 256)  # pow is slow there


def some_sizes(sizes: Iterable[int]) -> list[int]:
    """The ``sizes`` that a caller gives. Raises ParameterError where there is none, or one below 1."""
    given = list(sizes)
    if not given:
        raise ParameterError("sizes: there is none; give some, or None for those that suit the device")
    if min(given) < 1:
        raise ParameterError(f"sizes: {min(given)}; a size is at least 1")
    return given


def activation_points(
    device: Device, forms: Iterable[str], sizes: Iterable[int] | None = None, quick: bool = False
) -> list[Point]:
    """Return the points of the activation matrix of ``sizes`` x ``sizes`` arrays: every shape of work-group of 256 and
    512 items, and 8 x 128; where ``quick``, those of the paper's text at the smallest size."""
    known = _activation_sizes(device)
    found: list[Point] = []
    asked = (known[:1] if quick else known) if sizes is None else some_sizes(sizes)
    for size, form in itertools.product(asked, forms):
        for x, y in _FIGURE_9 if quick else _ACTIVATION_SHAPES:
            if x * y <= device.max_work_group_size:
                levels = {"LOCAL_X": x, "LOCAL_Y": y, "MATH": ACTIVATIONS[form]}
                found += points(device, family_rows("cache_reuse"), "float32", 8 * size * size, levels, width=size)
    return found
