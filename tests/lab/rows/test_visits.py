"""Visits of a block as rows: the baseline's around them, ratios to those, and what compact files keep of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import study_rows
from gpuopt import ParameterError, lab
from gpuopt.lab.report import Study
from gpuopt.lab.rows import compact, visits
from gpuopt.lab.rows.pairs import compared_rows, elsewhere
from gpuopt.lab.rows.ratios import by_block, host_ratio, ratio_between, ratio_by_one_clock
from gpuopt.lab.rows.schema import Row, new_row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.show import tidy


def visit(order: int, median_ms: float, at_s: list[float] | None, **fields: Any) -> Row:
    row: Row = {"order": order, "at_s": at_s, "block": 0, "n": 10, "batch_n": 100, "clock": "event", "mad_ms": 0.0}
    return study_rows.timed("block", "basic", median_ms, **{**row, **fields})


def test_a_visit_is_held_against_the_baseline_at_its_moment() -> None:
    before, after = visit(0, 1.0, [0.0]), visit(9, 1.21, [10.0])
    wall = [visit(1, 3.0, [1.0], clock="wall"), visit(10, 3.0, [11.0], clock="wall")]
    for share in (0.25, 0.5, 1.0):  # the middles of visits of 1, 2 and 1.21 seconds
        row = visit(5, 2.0, [0.5 + share * (10.605 - 0.5) - 1.0])
        around = visits.enclosing(row, [before, *wall, after])
        assert around == (before, after)
        assert visits.ratio_to(row, around) == pytest.approx(2.0 / 1.21**share)
    assert visits.share_between(visit(5, 2.0, None), before, after) == 0.5
    assert visits.enclosing(before, [before, after]) == (before, before)
    assert visits.enclosing(visit(5, 2.0, [1.0], clock="batch"), [before, *wall, after]) is None


def test_the_noise_of_a_ratio_is_of_three_visits() -> None:
    row, before, after = (visit(order, 2.0, [order * 4.0], mad_ms=0.02) for order in (1, 0, 2))
    one = visits.variance_within(row, (row, row)) / 2  # itself twice: half way, as much as it has alone
    assert visits.variance_within(row, (before, after)) == pytest.approx(1.5 * one / 0.75, rel=0.01)


def a_pass(block: int, slower: float, names: list[str]) -> list[Row]:
    """A block's visits: the baseline by both clocks, each of these, the baseline again. All but NumPy take 10 ms, and
    12 by the host's clock; NumPy takes 60 by that."""
    made: list[Row] = []
    for name in ["sentinel", "host", *names, "sentinel", "host"]:
        by_host = name in ("host", "NumPy")
        time = {"host": 12.0, "NumPy": 60.0}.get(name, 10.0) * (1 + 0.001 * ((7 * block + len(made)) % 5))
        who = "basic" if name in ("sentinel", "host") else name
        row = study_rows.timed("block", who, slower * time, block=block, order=len(made), baseline="basic")
        row |= {"role": "sentinel" if who != name else "peer" if name == "NumPy" else "variant", "env_hash": "e"}
        row["clock"] = "wall" if by_host else "event"
        row |= {"ratio": time / (12.0 if by_host else 10.0), "wall_ms": slower * (time if by_host else 1.2 * time)}
        made.append({key: value for key, value in row.items() if value is not None})
    return made


def test_times_of_two_passes_are_not_held_against_each_other(tmp_path: Path) -> None:
    """A second selection goes on in the file, on a slower clock: NumPy was visited in both passes, sliced in the first.
    Ratios are to the baseline's visits of their own pass, and stay."""
    store = Store(tmp_path / "rows.jsonl")
    for slower, names in ((1.0, ["basic", "sliced", "NumPy"]), (1.5, ["basic", "other", "NumPy"])):
        for block in range(6):
            store.append_all(a_pass(block, slower, names))
    group = Study.load(store.path).groups()[0]
    basic, sliced, other, numpy = (
        next(row for row in group.rows if row["variant"] == name) for name in ("basic", "sliced", "other", "NumPy")
    )
    assert by_block(group, sliced, "ratio").keys() == by_block(group, numpy, "ratio").keys()
    assert host_ratio(group, sliced, numpy) is None
    for row in (basic, other):
        found = host_ratio(group, row, numpy)
        assert found is not None
        assert (found.mid, found.blocks) == (pytest.approx(0.2, rel=0.01), 6)
    compact.compact_file(store.path)
    group = Study.load(tmp_path / "rows-compact.jsonl").groups()[0]
    assert host_ratio(group, sliced, numpy) is None
    assert host_ratio(group, other, numpy) == found


