"""One entry told whole: what the project did, both kernels side by side, what was measured, and what to look for."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from gpuopt._core import Device, Error
from gpuopt.lab.rows.table import NARROWEST, folded, printable, significant, terminal_width
from gpuopt.lab.run.instructions import isa
from gpuopt.workloads.casebook.entry import CATEGORIES, KINDS, PROVENANCES, Entry, Sizes, Version
from gpuopt.workloads.casebook.findings import Finding, Program
from gpuopt.workloads.casebook.tables import CLASSES, short_name

MOST_ALIKE, BESIDE = 12, 3  # lines that are the same and shown; at each end, where there are more
MOST_INSET = 16  # of a line of code that is wrapped


def told(entry: Entry, findings: Sequence[Finding], device: Device, sizes: Sizes, width: int | None = None) -> str:
    """The story of an entry in ``width`` characters, or in those of the terminal. ``sizes`` are those at which it was
    measured."""
    wide = max(NARROWEST, terminal_width() if width is None else width)
    parts = [_opening(entry, wide)]
    parts += [_side_by_side(entry, each, wide) for each in entry.others]
    parts.append(_measured(entry, findings, sizes, wide))
    parts.append(_compiled(entry, device, sizes, wide))
    parts.append(_reasons(entry, findings, wide))
    return "\n\n".join(part for part in parts if part)


def _paragraph(title: str, text: str, width: int) -> str:
    return "\n".join(folded(f"{title}: {text}", width, rest="  "))


def _opening(entry: Entry, width: int) -> str:
    came = "; ".join(PROVENANCES[each] for each in entry.provenance)
    title = f"{entry.id} {entry.name}: {entry.title}"
    lines = [title, "=" * len(title)]
    lines += folded(
        f"From: {entry.project}. Category {entry.category}, {CATEGORIES[entry.category]}. Here: {came}.", width, rest=""
    )
    lines += [
        "",
        _paragraph("What the program does", entry.story.did, width),
        _paragraph("What is slow", entry.story.slow, width),
        _paragraph("The fix", entry.story.fix, width),
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------- the kernels


def _side_by_side(entry: Entry, version: Version, width: int) -> str:
    """The bug's text on the left and a version's on the right. Between them ``|`` marks lines that were changed, ``<``
    those that the bug alone has, ``>`` those that it lacks; long parts that are the same are left out."""
    workload = entry.problem_of(entry.awkward).workload
    left, right = entry.bug.text(workload), version.text(workload)
    heading = f"Left, {short_name(entry, entry.bug)}: {entry.bug.summary}. Right, {short_name(entry, version)}: "
    out = folded(f"{heading}{version.summary} ({KINDS[version.kind]}).", width, rest="  ")
    if left == right:
        return "\n".join([*out, "  The text is the bug's own."])
    out += folded("Lines with | differ, those with < stand on the left alone, those with > on the right.", width, "  ")
    half = (width - 3) // 2
    for mark, one, other in _aligned(left.splitlines(), right.splitlines()):
        ones, others = _wrapped(one, half), _wrapped(other, half)
        for at in range(max(len(ones), len(others))):
            a, b = (part[at] if at < len(part) else "" for part in (ones, others))
            out.append(f"{a.ljust(half)} {mark} {b}".rstrip())
    return "\n".join(out)


def _aligned(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Pairs of lines with a mark between them; lines that stand in both are beside each other."""
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        ones, others = left[a:b], right[c:d]
        if kind == "equal" and b - a > MOST_ALIKE:
            ones = others = [*ones[:BESIDE], f"... {b - a - 2 * BESIDE} lines that are the same ...", *ones[-BESIDE:]]
        for at in range(max(len(ones), len(others))):
            one = ones[at] if at < len(ones) else None
            other = others[at] if at < len(others) else None
            mark = " " if kind == "equal" else "<" if other is None else ">" if one is None else "|"
            yield mark, one or "", other or ""


def _wrapped(line: str, width: int) -> list[str]:
    """A line of code in lines of at most ``width`` characters, the later ones set in."""
    code = printable(line.expandtabs(4))
    inset = min(len(code) - len(code.lstrip()), MOST_INSET)
    indent = " " * inset
    found = textwrap.wrap(
        indent + code.lstrip(), width, subsequent_indent=f"{indent}    ", drop_whitespace=True, break_on_hyphens=False
    )
    return found or [""]


# ---------------------------------------------------------------- what was measured


def _measured(entry: Entry, findings: Sequence[Finding], sizes: Sizes, width: int) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    out = folded(
        f"Measured with {at}. The kernels ran in turns; their results were right before they were timed and after. "
        f"{entry.exactness[0].upper()}{entry.exactness[1:]}",
        width,
    )
    for each in findings:
        name = short_name(entry, each.version)
        if each.ratio is None or each.row is None or each.bug is None:
            out += folded(f"{name}: not measured: {each.reason}", width, "  ")
            continue
        times = f"{significant(each.row['median_ms'])} ms, the bug {significant(each.bug['median_ms'])} ms"
        why = f"; {each.reason}" if each.reason else ""
        kernel = "kernel alone, " if entry.program else ""
        told = f"{each.ratio.speedup} as fast by the blocks' ratios: {each.verdict}{why}"
        out += folded(f"{name}: {kernel}{times}; {told}", width, "  ")
    whole = [(short_name(entry, each.version), each.program) for each in findings if each.program]
    if whole:
        out += folded(
            f"Whole calls, by the host's clock, of programs that are built: {entry.program}. What they gain is not "
            "what a kernel gains.",
            width,
        )
    for name, program in whole:
        out += folded(f"{name}: {_whole(program)}", width, "  ")
    return "\n".join(out)


def _whole(program: Program) -> str:
    """A whole call beside the bug's."""
    times = f"{significant(program.row['median_ms'])} ms, the bug {significant(program.bug['median_ms'])} ms"
    return f"whole call, {times}; {program.ratio.speedup} as fast: {program.verdict}"


def _compiled(entry: Entry, device: Device, sizes: Sizes, width: int) -> str:
    """Registers and instructions of all versions as the device's compiler made them."""
    try:
        return isa(entry.problem_of(sizes), entry.configurations(sizes), device=device).to_text(width)
    except (Error, MemoryError) as error:
        return f"What they were compiled to is not known: {error}"


def _reasons(entry: Entry, findings: Sequence[Finding], width: int) -> str:
    out = [_paragraph("What should make the difference", f"{entry.explains}.", width)]
    for each in findings:
        if each.predicted is None:
            continue
        came = {True: "so it was here", False: "it was not so here", None: "this run does not decide it"}[each.right]
        predicted = f"{each.predicted.word} on {CLASSES[each.device_class]}, because {each.predicted.why}; {came}"
        out.append(_paragraph(f"Predicted for {short_name(entry, each.version)}", predicted, width))
    for version in entry.others:
        if version.paper:
            gains = ", ".join(map(str, version.paper))
            out.append(_paragraph(f"In the paper {short_name(entry, version)} gained", gains, width))
    out += [_paragraph("A slip of the paper, mended here", slip, width) for slip in entry.slips]
    out.append(_paragraph("What to look for", entry.story.look_for, width))
    return "\n".join(out)
