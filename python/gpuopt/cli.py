"""The command line: `gpuopt devices | doctor | profile | study WORKLOAD | tune WORKLOAD`."""

from __future__ import annotations

import errno
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpuopt

try:
    import click
except ImportError:
    raise SystemExit(
        "gpuopt: the command line needs click: pip install 'gpuopt[lab]'   (python -m gpuopt.doctor works without)"
    ) from None

from gpuopt.workloads_cli import WORKLOADS, Workload

if TYPE_CHECKING:
    from gpuopt.lab.study import Study

ERROR_EXIT, INTERRUPT_EXIT = 2, 130
ROWS_FILE = "rows.jsonl"
OUT_HELP = "Where rows and pictures go; by default gpuopt-results/WORKLOAD-DEVICE."
VARIANT_HELP = (
    "Only these, again and again: a variant (all its levels), a preset, or a configuration such as 'sliced(SLICE=64)'."
)
RESUME_HELP = "Keep the rows of an earlier run that still hold (the default), or measure everything anew."


DEVICE_OPTION = click.option(
    "--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`."
)
RESUME_OPTION = click.option("--resume/--fresh", default=True, help=RESUME_HELP)


# ---------------------------------------------------------------- commands


class Failure(click.ClickException):
    """What a person can mend, in one line."""

    exit_code = ERROR_EXIT

    def show(self, file: Any = None) -> None:
        click.echo(click.style("gpuopt: ", fg="red") + self.message, err=True, file=file)


