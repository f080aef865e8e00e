"""The record of matrix products: `gpuopt study gemm`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gpuopt._core import Device, ParameterError
from gpuopt.checked import unsupported
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload, sizes_of
from gpuopt.problem import Problem
from gpuopt.workloads.gemm.peers import peers
from gpuopt.workloads.gemm.precision import FORMS, refusal
from gpuopt.workloads.gemm.problem import gemm, precisions
from gpuopt.workloads.gemm.reference import DISTRIBUTIONS


def _problem(
    subjects: Sequence[str],
    dtype: str,
    device: Device,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    **options: Any,
) -> Problem:
    given = sizes_of(subjects[0], "SIZE or MxNxK", (1, 3)) if subjects else [512 if device.type == "cpu" else 4096]
    named = (m, n, k)
    if any(named) and subjects:
        raise ParameterError("--m, --n and --k stand instead of SIZE; give one of the two")
    if any(named):
        given = [next(filter(None, (length, m, n, k))) for length in named]  # type: ignore[misc]
    rows, columns, depth = (given * 3)[:3]
    if (precision := options.get("precision")) in FORMS and (reason := refusal(device, precision)) is not None:
        raise unsupported(f"precision: {precision}: {reason}; leave --precision out", "device")
    return gemm(rows, columns, depth, dtype, device=device, **options)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.gemm import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory)


WORKLOAD = Workload(
    name="gemm",
    summary="Matrix product: the ladders of two papers, ours, and libraries, with the error of each beside its speed.",
    subject="SIZE | MxNxK",
    default=(),
    subject_help="one size for square matrices, or three, of A (M, K) and B (K, N); several are studied one after the "
    "other; by default 512 for a CPU and 4096 for a GPU",
    dtypes=("float32", "float64"),
    problem=_problem,
    pictures=_pictures,
    most=16,
    several=True,
    options=(
        *(
            click.option(f"--{name}", type=click.IntRange(1), help=f"{name.upper()} alone, instead of SIZE.")
            for name in "mnk"
        ),
        click.option("--distribution", type=click.Choice(list(DISTRIBUTIONS)), default="uniform", show_default=True),
        click.option("--precision", metavar="P", help="Of the whole call, and what is tuned, such as tf32x3."),
    ),
    designs={"precisions": precisions},
    peers=peers,
)
