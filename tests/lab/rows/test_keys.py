"""Rows and their keys: the contract, what counts, what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from gpuopt import Error
from gpuopt.lab.rows import schema
from gpuopt.lab.rows.schema import ResultsError, resume_key
from gpuopt.lab.rows.store import Store
from stored_rows import SPEC, make


def test_contract_of_the_row():
    row = make(block=3)
    assert tuple(row) == schema.FIELDS
    assert len(set(schema.FIELDS)) == len(schema.FIELDS) == sum(map(len, schema.GROUPS.values()))
    assert row["schema"] == 1
    assert row["flags"] == []
    assert row["median_ms"] is None
    assert row["time_utc"].endswith("Z")
    assert row["key"] == resume_key(SPEC)
    assert row["row_id"] == f"{row['key']}:3"
    assert schema.FIELDS[0] == "schema"  # a torn line can then be told from text that is not ours


def test_what_newer_sweeps_say_of_a_row():
    row = make(
        accuracy="HALF=1",
        uncached_ms=3.0,
        pct_uncached=240.0,
        launches=2,
        bytes={"dram": 1e6, "requested": 3e6},
        role="call",
    )
    assert (row["accuracy"], row["uncached_ms"], row["pct_uncached"], row["launches"]) == ("HALF=1", 3.0, 240.0, 2)
    assert row["key"] == make()["key"]  # stored rows of the same configuration still count
    assert make(role="overhead")["role"] == "overhead"


def test_rows_written_before_these_fields_are_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    new = ("accuracy", "uncached_ms", "pct_uncached", "launches", "device_type", "footprint_bytes")
    path.write_text(
        json.dumps({field: value for field, value in make(median_ms=1.0).items() if field not in new}) + "\n"
    )
    (row,) = Store(path).latest()
    assert tuple(row[field] for field in new) == (None,) * 6
    assert row["median_ms"] == 1.0


def test_plain_values():
    row = make(
        median_ms=np.float32(0.5),
        n=np.int64(7),
        bimodal=np.bool_(True),
        samples_ms=np.array([1.0, 2.5]),
        sizes={"n": np.uint64(2**63)},
        local_size=(8, 8),
        ratio=math.nan,
    )
    line = json.dumps(row, allow_nan=False)
    assert json.loads(line) == row
    assert row["samples_ms"] == [1.0, 2.5]
    assert (row["n"], row["median_ms"], row["bimodal"], row["ratio"]) == (7, 0.5, True, None)
    assert row["sizes"] == {"n": 2**63}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"median": 1.0}, r"'median'.*'median_ms'"),
        ({"status": "fine"}, "status='fine'.*unsupported"),
        ({"status": None}, "status=None"),
        ({"kind": None}, "kind=None"),
        ({"status": "compile"}, "needs a reason"),
        ({"status": "compile", "reason": " "}, "needs a reason"),
        ({"flags": ["noisy"]}, "flags='noisy'.*drift"),
        ({"cache_state": "warm"}, "cache_state='warm'"),
        ({"clock": "sun"}, "clock='sun'"),
        ({"role": "lead"}, "role='lead'"),
        ({"verdict": "BEST"}, "verdict='BEST'"),
        ({"schema": 2}, "schema=2"),
        ({"params": {"a": object()}}, "not object"),
    ],
)
def test_bad_rows_are_named(fields, message):
    with pytest.raises(ResultsError, match=message) as caught:
        make(**fields)
    assert isinstance(caught.value, Error)


def test_key_counts_what_matters_and_nothing_else():
    key = resume_key(SPEC)
    assert key == resume_key(dict(reversed(SPEC.items()))) == resume_key(make(median_ms=3.0))
    assert len(key) == 64
    numpy_spec = SPEC | {"seed": np.int32(1), "local_size": (np.int64(64),), "params": {"SCALE": 0.1, "ITEMS": 64.0}}
    assert resume_key(numpy_spec) == key
    for field in schema.KEY_FIELDS:
        assert resume_key(SPEC | {field: "else"}) != key, field
    assert resume_key(SPEC | {"params": {"a": math.nan}}) != resume_key(SPEC | {"params": {"a": None}})


def test_key_is_stable_across_versions():
    """Changing this value makes every results file unresumable."""
    assert resume_key(SPEC) == "3718113af85eb4e527e62d1ea5235c09ff76ab8364dfcedf2cdb380bf4680515"


def test_data_join_the_keys_where_they_are_told():
    """Problems of gpuopt's own have no such field, and rows of earlier versions keep their keys."""
    for key in (resume_key, schema.comparison_key):
        assert key(SPEC | {"data": None}) == key(SPEC)
        assert len({key(SPEC), key(SPEC | {"data": "1f"}), key(SPEC | {"data": "2f"})}) == 3


def test_a_plan_joins_the_resume_key_alone():
    """Rows without one keep their keys, and versions of one kernel are compared."""
    assert resume_key(SPEC | {"plan": None}) == resume_key(SPEC)
    assert len({resume_key(SPEC), resume_key(SPEC | {"plan": "1f"}), resume_key(SPEC | {"plan": "2f"})}) == 3
    assert schema.comparison_key(SPEC | {"plan": "1f"}) == schema.comparison_key(SPEC)


def test_key_wants_every_field_and_no_other():
    with pytest.raises(ResultsError, match="seed"):
        resume_key({k: v for k, v in SPEC.items() if k != "seed"})
    with pytest.raises(ResultsError, match=r"'cache_stat'.*'cache_state'"):
        resume_key(SPEC | {"cache_stat": "hot"})


def test_comparison_key_spans_drivers_and_edits():
    other = SPEC | {"driver": "2.0", "source_sha256": "60"}
    assert schema.comparison_key(other) == schema.comparison_key(SPEC)
    assert schema.comparison_key(SPEC | {"device": "Another"}) != schema.comparison_key(SPEC)
