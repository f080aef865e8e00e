"""Rows as a store takes them."""

from __future__ import annotations

from gpuopt import lab
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


def tripled() -> lab.Kernel:
    """y = 3 x by W elements a work-item, of which there are three levels: a cheap kernel to sweep."""
    text = """kernel void k(int n, global const float* x, global float* y) {
        int i = get_global_id(0);
        for (int j = 0; j < W; ++j) if (i * W + j < n) y[i * W + j] = 3 * x[i * W + j];
    }"""
    return lab.Kernel(
        text,
        "k",
        parameters={"W": [1, 2, 4]},
        arguments=[lab.value("n"), lab.input("x", "n"), lab.output("y", "n")],
        launch=lab.launch(items="n / W", local=64),
        reference=lambda x: 3 * x,
    )
