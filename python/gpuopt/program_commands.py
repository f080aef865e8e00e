"""The commands that measure kernels of a user's own file: `gpuopt study FILE.py`, `gpuopt tune FILE.py` and
`gpuopt judge FILE.py OTHER.cl`."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from gpuopt import lab, lab_commands, programs
from gpuopt._core import Device, ParameterError
from gpuopt.command_errors import INTERRUPT_EXIT
from gpuopt.command_paths import OutFolder, whole
from gpuopt.configuration import Configuration
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import levels
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.programs import Sizes
from gpuopt.selection import select

MOST = 128  # configurations of a study: all combinations of seven parameters with two levels
MOST_COUNTED = 100_000  # configurations of a kernel, to say how many there are
STACKING = "stacking.png"
Levels = Mapping[str, Sequence[int | str]]
STUDY_HELP = """Compare all configurations of a kernel that FILE.py defines: checked, timed, and held against bounds.

FILE.py is run as `python FILE.py` would run it, but for what stands below `if __name__ == "__main__"`; it defines one
or several lab.Kernel. Each NAME=NUMBER is a size or a value of the kernel, such as n=1048576.

It takes some seconds a configuration; --quick takes a part of that. Exits with 2 where none ran and was right.
"""
TUNE_HELP = """Find the fastest configuration of a kernel that FILE.py defines, and make it what its calls use.

FILE.py is run as `python FILE.py` would run it, but for what stands below `if __name__ == "__main__"`; it defines one
or several lab.Kernel. Each NAME=NUMBER is a size or a value of the kernel, such as n=1048576.

Up to 128 configurations are all compared, at some seconds each; of more, 128 that a search chooses. With --seconds or
--evaluations a search chooses in any case, and the five fastest of those are compared.
"""
KERNEL_OPTION = click.option(
    "--kernel", metavar="NAME", help="Which kernel of the file; needed where it defines several."
)
SIZES = click.argument("sizes", metavar="[NAME=NUMBER]...", nargs=-1)
QUICK_OPTION = click.option("--quick", is_flag=True, help="A fixed budget: fewer blocks, wider intervals.")
VARIANT_HELP = f"""Only this configuration, such as 'saxpy(WIDTH=4)'; of more than {MOST} some have to be named,
or fewer levels. The kernel's name alone stands for the fastest that a search finds; may be repeated."""
LEVELS_OPTION = click.option(
    "--level",
    "some",
    metavar="NAME=V,V...",
    multiple=True,
    help="Only these levels of a parameter, such as WIDTH=1,4; may be repeated. Two levels each show what stacks.",
)


def study_command(path: str) -> click.Command:
    """Return `gpuopt study FILE.py`."""

    @click.command(path, help=STUDY_HELP)
    @SIZES
    @KERNEL_OPTION
    @QUICK_OPTION
    @lab_commands.DEVICE_OPTION
    @click.option("--variant", "-v", "variants", metavar="V", multiple=True, help=VARIANT_HELP)
    @LEVELS_OPTION
    @click.option(
        "--out",
        metavar="DIR",
        type=OutFolder(),
        help="Where rows and pictures go; by default gpuopt-results/KERNEL-DEVICE.",
    )
    @click.option("--no-plots", is_flag=True, help="Draw nothing.")
    @lab_commands.CSV_OPTION
    @lab_commands.JSON_OPTION
    @lab_commands.ENERGY_OPTION
    @lab_commands.EXPLAIN_OPTION
    @lab_commands.RESUME_OPTION
    @click.pass_context
    def command(
        ctx: click.Context,
        sizes: tuple[str, ...],
        kernel: str | None,
        variants: tuple[str, ...],
        some: tuple[str, ...],
        **given: Any,
    ) -> None:
        if some and variants:
            raise click.UsageError("--level restricts all configurations, and -v names single ones: give one of them")
        with programs.opened(Path(path)) as (found, base):
            own = programs.chosen(found, kernel)
            known = programs.sizes_of(sizes, own)
            for variant in variants:
                own.levels(Configuration.parse(variant))  # a level that it does not have is no row
            wanted = variants or tuple(map(str, _every(own, known, _levels_of(some), path)))
            read = programs.files_of(whole(base, Path(path)), found)
            given["out"] = given["out"] or lab_commands.folder_of(own.name, select(given["device"]))
            given |= {name: whole(base, given[name]) for name in ("out", "csv", "json") if given[name] is not None}
            fixed: dict[str, Any] = {"variants": wanted, "dtype": _dtype(own), "read": read}
            if not lab_commands.run_study(_workload(own, known), sizes, **fixed, **given):
                ctx.exit(INTERRUPT_EXIT)

    return command


def tune_command(path: str) -> click.Command:
    """Return `gpuopt tune FILE.py`."""

    @click.command(path, help=TUNE_HELP)
    @SIZES
    @KERNEL_OPTION
    @QUICK_OPTION
    @click.option("--evaluations", metavar="N", type=click.IntRange(1), help="Try so many, which a search chooses.")
    @click.option(
        "--seconds", metavar="S", type=click.FloatRange(0, min_open=True), help="Search for so long, then compare."
    )
    @lab_commands.DEVICE_OPTION
    @lab_commands.RESUME_OPTION
    @click.pass_context
    def command(
        ctx: click.Context,
        sizes: tuple[str, ...],
        kernel: str | None,
        evaluations: int | None,
        seconds: float | None,
        **given: Any,
    ) -> None:
        cache = os.environ.get("GPUOPT_CACHE_DIR")
        with programs.opened(Path(path)) as (found, base):
            if cache:
                whole(base, Path(cache))  # messages show what lies there as it was given
            own = programs.chosen(found, kernel)
            known = programs.sizes_of(sizes, own)
            search = partial(_worth_comparing, own, known, evaluations, seconds)
            if not lab_commands.run_tune(_workload(own, known), sizes, search=search, dtype=_dtype(own), **given):
                ctx.exit(INTERRUPT_EXIT)

    return command


