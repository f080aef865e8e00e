"""The page of the casebook: all entries on three devices, the paper's projects and rules, and missed predictions."""

from __future__ import annotations

import math
from functools import cache

from gpuopt.configuration import complete
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.report import Study
from gpuopt.lab.rows.table import spread
from gpuopt.workloads.casebook import lessons
from gpuopt.workloads.casebook.entry import DeviceClass, Entry
from gpuopt.workloads.casebook.findings import Finding, findings_of, not_run
from gpuopt.workloads.casebook.index import entries

from .tables import Cell, Line, grid, markdown
from .values import ROOT, Row, noted, significant

DEVICES: dict[str, tuple[str, DeviceClass]] = {
    "H200": ("results/h200/casebook/rows.jsonl", "gpu_fast_fp64"),
    "PoCL": ("results/cpu-2core/pocl-casebook/rows.jsonl", "cpu"),
    "Intel": ("results/cpu-2core/intel-casebook/rows.jsonl", "cpu"),
}
LOOP = {
    "loop_alu": "arithmetic instructions of the inner loop",
    "loop_fetch": "loads of the inner loop",
    "loop_store": "stores of the inner loop",
    "loop_local": "accesses of local memory in the inner loop",
}
WHOLE = {"alu": "arithmetic instructions", "fetch": "loads", "store": "stores", "local": "accesses of local memory"}
ANYWHERE = {
    "double": "instructions of doubles",
    "private": "accesses of private memory",
    "branch": "branches",
    "widest_bits": "bits of the widest vector",
}
COUNTS = {"registers": "registers", "spill_bytes": "bytes spilled", "private_bytes": "private bytes"}


@cache
def _rows(path: str) -> list[Row]:
    return Study.load(ROOT / path).rows


def _findings_of(entry: Entry, rows: list[Row], kind: DeviceClass) -> list[Finding]:
    own = isinstance(entry.bug.of, Kernel)
    workload = entry.bug.of.name if own else str(entry.problem.__name__).replace("problem", "gemm")
    mine = [row for row in rows if row.get("workload") == workload and row["kind"] != "environment"]
    if not mine:
        return not_run(entry, kind, "no row")
    sizes = entry.quick if kind == "cpu" else entry.sizes
    labels = [str(each if own else complete(workload, each)) for each in entry.configurations(sizes)]
    return findings_of(entry, Study(mine), labels, kind)


def found(device: str) -> list[Finding]:
    path, kind = DEVICES[device]
    rows = _rows(noted(path))
    return [finding for entry in entries() for finding in _findings_of(entry, rows, kind)]


def _here(finding: Finding) -> Cell:
    if finding.ratio is None:
        return "refused: wrong" if finding.verdict == "refused" else "not measured"
    low, high = finding.ratio.lo, finding.ratio.hi
    number = spread(1 / finding.ratio.mid, 1 / high if high else None, 1 / low if low else None, "x")[0]
    mark = {True: "", False: ", not as predicted", None: ""}[finding.right]
    return f"{number}, {finding.verdict}{mark}"


def _entries() -> list[Line]:
    lines: list[Line] = []
    for beside in zip(*map(found, DEVICES), strict=True):
        entry, version = beside[0].entry, beside[0].version
        name = lessons.version_name(beside[0])
        kind = "" if version.kind == "fix" else f" ({version.kind})"
        printed = "; ".join(map(str, version.paper))
        lines.append([f"{entry.id} {entry.name}", f"{name}{kind}", printed, *map(_here, beside), entry.explains])
    return lines


def _projects() -> list[Line]:
    all_found = {device: found(device) for device in DEVICES}
    return [
        [
            project.name,
            f"{project.speed} ({project.level})",
            project.energy,
            *(lessons.kernel_gains(project, findings) for findings in all_found.values()),
        ]
        for project in lessons.PROJECTS
    ]


def _rules() -> list[Line]:
    lines: list[Line] = []
    for rule in lessons.RULES:
        by_side: tuple[list[str], list[str]] = ([], [])
        for device in DEVICES:
            for into, names in zip(by_side, lessons.sides(rule, found(device)), strict=True):
                into += [f"{device}: {', '.join(names)}"] if names else []
        lines.append([rule.text, *("; ".join(side) or "none" for side in by_side)])
    return lines


