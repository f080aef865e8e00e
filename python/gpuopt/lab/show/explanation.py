"""What stands behind a study's tables: a sentence a step, the columns and rows that a narrow table leaves out, facts of
the run, flags, failures, notes and configurations."""

from __future__ import annotations

from dataclasses import replace

from gpuopt import labels, papers
from gpuopt.lab.rows.conditions import made_by
from gpuopt.lab.rows.groups import CALLS, ROUNDED, SECTIONS, Group, flags_of, identity, where
from gpuopt.lab.rows.names import step_name, told_of
from gpuopt.lab.rows.paper_figures import paper_figure
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import Line, Sheet, byte_count, joined, quantity, significant
from gpuopt.lab.show import energies, sittings
from gpuopt.lab.show import tables as sheets
from gpuopt.lab.show.header import dotted
from gpuopt.lab.show.tables import FLAG_MEANINGS, SUMMARY_FLAGS, launch_shares

CALLS_MEANING = "NumPy in and out, transfers included, by the host's clock"

ERROR_MEANING = (
    "the Frobenius norm of the error over that of the result in fp64, and the largest element's error as a part of "
    "what is allowed there"
)

UNCACHED_MEANING = (
    "the bound if each byte that the inner loop asks for came from memory, as the paper counts, and the share of it "
    "reached; a model, no limit: above 100 % caches, or loads that several work-items share, serve the rest"
)

# The columns that narrow tables leave out, with their layouts; see ``tables.COLUMNS``.
DETAILS = {"name": "01112", "bytes": "00000", "by": "00011", "uncached": "00000", "paper": "00112", "error": "00001"}


def details(study: StudyRows, group: Group) -> Sheet:
    """All rows of a group with the columns that its table may lack, and under them all that is known of the run."""
    whole = sheets.sheet(study, group, whole=True)
    wide = [replace(column, layout=DETAILS[column.key]) for column in whole.columns if column.key in DETAILS]
    if len(group.rows) > sheets.MOST_ROWS:  # the table has left rows out
        wide = list(whole.columns)
    sections = [(name, [Line(line.cells) for line in lines]) for name, lines in whole.sections]
    if len(wide) == 1:
        wide, sections = [], []
    return Sheet(wide, [whole.header[0], *_facts(study, group)], sections, _remarks(study, group))


def _facts(study: StudyRows, group: Group) -> list[str]:
    row, info = group.first, study.problem_info
    work = row["flops"] or next((r["flops"] for r in group.rows if r["flops"]), None)
    counted = info.get("flops_counted")
    footprint = row["footprint_bytes"] or info.get("footprint_bytes")
    sizes = group.sizes or " ".join(f"{name}={size}" for name, size in (info.get("sizes") or {}).items())
    measured = joined([f"{name} {significant(rate)} GB/s" for name, rate in group.ceiling_rates().items()])
    launch = f"one launch, queued back to back: {significant(1e3 * group.launch_ms)} us" if group.launch_ms else ""
    return [
        *([] if labels.of(row["workload"]).brought else [dotted([group.problem, sizes])]),
        dotted(
            [
                row["platform"],
                (quantity(work, "flop") + " a run" + (f" ({counted})" if counted else "")) if work else "",
                f"{byte_count(footprint)} of data" if footprint else "",
                *made_by([*group.rows, *group.blocks]),
            ]
        ),
        *filter(None, [dotted([f"ceilings, in the same blocks: {measured}" if measured else "", launch])]),
    ]


def _remarks(study: StudyRows, group: Group) -> list[tuple[str, str]]:
    out = [
        (f"{group.label(row)}: {row['status']}", str(row["reason"] or "no reason was recorded"))
        for row in group.rows
        if row["status"] != "ok"
    ]
    out += _hidden_failures(study, group)
    for flag in dict.fromkeys(flag for row in group.rows for flag in flags_of(row)):
        flagged = [row for row in group.rows if flag in flags_of(row)]
        names = [group.label(row) for row in flagged]
        run = sum(row["status"] == "ok" for row in group.rows)
        told = "every row" if len(names) == run > 2 else joined(names)
        meaning = FLAG_MEANINGS.get(flag, "no meaning is on record")
        of_blocks = flag not in SUMMARY_FLAGS and all(row["kind"] == "summary" for row in flagged)
        out.append((f"* {flag}", f"{told} ({'in most blocks, ' if of_blocks else ''}{meaning})"))
    words = labels.of(group.first["workload"])
    meanings = {ROUNDED: (words.other_accuracy, words.other_accuracy_meaning), CALLS: (CALLS, CALLS_MEANING)}
    out += [meanings[name] for name in SECTIONS if name in meanings and group.section(name)]
    if words.shows_error and any(row["l2_rel"] is not None for row in group.rows):
        out.append(("error", ERROR_MEANING))
    if any(row["uncached_ms"] for row in group.rows):
        out.append(("no cache", UNCACHED_MEANING))
    out += energies.remarks(group)
    out += sittings.footers(group.rows, group.blocks)
    out += _papers_devices(group)
    out += launch_shares(group)
    configured = [row for row in group.rows if row["params"] and row["status"] == "ok"]
    out += [("configurations", "; ".join(_configured(group, row) for row in configured))] if configured else []
    waiting = [group.label(row) for row in study.unconfirmed if row in group.rows]
    if waiting:
        out.append(("not compared to the end", f"{joined(waiting)} (a search or fewer than 6 blocks each)"))
    return out


def _hidden_failures(study: StudyRows, group: Group) -> list[tuple[str, str]]:
    shown = {identity(row) for row in group.rows}
    hidden: dict[tuple[str, str], int] = {}
    for row in study.failures():
        if where(row) == where(group.first) and identity(row) not in shown:
            key = (str(row["variant"]), str(row["status"]))
            hidden[key] = hidden.get(key, 0) + 1
    counts = joined([f"{variant} {count} {status}" for (variant, status), count in hidden.items()])
    told = f"{counts} (study.failures() says why)"
    return [("other configurations that failed in the search", told)] if hidden else []


def _configured(group: Group, row: Row) -> str:
    """The row's configuration; of a step its name, its preset and what is not at its standard level."""
    label = group.label(row)
    if label == row["configuration"] or (label == row["variant"] and not row["preset"]):
        return str(row["configuration"])
    altered = told_of(row)
    told = ", ".join(f"{name}={level}" for name, level in altered.items())
    short = f"{row['variant']}{f'({told})' if told else ''}"
    if label == short:
        return str(row["configuration"])
    preset = f" ({row['preset']})" if row["preset"] else ""
    return f"{label}{preset}: {short}"


def _papers_devices(group: Group) -> list[tuple[str, str]]:
    """Which rows' figures are of which of the paper's devices, where it is not one device alone; and over what each
    paper's speed-ups are, where it is not one paper alone."""
    rows: dict[str, list[str]] = {}
    for row in group.rows:
        figure = paper_figure(row)
        if figure is not None and (figure.gain or figure.gflop_s is not None):
            rows.setdefault(figure.device, []).append(group.label(row))
    told = [f"{device}: {joined(names)}" for device, names in rows.items()]
    out = [("the paper's figures", "; ".join(told))] if len(told) > 1 else []
    bases = {}
    for row in group.rows:
        figure = paper_figure(row)
        paper = papers.paper_of(str(row["workload"]), str(row["preset"])) if figure and figure.gain else None
        if paper is not None:
            bases[paper.key] = f"over {step_name(paper.steps[0].workload, paper.steps[0].preset)} ({paper.citation})"
    return [*out, ("the papers' speed-ups", "; ".join(bases.values()))] if len(bases) > 1 else out
