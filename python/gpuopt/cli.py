"""The command line: `gpuopt devices | doctor | profile | study WORKLOAD | tune WORKLOAD | compact FILE`."""

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
