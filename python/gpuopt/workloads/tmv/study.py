"""The record of the transposed product: `gpuopt study tmv`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpuopt._core import Device
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload, sizes_of
from gpuopt.problem import Problem
from gpuopt.workloads.tmv.peers import peers
from gpuopt.workloads.tmv.problem import tmv

_FORM, _COUNTS = "SIZE or ROWSxCOLS", (1, 2)


def _check(subject: str, device: Device) -> None:
    sizes_of(subject, _FORM, _COUNTS)


def _problem(subjects: Sequence[str], dtype: str, device: Device) -> Problem:
    given = sizes_of(subjects[0], _FORM, _COUNTS) if subjects else [2048 if device.type == "cpu" else 8192]
    return tmv(given[0], given[-1], dtype, device=device)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.tmv import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory)


WORKLOAD = Workload(
    name="tmv",
    summary="Transposed matrix times vector, A.T @ v: a read of A.",
    subject="SIZE | ROWSxCOLS",
    default=(),
    subject_help="A's rows and columns, or one size for both; several are studied one after the other; by default 2048 "
    "for a CPU and 8192 for a GPU",
    dtypes=("float32", "float64"),
    problem=_problem,
    check=_check,
    peers=peers,
    pictures=_pictures,
    drawn=("gains.png", "bandwidths.png", "speedups.png"),
    most=16,
    several=True,
)
