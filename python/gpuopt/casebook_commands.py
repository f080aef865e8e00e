"""`gpuopt casebook`: all entries as a table, or one as a story."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gpuopt import lab_commands
from gpuopt.command_errors import Failure
from gpuopt.selection import select
from gpuopt.workloads.casebook import index, lessons, stories, tables
from gpuopt.workloads.casebook.running import casebook


def run_list(names: Sequence[str], *, is_alone: bool) -> None:
    """Print the named entries, or all. Raises ParameterError for an unknown name, UsageError where options of a run are
    given beside the list."""
    if not is_alone:
        raise click.UsageError("--list runs nothing: leave out --quick, --device, --out and --fresh")
    click.echo(tables.listing(index.chosen(names or None)).text())


def run_casebook(names: Sequence[str], quick: bool, device: str | None, out: Path | None, resume: bool) -> bool:
    """Run the named entries, or all, and print their table; of a single one the whole story. Returns False where it was
    interrupted. Raises ParameterError for an unknown name, Failure where rows were not saved."""
    wanted = index.chosen(names or None)
    chosen = select(device)
    directory = out or lab_commands.folder_of("casebook", chosen)
    rows = directory / lab_commands.ROWS_FILE
    entries = "1 entry" if len(wanted) == 1 else f"{len(wanted)} entries"
    click.echo(f"{entries} on {chosen.name}, rows go to {rows}", err=True)
    lab_commands.hold(directory, rows, resume)
    book = casebook(wanted, device=chosen, quick=quick, store=rows, progress=True)
    click.echo(f"\n{book.to_text()}\n")
    if not names:
        click.echo(f"{lessons.sheet(book.findings).text()}\n")
    if len(wanted) == 1 and not book.interrupted:
        (entry,) = wanted
        click.echo(f"{stories.told(entry, book.findings, chosen, entry.sizes_for(chosen, quick))}\n")
    if book.unsaved:
        raise Failure(
            f"{'; '.join(book.unsaved)}: they are lost. Free some space, and the same command goes on there, or give "
            "another path"
        )
    click.echo(f"written: {rows}")
    return not book.interrupted
