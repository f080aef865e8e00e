"""One sentence a step: what its numbers show, and no more than they show.

A cause is named only where the declared bytes, the bound and the interval of the ratio carry it. Verdicts come first;
they are the table's, or adjusted over all pairs that are told, and where there is none nothing is explained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuopt import labels, papers
from gpuopt.lab.rows.groups import (
    CALLS,
    OURS,
    PAPER,
    PEERS,
    ROUNDED,
    Group,
    counted_unit,
    section,
    share_of_bound,
    uncached_gflop_s,
)
from gpuopt.lab.rows.pairs import Told, told_of
from gpuopt.lab.rows.paper_figures import paper_figure
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import byte_count, flop_rate, joined, significant, spread
from gpuopt.lab.show.code_words import about_code
from gpuopt.lab.show.wording import NO_VERDICT, compared

# What a bound's resource is called in a sentence; any other word is "this device's measured <word> ceiling".
RESOURCES = {
    "dram": "the memory bandwidth measured here",
    "llc": "the bandwidth of caches and memory measured here",
    "read": "the read bandwidth measured here",
    "copy": "the copy bandwidth measured here",
    "launch": "the time of an empty launch",
    "launches": "the time of its launches",
}

BYTES = {"requested": "asked for by the inner loop"}  # what a class of bytes is called, where not by its name

STATUS_PHRASES = {
    "unsupported": "cannot run on this device",
    "constraints": "was left out by the variant's own rule",
    "compile": "did not build",
    "runtime": "failed in an OpenCL call",
    "wrong": "gave a wrong result, so its time is not shown",
    "crash": "ended the process that it ran in",
    "timeout": "did not end in time",
}

SAME_BYTES = 0.005  # declared bytes closer than this are called the same


def sentences(study: StudyRows) -> list[str]:
    """A sentence for each summary row, in reading order; with several groups each names what sets its own apart."""
    groups = study.groups()
    out = []
    for group, place in zip(groups, places(groups, [group.subject for group in groups]), strict=True):
        out += [f"{place}: {text}" if place else text for text in _group(group)]
    return out


def places(groups: list[Group], subjects: Sequence[str]) -> list[str]:
    """What sets each group apart from the others; their sizes in full where their subjects do not tell sizes apart, and
    their problems' full names where nothing else does."""
    alike = len(set(subjects)) < len({(subject, group.sizes) for group, subject in zip(groups, subjects, strict=True)})
    facts = [
        (
            *place_of(group.first),
            str(group.first["workload"]),
            subject,
            group.sizes if alike else "",
            group.dtype,
            f"cache state {group.cache_state}",
            f"protocol {group.first['protocol']}",
        )
        for group, subject in zip(groups, subjects, strict=True)
    ]
    told = apart(facts)
    if len(set(told)) == len(told):
        return told
    return apart([(*each, group.problem) for each, group in zip(facts, groups, strict=True)])


def place_of(row: Row) -> tuple[str, str, str]:
    """Where a row was measured: its device, its driver, and which of equal devices."""
    return str(row["device"] or ""), f"driver {row['driver']}", f"unit {row['unit']}" if row["unit"] else ""


def apart(facts: Sequence[tuple[str, ...]]) -> list[str]:
    """What tells each one's facts from those of the others: these that are not all alike; empty where all are."""
    differ = [index for index, column in enumerate(zip(*facts, strict=True)) if len(set(column)) > 1]
    return [", ".join(each[index] for index in differ if each[index]) for each in facts]


@dataclass(frozen=True)
class Step:
    """A row and what it is held against: the row's own step before it, or the fastest so far, in the role ``role``.
    ``outside`` is a call or a peer."""

    row: Row
    reference: Row | None
    role: str = ""
    outside: bool = False


