"""The command line: `gpuopt devices | doctor | profile | study WORKLOAD | tune WORKLOAD | papers | compact FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gpuopt

try:
    import click
except ImportError:
    raise SystemExit(
        "gpuopt: the command line needs click: pip install 'gpuopt[lab]'   (python -m gpuopt.doctor works without)"
    ) from None

from gpuopt.command_errors import INTERRUPT_EXIT, KindGroup


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
    """Explain which devices are found and, where there is none, why."""
    from gpuopt import doctor as module

    ctx.exit(module.main())


class WorkloadGroup(click.Group):
    """A group with a subcommand for each workload. The records, and with them the lab, are imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._known())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return self._known().get(name)

    def _known(self) -> dict[str, click.Command]:
        from gpuopt import lab_commands

        return lab_commands.STUDIES if self.name == "study" else lab_commands.TUNINGS


@app.group(cls=WorkloadGroup)
def study() -> None:
    """Run every variant of a workload: checked, timed, and compared with what the device allows."""


@app.group(cls=WorkloadGroup)
def tune() -> None:
    """Find the best configuration for this device, and make it what plain calls use."""


@app.command()
@click.option("--device", metavar="D", help="An index, a type (gpu, cpu) or part of a name; see `gpuopt devices`.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Also write it there.")
@click.pass_context
def profile(ctx: click.Context, device: str | None, out: Path | None) -> None:
    """Measure the device's ceilings, which bounds divide by, and store them; takes some minutes."""
    from gpuopt import lab_commands

    if not lab_commands.run_profile(device, out):
        ctx.exit(INTERRUPT_EXIT)


@app.command()
@click.argument("words", metavar="[PAPER]... [ROWS_OR_FOLDERS]...", nargs=-1)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write tables (Markdown, HTML) and rows (JSON lines) there.",
)
@click.option("--picture", is_flag=True, help="Draw the claimed ratios, into DIR or gpuopt-results/papers.")
@click.option("--measured", is_flag=True, help="Only claims that the rows have a number for, also in pictures.")
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
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", required=False, type=click.Path(dir_okay=False, path_type=Path))
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


def main(args: Sequence[str] | None = None) -> None:
    """The entry point: runs the command line and exits with its code."""
    app.main(args=list(args) if args is not None else None, prog_name="gpuopt")
