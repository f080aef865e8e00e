"""`gpuopt compare`: what changed between the studies of two files or folders."""

from __future__ import annotations

from pathlib import Path

import click

from gpuopt import lab
from gpuopt.lab.rows.sources import under


def run_compare(old: Path, new: Path) -> bool:
    """Print what changed, and first what was passed over. Returns whether nothing became slower or failed."""
    studies = [_study(path) for path in (old, new)]
    for note in dict.fromkeys(note for study in studies for note in study.notes):
        click.echo(note, err=True)
    found = lab.compare(*studies)
    click.echo(str(found))
    return found.ok


def _study(path: Path) -> lab.Study:
    files = under(path, "*.jsonl") if path.is_dir() else [path]
    return lab.Study.joined([lab.Study.load(file) for file in files])
