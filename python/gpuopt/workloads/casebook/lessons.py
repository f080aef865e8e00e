"""What the paper concludes, beside what was found here: its projects (Table I) and its rules (Table III)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.table import ABSENT, Column, Forms, Line, Sheet, significant
from gpuopt.workloads.casebook.entry import Word
from gpuopt.workloads.casebook.findings import Finding

WORDS: dict[str, Word] = {"confirmed": "FAST", "inverted here": "SLOW", "no effect here": "SAME"}


@dataclass(frozen=True)
class Project:
    """A line of Table I: gains in speed and in energy as printed, and the entries that are of its kernels. ``level``
    says of what they are: libraries tell those of kernels, programs those of the whole run."""

    name: str
    speed: str
    energy: str
    level: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A version that speaks for or against a rule: for it where the verdict is ``word``, against it where it is another
    one that is decided."""

    entry: str
    version: str
    word: Word


@dataclass(frozen=True)
class Rule:
    """A rule of thumb of Table III, and the versions that show whether it holds."""

    text: str
    cases: tuple[Case, ...]


PROJECTS = (
    Project("DecGPU", "1.19x", "1.20x", "program", ("E1",)),
    Project("FLAGON", "1.67x", "1.48x", "kernels", ("B5",)),
    Project("GPUMLib", "1.78x", "2.09x", "kernels", ("B3", "F5")),
    Project("Ising GPU", "1.52x", "1.46x", "program", ("F1", "F2")),
    Project("MUMmerGPU", "1.05x", "1.10x", "program", ("A7", "E3")),
    Project("nDust", "4.77x", "4.91x", "program", ("E2",)),
    Project("OpenCurrent", "1.07x", "1.08x", "kernels", ("B4",)),
    Project("QymSym", "1.43x", "1.58x", "program", ("F3", "F6")),
    Project("ViennaCL", "1.71x HD 5870, 3.21x", "1.67x HD 5870, 3.01x", "kernels", ("A6", "C1", "D2")),
    Project("CUBLAS", "1.3x", "1.13x", "kernels", ("D1",)),
    Project("CUDA SDK", "1.26x", "1.26x", "kernels", ("B2",)),
)


def _fast(entry: str, *versions: str) -> tuple[Case, ...]:
    return tuple(Case(entry, version, "FAST") for version in versions)


RULES = (
    Rule("make a work-group 32 wide", (*_fast("B1", "32x8"), *_fast("B4", "32x8x1"), Case("B3", "8x32", "SAME"))),
    Rule(
        "larger groups reuse more",
        (*_fast("B2", "tile(X=32, Y=16)", "tile(X=32, Y=32)"), *_fast("B3", "8x64", "8x128")),
    ),
    Rule("load vectors", (*_fast("A1", "vector"), *_fast("A4", "four as uint"), *_fast("C1", "f2", "tlp f2"))),
    Rule("let neighbours read neighbours", (*_fast("A2", "tiled"), *_fast("A5", "by local memory"))),
    Rule("split long sums for more work-items", (*_fast("A6", "row per group"), *_fast("C1", "tlp"))),
    Rule("constant memory is fast", (*_fast("D1", "constant factors"), *_fast("D3", "constant table"))),
    Rule("private arrays are registers", (*_fast("E1", "specialized", "private dynamic"), *_fast("E2", "specialized"))),
    Rule("align loads and remove conflicts", (*_fast("A3", "tiled"), *_fast("F6", "four tiles"))),
    Rule("remove doubles", (*_fast("F1", "float literals"), *_fast("F5", "product"))),
)


def version_name(finding: Finding) -> str:
    """A version as rules call it: without the entry's name."""
    return finding.version.name.removeprefix(f"{finding.entry.name}_").replace("_", " ")


def sides(rule: Rule, findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Which decided versions hold the rule up, and which refute it, each as `A2 tiled`."""
    found = {(each.entry.id, version_name(each)): each for each in findings}
    held, refuted = list[str](), list[str]()
    for case in rule.cases:
        finding = found.get((case.entry, case.version))
        if finding is not None and finding.verdict in WORDS:
            name = f"{case.entry} {case.version}"
            (held if WORDS[finding.verdict] == case.word else refuted).append(name)
    return held, refuted


def kernel_gains(project: Project, findings: Sequence[Finding]) -> str:
    """The gains here of the project's entries, their kernels alone: `A6 29.7x, C1 1.5x`, of each the best fix. An entry
    is told as `no verdict` where none of its times admits one, and as `not measured` where it has no ratio at all;
    nothing is told of one without findings."""
    parts = []
    for id in project.entries:
        fixes = _fixes(id, findings)
        told = _best_gain(id, [each.ratio for each in fixes if each.ratio])
        parts += [told or f"{id} not measured"] if fixes else []
    return ", ".join(parts)


def program_gains(project: Project, findings: Sequence[Finding]) -> str:
    """The same of whole calls, where those of a fix were measured."""
    found = [
        _best_gain(id, [each.program.ratio for each in _fixes(id, findings) if each.program]) for id in project.entries
    ]
    return ", ".join(filter(None, found))


def _fixes(id: str, findings: Sequence[Finding]) -> list[Finding]:
    return [each for each in findings if each.entry.id == id and each.version.kind in ("fix", "flag")]


def _best_gain(id: str, ratios: Sequence[Ratio]) -> str:
    """`A6 29.7x`, `A6 no verdict` where all are refused; empty without ratios."""
    gains = [1 / ratio.mid for ratio in ratios if not ratio.refused]
    return f"{id} {significant(max(gains))}x" if gains else f"{id} no verdict" if ratios else ""


def sheet(findings: Sequence[Finding]) -> Sheet:
    """Both tables."""
    columns = [
        Column("what", "project or rule", ("",), "00", right=False),
        Column("paper", "paper: speed, energy", ("or holds here in",), "00", right=False),
        Column("here", "kernels here", ("or fails here in",), "00", right=False),
        Column("whole", "whole calls here", ("",), "00", right=False),
    ]
    measured = any(each.program for each in findings)
    made = Sheet(columns if measured else columns[:-1])
    made.sections.append(
        (
            "The projects: gains on a GTX 480 if nothing else is said, and of our kernels",
            [
                Line(
                    {
                        "what": (project.name,),
                        "paper": (f"{project.speed}, {project.energy} ({project.level})",),
                        "here": _or_absent(kernel_gains(project, findings)),
                        "whole": _or_absent(program_gains(project, findings)),
                    }
                )
                for project in PROJECTS
            ],
        )
    )
    lines = []
    for rule in RULES:
        held, refuted = (_or_absent(", ".join(side)) for side in sides(rule, findings))
        lines.append(Line({"what": (rule.text,), "paper": held, "here": refuted, "whole": ("",)}))
    made.sections.append(("The rules: entries that hold them up here, and entries that refute them", lines))
    made.footers.append(("program", "a gain of a whole run: no number of a kernel is its like"))
    return made


def _or_absent(text: str) -> Forms:
    return (text,) if text else ABSENT
