"""A study as a person reads it: the table, its HTML, the sentences, and what is picked from the rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import gpuopt
import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows import schema, table
from gpuopt.lab.show import sentences as explain
from gpuopt.lab.show import tables as sheets
from study_rows import row, timed


@pytest.fixture
def study() -> Study:
    return Study(study_rows.rows(), study_rows.INFO, ["shrunk to half of what is free"])


@pytest.fixture
def full() -> Study:
    return Study(study_rows.full_rows(), study_rows.INFO)


def step(variant: str, median: float, *blocks: float, **values: object) -> list[study_rows.Row]:
    """A summary row and its blocks, given by their ratios to the baseline."""
    out = [timed("block", variant, median, block=i, ratio=ratio, baseline="basic") for i, ratio in enumerate(blocks)]
    return [*out, timed("summary", variant, median, **({"baseline": "basic"} | values))]


def sentence(rows: list[study_rows.Row], name: str) -> str:
    return next(text for text in Study(rows).sentences() if text.startswith(name))


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1996.2, "1996"),
        (12.04, "12.0"),
        (0.5, "0.500"),
        (0.00123, "0.00123"),
        (0, "0"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_significant_digits(value: float | None, text: str) -> None:
    assert table.significant(value) == text


@pytest.mark.parametrize(
    ("numbers", "digits", "forms"),
    [
        ((1.2041, 1.1979, 1.2114), 4, ("1.204 [1.198, 1.211]", "1.204 ± 0.007", "1.204")),
        ((21.7, 15.0, 35.0), 4, ("22 [15, 35]", "22 ± 13", "22")),
        ((2.309, 2.2973, 2.3201), 3, ("2.31 [2.30, 2.32]", "2.31 ± 0.01", "2.31")),
        ((1.007, 1.0061, 1.0079), 3, ("1.007 [1.006, 1.008]", "1.007 ± 0.001", "1.007")),
        ((5.0, 5.0, 5.0), 4, ("5.000 [5.000, 5.000]", "5.000 ± 0.000", "5.000")),
        ((5.0, None, None), 4, ("5.00",)),
        ((None, 1.0, 2.0), 4, ("-",)),
    ],
)
def test_an_interval_sets_the_digits(numbers: tuple[float, float, float], digits: int, forms: tuple[str, ...]) -> None:
    assert table.spread(*numbers, digits=digits) == forms


def test_counts_have_prefixes() -> None:
    assert table.byte_count(85_900_000) == "85.9 MB"
    assert table.byte_count(12) == "12 B"
    assert table.quantity(41_600_000, "flop") == "41.6 Mflop"
    assert [table.joined(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


# ---------------------------------------------------------------- what is picked


def test_the_ladder_comes_first_then_ours_then_peers(study: Study) -> None:
    names = [r["variant"] for r in study.summary]
    assert [n for n in names if n in ("basic", "vectorized")] == ["basic", "vectorized"]
    assert names.index("vectorized") < names.index("padded") < names.index("sliced") < names.index("SciPy dia_array")


def test_the_ladder_has_the_papers_order_whatever_the_rows_order() -> None:
    backwards = Study(study_rows.rows()[::-1])
    assert [r["variant"] for r in backwards.summary if r["preset"] and r["status"] == "ok"] == ["basic", "vectorized"]


def test_best_is_the_fastest_correct_row(study: Study) -> None:
    best, peer = study.best(), study.best("peer")
    assert best is not None
    assert best["variant"] == "sliced"
    assert peer is not None
    assert peer["variant"] == "SciPy dia_array"
    assert Study([row("summary", "a", status="wrong", reason="off by one")]).best() is None


def test_best_leaves_rounded_values_out_unless_asked(full: Study) -> None:
    picked = [full.best(accuracy=accuracy) for accuracy in ("", "any", "HALF=1", "HALF=2")]
    assert [row and row["variant"] for row in picked] == ["sliced", "sliced_half", "sliced_half", None]
    call = full.best("call")
    assert call is not None
    assert call["variant"] == "M @ x"


def test_speedup_is_paired_and_printable(full: Study) -> None:
    ratio = full.speedup("M @ x", "SciPy dia_array")
    assert ratio.blocks == 6
    assert ratio.verdict == "FAST"
    assert 1 / ratio.mid == pytest.approx(15.9 / 5.3, rel=0.02)
    assert re.fullmatch(r"[23]\.\d+x \[2\.\d+, 3\.\d+\]", str(ratio))
    assert full.speedup("sliced(SLICE=64, ITEMS=64)", "paper:basic").mid == pytest.approx(4.35 / 21.7)
    assert full.speedup("SciPy dia_array", "M @ x").verdict == "SLOW"


def test_speedup_names_what_is_missing(full: Study) -> None:
    for names, message in (
        (("nobody", "basic"), "^name: no good row is called 'nobody'; use one of basic, vectorized"),
        (("basic", "image"), "^reference: no good row is called 'image'"),
    ):
        with pytest.raises(gpuopt.ParameterError, match=message):
            full.speedup(*names)
    elsewhere = [timed("summary", "alone", 1.0, device="another")]
    with pytest.raises(gpuopt.ParameterError, match=r"^reference: 'alone' was never measured beside 'basic'"):
        Study([*full.rows, *elsewhere]).speedup("basic", "alone")
    twice = Study([*full.rows, *[r | {"cache_state": "cold"} for r in full.rows]])
    with pytest.raises(gpuopt.ParameterError, match="2 groups of rows have both"):
        twice.speedup("M @ x", "basic")


def test_failures_are_the_last_word_on_each_configuration() -> None:
    mended = [row("search", "a", status="compile", reason="typo"), timed("search", "a", 1.0)]
    broken = [row("search", "b", configuration=f"b(X={x})", status="constraints", reason="too big") for x in (1, 2)]
    study = Study([*mended, *broken, timed("summary", "b", 2.0, configuration="b(X=3)", params={"X": 3})])
    assert [r["configuration"] for r in study.failures()] == ["b(X=1)", "b(X=2)"]
    assert "b 2 constraints" in study.to_text(120)


def test_a_variant_without_comparison_shows_its_best_search_row() -> None:
    searched = [timed("search", "late", t, configuration=f"late(X={t})", params={"X": t}) for t in (9.0, 8.0, 8.5)]
    study = Study([*study_rows.rows(), *searched])
    assert [r["median_ms"] for r in study.unconfirmed] == [8.0]
    assert "not compared to the end: late (a search or fewer than 6 blocks each)" in study.to_text(120)
    assert "nothing is claimed" in next(s for s in study.sentences() if s.startswith("late"))


def test_an_interrupted_comparison_shows_its_middle_block() -> None:
    blocks = [timed("block", "a", t, block=i, ratio=t / 2) for i, t in enumerate((9.0, 2.0, 3.0))]
    sentinels = [timed("block", "a", 1.0, block=0, order=0, role="sentinel")]
    study = Study([*sentinels, *blocks, row("summary", "b", status="compile", reason="no")])
    assert [r["median_ms"] for r in study.summary if r["status"] == "ok"] == [3.0]
    assert "not compared to the end: a" in study.to_text(120)


def test_later_summary_rows_replace_earlier_ones() -> None:
    study = Study([timed("summary", "a", 2.0), timed("summary", "a", 1.0)])
    assert [r["median_ms"] for r in study.summary] == [1.0]


def test_groups_keep_devices_problems_and_cache_states_apart() -> None:
    other = [r | {"device": "NVIDIA H200"} for r in study_rows.rows()]
    cold = [timed("summary", "basic", 30.0, cache_state="cold")]
    study = Study([*study_rows.rows(), *other, *cold])
    assert [(g.device, g.cache_state) for g in study.groups()] == [
        (study_rows.DEVICE, "large"),
        ("NVIDIA H200", "large"),
        (study_rows.DEVICE, "cold"),
    ]
    assert all(len(g.rows) == 6 for g in study.groups()[:2])
    assert study.sentences()[-1].startswith(f"{study_rows.DEVICE}, cache state cold: basic takes")


@pytest.mark.parametrize(
    "other",
    [{"driver": "1999"}, {"protocol": "full"}, {"sizes": {"rows": 7}}, {"dtype": "float64"}, {"footprint_bytes": 7}],
)
def test_what_was_measured_otherwise_is_another_group(other: dict[str, object]) -> None:
    study = Study([*study_rows.rows(), *[r | other for r in study_rows.rows()]])
    assert [len(group.rows) for group in study.groups()] == [6, 6]
    told = study.sentences()
    assert len(told) == 12
    assert len(set(told)) == (6 if "footprint_bytes" in other else 12)  # no sentence names a footprint


def test_ceilings_and_launches_are_of_the_groups_own_footprint(full: Study) -> None:
    own = [r | {"footprint_bytes": 1000} for r in full.rows]
    other = row("summary", "read", role="ceiling", gb_s=99.0, footprint_bytes=2000, sizes={"bytes": 2000})
    launch = row("summary", "launch", role="overhead", median_ms=9.0, footprint_bytes=2000, dtype="float32")
    (group,) = Study([*own, other, launch]).groups()
    assert group.ceiling_rates() == {"read": study_rows.READ_GB_S, "copy": study_rows.COPY_GB_S}
    assert group.launch_ms == study_rows.LAUNCH_MS
    ceiling = row("summary", "read", role="ceiling", gb_s=30.0, footprint_bytes=1000, sizes={"bytes": 900})
    (group,) = Study([*own, ceiling]).groups()
    assert group.ceiling_rates()["read"] == 30.0


def test_the_band_is_told_by_the_blocks_of_the_baseline() -> None:
    noisy = step("basic", 20.0, 1.0, 1.2, 0.8, 1.2, 0.8, 1.2)
    (group,) = Study([*noisy, *step("other", 22.0, *[1.1] * 6)]).groups()
    assert group.band == pytest.approx(0.2)
    assert "AMBIGUOUS" in Study([*noisy, *step("other", 22.0, *[1.1] * 6)]).sentences()[1]
    assert Study(step("basic", 20.0, 1.0), {"band": 0.07}).groups()[0].band == 0.07


def test_blocks_against_another_baseline_are_not_paired() -> None:
    first = [*step("basic", 20.0, *[1.0] * 6), *step("other", 10.0, *[0.5] * 6)]
    third = step("third", 10.0, *[2.0] * 6)
    ratio = Study([*first, *[r | {"baseline": "quick"} for r in third]]).speedup("third", "other")
    assert ratio.mid == pytest.approx(1.0)


def test_rows_of_one_kernel_are_one_row_whatever_preset_names_it() -> None:
    old = step("vectorized", 9.0, *[0.5] * 6, preset="paper:vectorized")
    new = timed("summary", "vectorized", 9.0, preset="paper:cpu", baseline="basic")
    study = Study([*step("basic", 20.0, *[1.0] * 6), *old, new])
    assert [r["preset"] for r in study.summary if r["variant"] == "vectorized"] == ["paper:cpu"]
    assert study.speedup("vectorized", "basic").blocks == 6


# ---------------------------------------------------------------- the table


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
    assert "9.400 [9.362, 9.453] 4.43 9.14 45.0 ± 0.3" in text
    assert "2.31x ± 0.01 ok" in text
    assert "image: unsupported: needs images" in text
    assert "* unconverged: SciPy dia_array (" in text
    assert "ceilings measured in this run: read 20.3 GB/s and copy 19.1 GB/s" in text
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
    text = " ".join(Study(own).to_text(120).split())
    assert "2.9 of 10.6 (27 %)" in text
    assert "no cache" in Study([study_rows.modelled(r) for r in own]).to_text(120)  # there is room for the column
    assert "the paper's figures: GPU HD 5870: basic and image; Phenom II X4: vectorized" in text


def test_older_rows_learn_their_device_type_from_the_environment() -> None:
    facts = {"kind": "environment", "environment": {"device": {"type": "cpu"}}, "env_hash": "e"}
    study = Study([facts, timed("summary", "basic", 2.0, preset="paper:basic", env_hash="e")])
    assert "GPU HD 5870" in study.to_text(120)


def test_the_header_names_every_clock(study: Study) -> None:
    assert "clocks event and wall" in study.to_text(120)
    assert "event clock" in Study([timed("summary", "basic", 2.0)]).to_text(120)


def test_flags_of_blocks_are_told_as_such() -> None:
    flags = {"flags": ["autocorrelated", "drift", "over_bound"]}
    text = " ".join(Study([timed("summary", "basic", 2.0, **flags)]).to_text(120).split())
    assert "* autocorrelated: basic (in most blocks, neighbouring samples of a visit depend on each other)" in text
    assert "* drift: basic (in most blocks, the device's speed changed by more than 5 %" in text
    assert "* over_bound: basic (faster than its bound" in text
    alone = " ".join(Study([timed("search", "basic", 2.0, flags=["bimodal", "cut_short"])]).to_text(120).split())
    assert "* bimodal: basic (the samples of a visit" in alone
    assert "* cut_short: basic (its first samples all took over 4 times the best time so far" in alone


def test_every_flag_and_status_has_a_meaning() -> None:
    assert set(sheets.FLAG_MEANINGS) == set(schema.WORDS["flags"])
    assert {"ok", *explain.STATUS_PHRASES} == set(schema.WORDS["status"])


def test_a_wrong_result_shows_no_time() -> None:
    study = Study([timed("summary", "racy", 1.2345, status="wrong", reason="element 17 is 0.3")])
    assert "1.23" not in study.to_text(120)
    assert "racy: wrong: element 17 is 0.3" in study.to_text(120)


def test_verdicts_are_marked_and_explained() -> None:
    compared = {"ratio": 1.01, "ratio_lo": 0.98, "ratio_hi": 1.04, "baseline": "basic"}
    rows = [*study_rows.rows(), timed("summary", "close", 21.9, **compared, verdict="AMBIGUOUS")]
    text = Study(rows).to_text(120)
    assert re.search(r"0\.990x ± 0\.030 \?", text)
    assert "? ambiguous: the interval" in text


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
    assert "no cache: the bound if each byte that the inner loop asks for" in text
    assert "no cache" not in Study(study_rows.rows()).to_text(120)


def test_sections_tell_rounded_values_and_whole_calls_apart(full: Study) -> None:
    lines = [line.strip() for line in full.to_text(120).splitlines()]
    heads = ["the paper's steps", "ours", "ours, 16-bit values", "whole calls", "peers"]
    assert [line for line in lines if line in heads] == heads
    after = {line: lines[lines.index(line) + 1].split("  ")[0] for line in heads}
    assert after["ours, 16-bit values"] == "sliced_half"
    assert after["whole calls"] == "gpuopt.spmv(A, x)"


def test_launches_are_told_of_short_plans(full: Study) -> None:
    text = " ".join(full.to_text(120).split())
    assert "one launch, queued back to back: 100 us" in text
    # Two launches of 0.1 ms in 4.35 ms, one in 2.6 ms; the others take 50 launches and more.
    assert "launches' share of the time: sliced 4.6 % (2 launches) and sliced_half 3.8 % configurations" in text
    untimed = Study([r for r in full.rows if r["role"] != "overhead"]).to_text(120)
    assert "launch" not in untimed
    blocks = Study([r for r in full.rows if r["role"] != "overhead" or r["kind"] == "block"]).to_text(120)
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


# ---------------------------------------------------------------- the sentences


def test_the_papers_moving_bound_is_told_with_ours(full: Study) -> None:
    first, second = (next(s for s in full.sentences() if s.startswith(name)) for name in ("basic", "vectorized"))
    assert (
        "counts 12 bytes an entry, each from memory, and its bound is 25.6 GFLOP/s (HD 5870), of which basic" in first
    )
    assert "of which basic reaches 51 %; here the bound by what the inner loop asks for is 3.38 GFLOP/s" in first
    assert "8 bytes an entry instead of 12, each from memory, and its bound rises from 25.6 to 38.4 GFLOP/s" in second
    assert "of which vectorized reaches 86 % after 51 %; here" in second
    assert "rises from 3.38 to 5.08 GFLOP/s, of which it reaches 87 % after 57 %." in second
    assert "did not come from" not in first + second
    # Fewer bytes asked for: the gain may be theirs, whatever comes from memory.
    assert "asked for by the inner loop 250 MB to 166 MB" in second
    assert "so the gain is not bytes" not in second


def test_what_caches_serve_is_said_where_the_interval_shows_it() -> None:
    row_of = {"preset": "paper:basic", "uncached_ms": 4.0, "pct_uncached": 200.0}
    told = sentence(step("basic", 2.0, *[1.0] * 6, **row_of), "basic")
    assert "of which it reaches 200 %, so that at least 50 % of these bytes did not come from memory." in told
    close = step("basic", 2.0, *[1.0] * 6, **row_of | {"pct_uncached": 101.0, "ci_hi_ms": 2.1})
    assert "did not come from" not in sentence(close, "basic")


def test_steps_of_two_paper_devices_are_not_set_against_each_other() -> None:
    rows = [*step("image", 9.0, *[1.0] * 6, preset="paper:image", baseline="image")]
    rows += step("coarse", 8.0, *[0.9] * 6, preset="paper:cpu", baseline="image")
    told = sentence(rows, "coarse")
    assert "In the paper these two stand" not in told
    assert "its bound is 10.6 GFLOP/s (Phenom II X4), of which coarse reaches 27 %." in told


def test_rounded_values_are_named_and_are_not_what_others_are_held_against(full: Study) -> None:
    told = [s for s in full.sentences() if s.startswith(("sliced_half", "M @ x", "SciPy"))]
    assert told[0].endswith("Its matrix values are rounded to 16 bits (HALF=1).")
    assert "faster than sliced, the fastest variant here at full accuracy;" in told[0]
    assert all("the time of sliced." in text for text in told[1:])


def test_a_call_is_held_against_peers_of_its_own_clock(full: Study) -> None:
    device_clock = timed("summary", "cuSPARSE CSR", 1.0, role="peer", clock="batch", pct_bound=None)
    told = next(s for s in Study([*full.rows, device_clock]).sentences() if s.startswith("M @ x"))
    assert re.search(r"As a whole call, NumPy in and out, it is 2\.\d+x \[.*\] faster than SciPy dia_array\.$", told)
    slow = next(s for s in full.sentences() if s.startswith("gpuopt.spmv"))
    assert "it takes 3.8" in slow


def test_same_bytes_are_not_the_gain(study: Study) -> None:
    text = next(s for s in study.sentences() if s.startswith("vectorized"))
    assert text.startswith("vectorized is 2.31x [2.30, 2.32] faster than basic; both move the same 85.9 MB, ")
    assert "so the gain is not bytes: basic reaches 20 % of what the memory bandwidth measured here allows" in text
    assert "In the paper these two stand at 13.1 and 32.9 GFLOP/s (2.51x" in text


def test_every_summary_row_has_its_sentence(study: Study) -> None:
    starts = [text.split(" ")[0] for text in study.sentences()]
    assert sorted(starts) == sorted(str(r["variant"]).split(" ")[0] for r in study.summary)
    assert "image cannot run on this device: needs images" in " ".join(study.sentences())


def test_peers_are_held_against_the_fastest_variant(study: Study) -> None:
    assert re.match(r"SciPy dia_array takes 3\.\d+x \[.*\] the time of sliced, the fastest", study.sentences()[-1])


def test_fewer_bytes_are_set_against_the_time() -> None:
    base = step("basic", 20.0, *[1.0] * 6)
    half = step("half", 12.0, *[0.6] * 6, bytes={"dram": 42.95e6}, megabytes=42.95)
    told = sentence([*base, *half], "half")
    assert "it moves 50 % fewer bytes (85.9 MB to 43.0 MB), and the time fell less than that" in told
    lean = step("lean", 8.0, *[0.4] * 6, bytes={"dram": 42.95e6}, megabytes=42.95)
    assert "and the time fell further than that" in sentence([*base, *lean], "lean")
    even = step("even", 10.0, 0.49, 0.495, 0.5, 0.5, 0.505, 0.51, bytes={"dram": 42.95e6})
    assert "which is as much as the time changed" in sentence([*base, *even], "even")


def test_other_classes_of_bytes_forbid_the_conclusion() -> None:
    base = step("basic", 20.0, *[1.0] * 6, bytes={"dram": 85.9e6, "local": 0.0})
    local = step("local", 10.0, *[0.5] * 6, bytes={"dram": 85.9e6, "local": 5e6})
    told = sentence([*base, *local], "local is")
    assert "both move the same 85.9 MB (local 0 B to 5.00 MB)" in told
    assert "so the gain is not bytes" not in told


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        (
            [1.001, 1.0, 0.999, 1.002, 0.998, 1.0],
            "takes the same time as basic (ratio of times 1.000x [0.998, 1.002]: SAME within the noise of 1 %)",
        ),
        ([0.95, 1.0, 1.05, 0.97, 1.02, 1.1], "cannot be told from basic"),
        ([1.3, 1.31, 1.29, 1.3, 1.32, 1.28], "takes 1.30x [1.28, 1.32] the time of basic"),
    ],
)
def test_verdicts_come_before_causes(ratios: list[float], words: str) -> None:
    told = sentence([*step("basic", 20.0, *[1.0] * 6), *step("other", 20.0, *ratios)], "other")
    assert words in told
    if "time of" not in words:
        assert "gain is" not in told
        assert "reaches" not in told


def test_five_blocks_claim_nothing() -> None:
    told = sentence([*step("basic", 20.0, *[1.0] * 5), *step("other", 10.0, *[0.5] * 5)], "other")
    assert "without a 95 % interval (5 common blocks, 6 are needed), so nothing is claimed" in told
    assert "faster" not in told


def test_the_stored_ratio_wins_against_the_baseline() -> None:
    stored = {"ratio": 0.5, "ratio_lo": 0.4, "ratio_hi": 1.1, "verdict": "AMBIGUOUS", "blocks": 6}
    rows = [*step("basic", 20.0, *[1.0] * 6), *step("other", 10.0, *[0.5] * 6, **stored)]
    assert "AMBIGUOUS" in sentence(rows, "other")


def test_too_few_blocks_for_many_comparisons_is_not_called_alike() -> None:
    stored = {"ratio": 0.5, "ratio_lo": 0.4, "ratio_hi": 0.6, "verdict": "AMBIGUOUS", "blocks": 6}
    told = sentence([*step("basic", 20.0, *[1.0] * 6), *step("other", 10.0, *[0.5] * 6, **stored)], "other")
    assert told.startswith("other took 0.50x [0.40, 0.60] the time of basic, but 6 blocks are too few for a verdict")
    assert "cannot be told" not in told


def test_above_the_bound_is_reported_as_a_bug() -> None:
    base = step("basic", 20.0, *[1.0] * 6)
    over = step("over", 4.0, *[0.2] * 6, pct_bound=106.0, pct_lo=104.0, pct_hi=108.0)
    told = sentence([*base, *over], "over")
    assert "shows 106 % of its bound, which cannot be: this is a bug in the declared work or in the measured" in told
    close = step("close", 4.0, *[0.2] * 6, pct_bound=101.0, pct_lo=99.0, pct_hi=103.0)
    assert "within the interval (99.0 to 103.0 %)" in sentence([*base, *close], "close")


def test_a_failed_step_does_not_break_the_ladder() -> None:
    rows = [
        row("summary", "basic", preset="paper:basic", status="compile", reason="no."),
        timed("summary", "vectorized", 9.0, preset="paper:vectorized"),
    ]
    first, second = Study(rows).sentences()
    assert first == "basic did not build: no."
    assert second.startswith("vectorized takes 9.000")


# ---------------------------------------------------------------- files and frames


def test_load_reads_what_a_store_wrote(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(r | {"key": f"k{i}", "row_id": f"k{i}"}) for i, r in enumerate(study.rows)]
    path.write_text("\n".join(lines) + '\n{"torn')
    loaded = Study.load(path)
    assert [r["variant"] for r in loaded.summary] == [r["variant"] for r in study.summary]
    assert any("unfinished last line" in note for note in loaded.notes)
    assert loaded.sentences() == study.sentences()


def test_load_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(schema.ResultsError, match=r"no results file at .*nowhere\.jsonl"):
        Study.load(tmp_path / "nowhere.jsonl")


def test_to_pandas_picks_a_kind(study: Study) -> None:
    pytest.importorskip("pandas")
    assert len(study.to_pandas()) == len(study.rows)
    frame = study.to_pandas("summary")
    assert len(frame) == 6
    assert frame.loc[frame.variant == "sliced", "params.SLICE"].item() == 64
    assert frame.loc[frame.variant == "basic", "bytes.dram"].item() == pytest.approx(85.9e6)


def test_studies_are_joined() -> None:
    other = [r | {"problem": "another"} for r in study_rows.rows()]
    first = Study(study_rows.rows(), study_rows.INFO | {"wall_s": 3.0, "harness_s": 0.5}, ["a note", "one"])
    second = Study(other, study_rows.INFO | {"name": "another", "wall_s": 4.0, "harness_s": 1.0}, ["a note"])
    joined = Study.joined([first, second])
    assert [group.problem for group in joined.groups()] == [first.groups()[0].problem, "another"]
    assert joined.harness == (1.5, 7.0)
    assert "name" not in joined.problem_info
    assert joined.problem_info["flops_counted"] == study_rows.INFO["flops_counted"]
    assert joined.notes == ["a note", "one"]
    assert not joined.interrupted
    assert len(joined.of_problem("another")) == len(other)


def test_pictures_of_several_problems_are_files_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    other = [r | {"problem": "another"} for r in study_rows.rows()]
    made = Study([*study_rows.rows(), *other]).save_plots(tmp_path)
    assert len(made) == 2
    assert made[1].name == "ladder-another.png"
    assert all(path.is_file() for path in made)


def test_errors_stand_beside_speeds_of_products() -> None:
    facts = {"workload": "gemm", "l2_rel": 1.63e-6, "max_of_tol": 0.1234}
    text = Study(
        [timed("summary", "a", 2.0, **facts), timed("summary", "b", 1.0, **facts | {"max_of_tol": None})]
    ).to_text(120)
    assert "1.6e-06 (12 %)" in text
    assert "Frobenius" in text
    assert "Frobenius" not in Study([timed("summary", "a", 2.0, l2_rel=1e-6)]).to_text(120)


def test_precisions_of_products_have_their_names() -> None:
    split = {"TYPE": 2, "PRODUCTS": 3, "PROMOTE": 1}
    kinds = {"tf32x3": split, "tf32x3 in the unit": split | {"PROMOTE": 0}, "bf16x6": {"TYPE": 1, "PRODUCTS": 6}}
    rows = [
        timed("summary", "tensor", 1.0, workload="gemm", configuration=name, params=params, accuracy="TYPE=2")
        for name, params in kinds.items()
    ]
    (group,) = Study(rows).groups()
    assert [group.label(made) for made in group.rows] == [f"tensor {name}" for name in kinds]
    assert "ours, other precisions" in Study(rows).to_text(120)
    twins = [r | {"params": r["params"] | {"TILE": n}, "configuration": f"{n}"} for r in rows[:1] for n in (64, 128)]
    (group,) = Study(twins).groups()
    assert [group.label(made) for made in group.rows] == ["tensor(TILE=64)", "tensor(TILE=128)"]


def test_great_rates_are_told_in_tera() -> None:
    rows = [timed("summary", name, 2.0, flops=1e11, gflop_s=rate) for name, rate in (("a", 51_000.0), ("b", 900.0))]
    text = Study(rows).to_text(120)
    assert "TFLOP/s" in text
    assert "51.0" in text
    assert "0.900" in text
    assert "51.0 TFLOP/s" in Study(rows).sentences()[0]
    assert "TFLOP/s" not in Study(rows[1:]).to_text(120)
