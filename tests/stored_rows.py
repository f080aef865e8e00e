"""Rows as a store takes them."""

from __future__ import annotations

from gpuopt.lab.rows.schema import new_row

SPEC = {
    "source_sha256": "5f",
    "options": "-DREAL=float",
    "device": "A device",
    "driver": "1.0",
    "workload": "spmv",
    "problem": "stencil 5",
    "variant": "basic",
    "params": {"ITEMS": 64, "SCALE": 0.1},
    "sizes": {"n": 4096},
    "dtype": "float32",
    "local_size": [64],
    "global_size": [4096],
    "cache_state": "hot",
    "clock": "event",
    "seed": 1,
    "protocol": "search",
}


def make(**fields):
    return new_row(**{"kind": "block", "status": "ok", **SPEC, **fields})
