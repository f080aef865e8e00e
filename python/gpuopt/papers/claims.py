"""What the papers claim: each sentence, table cell or curve with a number or an order, and what would test it here.

One JSON file a paper, ``claims/<paper>.json``, read and checked at the first question:

- ``studies``: commands that measure, by a short name.
- ``takes`` (optional): how long a command takes where that is much, by the same names.
- ``claims``: what is claimed, where, for which device, and either a test (two rows and what is compared) or why none.
- ``figures``: every figure and table of the paper, with the claims, presets and pictures that repeat it, or the reason.
- ``presets_without_claim`` (optional): why no claim tests a preset, by workload and preset.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from gpuopt._core import Error, ParameterError
from gpuopt.configuration import Configuration
from gpuopt.papers import checks

SCHEMA = 1
SOURCES = {
    "text": "a number or an order in prose",
    "table": "a table",
    "picture": "a curve or bar without a number",
}
DIRECTIONS = ("more", "less", "same", "not less")
RATES = ("gflop_s", "gb_s", "gop_s")
SHARES = ("pct_bound", "pct_uncached")
QUANTITIES = ("speedup", *RATES, *SHARES, "latency_ns")
REASONS = {
    "energy": "energy and power are not held against rows",
    "instructions": "compiled instructions are not counted",
    "projects": "needs programs that are not part of gpuopt",
    "hardware": "needs hardware of its time",
    "method": "of how the paper measured",
    "feature": "gpuopt has no such variant",
}
TIMES = "times"  # the unit of ratios, all of speeds
ROLES = ("variant", "call", "peer")
Printed = tuple[float, ...]  # one number, both ends of a range, or nothing where an order alone is claimed


@dataclass(frozen=True)
class Selector:
    """Which rows a claim speaks of: a preset, or a variant (a call, a peer) with levels of some of its parameters.

    ``exact``: parameters that are not given stand at their standard level; else any level will do.
    """

    text: str
    preset: str | None = None
    variant: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    exact: bool = False
    role: str = "variant"
    dtype: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Test:
    """What tests a claim. ``study``: name of the command that measures it. ``over``: None for a rate or a share.
    ``subject``: the one problem that is meant, None for all of them. ``direction``: on which side of 1 the claimed
    ratio of speeds is (`same`: at 1; `not less`: at 1 or above); of a rate `less` where less is better.
    ``device_type``: of the rows that count, where the command names one (`--device cpu`). ``best``: of several problems
    the one that is most on the claimed side counts (`up to`, `reaches`), not their mean."""

    study: str
    workload: str
    of: Selector
    over: Selector | None
    quantity: str
    subject: str | None
    direction: str | None
    dtype: str | None
    device_type: str | None
    best: bool = False


@dataclass(frozen=True)
class Claim:
    """One claim: ``id`` is unique in its paper, ``printed`` in ``unit``; exactly one of ``test`` and ``untested`` (a
    word of `REASONS`, explained by ``why``)."""

    paper: str
    id: str
    where: str
    says: str
    source: str
    printed: Printed
    unit: str
    device: str
    test: Test | None
    untested: str | None
    why: str

    @property
    def is_ratio(self) -> bool:
        return self.unit == TIMES

    @property
    def printed_text(self) -> str:
        """`1.75`, `1.3 to 1.45`; `more`, `less`, `same` or `not less` of an order alone."""
        if self.printed:
            return " to ".join(f"{number:g}" for number in self.printed)
        return (self.test and self.test.direction) or "-"


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper, and what repeats it here; ``reason`` where nothing does."""

    name: str
    what: str
    claims: tuple[str, ...]
    presets: tuple[tuple[str, str], ...]  # (workload, preset)
    picture: str | None
    reason: str | None


@dataclass(frozen=True)
class PaperClaims:
    """All claims of a paper in its own order; ``studies`` are commands by name, ``takes`` how long some take."""

    key: str
    studies: Mapping[str, str]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    presets_without_claim: Mapping[str, Mapping[str, str]]
    takes: Mapping[str, str] = field(default_factory=dict)

    def command(self, claim: Claim) -> str | None:
        """The command that measures the claim; None of an untested one."""
        return self.studies[claim.test.study] if claim.test else None


def known() -> tuple[str, ...]:
    """Return the keys of the papers whose claims are known."""
    return tuple(_all())


