"""What tunings have recorded for a device: `gpuopt tune --show` and `gpuopt tune --reset`."""

from __future__ import annotations

from collections.abc import Callable

import click

from gpuopt import lab_commands, records, selection
from gpuopt._core import Device
from gpuopt.configuration import Configuration, built_in
from gpuopt.lab.rows.table import significant
from gpuopt.records import Record
from gpuopt.unit import unit_of

_DEVICE = ("name", "platform", "type")
Chosen = list[str]  # names of workloads


def every() -> Chosen:
    """All that can be tuned: the workloads, then kernels of the user's own that have records."""
    return [*sorted(lab_commands.TUNINGS), *(name for name in records.recorded() if name not in lab_commands.TUNINGS)]


def run_show(device: str | None, workloads: Chosen) -> None:
    """Print what is recorded for a device: for which inputs, what, since when, and what it brought."""
    chosen = selection.select(device)
    lines = []
    for workload in workloads:
        found = [(record, "") for record in records.user_records(workload)]
        shipped = records.shipped_records(workload) if workload in built_in() else []
        found += [(record, ", shipped with gpuopt") for record in shipped]
        lines += [f"{workload}, {_told(record, chosen)}{source}" for record, source in found if _is_of(chosen)(record)]
    click.echo(
        f"recorded for {chosen.name}:" if lines else f"nothing is recorded for {chosen.name}: `gpuopt tune` does it"
    )
    for line in lines:
        click.echo(f"- {line}")


def run_reset(device: str | None, workloads: Chosen) -> None:
    """Forget what tunings recorded for a device and those of its name, of these workloads, and print it. Rows of
    measurements stay."""
    chosen = selection.select(device)
    removed = {workload: records.remove_records(workload, _is_of(chosen)) for workload in workloads}
    lines = [f"{workload}, {_told(record, chosen)}" for workload, found in removed.items() for record in found]
    click.echo(f"forgotten for {chosen.name}:" if lines else f"nothing was recorded for {chosen.name}")
    for line in lines:
        click.echo(f"- {line}")


def _is_of(device: Device) -> Callable[[Record], bool]:
    """Whether a record is of devices of this name, which use each other's; those of a type of devices are of none."""
    return lambda record: all(record["match"].get(name) == getattr(device, name) for name in _DEVICE)


def _told(record: Record, device: Device) -> str:
    match = {name: value for name, value in record["match"].items() if name not in _DEVICE}
    dtype = match.pop("dtype", "any type")
    text = match.pop("kernel", None)  # of somebody's own: a hash of its text and declaration
    held = [name if value is True else f"{name} {value}" for name, value in match.items() if value not in (False, None)]
    inputs = f"{' and '.join(held)} inputs" if held else "any input"
    what = Configuration(record["variant"], **record.get("parameters", {}))
    since = [f"of the text and declaration {str(text)[:8]}"] if text else []
    since += [f"since {record['date']}"] if record.get("date") else []
    since += [f"driver {record['driver']}"] if record.get("driver") else []
    since += ["on another device of this name"] if record.get("unit") not in (None, unit_of(device)) else []
    return f"{dtype}, {inputs}: {'; '.join([str(what), _gain(record), ', '.join(since)]).rstrip('; ')}"


def _gain(record: Record) -> str:
    gain = record.get("gain")
    if not isinstance(gain, dict):
        return "no gain is on record"
    mid, lo, hi = (significant(gain.get(name)) for name in ("mid", "lo", "hi"))
    return f"{mid}x [{lo}, {hi}] faster than {gain.get('over')}"