@pytest.mark.parametrize(("clock", "runs", "tells"), [("event", 1, True), ("batch", 1, True), ("batch", 50, False)])
def test_a_batch_says_nothing_of_a_single_call_by_the_host(clock: str, runs: int, tells: bool) -> None:
    """Its host's time, per run, holds neither the launch nor the wait that a call of NumPy's is held against."""
    rows = [row for block in range(6) for row in a_pass(block, 1.0, ["basic", "sliced", "NumPy"])]
    rows = [row | {"clock": clock, "batch_n": runs} if row["clock"] == "event" else row for row in rows]
    (group,) = Study(rows).groups()
    named = {str(row["variant"]): row for row in group.rows}
    basic, sliced, numpy = named["basic"], named["sliced"], named["NumPy"]
    found = host_ratio(group, sliced, numpy)
    assert (found is not None) == tells
    assert ratio_by_one_clock(group, sliced, numpy) == found
    assert ratio_by_one_clock(group, sliced, basic) == ratio_between(group, sliced, basic)
    held = numpy | {"kind": "summary", "ratio": 5.0, "method": "rank", "blocks": 6}
    (group,) = Study([*rows, held]).groups()
    (numpy,) = (row for row in group.rows if row["variant"] == "NumPy")
    stored = ratio_by_one_clock(group, basic, numpy)  # to the baseline by the host's clock, whatever the device's is
    assert stored is not None
    assert stored.mid == pytest.approx(0.2)


def test_what_one_pass_visited_is_one_pass_after_another_selection(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    for slower, names in ((1.0, ["basic", "sliced", "NumPy"]), (1.5, ["other", "basic"])):
        for block in range(6):
            store.append_all(a_pass(block, slower, names))
    group = Study.load(store.path).groups()[0]
    rows = {str(row["variant"]): row for row in group.rows}
    found = host_ratio(group, rows["sliced"], rows["NumPy"])
    assert found is not None
    assert (found.mid, found.blocks) == (pytest.approx(0.2, rel=0.01), 6)
    assert host_ratio(group, rows["other"], rows["NumPy"]) is None


def measured(store: Store, blocks: int, slower: float, codes: dict[str, Row]) -> None:
    """A comparison of some variants, each of its code."""
    for block in range(blocks):
        store.append_all([row | codes[str(row["variant"])] for row in a_pass(block, slower, list(codes))])
    for name, code in codes.items():
        known: Row = {"baseline": "basic", "env_hash": "e", "clock": "event", "blocks": blocks, "role": "variant"}
        known |= {"ratio": 1.0, "ratio_lo": 0.99, "ratio_hi": 1.01, "verdict": "SAME", "method": "rank"}
        store.append_all([study_rows.timed("summary", name, 10 * slower, **known | code)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"source_sha256": "a"}, {"source_sha256": "b"}),
        ({"source_sha256": "a", "plan": "1"}, {"source_sha256": "a", "plan": "2"}),
        ({"source_sha256": "a", "local_size": [1]}, {"source_sha256": "a", "local_size": [64]}),
    ],
)
def test_rows_of_two_codes_of_a_baseline_are_not_paired(before: Row, after: Row, tmp_path: Path) -> None:
    """A kernel or its launch is edited, and some of its configurations are measured again in the same file: what was
    measured before was held against a baseline that is no more."""
    store = Store(tmp_path / "rows.jsonl")
    measured(store, 8, 10.0, dict.fromkeys(["basic", "sliced", "tlp"], before))
    measured(store, 8, 1.0, dict.fromkeys(["basic", "sliced"], after))
    study = Study.load(store.path)
    (group,) = study.groups()
    times = {str(row["variant"]): row["median_ms"] for row in group.rows}
    assert (times["basic"], times["sliced"], times["tlp"]) == (10, 10, 100)
    for reference in ("basic", "sliced"):
        found = study.speedup("tlp", reference)
        assert (found.mid, found.verdict) == (pytest.approx(10), None)
        assert "baseline of two codes" in str(found.refused)
    assert study.speedup("sliced", "basic").verdict == "SAME"
    line = next(line for line in study.to_text().splitlines() if line.strip().startswith("tlp"))
    assert line.split()[-1] == "-"
    assert "- held against the baseline of other code" in " ".join(study.to_text().split())
    told = {line["name"]: (line["speedup"], line["verdict"]) for line in tidy.lines(study)}
    assert told["tlp"] == (None, None)
    assert told["sliced"] == (1.0, "SAME")
    with pytest.raises(ParameterError, match="held against the baseline of other code"):
        lab.portability([study, Study([row | {"device": "another"} for row in study.rows])])


