"""The pages of papers: every claim beside what each device's rows say, and every figure with what repeats it.

`FILES` are the rows of each device; a new study is one more line. Claims and their tests are data of the package, in
python/gpuopt/papers/claims/.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from gpuopt import lab, papers
from gpuopt.lab.rows.claims import NO_ROWS, VERDICTS, Finding, Sitting, finding, sittings
from gpuopt.lab.show.claim_sheets import (
    RATIOS,
    command_on,
    counted,
    limits_of,
    printed_text,
    problems_text,
    verdict_text,
)
from gpuopt.papers import claims as data
from gpuopt.papers.claims import REASONS, Claim, Figure, PaperClaims

from .tables import Line, Table, grid, markdown
from .values import ROOT, Row, Value, noted

STUDIES = (
    *("spmv-sizes", "gem-factorial", "gem-steps", "gemm-sizes", "gemm-1024", "gemm-wide", "gemm-wide-large"),
    *("tmv-sizes", "tomography-paper", "tomography-i2", "tomography-64", "microbench", "types"),
)
FILES: dict[str, list[str]] = {
    device: [file for study in STUDIES if (ROOT / (file := f"results/{folder}{study}/rows.jsonl")).exists()]
    for device, folder in (
        ("H200", "h200/papers/"),
        ("PoCL", "cpu-2core/papers/pocl-"),
        ("Intel", "cpu-2core/papers/intel-"),
    )
}
PICTURES: dict[tuple[str, str], tuple[str, ...]] = {  # kept pictures that repeat a figure
    ("catanzaro2010", "Figure 7"): ("h200-spmv-ladder.png",),
    ("catanzaro2010", "Figure 8"): ("h200-spmv-ladder.png",),
    ("catanzaro2010", "Figure 9"): ("h200-spmv-ladder.png",),
    ("catanzaro2010", "Figure 10"): ("h200-spmv-ladder.png",),
    ("catanzaro2010", "Figure 11"): ("h200-spmv-ladder.png",),
    ("daga2011", "Figure 6"): ("h200-gem-optimizations.png",),
    ("daga2011", "Figure 7"): ("h200-gem-factorial.png", "h200-gem-ways.png"),
    ("daga2011", "Figure 8"): ("h200-gem-optimizations.png",),
    ("jang2009", "Figure 4"): ("h200-gemm-sizes.png",),
    ("jang2009", "Figure 6"): ("h200-gemm-gains.png",),
    ("jang2009", "Table 2"): ("h200-gemm-gains.png",),
    ("jang2009", "Figure 10"): ("h200-sart-regions.png",),
    ("jang2009", "Figure 11"): ("h200-sart-regions.png",),
    ("yang2012", "Figure 1"): ("h200-types.png",),
    ("yang2012", "Figure 2"): ("h200-types.png",),
    ("yang2012", "Figure 5"): ("h200-blocks.png",),
    ("yang2012", "Figure 7"): ("h200-gemm-gains.png",),
    ("yang2012", "Figure 9"): ("h200-blocks.png",),
    ("yang2012", "Figure 12"): ("h200-tmv-gains.png",),
    ("yang2012", "Figure 13"): ("h200-caches.png",),
}
Found = dict[str, dict[str, Finding]]  # by device's short name and claim


@cache
def _sittings(device: str) -> list[tuple[str, list[Sitting]]]:
    """(file, its sittings) of each file; a file holds rows of one device."""
    found = []
    for file in FILES[device]:
        by_device = sittings([lab.Study.load(ROOT / file)])
        if len(by_device) != 1:
            raise ValueError(f"{file}: rows of {len(by_device)} devices, not of one")
        found.append((file, next(iter(by_device.values()))))
    return found


def _first_rows(sitting: Sitting) -> list[Row]:
    return [group.first for group in sitting.groups]


@cache
def _findings(key: str) -> tuple[Found, tuple[str, ...]]:
    """What each device says to the claims of a paper, and the files that any of them is from."""
    made: Found = {}
    used: dict[str, None] = {}
    workloads = {claim.test.workload for claim in data.load(key).claims if claim.test}
    for device in FILES:
        mine = []
        for file, sitting in _sittings(device):
            if workloads & {row["workload"] for one in sitting for row in (*_first_rows(one), *one.points)}:
                used[file] = None
                mine += sitting
        made[device] = {claim.id: finding(claim, device, mine) for claim in data.load(key).claims}
    return made, tuple(used)


def _read(key: str) -> tuple[PaperClaims, Found]:
    """The claims of a paper and what was found, with their files noted."""
    noted(f"python/gpuopt/{data.path_of(key)}")
    made, files = _findings(key)
    for file in files:
        noted(file)
    return data.load(key), made


def tables(key: str, *told: str) -> dict[str, Table]:
    """The tables of a paper's page; ``told`` are its findings, as :func:`_told_finding` reads them."""
    return {
        "summary": lambda: _summary(key),
        "findings": lambda: _findings_text(key, told),
        "claims": lambda: _claims(key),
        "gaps": lambda: _gaps(key),
        "unmeasured": lambda: _unmeasured(key),
        "figures": lambda: _figures(key),
    }