def load(key: str) -> PaperClaims:
    """Return the claims of a paper. Raises ParameterError for an unknown key."""
    if key not in _all():
        raise ParameterError(f"paper: no claims of {key!r} are known; use one of {', '.join(_all())}")
    return _all()[key]


def path_of(key: str) -> str:
    """Return where the claims of a paper stand, inside the package ``gpuopt``."""
    return f"papers/claims/{key}.json"


@functools.cache
def _all() -> dict[str, PaperClaims]:
    folder = resources.files("gpuopt.papers") / "claims"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    named = [(file.name.removesuffix(".json"), file.read_text(encoding="utf-8")) for file in files]
    return {key: parse(text, key) for key, text in named}


def parse(text: str, key: str) -> PaperClaims:
    """Return the claims in ``text``. Raises Error, which says what is wrong and in which claim."""
    try:
        document = json.loads(text)
        checks.keys(
            "the file", document, {"schema", "studies", "claims", "figures"}, {"presets_without_claim", "takes"}
        )
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA}")
        studies = {name: checks.text(f"studies: {name}", line) for name, line in document["studies"].items()}
        takes = {name: checks.text(f"takes: {name}", told) for name, told in document.get("takes", {}).items()}
        if unknown := takes.keys() - studies.keys():
            raise ValueError(f"takes: there is no study {sorted(unknown)[0]!r}")
        claims = tuple(_claim(key, entry, studies) for entry in document["claims"])
        ids = [claim.id for claim in claims]
        if twice := [one for one in dict.fromkeys(ids) if ids.count(one) > 1]:
            raise ValueError(f"the id {twice[0]!r} stands there twice")
        if idle := studies.keys() - {claim.test.study for claim in claims if claim.test}:
            raise ValueError(f"no claim is tested by the study {sorted(idle)[0]!r}")
        figures = tuple(_figure(entry, set(ids)) for entry in document["figures"])
        named = [figure.name for figure in figures]
        if len(set(named)) != len(named):
            raise ValueError("a figure stands there twice")
        without = {
            checks.text("a workload", workload): {preset: checks.text(preset, why) for preset, why in of.items()}
            for workload, of in document.get("presets_without_claim", {}).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ParameterError) as error:
        raise Error(f"{path_of(key)}: {error}") from error
    return PaperClaims(key, studies, claims, figures, without, takes)


def _claim(paper: str, entry: Any, studies: Mapping[str, str]) -> Claim:
    fields = {"id", "where", "says", "source", "printed", "unit", "device", "test", "untested"}
    name = checks.text("id", entry.get("id") if isinstance(entry, dict) else entry)
    checks.keys(name, entry, fields, {"why"})
    test = None if entry["test"] is None else _test(name, entry["test"], studies)
    untested = None if entry["untested"] is None else checks.word(f"{name}: untested", entry["untested"], REASONS)
    if (test is None) == (untested is None):
        raise ValueError(f"{name} has {'both' if test else 'neither'} a test and a reason why it has none")
    made = Claim(
        paper=paper,
        id=name,
        where=checks.text(f"{name}: where", entry["where"]),
        says=checks.text(f"{name}: says", entry["says"]),
        source=checks.word(f"{name}: source", entry["source"], SOURCES),
        printed=_printed(name, entry["printed"]),
        unit=checks.text(f"{name}: unit", entry["unit"]),
        device=checks.text(f"{name}: device", entry["device"]),
        test=test,
        untested=untested,
        why=checks.text(f"{name}: why", entry.get("why")) if untested else "",
    )
    if test is not None:
        _check_side(made, test)
    return made


def _check_side(claim: Claim, test: Test) -> None:
    """A ratio's numbers are on the side of 1 that it claims; a rate has a number."""
    name, printed = claim.id, claim.printed
    if (test.over is not None) != claim.is_ratio:
        raise ValueError(f"{name}: what is over another row, and nothing else, has the unit {TIMES!r}")
    if test.over is None:
        if not printed or min(printed) <= 0:
            raise ValueError(f"{name}: a rate or share needs a positive number, not {printed or None}")
    elif test.direction == "not less":
        if printed:
            raise ValueError(f"{name}: the claim that one is not less than the other has no number, not {printed}")
    elif test.direction == "same":
        if printed not in ((), (1,)):
            raise ValueError(f"{name}: the claim that two are the same has the number 1 or none, not {printed}")
    elif printed and min(printed) <= 0:
        raise ValueError(f"{name}: a ratio is positive, not {min(printed):g}")
    elif printed and not (min(printed) > 1 if test.direction == "more" else max(printed) < 1):
        raise ValueError(f"{name}: the printed ratio {claim.printed_text} is not {test.direction} than 1")