def steps_of(group: Group) -> list[Step]:
    """Every row of the group with what a sentence holds it against, in reading order."""
    out = []
    before: dict[str, Row] = {}  # by paper: the step that the next one goes on from
    for row in group.section(PAPER):
        paper = papers.paper_of(str(row["workload"]), str(row["preset"]))
        key = paper.key if paper else ""
        out.append(Step(row, before.get(key)))
        if row["status"] == "ok" and (key not in before or paper is None or paper.ladder):
            before[key] = row
    reference = fastest(group.section(PAPER))
    role = "the fastest of the paper's steps" if reference else ""
    for row in group.section(OURS):
        out.append(Step(row, reference, role))
        if row["status"] == "ok":
            reference, role = reference or row, ""  # the role is told once
    best, role = fastest([*group.section(PAPER), *group.section(OURS)]), "the fastest variant here"
    role += " at full accuracy" if group.section(ROUNDED) else ""
    for name in (ROUNDED, CALLS, PEERS):
        for row in group.section(name):
            out.append(Step(row, best, role, name != ROUNDED))
            role = "" if row["status"] == "ok" else role
    return out


def family(group: Group) -> list[tuple[Step, Told | None]]:
    """The steps with what is told of each pair, verdicts adjusted over all of them; None where there is no pair."""
    steps = steps_of(group)
    paired = [step for step in steps if step.reference is not None and step.row["status"] == "ok"]
    told = told_of(group, [(step.row, step.reference) for step in paired if step.reference is not None])
    by_row = {id(step.row): each for step, each in zip(paired, told, strict=True)}
    return [(step, by_row.get(id(step.row))) for step in steps]


def _group(group: Group) -> list[str]:
    calls = [row for row in group.section(CALLS) if row["status"] == "ok"]
    peers = [row for row in group.section(PEERS) if row["status"] == "ok"]
    pairs = [(call, peer) for call in calls for peer in peers if peer["clock"] == call["clock"]]
    outside = list(zip(pairs, told_of(group, pairs), strict=True))
    out = []
    for step, told in family(group):
        text = _sentence(group, step, told)
        mine = [(peer, each) for (call, peer), each in outside if call is step.row]
        against = [compared("it", group.label(peer), each, group.band) for peer, each in mine]
        text += f" As a whole call, NumPy in and out, {joined(against)}." if against else ""
        out.append(text + (_rounding(step.row) if section(step.row) == ROUNDED else ""))
    return _said_once(out, [str(row["refused"]) for row in group.rows if row["refused"]])


def _said_once(texts: list[str], refusals: list[str]) -> list[str]:
    """The sentences with each reason for no verdict in the first of them that has it."""
    for why in dict.fromkeys(refusals):
        with_reason = f"({NO_VERDICT}: {why})"
        having = [index for index, text in enumerate(texts) if with_reason in text]
        for index in having:
            first, found, rest = texts[index].partition(with_reason)
            kept = found if index == having[0] else f"({NO_VERDICT})"
            texts[index] = first + kept + rest.replace(with_reason, f"({NO_VERDICT})")
    return texts


def _sentence(group: Group, step: Step, told: Told | None) -> str:
    row, reference, role = step.row, step.reference, step.role
    name = group.label(row)
    if row["status"] != "ok":
        reason = str(row["reason"] or "no reason was recorded").rstrip(".")
        return f"{name} {STATUS_PHRASES.get(row['status'], row['status'])}: {reason}."
    if reference is None or told is None:
        return _opening(name, row) + _counted(name, row, None) + _over_bound(name, row)
    ratio = told.ratio
    text = compared(name, group.label(reference) + (f", {role}" if role else ""), told, group.band)
    if step.outside or ratio.verdict is None:
        return f"{text}.{'' if step.outside else _counted(name, row, reference)}{_over_bound(name, row)}"
    about_bytes = "" if counted_unit([row]) else _bytes(row, reference, ratio)
    text += f"; {about_bytes}" if about_bytes else ""
    if ratio.verdict in ("FAST", "SLOW") and (about_bound := _bound(name, row, group.label(reference), reference)):
        text += f"{':' if about_bytes else ';'} {about_bound}"
    code = about_code(row, reference, group.label(reference)) if ratio.verdict in ("FAST", "SLOW") else ""
    return f"{text}.{code}{_paper_gain(row, reference)}{_counted(name, row, reference)}{_over_bound(name, row)}"


# ---------------------------------------------------------------- parts of a sentence


