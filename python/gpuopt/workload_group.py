"""Groups of the command line whose subcommands are workloads, and files of the user's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import click

_ASKING = ("--show", "--reset")  # of `gpuopt tune`: what is on record, in place of a tuning
_HELP = ("--help", "-h")  # for which nothing is done


class WorkloadGroup(click.Group):
    """A group with a subcommand for each workload, and one for each Python file of the user's. The records, and with
    them the lab, are imported when it is used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`gpuopt tune saxpy.py --show` is `gpuopt tune --show saxpy.py`."""
        return super().parse_args(ctx, _asked_first(args) if self.name == "tune" else args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._known())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if self.name == "isa":
            from gpuopt import isa_commands

            if name.endswith((".py", ".cl")):
                return (isa_commands.program_command if name.endswith(".py") else isa_commands.file_command)(name)
        elif name.endswith(".py"):
            from gpuopt import program_commands

            return (program_commands.study_command if self.name == "study" else program_commands.tune_command)(name)
        return self._known().get(name) or (_recorded(name) if self.name == "tune" else None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names what there is instead of a subcommand that is not known."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(_unknown(args[0], self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def _known(self) -> dict[str, click.Command]:
        from gpuopt import isa_commands, lab_commands

        if self.name == "isa":
            return isa_commands.COMMANDS

        return lab_commands.STUDIES if self.name == "study" else lab_commands.TUNINGS


def _unknown(name: str, known: Sequence[str]) -> str:
    """What is said of a subcommand that there is not."""
    if name.endswith((".cl", ".ocl")):
        return (
            f"{name}: it is a kernel alone; name a Python file with a lab.Kernel, which says what its arguments are "
            "and what is right"
        )
    alike = get_close_matches(name, known, 1)
    meant = f"did you mean {alike[0]}? There are " if alike else "there are "
    return f"{name}: there is no such workload; {meant}{', '.join(known)}, and Python files with a lab.Kernel"


def _asked_first(args: Sequence[str]) -> list[str]:
    """``args`` with --show, --reset, --help and the device that is asked for in front of all others.
    Raises UsageError for options of a tuning, which these would not heed, for more than one name, and where --device
    has no value."""
    if not set(args) & set(_ASKING):
        return [*args]
    first: list[str] = []
    rest: list[str] = []
    given = iter(args)
    for one in given:
        if one == "--device":
            if (value := next(given, None)) is None:
                raise click.BadOptionUsage(one, "Option '--device' requires an argument.")  # as click tells it
            first += [one, value]
        else:
            (first if one in (*_ASKING, *_HELP) or one.startswith("--device=") else rest).append(one)
    asking = next(one for one in _ASKING if one in first)
    if options := [one.partition("=")[0] for one in rest if one.startswith("-")]:
        raise click.UsageError(
            f"{asking} takes a device and one name, of a workload or a kernel: leave out {options[0]}"
        )
    names = [one for one in rest if not one.startswith("-")]
    if names[1:]:
        does = "prints" if asking == "--show" else "forgets"
        raise click.UsageError(f"{asking} {does} what is on record for all inputs of {names[0]}: leave out {names[1]}")
    return first + rest


def _recorded(name: str) -> click.Command | None:
    """A kernel of the user's own by its name alone, which --show and --reset know from its records."""
    from gpuopt import records

    if name not in records.recorded():
        return None

    @click.command(name, hidden=True)
    def command() -> None:
        raise click.UsageError(f"{name} is a kernel of your own: name the Python file that defines it, then its sizes")

    return command