def _summary(key: str) -> str:
    """Verdicts by device, of ratios and of rates apart."""
    paper, found = _read(key)
    lines: list[Line] = []
    for device, of in found.items():
        for kind, counts in counted(of).items():
            if counts:
                told = [str(counts[verdict]) for verdict in VERDICTS]
                lines.append([f"{device}: {kind.lower()}", str(counts.total()), *told])
    without = Counter(claim.untested for claim in paper.claims if claim.untested)
    reasons = ", ".join(f"{count} {word}" for word, count in without.most_common())
    whole = markdown(["device", "claims with a test", *VERDICTS], lines)
    return f"{whole}\n\n{len(paper.claims)} claims, {without.total()} of them without a test ({reasons}; see below)."


def _findings_text(key: str, told: Sequence[str]) -> str:
    """The findings as points, each number from the rows."""
    _, found = _read(key)
    return "\n".join(f"- {_told_finding(text, found)}" for text in told)


def _told_finding(text: str, found: Found) -> str:
    """The sentence with what was measured in place of `{claim}` (of an H200), `{claim/512x512@PoCL}` (of one problem),
    `{claim:printed}`. Raises ValueError where nothing was measured."""

    def number(match: re.Match[str]) -> str:
        name, device, printed = match["claim"], match["device"] or next(iter(found)), match["printed"]
        each = found[device][name]
        if printed:
            return printed_text(each.claim).removesuffix("x")
        problem = match["problem"]
        ours = next((one for at, one in each.problems.items() if problem in at), None) if problem else each.ours
        if ours is None:
            raise ValueError(f"{name} was not measured on {device}{f' at {problem}' if problem else ''}")
        return Value(ours.mid).text(3)

    return re.sub(
        r"\{(?P<claim>[\w-]+)(?:/(?P<problem>\w+))?(?:@(?P<device>\w+))?(?P<printed>:printed)?\}", number, text
    )


def _measured(found: Found, claim: Claim) -> bool:
    return any(of[claim.id].ours is not None for of in found.values())


def _claims(key: str) -> str:
    paper, found = _read(key)
    lines: list[Line] = []
    for claim in paper.claims:
        if _measured(found, claim):
            said = f"{claim.says} {_mark(claim)}`{claim.id}`"
            cells = [_cell(of[claim.id]) for of in found.values()]
            lines.append([claim.where, said, printed_text(claim), claim.device, *cells])
    return markdown(["where", "claim", "printed", "on", *found], lines, words=True)


def _mark(claim: Claim) -> str:
    """Whether the number is from prose or a picture; nothing of a table's."""
    return {"text": "(prose) ", "picture": "(picture) "}.get(claim.source, "")


def _cell(found: Finding) -> str:
    """`1.62 [1.58, 1.66] **smaller** (128x128; 512x512: 1.58 to 1.70)`, `-` where nothing was measured."""
    if found.ours is None:
        return "-"
    number = Value(found.ours.mid, found.ours.lo, found.ours.hi).text(3, limits_of(found.claim))
    unit = " %" if found.claim.unit == "%" else ""
    return f"{number}{unit} **{verdict_text(found)}** ({problems_text(found)})"


