"""The record of back projection: `gpuopt study tomography`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gpuopt._core import Device
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.workloads.tomography.problem import back_projection


def _problem(subjects: Sequence[str], dtype: str, device: Device, **options: Any) -> Problem:
    return back_projection(subjects[-1], device=device, **options)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.tomography import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory, device)


WORKLOAD = Workload(
    name="tomography",
    summary="Back projection of a scan's views into a volume: the steps of a paper at its two sizes, our kernels, and "
    "images that SART makes.",
    subject="CASE",
    default=("I1", "I2", "cube"),
    subject_help="I1 and I2 (the paper's; a CPU is given one in 192 of their views, with I1full all, with I1:N N of "
    "them), cube (512^3 voxels, 496 views of 960 x 1248; a small one for a CPU), slice (a plane, which scikit-image "
    "can do too), N for N^3 voxels, or NxVIEWSxROWSxCOLUMNS",
    dtypes=("float32",),
    problem=_problem,
    pictures=_pictures,
    most=16,
    several=True,
    options=(
        click.option(
            "--weight",
            type=click.Choice(["none", "adjoint", "fdk"]),
            default="none",
            show_default=True,
            help="What a view's value at a voxel is multiplied by.",
        ),
    ),
)
