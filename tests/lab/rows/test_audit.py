"""The audit of stored rows: good files hold, and every field that something follows from is missed where it is altered.

`first_generation.jsonl` holds a sweep and a survey as the first rules wrote them, samples included, extending templates
to be short; its bounds are held against the profile of `results/cpu-2core/papers`.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt import lab, problems
from gpuopt.audit import audit
from gpuopt.lab.rows.audit_facts import Report
from gpuopt.lab.rows.audit_rules import RULES, sentinel_places
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.schema import ResultsError, resume_key
from gpuopt.lab.rows.store import Store, no_templates, row_of
from gpuopt.lab.timing.protocol import PROTOCOLS

HERE = Path(__file__).parent
RESULTS = HERE.parents[2] / "results"
PROFILE = RESULTS / "cpu-2core" / "papers" / "pocl-profile.json"
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def good() -> list[Fields]:
    """The rows in full, as a sweep writes them."""
    rows = Store(HERE / "first_generation.jsonl").latest()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def written(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def of(rows: list[Fields], kind: str, role: str = "variant", name: str = "", block: int | None = 3) -> Fields:
    """The first such row, to be altered in place."""
    return next(
        row
        for row in rows
        if (row["kind"], row.get("role")) == (kind, role)
        and name in row.get("configuration", "")
        and (kind != "block" or row["block"] == block)
    )


def copied(rows: list[Fields]) -> list[Fields]:
    return json.loads(json.dumps(rows))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- what holds


def test_rows_of_the_first_rules_hold_raw_and_compact(tmp_path: Path, good: list[Fields]) -> None:
    raw = written(tmp_path / "rows.jsonl", good)
    compact_file(raw, tmp_path / "short.jsonl")
    report = audit([raw, tmp_path / "short.jsonl"], PROFILE)
    assert report.discrepancies == []
    assert [file.ledger.checked > 1000 for file in report.files] == [True, True]


def test_without_the_profile_rows_are_held_against_each_other(tmp_path: Path, good: list[Fields]) -> None:
    report = audit(written(tmp_path / "rows.jsonl", good))
    assert report.ok
    assert "of that device and sitting is at hand" in report.to_text()


def test_a_sweep_of_now_holds_raw_and_compact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whichever rules rows are written now."""
    cpu = next((device for device in gpuopt.devices() if device.type == "cpu"), None)
    if cpu is None:
        pytest.skip("no CPU device, whose sweep takes a moment")
    brief = dataclasses.replace(PROTOCOLS["quick"], warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4, blocks=(7,))
    monkeypatch.setitem(PROTOCOLS, "quick", brief)
    raw = tmp_path / "rows.jsonl"
    lab.sweep(problems.tmv(96, 64), ["naive", "tlp"], protocol="quick", device=cpu, peers=(), store=raw)
    compact_file(raw, tmp_path / "short.jsonl")
    report = audit([raw, tmp_path / "short.jsonl"])
    assert report.discrepancies == []
    assert {file.kinds["summary"] for file in report.files} == {of_kind(raw, "summary")}


def test_places_of_sentinels() -> None:
    assert sentinel_places(3) == [0, 2]
    assert sentinel_places(10) == [0, 9]
    assert sentinel_places(11) == [0, 9, 10]
    assert sentinel_places(12) == [0, 9, 11]
    assert sentinel_places(15, together=2) == [0, 1, 10, 11, 13, 14]
    assert sentinel_places(12, together=2) == [0, 1, 10, 11]


def of_kind(path: Path, kind: str) -> int:
    return sum(row["kind"] == kind for row in Store(path).latest())


def test_the_stored_results_of_named_devices_hold() -> None:
    """Those of two CPU runtimes, and two studies of an H200; all of them: `gpuopt audit results`."""
    report = audit([RESULTS / "cpu-2core" / "papers", RESULTS / "h200" / "gem-capsid", RESULTS / "h200" / "tmv"])
    assert report.discrepancies == []
    assert report.checked > 50_000


