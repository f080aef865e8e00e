"""`gpuopt list`: workloads, and of each its variants, the presets of papers, and peers; and `gpuopt completion`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypedDict

import click
from click.shell_completion import get_completion_class

from gpuopt import configuration, papers
from gpuopt._core import Device, Variant
from gpuopt.command_errors import Failure
from gpuopt.lab.rows.table import folded, terminal_width
from gpuopt.lab.workload import SurveyWorkload, Workload
from gpuopt.registry import records
from gpuopt.selection import devices, select

COMPLETE_VARIABLE = "_GPUOPT_COMPLETE"  # by which click's scripts ask the program


class Parameter(TypedDict):
    """What is known of a variant's parameter."""

    levels: list[int]
    standard: int
    meaning: str


class Entry(TypedDict):
    """What is known of a workload: of each variant its summary and its parameters, of each preset its configuration,
    the peers that are installed and run on the device, and why others were left out."""

    name: str
    summary: str
    variants: dict[str, str]
    parameters: dict[str, dict[str, Parameter]]
    presets: dict[str, str]
    peers: list[str]
    left_out: list[str]


def entries(names: Sequence[str], device: Device | None) -> list[Entry]:
    """An entry for each workload, or for each of ``names``. Raises Failure for a name that is none."""
    known = {record.name: record for record in records()}
    if unknown := [name for name in names if name not in known]:
        raise Failure(f"WORKLOAD: there is no {unknown[0]!r}; use {', '.join(known)}")
    return [_entry(known[name], device) for name in names or known]


def _entry(record: Workload | SurveyWorkload, device: Device | None) -> Entry:
    left_out: list[str] = []
    variants = configuration.variants(record.name)
    peers = list(record.peers(device, left_out)) if isinstance(record, Workload) and device is not None else []
    return {
        "name": record.name,
        "summary": record.summary,
        "variants": {variant.name: variant.summary for variant in variants},
        "parameters": {variant.name: _parameters(variant) for variant in variants},
        "presets": {name: str(papers.preset(record.name, name)) for name in papers.figures(record.name)},
        "peers": [peer.name for peer in peers],
        "left_out": left_out,
    }


def run_list(names: tuple[str, ...], device: str | None, as_json: bool) -> None:
    """Print what there is, in short for all workloads, whole for those that are named."""
    chosen = select(device) if device is not None or devices() else None
    found = entries(names, chosen)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    if chosen is None:
        click.echo("no OpenCL device found, so peers are not listed; `gpuopt doctor` says why", err=True)
    told = [_whole(entry) if names else _short(entry) for entry in found]
    click.echo("\n\n".join("\n".join(lines) for lines in told))


def _short(entry: Entry) -> list[str]:
    parts = (("variants", entry["variants"]), ("presets", entry["presets"]), ("peers", entry["peers"]))
    # Some names hold a comma.
    rows = [
        (label, ("; " if any("," in item for item in items) else ", ").join(items)) for label, items in parts if items
    ]
    return [*_head(entry), *(line for row in rows for line in _labelled(*row))]


def _whole(entry: Entry) -> list[str]:
    rows: list[tuple[str, str]] = []
    for variant in configuration.variants(entry["name"]):
        rows.append((variant.name, variant.summary))
        rows += [("", text) for text in _parameter_lines(variant)]
    lines = [*_head(entry), "", "variants", *_table(rows)]
    if entry["presets"]:
        lines += ["", "presets, as papers have them", *_table(list(entry["presets"].items()))]
    if entry["peers"] or entry["left_out"]:
        lines += ["", "peers here", *(f"  {name}" for name in entry["peers"])]
        lines += [line for note in entry["left_out"] for line in folded(f"left out: {note}", terminal_width(), "  ")]
    return lines


def _head(entry: Entry) -> list[str]:
    return folded(f"{entry['name']}: {entry['summary']}", terminal_width())


def _labelled(label: str, text: str) -> list[str]:
    return folded(text, terminal_width(), f"  {label:<9} ", " " * 12)


def _parameters(variant: Variant) -> dict[str, Parameter]:
    return {
        each.name: {"levels": [*each.levels], "standard": each.standard, "meaning": each.meaning}
        for each in variant.parameters
    }


def _parameter_lines(variant: Variant) -> list[str]:
    return [
        f"{each.name} = {', '.join(map(str, each.levels))} (standard {each.standard}): {each.meaning}"
        for each in variant.parameters
    ]


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    wide = max((len(name) for name, _ in rows), default=0)
    return [
        line for name, text in rows for line in folded(text, terminal_width(), f"  {name:<{wide}}  ", " " * (wide + 6))
    ]


def completion_script(app: click.Command, shell: str) -> str:
    """The script that a shell reads for completing `gpuopt`. Raises Failure where click has none for it."""
    found: Any = get_completion_class(shell)
    if found is None:
        raise Failure(f"SHELL: there is no completion for {shell!r}; use bash, zsh or fish")
    return str(found(app, {}, "gpuopt", COMPLETE_VARIABLE).source())
