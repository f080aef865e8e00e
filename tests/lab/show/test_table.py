"""A study as a person reads it: the table and its HTML."""

from __future__ import annotations

import re
from typing import Any

import pytest

import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows import schema
from gpuopt.lab.show import sentences as explain
from gpuopt.lab.show import tables as sheets
from study_rows import row, timed


@pytest.mark.parametrize("width", [60, 72, 80, 90, 100, 110, 120])
def test_the_table_fits(study: Study, full: Study, width: int) -> None:
    assert max(map(len, full.to_text(width).splitlines())) <= width
    text = study.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    for name in ("basic", "vectorized", "image", "padded", "sliced"):
        assert re.search(rf"^  {name[:8]}", text, re.MULTILINE), name


def test_repr_follows_the_terminal(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, repr(study).splitlines())) <= width


def test_the_table_says_what_was_measured(study: Study) -> None:
    text = " ".join(study.to_text(120).split())
    assert "vectorized 9.400 [9.362, 9.453] 4.43 45.0 ± 0.3 dram" in text
    assert "2.31x [2.30, 2.32]" in text
    assert "image unsupported" in text
    assert "SciPy dia_array *" in text
    assert "Diagonal sparse matrix times vector · image affinity camera 512x512 r5 · float32" in text
    assert "(driver 2026.21.7.0); 2026-11-21 08:00 UTC; quick, 6 blocks; clocks event and wall; " in text
    assert "; from memory (large). Times hold within this sitting: load not recorded; noise ± 1 %." in text
    assert "More: --explain or study.explain()" in text
    text = " ".join(study.explain(120).split())
    assert "image: unsupported: needs images" in text
    assert "* unconverged: SciPy dia_array (" in text
    assert "ceilings, in the same blocks: read 20.3 GB/s and copy 19.1 GB/s" in text
    assert "41.6 Mflop a run (2 a true neighbour)" in text
    assert "harness: 0.9 s of 41.0 s (2.2 %)" in text
    assert "note: shrunk to half of what is free" in text
    assert "sliced(SLICE=64, ITEMS=64)" in text


def test_the_papers_figures_stand_beside_ours(study: Study) -> None:
    text = study.to_text(120)
    assert "13.1 of 25.6 (51 %)" in text
    assert "32.9 of 38.4 (86 %)" in text


def test_figures_are_of_the_papers_dtype_and_device_type() -> None:
    rows = study_rows.rows()
    assert "13.1" not in Study([r | {"dtype": "float64"} for r in rows]).to_text(120)
    on_gpu = Study([r | {"device_type": "gpu"} for r in rows]).to_text(120)
    assert "paper, HD 5870" in on_gpu
    cpu = [r | {"device_type": "cpu"} for r in rows]
    assert "paper, GPU HD 5870" in Study(cpu).to_text(120)
    own = [r | {"preset": "paper:cpu"} if r["variant"] == "vectorized" else r for r in cpu]
    text = " ".join(Study(own).explain(120).split())
    assert "2.9 of 10.6 (27 %)" in text
    assert "no cache" in Study([study_rows.modelled(r) for r in own]).to_text(120)  # there is room for the column
    assert "the paper's figures: GPU HD 5870: basic and image; Phenom II X4: vectorized" in text
    coarse = [r | {"preset": "paper:cpu_coarse"} if r["variant"] == "vectorized" else r for r in cpu]  # no figure
    assert "the paper's figures" not in Study(coarse).explain(120)


