"""A store takes what its reader takes, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.store import Store
from stored_rows import make

GOOD: Any = {"kind": "search", "status": "ok", "variant": "v", "median_ms": 3.0}
NESTED: list[object] = []
for _ in range(5000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("median_ms", True, r"median_ms=True: a row has a finite number there"),
        ("median_ms", "a", r"median_ms='a': a row has a finite number there"),
        ("median_ms", 10**400, r"median_ms: a whole number of 1329 bits"),
        pytest.param("median_ms", 10**5000, r"median_ms: a whole number of 16610 bits", id="median_ms-of-many-digits"),
        ("median_ms", 2**1024 - 1, r"median_ms=179769.*: a row has a finite number"),
        ("params", [1], r"params=\[1\]: a row has a mapping to finite numbers or texts there"),
        ("params", {"A": {"B": 1}}, r"params=\{'A': \{'B': 1\}\}: "),
        ("params", {"A": None}, r"params=\{'A': None\}: "),
        pytest.param("params", {10**5000: 1}, r"params: ", id="params-of-many-digits"),
        ("block", 1.5, r"block=1\.5: a row has a whole number there"),
        ("schema", True, r"schema=True: a row has a whole number there"),
        ("schema", 1.0, r"schema=1\.0: "),
        ("samples_ms", "abc", r"samples_ms='abc': a row has a list of finite numbers there"),
        ("samples_ms", [1, "a"], r"samples_ms=\[1, 'a'\]: "),
        ("samples_ms", np.array([1.0, np.nan]), r"samples_ms=\[1\.0, None\]: "),
        ("device", 5, r"device=5: a row has a text there"),
        ("problem", ["x"], r"problem=\['x'\]: "),
        ("reason", 3, r"reason=3: "),
        ("bytes", 3, r"bytes=3: a row has a mapping to finite numbers there"),
        ("sizes", [1], r"sizes=\[1\]: "),
        ("variant", 3, r"variant=3: "),
        ("configuration", {"A": 1}, r"configuration=\{'A': 1\}: "),
        ("row_id", 3, r"row_id=3: "),
        ("key", 3, r"key=3: "),
        ("canary_ok", 1, r"canary_ok=1: a row has True or False there"),
        ("flags", 5, r"flags=5: a row has a list of texts there"),
        ("flags", "drift", r"flags='drift': "),
        ("kind", 3, r"kind=3: a row has one of search, block, "),
        ("verdict", "MAYBE", r"verdict='MAYBE': a row has one of FAST, SLOW, SAME, AMBIGUOUS there"),
        ("environment", [1], r"environment=\[1\]: a row has a mapping there"),
        pytest.param(
            "environment",
            {"cpu": {"cores": 10**5000}},
            r"environment: a whole number of 16610 bits",
            id="environment-of-many-digits",
        ),
        pytest.param("environment", {"cpu": NESTED}, r"environment: values are nested more than 100 deep", id="nested"),
    ],
)
def test_a_row_that_would_not_be_read_again_is_refused(tmp_path: Path, name: str, value: Any, message: str) -> None:
    store = Store(tmp_path / "rows.jsonl")
    with pytest.raises(ResultsError, match=f"^{message}"):
        store.append({**GOOD, name: value})
    assert store.rows() == store.unsaved == []
    assert not store.path.exists()


def test_fields_that_are_no_lists_and_no_words() -> None:
    assert Study([GOOD | {"flags": float("nan")}]).rows[0]["flags"] == []
    assert Study([GOOD | {"flags": np.array(["drift"])}]).rows[0]["flags"] == ["drift"]
    with pytest.raises(ResultsError, match=r"^rows: the verdict of row 0 is 'MAYBE'"):
        Study([GOOD | {"verdict": "MAYBE"}])


def test_a_file_with_an_unknown_verdict_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(make(**GOOD) | {"verdict": word}) + "\n" for word in ("SAME", "MAYBE")))
    assert [row["verdict"] for row in Study.load(path).rows] == ["SAME"]
    assert "its verdict is of another type" in Study.load(path).notes[0]


def test_values_of_numpy_are_read_again_as_they_were_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    values: dict[str, Any] = {"variant": np.str_("v"), "median_ms": np.float32(3), "canary_ok": np.bool_(True)}
    store.append(make(**values, samples_ms=np.ones(2), bytes={np.str_("dram"): 1}, local_size=(8, 8), seed=2**1000))
    assert Store(store.path).rows() == store.rows()
    assert Store(store.path).problems == []
