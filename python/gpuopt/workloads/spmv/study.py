"""The record of diagonal SpMV: `gpuopt study spmv`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpuopt._core import Device
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.workloads.spmv import photographs, segmentation
from gpuopt.workloads.spmv.matrix import DiaMatrix
from gpuopt.workloads.spmv.peers import peers
from gpuopt.workloads.spmv.problem import spmv_grid, spmv_image_affinity

_GRID = re.compile(r"0*([1-9]\d{0,17})x0*([1-9]\d{0,17})")


def _check(subject: str, device: Device) -> None:
    if not _GRID.fullmatch(subject):
        photographs.path_of(subject)


def _problem(subjects: Sequence[str], dtype: str, device: Device) -> Problem:
    (subject,) = subjects
    if size := _GRID.fullmatch(subject):
        width, height = int(size[1]), int(size[2])
        return spmv_grid(width, height, radius=5, dtype=dtype, device=device, symmetric=True)
    return spmv_image_affinity(subject, radius=5, dtype=dtype, device=device)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.spmv import pictures  # matplotlib, where pictures are drawn

    return [*pictures.save(study, directory), *_cut(problem, device, directory)]


def _cut(problem: Problem, device: Device, directory: Path) -> list[Path]:
    """The segmented photograph; none of random values."""
    if "image" not in problem.inputs:
        return []
    image, degrees = problem.inputs["image"], problem.inputs["degrees"]
    operator = DiaMatrix(problem.inputs["A"], device=device).linear_operator()
    found = segmentation.smallest_eigenvectors(operator, 5, degrees, image.shape)
    from gpuopt.lab.show.style import save_whole  # matplotlib, where pictures are drawn

    path = directory / "cut.png"
    save_whole(segmentation.plot_cut(image, found, name=problem.name, device=device.name), path, dpi=130)
    return [path]


WORKLOAD = Workload(
    name="spmv",
    summary="Sparse matrix times vector: the pixel-affinity matrix of a photograph, stored by diagonals.",
    subject="IMAGE",
    default=("camera",),
    subject_help="a picture file, the name of one of scikit-image's own, or WIDTHxHEIGHT for random values without a "
    "picture; several are studied one after the other, and rates are drawn over their sizes",
    dtypes=("float32", "float64"),
    problem=_problem,
    check=_check,
    pictures=_pictures,
    drawn=("sizes.png", "cut.png"),
    most=16,
    several=True,
    peers=peers,
)
