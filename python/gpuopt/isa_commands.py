"""`gpuopt isa`: what kernels were compiled to, those of a workload, of a user's Python file or of any OpenCL file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from gpuopt import files, lab, lab_commands, program_commands, programs
from gpuopt._core import ParameterError
from gpuopt.command_errors import Failure
from gpuopt.command_paths import OutFile, refuse_read, shown, whole
from gpuopt.configuration import Configuration
from gpuopt.lab.compiled.entries import LIVE, Compiled, Entry
from gpuopt.lab.compiled.targets import TARGETS
from gpuopt.lab.kernels.source import source_of
from gpuopt.lab.run.instructions import planned
from gpuopt.lab.workload import Workload
from gpuopt.problem import Problem
from gpuopt.registry import records
from gpuopt.selection import Selector, select

FILE_HELP = """Show what the kernels of an OpenCL file are compiled to.

OPTIONS are build options, such as '-D WIDTH=4 -cl-mad-enable'; quoted includes are read from the file's folder. Exits
with 2 where nothing is compiled.
"""

TARGET_OPTION = click.option(
    "--target",
    "-t",
    "targets",
    metavar="T",
    multiple=True,
    default=(LIVE,),
    help=f"live is the device itself (the default); others need clang: {', '.join(TARGETS)}. May be repeated.",
)
DIFF_OPTION = click.option(
    "--diff", metavar="A B", nargs=2, help="Also two kernels side by side, by their names in the table."
)
OUT_OPTION = click.option("--out", metavar="FILE.json", type=OutFile(), help="Write the rows, too.")
VARIANT_OPTION = click.option(
    "--variant", "-v", "variants", metavar="V", multiple=True, help="As of `gpuopt study`; may be repeated."
)


def workload_command(workload: Workload) -> click.Command:
    """Return `gpuopt isa WORKLOAD`."""

    def command(
        subjects: tuple[str, ...],
        device: str | None,
        dtype: str,
        variants: tuple[str, ...],
        targets: tuple[str, ...],
        diff: tuple[str, str] | None,
        out: Path | None,
        **options: Any,
    ) -> None:
        _check_out(out, subjects)
        lab_commands.check_subjects(workload, subjects, one_problem=True)
        chosen = select(device)
        (each, *_) = workload.problems(subjects or workload.default)
        problem = workload.problem(each, dtype, chosen, **options)
        _run(problem, variants, targets, chosen, diff, out)

    decorators: list[Callable[[Any], Any]] = [
        click.argument("subjects", metavar=f"[{workload.subject}]", nargs=-1),
        lab_commands.DEVICE_OPTION,
        click.option("--dtype", type=click.Choice(workload.dtypes), default=workload.dtypes[0], show_default=True),
        *workload.options,
        VARIANT_OPTION,
        *(TARGET_OPTION, DIFF_OPTION, OUT_OPTION),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    text = f"Show what the kernels of {workload.name} are compiled to.\n\n{workload.subject}: {workload.subject_help}."
    return click.command(workload.name, help=text)(command)


def program_command(path: str) -> click.Command:
    """Return `gpuopt isa FILE.py`."""

    @click.command(path, help="Show what a kernel that FILE.py defines is compiled to, in all configurations.")
    @program_commands.SIZES
    @program_commands.KERNEL_OPTION
    @lab_commands.DEVICE_OPTION
    @VARIANT_OPTION
    @TARGET_OPTION
    @DIFF_OPTION
    @OUT_OPTION
    def command(
        sizes: tuple[str, ...],
        kernel: str | None,
        device: str | None,
        variants: tuple[str, ...],
        targets: tuple[str, ...],
        diff: tuple[str, str] | None,
        out: Path | None,
    ) -> None:
        with programs.opened(Path(path)) as (found, base):
            out = whole(base, out) if out is not None else None
            _check_out(out, programs.files_of(base / path, found))
            own = programs.chosen(found, kernel)
            known = programs.sizes_of(sizes, own)
            problem = own.problem(**known)
            wanted = variants or program_commands.every(own, known, "gpuopt isa shows")
            _run(problem, wanted, targets, device, diff, out)

    return command


def file_command(path: str) -> click.Command:
    """Return `gpuopt isa FILE.cl`."""

    @click.command(path, help=FILE_HELP)
    @click.option("--options", metavar="OPTIONS", default="", help="Build options.")
    @lab_commands.DEVICE_OPTION
    @TARGET_OPTION
    @DIFF_OPTION
    @OUT_OPTION
    def command(
        options: str, device: str | None, targets: tuple[str, ...], diff: tuple[str, str] | None, out: Path | None
    ) -> None:
        if out is not None:
            _check_out(out, [path, *source_of(Path(path)).files])
        show(lab.isa_of_file(path, options=options, targets=list(targets), device=device), diff, out)

    return command


def _check_out(out: Path | None, read: Iterable[str | Path]) -> None:
    if out is not None:
        refuse_read("--out", out, read)


def _run(
    problem: Problem,
    variants: Sequence[str | Configuration],
    targets: Sequence[str],
    device: Selector,
    diff: Sequence[str] | None,
    out: Path | None,
) -> None:
    """Compile a problem's kernels and show them. Raises Failure before that where ``diff`` names none of them."""
    wanted = list(variants) or ["all"]
    if diff:
        _two(planned(problem, wanted, targets, device), diff, targets[0])
    show(lab.isa(problem, wanted, targets=list(targets), device=device, progress=True), diff, out)


def show(found: Compiled, diff: Sequence[str] | None, out: Path | None) -> None:
    """Print the table, write the rows, and print the comparison of two kernels on each target where that was asked for.
    Raises Failure where nothing was compiled, or ``diff`` names no kernel."""
    click.echo(repr(found))
    if out is not None:
        files.write(out, [(json.dumps(found.rows, indent=1) + "\n").encode()])
        click.echo(f"\nwritten: {shown(out)}")
    built = [each.target for each in found if each.entry_point is not None or each.listing is not None]
    if not built:
        raise Failure("nothing was compiled; the table says why")
    for target in dict.fromkeys(built) if diff else ():
        one, other = _two(found, diff or (), target)
        try:
            click.echo(f"\n{lab.isa_diff(one, other)!r}")
        except ParameterError as error:
            click.echo(f"\ngpuopt: --diff{str(error).removeprefix(error.argument)}", err=True)


def _two(found: Compiled, names: Sequence[str], target: str) -> tuple[Entry, Entry]:
    """The entries that --diff names."""
    try:
        one, other = (found.entry(name, target) for name in names)
    except ParameterError as error:
        raise Failure(f"--diff{str(error).removeprefix(error.argument)}") from error
    return one, other


COMMANDS = {record.name: workload_command(record) for record in records() if isinstance(record, Workload)}
