"""Rows as a device could have given them, and what the tests of pictures read from a line."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

Row = dict[str, Any]
SMALL = {"bytes": 16384, "trips": 64}
KIB, MIB, GIB = 2**10, 2**20, 2**30
BYTES = {"int8": 1, "int16": 2, "float16": 2, "int32": 4, "float32": 4, "int64": 8, "float64": 8}
CEILINGS = {
    "DRAM": {"rate": 4264.0, "unit": "GB/s"},
    "L2": {"rate": 9.1, "unit": "TB/s"},
    "L1": {"rate": 31.0, "unit": "TB/s"},
    "fp32 FMA": {"rate": 61.6, "unit": "TFLOP/s"},
    "fp64 FMA": {"rate": 30800.0, "unit": "GFLOP/s"},
}


def row(variant: str, rate: float, family: str | None = None, **values: Any) -> Row:
    """A measured row whose rate is `rate` GB/s (or GFLOP/s where `gb_s` is given as None)."""
    median = 256 * MIB / max(rate, 1e-9) * 1e-6
    return {
        "kind": "search",
        "workload": "microbench",
        "role": "variant",
        "variant": variant,
        "configuration": variant,
        "family": family or variant.partition("_")[0],
        "params": {},
        "sizes": {"bytes": 256 * MIB},
        "dtype": "float32",
        "status": "ok",
        "reason": None,
        "median_ms": median,
        "ci_lo_ms": median * 0.99,
        "ci_hi_ms": median * 1.01,
        "gb_s": rate,
        "gflop_s": None,
        "device": "NVIDIA H200",
        "driver": "580.159.04",
        "protocol": "quick",
        "gpuopt_version": "0.1.0",
        "time_utc": "2026-11-21T08:00:00Z",
        "flags": [],
    } | values


def failed(variant: str, reason: str, status: str = "unsupported", **values: Any) -> Row:
    return row(variant, 0.0, **values) | {"status": status, "reason": reason, "gb_s": None, "median_ms": None}


def paths() -> list[Row]:
    """As 32 lanes take them: divergent paths one after the other, a uniform branch 8 % of 16 steps and 2 % of 64."""
    made = []
    for length, cost in ((16, 0.08), (64, 0.02)):
        for count in (1, 2, 4, 8, 16, 32):
            for divergent in (0, 1):
                params = {"PATHS": count, "DIVERGENT": divergent, "LENGTH": length, "LOCAL": 256, "GROUPS": 8}
                rate = 30000 / (1 + cost * (count > 1)) / (count if divergent else 1)
                made.append(row("branches", 0.0, params=params, sizes=SMALL, gb_s=None, gflop_s=rate, flops=1e11))
    return made


def values() -> list[Row]:
    """Independent values hold their rate until 224, from 255 on some are in memory; chained ones lose from 96 on."""
    made = []
    for live in (8, 16, 32, 64, 96, 124, 128, 160, 192, 224, 255, 256, 320, 512):
        spilled = {"registers": min(255, live + 10), "spill_bytes": 4 * max(0, live - 240)}
        for chained in (0, 1):
            rate = 50000 / (1 + max(0, live - 240) / 20) if not chained else 40000 * min(1, 96 / live)
            params = {"LIVE": live, "CHAINED": chained, "LOCAL": 256, "GROUPS": 8}
            made.append(row("registers", 0.0, params=params, sizes=SMALL, gb_s=None, gflop_s=rate, **spilled))
    return [
        *made,
        failed("registers", "out of resources", "runtime", params={"LIVE": 512, "CHAINED": 0, "LOCAL": 1024}),
    ]


def activation() -> list[Row]:
    made = []
    for size in (1024, 2048, 4096):
        for math in (1, 2) if size == 1024 else (1,):
            for x, y in ((1, 256), (4, 64), (8, 32), (16, 16), (32, 8), (256, 1), (8, 64), (64, 8), (8, 128)):
                rate = 9000 * (1 - 0.1 * abs(np.log2(x) - 3)) * (0.8 if x * y == 1024 else 1)
                params = {"LOCAL_X": x, "LOCAL_Y": y, "MATH": math}
                sizes = {"bytes": 8 * size * size, "width": size}
                made.append(row("cache_reuse", 0.0, "cache_reuse", params=params, sizes=sizes, gb_s=9.0, gflop_s=rate))
    return made


def xs(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata())]


def ys(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]
