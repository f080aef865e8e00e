"""`gpuopt papers`: the claims of the papers beside what rows say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from gpuopt import lab
from gpuopt.command_errors import Failure
from gpuopt.command_paths import matching, refuse_replacing
from gpuopt.lab.show.claims import ROWS_FILE, refuse_other_rows
from gpuopt.papers import claims as data

RESULTS = Path("gpuopt-results")  # where studies put their rows unless told otherwise
PICTURES = RESULTS / "papers"
WRITTEN = (ROWS_FILE, "claims.html", "claims-*.md", "claims-*.png")  # patterns of names


def run_papers(words: Sequence[str], out: Path | None, picture: bool, measured: bool = False) -> None:
    """Print the tables of claims, and write what is asked for. Raises Failure for a word that is neither a paper nor a
    file or folder."""
    known = data.known()
    keys = [word for word in words if word in known]
    if "" in words:
        raise Failure("paper: '' names nothing; give a paper, or a file or folder of rows, such as .")
    places = [Path(word) for word in words if word not in known]
    for place in places:
        if not os.path.exists(place):
            raise Failure(f"{place} is neither a paper ({', '.join(known)}) nor a file or folder of rows")
    if not places and RESULTS.is_dir() and any(RESULTS.rglob("rows*.jsonl")):
        places = [RESULTS]
    folder = out or (PICTURES if picture else None)
    if folder is not None:
        refuse_replacing(places, matching(folder, WRITTEN if out else WRITTEN[-1:]))
    if out is not None:
        refuse_other_rows(out / ROWS_FILE)
    made = lab.claims(*places, paper=keys or None)
    click.echo(made.to_text(only_measured=measured))
    if not places:
        click.echo("\nno rows were given, and none are in gpuopt-results: the commands in brackets measure")
    written = [] if out is None else made.save(out, pictures=picture, only_measured=measured)
    if picture and out is None:
        written = made.save_pictures(PICTURES, only_measured=measured)
    if picture and not any(path.suffix == ".png" for path in written):
        click.echo("\nno claimed ratio has a number: no picture was drawn")
    if written:
        click.echo("\n" + "\n".join(f"written: {path}" for path in written))
