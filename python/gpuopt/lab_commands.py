"""The commands that measure workloads: `gpuopt study` and `gpuopt tune`, made from the workloads' records."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

import gpuopt
from gpuopt import lab, labels, sealed
from gpuopt.command_errors import INTERRUPT_EXIT, Failure
from gpuopt.command_paths import OutFile, OutFolder, check_outputs, shown
from gpuopt.files import WriteError
from gpuopt.lab.device.environment import device_label, slug
from gpuopt.lab.report import PLOTS, Study
from gpuopt.lab.rows.recorder import UnsavedRowsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.table import wrapped
from gpuopt.lab.run.tune import rows_path
from gpuopt.lab.workload import SurveyWorkload, Workload
from gpuopt.problem import TooLargeError
from gpuopt.registry import records
from gpuopt.selection import select
from gpuopt.signals import let_through

ROWS_FILE = "rows.jsonl"
OUT_HELP = "Where rows and pictures go; by default gpuopt-results/WORKLOAD-DEVICE."
VARIANT_HELP = (
    "Only this variant (all its levels), preset, or configuration such as 'sliced(SLICE=64)'; `paper` stands for all "
    "presets, `all` for everything, `plain` for what a plain call takes; may be repeated."
)
RESUME_HELP = "Keep the rows of an earlier run that are still valid (the default), or measure everything again."


DEVICE_OPTION = click.option(
    "--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`."
)
EXPLAIN_OPTION = click.option(
    "--explain", is_flag=True, help="Also why, step by step, with configurations, flags, failures and notes."
)
ENERGY_OPTION = click.option(
    "--energy", is_flag=True, help="Also the joules of each variant, after the comparison: about 15 s for each."
)
CSV_OPTION = click.option(
    "--csv", metavar="FILE", type=OutFile(make_folder=True), help="Also write the table there, as CSV."
)
JSON_OPTION = click.option(
    "--json", metavar="FILE", type=OutFile(make_folder=True), help="Also write the table there, as JSON."
)
RESUME_OPTION = click.option("--resume/--fresh", default=True, help=RESUME_HELP)


def _subcommand(workload: Workload, run: Callable[..., bool], *options: Callable[[Any], Any]) -> click.Command:
    """Return the subcommand of a workload's record, with the options that all have; ``run`` returns False where it was
    interrupted."""
    subjects = " | ".join([workload.subject, *(workload.sets if run is run_study else ())])
    common = (
        click.argument("subjects", metavar=f"[{subjects}]", nargs=-1),
        click.option(
            "--quick", is_flag=True, help="One level of each parameter and a fixed budget: about a minute on a CPU."
        ),
        DEVICE_OPTION,
        click.option("--dtype", type=click.Choice(workload.dtypes), default=workload.dtypes[0], show_default=True),
        *workload.options,
        *options,
        RESUME_OPTION,
    )

    @click.pass_context
    def command(ctx: click.Context, subjects: tuple[str, ...], **given: Any) -> None:
        check_subjects(workload, subjects, one_problem=run is run_tune)
        if not run(workload, subjects or workload.default, **given):
            ctx.exit(INTERRUPT_EXIT)

    for decorate in reversed(common):
        command = decorate(command)
    return click.command(workload.name, help=f"{workload.summary}\n\n{workload.subject}: {workload.subject_help}.")(
        command
    )


def check_subjects(workload: Workload, subjects: Sequence[str], *, one_problem: bool) -> None:
    """Raises click's UsageError for more subjects than the workload takes; if ``one_problem``, for those of several,
    and ParameterError for a set."""
    if one_problem:
        workload.refuse_sets(subjects)
    most = 1 if workload.several and one_problem else workload.most
    if len(subjects) > most:
        raise click.UsageError(f"at most {most} of {workload.subject}, not {len(subjects)}")


def study_command(workload: Workload) -> click.Command:
    """Return `gpuopt study NAME`, made from the workload's record."""
    return _subcommand(
        workload,
        run_study,
        click.option("--variant", "-v", "variants", metavar="V", multiple=True, help=VARIANT_HELP),
        *([_design_option(workload)] if workload.designs else []),
        click.option("--out", metavar="DIR", type=OutFolder(), help=OUT_HELP),
        click.option("--no-plots", is_flag=True, help="Draw nothing."),
        CSV_OPTION,
        JSON_OPTION,
        ENERGY_OPTION,
        EXPLAIN_OPTION,
    )


def _design_option(workload: Workload) -> Callable[[Any], Any]:
    names = click.Choice(list(workload.designs))
    return click.option(
        "--design", type=names, help="Also all configurations of this design; forbidden ones are shown with the reason."
    )


