"""The three lines before all else, on studies that were measured and on made-up ones; and the words of verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows.pairs import Told
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show import certainty, headline, wording
from ladder_steps import step
from study_rows import row, timed

STUDIES = Path(__file__).parent / "studies"


def lines_of(study: Study) -> dict[str, str]:
    return dict(headline.lines(study))


def stored(name: str) -> dict[str, str]:
    return lines_of(Study.load(STUDIES / f"{name}.jsonl"))


# ---------------------------------------------------------------- measured studies


def test_a_decided_study() -> None:
    assert stored("decided") == {
        "Fastest": "row_parts, 0.242 ms (2216 GFLOP/s), 97 % of its bound. "
        "The fastest peer, PyTorch A.T @ v, was timed by another clock, which gives no ratio.",
        "Paper": "Yang et al. 2012, over naive: pays: columns shared 32 x 8 3.90x, both 32 x 8 3.41x, "
        "columns shared 64 x 4 2.61x and both 64 x 4 2.04x; costs: float2 0.439x.",
        "How sure": "7 of 10 comparisons with naive decided (3 by another clock); equal kernels differed here by up to "
        "1 %. Next: `gpuopt tune tmv` keeps the fastest for plain calls.",
    }


def test_a_busy_study() -> None:
    told = stored("busy")
    assert told["Paper"].startswith(
        "Yang et al. 2012, over naive: pays: float2 3.24x; measured, not certified, about: both"
    )
    assert told["How sure"] == (
        "2 of 9 comparisons with naive decided (2 by another clock, 2 short of blocks, 1 within the noise, 2 "
        "not told apart); equal kernels differed here by up to 29 %, so nothing is called the same. Next: measure "
        "again on a quieter machine (--fresh); leave out --quick (more blocks)."
    )


def test_a_study_without_a_profile_offers_one() -> None:
    told = stored("no_profile")
    assert "share of its bound: - (no profile)" in told["Fastest"]
    assert "`gpuopt profile`" in told["How sure"]
    text = Study.load(STUDIES / "no_profile.jsonl").to_text(80)
    assert text.count("of bound: -, for it needs a profile of this device: `gpuopt profile`") == 1
    assert not re.search(r"\d %", text.split("ms  G pair/s")[1].split("? not")[0])


def test_a_study_without_peers_says_so() -> None:
    told = stored("no_peers")
    assert told["Fastest"].endswith("No peer ran here (1 could not).")
    assert told["How sure"].startswith("1 of 1 comparison with image decided; ")


@pytest.mark.parametrize("name", ["busy", "decided", "no_peers", "no_profile"])
def test_a_first_screen_is_readable_at_80_columns(name: str) -> None:
    study = Study.load(STUDIES / f"{name}.jsonl")
    shown = study.to_text(80).splitlines()
    assert max(map(len, shown)) <= 80
    assert len(shown) <= 50
    assert shown[0].startswith("Fastest:  ")
    assert "(" not in shown[[line.startswith("Times hold") for line in shown].index(True) - 4].split(" · ")[0]
    assert "--explain or study.explain()" in shown[-1]
    told = "\n".join(shown)
    assert not re.search(r"\bnan\b|(?<![\d.])0x \[|_[0-9a-f]{8}\b|\w+=\d+, \w+=\d+, \w+=", told)


# ---------------------------------------------------------------- made-up studies


def test_the_paper_pays_in_peoples_words() -> None:
    rows = [*step("basic", 20.0, *[1.0] * 6, preset="paper:basic")]
    rows += step("local_offsets", 10.0, *[0.5] * 6, preset="paper:local_offsets", **compared(0.5, "FAST"))
    rows += step("vectorized", 20.0, *[1.0] * 6, preset="paper:vectorized", **compared(1.0, "SAME"))
    told = lines_of(Study(rows))["Paper"]
    assert told == "Catanzaro 2010, each over the step before: pays: local offsets 2.00x; costs: vectorized 0.500x."


def compared(ratio: float, verdict: str) -> dict[str, object]:
    return {"ratio": ratio, "ratio_lo": ratio * 0.99, "ratio_hi": ratio * 1.01, "verdict": verdict, "blocks": 6}


def test_steps_of_several_sizes_are_told_together() -> None:
    rows = []
    for size, ratio, verdict in ((1, 0.5, "FAST"), (2, 0.25, "FAST"), (3, 0.9, "AMBIGUOUS")):
        place = {"problem": f"size{size}", "flops": 1e6 * size}
        made = step("basic", 20.0, *[1.0] * 6, preset="paper:basic")
        made += step("local_offsets", 20.0 * ratio, preset="paper:local_offsets", **compared(ratio, verdict))
        rows += [r | place for r in made]
    told = lines_of(Study(rows))
    assert told["Paper"].endswith("pays: local offsets 1.11x to 4.00x (sure at 2 of 3).")
    assert told["Fastest"].startswith("at size3: local offsets, 18.0 ms")
    assert told["Fastest"].endswith("Elsewhere: local offsets (size1 and size2).")


def test_places_of_one_subject_are_told_by_what_differs() -> None:
    def at(ratio: float, verdict: str, **place: object) -> list[Row]:
        made = step("basic", 20.0, *[1.0] * 6, preset="paper:basic")
        made += step("local_offsets", 20.0 * ratio, preset="paper:local_offsets", **compared(ratio, verdict))
        return [r | {"flops": 1e6} | place for r in made]

    slow, fast = at(2.0, "SLOW", device="a CPU"), at(0.5, "FAST", device="a GPU")
    for rows in (slow + fast, fast + slow):
        told = lines_of(Study(rows))
        assert told["Fastest"].startswith("at a GPU: local offsets, 10.0 ms")
        assert told["Fastest"].endswith("Elsewhere: basic (a CPU).")
        assert told["Paper"].endswith("differs from case to case: local offsets 0.500x to 2.00x.")
    for field, values in (("dtype", ("float32", "float64")), ("driver", ("1", "2")), ("cache_state", ("hot", "cold"))):
        one, other = (at(0.5, "FAST", **{field: value}) for value in values)
        told = lines_of(Study(one + [r | {"flops": 1e5} for r in other]))["Fastest"]
        assert re.match(rf"at .*{values[0]}: ", told), told
        assert re.search(rf"Elsewhere: local offsets \(.*{values[1]}\)\.$", told), told


def test_papers_of_every_workload_are_looked_for() -> None:
    bare = [r | {"workload": "casebook"} for r in step("basic", 20.0, *[1.0] * 6)]
    rows = step("basic", 20.0, *[1.0] * 6, preset="paper:basic")
    rows += step("local_offsets", 10.0, preset="paper:local_offsets", **compared(0.5, "FAST"))
    for both in (bare + rows, rows + bare):
        told = lines_of(Study(both))
        assert told["Paper"].endswith("pays: local offsets 2.00x.")
        assert "Elsewhere: " in told["Fastest"]


def test_an_interrupted_study() -> None:
    study = Study(study_rows.rows())
    study.interrupted = True
    told = lines_of(study)["How sure"]
    assert told.startswith("interrupted; ")
    assert told.endswith("Next: the same command goes on where it stopped.")


def test_a_resumed_study_says_of_when_its_blocks_are() -> None:
    study = Study(study_rows.rows(), {"began_utc": "2026-11-22T08:00:00.000Z"})
    told = "6 of 6 blocks from 2026-11-21 08:00 UTC, by an earlier run"
    assert f"; {told}. Next" in lines_of(study)["How sure"]
    assert "; 2026-11-21 08:00 UTC, all by an earlier run; quick" in " ".join(study.to_text(120).split())
    newer = [r | {"time_utc": "2026-11-22T09:00:00.000Z"} if r["block"] == 5 else r for r in study.rows]
    part = " ".join(Study(newer, study.problem_info).to_text(120).split("Times hold")[0].split())
    assert "2026-11-21 to 2026-11-22; 5 of 6 blocks from 2026-11-21 08:00 UTC, by an earlier run; quick" in part
    assert "earlier run" not in Study(study_rows.rows()).to_text(120)


def test_blocks_of_two_places_are_not_counted_as_one() -> None:
    times = {name: f"2026-11-{day}T08:00:00.000Z" for name, day in (("old", 21), ("new", 22))}
    old = [r | {"time_utc": times["old"]} for r in study_rows.rows()]
    for place in ({"device": "another"}, {"workload": "tmv"}, {"unit": "b"}, {"protocol": "full"}):
        new = [r | {"time_utc": times["new"]} | place for r in study_rows.rows()]
        for rows in (old + new, new + old):
            resumed = Study(rows, {"began_utc": times["new"]}).resumed
            assert str(resumed) == "6 of 12 blocks from 2026-11-21 08:00 UTC", place


def test_where_all_failed_the_reason_is_told() -> None:
    reasons = {"status": "unsupported", "reason": "needs images."}
    study = Study([row("summary", "a", **reasons), row("summary", "b", **reasons), row("summary", "c", status="wrong")])
    told = lines_of(study)
    assert told["Fastest"] == "nothing ran: 2 unsupported and 1 wrong."
    assert told["How sure"].startswith("2 of 3 say: unsupported: needs images. Next: `gpuopt doctor`")
    hung = Study([row("summary", "a", status="timeout", reason="a run did not end within 30 s")])
    assert "Next: look for a loop that never ends" in lines_of(hung)["How sure"]
    assert headline.lines(Study([])) == []


def test_a_second_copy_of_the_baseline_is_no_row() -> None:
    clone = [r | {"role": "clone"} for r in study_rows.rows() if r["variant"] == "basic"]
    host = [r | {"role": "sentinel", "clock": "wall"} for r in clone]
    assert Study([*study_rows.rows(), *clone, *host]).to_text(80) == Study(study_rows.rows()).to_text(80)


def test_a_long_table_shows_the_fastest_and_explains_the_rest() -> None:
    rows = [*study_rows.rows()]
    rows += [timed("summary", f"slow{number:02}", 50.0 + number, baseline="basic") for number in range(60)]
    study = Study(rows)
    assert "54 slower or failed rows are left out here" in study.to_text(80)
    assert "slow59" not in study.to_text(80)
    assert "slow59" in study.explain(80)
    assert "109.0 ± " in study.explain(80)


def test_refused_verdicts_are_told_with_their_reason() -> None:
    why = "other programs wanted 90 % of the processor's cores"
    rows = [r | {"refused": why, "verdict": None} for r in study_rows.rows()]
    told = lines_of(Study(rows))["How sure"]
    assert told.startswith(f"verdicts are refused: {why}; 0 of 4 comparisons with basic decided (4 refused); ")
    assert "Next: measure again on a quieter machine (--fresh)" in told


def test_refusals_that_differ_by_a_number_are_told_once() -> None:
    whys = [f"other programs wanted {times} times the processor's cores" for times in ("3.9", "1.7", "10")]
    rows = study_rows.rows()
    told = certainty.refusals(r | {"refused": why} for r, why in zip(rows, whys, strict=False))
    assert told == "other programs wanted 1.7 to 10 times the processor's cores"
    several = [whys[0] + " and the baseline differed from itself by 40 %", "the host slept"]
    told = certainty.refusals(r | {"refused": why} for r, why in zip(rows, several, strict=False))
    assert told == (
        "other programs wanted 3.9 times the processor's cores, the baseline differed from itself by 40 % and "
        "the host slept"
    )


@pytest.mark.parametrize("cpu", ["AMD EPYC", [1], {"quota_cpus": "x", "usable_threads": [2], "governor": 3}])
def test_facts_of_a_processor_that_are_none_are_left_out(cpu: object) -> None:
    facts = {"kind": "environment", "env_hash": "e", "environment": {"cpu": cpu}}
    study = Study([facts, *[r | {"env_hash": "e", "device_type": "cpu"} for r in study_rows.rows()]])
    assert "quota" not in study.to_text(80)


def test_conditions_are_two_lines_of_what_is_known() -> None:
    cpu = {"usable_threads": 2, "quota_cpus": 1.5, "governor": "powersave"}
    facts = {"kind": "environment", "env_hash": "e", "environment": {"cpu": cpu, "state": {"load": 0.1}}}
    state = {"env_hash": "e", "others_load": 0.4, "steal_pct": 3.0, "core_mhz": 1500.0, "device_type": "cpu"}
    study = Study([facts, *[r | state for r in study_rows.rows()]])
    text = " ".join(study.to_text(80).split())
    assert (
        "Times hold within this sitting: others wanted 40 % of 2 cores; steal 3 %; CPU quota 1.5, which held us back "
        "for 0 %; governor powersave; noise ± 1 %; core clock 1500 MHz."
    ) in text
    assert "of bound: shares of bounds are too low here: other programs wanted 40 % of the processor's cores" in text
    why = {"refused": "it was loud", "verdict": "AMBIGUOUS"}
    told = " ".join(Study([facts, *[r | state | why for r in study_rows.rows()]]).to_text(80).split())
    assert "Times hold within this sitting: NO VERDICTS: it was loud; others wanted 40 %" in told
    assert "? no verdict, for the reason above" in told
    open_ones = [r | {"verdict": "AMBIGUOUS"} | (why if r["variant"] == "padded" else {}) for r in study_rows.rows()]
    assert "? no verdict, for the reason above or not certified by this run" in Study(open_ones).to_text(200)
    assert "load not recorded" in Study(study_rows.rows()).to_text(80)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("ratio", "together", "band", "words"),
    [
        (
            Ratio(0.05, 0.04, 0.8, "AMBIGUOUS", 10),
            5,
            0.4,
            "a was about 20 times faster than b (20x [1, 25]), but this run's noise (± 40 %) is too large to certify "
            "that; it would take a noise below ± 25 %",
        ),
        (
            Ratio(0.057, 0.05, 0.06, "AMBIGUOUS", 10),
            30,
            0.05,
            "a was about 18 times faster than b (17.5x [16.7, 20.0]), but 10 blocks are too few to certify 30 "
            "comparisons at once; it would take 6 more",
        ),
        (
            Ratio(1.01, 0.98, 1.04, "AMBIGUOUS", 10),
            5,
            0.01,
            "a is not told from b (ratio of times 1.010x [0.980, 1.040]: the interval holds 1); "
            "any difference is below 4.0 %",
        ),
        (
            Ratio(0.8, 0.79, 0.81, "FAST", 10),
            5,
            0.01,
            "a is 1.25x [1.23, 1.27] faster than b (only a noise above ± 23 %",
        ),
        (Ratio(0.1, 0.09, 0.11, "FAST", 10), 5, 0.01, "a is 10.0x [9.1, 11.1] faster than b"),
    ],
)
def test_words_agree_with_the_numbers_beside_them(ratio: Ratio, together: int, band: float, words: str) -> None:
    told = wording.compared("a", "b", Told(ratio, together), band)
    assert told.startswith(words)
    assert "cannot be told" not in told


def test_a_slower_peer_is_not_called_the_fastest_for_its_clock() -> None:
    rows = study_rows.full_rows()
    alike = [row for row in rows if row["variant"] == "SciPy dia_array"]
    times = ("median_ms", "ratio", "ratio_lo", "ratio_hi", "ci_lo_ms", "ci_hi_ms")
    other = {"variant": "slow", "configuration": "slow", "clock": "event", "method": None}
    slow = [row | other | {key: 40 * row[key] for key in times if row.get(key)} for row in alike]
    mixed = [row | {"clock": "event" if row["role"] != "peer" else "wall"} | {"method": None} for row in rows]
    told = lines_of(Study([*mixed, *slow]))["Fastest"]
    assert "slow, the fastest peer by its clock" in told
    assert "SciPy dia_array, which took" in told
    assert "by another clock, has no ratio to it" in told


def test_two_clocks_have_no_verdict() -> None:
    across = Told(Ratio(3.0, None, None, None, 0, across=True), 0)
    assert wording.compared("a", "b", across, 0.01) == "a and b were timed by two clocks, which give no ratio"
    rows = [*study_rows.rows(), timed("summary", "call", 40.0, role="call", clock="wall", **compared(2.0, "SLOW"))]
    rows[-1]["baseline"] = "basic"
    text = Study(rows).to_text(120)
    assert re.search(r"call .* 0\.500x .* ~", text)
    held = Study([*rows[:-1], rows[-1] | {"method": "rank"}]).to_text(120)  # by the host's clock on both sides
    assert re.search(r"call .* 0\.500x [^~]*$", held, re.MULTILINE)


def test_sentences_do_not_skip_the_correction_for_many_comparisons() -> None:
    """Seven blocks certify one pair of ten only: the plain interval of each excludes 1."""
    rows = step("basic", 20.0, *[1.0] * 7, preset="paper:basic")
    rows += step("vectorized", 10.0, *[0.5] * 7, preset="paper:vectorized", **compared(0.5, "FAST"))
    for number in range(10):
        rows += step(f"ours{number}", 5.0, *[0.25] * 7, **compared(0.25, "FAST"))
    told = [text for text in Study(rows).sentences() if text.startswith("ours")]
    assert len(told) == 10
    assert all(
        "was about 2.0 times faster than vectorized" in text and "too few to certify 10" in text for text in told
    )


@pytest.mark.parametrize(
    ("calls_ms", "runs", "told"),
    [
        ([7.0] * 8, 1, True),
        ([9.0, 12.0] * 4, 1, False),  # its median is below the kernel's, by another clock
        ([7.0] * 8, 40, False),  # the host's time of a kernel's run among many holds no launch
    ],
)
def test_a_whole_call_that_surely_beats_the_kernels_is_named(calls_ms: list[float], runs: int, told: bool) -> None:
    """It runs a variant that the study was not asked for."""
    rows: list[Row] = []
    for block, call_ms in enumerate(calls_ms):
        kernel = {"clock": "batch", "batch_n": runs, "wall_ms": 10.9, "order": 0, "block": block, "ratio": 1.0}
        call = {"clock": "wall", "role": "call", "order": 1, "block": block, "ratio": 0.9}
        rows += [timed("block", "basic", 10.8, baseline="basic", **kernel)]
        rows += [timed("block", "spmv(A, x)", call_ms, baseline="basic", **call)]
    about = {"baseline": "basic", "method": "rank", "blocks": len(calls_ms)}
    rows.append(timed("summary", "basic", 10.8, clock="batch", batch_n=runs, **about))
    rows.append(timed("summary", "spmv(A, x)", sum(calls_ms) / len(calls_ms), clock="wall", role="call", **about))
    assert lines_of(Study(rows))["Fastest"].endswith(", by a faster kernel.") == told


def test_comparisons_with_several_baselines_name_none() -> None:
    gain = {"ratio": 0.5, "ratio_lo": 0.49, "ratio_hi": 0.51, "verdict": "FAST"}
    rows = [
        timed("summary", name, median, configuration=name, baseline=base, method="rank", blocks=10, **gains)
        for base, other in (("slow", "best"), ("mid", "other"))
        for name, median, gains in ((base, 10.0, {}), (other, 5.0, gain))
    ]
    assert lines_of(Study(rows))["How sure"].startswith("2 of 2 comparisons decided; ")
    assert lines_of(Study(rows[:2]))["How sure"].startswith("1 of 1 comparison with slow decided; ")


def test_of_two_sweeps_rows_that_no_pass_measured_together_have_no_verdict() -> None:
    def sweep(base: str, other: str, ms: float) -> list[Row]:
        rows: list[Row] = []
        for name, median in ((base, 2 * ms), (other, ms)):
            fields = {"configuration": name, "baseline": base, "method": "rank", "source_sha256": name}
            rows += [timed("block", name, median, block=n, ratio=median / ms / 2, **fields) for n in range(8)]
            rows.append(timed("summary", name, median, blocks=8, **fields))
        return rows

    found = Study([*sweep("slow", "best", 5.0), *sweep("mid", "other", 3.0)]).speedup("mid", "slow")
    assert (found.mid, found.lo, found.verdict, found.refused) == (0.6, None, None, "no pass measured both")


def test_a_peer_of_another_environment_is_not_said_to_lack_blocks() -> None:
    """As where a library was upgraded between two sweeps into one file."""
    now = {"env_hash": "now", "method": "rank", "clock": "wall"}
    rows = [r | now | ({"env_hash": "before"} if r["role"] == "peer" else {}) for r in study_rows.rows()]
    told = lines_of(Study(rows))["Fastest"]
    assert "SciPy dia_array, the fastest peer (no verdict: they are of two environments)." in told
    few = lines_of(Study([r | now | {"verdict": None} for r in study_rows.rows(3)]))["Fastest"]
    assert "SciPy dia_array, the fastest peer (no verdict: too few blocks)." in few


def test_what_goes_on_with_a_full_sweep_is_the_same_command() -> None:
    held = Study.load(STUDIES / "busy.jsonl")
    whole = lines_of(Study([one | {"protocol": "full"} for one in held.rows]))["How sure"]
    assert "the same command goes on where it stopped (more blocks)" in whole
    assert "--quick" not in whole
