"""The record of the microbenchmarks: `gpuopt study microbench`."""

from __future__ import annotations

from pathlib import Path

from gpuopt.lab.report import Study
from gpuopt.lab.workload import SurveyWorkload
from gpuopt.workloads.microbench.questions import cube


def _pictures(study: Study, directory: Path) -> list[Path]:
    from gpuopt.workloads.microbench import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory)


WORKLOAD = SurveyWorkload(
    name="microbench",
    summary="Bandwidth by data type, access pattern, cache type, working set and work-group shape: the device itself.",
    questions=cube,
    pictures=_pictures,
    drawn=(
        "data_types.png",
        "working_set.png",
        "block_dimensions.png",
        "activation_matrix.png",
        "cache_types.png",
        "branches.png",
        "registers.png",
    ),
)
