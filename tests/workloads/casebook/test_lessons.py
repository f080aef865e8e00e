"""The paper's projects and rules beside findings, and what its printed kernel computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gpuopt
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.timing import verification
from gpuopt.workloads.casebook import lessons, query_bytes
from gpuopt.workloads.casebook.findings import Finding, Program
from gpuopt.workloads.casebook.index import chosen, entries


def finding(id: str, version: str, mid: float, word: str) -> Finding:
    (entry,) = chosen(id)
    found = [Finding(entry, each, "cpu", ratio=Ratio(mid, mid, mid, word, 10)) for each in entry.others]  # type: ignore[arg-type]
    return next(each for each in found if lessons.version_name(each) == version)


def test_rules_and_projects_name_what_there_is() -> None:
    there = {
        (entry.id, lessons.version_name(Finding(entry, version, "cpu")))
        for entry in entries()
        for version in entry.others
    }
    assert {(case.entry, case.version) for rule in lessons.RULES for case in rule.cases} <= there
    assert {id for project in lessons.PROJECTS for id in project.entries} <= {entry.id for entry in entries()}


def test_a_rule_is_held_up_and_refuted() -> None:
    rule = next(each for each in lessons.RULES if each.text == "constant memory is fast")
    findings = [
        finding("D1", "constant factors", 0.5, "FAST"),
        finding("D3", "constant table", 2.0, "SLOW"),
    ]
    assert lessons.sides(rule, findings) == (["D1 constant factors"], ["D3 constant table"])
    assert lessons.sides(rule, [finding("D3", "constant table", 2.0, "AMBIGUOUS")]) == ([], [])
    text = lessons.sheet(findings).text(110)
    assert "D1 2.00x" in text
    assert "1.3x, 1.13x (kernels)" in text


def test_gains_of_projects_are_of_fixes_alone() -> None:
    viennacl = next(each for each in lessons.PROJECTS if each.name == "ViennaCL")
    assert (
        lessons.kernel_gains(viennacl, [finding("C1", "f2", 0.1, "FAST"), finding("C1", "tlp", 0.5, "FAST")])
        == "C1 2.00x"
    )


def refused(id: str, version: str, mid: float) -> Finding:
    """It has a time, of which no verdict is given."""
    why = "the baseline differed from itself by 37 %"
    ratio = Ratio(mid, mid, mid, "AMBIGUOUS", 10, refused=why)
    return dataclasses.replace(finding(id, version, mid, "FAST"), ratio=ratio, reason=why)


def test_gains_that_were_refused_are_not_told_as_never_measured() -> None:
    viennacl = next(each for each in lessons.PROJECTS if each.name == "ViennaCL")
    refusals = [refused("A6", "row per group", 0.3), refused("C1", "tlp", 0.5)]
    assert lessons.kernel_gains(viennacl, refusals) == "A6 no verdict, C1 no verdict"
    kept = finding("C1", "tlp f2", 0.8, "FAST")
    assert lessons.kernel_gains(viennacl, [*refusals, kept]) == "A6 no verdict, C1 1.25x"
    absent = dataclasses.replace(kept, ratio=None, reason="unsupported")
    assert lessons.kernel_gains(viennacl, [refusals[0], absent]) == "A6 no verdict, C1 not measured"
    assert lessons.kernel_gains(viennacl, [absent]) == "C1 not measured"
    assert lessons.kernel_gains(viennacl, []) == "", "of entries that were not chosen nothing is said"

    called = Program({}, {}, refusals[1].ratio)  # type: ignore[arg-type]
    assert lessons.program_gains(viennacl, [dataclasses.replace(kept, program=called)]) == "C1 no verdict"
    assert lessons.program_gains(viennacl, [kept]) == ""


@pytest.mark.parametrize(("rows", "times"), [(256, 1.0), (512, 1.4375), (1024, 2.3125)])
def test_the_printed_kernel_counts_again_from_257_rows_on(rows: int, times: float, device: gpuopt.Device) -> None:
    (entry,) = chosen("C2")
    wrong = next(each for each in entry.others if each.kind == "wrong")
    sizes = {"rows": rows, "columns": 64}
    problem = entry.problem_of(sizes)
    bound = problem.prepare(wrong.configuration(sizes), device)
    if times == 1:
        verification.verify(bound, problem, wrong.configuration(sizes))
        return
    with pytest.raises(gpuopt.MismatchError) as caught:
        verification.verify(bound, problem, wrong.configuration(sizes))
    said = str(caught.value)
    found, wanted = (float(said.split(f" {word} ")[1].split()[0]) for word in ("is", "instead of"))
    assert found / wanted == pytest.approx(times, rel=0.15)


def test_matches_of_queries() -> None:
    ref = np.array([0, 1, 2, 3, 0, 1], dtype=np.uint8)
    queries = np.array([[1, 2, 3, 0], [1, 2, 2, 0], [3, 3, 3, 3]], dtype=np.uint8)
    assert query_bytes.matched(queries, ref, np.array([1, 1, 0])).tolist() == [4, 2, 0]
