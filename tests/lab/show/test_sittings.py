"""What tables say of how long intervals of times hold."""

from __future__ import annotations

import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import Row, complete
from gpuopt.lab.rows.taken_over import sittings_of
from gpuopt.lab.show.sittings import footers, held


def test_intervals_are_said_to_be_of_this_sitting() -> None:
    text = " ".join(Study(study_rows.rows(), study_rows.INFO).explain(120).split())
    assert "time: 95 % intervals of times hold within this sitting; several sittings of `gpuopt profile`" in text


def test_where_the_spread_is_known_the_next_sittings_medians_are_told() -> None:
    wide = {"median_ms": 1.0, "ci_lo_ms": 0.99, "ci_hi_ms": 1.01, "sit_lo_ms": 0.9, "sit_hi_ms": 1.05}
    narrow = wide | {"sit_lo_ms": 0.98, "sit_hi_ms": 1.04}
    ((label, told),) = footers([complete(wide), complete(narrow), complete({"median_ms": 1.0})])
    assert label == "time"
    assert told.endswith("the medians of another one lie within 4.0 % to 11 %, by row")
    assert footers([complete(wide)])[0][1].endswith("lie within 11 %")
    assert footers([complete({"median_ms": 1.0})]) == []


def test_blocks_of_several_sittings_are_said_to_be_such() -> None:
    def block(time: str, environment: str = "a") -> Row:
        return complete({"kind": "block", "time_utc": time, "env_hash": environment})

    one = [block("2026-11-20T08:00:00Z"), block("2026-11-20T08:40:00Z"), block("2026-11-20T09:30:00Z")]
    assert held(one) == "hold within this sitting"
    later = block("2026-11-21T08:00:00Z")
    assert held([later, *one]) == "are of 2 sittings, and hold within these"
    assert sittings_of([*one, block("2026-11-20T09:31:00Z", "b")]) == 2
    assert sittings_of([block("no time"), block("2026-11-20")]) == 1
    assert sittings_of([]) == 1
    rows = [complete({"ci_lo_ms": 0.99, "ci_hi_ms": 1.01, "median_ms": 1.0})]
    assert footers(rows, [*one, later])[0][1].startswith("95 % intervals of times are of 2 sittings")
