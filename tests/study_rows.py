"""Made-up rows for the tests of what reads them: a ladder, one of ours, a failure and a peer, with their blocks."""

from __future__ import annotations

import random
from typing import Any

from gpuopt.lab.rows.energies import of_loops

Row = dict[str, Any]

DEVICE = "Intel(R) Xeon(R) Processor @ 2.10GHz"
ENTRIES = 20_800_000.0
READ_GB_S, COPY_GB_S = 20.3, 19.1

# name, preset, parameters, time in ms, what it moves in MB
STEPS: list[tuple[str, str | None, dict[str, int], float, float]] = [
    ("basic", "paper:basic", {}, 21.7, 85.9),
    ("vectorized", "paper:vectorized", {}, 9.4, 85.9),
    ("padded", None, {}, 9.43, 85.9),
    ("sliced", None, {"SLICE": 64, "ITEMS": 64}, 4.35, 85.9),
]


def row(kind: str, variant: str, **values: Any) -> Row:
    """A row with the fields that every kind has."""
    return {
        "schema": 1,
        "kind": kind,
        "workload": "spmv",
        "problem": "image_affinity camera 512x512 r5",
        "variant": variant,
        "configuration": variant,
        "preset": None,
        "dtype": "float32",
        "params": {},
        "sizes": {"rows": 262144, "diagonals": 81},
        "seed": 1,
        "cache_state": "large",
        "clock": "event",
        "role": "variant",
        "device": DEVICE,
        "driver": "2026.21.7.0",
        "platform": "Intel(R) OpenCL",
        "protocol": "quick",
        "profile": "2026-11-21",
        "gpuopt_version": "0.1.0",
        "time_utc": "2026-11-21T08:00:00Z",
        "status": "ok",
        "reason": None,
        "flags": [],
        "block": None,
    } | values


def timed(kind: str, variant: str, median: float, noise: float = 0.004, megabytes: float = 85.9, **values: Any) -> Row:
    """A row with a time, its rates and its share of a bound set by reading `megabytes`."""
    bound = megabytes / READ_GB_S
    return row(
        kind,
        variant,
        **{
            "median_ms": median,
            "ci_lo_ms": median * (1 - noise),
            "ci_hi_ms": median * (1 + 1.4 * noise),
            "flops": 2 * ENTRIES,
            "bytes": {"dram": megabytes * 1e6},
            "gflop_s": 2 * ENTRIES / median / 1e6,
            "gb_s": megabytes / median,
            "bound_ms": bound,
            "bound_by": "dram",
            "pct_bound": 100 * bound / median,
            "pct_lo": 100 * bound / median * (1 - 1.6 * noise),
            "pct_hi": 100 * bound / median * (1 + 1.6 * noise),
            "n": 12,
        }
        | values,
    )


def rows(blocks: int = 6, seed: int = 7) -> list[Row]:
    """The rows of a finished quick study of `STEPS`, one unsupported variant and SciPy."""
    noise = random.Random(seed)
    out = [
        row("search", "read", role="ceiling", gb_s=READ_GB_S, median_ms=4.2),
        row("search", "copy", role="ceiling", gb_s=COPY_GB_S, median_ms=8.9),
    ]
    base = STEPS[0][3]
    for variant, preset, params, median, megabytes in STEPS:
        inside = ", ".join(f"{k}={v}" for k, v in params.items())
        named: Row = {
            "preset": preset,
            "params": params,
            "configuration": f"{variant}({inside})" if params else variant,
            "baseline": "basic",
        }
        for block in range(blocks):
            ratio = median / base * noise.uniform(0.995, 1.005)
            out.append(timed("block", variant, median, **named, block=block, ratio=ratio))
        ratio = median / base
        compared: Row = {
            "ratio": ratio,
            "ratio_lo": ratio * 0.995,
            "ratio_hi": ratio * 1.005,
            "verdict": "FAST" if ratio < 0.99 else "SAME",
            "blocks": blocks,
        }
        out.append(timed("summary", variant, median, megabytes=megabytes, **named, **compared))
    reason = "needs images, and this device has none (CL_DEVICE_IMAGE_SUPPORT is false)"
    out.append(row("summary", "image", preset="paper:image", status="unsupported", reason=reason))
    peer: Row = {
        "role": "peer",
        "clock": "wall",
        "method": "rank",
        "baseline": "basic",
        "bound_ms": None,
        "bound_by": None,
        "pct_bound": None,
    }
    ratio = 15.9 / base
    for block in range(blocks):
        again = ratio * noise.uniform(0.98, 1.02)
        out.append(timed("block", "SciPy dia_array", 15.9, **peer, block=block, ratio=again))
    verdict: Row = {
        "ratio": ratio,
        "ratio_lo": ratio * 0.98,
        "ratio_hi": ratio * 1.02,
        "verdict": "FAST",
        "blocks": blocks,
    }
    out.append(timed("summary", "SciPy dia_array", 15.9, 0.02, **peer, **verdict, flags=["unconverged"]))
    return out


