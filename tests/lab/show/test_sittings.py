"""What tables say of how long intervals of times hold."""

from __future__ import annotations

import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import complete
from gpuopt.lab.show.sittings import footers


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