# ---------------------------------------------------------------- what is found


def flag_more(row: Fields) -> None:
    row["flags"] = [*row["flags"], "bimodal"]


def times(field: str, factor: float) -> Callable[[Fields], None]:
    def alter(row: Fields) -> None:
        row[field] = row[field] * factor

    return alter


def put(field: str, value: Any) -> Callable[[Fields], None]:
    def alter(row: Fields) -> None:
        row[field] = value

    return alter


def put_declared(field: str, name: str, factor: float) -> Callable[[Fields], None]:
    def alter(row: Fields) -> None:
        row[field] = {**row[field], name: row[field][name] * factor}

    return alter


def times_first(row: Fields) -> None:
    row["samples_ms"][0] *= 1.5
    row["samples_ms"][1] *= 1.5


def doubt(row: Fields) -> None:
    row |= {"flags": ["suspicious"], "doubled": 2.01}


SLIGHTLY = 1 + 1e-7
PLANTED: dict[str, tuple[tuple[str, str, str], Callable[[Fields], None], str]] = {
    "a block's median": (("block", "variant", "tlp"), times("median_ms", SLIGHTLY), "median_ms"),
    "a block's quartile": (("block", "variant", "tlp"), times("q3_ms", SLIGHTLY), "q3_ms"),
    "a block's least": (("block", "variant", "tlp"), times("min_ms", SLIGHTLY), "min_ms"),
    "a block's interval": (("block", "variant", "tlp"), times("ci_lo_ms", SLIGHTLY), "ci_lo_ms"),
    "a block's rate": (("block", "variant", "tlp"), times("gflop_s", SLIGHTLY), "gflop_s"),
    "a block's bandwidth": (("block", "variant", "tlp"), times("gb_s", SLIGHTLY), "gb_s"),
    "a block's bound": (("block", "variant", "tlp"), times("bound_ms", SLIGHTLY), "bound_ms"),
    "a block's share": (("block", "variant", "tlp"), times("pct_bound", SLIGHTLY), "pct_bound"),
    "a block's runner-up": (("block", "variant", "tlp"), put("next_by", "l1"), "next_by"),
    "a block's bound without caches": (("block", "variant", "tlp"), times("uncached_ms", SLIGHTLY), "uncached_ms"),
    "a block's ratio": (("block", "variant", "tlp"), times("ratio", SLIGHTLY), "ratio"),
    "a sentinel": (("block", "sentinel", ""), times("median_ms", SLIGHTLY), "ratio"),
    "a flag of a block": (("block", "variant", "tlp"), flag_more, "flags"),
    "a sample": (("block", "variant", "tlp"), times_first, "median_ms"),
    "a key field": (("block", "variant", "tlp"), put("seed", 7), "key"),
    "a hash": (("block", "variant", "tlp"), put("comparison_key", "ab"), "comparison_key"),
    "an environment that is not there": (("block", "variant", "tlp"), put("env_hash", "ab"), "env_hash"),
    "an environment": (("environment", "", ""), put("environment", {"cpu": {}}), "env_hash"),
    "a ceiling": (("block", "ceiling", " of the data of "), times("median_ms", 0.25), "bound_ms"),
    "a place in the block": (("block", "variant", "tlp"), times("order", 2), "order"),
    "a number of samples": (("summary", "variant", "tlp"), times("n", 2), "n"),
    "a summary's median": (("summary", "variant", "tlp"), times("median_ms", SLIGHTLY), "median_ms"),
    "a summary's interval": (("summary", "variant", "tlp"), times("ci_hi_ms", SLIGHTLY), "ci_hi_ms"),
    "a summary's least": (("summary", "variant", "tlp"), times("min_ms", 1.5), "min_ms"),
    "a summary's ratio": (("summary", "variant", "tlp"), times("ratio", SLIGHTLY), "ratio"),
    "a ratio's interval": (("summary", "variant", "tlp"), times("ratio_lo", SLIGHTLY), "ratio_lo"),
    "a verdict": (("summary", "variant", "tlp"), put("verdict", "FAST"), "verdict"),
    "a verdict on the baseline": (("summary", "variant", "naive"), put("verdict", "SAME"), "verdict"),
    "a number of blocks": (("summary", "variant", "tlp"), put("blocks", 6), "blocks"),
    "a share of the bound": (("summary", "variant", "tlp"), times("pct_bound", SLIGHTLY), "pct_bound"),
    "a share's interval": (("summary", "variant", "tlp"), times("pct_hi", SLIGHTLY), "pct_hi"),
    "what bounds": (("summary", "variant", "tlp"), put("bound_by", "dram"), "bound_by"),
    "a median of the kernels' time": (("summary", "variant", "tlp"), times("busy_ms", SLIGHTLY), "busy_ms"),
    "declared flops": (("summary", "variant", "tlp"), times("flops", 2), "flops"),
    "declared bytes": (("block", "variant", "tlp"), put_declared("bytes", "dram", 2), "bytes"),
    "unconverged": (("summary", "variant", "tlp"), put("flags", ["unconverged"]), "flags"),
    "over its bound": (("summary", "variant", "tlp"), put("flags", ["over_bound"]), "flags"),
    "the runs of a sample": (("summary", "variant", "tlp"), put("batch_n", 3), "batch_n"),
    "an unknown baseline": (("summary", "variant", "tlp"), put("baseline", "other"), "blocks"),
    "a latency": (("point", "variant", "chase"), times("latency_ns", SLIGHTLY), "latency_ns"),
    "doubt that is none": (("point", "variant", "fma"), doubt, "flags"),
    "a point's rate": (("point", "variant", "copy"), times("gb_s", SLIGHTLY), "gb_s"),
    "an unknown word": (("point", "variant", "copy"), put("clock", "sundial"), "clock"),
    "unknown rules": (("summary", "variant", "tlp"), put("method", "guess"), "method"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found(planted: str, tmp_path: Path, good: list[Fields]) -> None:
    (kind, role, name), alter, field = PLANTED[planted]
    rows = copied(good)
    row = next(row for row in rows if row["kind"] == kind) if not role else of(rows, kind, role, name)
    alter(row)
    report = audit(written(tmp_path / "rows.jsonl", rows), PROFILE)
    assert field in {found.field for found in report.discrepancies}, report.to_text()


def test_a_summary_without_blocks_is_found(tmp_path: Path, good: list[Fields]) -> None:
    rows = [row for row in good if not (row["kind"] == "block" and "tlp" in row["configuration"])]
    report = audit(written(tmp_path / "rows.jsonl", rows), PROFILE)
    assert ("blocks", 7, 0) in [(found.field, found.stored, found.recomputed) for found in report.discrepancies]


def test_a_failure_after_timing_beside_a_good_summary_is_found(tmp_path: Path, good: list[Fields]) -> None:
    row = {**of(good, "summary", name="tlp"), "status": "wrong", "reason": "after timing: 3 of 96 elements are off"}
    report = audit(
        written(
            tmp_path / "rows.jsonl",
            [
                *good,
                {name: row[name] for name in row if name not in ("key", "row_id", "comparison_key")}
                | {"clock": "event"},
            ],
        ),
        PROFILE,
    )
    assert "status" in {found.field for found in report.discrepancies}


def test_damaged_lines_are_found(tmp_path: Path, good: list[Fields]) -> None:
    path = written(tmp_path / "rows.jsonl", good)
    path.write_text(path.read_text() + '{"schema":1,"kind":"point","median_ms":"fast"}\n{"sche')
    assert [found.line for found in audit(path).discrepancies if found.field == "line"] == [
        len(good) + 1,
        len(good) + 2,
    ]


# Fields that nothing else in a file tells of: what a sitting measured once, and who did.
UNTOLD = frozenset(
    (
        *("schema", "family", "preset", "accuracy", "vector_width", "device_type", "platform", "profile"),
        *("binary_sha256", "gpuopt_version", "time_utc", "build_ms", "warmup_ms", "busy_ms", "queued_start_ms"),
        *("wall_ms", "timer_ns", "doubled", "max_abs", "max_rel", "max_ulp", "max_of_tol", "l2_rel", "tol"),
        *("canary_ok", "launches", "registers", "spill_bytes", "local_bytes", "private_bytes", "core_mhz", "mem_mhz"),
        *("temp_c", "power_w", "footprint_bytes", "batch_n", "occupancy", "occupancy_by"),
        *("instructions", "instructions_by", "instructions_note"),
    )
)


def other(value: Any) -> Any:
    """A value of the same type that is another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 1e-6) if value else 1.0
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return [other(value[0]), *value[1:]] if value else ["bimodal"]
    return {name: other(inner) for name, inner in value.items()}


@pytest.mark.parametrize("number", range(60))
def test_any_field_altered_anywhere_is_found_or_known_to_be_told_by_nothing(
    number: int, tmp_path: Path, good: list[Fields]
) -> None:
    draw = random.Random(number)
    row = draw.randrange(len(good))
    ceiling = good[row].get("role") in ("ceiling", "overhead")
    # Blocks of ceilings keep no ratio in this file, and the work behind their flops is in no field.
    blind = {"gflop_s", "ratio", "ratio_lo", "ratio_hi"} if ceiling else set()
    blind |= {"configuration"} if good[row]["kind"] == "point" else set()
    blind |= {"flags"} if good[row]["kind"] == "environment" else set()
    field = draw.choice(sorted(good[row].keys() - UNTOLD - blind))
    rows = [{**each, field: other(each[field])} if at == row else each for at, each in enumerate(good)]
    report = audit(written(tmp_path / "rows.jsonl", rows), PROFILE)
    assert not report.ok, (good[row]["kind"], good[row].get("role"), good[row].get("configuration"), field)


COMPACT = [
    *(("block", field) for field in ("median_ms", "ratio", "order", "n")),
    *(
        ("summary", field)
        for field in ("n", "median_ms", "ci_lo_ms", "ratio", "ratio_hi", "verdict", "pct_bound", "pct_lo")
    ),
]


@pytest.mark.parametrize(("kind", "field"), COMPACT)
def test_what_is_altered_in_a_compact_file_is_found(kind: str, field: str, tmp_path: Path, good: list[Fields]) -> None:
    """In the lines themselves: rows extend templates there, and leave out what follows."""
    compact_file(written(tmp_path / "raw.jsonl", good), tmp_path / "rows.jsonl")
    path, known = tmp_path / "rows.jsonl", no_templates()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    told = [row_of(line, path, known) for line in lines]
    wanted = (kind, "variant", "tlp(LOCAL_X=32, LOCAL_Y=8)", None if kind == "summary" else 3)
    at = next(
        number
        for number, row in enumerate(told)
        if row and (row["kind"], row["role"], row["configuration"], row["block"]) == wanted
    )
    row = told[at]
    assert row is not None
    value: Any = {**row}[field]
    lines[at][field] = "FAST" if field == "verdict" else other(value)
    assert not audit(written(path, lines), PROFILE).ok, (kind, field)


def test_a_template_that_was_altered_is_found(tmp_path: Path, good: list[Fields]) -> None:
    compact_file(written(tmp_path / "raw.jsonl", good), tmp_path / "rows.jsonl")
    text = (tmp_path / "rows.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text(text.replace('"flops":12288.0', '"flops":24576.0'))
    assert any("altered" in str(found.stored) for found in audit(tmp_path / "rows.jsonl").discrepancies)


# ---------------------------------------------------------------- rules


def test_a_ratio_by_ranks_is_to_the_baseline_at_that_moment() -> None:
    """A visit a quarter of the way between two sentinels, in the logarithm of their times."""

    def visit(median_ms: float, at_s: float) -> Fields:
        return {"median_ms": median_ms, "at_s": [at_s], "batch_n": 1, "n": 0}

    baseline = RULES["rank"].baseline_ms(visit(5.0, 1.0), visit(1.0, 0.0), visit(16.0, 4.0))
    assert baseline == pytest.approx(2.0)
    assert RULES["first"].baseline_ms(visit(5.0, 1.0), visit(1.0, 0.0), visit(16.0, 4.0)) == pytest.approx(4.0)


def test_by_ranks_no_verdict_stands_across_clocks(tmp_path: Path, good: list[Fields]) -> None:
    """The first rules held calls by the host's clock against device events; by ranks the same rows do not hold."""
    rows = [row | {"method": "rank"} if row["kind"] == "summary" else row for row in good]
    found = audit(written(tmp_path / "rows.jsonl", rows), PROFILE).discrepancies
    assert any(each.field == "verdict" and "tmv(A, v)" in each.row for each in found)


# ---------------------------------------------------------------- files


def test_a_scripts_own_rows_are_counted_and_not_audited(tmp_path: Path) -> None:
    own = [{"peer": "A", "ms": 2.0, "ci95": [1.0, 3.0]}, {"g_s": 2.0, "blocks_g_s": [1.0, 2.0, 4.0]}]
    report = audit(written(tmp_path / "own.jsonl", own))
    assert report.ok
    assert report.files[0].own == 2
    assert "not audited, rows of a script's own" in report.to_text()
    wrong = [{"peer": "A", "ms": 4.0, "ci95": [1.0, 3.0]}, {"g_s": 2.5, "blocks_g_s": [1.0, 2.0, 4.0]}]
    found = audit(written(tmp_path / "own.jsonl", wrong)).discrepancies
    assert [each.field for each in found] == ["ci95", "g_s"]


def test_a_profile_holds_and_an_altered_ceiling_does_not(tmp_path: Path) -> None:
    held = json.loads(PROFILE.read_text())
    assert audit(PROFILE).ok
    held["ceilings"]["local"]["rate"] *= 1.5
    path = tmp_path / "my-profile.json"
    path.write_text(json.dumps(held))
    assert [found.field for found in audit(path).discrepancies] == ["local.rate"]


def test_a_ceiling_that_its_sitting_did_not_keep_is_known_and_no_discrepancy(tmp_path: Path) -> None:
    held = json.loads(PROFILE.read_text())
    del held["ceilings"]["local"]
    path = tmp_path / "my-profile.json"
    path.write_text(json.dumps({**held, "refused": {"local": "its rounds disagree"}}))
    report = audit(path)
    assert report.ok
    assert "1 ceilings that their sitting did not keep" in report.to_text()


def test_bounds_that_another_profile_gave_are_found_where_it_is_asked_for(tmp_path: Path, good: list[Fields]) -> None:
    held = json.loads(PROFILE.read_text())
    held["ceilings"]["float32"]["rate"] *= 1.01
    path = tmp_path / "other-profile.json"
    path.write_text(json.dumps(held))
    report = audit(written(tmp_path / "rows.jsonl", good), path)
    assert {found.field for found in report.discrepancies} >= {"pct_next"}


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results file, profile or folder"):
        audit(tmp_path / "none.jsonl")
    with pytest.raises(ResultsError, match="no file NAME"):
        audit(tmp_path)


def test_medians_above_their_bound_are_findings(tmp_path: Path) -> None:
    report: Report = lab.audit(RESULTS / "cpu-2core" / "papers" / "intel-spmv-sizes" / "rows.jsonl")
    assert report.ok
    assert report.files[0].ledger.findings["summaries whose median is above 100 % of their bound"] == 1
    assert report.to_json()["files"][0]["findings"]


def test_the_key_of_a_row_is_that_of_its_fields(good: list[Fields]) -> None:
    row = Store(HERE / "first_generation.jsonl").latest()[5]
    assert row["key"] == resume_key(row)
