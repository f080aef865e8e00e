"""What papers found that is no step: shipped as data, read and checked in one place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpuopt import Error, ParameterError, papers
from gpuopt.papers import findings


def document() -> dict[str, Any]:
    values = [{"number": 2.5, "unit": "times", "device": "GTX 480"}]
    entry = {"paper": "yang2012", "where": "Figure 1", "says": "it wins.", "values": values}
    return {"schema": 1, "findings": {"one": entry}}


def test_a_finding_is_quoted_with_its_paper_and_place() -> None:
    found = findings.parse(json.dumps(document()), "made up")["one"]
    assert found.sentence == "Yang et al. 2012, Figure 1: it wins."
    assert found.values == (findings.Value(2.5, "times", "GTX 480"),)


def test_the_shipped_ones_are_of_known_papers() -> None:
    found = findings.of("microbench")
    assert {one.paper for one in found.values()} == {"yang2012", "daga2011", "jang2009"}
    assert [value.number for value in found["caches"].values] == [2.05, 4.83]
    with pytest.raises(ParameterError, match="no findings for 'nothing'"):
        findings.of("nothing")


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda d: d.update(schema=2), "schema"),
        (lambda d: d["findings"]["one"].update(paper="knuth1968"), "knuth1968"),
        (lambda d: d["findings"]["one"].update(page=3), "page"),
        (lambda d: d["findings"]["one"].update(says=""), "texts"),
        (lambda d: d["findings"]["one"]["values"][0].update(number=-1), "positive"),
        (lambda d: d["findings"]["one"]["values"][0].pop("unit"), "unit"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(damage: Callable[[dict[str, Any]], Any], word: str) -> None:
    broken = document()
    damage(broken)
    with pytest.raises(Error, match=rf"made up: .*{word}"):
        findings.parse(json.dumps(broken), "made up")


def test_a_paper_has_a_short_name() -> None:
    assert papers.short("daga2011") == "Daga et al. 2011"
    with pytest.raises(ParameterError, match="no paper is called 'x'"):
        papers.short("x")