def _printed(name: str, value: Any) -> Printed:
    numbers = value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(value, list) and len(value) != 2:
        raise ValueError(f"{name}: printed is {value!r}, not a number or both ends of a range")
    found = tuple(checks.finite(f"{name}: printed", number) for number in numbers)
    if found != tuple(sorted(found)):
        raise ValueError(f"{name}: printed is {value!r}: the lower end comes first")
    return found


def _test(name: str, entry: Any, studies: Mapping[str, str]) -> Test:
    fields = {"study", "workload", "of", "over", "quantity", "subject", "direction"}
    checks.keys(f"{name}: test", entry, fields, {"dtype", "best"})
    over = None if entry["over"] is None else _selector(f"{name}: over", entry["over"])
    quantities = ("speedup", *RATES) if over else QUANTITIES[1:]
    direction = (
        None if entry["direction"] is None else checks.word(f"{name}: direction", entry["direction"], DIRECTIONS)
    )
    if (direction is None) if over else (direction not in (None, "less")):
        raise ValueError(f"{name}: direction is {direction!r}: a ratio has one, a rate none or 'less'")
    if type(best := entry.get("best", False)) is not bool or (best and direction in ("same", "not less")):
        raise ValueError(f"{name}: best is {best!r}: true of a claim of more, less or a rate, else false")
    study = checks.word(f"{name}: study", entry["study"], studies)
    named = re.search(r"--device[ =](cpu|gpu)\b", studies[study])
    return Test(
        study=study,
        workload=checks.text(f"{name}: workload", entry["workload"]),
        of=_selector(f"{name}: of", entry["of"]),
        over=over,
        quantity=checks.word(f"{name}: quantity", entry["quantity"], quantities),
        subject=None if entry["subject"] is None else checks.text(f"{name}: subject", entry["subject"]),
        direction=direction,
        dtype=None if entry.get("dtype") is None else checks.text(f"{name}: dtype", entry["dtype"]),
        device_type=named[1] if named else None,
        best=best,
    )


def _selector(what: str, value: Any) -> Selector:
    if isinstance(value, dict):
        checks.keys(what, value, {"variant"}, {"parameters", "dtype", "sizes", "role"})
        levels = Configuration(checks.text(what, value["variant"]), **value.get("parameters", {})).parameters
        sizes = {name: int(checks.positive(what, size)) for name, size in value.get("sizes", {}).items()}
        dtype = None if value.get("dtype") is None else checks.text(what, value["dtype"])
        role = checks.word(f"{what}: role", value.get("role", "variant"), ROLES)
        inside = [f"{name}={level}" for name, level in {**levels, **sizes}.items()]
        told = " ".join(filter(None, [str(value["variant"]), f"({', '.join(inside)})" if inside else "", dtype]))
        return Selector(told, None, value["variant"], levels, False, role, dtype, sizes)
    text = checks.text(what, value)
    if text.startswith("paper:"):
        return Selector(text, preset=text)
    role, _, rest = text.partition(":")
    if role in ("call", "peer") and rest:
        return Selector(text, variant=rest, role=role)
    configuration = Configuration.parse(text)
    return Selector(text, None, configuration.variant, configuration.parameters, exact="(" in text)


def _figure(entry: Any, ids: set[str]) -> Figure:
    checks.keys("a figure", entry, {"name", "what", "claims", "not"}, {"presets", "picture"})
    name = checks.text("a figure's name", entry["name"])
    claims = checks.texts(f"{name}: claims", entry["claims"])
    if unknown := [one for one in claims if one not in ids]:
        raise ValueError(f"{name}: there is no claim {unknown[0]!r}")
    presets = []
    for each in entry.get("presets", []):
        checks.keys(f"{name}: a preset", each, {"workload", "preset"})
        presets.append((checks.text(name, each["workload"]), checks.text(name, each["preset"])))
    picture = None if entry.get("picture") is None else checks.text(f"{name}: picture", entry["picture"])
    reason = None if entry["not"] is None else checks.text(f"{name}: not", entry["not"])
    if (reason is None) != bool(claims or presets or picture):
        raise ValueError(f"{name}: either something repeats it, or `not` says why nothing does")
    return Figure(name, checks.text(f"{name}: what", entry["what"]), claims, tuple(presets), picture, reason)
