"""Compact results files: the same tables, sentences, ratios and points as the raw ones."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import gpuopt
import study_rows
from gpuopt import Configuration, files, lab, problems
from gpuopt.lab.report import Study
from gpuopt.lab.rows import compact, schema, templates
from gpuopt.lab.rows.ratios import ratio_between
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import ResultsError, Row, new_row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.run.survey import survey
from gpuopt.workloads.microbench.points import Point, TransferPoint
from stored_rows import tripled

VISIT = {"samples_ms": [0.25] * 50, "q1_ms": 0.2, "q3_ms": 0.3, "core_mhz": 1980, "power_w": 300.5}
FAILED: Row = {"configuration": "tiles(TILE=64)", "params": {"TILE": 64}}


def raw_file(path: Path, rows: Iterable[Row]) -> Path:
    """A results file as a sweep writes it: every row with its identity and what a visit measures."""
    store = Store(path)
    for order, row in enumerate(rows):
        fields = {key: value for key, value in row.items() if value is not None}
        measured = VISIT | {"order": order} if row["kind"] in ("block", "search") else {}
        store.append(new_row(**measured | fields | {"source_sha256": "5f", "time_utc": "2026-11-21T08:00:00Z"}))
    return path


def failures() -> list[Row]:
    row = study_rows.row
    return [
        row("summary", "tiles", **FAILED, status="wrong", reason="after timing: 3 elements differ"),
        row("search", "banded", configuration="banded(LOCAL=1)", status="compile", reason="error: <stdin>:3 & more"),
        row("summary", "image2d", preset="paper:image", status="unsupported", reason="needs images"),
    ]


def unfinished() -> list[Row]:
    """Blocks without a summary, of a variant that the table shows by its middle block, and blocks of one that failed
    after timing."""
    timed = study_rows.timed
    inside: Row = {"configuration": "late(A=1)", "params": {"A": 1}, "baseline": "basic"}
    late = [timed("block", "late", 9.0 + block, **inside, block=block, ratio=0.4 + block) for block in range(3)]
    spoilt = [timed("block", "tiles", 5.0, **FAILED, block=block, ratio=0.2) for block in range(6)]
    return late + spoilt


def other_device() -> list[Row]:
    return [row | {"device": "Another", "driver": "2.0", "flags": ["drift"]} for row in study_rows.full_rows()]


def modelled() -> list[Row]:
    environment = {"kind": "environment", "status": "ok", "env_hash": "ab", "environment": {"device": {"type": "cpu"}}}
    return [environment, *study_rows.full_rows()]


EXAMPLES = {
    "a quick study": study_rows.rows(),
    "peers, calls, launches": modelled(),
    "failures": [*study_rows.rows(), *failures()],
    "unfinished": [*study_rows.rows(), *unfinished(), *failures()],
    "too few blocks": study_rows.rows(3),
    "two devices": [*study_rows.full_rows(), *other_device()],
    "one row": study_rows.rows()[-1:],
    "no blocks": [row for row in study_rows.full_rows() if row["kind"] != "block"],
}


def told(study: Study) -> dict[str, Any]:
    """All that is read of a study."""
    ratios = [
        (group.label(row), group.label(other), ratio_between(group, row, other))
        for group in study.groups()
        for row, other in itertools.permutations(group.rows, 2)
        if row["status"] == other["status"] == "ok" and row.get("median_ms") and other.get("median_ms")
    ]
    best = [study.best(role, accuracy) for role in ("variant", "call", "peer") for accuracy in ("", "any")]
    return {
        "table": study.to_text(160),
        "narrow": study.to_text(80),
        "explained": study.explain(160),
        "html": study._repr_html_(),
        "sentences": study.sentences(),
        "ratios": ratios,
        "bands": [(g.band, g.launch_ms, g.ceiling_rates(), len(g.blocks)) for g in study.groups()],
        "best": [row and (row["configuration"], row["median_ms"]) for row in best],
        "failures": [(r["variant"], r["configuration"], r["status"], r["reason"]) for r in study.failures()],
        "points": [(r["variant"], r["params"], r["gb_s"], r["ci_lo_ms"], r["flags"]) for r in study.points],
        "unconfirmed": [row["configuration"] for row in study.unconfirmed],
    }


def check_same(raw: Path, target: Path) -> None:
    made = compact.compact_file(raw, target)
    before, after = Study.load(raw), Study.load(target)
    assert made.problems == []
    assert told(after) == told(before)
    assert made.rows == len(before.rows) == len(after.rows)
    for old, new in zip(before.rows, after.rows, strict=True):
        assert set(new) == set(old)
        lost = {field for field in old if old[field] != new[field]}
        assert all(new[field] is None for field in lost - {"at_s"})
        assert (new["at_s"] or old["at_s"] or [None])[0] == (old["at_s"] or [None])[0]
        if old["kind"] in ("summary", "environment"):
            assert not lost
        elif old["kind"] != "block":
            assert lost <= compact._SAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_compact_file_says_the_same(name: str, tmp_path: Path) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", EXAMPLES[name])
    check_same(raw, tmp_path / "small.jsonl")
    assert "samples_ms" in raw.read_text() or name in ("one row", "no blocks")
    assert "samples_ms" not in (tmp_path / "small.jsonl").read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_compacting_again_changes_nothing(name: str, tmp_path: Path) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", EXAMPLES[name])
    once = compact.compact_file(raw).target
    assert once == tmp_path / "rows-compact.jsonl"
    text = once.read_bytes()
    assert compact.compact_file(once, once).bytes_after == len(text)
    assert once.read_bytes() == text


def test_a_real_sweep_and_a_survey(any_device: gpuopt.Device, brief: str, tmp_path: Path) -> None:
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    asked = ["paper:basic", "padded", Configuration("sliced", SLICE=32), "paper:image"]
    lab.sweep(problem, asked, protocol=brief, device=any_device, store=tmp_path / "rows.jsonl")
    check_same(tmp_path / "rows.jsonl", tmp_path / "small.jsonl")
    before, after = ((tmp_path / name).stat().st_size for name in ("rows.jsonl", "small.jsonl"))
    assert after < before / 5
    points = [Point(Configuration("read_chunks"), bytes=1 << 16), TransferPoint("upload", True, 1 << 16)]
    survey(points, protocol=brief, device=any_device, store=tmp_path / "points.jsonl")
    check_same(tmp_path / "points.jsonl", tmp_path / "small-points.jsonl")


def test_what_a_block_keeps(tmp_path: Path) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    small = compact.compact_file(raw).target
    block = next(r for r in Store(small).rows() if (r["kind"], r["variant"], r["block"]) == ("block", "sliced", 3))
    whole = next(r for r in Store(raw).rows() if r["row_id"] == block["row_id"])
    for field in ("median_ms", "ratio", "order", "role", "clock", "flags", "n", "core_mhz", "sizes", "params", "key"):
        assert block[field] == whole[field] is not None, field
    assert (block["gb_s"], block["samples_ms"], block["power_w"], block["time_utc"]) == (None,) * 4
    (line,) = [line for line in small.read_text().splitlines() if f'"order":{block["order"]},' in line]
    assert set(json.loads(line)) == {"like", "block", "order", "ratio"}  # its median is that of every other block


def test_sentinels_and_ceilings_keep_their_medians_alone(tmp_path: Path) -> None:
    rows = study_rows.full_rows()
    base = next(row for row in rows if row["kind"] == "block" and row["variant"] == "basic")
    rows += [base | {"role": "sentinel", "block": 0, "ratio": 1.0, "median_ms": 21.0 + order} for order in range(3)]
    raw = raw_file(tmp_path / "rows.jsonl", rows)
    check_same(raw, tmp_path / "small.jsonl")
    found = [row for row in Store(tmp_path / "small.jsonl").rows() if row["role"] == "sentinel"]
    assert [(row["median_ms"], row["ratio"]) for row in found] == [(21.0, None), (22.0, None), (23.0, None)]


def test_rows_that_others_replace_stay_and_are_read_as_before(tmp_path: Path) -> None:
    rows = study_rows.rows()
    raw = raw_file(tmp_path / "rows.jsonl", [*rows, rows[3] | {"median_ms": 30.0, "order": 3}])
    made = compact.compact_file(raw, tmp_path / "small.jsonl")
    assert made.rows == len(rows) + 1
    assert told(Study.load(tmp_path / "small.jsonl")) == told(Study.load(raw))


def test_a_store_that_another_selection_went_on_in_is_the_same_when_compact(
    tmp_path: Path, any_device: gpuopt.Device
) -> None:
    """Blocks of the first sweep are replaced in part: what is left of them follows from what was replaced."""
    kernel = tripled()
    problem, all_of_them = kernel.problem(n=100000), kernel.configurations(n=100000)
    raw, small = tmp_path / "rows.jsonl", tmp_path / "small.jsonl"
    for selection in (all_of_them[:2], all_of_them):
        lab.sweep(problem, selection, protocol="quick", store=raw, calls=False, device=any_device, progress=False)
    compact.compact_file(raw, small)
    for path in (raw, small):
        report = lab.audit(path)
        assert report.ok, report.discrepancies
    # The times of blocks are left out of compact files: of two sweeps in one file these tell when the last one ended.
    # Lines break where the words before them end, at hyphens too: a run that crosses a minute shifts them.
    one, other = (
        re.sub(r"[-\d:]+(to[-\d:]+)?UTC", "then", "".join(Study.load(path).to_text(120).split()))
        for path in (small, raw)
    )
    assert one == other


def test_fields_words_and_numbers_of_other_versions_survive(tmp_path: Path) -> None:
    row = study_rows.timed("search", "basic", 0.1 + 0.2, sizes={"b": 1, "a": 1}, seed=2**70, device="Ω \udc80")
    row |= {
        "status": "timeout",
        "reason": "10 s",
        "flags": ["odd"],
        "later": {"x": [1, None]},
        "key": "k",
        "row_id": "r",
    }
    twin = row | {"row_id": "s", "sizes": {"a": 1, "b": 1}, "later": None, "median_ms": float("inf")}
    many = row | {"row_id": "t", "kind": "block"} | {f"field{i}": i for i in range(templates.MOST_FIELDS + 9)}
    raw = tmp_path / "rows.jsonl"
    raw.write_text("".join(json.dumps(r) + "\n" for r in (row, twin, many, many | {"row_id": "u"})))
    small = compact.compact_file(raw).target
    first, second, third, fourth = Store(small).rows()
    assert Store(small).problems == []
    assert first == Store(raw).rows()[0]
    assert (list(first["sizes"]), list(second["sizes"])) == (["b", "a"], ["a", "b"])
    assert (second["median_ms"], second.get("later")) == (None, None)
    assert third["field9"] == fourth["field9"] == 9
    assert compact.compact(Store(small).rows()) == small.read_text().splitlines()


def test_rows_of_a_damaged_template_are_named_one_by_one(tmp_path: Path) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    small = compact.compact_file(raw).target
    lines = small.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"shared"' in line and b'"sliced"' in line)
    small.write_bytes(b"".join([*lines[:at], lines[at][:40] + b"\n", *lines[at + 1 :]]))
    store = Store(small)
    assert len(store.problems) == 1 + 7  # the template, six blocks and the summary
    assert not [row for row in store.rows() if row["variant"] == "sliced"]
    assert {str(damage).partition(": ")[2][:26] for damage in store.problems[1:]} == {"no line above it is the te"}
    notes = Study.load(small).notes
    assert len(notes) == 8
    made = compact.compact_file(small, tmp_path / "mended.jsonl")
    assert len(made.problems) == 8
    assert Store(tmp_path / "mended.jsonl").problems == []


def test_files_may_be_joined(tmp_path: Path) -> None:
    first = compact.compact_file(raw_file(tmp_path / "a.jsonl", study_rows.rows())).target
    second = compact.compact_file(raw_file(tmp_path / "b.jsonl", other_device())).target
    both, plain = tmp_path / "both.jsonl", tmp_path / "plain.jsonl"
    both.write_bytes(first.read_bytes() + second.read_bytes() + first.read_bytes())
    plain.write_bytes((tmp_path / "a.jsonl").read_bytes() + (tmp_path / "b.jsonl").read_bytes())
    assert told(Study.load(both)) == told(Study.load(plain))


def test_an_older_gpuopt_refuses_the_file() -> None:
    assert templates.SCHEMA > schema.SCHEMA  # it reads up to schema.SCHEMA


# ---------------------------------------------------------------- files


def test_the_source_is_replaced_only_where_it_is_named_again(tmp_path: Path) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    before = raw.read_bytes()
    taken = tmp_path / "taken.jsonl"
    taken.write_text("mine\n")
    with pytest.raises(ResultsError, match=r"taken\.jsonl exists"):
        compact.compact_file(raw, taken)
    assert (taken.read_text(), raw.read_bytes()) == ("mine\n", before)
    link = tmp_path / "link.jsonl"
    link.symlink_to(raw)
    table = Study.load(raw).to_text(160)
    compact.compact_file(raw, link)
    assert link.is_symlink()
    assert raw.stat().st_size < len(before) / 2
    assert Study.load(raw).to_text(160) == table
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.jsonl", "rows.jsonl", "taken.jsonl"]


@pytest.mark.parametrize("text", ["", "The introduction\n", '{"schema": 1, "bl'])
def test_what_holds_no_rows_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text(text)
    with pytest.raises(ResultsError, match="holds no result rows"):
        compact.compact_file(path, path)
    assert path.read_text() == text
    with pytest.raises(ResultsError, match=r"none\.jsonl"):
        compact.compact_file(tmp_path / "none.jsonl")


def test_a_file_that_a_sweep_writes_to_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    made = compact.compact

    def meanwhile(rows: list[Row]) -> list[str]:
        Store(raw).append(new_row(kind="search", status="ok", variant="late"))
        return made(rows)

    monkeypatch.setattr(compact, "compact", meanwhile)
    with pytest.raises(ResultsError, match="was written to meanwhile"):
        compact.compact_file(raw, raw)
    assert Store(raw).rows()[-1]["variant"] == "late"


def test_a_row_that_comes_while_the_file_is_replaced_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer waits, and then finds the file that took the place of the one it had opened."""
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    writer, write = Store(raw), files.write
    late = threading.Thread(target=writer.append, args=(new_row(kind="search", status="ok", variant="late"),))

    def meanwhile(*arguments: Any, **how: Any) -> None:
        late.start()
        late.join(0.3)
        write(*arguments, **how)

    monkeypatch.setattr(files, "write", meanwhile)
    rows = compact.compact_file(raw, raw).rows
    late.join()
    writer.append(new_row(kind="search", status="ok", variant="later"))
    left = Store(raw)
    assert (left.compact, left.problems, writer.problems) == (True, [], [])
    assert [row["variant"] for row in left.rows()[rows:]] == ["late", "later"]