INFO: Row = {
    "name": "image_affinity camera 512x512 r5",
    "workload": "spmv",
    "footprint_bytes": 87_000_000,
    "flops_counted": "2 a true neighbour",
    "wall_s": 41.0,
    "harness_s": 0.9,
}


BYTES_ASKED_FOR = {"basic": 12, "vectorized": 8, "padded": 8, "sliced": 4, "sliced_half": 2}  # an entry
LAUNCH_MS = 0.1


def modelled(made: Row) -> Row:
    """A row of a variant as newer sweeps write it: with the bound without caches, its launches and its accuracy."""
    if made["role"] != "variant" or made["status"] != "ok":
        return made
    requested = BYTES_ASKED_FOR[made["variant"]] * ENTRIES
    uncached = requested / READ_GB_S * 1e-6
    return (
        {"accuracy": ""}
        | made
        | {
            "bytes": made["bytes"] | {"requested": requested},
            "uncached_ms": uncached,
            "pct_uncached": 100 * uncached / made["median_ms"],
            "launches": 2 if made["variant"] == "sliced" else 1,
            "busy_ms": 0.98 * made["median_ms"],
        }
    )


def full_rows(blocks: int = 6) -> list[Row]:
    """`rows` as newer sweeps write them, with a variant of 16-bit values, two whole calls and the time of a launch."""
    out = [modelled(made) for made in rows(blocks)]
    base = STEPS[0][3]
    half: Row = {"configuration": "sliced_half(HALF=1)", "params": {"HALF": 1}, "accuracy": "HALF=1"}
    call: Row = {"role": "call", "clock": "wall", "method": "rank", "bytes": None}
    call |= dict.fromkeys(("bound_ms", "bound_by", "pct_bound", "pct_lo", "pct_hi", "gb_s"))
    for variant, median, fields in (
        ("sliced_half", 2.6, half | {"megabytes": 43.0}),
        ("gpuopt.spmv(A, x)", 60.0, call),
        ("M @ x", 5.3, call),
    ):
        ratio = median / base
        compared: Row = {"ratio_lo": ratio * 0.995, "ratio_hi": ratio * 1.005, "verdict": "FAST", "blocks": blocks}
        same = {"baseline": "basic", "ratio": ratio, **fields}
        out += [modelled(timed("block", variant, median, block=block, **same)) for block in range(blocks)]
        out.append(modelled(timed("summary", variant, median, **same, **compared)))
    for block in range(blocks):
        out.append(row("block", "launch", role="overhead", clock="batch", median_ms=2 * LAUNCH_MS, block=block))
    out.append(row("summary", "launch", role="overhead", clock="batch", median_ms=LAUNCH_MS, workload="microbench"))
    return out


def energy_rows(steps: dict[str, tuple[float, float]], idle_w: float = 80.0, **values: Any) -> list[Row]:
    """Rows of variants that took so many milliseconds at so many watts, in loops of 5 s: {name: (ms, W)}."""
    out = []
    for variant, (median, watts) in steps.items():
        key: Row = {"key": f"key of {variant}", "device": "NVIDIA H200", "driver": "580.159.04", "role": "variant"}
        key |= {"device_type": "gpu", "baseline": next(iter(steps)), "blocks": 10}
        out.append(timed("summary", variant, median, **key))
        loops: Row = {"loop_j": [5 * watts, 5 * watts * 1.004], "loop_power_j": [5 * watts * 1.01] * 2}
        loops |= {"loop_s": [5.0, 5.0], "loop_runs": [5e3 / median] * 2, "idles_w": [idle_w, idle_w]}
        loops |= {"meter": "nvml", "sensor_pct": 25.0, "flops": 2 * ENTRIES, "bytes": {"dram": 85.9e6}}
        loops |= of_loops(loops)
        out.append(row("energy", variant, **key, **loops) | values)
    return out