def test_blocks_left_of_a_longer_comparison_are_not_held_against_another_baseline(tmp_path: Path) -> None:
    """Of two kernels whose baseline is edited, one is measured again in fewer blocks."""
    one: Row = {"source_sha256": "one"}
    base: list[Row] = [{"source_sha256": "a"}, {"source_sha256": "b"}]
    for name in ("rows.jsonl", "compact.jsonl"):
        store = Store(tmp_path / name)
        measured(store, 16, 1.0, {"basic": base[0], "sliced": one, "tlp": one})
        for block in range(10):
            rows = [row | one for row in a_pass(block, 1.0, ["sliced"])]
            store.append_all([row | (base[1] if row["variant"] == "basic" else {"ratio": 2.0}) for row in rows])
        for of, code, ratio in (("basic", base[1], 1.0), ("sliced", one, 2.0)):
            known: Row = {"baseline": "basic", "env_hash": "e", "clock": "event", "method": "rank", "blocks": 10}
            known |= {"ratio": ratio, "ratio_lo": ratio, "ratio_hi": ratio, "verdict": "SLOW", "role": "variant"}
            store.append_all([study_rows.timed("summary", of, 10.0 / ratio, **known | code)])
        study = Study.load(compact.compact_file(store.path).target if "compact" in name else store.path)
        found = study.speedup("sliced", "tlp")
        assert (found.mid, found.verdict, found.blocks) == (pytest.approx(0.5, rel=0.01), None, 0)  # of 5 and 10 ms
        assert study.speedup("sliced", "basic").mid == 2.0
        assert study.speedup("tlp", "basic").verdict is None