class KindGroup(click.Group):
    """Errors that a person can mend become one line and exit code 2, an interrupt code 130; bugs keep their trace."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("gpuopt: interrupted", err=True)
            ctx.exit(INTERRUPT_EXIT)
        except (gpuopt.Error, OSError, ModuleNotFoundError) as error:
            if ctx.params.get("traceback") or _is_not_theirs(error):
                raise
            raise Failure(_kind_line(error)) from error


def _is_not_theirs(error: Exception) -> bool:
    """A module of our own that is missing is a bug; a closed pipe is what `| head` does, and click's to handle."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == "gpuopt"
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _kind_line(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"this needs {error.name}, which is not installed: pip install 'gpuopt[lab]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


@click.group(cls=KindGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(gpuopt.__version__, prog_name="gpuopt", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error comes from.")
def app(traceback: bool) -> None:
    """Which optimizations pay on your OpenCL device, how much, and why."""


@app.command()
@click.pass_context
def devices(ctx: click.Context) -> None:
    """List the OpenCL devices, best first."""
    found = gpuopt.devices()
    click.echo(str(found))
    if not found:
        ctx.exit(1)


@app.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Explain what is found and, where nothing is, why."""
    from gpuopt import doctor as module

    ctx.exit(module.main())


@app.group()
def study() -> None:
    """Run every variant of a workload: checked, timed, and held against what the device allows."""


@app.group()
def tune() -> None:
    """Find the best configuration for this device, and make it what plain calls use."""


def _subcommand(workload: Workload, run: Callable[..., bool], *options: Callable[[Any], Any]) -> click.Command:
    """The subcommand of a workload's row, with what all of them take; ``run`` returns False where interrupted."""
    common = (
        click.argument("subjects", metavar=f"[{workload.subject}]", nargs=-1),
        click.option(
            "--quick", is_flag=True, help="One level a parameter and a fixed budget: about a minute on a CPU."
        ),
        DEVICE_OPTION,
        click.option("--dtype", type=click.Choice(workload.dtypes), default=workload.dtypes[0], show_default=True),
        *workload.options,
        *options,
        RESUME_OPTION,
    )

    @click.pass_context
    def command(ctx: click.Context, subjects: tuple[str, ...], **given: Any) -> None:
        most = 1 if workload.several and run is run_tune else workload.most
        if len(subjects) > most:
            raise click.UsageError(f"at most {most} of {workload.subject}, not {len(subjects)}")
        if not run(workload, subjects or workload.default, **given):
            ctx.exit(INTERRUPT_EXIT)

    for decorate in reversed(common):
        command = decorate(command)
    return click.command(workload.name, help=f"{workload.summary}\n\n{workload.subject}: {workload.subject_help}.")(
        command
    )


def study_command(workload: Workload) -> click.Command:
    """`gpuopt study NAME`, made from the workload's row."""
    return _subcommand(
        workload,
        run_study,
        click.option("--variant", "-v", "variants", metavar="V", multiple=True, help=VARIANT_HELP),
        *([_design_option(workload)] if workload.designs else []),
        click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help=OUT_HELP),
        click.option("--no-plots", is_flag=True, help="Draw nothing."),
    )


def _design_option(workload: Workload) -> Callable[[Any], Any]:
    names = click.Choice(list(workload.designs))
    return click.option(
        "--design", type=names, help="Also every configuration of this design, forbidden ones with why."
    )


def tune_command(workload: Workload) -> click.Command:
    """`gpuopt tune NAME`, made from the workload's row."""
    return _subcommand(workload, run_tune)


def run_study(
    workload: Workload,
    subjects: Sequence[str],
    *,
    quick: bool,
    device: str | None,
    dtype: str,
    variants: tuple[str, ...],
    out: Path | None,
    no_plots: bool,
    resume: bool,
    design: str | None = None,
    **options: Any,
) -> bool:
    """The problem, its sweep, the table, the sentences, the pictures; says where they lie. False where interrupted."""
    from gpuopt import lab
    from gpuopt.lab.environment import device_label
    from gpuopt.lab.study import Study
    from gpuopt.lab.tune import slug
    from gpuopt.selection import select

    chosen = select(device)
    directory = out or Path("gpuopt-results") / f"{workload.name}-{slug(device_label(chosen))}"
    rows = directory / ROWS_FILE
    click.echo(f"{' '.join([workload.name, *subjects])} on {chosen.name}, rows go to {rows}", err=True)
    asked: list[str | gpuopt.Configuration] = [gpuopt.Configuration.parse(v) if "(" in v else v for v in variants or ()]
    studies: list[Study] = []
    try:
        for each in workload.problems(subjects):
            problem = workload.problem(each, dtype, chosen, **options)
            directory.mkdir(parents=True, exist_ok=True)
            if not resume and not studies:
                _set_aside(rows)
            found = lab.sweep(
                problem,
                variants=[*(asked or ["all"]), *(workload.designs[design]() if design else [])],
                protocol="quick" if quick else "full",
                device=chosen,
                store=rows,
                progress=True,
            )
            _show(found)
            if found.interrupted:
                raise KeyboardInterrupt
            studies.append(found)
        result = studies[0] if len(studies) == 1 else Study.joined(studies)
        pictures: list[Path] = []
        if not no_plots:
            click.echo("drawing", err=True)
            pictures = [*result.save_plots(directory), *workload.pictures(problem, chosen, directory, result)]
    except KeyboardInterrupt:
        _tell_saved(rows)
        return False
    click.echo("\n" + "\n".join(f"written: {path}" for path in [rows, *pictures]))
    return True


def run_tune(
    workload: Workload,
    subjects: Sequence[str],
    *,
    quick: bool,
    device: str | None,
    dtype: str,
    resume: bool,
    **options: Any,
) -> bool:
    """The problem and its tuning; says what won, by how much, and where it is kept. False where interrupted."""
    from gpuopt import lab
    from gpuopt.lab.tune import rows_path
    from gpuopt.selection import select

    chosen = select(device)
    rows = rows_path(workload.name, chosen)
    click.echo(f"tuning {' '.join([workload.name, *subjects, dtype])} on {chosen.name}, rows go to {rows}", err=True)
    try:
        problem = workload.problem(subjects, dtype, chosen, **options)
        if not resume:
            _set_aside(rows)
        result = lab.tune(problem, device=chosen, protocol="quick" if quick else "full", store=rows, progress=True)
        if result.interrupted:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _tell_saved(rows)
        click.echo("gpuopt: no configuration was stored", err=True)
        return False
    _list([str(choice) for choice in result.choices])
    if result.reason:
        raise Failure(f"not stored: {result.reason}")
    click.echo("\n" + "\n".join(f"written: {path}" for path in (rows, result.path)))
    return True


# ---------------------------------------------------------------- the device itself


@app.command()
@DEVICE_OPTION
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Also write it there.")
@click.pass_context
def profile(ctx: click.Context, device: str | None, out: Path | None) -> None:
    """Measure the device's ceilings, which bounds divide by, and keep them: some minutes."""
    from gpuopt.lab import profiles
    from gpuopt.selection import select

    chosen = select(device)
    rows = profiles.path_of(chosen).with_suffix(".jsonl")
    click.echo(f"measuring {chosen.name}", err=True)
    _set_aside(rows)  # a profile is of one sitting
    try:
        made = profiles.profile(chosen, store=rows, progress=True)
    except KeyboardInterrupt:
        click.echo("gpuopt: interrupted; the earlier profile, if any, stands", err=True)
        ctx.exit(INTERRUPT_EXIT)
    click.echo(f"\n{made!r}\n")
    click.echo(f"written: {profiles.path_of(chosen)}")
    if out is not None:
        click.echo(f"written: {profiles.save(made, out)}")


@study.command("microbench")
@click.option("--quick", is_flag=True, help="A quarter of the points.")
@DEVICE_OPTION
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help=OUT_HELP)
@click.option("--no-plots", is_flag=True, help="Draw nothing.")
@RESUME_OPTION
@click.pass_context
def study_microbench(
    ctx: click.Context, quick: bool, device: str | None, out: Path | None, no_plots: bool, resume: bool
) -> None:
    """Bandwidth by data type, access pattern, cache type, working set and work-group shape: the device itself."""
    import gpuopt.lab.device_plots as device_plots
    from gpuopt.lab import questions
    from gpuopt.lab.environment import device_label
    from gpuopt.lab.survey import survey
    from gpuopt.lab.tune import slug
    from gpuopt.selection import select

    chosen = select(device)
    directory = out or Path("gpuopt-results") / f"microbench-{slug(device_label(chosen))}"
    rows = directory / ROWS_FILE
    points = questions.cube(chosen, quick)
    click.echo(f"{len(points)} microbenchmarks on {chosen.name}, rows go to {rows}", err=True)
    directory.mkdir(parents=True, exist_ok=True)
    if not resume:
        _set_aside(rows)
    result = survey(points, device=chosen, store=rows, progress=True)
    click.echo(f"\n{result.to_text()}\n")
    if result.interrupted:
        _tell_saved(rows)
        ctx.exit(INTERRUPT_EXIT)
    pictures = [] if no_plots else device_plots.save(result, directory)
    click.echo("\n" + "\n".join(f"written: {path}" for path in [rows, *pictures]))


def _show(result: Study) -> None:
    click.echo(f"\n{result.to_text()}\n")
    _list(result.sentences())


def _list(sentences: Sequence[str]) -> None:
    from gpuopt.lab.table import terminal_width

    for sentence in sentences:
        glued = sentence.replace(" %", "\N{NO-BREAK SPACE}%")
        lines = textwrap.fill(glued, terminal_width(), initial_indent="- ", subsequent_indent="  ")
        click.echo(lines.replace("\N{NO-BREAK SPACE}", " "))


def _tell_saved(rows: Path) -> None:
    from gpuopt.lab.results import Store

    saved = len(Store(rows).latest()) if rows.exists() else 0
    where = f"{saved} finished rows are in {rows}; the same command goes on there" if saved else "nothing was measured"
    click.echo(f"\ngpuopt: interrupted; {where}", err=True)


def _set_aside(rows: Path) -> None:
    """Keeps the rows of earlier runs beside the new ones: measurements are never deleted."""
    if rows.exists():
        numbered = (rows.with_name(f"{rows.stem}-{number}{rows.suffix}") for number in range(1, 10_000))
        rows.rename(next(path for path in numbered if not path.exists()))


for _workload in WORKLOADS:
    study.add_command(study_command(_workload))
    tune.add_command(tune_command(_workload))


def main(args: Sequence[str] | None = None) -> None:
    """The entry point: runs the command line and exits with its code."""
    app.main(args=list(args) if args is not None else None, prog_name="gpuopt")
