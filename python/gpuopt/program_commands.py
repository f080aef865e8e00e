"""The commands that measure kernels of a user's own file: `gpuopt study FILE.py`, `gpuopt tune FILE.py` and
`gpuopt judge FILE.py OTHER.cl`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from gpuopt import lab, lab_commands, programs
from gpuopt._core import Device, ParameterError
from gpuopt.command_errors import INTERRUPT_EXIT
from gpuopt.configuration import Configuration
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import levels
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.programs import Sizes

MOST = 128  # configurations of a study: all combinations of seven parameters with two levels
STUDY_HELP = """Compare all configurations of a kernel that FILE.py defines: checked, timed, and held against bounds.

FILE.py is run as `python FILE.py` would run it, but for what stands below `if __name__ == "__main__"`; it defines one
or several lab.Kernel. Each NAME=NUMBER is a size or a value of the kernel, such as n=1048576.
"""
TUNE_HELP = """Find the fastest configuration of a kernel that FILE.py defines, and make it what its calls use.

FILE.py is run as `python FILE.py` would run it, but for what stands below `if __name__ == "__main__"`; it defines one
or several lab.Kernel. Each NAME=NUMBER is a size or a value of the kernel, such as n=1048576. Of more than 128
configurations as many are tried as a search chooses.
"""
KERNEL_OPTION = click.option(
    "--kernel", metavar="NAME", help="Which kernel of the file; needed where it defines several."
)
SIZES = click.argument("sizes", metavar="[NAME=NUMBER]...", nargs=-1)
QUICK_OPTION = click.option("--quick", is_flag=True, help="A fixed budget: fewer blocks, wider intervals.")
VARIANT_HELP = f"""Only this configuration, such as 'saxpy(WIDTH=4)'; of more than {MOST} some have to be named. The
kernel's name alone stands for the fastest that a search finds; may be repeated."""


def study_command(path: str) -> click.Command:
    """Return `gpuopt study FILE.py`."""

    @click.command(path, help=STUDY_HELP)
    @SIZES
    @KERNEL_OPTION
    @QUICK_OPTION
    @lab_commands.DEVICE_OPTION
    @click.option("--variant", "-v", "variants", metavar="V", multiple=True, help=VARIANT_HELP)
    @click.option(
        "--out",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where rows and pictures go; by default gpuopt-results/KERNEL-DEVICE.",
    )
    @click.option("--no-plots", is_flag=True, help="Draw nothing.")
    @lab_commands.ENERGY_OPTION
    @lab_commands.EXPLAIN_OPTION
    @lab_commands.RESUME_OPTION
    @click.pass_context
    def command(
        ctx: click.Context, sizes: tuple[str, ...], kernel: str | None, variants: tuple[str, ...], **given: Any
    ) -> None:
        with programs.opened(Path(path)) as found:
            own = programs.chosen(found, kernel)
            known = programs.sizes_of(sizes, own)
            for variant in variants:
                own.levels(Configuration.parse(variant))  # a level that it does not have is no row
            wanted = variants or tuple(map(str, _every(own, known, path)))
            if not lab_commands.run_study(_workload(own, known), sizes, variants=wanted, dtype=_dtype(own), **given):
                ctx.exit(INTERRUPT_EXIT)

    return command


def tune_command(path: str) -> click.Command:
    """Return `gpuopt tune FILE.py`."""

    @click.command(path, help=TUNE_HELP)
    @SIZES
    @KERNEL_OPTION
    @QUICK_OPTION
    @lab_commands.DEVICE_OPTION
    @lab_commands.RESUME_OPTION
    @click.pass_context
    def command(ctx: click.Context, sizes: tuple[str, ...], kernel: str | None, **given: Any) -> None:
        with programs.opened(Path(path)) as found:
            own = programs.chosen(found, kernel)
            known = programs.sizes_of(sizes, own)
            search = partial(_worth_comparing, own, known)
            if not lab_commands.run_tune(_workload(own, known), sizes, search=search, dtype=_dtype(own), **given):
                ctx.exit(INTERRUPT_EXIT)

    return command


def run_judge(
    path: Path, other: Path, sizes: Sequence[str], *, kernel: str | None, name: str, device: str | None, level: str
) -> bool:
    """Judge the kernel in ``other`` by the task of one that the file defines, and print the verdict. Returns whether it
    is right."""
    with programs.opened(path) as found:
        task = programs.chosen(found, kernel)
        known = programs.sizes_of(sizes, task)
        verdict = lab.judge(other, task, name=name, device=device, level=level, **known)
    click.echo(str(verdict))
    return verdict.ok


def names_of(path: str) -> list[str]:
    """The names of the kernels that a file defines: what tunings are recorded under."""
    with programs.opened(Path(path)) as found:
        return list(dict.fromkeys(kernel.name for kernel in found.values()))


def _dtype(kernel: Kernel) -> str:
    return str(kernel.task.results[0].dtype.name)


def _workload(kernel: Kernel, sizes: Sizes) -> Workload:
    """The record of a kernel, for the commands that all workloads have."""

    def problem(subjects: Sequence[str], dtype: str, device: Device) -> Problem:
        return kernel.problem(**sizes)

    return Workload(
        name=kernel.name,
        summary=repr(kernel),
        subject="NAME=NUMBER",
        default=(),
        subject_help="sizes and values",
        dtypes=(_dtype(kernel),),
        problem=problem,
        pictures=partial(_pictures, kernel),
    )


def _pictures(kernel: Kernel, problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    """Whether the parameters stack, where several with two levels were measured, and none with more."""
    try:
        found = lab.stacking(study, kernel.name)
    except ParameterError:  # it has others, or too little of it ran
        return []
    path = directory / "stacking.png"
    if len(found.factors) < 2:
        return []
    found.picture().savefig(path, dpi=150)
    return [path]


def _admitted(kernel: Kernel, sizes: Sizes) -> list[Configuration]:
    """The configurations that the constraints admit for these sizes, one more than a study takes at most. Raises
    ParameterError where there are none."""
    space = kernel.code.space
    numbers = kernel.task.numbers(sizes, {}, [*space.levels])
    admitted = space.admitted(numbers, lambda text: click.echo(f"constraints: {text}", err=True))
    found = [Configuration(kernel.name, **each) for each in itertools.islice(admitted, MOST + 1)]  # type: ignore[arg-type]
    if not found:
        told = " ".join(f"{name}={value}" for name, value in numbers.items())
        raise ParameterError(f"constraints: they admit no configuration of {kernel.name} for {told}; give other sizes")
    return found


def _every(kernel: Kernel, sizes: Sizes, path: str) -> list[Configuration]:
    found = _admitted(kernel, sizes)
    if len(found) > MOST:
        raise ParameterError(
            f"{kernel.name}: it has more than {MOST} configurations for these sizes; `gpuopt tune {path}` or "
            f"lab.search finds the fastest, -v '{found[0]}' compares one that you name"
        )
    return found


def _worth_comparing(kernel: Kernel, sizes: Sizes, device: Device, rows: Path) -> list[Configuration]:
    """All configurations, or the fastest ones that a search finds."""
    found = _admitted(kernel, sizes)
    if len(found) <= MOST:
        return found
    study = lab.search(kernel, evaluations=MOST, device=device, store=rows, progress=True, **sizes).study
    if study.interrupted:
        raise KeyboardInterrupt
    best = [row for row in study.rows if (row["kind"], row["role"], row["status"]) == ("summary", "variant", "ok")]
    return [Configuration(str(row["variant"]), **levels(row)) for row in best] or found[:1]
