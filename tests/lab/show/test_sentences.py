"""A study as a person reads it: the sentences."""

from __future__ import annotations

import re

import pytest

import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.show.sentences import places
from ladder_steps import step
from study_rows import row, timed


def sentence(rows: list[study_rows.Row], name: str) -> str:
    return next(text for text in Study(rows).sentences() if text.startswith(name))


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
    told = sentence(rows, "vectorized, on a CPU")
    assert "In the paper these two stand" not in told
    assert "its bound is 10.6 GFLOP/s (Phenom II X4), of which vectorized, on a CPU reaches 27 %." in told


def test_rounded_values_are_named_and_are_not_what_others_are_held_against() -> None:
    full = Study(study_rows.full_rows(10), study_rows.INFO)
    told = [s for s in full.sentences() if s.startswith(("sliced_half", "M @ x", "SciPy"))]
    assert told[0].endswith("Its matrix values are rounded to 16 bits (HALF=1).")
    assert "faster than sliced, the fastest variant here at full accuracy; it moves 50 % fewer bytes" in told[0]
    assert all("and sliced were timed by two clocks, which give no ratio." in text for text in told[1:])


def test_a_call_is_held_against_peers_of_its_own_clock() -> None:
    full = Study(study_rows.full_rows(10), study_rows.INFO)
    device_clock = timed("summary", "cuSPARSE CSR", 1.0, role="peer", clock="batch", pct_bound=None)
    told = next(s for s in Study([*full.rows, device_clock]).sentences() if s.startswith("M @ x"))
    assert re.search(r"As a whole call, NumPy in and out, it is [23]\.\d+x \[.*\] faster than SciPy dia_array\.$", told)
    slow = next(s for s in full.sentences() if s.startswith("gpuopt.spmv"))
    assert "it takes 3.77x" in slow


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
    """Against the fastest only where one clock timed both; the baseline is timed by the host's clock, too."""
    told = "SciPy dia_array and sliced, the fastest variant here, were timed by two clocks, which give no ratio."
    assert study.sentences()[-1] == told
    beside = study.speedup("SciPy dia_array", "basic")
    assert beside.verdict in ("FAST", "SLOW")
    assert study.speedup("basic", "SciPy dia_array").mid == pytest.approx(1 / beside.mid)
    old = Study([row | {"method": None} for row in study.rows])
    assert str(old.speedup("SciPy dia_array", "basic")) == "another clock"
    assert old.speedup("SciPy dia_array", "basic").verdict is None
    same = [r | ({"clock": "event"} if r["role"] == "peer" else {}) for r in study_rows.rows(10)]
    assert re.match(
        r"SciPy dia_array takes 3\.\d+x \[.*\] the time of sliced, the fastest", Study(same).sentences()[-1]
    )


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
            "takes the same time as basic (ratio of times 1.000x [0.998, 1.002]: SAME, less than 5 % apart)",
        ),
        ([0.95, 1.0, 1.05, 0.97, 1.02, 1.1], "is not told from basic"),
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
    told = sentence(rows, "other")
    assert told.startswith("other is not told from basic (ratio of times 0.50x [0.40, 1.10]: the interval holds 1)")


def test_too_few_blocks_for_many_comparisons_is_not_called_alike() -> None:
    stored = {"ratio": 0.5, "ratio_lo": 0.4, "ratio_hi": 0.6, "verdict": "AMBIGUOUS", "blocks": 6}
    told = sentence([*step("basic", 20.0, *[1.0] * 6), *step("other", 10.0, *[0.5] * 6, **stored)], "other")
    assert told.startswith("other was about 2.0 times faster than basic (2.00x [1.67, 2.50]), but 6 blocks are too few")
    assert "not told" not in told


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


def test_problems_of_one_subject_are_told_apart_by_their_full_names() -> None:
    """As two molecules of one name and size, whose names have a digest."""
    rows = [row | {"problem": name} for name in ("grid_64x64_r5", "grid_64x64_r5_a1b2") for row in study_rows.rows()]
    groups = Study(rows).groups()
    assert len(groups) == 2
    assert places(groups, ["grid"] * 2) == ["grid_64x64_r5", "grid_64x64_r5_a1b2"]
    assert places(groups[:1], ["grid"]) == [""]
