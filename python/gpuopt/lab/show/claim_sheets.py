"""The tables of claims: a section a figure, a line a claim, two columns a device, and below what the claim says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gpuopt import papers
from gpuopt.lab.rows.claims import VERDICTS, Finding
from gpuopt.lab.rows.table import Column, Forms, Line, Sheet, joined, significant, spread
from gpuopt.papers.claims import REASONS, Claim, PaperClaims

MARKS = {"text": "in prose", "table": "in a table", "picture": "in a picture without numbers"}
SHORT_NAME = 16
Findings = Mapping[str, Mapping[str, Finding]]  # by device and claim


def sheet(paper: PaperClaims, found: Findings, only_measured: bool = False) -> Sheet:
    """The table of one paper; without devices it has the claims and the commands that measure them. ``only_measured``
    leaves out the lines of claims that no device has a number for; they are counted below all the same."""
    about = papers.of_key(paper.key)
    header = [f"{about.short}: {about.title}", *(_device_line(device, of) for device, of in found.items())]
    sections: dict[str, list[Line]] = {}
    for claim in paper.claims:
        if only_measured and not any(of[claim.id].ours for of in found.values()):
            continue
        sections.setdefault(claim.where, []).append(_line(claim, {name: of[claim.id] for name, of in found.items()}))
    footers = [("", text) for text in summaries(paper, found)]
    footers += [(f"[{name}]", f"{command} ({told})") for name, command, told in commands(paper, found)]
    return Sheet(columns(list(found)), header, list(sections.items()), footers)


def columns(devices: Sequence[str]) -> list[Column]:
    """The columns of a table of these devices."""
    made = [
        Column("id", "claim", ("",), "0000", right=False),
        Column("printed", "printed", ("",), "0000"),
        Column("device", "on", ("",), "00--", right=False),
    ]
    for place, device in enumerate(devices):
        made.append(Column(f"ours{place}", "ours", ("[95 % CI]", "± CI", ""), "012-"))
        made.append(Column(f"verdict{place}", short_name(device), ("",), "0000", right=False))
    return made if devices else [*made, Column("verdict", "", ("",), "0000", right=False)]


def short_name(device: str) -> str:
    """`H200`, `Intel Xeon`: a device's name in the heading of a column."""
    name = device.removeprefix("NVIDIA ").removesuffix(" Processor").replace("(R)", "").replace("(TM)", "").strip()
    return name if len(name) <= SHORT_NAME else f"{name[: SHORT_NAME - 1]}…"


def printed_text(claim: Claim) -> str:
    """`1.75x`, `1.3 to 1.45x`, `13.1 GFLOP/s`, `16` of a count, `more`."""
    if not claim.printed:
        return claim.printed_text
    unit = {"times": "x", "count": ""}.get(claim.unit, f" {claim.unit}")
    return f"{claim.printed_text}{unit}"


def ours_forms(found: Finding) -> Forms:
    """Our number with its interval, in the claim's unit."""
    if found.ours is None:
        return ("-",)
    unit = "x" if found.claim.is_ratio else ""
    return spread(found.ours.mid, found.ours.lo, found.ours.hi, unit)


def range_text(found: Finding) -> str:
    """`3 problems, 0.97 to 1.05`; empty for one."""
    mids = sorted(number.mid for number in found.problems.values())
    return f"{len(mids)} problems, {significant(mids[0])} to {significant(mids[-1])}" if len(mids) > 1 else ""


def _line(claim: Claim, found: Mapping[str, Finding]) -> Line:
    cells: dict[str, Forms] = {"id": (claim.id,), "printed": (printed_text(claim),), "device": (claim.device,)}
    cells["verdict"] = ("not measured",)
    for place, each in enumerate(found.values()):
        cells[f"ours{place}"] = ours_forms(each)
        cells[f"verdict{place}"] = (each.verdict,)
    return Line(cells, below=remark(claim, found))