def _gaps(key: str) -> str:
    """The claims with a test of which a device has no number: why, or the command that measures them."""
    paper, found = _read(key)
    lines: list[Line] = []
    for device, of in found.items():
        by_reason: dict[str, list[str]] = {}
        for claim in paper.claims:
            if claim.test is None or of[claim.id].ours is not None:
                continue
            reason = of[claim.id].reason
            if reason == NO_ROWS:
                takes = paper.takes.get(claim.test.study)
                reason = f"not run there: `{command_on(paper.studies[claim.test.study], of)}`"
                reason += f" ({takes})" if takes else ""
            by_reason.setdefault(reason, []).append(f"`{claim.id}`")
        lines += [[device, reason, ", ".join(names)] for reason, names in by_reason.items()]
    tested = [claim for claim in paper.claims if claim.test]
    nowhere = [f"`{claim.id}`" for claim in tested if not _measured(found, claim)]
    told = f"Of {len(tested)} claims with a test, {len(tested) - len(nowhere)} were measured on at least one device"
    told += f"; on none: {', '.join(nowhere)}." if nowhere else "."
    if not lines:
        return f"{told} Each was measured on each device."
    table = markdown(["device", "why, or what measures them", "claims without a number there"], lines, words=True)
    return f"{told}\n\n{table}"


def _unmeasured(key: str) -> str:
    """The claims without a test, by reason."""
    paper, _ = _read(key)
    lines: list[Line] = []
    for word, meaning in REASONS.items():
        mine = [claim for claim in paper.claims if claim.untested == word]
        whys = dict.fromkeys(claim.why for claim in mine)
        for why in whys:
            told = [_told(claim) for claim in mine if claim.why == why]
            lines.append([f"{word}: {meaning}", why, "<br>".join(told)])
    return markdown(["reason", "why", "claims"], lines, words=True) if lines else "Every claim has a test."


def _told(claim: Claim) -> str:
    number = f" ({printed_text(claim)})" if claim.printed else ""
    return f"{claim.says}{number} `{claim.id}`"


def _figures(key: str) -> str:
    paper, found = _read(key)
    lines: list[Line] = []
    for figure in paper.figures:
        parts = []
        if figure.reason:
            parts.append(f"not repeated: {figure.reason}")
        if figure.presets:
            parts.append("presets " + ", ".join(f"`{preset}` of {workload}" for workload, preset in figure.presets))
        if figure.picture:
            parts.append(f"drawn by `{_command_of(figure.picture)}`{_links(key, figure)}")
        if figure.claims:
            by_id = {claim.id: claim for claim in paper.claims}
            parts.append(_verdicts([by_id[name] for name in figure.claims], found))
        lines.append([figure.name, figure.what, "; ".join(parts)])
    return markdown(["figure or table", "what it shows", f"here; verdicts: {', '.join(FILES)}"], lines, words=True)


def _command_of(picture: str) -> str:
    """`gpuopt study gemm` of `gpuopt study gemm: sizes.png`."""
    return picture.partition(":")[0]


def _links(key: str, figure: Figure) -> str:
    """Links to the pictures that are kept, else the names of the files that the command writes."""
    kept = {name: PICTURES[key, name] for name in (figure.name,) if (key, name) in PICTURES}.get(figure.name, ())
    for name in kept:
        if not (ROOT / "docs" / "pictures" / name).exists():
            raise ValueError(f"{figure.name}: there is no docs/pictures/{name}")
    if kept:
        return " (of an H200: " + ", ".join(f"[{name}](../pictures/{name})" for name in kept) + ")"
    return f" as {(figure.picture or '').partition(': ')[2]}"


def _verdicts(claims: Sequence[Claim], found: Found) -> str:
    """`a` (holds, smaller, -), then those that are not tested by reason."""
    told = []
    for claim in claims:
        if claim.test:
            words = [each.verdict if (each := of[claim.id]).ours else "-" for of in found.values()]
            told.append(f"`{claim.id}` ({', '.join(words)})")
    for word in REASONS:
        mine = [f"`{claim.id}`" for claim in claims if claim.untested == word]
        if mine:
            told.append(f"not tested, {word}: {', '.join(mine)}")
    return "; ".join(told)


def index() -> Table:
    """A line a paper: how many claims, and how many of the measured ratios of speeds hold on each device."""

    def made() -> list[Line]:
        lines: list[Line] = []
        for key in data.known():
            paper, found = _read(key)
            counts = [counted(of)[RATIOS] for of in found.values()]
            told = [f"{each['holds']} of {each.total() - each['not measured']}" for each in counts]
            page = f"[paper-{key}](paper-{key}.md)"
            lines.append([page, papers.of_key(key).short, str(len(paper.claims)), *told])
        return lines

    return grid(["page", "paper", "claims", *(f"ratios that hold, {device}" for device in FILES)], made)
