"""Rows are plain dicts, and one class says their fields, types and words."""

from __future__ import annotations

import pytest

from gpuopt.lab.rows import groups, schema
from gpuopt.lab.rows.schema import ResultsError, complete, field, levels, number_of, time_ms
from gpuopt.lab.show.tables import FLAG_MEANINGS


def test_names_that_are_used_as_text_are_fields() -> None:
    for name in (*schema.KEY_FIELDS, *schema.COMPARISON_FIELDS, *groups.PLACE):
        assert name in schema.FIELDS


def test_words_come_from_the_types() -> None:
    words = ("ok", "unsupported", "constraints", "compile", "runtime", "wrong", "crash", "timeout")
    assert schema.WORDS["status"] == words
    assert set(schema.WORDS) == {"status", "kind", "role", "clock", "cache_state", "verdict", "flags", "method"}
    assert set(schema.WORDS["flags"]) == set(FLAG_MEANINGS)


def test_a_completed_row_has_every_field_and_keeps_what_it_was_given() -> None:
    row = complete({"variant": "naive", "made_by": "a later version"})
    assert {*row} == {*schema.FIELDS, "made_by"}
    assert row["variant"] == "naive"
    assert row["median_ms"] is None
    assert row["flags"] == []
    assert field(row, "made_by") == "a later version"


def test_levels_are_numbers() -> None:
    assert levels(complete({"params": {"WIDTH": 4, "of": "naive(LOCAL=64)"}})) == {"WIDTH": 4}
    assert levels(complete({})) == {}


def test_a_row_without_a_time_says_so() -> None:
    row = complete({"variant": "naive", "status": "compile", "flops": 2})
    with pytest.raises(ResultsError, match="naive has no median_ms: its status is compile"):
        time_ms(row)
    assert number_of(row, "flops") == 2.0
