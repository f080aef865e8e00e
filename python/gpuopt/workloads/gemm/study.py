"""The record of matrix products: `gpuopt study gemm`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gpuopt._core import Device, ParameterError
from gpuopt.checked import unsupported
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload, sizes_of
from gpuopt.problem import Problem, TooLargeError
from gpuopt.workloads.gemm.peers import libraries, peers
from gpuopt.workloads.gemm.precision import FORMS, refusal
from gpuopt.workloads.gemm.problem import gemm, precisions
from gpuopt.workloads.gemm.reference import DISTRIBUTIONS
from gpuopt.workloads.gemm.shapes import all_sizes, gemm_shapes

SHAPES = "shapes"  # the subject that stands for all of gemm_shapes()
MOST_ON_CPUS = 2e10  # operations of one of them: some tenths of a second, in some ten blocks of many runs

_FORM, _COUNTS = "SIZE, MxNxK or MxNxKxBATCH", (1, 3, 4)


def _check(subject: str, device: Device) -> None:
    sizes_of(subject, _FORM, _COUNTS)


def _problem(
    subjects: Sequence[str],
    dtype: str,
    device: Device,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    **options: Any,
) -> Problem:
    of_set, own = subjects[:1] == (SHAPES,), subjects[-1:]
    given = sizes_of(own[0], _FORM, _COUNTS) if own else [512 if device.type == "cpu" else 4096]
    named = (m, n, k)
    if any(named) and subjects:
        raise ParameterError("--m, --n and --k stand instead of SIZE; give one of the two")
    if any(named):
        given = [next(filter(None, (length, m, n, k))) for length in named]  # type: ignore[misc]
    rows, columns, depth, batch = all_sizes(given)
    if of_set and any(named):
        raise ParameterError("--m, --n and --k are of one product; give its sizes alone")
    if of_set and device.type == "cpu" and (operations := 2.0 * rows * columns * depth * batch) > MOST_ON_CPUS:
        raise TooLargeError(f"{operations:.2g} operations are many for a CPU among other shapes; study it by itself")
    if (precision := options.get("precision")) in FORMS and (reason := refusal(device, precision)) is not None:
        raise unsupported(f"precision: {precision}: {reason}; leave --precision out", "device")
    problem = gemm(rows, columns, depth, dtype, device=device, batch=batch, **options)
    if not of_set:
        return problem
    plain, call = next(iter(problem.calls.items()))
    return dataclasses.replace(problem, calls={plain: call}, peers=libraries)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.gemm import pictures  # matplotlib, where pictures are drawn

    return pictures.save(study, directory)


WORKLOAD = Workload(
    name="gemm",
    summary="Matrix product: the ladders of two papers, ours, and libraries, with the error of each beside its speed.",
    subject="SIZE | MxNxK | MxNxKxBATCH",
    default=(),
    subject_help="one size for square matrices, or three, of A (M, K) and B (K, N), or four, with how many "
    "products a batch has; several are studied one after the other; by default 512 for a CPU and 4096 for a GPU. "
    "`gpuopt study gemm shapes`: forty products of all kinds, each by what a plain call takes, beside libraries",
    dtypes=("float32", "float64"),
    problem=_problem,
    check=_check,
    pictures=_pictures,
    drawn=("gains.png", "over_cpu.png", "shapes.png", "sizes.png", "unrolling.png", "widths.png"),
    most=16,
    several=True,
    sets={SHAPES: tuple(shape.subject for shape in gemm_shapes())},
    options=(
        *(
            click.option(
                f"--{name}",
                type=click.IntRange(1),
                help=f"{name.upper()} alone, instead of SIZE; what is left out is the first given of M, N, K.",
            )
            for name in "mnk"
        ),
        click.option("--distribution", type=click.Choice(list(DISTRIBUTIONS)), default="uniform", show_default=True),
        click.option("--precision", metavar="P", help="Of the whole call, and what is tuned, such as tf32x3."),
    ),
    designs={"precisions": precisions},
    peers=peers,
)
