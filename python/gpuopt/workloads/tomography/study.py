"""The record of back projection and of projectors along rays: `gpuopt study tomography`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gpuopt._core import Device, ParameterError
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.workloads.tomography.peers import peers
from gpuopt.workloads.tomography.problem import FAMILY, back_projection, scan_of
from gpuopt.workloads.tomography.ray_problem import OPERATIONS, projection


def _check(subject: str, device: Device) -> None:
    scan_of(subject, device)


def _problem(
    subjects: Sequence[str], dtype: str, device: Device, operation: str = FAMILY, weight: str = "none"
) -> Problem:
    if operation == FAMILY:
        return back_projection(subjects[-1], weight, device=device)
    if weight != "none":
        raise ParameterError(f"weight: {operation} has none; leave --weight out, or --operation")
    return projection(subjects[-1], operation, device=device)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    if problem.family != FAMILY:
        return []
    from gpuopt.workloads.tomography import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory, device)


WORKLOAD = Workload(
    name="tomography",
    summary="Back projection of a scan's views into a volume: the steps of a paper at its two sizes, our kernels, and "
    "images that SART makes; or a projector along rays.",
    subject="CASE",
    default=("I1", "I2", "cube"),
    subject_help="I1 and I2 (the paper's; a CPU is given one in 192 of their views, with I1full all, with I1:N N of "
    "them), cube (512^3 voxels, 496 views of 960 x 1248; a small one for a CPU), slice (a plane, which scikit-image "
    "can do too), N for N^3 voxels, or NxVIEWSxROWSxCOLUMNS",
    dtypes=("float32",),
    problem=_problem,
    check=_check,
    pictures=_pictures,
    drawn=("rates.png", "sart.png", "regions.png"),
    most=16,
    several=True,
    options=(
        click.option(
            "--operation",
            type=click.Choice([FAMILY, *OPERATIONS]),
            default=FAMILY,
            show_default=True,
            help="Back projection by voxels, or Joseph's projector along rays, or its adjoint.",
        ),
        click.option(
            "--weight",
            type=click.Choice(["none", "adjoint", "fdk"]),
            default="none",
            show_default=True,
            help="What a view's value at a voxel is multiplied by, in a back projection.",
        ),
    ),
    peers=peers,
)
