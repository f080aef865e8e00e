"""What is told where a claim has no number, or one without an interval."""

from __future__ import annotations

from typing import Any

import claims as made_up
import study_rows
from gpuopt.lab.rows import claims
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.claim_sheets import markdown, sheet, verdict_text
from gpuopt.lab.show.claims import Claims

Row = dict[str, Any]


def found(rows: list[Row]) -> claims.Finding:
    (claim,) = made_up.paper(made_up.entry("one", 1.75)).claims
    (sittings,) = claims.sittings([StudyRows(rows)]).values()
    return claims.finding(claim, study_rows.DEVICE, sittings)


def changed(rows: list[Row], **fields: Any) -> list[Row]:
    return [row | {"method": "rank"} | (fields if row["variant"] == "basic" else {}) for row in rows]


def test_rows_of_two_environments_are_not_called_too_few_blocks() -> None:
    rows = [row | {"env_hash": "now"} for row in made_up.pair(2.0)]
    got = found(changed(rows, env_hash="before"))
    assert got.ours is not None
    assert (got.verdict, got.reason) == ("undecided", "no 95 % interval: they are of two environments")
    assert verdict_text(got) == "undecided: they are of two environments"


def test_rows_that_no_pass_measured_both_of_are_not_called_too_few_blocks() -> None:
    got = found(changed([row | {"baseline": "one"} for row in made_up.pair(2.0)], baseline="another"))
    assert verdict_text(got) == "undecided: no pass measured both"


def test_a_device_without_any_number_is_told_with_its_command() -> None:
    paper = made_up.paper(made_up.entry("one", 1.75))
    failed = [row for row in study_rows.rows() if row["status"] != "ok"]
    rows = [*made_up.pair(2.0, device="a GPU"), *[row | {"device": "a CPU", "device_type": "cpu"} for row in failed]]
    measured = claims.sittings([StudyRows(rows)])
    found = {d: {(c.paper, c.id): claims.finding(c, d, m) for c in paper.claims} for d, m in measured.items()}
    made = Claims([paper], found)
    assert list(made.of(paper)) == ["a GPU"]
    for text in (made.to_text(200), markdown(paper, made.of(paper), whole=made._whole(paper))):
        assert "Intel: a CPU · nothing measured" in text
        assert "--device intel" in text
        assert "measures 1 claim on Intel" in text
    assert "a CPU" not in sheet(paper, made.of(paper)).text(200)
