"""Three lines before all else: the fastest here and over the best peer, what of the papers pays, how sure that is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuopt import labels, papers
from gpuopt.lab.rows.groups import (
    CALLS,
    OURS,
    PAPER,
    PEERS,
    ROUNDED,
    Group,
    counted_unit,
    section_title,
    share_of_bound,
)
from gpuopt.lab.rows.pairs import Told, baseline_of, told_of
from gpuopt.lab.rows.ratios import Ratio, has_ratio_to, inverse, ratio_between, ratio_by_one_clock
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import NARROWEST, flop_rate, folded, joined, significant, spread, terminal_width
from gpuopt.lab.show import certainty
from gpuopt.lab.show.sentences import apart, family, fastest, places
from gpuopt.lab.show.wording import NO_VERDICT, about, excludes_one

Lines = list[tuple[str, str]]  # a label and its text

FASTEST, PAYS, SURE = "Fastest", "Paper", "How sure"
MOST_NAMED = 3  # of a list of names, the rest is a number
FAR_SLOWER = 0.1  # a speed below it is told as a fraction
_BARE_COMMA = re.compile(r", (?![^()]*\))")
AS_ACCURATE = 10.0  # a peer whose error is more times ours answers another question


def lines(study: StudyRows) -> Lines:
    """The three lines of a study, as label and text, of somebody's own kernel without that on papers; without any rows
    none."""
    groups = study.groups()
    if not groups:
        from gpuopt.lab.show import points

        return points.headline(study) if study.points else []
    if any(_best(group) for group in groups):
        told = [(FASTEST, _fastest_line(groups)), (PAYS, _paper_line(groups)), (SURE, certainty.line(study, groups))]
    else:
        told = _nothing(groups)
    brought = all(labels.of(group.first["workload"]).brought for group in groups)
    return [(label, said) for label, said in told if label != PAYS or not brought]


def text(told: Lines, width: int | None = None) -> str:
    """The lines wrapped to ``width`` characters (the terminal's when None), texts beside their labels."""
    most = max(NARROWEST, terminal_width() if width is None else width)
    out = []
    for label, said in told:
        out += folded(said, most, f"{label + ':':<10}", " " * 10)
    return "\n".join(out)


def _best(group: Group) -> Row | None:
    return fastest([*group.section(PAPER), *group.section(OURS)])


def _named(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """`a, b, c and 4 more`; names lose their own commas, but for those in brackets."""
    left = len(names) - most
    plain = [_BARE_COMMA.sub(" ", name) for name in names]
    return joined([*plain[:most], f"{left} more"] if left > 1 else plain)


# ---------------------------------------------------------------- the fastest


def _fastest_line(groups: list[Group]) -> str:
    found = [(group, best) for group in groups if (best := _best(group))]
    group, _ = max(found, key=lambda one: (_size(one[0]), -time_ms(one[1])))
    if len(groups) == 1:
        return _fastest(group)
    short = dict(zip(map(id, groups), places(groups, _apart([group.subject for group in groups])), strict=True))
    elsewhere: dict[str, list[str]] = {}
    for other in groups:
        if other is not group:
            best = _best(other)
            elsewhere.setdefault(other.label(best) if best else "nothing", []).append(short[id(other)])
    told = [
        f"{_BARE_COMMA.sub(' ', name)}{f' ({_named(known, 2)})' if (known := [*filter(None, subjects)]) else ''}"
        for name, subjects in elsewhere.items()
    ]
    at = short[id(group)].replace(", ", " ")
    return f"{f'at {at}: ' if at else ''}{_fastest(group)} Elsewhere: {joined(told)}."


def _apart(subjects: list[str]) -> list[str]:
    """What tells the subjects apart: their parts between commas that are not all alike."""
    parts = [tuple(subject.split(", ")) for subject in subjects]
    return subjects if len({len(part) for part in parts}) > 1 else apart(parts)


def _size(group: Group) -> float:
    return max(float(row["flops"] or row["footprint_bytes"] or 0) for row in group.rows)


def _fastest(group: Group) -> str:
    best = _best(group)
    assert best is not None
    share = share_of_bound(best)
    reached = "share of its bound: - (no profile)" if share is None else f"{_percent(share)} of its bound"
    name = f"{group.label(best)}{_rivals(group, best)}"
    text = f"{name}, {_ms(best)}{_rate(best)}, {reached}. {_capital(_over_peer(group, best))}."
    rounded = fastest(group.section(ROUNDED))
    if rounded is not None and time_ms(rounded) < time_ms(best):
        title = section_title(ROUNDED, str(best["workload"])).removeprefix("ours, ")
        text += f" With {title}: {group.label(rounded)}, {_ms(rounded)}."
    call = fastest([row for row in group.section(CALLS) if row["status"] == "ok"])
    ratio = ratio_by_one_clock(group, call, best) if call is not None else None
    if call is not None and ratio is not None and ratio.verdict == "FAST":  # by a variant that was not asked for
        text += f" The whole call {group.label(call)} took {_ms(call)}, by a faster kernel."
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ms(row: Row) -> str:
    return f"{spread(row['median_ms'], row['ci_lo_ms'], row['ci_hi_ms'], digits=3)[-1]} ms"


def _percent(share: float) -> str:
    return f"{share:.0f} %" if share >= 9.5 else f"{significant(share, 2)} %"


def _rate(row: Row) -> str:
    if (unit := counted_unit([row])) and row["gop_s"]:
        return f" ({significant(row['gop_s'])} G {unit}/s)"
    return f" ({flop_rate(row['gflop_s'])})" if row["gflop_s"] else ""


def _rivals(group: Group, best: Row) -> str:
    """The variants that may be as fast, by tests of their own against it."""
    others = [row for row in (*group.section(PAPER), *group.section(OURS)) if row["status"] == "ok" and row is not best]
    told = told_of(group, [(row, best) for row in others])
    open_ones = [row for row, each in zip(others, told, strict=True) if each.ratio.verdict in ("SAME", "AMBIGUOUS")]
    open_ones.sort(key=time_ms)
    near = [row for row in open_ones if not _far_behind(ratio_between(group, row, best))]
    return f" (not told from {_named([group.label(row) for row in near], 2)})" if near else ""


def _far_behind(ratio: Ratio) -> bool:
    """Whether the plain interval already lies above 1, though nothing is certified."""
    return excludes_one(ratio) and ratio.mid > 1


def _over_peer(group: Group, best: Row) -> str:
    ran = [row for row in group.section(PEERS) if row["status"] == "ok"]
    if not ran:
        failed = len(group.section(PEERS))
        return f"no peer ran here ({failed} could not)" if failed else "no peer was measured"
    error = best["l2_rel"]
    alike = [row for row in ran if not error or (row["l2_rel"] or 0.0) <= AS_ACCURATE * error]
    of_its_accuracy = " as accurate" if len(alike) < len(ran) else ""
    here = fastest([row for row in alike if not ratio_between(group, row, best).across])
    if here is not None:
        told = next(each for step, each in family(group) if step.row is here)
        assert told is not None
        quickest = fastest(alike)
        assert quickest is not None
        if quickest is here:
            return _over(told, "it", f"{group.label(here)}, the fastest peer{of_its_accuracy}")
        faster = f"{group.label(quickest)}, which took {_ms(quickest)} by another clock, has no ratio to it"
        return f"{_over(told, 'it', f'{group.label(here)}, the fastest peer by its clock{of_its_accuracy}')}; {faster}"
    calls = [row for row in group.section(CALLS) if row["status"] == "ok"]
    pairs = [(call, peer) for call in calls for peer in ran if call["clock"] == peer["clock"]]
    if pairs:
        call, peer = fastest([call for call, _ in pairs]), fastest([peer for _, peer in pairs])
        for (one, other), each in zip(pairs, told_of(group, pairs), strict=True):
            if one is call and other is peer:
                ours = f"as a whole call {group.label(call).removesuffix(', whole call')}"
                theirs = f"{group.label(peer)}, the fastest peer"
                return _over(replace(each, ratio=inverse(each.ratio)), ours, theirs)
    peer = fastest(ran)
    assert peer is not None
    base = baseline_of(group)
    if base is not None and has_ratio_to(group, peer, base) and has_ratio_to(group, best, base):
        mine, its = (inverse(each.ratio) for each in told_of(group, [(best, base), (peer, base)]))
        open_ones = any(ratio.verdict in (None, "AMBIGUOUS") for ratio in (mine, its))
        return (
            f"it is {mine.slowdown}, and {group.label(peer)}, the fastest peer, {its.slowdown} as fast as "
            f"{group.label(base)}, each by its own clock{' (not certified)' if open_ones else ''}"
        )
    return f"the fastest peer, {group.label(peer)}, was timed by another clock, which gives no ratio"


def _over(told: Told, name: str, peer: str) -> str:
    """The verdict of a peer's ratio to ours, said of ours."""
    ours = inverse(told.ratio)
    if ours.verdict == "FAST":
        return f"{name} is {ours.speedup} faster than {peer}"
    if ours.verdict == "SLOW":
        return f"{name} takes {ours.slowdown} the time of {peer}"
    if ours.verdict == "SAME":
        return f"{name} is as fast as {peer}"
    lacking = "not certified" if ours.verdict else f"{NO_VERDICT}: {ours.refused or 'too few blocks'}"
    return f"{name} was {about(ours)} {peer} ({lacking})"


# ---------------------------------------------------------------- what of the papers pays


@dataclass(frozen=True)
class _Seen:
    """A step's name, what it is held against, how many times as fast as that it is, and the verdict."""

    name: str
    over: str
    speed: float
    word: str


KINDS = {
    "FAST": "pays",
    "SLOW": "costs",
    "SAME": "makes no difference",
    "MIXED": "differs from case to case",
    "NOISY": "measured, not certified, about",
    "OPEN": "not told",
}


def _paper_line(groups: list[Group]) -> str:
    workloads = dict.fromkeys(str(group.first["workload"]) for group in groups)
    found = [(workload, paper) for workload in workloads for paper in papers.of(workload)]
    if not found:
        return f"no paper measured {joined([labels.of(workload).title or workload for workload in workloads])}."
    by_paper = []
    for workload, paper in found:
        presets = {step.preset for step in paper.steps}
        here = [group for group in groups if group.first["workload"] == workload]
        seen = [each for group in here for each in _steps(group, presets)]
        if seen:
            bases = dict.fromkeys(each.over for each in seen)
            against = "each over the step before" if paper.ladder else f"over {_named(list(bases))}"
            by_paper.append((f"{paper.short}, {against}", seen))
    if by_paper:
        most = MOST_NAMED if len(by_paper) == 1 else 2
        return " ".join(f"{paper}: {_by_kind(seen, most)}." for paper, seen in by_paper)
    if any(group.section(PAPER) for group in groups):
        return "one step of a paper ran alone, so none is held against another."
    none = joined(list(dict.fromkeys(paper.short for _, paper in found)))
    return f"no step of {none} was measured; `-v paper` measures them."


def _steps(group: Group, presets: set[str]) -> list[_Seen]:
    out = []
    for step, told in family(group):
        row = step.row
        if told is None or step.reference is None or row["preset"] not in presets:
            continue
        word = str(told.ratio.verdict or "OPEN")
        if word == "AMBIGUOUS":
            word = "NOISY" if excludes_one(told.ratio) else "OPEN"
        out.append(_Seen(group.label(row), group.label(step.reference), 1 / told.ratio.mid, word))
    return out


def _by_kind(seen: list[_Seen], most: int) -> str:
    """`pays: a 2.2x and b 1.3x to 1.5x; costs: c 0.9x`; of each kind the largest first."""
    kinds: dict[str, list[tuple[float, str]]] = {kind: [] for kind in KINDS}
    for name in dict.fromkeys(each.name for each in seen):
        mine = [each for each in seen if each.name == name]
        speeds = sorted(each.speed for each in mine)
        kind = _kind([each.word for each in mine], speeds)
        ends = dict.fromkeys(_times(speed, 2 if kind == "NOISY" else 3) for speed in (speeds[0], speeds[-1]))
        shown = name if kind in ("SAME", "OPEN") else f"{name} {' to '.join(ends)}"
        certain = sum(each.word == kind for each in mine)
        shown += f" (sure at {certain} of {len(mine)})" if kind in ("FAST", "SLOW") and certain < len(mine) else ""
        kinds[kind].append((speeds[0] if kind == "SLOW" else -speeds[-1], shown))
    told = []
    for kind, found in kinds.items():
        named = [name for _, name in sorted(found)]
        count = kind in ("SAME", "OPEN") and len(named) > 2
        told += [f"{KINDS[kind]}: {f'{len(named)} steps' if count else _named(named, most)}"] if named else []
    return "; ".join(told)


def _times(speed: float, digits: int = 3) -> str:
    """`2.23x`, `14x`; of what is slower by far `1/98`."""
    return f"1/{1 / speed:.0f}" if speed < FAR_SLOWER else f"{significant(speed, 2 if speed >= 10 else digits)}x"


def _kind(words: list[str], speeds: list[float]) -> str:
    """What several problems say of a step: what some certify and the others lean to, else that they differ, or that it
    is not told."""
    if len(set(words)) == 1:
        return words[0]
    if "FAST" in words and not {"SLOW", "SAME"} & set(words) and speeds[0] > 1:
        return "FAST"
    if "SLOW" in words and not {"FAST", "SAME"} & set(words) and speeds[-1] < 1:
        return "SLOW"
    return "MIXED" if {"FAST", "SLOW"} & set(words) else "OPEN"


# ---------------------------------------------------------------- where nothing ran


def _nothing(groups: list[Group]) -> Lines:
    """Where no variant ran: how many failed, and the commonest reason."""
    failed = [row for group in groups for row in group.rows if row["status"] != "ok"]
    if not failed:
        return [(FASTEST, "no variant was measured."), (PAYS, "nothing is known."), (SURE, "nothing was compared.")]
    counts = Counter(str(row["status"]) for row in failed)
    kinds = joined([f"{count} {status}" for status, count in counts.most_common()])
    reasons = Counter((str(row["status"]), str(row["reason"] or "no reason was recorded")) for row in failed)
    (status, reason), alike = reasons.most_common(1)[0]
    return [
        (FASTEST, f"nothing ran: {kinds}."),
        (PAYS, "nothing is known of it here."),
        (SURE, f"{alike} of {len(failed)} say: {status}: {reason.rstrip('.')}. Next: {_AFTER.get(status, _ELSE)}."),
    ]


_ELSE = "--explain or study.explain(), which has all reasons"
_AFTER = {
    "unsupported": "`gpuopt doctor`, or --explain",
    "timeout": "look for a loop that never ends or a barrier that not all work-items reach, or give a longer limit_s=",
}