def remark(claim: Claim, found: Mapping[str, Finding]) -> str:
    """What a claim says and where it is known from, why it is not measured, and how far problems lie apart."""
    told = [f"{claim.says} ({MARKS[claim.source]})"]
    if claim.untested:
        return f"{told[0]} Not measured: {claim.untested}: {claim.why}"
    remarks: dict[str, list[str]] = {}
    for device, each in found.items():
        text = (
            range_text(each)
            if each.verdict != "not measured"
            else ""
            if each.reason == "no rows of it"
            else each.reason
        )
        for one in filter(None, [text, each.reason if each.verdict == "undecided" else ""]):
            remarks.setdefault(one, []).append(short_name(device))
    several = len(found) > 1
    told += [f"{joined(names)}: {text}." if several else f"{text}." for text, names in remarks.items()]
    if claim.test and (not found or any(each.verdict == "not measured" for each in found.values())):
        told.append(f"[{claim.test.study}]")
    return " ".join(told)


def summaries(paper: PaperClaims, found: Findings) -> list[str]:
    """`31 claims. H200: 12 hold, 5 smaller, ...`, a line a device; of no device how many have a test."""
    if not found:
        tested = sum(claim.test is not None for claim in paper.claims)
        return [f"{len(paper.claims)} claims, none measured; {tested} have a test"]
    lines = []
    for device, of in found.items():
        counts = counted(of)
        told = [f"{counts[word]} {'hold' if word == 'holds' and counts[word] != 1 else word}" for word in VERDICTS]
        lines.append(f"{short_name(device)}: {len(of)} claims: {', '.join(told)}")
    return lines


def counted(of: Mapping[str, Finding]) -> Counter[str]:
    """How many claims have each verdict."""
    return Counter(finding.verdict for finding in of.values())


def commands(paper: PaperClaims, found: Findings) -> list[tuple[str, str, str]]:
    """(name, command, how many claims it would measure) of each study that some device lacks."""
    lacking: Counter[str] = Counter()
    for claim in paper.claims:
        here = [of[claim.id].verdict for of in found.values()]
        if claim.test and (not here or "not measured" in here):
            lacking[claim.test.study] += 1
    return [
        (name, command, f"measures {lacking[name]} claim{'s' if lacking[name] > 1 else ''}")
        for name, command in paper.studies.items()
        if lacking[name]
    ]


def _device_line(device: str, found: Mapping[str, Finding]) -> str:
    date = max((each.date for each in found.values()), default="")
    return " · ".join(filter(None, [device, f"measured until {date}" if date else "nothing measured"]))


def markdown(paper: PaperClaims, found: Findings) -> str:
    """The same table in Markdown, with the claims' own words in a column."""
    about = papers.of_key(paper.key)
    lines = [f"# {about.short}: what the paper claims", "", f"{about.title}. {about.citation}.", ""]
    lines += [f"- {text}" for text in summaries(paper, found)] + [""]
    heads = ["where", "claim", "known from", "printed", "on"]
    heads += [part for device in found for part in (short_name(device), "verdict")]
    lines += [_piped(heads), _piped(["---"] * len(heads))]
    for claim in paper.claims:
        cells = [claim.where, f"{claim.says} (`{claim.id}`)", claim.source, printed_text(claim), claim.device]
        for of in found.values():
            each = of[claim.id]
            word = f"{each.verdict}: {claim.untested}" if claim.untested else each.verdict
            cells += [" ".join(filter(None, [ours_forms(each)[0], _in_brackets(range_text(each))])), word]
        lines.append(_piped(cells))
    missing = [f"- `{command}` {told}" for _, command, told in commands(paper, found)]
    reasons = dict.fromkeys(claim.untested for claim in paper.claims if claim.untested)
    missing += [f"- {word}: {REASONS[word]}" for word in reasons if word]
    return "\n".join([*lines, "", *(["What was not measured:", "", *missing] if missing else [])]) + "\n"


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
