"""The pages of papers: every claim beside what each device's rows say, and every figure with what repeats it.

`FILES` are the rows of each device; a new study is one more line. Claims and their tests are data of the package, in
python/gpuopt/papers/claims/.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from gpuopt import lab, papers
from gpuopt.lab.rows.claims import VERDICTS, Finding, Sitting, finding, sittings
from gpuopt.lab.show.claim_sheets import printed_text, range_text
from gpuopt.papers import claims as data
from gpuopt.papers.claims import REASONS, Claim, PaperClaims

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


def tables(key: str) -> dict[str, Table]:
    """The tables of a paper's page."""
    return {
        "summary": lambda: _summary(key),
        "claims": lambda: _claims(key),
        "commands": lambda: _commands(key),
        "unmeasured": lambda: _unmeasured(key),
        "figures": lambda: _figures(key),
    }


def _summary(key: str) -> str:
    paper, found = _read(key)
    lines: list[Line] = []
    for device, of in found.items():
        counts = Counter(each.verdict for each in of.values())
        lines.append([device, str(len(paper.claims)), *(str(counts[verdict]) for verdict in VERDICTS)])
    return markdown(["device", "claims", *VERDICTS], lines)


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
    """`1.62 [1.58, 1.66] smaller (2 problems, 1.58 to 1.70)`, `-` where nothing was measured."""
    if found.ours is None:
        return "-"
    several = f" ({told})" if (told := range_text(found)) else ""
    return f"{Value(found.ours.mid, found.ours.lo, found.ours.hi).text(3)} **{found.verdict}**{several}"


def _commands(key: str) -> str:
    """The claims with a test of which no device has rows, by the command that measures them."""
    paper, found = _read(key)
    lines: list[Line] = []
    for name, command in paper.studies.items():
        mine = [c for c in paper.claims if c.test and c.test.study == name and not _measured(found, c)]
        failed = {each.reason for c in mine for of in found.values() if (each := of[c.id]).reason != "no rows of it"}
        if mine:
            ids = ", ".join(f"`{claim.id}`" for claim in mine)
            lines.append([f"`{command}`", ids, "; ".join(sorted(failed))])
    return markdown(["command", "claims", "what kept them"], lines, words=True) if lines else "All tests were measured."


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
    paper, _ = _read(key)
    lines: list[Line] = []
    for figure in paper.figures:
        parts = []
        if figure.reason:
            parts.append(f"not repeated: {figure.reason}")
        if figure.presets:
            parts.append("presets " + ", ".join(f"`{preset}` of {workload}" for workload, preset in figure.presets))
        if figure.picture:
            parts.append(f"picture: {figure.picture}")
        if figure.claims:
            parts.append("claims " + ", ".join(f"`{name}`" for name in figure.claims))
        lines.append([figure.name, figure.what, "; ".join(parts)])
    return markdown(["figure or table", "what it shows", "here"], lines, words=True)


def index() -> Table:
    """A line a paper: how many claims, and how many hold on each device."""

    def made() -> list[Line]:
        lines: list[Line] = []
        for key in data.known():
            paper, found = _read(key)
            held = [sum(each.verdict == "holds" for each in of.values()) for of in found.values()]
            tested = [sum(each.ours is not None for each in of.values()) for of in found.values()]
            page = f"[paper-{key}](paper-{key}.md)"
            told = [f"{here} of {count}" for here, count in zip(held, tested, strict=True)]
            lines.append([page, papers.of_key(key).short, str(len(paper.claims)), *told])
        return lines

    return grid(["page", "paper", "claims", *(f"hold, {device}" for device in FILES)], made)
