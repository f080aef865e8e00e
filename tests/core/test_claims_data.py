"""The claims of the papers as data: complete, consistent with the presets, testable by commands that exist, and refused
when damaged."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

import claims as made_up
from gpuopt import Configuration, Error, ParameterError, _core, papers
from gpuopt.configuration import complete, table_of
from gpuopt.papers import claims
from gpuopt.papers.claims import Claim, PaperClaims, Selector

KEYS = ("catanzaro2010", "daga2011", "jang2009", "yang2012")
PAPERS = [pytest.param(claims.load(key), id=key) for key in claims.known()]
FIGURES = {"gflop_s": "gflop_s", "pct_bound": "pct_bound", "pct_uncached": "pct_bound"}


def test_there_are_claims_of_every_paper() -> None:
    assert claims.known() == KEYS
    assert sum(len(claims.load(key).claims) for key in KEYS) >= 150
    with pytest.raises(ParameterError, match="no claims of 'nobody' are known; use one of catanzaro2010"):
        claims.load("nobody")


def selectors(paper: PaperClaims) -> Iterator[tuple[Claim, str, Selector]]:
    for claim in paper.claims:
        for selector in (claim.test.of, claim.test.over) if claim.test else ():
            if selector is not None:
                yield claim, claim.test.workload, selector  # type: ignore[union-attr]


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_compared_exists(paper: PaperClaims) -> None:
    wrong = []
    for claim, workload, selector in selectors(paper):
        if workload not in _core.workload_names():
            wrong.append(f"{claim.id}: no workload {workload}")
        elif selector.preset:
            if selector.preset not in papers.steps(workload):
                wrong.append(f"{claim.id}: {workload} has no preset {selector.preset}")
        elif selector.role == "variant" and selector.variant:
            wrong += [f"{claim.id}: {text}" for text in faults(workload, selector)]
    assert wrong == []


def faults(workload: str, selector: Selector) -> list[str]:
    """What is wrong with the configuration that a selector names."""
    table = table_of(workload)
    if selector.variant not in table:
        return [f"{workload} has no variant {selector.variant}"]
    variant = table[selector.variant]
    allowed = {parameter.name: parameter.levels for parameter in variant.parameters}
    found = [f"{variant.name} has no parameter {name}" for name in selector.parameters if name not in allowed]
    found += [
        f"{variant.name}: {name} is never {level}, but {allowed[name]}"
        for name, level in selector.parameters.items()
        if name in allowed and level not in allowed[name]
    ]
    if selector.dtype and selector.dtype not in variant.dtypes:
        found.append(f"{variant.name} has no {selector.dtype}")
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_peers_have_the_names_that_their_workload_gives_them(paper: PaperClaims) -> None:
    """Which peers there are depends on what is installed, so their names are looked up in the source."""
    for claim, workload, selector in selectors(paper):
        if selector.role == "peer":
            rooms = [resources.files("gpuopt.workloads") / room for room in (workload, "common")]
            files = [file for room in rooms for file in room.iterdir() if file.name.endswith(".py")]
            assert any(f'"{selector.variant}"' in file.read_text(encoding="utf-8") for file in files), claim.id


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_is_one(paper: PaperClaims) -> None:
    pytest.importorskip("click")
    for name, command in paper.studies.items():
        context = parsed(command)
        workloads = {claim.test.workload for claim in paper.claims if claim.test and claim.test.study == name}
        assert workloads == {context.info_name}, f"{name}: {command}"
        for variant in context.params.get("variants") or ():
            if variant not in ("paper", "all"):
                known(str(context.info_name), variant)


def parsed(command: str) -> Any:
    """The context that click makes of a command, which is not run."""
    import click

    from gpuopt.cli import app

    program, *words = shlex.split(command)
    assert program == "gpuopt", command
    context, group = click.Context(app, info_name="gpuopt"), app
    while isinstance(group, click.Group):
        name, found, words = group.resolve_command(context, words)
        assert found is not None
        if not isinstance(found, click.Group):
            return found.make_context(name, words, parent=context)
        context, group = click.Context(found, info_name=name, parent=context), found
    raise AssertionError(f"{command} ends in a group")


def known(workload: str, name: str) -> None:
    if name.startswith("paper:"):
        papers.preset(workload, name)
    else:
        complete(workload, Configuration.parse(name))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_preset_is_tested_or_says_why_not(paper: PaperClaims) -> None:
    tested = {(workload, selector.preset) for _, workload, selector in selectors(paper)}
    without = {(workload, preset) for workload, of in paper.presets_without_claim.items() for preset in of}
    own = {
        (workload, step.preset)
        for workload in _core.workload_names()
        for one in papers.of(workload)
        if one.key == paper.key
        for step in one.steps
    }
    assert own - tested - without == set(), "no claim tests these presets"
    assert without <= own - tested, "these presets have a claim, or are none"


@pytest.mark.parametrize("paper", PAPERS)
def test_figures_name_presets_that_exist(paper: PaperClaims) -> None:
    for figure in paper.figures:
        for workload, preset in figure.presets:
            assert preset in papers.steps(workload), f"{figure.name}: {workload} has no preset {preset}"


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_and_presets_print_the_same_numbers(paper: PaperClaims) -> None:
    """What both files have for a preset (a rate, a share, a speed-up over the paper's first step) is the same number.
    Where a paper prints several, one of the claims has the preset's, or all stand in its range."""
    printed: dict[tuple[str, tuple[float, ...]], list[float]] = {}
    for claim in paper.claims:
        if ends := preset_figure(paper.key, claim):
            told = printed.setdefault((f"{claim.test and claim.test.of.text} {claim.unit}", ends), [])
            told += claim.printed
    assert len(printed) >= 3
    for (name, ends), numbers in printed.items():
        assert any(min(ends) <= number <= max(ends) for number in numbers), f"{name}: {ends} or {numbers}"


def preset_figure(key: str, claim: Claim) -> tuple[float, ...]:
    """What the preset's file has of what the claim is about; empty where it is about something else."""
    test = claim.test
    if test is None or test.of.preset is None or not claim.printed:
        return ()
    step = papers.steps(test.workload).get(test.of.preset)
    if step is None or step.device != claim.device:
        return ()
    names: tuple[str, ...] = ()
    if test.over is None:
        names = (FIGURES[test.quantity],) if test.quantity in FIGURES else ()
    elif test.over.preset == papers.load(test.workload, key).steps[0].preset:
        names = ("speedup", "speedup_least", "speedup_most")
    return tuple(end for name in names if (end := step.figures[name]) is not None)


# ---------------------------------------------------------------- damage


def broken(**changed: Any) -> str:
    return json.dumps(made_up.document(made_up.entry("one", 2), made_up.untested("two"), **changed))


def test_a_whole_file_is_read() -> None:
    paper = claims.parse(broken(presets_without_claim={"spmv": {"paper:image": "It is elsewhere."}}), "made_up")
    assert [claim.id for claim in paper.claims] == ["one", "two"]
    assert paper.command(paper.claims[0]) == made_up.COMMAND
    assert paper.command(paper.claims[1]) is None
    assert paper.presets_without_claim == {"spmv": {"paper:image": "It is elsewhere."}}
    assert [claim.printed_text for claim in paper.claims] == ["2", "3.5"]


FIGURE = {"name": "Figure 1", "what": "A drawing.", "claims": ["one"], "not": None}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"schema": 2}, "its schema is 2, not 1"),
        ({"extra": 1}, "must have the keys"),
        ({"claims": [made_up.entry("one", 2), made_up.entry("one", 2)]}, "the id 'one' stands there twice"),
        ({"claims": [made_up.untested("one")]}, "no claim is tested by the study 'sizes'"),
        ({"claims": ["one"]}, "one must have the keys"),
        ({"claims": [made_up.entry("one", 2, untested="energy", why="No.")]}, "both a test and a reason"),
        ({"claims": [made_up.untested("one", untested=None)]}, "neither a test"),
        ({"claims": [made_up.untested("one", why="")]}, "one: why is ''"),
        ({"claims": [made_up.untested("one", untested="laziness")]}, "not one of energy, instructions"),
        ({"claims": [made_up.entry("one", 2, source="rumour")]}, "not one of text, table, picture"),
        ({"claims": [made_up.entry("one", [2, 1.5])]}, "the lower end comes first"),
        ({"claims": [made_up.entry("one", [1, 2, 3])]}, "not a number or both ends"),
        ({"claims": [made_up.entry("one", "2")]}, "'2', not a number"),
        ({"claims": [made_up.entry("one", float("nan"))]}, "nan, not a number"),
        ({"claims": [made_up.entry("one", 0.8)]}, "the printed ratio 0.8 is not more than 1"),
        ({"claims": [made_up.entry("one", 1.2, "less")]}, "the printed ratio 1.2 is not less than 1"),
        ({"claims": [made_up.entry("one", [0.9, 1.1], "less")]}, "not less than 1"),
        ({"claims": [made_up.entry("one", -2, "less")]}, "a ratio is positive"),
        ({"claims": [made_up.entry("one", 1.5, "same")]}, "has the number 1 or none"),
        ({"claims": [made_up.entry("one", 2, unit="%")]}, "has the unit 'times'"),
        ({"claims": [made_up.entry("one", 1.5, "not less")]}, "has no number"),
        ({"claims": [made_up.entry("one", 1.5, best=1)]}, "best is 1"),
        ({"claims": [made_up.entry("one", None, "same", best=True)]}, "best is True"),
        ({"takes": {"none": "An hour."}}, "there is no study 'none'"),
        ({"claims": [made_up.entry("one", 2, None)]}, "direction is None"),
        ({"claims": [made_up.entry("one", None, None, over=None, quantity="gflop_s")]}, "needs a positive number"),
        ({"claims": [made_up.entry("one", 2, over=None, quantity="gflop_s")]}, "direction is 'more'"),
        ({"claims": [made_up.entry("one", 2, None, over=None)]}, "quantity is 'speedup'"),
        ({"claims": [made_up.entry("one", 2, study="none")]}, "study is 'none'"),
        ({"claims": [made_up.entry("one", 2, of="copy(N=1) float4")]}, "is no configuration"),
        ({"claims": [made_up.entry("one", 2, of={"parameters": {}})]}, "must have the keys"),
        ({"claims": [made_up.entry("one", 2, of={"variant": "copy", "parameters": {"N": "1"}})]}, "not a whole number"),
        ({"figures": [FIGURE | {"claims": ["three"]}]}, "there is no claim 'three'"),
        ({"figures": [FIGURE | {"not": "No."}]}, "either something repeats it"),
        ({"figures": [FIGURE | {"claims": []}]}, "either something repeats it"),
        ({"figures": [FIGURE, FIGURE]}, "a figure stands there twice"),
        ({"figures": [FIGURE | {"presets": ["paper:basic"]}]}, "a preset must have the keys"),
        ({"presets_without_claim": {"spmv": {"paper:image": ""}}}, "paper:image is ''"),
    ],
)
def test_damage_is_named(changed: dict[str, Any], word: str) -> None:
    with pytest.raises(Error, match=r"papers/claims/made_up\.json: ") as caught:
        claims.parse(
            broken(**changed) if "claims" not in changed else json.dumps(made_up.document() | changed), "made_up"
        )
    assert word in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", "[" * 100_000])
def test_what_is_no_file_of_claims_is_named(text: str) -> None:
    with pytest.raises(Error, match=r"papers/claims/torn\.json"):
        claims.parse(text, "torn")