def run_judge(
    path: Path,
    other: Path,
    sizes: Sequence[str],
    *,
    kernel: str | None,
    name: str,
    device: str | None,
    level: str,
    variant: str | None,
) -> bool:
    """Judge the kernel in ``other`` by the task of one that the file defines, and print the verdict. Returns whether it
    is right."""
    chosen = None if variant is None else Configuration.parse(variant)
    with programs.opened(path) as (found, base):
        task = programs.chosen(found, kernel)
        known = programs.sizes_of(sizes, task)
        verdict = lab.judge(base / other, task, name=name, configuration=chosen, device=device, level=level, **known)
    click.echo(str(verdict))
    return verdict.ok


@contextmanager
def names_of(path: str) -> Iterator[list[str]]:
    """The names of the kernels that a file defines: what tunings are recorded under, in the folder that holds within
    the context."""
    with programs.opened(Path(path)) as (found, _):
        yield list(dict.fromkeys(kernel.name for kernel in found.values()))


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
        drawn=(STACKING,),
    )


def _pictures(kernel: Kernel, problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    """Whether the parameters stack, where several with two levels were measured, and none with more."""
    try:
        found = lab.stacking(study, kernel.name)
    except ParameterError:  # it has others, or too little of it ran
        return []
    path = directory / STACKING
    if len(found.factors) < 2:
        return []
    found.picture().savefig(path, dpi=150)
    return [path]


def _levels_of(given: Sequence[str]) -> dict[str, list[int | str]]:
    """The levels that `--level WIDTH=1,4` names. Raises UsageError for any other text."""
    found: dict[str, list[int | str]] = {}
    for text in given:
        name, sign, levels = text.partition("=")
        if not (sign and name.strip() and levels.strip()) or name.strip() in found:
            raise click.UsageError(f"--level {text}: write a parameter and its levels once, such as WIDTH=1,4")
        listed = [one.strip() for one in levels.split(",")]
        found[name.strip()] = [int(one) if re.fullmatch(r"-?\d{1,18}", one) else one for one in listed]
    return found


def _admitted(kernel: Kernel, sizes: Sizes, levels: Levels, most: int) -> list[Configuration]:
    """The configurations that the constraints admit for these sizes, of these levels, ``most`` at most. Raises
    ParameterError where there are none."""
    admitted = kernel._admitted(levels, sizes, lambda text: click.echo(f"constraints: {text}", err=True))
    return list(itertools.islice(admitted, most))


def _every(kernel: Kernel, sizes: Sizes, levels: Levels, path: str) -> list[Configuration]:
    named = " ".join(f"--level {name}={some[0]},{some[-1]}" for name, some in _many(kernel, levels)[:2])
    fewer = f"keep fewer levels ({named} and so on), "
    others = f", or find the fastest: `gpuopt tune {path}`, lab.search"
    return every(kernel, sizes, "a study compares", levels, fewer, others)


def every(
    kernel: Kernel, sizes: Sizes, does: str, levels: Levels | None = None, fewer: str = "", others: str = ""
) -> list[Configuration]:
    """All configurations that the constraints admit for these sizes. Raises ParameterError where there are more than
    MOST; ``does`` says whose limit it is, ``fewer`` and ``others`` what else helps than to name some."""
    found = _admitted(kernel, sizes, levels or {}, MOST_COUNTED + 1)
    if len(found) > MOST:
        count = f"{len(found):,}" if len(found) <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"
        raise ParameterError(
            f"{kernel.name}: it has {count} configurations for these sizes, and {does} {MOST} at most; {fewer}"
            f"name configurations (-v '{found[0]}'){others}"
        )
    return found


def _many(kernel: Kernel, levels: Levels) -> list[tuple[str, Sequence[int | str]]]:
    """The parameters with their levels, those with the most first."""
    kept = {**kernel.code.space.levels, **levels}
    return sorted(kept.items(), key=lambda one: -len(one[1]))


def _worth_comparing(
    kernel: Kernel, sizes: Sizes, evaluations: int | None, seconds: float | None, device: Device, rows: Path
) -> list[Configuration]:
    """All configurations, or the fastest ones that a search finds within its budget."""
    found = _admitted(kernel, sizes, {}, MOST + 1)
    if len(found) <= MOST and evaluations is None and seconds is None:
        return found
    most = MOST if evaluations is None and seconds is None else evaluations
    study = lab.search(
        kernel, evaluations=most, seconds=seconds, device=device, store=rows, progress=True, **sizes
    ).study
    if study.interrupted:
        raise KeyboardInterrupt
    best = [row for row in study.rows if (row["kind"], row["role"], row["status"]) == ("summary", "variant", "ok")]
    return [Configuration(str(row["variant"]), **levels(row)) for row in best] or found[:1]
