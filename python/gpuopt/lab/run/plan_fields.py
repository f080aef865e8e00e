"""What rows say of a plan: its main kernel, its launches and the build of its programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuopt._core import Prepared
from gpuopt.lab.rows.schema import Row, sha256


def kernel_fields(prepared: Prepared) -> Row:
    """What is known of a plan's main kernel; the number of its launches and the build time of all its programs.

    The hash of a plan of several kernels is of all their sources and options.
    """
    kernels = prepared.kernels
    main = kernels[prepared.main_step]
    built = {(kernel["source_sha256"], kernel["options"]): kernel["build_ms"] for kernel in kernels}
    sources = [[kernel["source_sha256"], kernel["options"]] for kernel in kernels]
    return {
        "global_size": main["global_size"],
        "local_size": main["local_size"],
        "options": main["options"],
        "source_sha256": main["source_sha256"] if len(kernels) == 1 else sha256(sources),
        "binary_sha256": main["binary_sha256"],
        "registers": main["registers"],
        "spill_bytes": main["spill_bytes"],
        "local_bytes": main["local_bytes"],
        "private_bytes": main["private_bytes"],
        "build_ms": sum(built.values()),
        "launches": len(queues := _launched_in(kernels)),
        "in_turn": max(map(queues.count, queues), default=0),
    }


def _launched_in(steps: Sequence[Mapping[str, Any]]) -> list[int]:
    """The queue of each launch of a kernel, without copies; of rounds that a flag ends, those of the first alone: no
    other is sure to run."""
    queues: list[int] = []
    sure = 0  # the next step that runs whatever the flag says
    for number, step in enumerate(steps):
        if number < sure:
            continue
        sure = step.get("past", sure)
        if step["source_sha256"] is not None and all(step["global_size"]):
            queues.append(step["queue"])
    return queues