def test_a_sweep_whose_file_is_made_compact_keeps_all_rows(
    any_device: gpuopt.Device, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, keep_all = tmp_path / "rows.jsonl", Recorder.keep_all

    def meanwhile(recorder: Recorder, rows: list[Row]) -> list[Row]:
        kept = keep_all(recorder, rows)
        compact.compact_file(raw, raw)
        return kept

    monkeypatch.setattr(Recorder, "keep_all", meanwhile)
    study = lab.sweep(tripled().problem(n=10000), protocol=brief, store=raw, device=any_device)
    assert [row["row_id"] for row in Store(raw).rows()] == [row["row_id"] for row in study.rows]
    assert lab.audit(raw).ok, lab.audit(raw).discrepancies


def test_a_full_disk_keeps_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    before = raw.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ResultsError, match="No space left"):
        compact.compact_file(raw, raw)
    assert raw.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_no_sweep_goes_on_from_compact_rows(any_device: gpuopt.Device, brief: str, tmp_path: Path) -> None:
    small = compact.compact_file(raw_file(tmp_path / "rows.jsonl", study_rows.rows())).target
    before = small.read_bytes()
    with pytest.raises(ResultsError, match=r"holds compact rows.*give another path.*--fresh"):
        Recorder(small)
    with pytest.raises(ResultsError, match="holds compact rows"):
        Store(small).append(new_row(kind="search", status="ok"))
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    with pytest.raises(ResultsError, match="holds compact rows"):
        lab.sweep(problem, ["basic"], protocol=brief, device=any_device, store=small)
    assert small.read_bytes() == before


def test_the_command(tmp_path: Path) -> None:
    pytest.importorskip("click")
    from click.testing import CliRunner

    from gpuopt import cli

    raw = raw_file(tmp_path / "rows.jsonl", study_rows.rows())
    with open(raw, "a", encoding="utf-8") as file:
        file.write("no row\n")
    made = CliRunner().invoke(cli.app, ["compact", str(raw)])
    assert made.exit_code == 0, made.output
    assert "rows.jsonl:39: no valid JSON" in made.output
    assert f"{tmp_path}/rows-compact.jsonl: 38 rows, {raw.stat().st_size} bytes became" in made.output
    again = CliRunner().invoke(cli.app, ["compact", str(raw)])
    assert (again.exit_code, "exists: give another name" in again.output) == (2, True)
