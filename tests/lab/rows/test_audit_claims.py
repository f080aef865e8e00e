"""The audit of claims that were held against rows: known for what they are, alone in their file."""

from __future__ import annotations

import json
from pathlib import Path

from gpuopt import lab
from gpuopt.audit import audit


def test_claims_are_counted_and_not_audited(tmp_path: Path) -> None:
    lab.claims(paper="catanzaro2010").save(tmp_path, pictures=False)
    path = tmp_path / "claims.jsonl"
    count = len(path.read_text().splitlines())
    report = audit(tmp_path)
    assert report.ok
    assert (report.files[0].claims, report.to_json()["files"][0]["claims"]) == (count, count)
    assert f"claims.jsonl: {count} claims" in report.to_text()
    path.write_text(path.read_text() + '{"kind": "claim", "pap\n')
    assert [found.line for found in audit(path).discrepancies] == [count + 1]


def test_a_claim_among_rows_is_found(tmp_path: Path) -> None:
    claim = lab.claims(paper="catanzaro2010").rows[0]
    row = {"kind": "search", "status": "ok", "variant": "naive"}
    path = tmp_path / "rows.jsonl"
    lab.Store(path).append(row)
    with path.open("a") as file:
        file.write(json.dumps(claim) + "\n")
    assert "another object" in [found.stored for found in audit(path).discrepancies]
