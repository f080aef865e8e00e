"""The command line, `gpuopt COMMAND`: a function each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import gpuopt

try:
    import click
except ImportError:
    raise SystemExit(
        "gpuopt: the command line needs click: pip install 'gpuopt[lab]'   (python -m gpuopt.doctor works without)"
    ) from None

from gpuopt import interrupts
from gpuopt.command_errors import INTERRUPT_EXIT, KindGroup, ready_streams
from gpuopt.command_paths import OutFile, OutFolder
from gpuopt.workload_group import WorkloadGroup


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
@click.option("--full", is_flag=True, help="Also measure how small a difference the best device can show; a minute.")
@click.pass_context
def doctor(ctx: click.Context, full: bool) -> None:
    """Explain which devices are found and, where there is none, why."""
    from gpuopt import doctor as module

    code = module.main(_meter_lines, _tool_lines)
    if full and code == 0:
        from gpuopt import device_commands

        if not device_commands.run_aa(None, device_commands.AA_SECONDS):
            code = INTERRUPT_EXIT
    ctx.exit(code)


def _tool_lines() -> list[str]:
    """A line for each kind of tool that `gpuopt isa` uses."""
    from gpuopt.lab.compiled import found

    return found.lines()


def _meter_lines() -> list[str]:
    """A line for each device: its meter of energy, or why it has none."""
    from gpuopt.lab.device.energy import meter_of

    found = [(device, meter_of(device)) for device in gpuopt.devices()]
    return [
        f"--  {device.index}  none: {meter}"
        if isinstance(meter, str)
        else f"ok  {device.index}  {meter.source}, a step every {1e3 * meter.interval_s:g} ms"
        for device, meter in found
    ]


@app.command("list")
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1)
@click.option("--device", metavar="D", help="Whose peers: an index, a type (gpu, cpu) or part of a name.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def list_(names: tuple[str, ...], device: str | None, as_json: bool) -> None:
    """List workloads with their variants, the presets of papers, and the peers that are installed here.

    Of a WORKLOAD that is named, also what each variant does and its parameters with their levels.
    """
    from gpuopt import list_commands

    list_commands.run_list(names, device, as_json)


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script with which a shell completes commands and options of gpuopt.

    \b
    bash   echo 'eval "$(gpuopt completion bash)"' >> ~/.bashrc        (zsh: the same, >> ~/.zshrc)
    fish   gpuopt completion fish > ~/.config/fish/completions/gpuopt.fish
    """
    from gpuopt import list_commands

    click.echo(list_commands.completion_script(app, shell))


@app.group(cls=WorkloadGroup)
def study() -> None:
    """Run every variant of a workload: checked, timed, and compared with what the device allows.

    Or every configuration of your own kernel: in place of a workload, name a Python file that defines a lab.Kernel,
    then its sizes, such as `gpuopt study kernel.py n=1048576`. Python runs that file, as `python kernel.py` does.
    """


@app.group(cls=WorkloadGroup, invoke_without_command=True, no_args_is_help=True)
@click.option("--show", is_flag=True, help="Print what is recorded for the device, with gain and date; tune nothing.")
@click.option("--reset", is_flag=True, help="Forget what devices of its name have on record, of one WORKLOAD or all.")
@click.option("--device", metavar="D", help="The device of --show and --reset.")
@click.pass_context
def tune(ctx: click.Context, show: bool, reset: bool, device: str | None) -> None:
    """Find the best configuration for this device, and make it what plain calls use.

    What plain calls used before stays unless another is certified to be faster. In place of a workload, a Python file
    that defines a lab.Kernel may be named, then its sizes; Python runs that file, as `python kernel.py` does.
    """
    if not (show or reset):
        if device is not None or ctx.invoked_subcommand is None:
            raise click.UsageError("name a workload, then --device; before it --device goes with --show or --reset")
        return
    from gpuopt import tune_commands

    if show and reset:
        raise click.UsageError("--show or --reset, not both")
    named = ctx.invoked_subcommand
    held: AbstractContextManager[list[str]] = nullcontext([named] if named else tune_commands.every())
    if named and named.endswith(".py"):
        from gpuopt import program_commands

        held = program_commands.names_of(named)
    with held as workloads:
        (tune_commands.run_show if show else tune_commands.run_reset)(device, workloads)
    ctx.exit()


@app.group(cls=WorkloadGroup)
def isa() -> None:
    """Show what kernels are compiled to: registers, instructions, those of the innermost loop, wavefronts that fit.

    Those of a workload, or of your own: in place of a workload, name a Python file that defines a lab.Kernel, then its
    sizes, or any OpenCL file, such as `gpuopt isa kernel.cl -t gfx90a`. Python runs a Python file.
    """


