"""D3: a table that is looked up at indices from the data, in global or in constant memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, own, same, slow


def data(n: int, entries: int) -> dict[str, np.ndarray]:
    """Indices, and the same table twice: for global and for constant memory."""
    random = np.random.default_rng(0)
    table = random.uniform(-1, 1, entries).astype(np.float32)
    return {
        "index": random.integers(0, entries, n, dtype=np.uint8),
        "table": table,
        "constant_table": table.copy(),
    }


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("index", "n", "uint8"),
        lab.input("table", "entries"),
        lab.constant("constant_table", "entries"),
        lab.output("out", "n"),
        lab.value("n"),
    ],
    "reference": lambda index, table: table[index],
    "tolerance": 0.0,
    "work": lab.work(read="n + 4 * entries", write="4 * n"),
}
ITEMS = lab.launch(items="n", local=256)
ONE_BY_ONE = "constant memory serves one address at a time, and most of a warp's indices differ"

ENTRY = Entry(
    id="D3",
    name="const_divergent",
    title="a table in constant memory, read at indices that differ",
    project="none of the paper's: the other side of D1",
    category="D",
    provenance=["rec"],
    versions=[
        own(
            "bug",
            "const_divergent/global_table",
            "the table in global memory, only read",
            stages=[lab.stage("const_divergent_global_table", "index table out n", ITEMS)],
            **TASK,
        ),
        own(
            "trap",
            "const_divergent/constant_table",
            "the table in constant memory",
            stages=[lab.stage("const_divergent_constant_table", "index constant_table out n", ITEMS)],
            predicted={
                "gpu_fast_fp64": slow(ONE_BY_ONE),
                "gpu_slow_fp64": slow(ONE_BY_ONE),
                "cpu": same("constant memory is plain memory there, and both tables fit the first cache"),
            },
            **TASK,
        ),
    ],
    sizes={"n": 2**24, "entries": 256},
    quick={"n": 2**20, "entries": 256},
    awkward={"n": 1013, "entries": 16},
    explains="addresses of constant memory that a warp asks for at a time",
    exactness="numbers are copied: results are exact.",
    story=Story(
        did="Each work-item looks up a small table at an index that comes from its data.",
        slow=(
            "Nothing is, while the table lies in global memory. The advice to put small tables that are only read into "
            "constant memory makes it slow: that memory is made for one address that all work-items of a warp share, "
            "and serves different ones in turn."
        ),
        fix=(
            "Leave such a table in global memory, or put it into local memory. The paper has no such case. A project "
            "of today measured constant memory 3.46 times as slow with 16 entries, and 49.5 times with 256."
        ),
        look_for=(
            "What the index of a constant array depends on. A loop counter or an argument is the same for all "
            "work-items, and constant memory is right; data or the global id are not."
        ),
    ),
    data=data,
)