def tune_command(workload: Workload) -> click.Command:
    """Return `gpuopt tune NAME`, made from the workload's record."""
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
    explain: bool,
    resume: bool,
    csv: Path | None = None,
    json: Path | None = None,
    energy: bool = False,
    design: str | None = None,
    read: Sequence[Path] = (),
    **options: Any,
) -> bool:
    """Make the problem, sweep it, print headline and table, draw pictures, and print where they are. ``read`` are the
    files that define the workload, where some do. Returns False where it was interrupted."""
    chosen = select(device)
    directory = out or folder_of(workload.name, chosen)
    rows = directory / ROWS_FILE
    check_outputs(rows, csv, json, [*subjects, *read], () if no_plots else (*PLOTS, *workload.drawn))
    click.echo(f"{' '.join([workload.name, *subjects])} on {chosen.name}, rows go to {shown(rows)}", err=True)
    studies: list[Study] = []
    try:
        for problem, usual in _problems(workload, subjects, dtype, chosen, options):
            if not studies:
                hold(directory, rows, resume)
            found = lab.sweep(
                problem,
                variants=[*(variants or [usual]), *(workload.designs[design]() if design else [])],
                protocol="quick" if quick else "full",
                device=chosen,
                store=rows,
                progress=True,
                energy=energy,
            )
            _show(found, explain)
            if found.interrupted:
                raise KeyboardInterrupt
            studies.append(found)
        result = studies[0] if len(studies) == 1 else Study.joined(studies)
        if len(studies) > 1:
            click.echo(f"All {len(studies)} together\n{result.headline()}\n")
        written = _exported(result, csv, json)
        if not no_plots:
            click.echo("drawing", err=True)
            written += [*result.save_plots(directory), *workload.pictures(problem, chosen, directory, result)]
    except KeyboardInterrupt:
        _tell_saved(rows)
        return False
    except UnsavedRowsError as error:
        raise _unsaved(error, explain) from error
    except WriteError as error:
        raise Failure(f"{error}; the rows are in {shown(rows)}") from error
    _conclude([rows, *written], result, explain)
    return True


def folder_of(name: str, device: gpuopt.Device) -> Path:
    """Where the rows of a study go unless told otherwise."""
    return Path("gpuopt-results") / f"{name}-{slug(device_label(device))}"


def _problems(
    workload: Workload, subjects: Sequence[str], dtype: str, device: gpuopt.Device, options: Mapping[str, Any]
) -> Iterator[tuple[gpuopt.Problem, str]]:
    """Yields a study's problems, each with what of it is studied where nothing is named. What of a set is too large is
    told, and left out. Raises Failure where nothing is left."""
    made = 0
    each_of = workload.problems(subjects)
    for each in each_of:
        if each:
            workload.check(each[-1], device)
    for each in each_of:
        of_set = each[:1] and each[0] in workload.sets
        try:
            problem = workload.problem(each, dtype, device, **options)
        except TooLargeError as error:
            if not of_set:
                raise
            click.echo(f"left out: {each[1]}: {error}", err=True)
            continue
        made += 1
        yield problem, "plain" if of_set else "all"
    if not made:
        raise Failure(f"all of {' '.join(subjects)} are too large here")


def _exported(result: Study, csv: Path | None, json: Path | None) -> list[Path]:
    """Write the study's table where it is wanted, and return the paths."""
    wanted = ((csv, result.to_csv), (json, result.to_json))
    return [write(path) for path, write in wanted if path is not None]


def run_tune(
    workload: Workload,
    subjects: Sequence[str],
    *,
    quick: bool,
    device: str | None,
    dtype: str,
    resume: bool,
    search: Callable[[gpuopt.Device, Path], Sequence[gpuopt.Configuration]] | None = None,
    **options: Any,
) -> bool:
    """Make the problem, tune it, and print what won, by how much, and where it is stored. ``search(device, rows)``
    returns the configurations to compare; without it, all variants are searched. Returns False where it was
    interrupted."""

    chosen = select(device)
    rows = rows_path(workload.name, chosen)
    click.echo(
        f"tuning {' '.join([workload.name, *subjects, dtype])} on {chosen.name}, rows go to {shown(rows)}", err=True
    )
    try:
        problem = workload.problem(subjects, dtype, chosen, **options)
        sealed.made(rows.parent)  # the user's alone, before anything is believed or moved there
        _lock(rows.with_suffix(".lock"), os.O_CREAT | os.O_NOFOLLOW, rows)
        if not resume:
            set_aside(rows)
        wanted = search(chosen, rows) if search else "all"
        protocol = "quick" if quick else "full"
        result = lab.tune(problem, device=chosen, variants=wanted, protocol=protocol, store=rows, progress=True)
        if result.interrupted:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _tell_saved(rows)
        click.echo("gpuopt: no configuration was stored", err=True)
        return False
    except UnsavedRowsError as error:
        raise _unsaved(error, False, "; no configuration was stored") from error
    click.echo(wrapped([str(choice) for choice in result.choices]))
    if result.reason:
        raise Failure(f"not stored: {result.reason}")
    click.echo("\n" + "\n".join(f"written: {shown(path)}" for path in (rows, result.path) if path))
    return True


