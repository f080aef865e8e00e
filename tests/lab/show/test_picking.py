"""What is picked from the rows: the ladder, the best, ratios, groups."""

from __future__ import annotations

import re

import pytest

import gpuopt
import study_rows
from gpuopt.lab.report import Study
from ladder_steps import step
from study_rows import row, timed

KINDS = ("search", "block", "summary")


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
    assert "b 2 constraints" in study.explain(120)


def test_a_failure_after_a_result_stands_in_its_place() -> None:
    """Another reference, or an edit: what was right once is not the best any more."""
    times = {1: 3.0, 2: 1.0}
    measured = {kind: [timed(kind, "f", t, configuration=f"f({x})") for x, t in times.items()] for kind in KINDS}
    failed = [row("search", "f", configuration=f"f({x})", status="wrong", reason="is off") for x in (1, 2)]
    for kind, rows in measured.items():
        one, both = Study([*rows, failed[1]]), Study([*rows, *failed])
        assert [r["median_ms"] for r in one.summary if r["status"] == "ok"] == [3.0], kind
        assert one.best() is not None
        assert [r["configuration"] for r in one.failures()] == ["f(2)"]
        assert {r["status"] for r in both.summary} == {"wrong"}
        assert both.best() is None
        assert "nothing ran" in both.headline(120)
        best = Study([*rows, *failed, measured["summary"][0]]).best()
        assert best is not None
        assert best["configuration"] == "f(1)"


def test_a_variant_without_comparison_shows_its_best_search_row() -> None:
    searched = [timed("search", "late", t, configuration=f"late(X={t})", params={"X": t}) for t in (9.0, 8.0, 8.5)]
    study = Study([*study_rows.rows(), *searched])
    assert [r["median_ms"] for r in study.unconfirmed] == [8.0]
    assert "not compared to the end: late (a search or fewer than 6 blocks each)" in study.explain(120)
    assert "1 not compared to the end" in " ".join(study.headline(120).split())
    assert "nothing is claimed" in next(s for s in study.sentences() if s.startswith("late"))


def test_an_interrupted_comparison_shows_its_middle_block() -> None:
    blocks = [timed("block", "a", t, block=i, ratio=t / 2) for i, t in enumerate((9.0, 2.0, 3.0))]
    sentinels = [timed("block", "a", 1.0, block=0, order=0, role="sentinel")]
    study = Study([*sentinels, *blocks, row("summary", "b", status="compile", reason="no")])
    assert [r["median_ms"] for r in study.summary if r["status"] == "ok"] == [3.0]
    assert "not compared to the end: a" in study.explain(120)


def test_an_interrupted_comparison_shows_each_configuration() -> None:
    """A kernel of one's own is one variant, however many configurations it has."""
    times = {1: (9.0, 2.0, 3.0), 2: (30.0, 20.0, 10.0)}
    blocks = [
        timed("block", "f", t, block=i, configuration=f"f(X={x})", params={"X": x})
        for x, some in times.items()
        for i, t in enumerate(some)
    ]
    study = Study([*blocks, timed("search", "f", 1.0, configuration="f(X=3)", params={"X": 3})])
    assert {r["configuration"]: r["median_ms"] for r in study.summary} == {"f(X=1)": 3.0, "f(X=2)": 20.0}
    finished = timed("summary", "f", 2.5, configuration="f(X=1)", params={"X": 1})
    assert [r["median_ms"] for r in Study([*blocks, finished]).summary] == [2.5, 20.0]


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
    assert group.band == pytest.approx(0.25)  # from 0.8, as far below 1 as 1.25 is above
    told = Study([*noisy, *step("other", 22.0, *[1.1] * 6)]).sentences()[1]
    assert "is not told from basic" in told
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


def test_the_range_of_few_samples_is_no_interval() -> None:
    """Rows that stand for what did not end hold the range of their samples where others hold an interval of 95 %."""
    rows = [timed(kind, f"{kind}{n}", 10.0, n=n) for kind in ("search", "block", "summary") for n in (3, 6)]
    shown = {str(one["variant"]): one["ci_lo_ms"] for one in Study(rows).summary}
    assert {name for name, low in shown.items() if low is None} == {"search3", "block3"}
    few, enough = (timed("point", "read", 10.0, n=n, sizes={"bytes": n}) for n in (5, 6))
    assert [one["ci_hi_ms"] is None for one in Study([few, enough]).points] == [True, False]


def clones(*ratios: float, told: bool = True) -> list[study_rows.Row]:
    """The visits of the baseline's clone in one run, and their summary."""
    same = {"role": "clone", "baseline": "basic", "env_hash": "e"}
    made = [timed("block", "basic", 20.0, block=n, order=5, ratio=ratio, **same) for n, ratio in enumerate(ratios)]
    return [*made, *([timed("summary", "basic", 20.0, blocks=len(ratios), **same)] if told else [])]


def test_the_band_is_of_the_last_run() -> None:
    others = [one | {"env_hash": "e"} for one in step("basic", 20.0, *[1.0] * 6, blocks=6)]
    quiet, noisy = [1.01, 0.99] * 3, [1.2, 0.8] * 3
    for first, last in ((quiet, noisy), (noisy, quiet)):
        (alone,) = Study([*others, *clones(*last)]).groups()
        (both,) = Study([*others, *clones(*first), *clones(*last)]).groups()
        assert both.band == alone.band
    (unfinished,) = Study([*others, *clones(*quiet, told=False)]).groups()
    assert unfinished.band == Study([*others, *clones(*quiet)]).groups()[0].band


def test_ceilings_are_of_the_last_run_in_the_rows_environment() -> None:
    rows = [one | {"env_hash": "now"} for one in step("basic", 20.0, *[1.0] * 6)]

    def ceiling(gb_s: float, env: str) -> study_rows.Row:
        return timed("summary", "read", 4.0, role="ceiling", gb_s=gb_s, env_hash=env)

    for earlier in ("then", "now"):
        (group,) = Study([*rows, ceiling(90.0, earlier), ceiling(30.0, "now")]).groups()
        assert group.ceiling_rates() == {"read": 30.0}