def test_a_ratio_of_another_environment_than_the_baselines_is_not_told() -> None:
    """The baseline was measured again there, with one variant: the others' ratios are to times that no row shows."""
    rows = [r | {"method": "rank", "env_hash": "before"} for r in study_rows.rows() if r["kind"] != "block"]
    again = [r | {"env_hash": "now", "median_ms": 0.4 * r["median_ms"]} for r in rows if r["variant"] == "basic"]
    padded = [r | {"env_hash": "now"} for r in rows if r["variant"] == "padded"]
    study = Study([*rows, *again, *padded])
    for one, other in (("vectorized", "basic"), ("basic", "vectorized"), ("sliced", "padded")):
        assert study.speedup(one, other).verdict is None
    assert study.speedup("vectorized", "basic").speedup == f"{0.4 * 21.7 / 9.4:.3f}x"
    assert study.speedup("padded", "basic").verdict == "FAST"
    text = study.to_text(120)
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
    assert "x [" not in lines["vectorized"]
    assert lines["vectorized"].endswith(" -")
    assert "2.30x [" in lines["padded"]
    assert "- of another environment than the baseline" in text
    assert "1 of 1 comparison with basic decided" in text
    assert "another environment" not in Study(rows).to_text(120)


def test_older_rows_learn_their_device_type_from_the_environment() -> None:
    facts = {"kind": "environment", "environment": {"device": {"type": "cpu"}}, "env_hash": "e"}
    study = Study([facts, timed("summary", "basic", 2.0, preset="paper:basic", env_hash="e")])
    assert "GPU HD 5870" in study.to_text(120)


def test_the_header_names_every_clock(study: Study) -> None:
    assert "clocks event and wall" in " ".join(study.to_text(120).split())
    assert "event clock" in Study([timed("summary", "basic", 2.0)]).to_text(120)


def test_flags_of_blocks_are_told_as_such() -> None:
    flags = {"flags": ["autocorrelated", "drift", "over_bound"]}
    text = " ".join(Study([timed("summary", "basic", 2.0, **flags)]).explain(120).split())
    assert "* autocorrelated: basic (in most blocks, neighbouring samples of a visit depend on each other)" in text
    assert "* drift: basic (in most blocks, the device's speed changed by more than 5 %" in text
    assert "* over_bound: basic (faster than its bound" in text
    alone = " ".join(Study([timed("search", "basic", 2.0, flags=["bimodal", "cut_short"])]).explain(120).split())
    assert "* bimodal: basic (the samples of a visit" in alone
    assert "* cut_short: basic (its first samples all took over 4 times the best time so far" in alone


def test_without_a_profile_nothing_is_told_to_stand_above_its_bound() -> None:
    above: dict[str, Any] = {"pct_bound": 108.0, "bound_ms": 2.2, "bound_by": "launches", "flags": ["over_bound"]}
    alone = Study([timed("summary", "basic", 2.0, **above, profile=None)])
    assert "above" not in alone.headline(200)
    assert "108" not in alone.explain(200)
    assert "1 above the bound" in Study([timed("summary", "basic", 2.0, **above, profile="p")]).headline(200)


def test_every_flag_and_status_has_a_meaning() -> None:
    assert set(sheets.FLAG_MEANINGS) == set(schema.WORDS["flags"])
    assert {"ok", *explain.STATUS_PHRASES} == set(schema.WORDS["status"])


def test_a_wrong_result_shows_no_time() -> None:
    study = Study([timed("summary", "racy", 1.2345, status="wrong", reason="element 17 is 0.3")])
    assert "1.23" not in study.to_text(120)
    assert "1.23" not in study.explain(120)
    assert "racy: wrong: element 17 is 0.3" in study.explain(120)


def test_verdicts_are_marked_and_explained() -> None:
    compared = {"ratio": 1.01, "ratio_lo": 0.98, "ratio_hi": 1.04, "baseline": "basic"}
    rows = [*study_rows.rows(), timed("summary", "close", 21.9, **compared, verdict="AMBIGUOUS")]
    text = Study(rows).to_text(120)
    assert re.search(r"0\.990x ± 0\.030 \?", text)
    assert "? not certified by this run" in text


def test_an_empty_study_has_a_face() -> None:
    assert "no configuration has been measured" in repr(Study([]))
    assert "no configuration has been measured" in Study([])._repr_html_()
    assert Study([]).best() is None
    assert Study([]).sentences() == []