@app.command()
@click.argument("program", metavar="FILE.py", type=click.Path(path_type=Path))
@click.argument("other", metavar="OTHER.cl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("sizes", metavar="[NAME=NUMBER]...", nargs=-1)
@click.option("--kernel", metavar="NAME", help="Whose task; needed where the file defines several kernels.")
@click.option(
    "--name", metavar="NAME", default="", help="The kernel function in OTHER.cl; by default of the same name."
)
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option(
    "--level",
    type=click.Choice(["quick", "full", "judge"]),
    default="judge",
    show_default=True,
    help="quick: two data sets; full: also other sizes, values, state; judge: also refuses what could deceive.",
)
@click.option("--variant", "-v", metavar="V", help="At these levels, such as 'saxpy(WIDTH=4)'; else the standard ones.")
@click.pass_context
def judge(ctx: click.Context, program: Path, other: Path, sizes: tuple[str, ...], **options: Any) -> None:
    """Judge somebody's kernel in OTHER.cl by the task of your own in FILE.py: does it compute the same, always?

    Python runs FILE.py, as `python FILE.py` does; it defines a lab.Kernel, whose arguments, data, reference, tolerance,
    levels and launch the other kernel gets. One configuration is judged. Exits with 1 where it is wrong or refused.
    """
    from gpuopt import program_commands

    if not program_commands.run_judge(program, other, sizes, **options):
        ctx.exit(1)


@app.command()
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option("--out", metavar="FILE", type=OutFile(make_folder=True), help="Also write it there.")
@click.option("--force", is_flag=True, help="Keep doubtful ceilings too: of a busy machine, far below earlier ones.")
@click.option("--aa/--no-aa", "with_aa", default=True, help="Whether `gpuopt aa` follows (the default), for a minute.")
@click.pass_context
def profile(ctx: click.Context, device: str | None, out: Path | None, force: bool, with_aa: bool) -> None:
    """Measure the device's ceilings, which bounds divide by, and store them; takes some minutes.

    The latest sittings are remembered: how far their ceilings lie apart says how far times of other days may.
    """
    from gpuopt import device_commands

    if not device_commands.run_profile(device, out, force, with_aa):
        ctx.exit(INTERRUPT_EXIT)


@app.command()
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.pass_context
def aa(ctx: click.Context, device: str | None, seconds: float) -> None:
    """Measure how small a difference this machine can show today, by comparing identical kernels.

    Each kernel has buffers of its own. Short and long launches are compared by events and in batches, as the variants
    of a quick study are. The result is stored, and later studies name it.
    """
    from gpuopt import device_commands

    if not device_commands.run_aa(device, seconds):
        ctx.exit(INTERRUPT_EXIT)


@app.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--algorithm",
    type=click.Choice(["fbp", "sirt", "sart", "os_sart", "cgls", "mlem", "os_em"]),
    default="fbp",
    show_default=True,
)
@click.option("--iterations", metavar="N", type=click.IntRange(1), help="Of those that iterate; else each one's own.")
@click.option("--window", metavar="W", help="Of fbp: ram-lak (the default), shepp-logan, cosine, hann or hamming.")
@click.option("--rows", metavar="ROW|FIRST:END[:STEP]", help="Detector rows, from 0, a slice each; all by default.")
@click.option("--centre", metavar="COLUMN", type=float, help="Where the axis falls, from 0; searched by default.")
@click.option(
    "--rings", metavar="SIZE", type=click.IntRange(0), help="Remove rings by a median over SIZE columns; 0: its own."
)
@click.option("--angles", metavar="FIRST,LAST|FILE", help="In degrees: of the first and last view, or a line each.")
@click.option("--flat", metavar="FILE|COUNT", help="TIFF or folder of TIFFs with the beam on; else what FILE holds.")
@click.option("--dark", metavar="FILE|COUNT", help="The same with the beam off.")
@click.option("--integrals", is_flag=True, help="FILE holds line integrals, not counts.")
@click.option(
    "--limited-angle", is_flag=True, help="Let fbp take views of less than half a turn, such as a tilt series."
)
@click.option(
    "--pixel", metavar="MM", type=float, default=1.0, show_default=True, help="A pixel's width; slices are in 1/MM."
)
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option(
    "--out",
    metavar="FILE",
    type=OutFile(),
    help="A .tif or .npy of float32 slices, by default FILE-ALGORITHM.tif here; a .png of one lies beside it.",
)
def reconstruct(file: Path, out: Path | None, **options: Any) -> None:
    """Reconstruct slices of a parallel-beam scan.

    FILE is HDF5 in Data Exchange form (/exchange/data, data_white, data_dark, theta), which needs h5py (the extra io);
    a TIFF with a page a view; or a folder of TIFFs. Only the rows that are asked for are read. Counts become line
    integrals by the flat and dark fields.
    """
    from gpuopt import reconstruct_commands as module

    module.run_reconstruct(file, module.Wanted(**options), out)