def survey_command(workload: SurveyWorkload) -> click.Command:
    """Return `gpuopt study NAME` for a workload of questions to the device."""

    @click.command(workload.name, help=workload.summary)
    @click.option("--quick", is_flag=True, help="A quarter of the points.")
    @DEVICE_OPTION
    @click.option("--out", metavar="DIR", type=OutFolder(), help=OUT_HELP)
    @click.option("--no-plots", is_flag=True, help="Draw nothing.")
    @CSV_OPTION
    @JSON_OPTION
    @EXPLAIN_OPTION
    @RESUME_OPTION
    @click.pass_context
    def command(ctx: click.Context, **given: Any) -> None:
        if not run_survey(workload, **given):
            ctx.exit(INTERRUPT_EXIT)

    return command


def run_survey(
    workload: SurveyWorkload,
    *,
    quick: bool,
    device: str | None,
    out: Path | None,
    no_plots: bool,
    explain: bool,
    resume: bool,
    csv: Path | None = None,
    json: Path | None = None,
) -> bool:
    """Measure the questions, print their table, draw pictures, and print where they are. Returns False where it was
    interrupted."""
    chosen = select(device)
    directory = out or folder_of(workload.name, chosen)
    rows = directory / ROWS_FILE
    check_outputs(rows, csv, json, drawn=() if no_plots else workload.drawn)
    points = workload.questions(chosen, quick)
    click.echo(f"{len(points)} {labels.of(workload.name).title} on {chosen.name}, rows go to {rows}", err=True)
    hold(directory, rows, resume)
    try:
        result = lab.survey(points, device=chosen, store=rows, progress=True)
    except UnsavedRowsError as error:
        raise _unsaved(error, explain) from error
    _show(result, explain)
    if result.interrupted:
        _tell_saved(rows)
        return False
    try:
        pictures = [] if no_plots else workload.pictures(result, directory)
        tables = _exported(result, csv, json)
    except WriteError as error:
        raise Failure(f"{error}; the rows are in {rows}") from error
    _conclude([rows, *tables, *pictures], result, explain)
    return True


def _show(result: Study, explain: bool) -> None:
    click.echo(f"\n{result.to_text()}\n")
    if explain:
        click.echo(f"{result.explain()}\n")


def _conclude(written: Sequence[Path], study: Study, explain: bool) -> None:
    """Say what was written. Raises Failure where nothing of what was studied ran and was right."""
    click.echo("\n" + "\n".join(f"written: {shown(path)}" for path in written))
    own = [row for row in study.rows if (row["role"] or "variant") == "variant" and row["kind"] != "environment"]
    if not any(row["status"] == "ok" for row in own):
        raise Failure(f"nothing ran and was right: {'the table above' if explain else '--explain'} says why")


def _unsaved(error: UnsavedRowsError[Study], explain: bool, more: str = "") -> Failure:
    """Show the study of which the file lacks rows, and return the failure that ends the command."""
    _show(error.study, explain)
    return Failure(
        f"{error.what()}: they are lost, {error.saved} are saved{more}. Free some space, and the same command goes on "
        "there, or give another path"
    )


def _tell_saved(rows: Path) -> None:
    saved = len(Store(rows).latest()) if rows.exists() else 0
    where = (
        f"{saved} finished rows are in {shown(rows)}; the same command goes on there"
        if saved
        else "nothing was measured"
    )
    click.echo(f"\ngpuopt: interrupted; {where}", err=True)


def hold(directory: Path, rows: Path, resume: bool) -> None:
    """Makes the folder of a run and keeps other commands from writing there until this one ends, however it ends; where
    it does not go on with ``rows``, sets them aside. Raises Failure where another command writes there. Where the file
    system has no such locks, nothing is kept."""
    directory.mkdir(parents=True, exist_ok=True)
    _lock(directory, os.O_DIRECTORY, rows, ", or give another --out")
    if not resume:
        set_aside(rows)


def _lock(place: Path, flags: int, rows: Path, way_out: str = "") -> None:
    locked = os.open(place, os.O_RDONLY | os.O_CLOEXEC | flags, 0o600)
    click.get_current_context().call_on_close(partial(os.close, locked))
    try:
        fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        let_through(error)
        raise Failure(f"another command writes to {shown(rows)} now; wait until it has ended{way_out}") from None
    except OSError as error:
        let_through(error)


def set_aside(rows: Path) -> None:
    """Keeps the rows of earlier runs beside the new ones: measurements are never deleted."""
    if rows.exists():
        numbered = (rows.with_name(f"{rows.stem}-{number}{rows.suffix}") for number in range(1, 10_000))
        rows.rename(next(path for path in numbered if not path.exists()))


STUDIES = {
    record.name: survey_command(record) if isinstance(record, SurveyWorkload) else study_command(record)
    for record in records()
}
TUNINGS = {record.name: tune_command(record) for record in records() if isinstance(record, Workload)}