def _counts(finding: Finding) -> str:
    """What differs between bug and version, counted: by the driver, in the listing, of the launch; and the rates."""
    bug, fix = finding.bug or {}, finding.row or {}
    parts = [
        f"{bug.get(field)} {name} became {fix.get(field)}"
        for field, name in COUNTS.items()
        if None not in (bug.get(field), fix.get(field)) and bug.get(field) != fix.get(field)
    ]
    parts += [*_of_launches(bug, fix), *_of_instructions(bug, fix)]
    rates = [row.get("gb_s") for row in (bug, fix)]
    if None not in rates:
        parts.append(f"{significant(rates[0], 3)} GB/s became {significant(rates[1], 3)}")
    return ", ".join(parts) or "no count differs"


def _of_instructions(bug: Row, fix: Row) -> list[str]:
    """Instructions of the innermost loops, or, where one of the kernels has none, of the whole kernels."""
    both = [row.get("instructions") or {} for row in (bug, fix)]
    if not all(both):
        return []
    looped = all("loop_alu" in each for each in both)
    names = LOOP if looped else WHOLE
    told = [
        f"{each[0]} {name} became {each[1]}"
        for field, name in (names | ANYWHERE).items()
        if len(each := [one[field] for one in both if field in one]) == 2 and each[0] != each[1]
    ]
    return told or ["as many instructions of each kind"]


def _of_launches(bug: Row, fix: Row) -> list[str]:
    """Shapes of work-groups, and how many rows 32 neighbours touch; and work-items, where these differ."""
    shapes = [list(row.get("local_size") or ()) for row in (bug, fix)]
    items = [math.prod(row.get("global_size") or (0,)) for row in (bug, fix)]
    told = []
    if shapes[0] != shapes[1] and all(shapes):
        told.append(" became ".join("x".join(map(str, shape)) for shape in shapes) + " items a group")
        if all(len(shape) > 1 for shape in shapes):
            rows = [-(-32 // shape[0]) for shape in shapes]
            told += [f"{rows[0]} rows that 32 neighbours touch became {rows[1]}"] if rows[0] != rows[1] else []
    if items[0] != items[1] and all(items):
        told.append(f"{items[0]} work-items became {items[1]}")
    return told


def _missed() -> list[Line]:
    return [
        [
            f"{each.entry.id} {lessons.version_name(each)}",
            device,
            f"{each.predicted.word}: {each.predicted.why}",
            each.verdict,
            _counts(each),
        ]
        for device in DEVICES
        for each in found(device)
        if each.right is False and each.predicted is not None
    ]


def _tally() -> list[Line]:
    lines: list[Line] = []
    for device in DEVICES:
        findings = [each for each in found(device) if each.version.kind != "wrong"]
        measured = [each for each in findings if each.ratio is not None]
        decided = [each for each in measured if each.right is not None]
        right = sum(each.right is True for each in decided)
        lines.append([device, str(len(findings)), str(len(measured)), str(len(decided)), str(right)])
    return lines


def _programs() -> list[Line]:
    """Whole calls, of the entries that are of programs."""
    lines: list[Line] = []
    for beside in zip(*map(found, DEVICES), strict=True):
        entry, version = beside[0].entry, beside[0].version
        if entry.program and not version.alone:
            printed = "; ".join(str(one) for one in version.paper if one.level == "program")
            name = lessons.version_name(beside[0])
            lines.append([f"{entry.id} {entry.name}", name, printed, *map(_whole, beside), entry.program])
    return lines


def _whole(finding: Finding) -> Cell:
    if finding.program is None:
        return "not measured"
    return f"{finding.program.ratio.speedup}, {finding.program.verdict}"


def _words(header: list[str], lines: object) -> object:
    return lambda: markdown(header, lines(), words=True)  # type: ignore[operator]


HEADERS = list(DEVICES)
TABLES = {
    "tally": grid(["device", "fixes and others", "measured", "decided", "as predicted"], _tally),
    "entries": _words(["entry", "against the bug", "paper", *HEADERS, "what explains it"], _entries),
    "projects": _words(
        ["project", "speed, printed", "energy, printed", *(f"kernels, {d}" for d in HEADERS)], _projects
    ),
    "rules": _words(["rule", "holds in", "fails in"], _rules),
    "programs": _words(
        ["entry", "against the bug", "paper, program", *(f"whole call, {d}" for d in HEADERS), "what a call does"],
        _programs,
    ),
    "missed": _words(["version", "device", "predicted", "found", "counts"], _missed),
}