def test_blocks_of_a_peer_before_an_edit_are_not_those_of_the_one_after(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    for plan, slower, blocks in (("before", 1.0, 12), ("after", 5.0, 7)):
        for block in range(blocks):
            rows = [row | {"source_sha256": "k"} for row in a_pass(block, 1.0, ["basic", "sliced"])]
            peer = rows[2] | {"role": "peer", "source_sha256": None, "plan": plan, "variant": "P", "configuration": "P"}
            store.append_all([*rows, peer | {"order": 9, "median_ms": 10.0 * slower, "ratio": slower}])
        known: Row = {"env_hash": "e", "clock": "event", "method": "rank", "blocks": blocks, "plan": plan}
        store.append_all([study_rows.timed("summary", "P", 10.0 * slower, **known) | {"role": "peer"}])
    study = Study.load(store.path)
    found = study.speedup("P", "sliced")
    assert (found.mid, found.blocks) == (pytest.approx(5, rel=0.01), 7)


def test_blocks_with_baselines_of_two_codes_have_no_order(tmp_path: Path) -> None:
    """Of two sweeps that were killed; a baseline of an earlier version has no plan."""
    studies = []
    for number, plan in enumerate((None, "2")):
        store = Store(tmp_path / f"{number}.jsonl")
        for block in range(7):
            visits = a_pass(block, 1.0 + 0.001 * number, ["sliced", "tlp"])
            rows = [row | {"source_sha256": str(row["variant"])} for row in visits]
            store.append_all([row | ({"plan": plan} if plan and row["variant"] == "basic" else {}) for row in rows])
        studies.append(Study.load(store.path))
    found = Study.joined(studies).speedup("sliced", "tlp")
    assert (found.mid, found.blocks) == (pytest.approx(1, rel=0.01), 14)


def test_blocks_of_an_earlier_longer_comparison_are_not_those_of_a_later_one(tmp_path: Path) -> None:
    """The second one took nothing over, as after a profile was made: the clock was another."""
    code: Row = {"source_sha256": "k"}
    store = Store(tmp_path / "rows.jsonl")
    for blocks, times in ((16, {"sliced": 1.0, "tlp": 3.0}), (6, {"sliced": 3.0, "tlp": 1.0})):
        for block in range(blocks):
            rows = [row | code for row in a_pass(block, 1.0, ["basic", "sliced", "tlp"])]
            store.append_all([row | {"ratio": times.get(str(row["variant"]), 1.0) * row["ratio"]} for row in rows])
        for name, time in {"basic": 1.0, **times}.items():
            known: Row = {"baseline": "basic", "env_hash": "e", "clock": "event", "blocks": blocks, "method": "rank"}
            known |= {"ratio": time, "ratio_lo": time, "ratio_hi": time, "verdict": "SAME", "role": "variant"}
            store.append_all([study_rows.timed("summary", name, 10 * time, **known | code)])
    compact.compact_file(store.path)
    for name in ("rows.jsonl", "rows-compact.jsonl"):
        found = Study.load(tmp_path / name).speedup("sliced", "tlp")
        assert (found.mid, found.blocks) == (pytest.approx(3, rel=0.01), 6), name


def test_joined_studies_pair_blocks_of_the_later_sitting(tmp_path: Path) -> None:
    """Also where one is of a compact file, whose blocks have no times, and whichever comes first."""
    stores = []
    for day, ratio in ((23, 0.5), (27, 2.0)):
        stores.append(store := Store(tmp_path / f"{day}.jsonl"))
        for block in range(6):
            rows = a_pass(block, 1.0, ["basic", "sliced", "tlp"])
            rows = [row | ({"ratio": ratio} if row["variant"] == "sliced" else {}) for row in rows]
            store.append_all([row | {"time_utc": f"2026-11-{day}T08:00:0{block}Z"} for row in rows])
        for name, time in {"basic": 1.0, "sliced": ratio, "tlp": 1.0}.items():
            known: Row = {"baseline": "basic", "env_hash": "e", "clock": "event", "blocks": 6, "method": "rank"}
            known |= {"ratio": time, "time_utc": f"2026-11-{day}T09:00:00Z", "role": "variant"}
            store.append_all([study_rows.timed("summary", name, 10 * time, **known)])
        compact.compact_file(store.path)
    for names in itertools.permutations(("23", "27-compact")), itertools.permutations(("23-compact", "27")):
        for pair in names:
            found = Study.joined([Study.load(tmp_path / f"{name}.jsonl") for name in pair])
            assert found.speedup("sliced", "tlp").mid == pytest.approx(2, rel=0.01), pair


def test_what_did_not_end_is_of_the_last_code(tmp_path: Path) -> None:
    """Of a kernel that was edited before its comparison ended, no row of before the edit is the fastest."""
    store = Store(tmp_path / "rows.jsonl")
    for code, slower, blocks in (("a", 1.0, 7), ("b", 5.0, 3)):
        for block in range(blocks):
            rows = [row | {"source_sha256": code} for row in a_pass(block, slower, ["basic"])]
            store.append_all(rows)
        for time, level in ((slower, 1), (slower + 1, 2)):
            searched = study_rows.timed("search", "sliced", time, params={"S": level}, source_sha256=code)
            store.append_all([searched | {"configuration": f"sliced(S={level})"}])
    rows = {str(row["variant"]): row for row in Study.load(store.path).summary}
    assert (rows["basic"]["source_sha256"], rows["basic"]["median_ms"]) == ("b", pytest.approx(50, rel=0.01))
    assert (rows["sliced"]["source_sha256"], rows["sliced"]["median_ms"]) == ("b", 5.0)


def test_rows_of_two_selections_of_one_code_are_paired(tmp_path: Path) -> None:
    """The second one measured the baseline again: the first one's ratios are to visits that the file no longer has."""
    store = Store(tmp_path / "rows.jsonl")
    for slower, names in ((1.0, ["basic", "sliced"]), (1.5, ["basic", "other"])):
        for block in range(6):
            made = a_pass(block, slower, names)
            store.append_all([row | {"source_sha256": str(row["variant"]), "options": ""} for row in made])
    (group,) = Study.load(store.path).groups()
    sliced, other = (next(row for row in group.rows if row["variant"] == name) for name in ("sliced", "other"))
    assert len(by_block(group, sliced, "ratio").keys() & by_block(group, other, "ratio").keys()) == 6
    assert elsewhere(group, sliced) is elsewhere(group, other) is None


def test_a_sweep_that_began_with_another_variant_has_a_baseline_of_its_own(tmp_path: Path) -> None:
    rows: list[Row] = []
    for base, names in (("basic", ["basic", "sliced"]), ("tlp", ["tlp", "other"])):
        for block in range(6):
            made = [row for row in a_pass(block, 1.0, names) if row["role"] == "variant"]
            rows += [row | {"baseline": base, "source_sha256": str(row["variant"]), "options": ""} for row in made]
    (group,) = Study(rows).groups()
    assert [elsewhere(group, row) for row in group.rows] == [None] * 4
    assert {str(row["variant"]) for row in compared_rows(group)} == {"sliced", "other"}


def test_passes_are_told_by_the_time_where_rows_are_not_in_the_order_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    second = 0
    for slower, names in ((1.0, ["basic", "sliced", "NumPy"]), (1.5, ["basic", "other", "NumPy"])):
        for block in range(6):
            made = a_pass(block, slower, names)
            store.append_all([row | {"time_utc": f"2026-11-01T00:00:{second:02}Z"} for row in made])
            second += 1
    for study in (Study.load(store.path), Study(store.latest())):
        (group,) = study.groups()
        rows = {str(row["variant"]): row for row in group.rows}
        assert host_ratio(group, rows["sliced"], rows["NumPy"]) is None
        assert host_ratio(group, rows["other"], rows["NumPy"]) is not None


def test_rows_that_do_not_tell_their_place_are_of_no_pass() -> None:
    rows = [visit(order, 1.0, None, baseline="basic", env_hash="e") for order in (0, 1, 3, 0, 2)]
    assert visits.passes_of(rows) == [1, 1, 1, 2, 2]
    assert visits.passes_of([*rows[:2], rows[2] | {"block": 1}]) == [1, 1, 2]
    assert visits.passes_of([row | {"order": None} for row in rows]) == [None] * 5


def test_the_middle_of_a_visit_and_the_clone_survive_compaction(tmp_path: Path) -> None:
    starts = [0.25 * number for number in range(9)]
    rows = [
        study_rows.timed("summary", "basic", 20.0, baseline="basic"),
        visit(3, 20.0, starts, baseline="basic", ratio=1.0, n=9, batch_n=10),
        visit(4, 21.0, starts, baseline="basic", ratio=1.05, n=9, batch_n=10, role="clone"),
        study_rows.timed("summary", "basic", 21.0, role="clone", baseline="basic"),
    ]
    store = Store(tmp_path / "rows.jsonl")
    for row in rows:
        store.append(new_row(**{key: value for key, value in row.items() if value is not None}))  # type: ignore[arg-type]
    before = store.latest()
    compact.compact_file(tmp_path / "rows.jsonl")
    after = Store(tmp_path / "rows-compact.jsonl").latest()
    assert [row["row_id"] for row in after] == [row["row_id"] for row in before]
    assert len({row["row_id"] for row in before}) == 4
    for ours, theirs in zip(after, before, strict=True):
        if theirs["kind"] == "block":
            assert ours["at_s"] == [starts[0], starts[-1]]
            assert visits.middle_s(ours) == pytest.approx(visits.middle_s(theirs))
            assert ours["ratio"] == theirs["ratio"]
