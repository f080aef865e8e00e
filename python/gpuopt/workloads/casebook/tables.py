"""The casebook as a table, and the list of its entries."""

from __future__ import annotations

from collections.abc import Sequence

from gpuopt._core import Device
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.table import ABSENT, Column, Forms, Line, Sheet, spread
from gpuopt.workloads.casebook.entry import CATEGORIES, PROVENANCES, DeviceClass, Entry, PaperGain, Version
from gpuopt.workloads.casebook.findings import Finding

CLASSES: dict[DeviceClass, str] = {
    "gpu_fast_fp64": "a GPU with fast doubles",
    "gpu_slow_fp64": "a GPU with slow doubles",
    "cpu": "a CPU",
}
PROGRAM = Column("program", "whole call", ("times as fast",), "0012")
_COLUMNS = [
    Column("entry", "entry", ("",), "0000", right=False),
    Column("bug", "bug", ("",), "0---", right=False),
    Column("version", "changed to", ("",), "0000", right=False),
    Column("paper", "paper", ("times as fast",), "001-"),
    Column("ours", "kernel here", ("times as fast",), "0012"),
    PROGRAM,
    Column("verdict", "verdict (kernel)", ("",), "0000", right=False),
    Column("predicted", "predicted", ("",), "0001", right=False),
    Column("explains", "what explains it", ("",), "00--", right=False),
]


def sheet(findings: Sequence[Finding], device: Device, device_class: DeviceClass, notes: Sequence[str]) -> Sheet:
    """The table of findings, a section for each category."""
    header = [
        "The casebook: performance bugs of real projects, their fixes, and what these gain here",
        f"On {device_label(device)} (driver {device.driver}), {CLASSES[device_class]}. {_tally(findings)}",
    ]
    whole = any(each.program for each in findings)
    made = Sheet([each for each in _COLUMNS if whole or each is not PROGRAM], header=header)
    for category, title in CATEGORIES.items():
        lines = [_line(each) for each in findings if each.entry.category == category]
        if lines:
            made.sections.append((f"{category}: {title}", lines))
    made.footers += [
        ("confirmed", "the change is faster than the bug, by more than noise; predicted as FAST"),
        ("inverted here", "it is slower, by more than noise; predicted as SLOW"),
        ("no effect here", "neither, and the interval lies within 5 %; predicted as SAME"),
        ("undecided", "none of these, or the conditions admit no verdict"),
        (
            "times as fast",
            "the bug's time over the change's: the Hodges-Lehmann estimate of all blocks, and its 95 % interval",
        ),
    ]
    if any(each.level == "program" for finding in findings for each in finding.version.paper):
        made.footers.append(("paper", "(program) is the gain of a whole program, the others are of a kernel alone"))
    if whole:
        told = "from arrays of the host to arrays of the host: data up, kernels, results back; no gain of a kernel"
        made.footers.append(("whole call", told))
    made.footers += [("note", note) for note in notes]
    return made


def _tally(findings: Sequence[Finding]) -> str:
    decided = [each for each in findings if each.right is not None]
    right = sum(each.right is True for each in decided)
    if not decided:
        return f"None of {len(findings)} is decided, so that no prediction was tested."
    return f"{len(decided)} of {len(findings)} decided, {right} of these as predicted."


def _line(finding: Finding) -> Line:
    entry, version = finding.entry, finding.version
    cells: dict[str, Forms] = {
        "entry": (f"{entry.id} {entry.name}",),
        "bug": (short_name(entry, entry.bug),),
        "version": (short_name(entry, version),),
        "paper": _paper(version.paper),
        "ours": gained(finding.ratio),
        "program": gained(finding.program.ratio if finding.program else None),
        "verdict": (finding.verdict,),
        "predicted": _predicted(finding),
        "explains": (entry.explains,),
    }
    return Line(cells, below=finding.reason)


def gained(ratio: Ratio | None) -> Forms:
    """How many times as fast, with the interval."""
    if ratio is None or ratio.across:
        return ABSENT
    lo, hi = (1 / ratio.hi, 1 / ratio.lo) if ratio.lo and ratio.hi else (None, None)
    return spread(1 / ratio.mid, lo, hi, "x")


def short_name(entry: Entry, version: Version) -> str:
    """A version without the entry's name before it, and what it is where it is neither bug nor fix."""
    name = version.name.removeprefix(f"{entry.name}_").replace("_", " ")
    return name if version.kind in ("bug", "fix") else f"{name} ({version.kind})"


def _paper(gains: Sequence[PaperGain]) -> Forms:
    if not gains:
        return ABSENT
    kernels = [each for each in gains if each.level == "kernel"] or list(gains)
    low, high = min(each.low for each in kernels), max(each.high for each in kernels)
    ends = f"{low:g}x" if low == high else f"{low:g} to {high:g}x"
    note = " (program)" if kernels[0].level == "program" else ""
    return (f"{ends}{note}", ends)


def _predicted(finding: Finding) -> Forms:
    if finding.predicted is None:
        return ABSENT
    mark = {True: ", right", False: ", wrong", None: ""}[finding.right]
    return (f"{finding.predicted.word}{mark}", finding.predicted.word)


def listing(entries: Sequence[Entry]) -> Sheet:
    """The entries that there are."""
    columns = [
        Column("id", "id", ("",), "00", right=False),
        Column("name", "name", ("",), "00", right=False),
        Column("project", "project", ("",), "0-", right=False),
        Column("title", "what it is about", ("",), "00", right=False),
        Column("from", "from", ("",), "00", right=False),
    ]
    made = Sheet(columns)
    for category, title in CATEGORIES.items():
        lines = [
            Line(
                {
                    "id": (each.id,),
                    "name": (each.name,),
                    "project": (each.project,),
                    "title": (each.title,),
                    "from": ("+".join(each.provenance),),
                }
            )
            for each in entries
            if each.category == category
        ]
        if lines:
            made.sections.append((f"{category}: {title}", lines))
    made.footers += [(word, meaning) for word, meaning in PROVENANCES.items()]
    return made
