"""How sure a study is: how many comparisons are decided and what the others lack, the noise, and what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from gpuopt import labels
from gpuopt.lab.rows.groups import Group, flags_of, is_baseline, is_confirmed
from gpuopt.lab.rows.pairs import by_other_clock, compared_rows, verdict_of
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined
from gpuopt.lab.show.wording import excludes_one, noise
from gpuopt.lab.timing import statistics

_AND = re.compile(", | and ")
_GO_ON = "the same command goes on where it stopped"
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def line(study: StudyRows, groups: list[Group]) -> str:
    """The counts, the noise, why verdicts are refused, what is doubtful, and what to do next."""
    refused = refusals(row for group in groups for row in group.rows)
    parts = [f"verdicts are refused: {refused}" if refused else "", _verdict_counts(groups)]
    parts += [] if "differed from itself" in refused else [_noise(groups)]
    above = [group.label(row) for group in groups for row in group.rows if "over_bound" in flags_of(row)]
    if above:
        parts.append(f"{len(above)} above the bound, so the declared work or a ceiling is wrong")
    failed = sum(row["status"] != "ok" for group in groups for row in group.rows)
    if failed:
        parts.append(f"{failed} of {sum(len(group.rows) for group in groups)} rows did not run")
    if study.unconfirmed:
        parts.append(f"{len(study.unconfirmed)} not compared to the end")
    if study.resumed is not None:
        parts.append(f"{study.resumed}, by an earlier run")
    parts.append(study.problem_info.get("could_show", ""))
    told = "; ".join(filter(None, parts))
    return f"{'interrupted; ' if study.interrupted else ''}{told}. Next: {_next(study, groups)}."


def refusals(rows: Iterable[Row]) -> str:
    """Why these rows have no verdicts, each reason once, with its least and its largest number; empty where they
    have."""
    found: dict[str, list[str]] = {}
    for why in dict.fromkeys(str(why) for row in rows if (why := row["refused"])):
        for reason in _AND.split(why):
            found.setdefault(_NUMBER.sub("", reason), []).append(reason)
    return joined([_spanned(reasons) for reasons in found.values()])


def _spanned(reasons: list[str]) -> str:
    """Texts that are alike but for their first number, as one: `wanted 1.7 to 3.9 times`."""
    numbers = [number for reason in reasons for number in _NUMBER.findall(reason)[:1]]
    least, most = min(numbers, key=float, default=""), max(numbers, key=float, default="")
    return reasons[0] if least == most else _NUMBER.sub(f"{least} to {most}", reasons[0], count=1)


def _verdict_counts(groups: list[Group]) -> str:
    """`13 of 14 comparisons with basic are decided (1 drowns in the noise)`."""
    counts: Counter[str] = Counter()
    for group in groups:
        for row in compared_rows(group):
            if is_confirmed(row):
                counts[_state(group, row)] += 1
    total = counts.total()
    if not total:
        return "nothing was compared"
    bases = dict.fromkeys(group.label(row) for group in groups for row in group.rows if is_baseline(row, row))
    against = f" with {joined(list(bases))}" if len(bases) == 1 else ""
    lacking = [f"{counts[kind]} {kind}" for kind in ("by another clock", *_UNDECIDED) if counts[kind]]
    rest = f" ({', '.join(lacking)})" if lacking else ""
    return f"{counts['decided']} of {total} {'comparison' if total == 1 else 'comparisons'}{against} decided{rest}"


_UNDECIDED = ("refused", "short of blocks", "within the noise", "not told apart")


def _state(group: Group, row: Row) -> str:
    word = verdict_of(group, row)
    if row["refused"]:
        return "refused"
    if word in ("FAST", "SLOW", "SAME"):
        return "decided"
    if by_other_clock(group, row):
        return "by another clock"
    ratio = Ratio(float(row["ratio"] or 0), row["ratio_lo"], row["ratio_hi"], word, int(row["blocks"] or 0))
    if word is None or ratio.is_clear(group.band):
        return "short of blocks"
    return "within the noise" if excludes_one(ratio) else "not told apart"


def _noise(groups: list[Group]) -> str:
    bands = sorted(group.band for group in groups if group.band)
    if not bands:
        return "the noise was not measured"
    ends = dict.fromkeys(noise(band)[2:-2] for band in (bands[0], bands[-1]))
    unsteady = ", so nothing is called the same" if bands[-1] > statistics.SAME_LIMIT else ""
    return f"equal kernels differed here by up to {' to '.join(ends)} %{unsteady}"


def _next(study: StudyRows, groups: list[Group]) -> str:
    """What to do about what is not sure, the most useful first."""
    if study.interrupted:
        return _GO_ON
    states = Counter(_state(group, row) for group in groups for row in compared_rows(group))
    out = []
    if states["refused"] or any(group.band > statistics.SAME_LIMIT for group in groups):
        out.append("measure again on a quieter machine (--fresh)")
    if states["short of blocks"]:
        most = max(len(compared_rows(group)) for group in groups)
        taken = min((int(row["blocks"] or 0) for group in groups for row in compared_rows(group)), default=0)
        wanted = statistics.blocks_for(most)
        why = f"{wanted} blocks decide {most} rows, not {taken}" if wanted > taken else "more blocks"
        whole = any(row["protocol"] == "full" for group in groups for row in compared_rows(group))
        out.append(f"{_GO_ON if whole else 'leave out --quick'} ({why})")
    if not any(row["profile"] for group in groups for row in group.rows):
        out.append("`gpuopt profile` (how far from the limit these are)")
    workload = groups[0].first["workload"]
    tune = "`gpuopt tune` with its file" if labels.of(workload).brought else f"`gpuopt tune {workload}`"
    return "; ".join(out[:2]) or f"{tune} keeps the fastest for plain calls"
