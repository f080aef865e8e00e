"""The commands that measure the device itself: `gpuopt profile`, `gpuopt aa` and `gpuopt doctor --full`."""

from __future__ import annotations

from pathlib import Path

import click

from gpuopt import sealed
from gpuopt.command_errors import Failure
from gpuopt.files import WriteError
from gpuopt.lab.device import aa_record
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.rows.recorder import UnsavedRowsError
from gpuopt.lab.run import aa
from gpuopt.lab_commands import set_aside
from gpuopt.selection import select
from gpuopt.workloads.microbench import ceilings

AA_SECONDS = 60.0


def run_profile(device: str | None, out: Path | None, force: bool, with_aa: bool) -> bool:
    """Measure the profile of a device, print it, what of it was not kept, and where it is stored; then compare
    identical kernels once. Returns False where it was interrupted. Raises Failure where nothing was kept."""
    chosen = select(device)
    kept = profiles.path_of(chosen)
    rows = kept.with_suffix(".jsonl")
    click.echo(f"measuring {chosen.name}", err=True)
    sealed.made(rows.parent)  # the user's alone, before anything is believed or moved there
    set_aside(rows)  # a profile is of one sitting
    try:
        made = ceilings.profile(chosen, store=rows, progress=True, force=force)
    except KeyboardInterrupt:
        click.echo("gpuopt: interrupted; the earlier profile, if any, is unchanged", err=True)
        return False
    except WriteError as error:
        raise _shown(error) from error
    except UnsavedRowsError as error:
        raise Failure(f"{error.what()}: they are lost, {error.saved} are saved; the profile is in {kept}") from error
    click.echo(f"\n{made!r}\n")
    if made.refused:
        click.echo(
            f"gpuopt: {len(made.refused)} ceilings of this sitting were not kept (reasons above): measure again on a "
            "quiet machine, or keep them with --force",
            err=True,
        )
    if not kept.exists():
        raise Failure("nothing was stored: no ceiling was kept, and there is no earlier profile")
    click.echo(f"written: {kept}")
    if out is not None:
        click.echo(f"written: {profiles.save(made, out)}")
    return not with_aa or run_aa(device, AA_SECONDS)


def _shown(error: WriteError) -> Failure:
    """Show what was measured and could not be kept, and return the failure that ends the command."""
    if error.made is not None:
        click.echo(f"\n{error.made!r}\n")
    return Failure(f"{error}. What was measured is above and nowhere else")


def run_aa(device: str | None, seconds: float) -> bool:
    """Compare identical kernels, print what that shows, and where it is stored. Returns False where it was
    interrupted."""
    chosen = select(device)
    click.echo(f"comparing identical kernels on {chosen.name} for {seconds:.0f} s", err=True)
    try:
        made = aa.aa(chosen, seconds=seconds, progress=True)
    except KeyboardInterrupt:
        click.echo("gpuopt: interrupted; nothing was stored", err=True)
        return False
    except WriteError as error:
        raise _shown(error) from error
    click.echo(f"\n{made!r}\n\nwritten: {aa_record.path_of(chosen)}")
    return True