def test_long_names_are_cut_before_columns_are() -> None:
    name = "a_name_that_is_rather_longer_than_what_a_table_can_hold"
    text = Study([*study_rows.rows(), timed("summary", name, 5.0)]).to_text(110)
    assert "a_name_that_is_rather_l…" in text
    assert "of bound" in text


def test_two_names_are_not_cut_to_one() -> None:
    names = ["interior(OFFSETS=1, ROWS=2)", "interior(LOAD=1, ROWS=2)", "interior(ROWS=4, SLICE=4096)"]
    text = Study([*study_rows.rows(), *(timed("summary", name, 5.0) for name in names)]).to_text(80)
    shown = {line.split("   ")[0].strip() for line in text.splitlines() if line.startswith("  interior(")}
    assert len(shown) == 3, shown
    assert any(name.startswith("interior(O=1, R=2)") for name in shown), shown


def test_html_is_escaped_and_complete(study: Study) -> None:
    study.rows.append(row("summary", "<b>&x", status="compile", reason="expected '<' & more"))
    text = Study(study.rows, study.problem_info)._repr_html_()
    assert "<b>&x" not in text
    assert "&lt;b&gt;&amp;x" in text
    assert "expected &#x27;&lt;&#x27; &amp; more" in text
    for tag in ("table", "tr", "td", "th", "div", "details", "ul", "li"):
        assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>"), tag
    assert "color:#" not in text.replace(" ", ""), "colours are the page's own"


def test_the_bound_without_caches_stands_beside_the_papers(full: Study) -> None:
    text = full.to_text(120)
    assert re.search(r"basic +21\.70.* 3\.38 \(57 %\) +13\.1 of 25\.6 \(51 %\)", text)
    assert re.search(r"vectorized +9\.4.* 5\.08 \(87 %\) +32\.9 of 38\.4 \(86 %\)", text)
    assert "no cache: the bound if each byte that the inner loop asks for" in full.explain(120)
    assert "no cache" not in Study(study_rows.rows()).to_text(120)


def test_sections_tell_rounded_values_and_whole_calls_apart(full: Study) -> None:
    lines = [line.strip() for line in full.to_text(120).splitlines()]
    heads = ["the paper's steps", "ours", "ours, 16-bit values", "whole calls", "peers"]
    assert [line for line in lines if line in heads] == heads
    after = {line: lines[lines.index(line) + 1].split("  ")[0] for line in heads}
    assert after["ours, 16-bit values"] == "sliced_half"
    assert after["whole calls"] == "gpuopt.spmv(A, x)"


def test_launches_are_told_of_short_plans(full: Study) -> None:
    text = " ".join(full.explain(120).split())
    assert "one launch, queued back to back: 100 us" in text
    # What no kernel runs in: of 4.35 ms 0.087, though two launches take 0.2 where nothing runs; the others take 50
    # launches and more.
    assert "launches' share of the time: sliced 2 % (2 launches) and sliced_half 2 % configurations" in text
    untimed = Study([r for r in full.rows if r["role"] != "overhead"]).to_text(120)
    assert "launch" not in untimed
    blocks = Study([r for r in full.rows if r["role"] != "overhead" or r["kind"] == "block"]).explain(120)
    assert "one launch, queued back to back: 200 us" in blocks


@pytest.mark.parametrize(
    ("state", "bound_by", "words"),
    [
        ("hot", "llc", "cache-resident (hot)"),
        ("hot", "dram", "from memory and caches, which hold a part (hot)"),
        ("large", "dram", "from memory (large)"),
        ("cold", "dram", "from memory, caches flushed before every sample (cold)"),
    ],
)
def test_the_header_says_where_the_data_are(state: str, bound_by: str, words: str) -> None:
    study = Study([timed("summary", "basic", 2.0, cache_state=state, bound_by=bound_by)])
    assert words in " ".join(study.to_text(120).split())