def _opening(name: str, row: Row) -> str:
    time = spread(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"], digits=4)[0]
    rate = f" ({flop_rate(row['gflop_s'])})" if row["gflop_s"] else ""
    if (unit := counted_unit([row])) and row["gop_s"]:
        rate = f" ({significant(row['gop_s'])} G {unit}/s)"
    text = f"{name} takes {time} ms{rate}"
    if share_of_bound(row) is None:
        return f"{text}."
    declared = row["bytes"] or {}
    moved = declared.get(row["bound_by"] or "") or declared.get("dram")
    task = f" for {byte_count(moved)}" if moved else ""
    share = spread(row["pct_bound"], row["pct_lo"], row["pct_hi"])[0]
    bound = f" of {significant(row['bound_ms'])} ms" if row["bound_ms"] else ""
    return f"{text}: {share} % of its bound{bound}, set by {resource(row['bound_by'])}{task}."


def _bytes(row: Row, reference: Row, ratio: Ratio) -> str:
    """What happened to the declared bytes; that they are not the reason is said only where no class of them changed."""
    mine, theirs = row["bytes"] or {}, reference["bytes"] or {}
    which = _deciding_class(mine, theirs, reference["bound_by"], row["bound_by"])
    if which is None:
        return ""
    before, now = float(theirs[which]), float(mine[which])
    others = [
        f"{BYTES.get(name, name)} {byte_count(theirs.get(name) or 0)} to {byte_count(mine.get(name) or 0)}"
        for name in dict.fromkeys([*theirs, *mine])
        if name != which and not _close(theirs.get(name) or 0, mine.get(name) or 0)
    ]
    aside = joined(others)
    kind = "" if which == "dram" else f"{which} "
    if _close(before, now):
        moved = {"FAST": ", so the gain is not bytes", "SLOW": ", so the loss is not bytes"}.get(str(ratio.verdict), "")
        same = f"both move the same {byte_count(now)}" + (f" of {which}" if kind else "")
        return f"{same} ({aside})" if aside else f"{same}{moved}"
    direction = "fewer" if now < before else "more"
    text = (
        f"it moves {100 * abs(1 - now / before):.0f} % {direction} {kind}bytes "
        f"({byte_count(before)} to {byte_count(now)}{f'; {aside}' if aside else ''})"
    )
    if ratio.verdict not in ("FAST", "SLOW") or ratio.lo is None or ratio.hi is None:
        return text
    expected = now / before
    if ratio.lo <= expected <= ratio.hi:
        return f"{text}, which is as much as the time changed"
    if ratio.hi < expected:
        return f"{text}, and the time fell further than that" if expected < 1 else f"{text}, and yet it is faster"
    if expected > 1:
        return f"{text}, and the time rose further than that"
    return f"{text}, and the time fell less than that" if ratio.hi < 1 else f"{text}, and yet it is slower"


def _bound(name: str, row: Row, other: str, reference: Row) -> str:
    mine, theirs = share_of_bound(row), share_of_bound(reference)
    if mine is None or max(mine, theirs or 0.0) > 100:
        return ""
    by = resource(row["bound_by"])
    if theirs is None:
        return f"{name} reaches {mine:.0f} % of its bound, set by {by}"
    if row["bound_by"] == reference["bound_by"]:
        return f"{other} reaches {theirs:.0f} % of what {by} allows, {name} {mine:.0f} %"
    return (
        f"{other} reaches {theirs:.0f} % of what {resource(reference['bound_by'])} allows, "
        f"{name} {mine:.0f} % of what {by} allows"
    )


def _paper_gain(row: Row, reference: Row) -> str:
    mine, theirs = paper_figure(row), paper_figure(reference)
    if mine is None or theirs is None or mine.device != theirs.device:
        return ""
    if mine.gain and theirs.gain:
        return f" In the paper the speed-ups of these two are {theirs.gain} and {mine.gain} ({mine.device})."
    if not (mine.gflop_s and theirs.gflop_s):
        return ""
    gain = mine.gflop_s / theirs.gflop_s
    pair = f"{theirs.gflop_s:g} and {mine.gflop_s:g} GFLOP/s"
    return f" In the paper these two stand at {pair} ({gain:.2f}x, {mine.device})."


def _counted(name: str, row: Row, reference: Row | None) -> str:
    """What the bound without caches did from step to step, in the paper and here; empty for what is no paper's step."""
    figure, before = paper_figure(row), paper_figure(reference) if reference else None
    if figure is None or figure.bound_gflop_s is None or figure.bytes_per_2_flop is None:
        return ""
    if before is not None and (before.device != figure.device or before.bound_gflop_s is None):
        before = None
    then = before.bytes_per_2_flop if before else None
    instead = f" instead of {then:g}" if then not in (None, figure.bytes_per_2_flop) else ""
    counts = f"{figure.bytes_per_2_flop:g} bytes an entry{instead}"
    bound = _moved(figure.bound_gflop_s, before.bound_gflop_s if before else None)
    text = f" The paper counts {counts}, each from memory, and its bound {bound} GFLOP/s ({figure.device})"
    text += _reached(name, figure.pct_bound, before.pct_bound if before else None)
    here, share = uncached_gflop_s(row), row["pct_uncached"]
    if here is None or share is None:
        return f"{text}."
    earlier = reference if before else None
    now = _moved(here, uncached_gflop_s(earlier) if earlier else None)
    text += f"; here the bound by what the inner loop asks for {now} GFLOP/s"
    text += _reached("it", share, earlier["pct_uncached"] if earlier else None)
    surely = share * time_ms(row) / (row["ci_hi_ms"] or time_ms(row))
    if surely > 100:
        source = "memory" if row["bound_by"] == "dram" else "what the ceiling measures"
        text += f", so that at least {100 - 1e4 / surely:.0f} % of these bytes did not come from {source}"
    return f"{text}."


def _reached(name: str, share: float | None, before: float | None) -> str:
    if share is None:
        return ""
    return f", of which {name} reaches {share:.0f} %" + (f" after {before:.0f} %" if before is not None else "")


def _moved(now: float, before: float | None) -> str:
    """`rises from 25.6 to 38.4`, `stays at 25.6`, `is 25.6`."""
    if before is None or _close(now, before):
        return f"{'is' if before is None else 'stays at'} {significant(now)}"
    return f"{'rises' if now > before else 'falls'} from {significant(before)} to {significant(now)}"


def _rounding(row: Row) -> str:
    words = labels.of(row["workload"])
    if words.shows_error and row["l2_rel"] is not None:
        return f" Its error is {row['l2_rel']:.1e} ({row['accuracy']})."
    return f" {words.other_accuracy_sentence} ({row['accuracy']})." if row["status"] == "ok" else ""


def _over_bound(name: str, row: Row) -> str:
    share, low = share_of_bound(row), row["pct_lo"]
    if share is None or share <= 100:
        return ""
    if low is not None and low <= 100:
        return (
            f" At {share:.1f} % of its bound {name} stands above it, though within the interval "
            f"({low:.1f} to {row['pct_hi']:.1f} %): if that stays, the declared work or the ceiling is wrong."
        )
    return (
        f" {name} shows {share:.0f} % of its bound, which cannot be: this is a bug in the declared work or in the "
        "measured ceiling, and its share of the bound must not be quoted."
    )


def resource(bound_by: str | None) -> str:
    """What a `bound_by` word is called in a sentence."""
    if not bound_by:
        return "its bound"
    return RESOURCES.get(bound_by, f"this device's measured {bound_by} ceiling")


def fastest(rows: list[Row]) -> Row | None:
    """The fastest good row, None where there is none."""
    return min((row for row in rows if row["status"] == "ok"), key=time_ms, default=None)


def _deciding_class(mine: Mapping[str, float], theirs: Mapping[str, float], *bounds: str | None) -> str | None:
    """The memory class to compare: the one that sets either bound, else the first that both declare."""
    return next((c for c in [*bounds, "dram", *theirs] if c and mine.get(c) and theirs.get(c)), None)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= SAME_BYTES * max(abs(a), abs(b))