@app.command()
@click.argument("words", metavar="[PAPER]... [ROWS_OR_FOLDERS]...", nargs=-1)
@click.option(
    "--out",
    metavar="DIR",
    type=OutFolder(),
    help="Also write tables (Markdown, HTML) and rows (JSON lines) there.",
)
@click.option("--picture", is_flag=True, help="Draw the claimed ratios, into DIR or gpuopt-results/papers.")
@click.option("--measured", is_flag=True, help="Only claims that the rows have a number for, also in files.")
def papers(words: tuple[str, ...], out: Path | None, picture: bool, measured: bool) -> None:
    """Show every claim of the papers with a number or an order, beside what your rows say.

    Each PAPER is one of catanzaro2010, daga2011, jang2009, yang2012; without one, all are shown. Rows are files or
    folders of studies, of one device or several; by default those in gpuopt-results, if it exists. Claims that were not
    measured name the command that measures them, with the `--device` of the rows that lack them.

    \b
    A verdict is about a ratio of speeds and its 95 % interval (claims of a loss: turned):
      holds      all above 1, and the median at least as printed; an order alone: all more than 1 % above 1
      smaller    all below the printed number, an order alone: all below 1 % above 1
      inverted   all more than 1 % below 1
      undecided  else: it reaches the printed number, but contains 1, or its median falls short;
                 or there are too few blocks for an interval
    A claim that two are the same holds within 5 %, that one is not less from 1 % below 1 on.
    Rates and shares hold from the printed number on; they are counted by themselves.
    Several problems: the geometric mean of their ratios, of "up to" the best; the range is below.
    """
    from gpuopt import paper_commands

    paper_commands.run_papers(words, out, picture, measured)


@app.command()
@click.argument("names", metavar="[ENTRY]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Name the entries, those given or all; run nothing.")
@click.option("--quick", is_flag=True, help="A fixed budget, some seconds an entry; smaller sizes on CPUs.")
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option(
    "--out", metavar="DIR", type=OutFolder(), help="Where the rows go; by default gpuopt-results/casebook-DEVICE."
)
@click.option("--resume/--fresh", default=True, help="Go on with rows of an earlier run (the default), or start anew.")
@click.pass_context
def casebook(
    ctx: click.Context,
    names: tuple[str, ...],
    listed: bool,
    quick: bool,
    device: str | None,
    out: Path | None,
    resume: bool,
) -> None:
    """Run performance bugs of real projects beside their fixes: what does each fix gain on your device?

    Each ENTRY is an id or a name, such as A2 or row_sum; without one, all are run. Of a single entry the whole story is
    told: both kernels side by side, times, instructions, why, and what to look for in your own code.
    """
    from gpuopt import casebook_commands

    if listed:
        casebook_commands.run_list(names, is_alone=resume and not (quick or device or out))
    elif not casebook_commands.run_casebook(names, quick, device, out, resume):
        ctx.exit(INTERRUPT_EXIT)


@app.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", required=False, type=OutFile(over_rows=True))
def compact(source: Path, target: Path | None) -> None:
    """Write a file of rows without raw samples, about a tenth of its size: SOURCE to TARGET.

    Tables, ratios and pictures of it are the same; no sweep goes on from it. TARGET is by default SOURCE-compact.jsonl.
    Given SOURCE again, it is replaced and its samples are gone; no other file is ever overwritten.
    """
    from gpuopt.lab.rows.compact import compact_file

    made = compact_file(source, target)
    for damage in made.problems:
        click.echo(f"passed over: {damage}", err=True)
    click.echo(str(made))


@app.command()
@click.argument("old", type=click.Path(exists=True, path_type=Path))
@click.argument("new", type=click.Path(exists=True, path_type=Path))
@click.pass_context
def compare(ctx: click.Context, old: Path, new: Path) -> None:
    """What became faster or slower from one study to another: two days, drivers or commits.

    OLD and NEW are results files, or folders of them. Exits with 1 where something is certified to be slower, or ran
    and does not any more.
    """
    from gpuopt import compare_commands

    if not compare_commands.run_compare(old, new):
        ctx.exit(1)


@app.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--profile",
    "profiles",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Hold bounds against this profile; by default against those beside the rows. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def audit(ctx: click.Context, paths: tuple[Path, ...], profiles: tuple[Path, ...], as_json: bool) -> None:
    """Compute again everything in stored rows that follows from other rows, and list what does not.

    PATHS are results files, raw or compact, profiles, or folders of them. Each ratio, interval, verdict, flag, rate and
    share of a bound is made anew, by the rules that its row was written under, and agrees to 1e-9 or is listed with its
    file and line. Exits with 1 where anything is.
    """
    from gpuopt.audit import audit as audited

    report = audited(paths, profiles or None)
    click.echo(json.dumps(report.to_json(), indent=1) if as_json else report.to_text())
    if not report.ok:
        ctx.exit(1)


def main(args: Sequence[str] | None = None) -> None:
    """The entry point: runs the command line and exits with its code."""
    ready_streams()
    with interrupts.listening():
        try:
            app.main(args=list(args) if args is not None else None, prog_name="gpuopt")
        except SystemExit as end:
            interrupts.leave(end.code if isinstance(end.code, int) else 1)
            raise
