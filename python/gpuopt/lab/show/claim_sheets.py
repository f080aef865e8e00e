"""The tables of claims: a section a figure, a line a claim, two columns a device, and below what the claim says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from gpuopt import papers
from gpuopt.lab.rows.claims import NO_INTERVAL, NO_ROWS, VERDICTS, Finding
from gpuopt.lab.rows.table import Column, Forms, Line, Sheet, joined, significant, spread
from gpuopt.lab.show.claim_devices import Findings, labels, selector, short_name
from gpuopt.papers.claims import REASONS, Claim, PaperClaims

MARKS = {"text": "in prose", "table": "in a table", "picture": "in a picture without numbers"}
RATIOS, RATES = "Ratios of speeds", "Rates and shares"
BYTES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def sheet(paper: PaperClaims, found: Findings, only_measured: bool = False, whole: Findings | None = None) -> Sheet:
    """The table of one paper; without devices it has the claims and the commands that measure them. ``only_measured``
    leaves out the lines of claims that no device has a number for; they are counted below all the same. ``whole`` has
    the devices too that have no column, for they have no number."""
    everywhere = found if whole is None else whole
    about, called = papers.of_key(paper.key), labels(everywhere)
    header = [
        f"{about.short}: {about.title}",
        *(_device_line(device, called[device], found[device]) for device in found),
    ]
    sections: dict[str, list[Line]] = {}
    for claim in _chosen(paper, found, only_measured):
        line = _line(claim, [of[claim.id] for of in found.values()], remark(claim, found, everywhere))
        sections.setdefault(claim.where, []).append(line)
    footers = [("", text) for text in [*summaries(paper, found, everywhere), *_without_numbers(found, everywhere)]]
    footers += [(f"[{name}]", f"{command} ({told})") for name, command, told in commands(paper, everywhere)]
    return Sheet(columns([called[device] for device in found]), header, list(sections.items()), footers)


def _without_numbers(found: Findings, everywhere: Findings) -> list[str]:
    """Which devices have no number and so no column, a line each."""
    called = labels(everywhere)
    return [_device_line(device, called[device], of) for device, of in everywhere.items() if device not in found]


def _chosen(paper: PaperClaims, found: Findings, only_measured: bool) -> list[Claim]:
    """The claims, all or those that some device has a number for."""
    return [one for one in paper.claims if not only_measured or any(of[one.id].ours for of in found.values())]


def columns(devices: Sequence[str]) -> list[Column]:
    """The columns of a table of devices that are called so."""
    made = [
        Column("id", "claim", ("",), "0000", right=False),
        Column("printed", "printed", ("",), "0000"),
        Column("device", "on", ("",), "00--", right=False),
    ]
    for place, device in enumerate(devices):
        made.append(Column(f"ours{place}", "ours", ("[95 % CI]", "± CI", ""), "012-"))
        made.append(Column(f"verdict{place}", device, ("",), "0000", right=False))
    return made if devices else [*made, Column("verdict", "", ("",), "0000", right=False)]


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
    return spread(found.ours.mid, found.ours.lo, found.ours.hi, unit, limits=limits_of(found.claim))


def limits_of(claim: Claim) -> tuple[float, ...]:
    """What our number is held against, and should not read as on the other side of: what was printed, and 1."""
    return (*claim.printed, 1.0) if claim.is_ratio else claim.printed


def problems_text(found: Finding) -> str:
    """`512x512`; of several `128x128; 512x512: 0.97 to 1.05`, of which the best counts `best at 512x512 of 128x128;
    512x512: 0.97 to 1.05`; empty where nothing was measured."""
    if len(found.problems) < 2:
        return "".join(problem_name(name) for name in found.problems)
    numbers = sorted(number.mid for number in found.problems.values())
    told = f"{'; '.join(problem_name(name) for name in found.problems)}: "
    told += f"{significant(numbers[0])} to {significant(numbers[-1])}"
    if found.claim.test and found.claim.test.best:
        at = next(name for name, number in found.problems.items() if number == found.ours)
        return f"best at {problem_name(at)} of {told}"
    return told


def problem_name(name: str) -> str:
    """`512x512` of `grid_512x512_r5`, `I1, 64 views` of `I1_64views`, `256 MiB, width 64` of `bytes=268435456
    width=64`."""
    if found := re.search(r"\d+(?:x\d+)+", name):
        return found[0]
    parts = name.split(" ") if "=" in name else [re.sub(r"^(\d+)([a-z]+)$", r"\1 \2", part) for part in name.split("_")]
    return ", ".join(_size(part) for part in parts)


def _size(part: str) -> str:
    key, _, value = part.partition("=")
    if key != "bytes" or not value.isdigit():
        return part.replace("=", " ")
    factor, unit = next(((factor, unit) for factor, unit in BYTES if int(value) >= factor), (1, "B"))
    return f"{int(value) / factor:.4g} {unit}"


def _line(claim: Claim, found: Sequence[Finding], below: str) -> Line:
    cells: dict[str, Forms] = {"id": (claim.id,), "printed": (printed_text(claim),), "device": (claim.device,)}
    cells["verdict"] = ("not measured",)
    for place, each in enumerate(found):
        cells[f"ours{place}"] = ours_forms(each)
        cells[f"verdict{place}"] = (each.verdict,)
    return Line(cells, below=below)


def remark(claim: Claim, found: Findings, everywhere: Findings) -> str:
    """What a claim says and where it is known from, on which problems, and why it is not measured or not decided."""
    told = [f"{claim.says} ({MARKS[claim.source]})"]
    if claim.untested:
        return f"{told[0]} Not measured: {claim.untested}: {claim.why}"
    remarks: dict[str, list[str]] = {}
    called = labels(everywhere)
    for device, of in found.items():
        each = of[claim.id]
        reason = "" if each.reason == NO_ROWS else each.reason
        for one in filter(None, [problems_text(each), reason]):
            remarks.setdefault(one, []).append(called[device])
    several = len(found) > 1
    told += [f"{joined(names)}: {text}." if several else f"{text}." for text, names in remarks.items()]
    if claim.test and (not everywhere or any(_lacks(of[claim.id]) for of in everywhere.values())):
        told.append(f"[{claim.test.study}]")
    return " ".join(told)


def _lacks(found: Finding) -> bool:
    """Whether the claim's command would measure it there."""
    return found.claim.test is not None and found.verdict == "not measured" and found.reason == NO_ROWS


