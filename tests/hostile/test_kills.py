"""Killed studies, tunings and profiles, the short form; and that the check sees what a kill could leave."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuopt
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.rows.store import Store
from hostile import kills
from hostile.findings import Findings

pytest.importorskip("click")


@pytest.mark.timeout(600)
def test_what_was_reported_outlives_kills(any_device: gpuopt.Device) -> None:
    found = kills.attack(str(any_device.index), 8.0, seed=3)
    assert not found.total, found.told()
    assert found.counts["rows_reported"] > 20
    assert found.counts["killed"] > 0


def chain(folder: Path) -> tuple[kills.Chain, Findings, Path]:
    made, found = kills.Chain("study", folder), Findings("kills", "none", kills.KINDS)
    path = folder / "out" / "rows.jsonl"
    store = Store(path)
    for seed in range(3):
        made.reported.setdefault(path, set()).add(
            store.append(new_row(kind="search", status="ok", seed=seed))["row_id"]
        )
    return made, found, path


def test_whole_files_are_no_finding(tmp_path: Path) -> None:
    made, found, path = chain(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"kind": "sea')  # was never reported; the next append drops it
    kills._check(made, found, "here")
    assert found.total == 0


def test_a_row_that_is_gone_is_found(tmp_path: Path) -> None:
    made, found, path = chain(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    kills._check(made, found, "here")
    assert found.found["lost"] == ["here: 1 of 3 reported rows"]
    path.unlink()
    kills._check(made, found, "there")
    assert found.found["lost"][1] == "there: 3 of 3 reported rows"


def test_torn_files_are_found(tmp_path: Path) -> None:
    made, found, path = chain(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    kept = made.cache / "tuned" / "tmv.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('[\n  {"match": {}')
    kills._check(made, found, "here")
    assert len(found.found["torn"]) == 2
    assert len(found.found["lost"]) == 1
