"""Why a claim's number has no interval, which is not always that there are too few blocks."""

from __future__ import annotations

from typing import Any

import claims as made_up
import study_rows
from gpuopt.lab.rows import claims
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.claim_sheets import verdict_text

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