def summaries(paper: PaperClaims, found: Findings, everywhere: Findings) -> list[str]:
    """`H200: 31 claims. Ratios of speeds: 12 hold, 5 smaller, ... Rates and shares: 2 hold, ... Without a test: 9.`, a
    line a device; of no device how many have a test."""
    if not found:
        tested = sum(claim.test is not None for claim in paper.claims)
        return [f"{len(paper.claims)} claims, none measured; {tested} have a test"]
    without = sum(claim.test is None for claim in paper.claims)
    last = f" Without a test: {without}." if without else ""
    called = labels(everywhere)
    return [
        f"{called[device]}: {len(of)} claims. "
        + " ".join(f"{kind}: {told}." for kind, told in told_counts(of).items())
        + last
        for device, of in found.items()
    ]


def told_counts(of: Mapping[str, Finding]) -> dict[str, str]:
    """`12 hold, 5 smaller, ...` of the claims of each kind that have a test."""
    return {kind: _told(counts) for kind, counts in counted(of).items() if counts}


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[word]} {'hold' if word == 'holds' and counts[word] != 1 else word}" for word in VERDICTS)


def counted(of: Mapping[str, Finding]) -> dict[str, Counter[str]]:
    """How many claims with a test have each verdict: ratios of speeds, and rates and shares, which a device of today
    reaches whatever the optimization brings."""
    made: dict[str, Counter[str]] = {RATIOS: Counter(), RATES: Counter()}
    for each in of.values():
        if each.claim.test is not None:
            made[RATIOS if each.claim.test.over else RATES][each.verdict] += 1
    return made


def commands(paper: PaperClaims, found: Findings) -> list[tuple[str, str, str]]:
    """(name, command, how many claims it would measure and where) of each study that some device lacks, for each such
    device with its `--device`."""
    made = []
    for name, command in paper.studies.items():
        mine = [claim for claim in paper.claims if claim.test and claim.test.study == name]
        lacking: dict[str, tuple[int, list[str]]] = {} if found else {command: (len(mine), [])}
        for label, of in zip(labels(found).values(), found.values(), strict=True):
            if count := sum(_lacks(of[claim.id]) for claim in mine):
                whole = command_on(command, of)
                before, places = lacking.get(whole, (0, []))
                lacking[whole] = (max(before, count), [*places, label])
        for whole, (count, places) in lacking.items():
            told = f"measures {count} claim{'s' if count > 1 else ''}{f' on {joined(places)}' if places else ''}"
            made.append((name, whole, "; ".join(filter(None, [told, paper.takes.get(name)]))))
    return made


def command_on(command: str, of: Mapping[str, Finding]) -> str:
    """The command with the `--device` that means this device."""
    device = selector(of)
    if not device:
        return command
    bare = re.sub(r" --device[ =]\S+", "", command)
    return f"{bare} --device {device}"


def _device_line(device: str, label: str, found: Mapping[str, Finding]) -> str:
    name = device if label == short_name(device) else f"{label}: {device}"
    date = max((each.date for each in found.values()), default="")
    return " · ".join(filter(None, [name, f"measured until {date}" if date else "nothing measured"]))


def markdown(paper: PaperClaims, found: Findings, only_measured: bool = False, whole: Findings | None = None) -> str:
    """The same table in Markdown, with the claims' own words in a column."""
    everywhere = found if whole is None else whole
    about, chosen = papers.of_key(paper.key), _chosen(paper, found, only_measured)
    lines = [f"# {about.short}: what the paper claims", "", f"{about.title}. {about.citation}.", ""]
    told = [*summaries(paper, found, everywhere), *_without_numbers(found, everywhere)]
    lines += [*(f"- {text}" for text in told), ""]
    heads = ["where", "claim", "known from", "printed", "on"]
    called = labels(everywhere)
    heads += [part for device in found for part in (called[device], "verdict")]
    lines += [_piped(heads), _piped(["---"] * len(heads))]
    for claim in chosen:
        cells = [claim.where, f"{claim.says} (`{claim.id}`)", claim.source, printed_text(claim), claim.device]
        for of in found.values():
            each = of[claim.id]
            word = f"{each.verdict}: {claim.untested}" if claim.untested else verdict_text(each)
            cells += [" ".join(filter(None, [ours_forms(each)[0], _in_brackets(problems_text(each))])), word]
        lines.append(_piped(cells))
    missing = [f"- `{command}` {told}" for _, command, told in commands(paper, everywhere)]
    reasons = dict.fromkeys(claim.untested for claim in chosen if claim.untested)
    missing += [f"- {word}: {REASONS[word]}" for word in reasons if word]
    return "\n".join([*lines, "", *(["What was not measured:", "", *missing] if missing else [])]) + "\n"


def verdict_text(found: Finding) -> str:
    """`holds`, `undecided: too few blocks`, `undecided: its study gives no verdicts: ...`."""
    reason = found.reason.removeprefix(NO_INTERVAL)
    return f"{found.verdict}: {reason}" if found.verdict == "undecided" and reason else found.verdict


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
