"""Verdicts on claims: each of them, several problems, devices and studies, and rows that do not tell."""

from __future__ import annotations

import math
from typing import Any

import pytest

import claims as made_up
import study_rows
from gpuopt.lab.rows import claims
from gpuopt.lab.rows.claim_numbers import Number
from gpuopt.lab.rows.claims import Finding
from gpuopt.lab.rows.study_rows import StudyRows

Rows = list[dict[str, Any]]


def found(entry: made_up.Entry, *studies: Rows, device: str = study_rows.DEVICE) -> Finding:
    """What the rows of one device say to one claim."""
    measured = claims.sittings([StudyRows(rows) for rows in studies])
    return claims.finding(made_up.paper(entry).claims[0], device, measured.get(device, []))


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("printed", "direction", "speedup", "noise", "verdict"),
    [
        (1.75, "more", 1.751, 0.01, "holds"),  # the median reaches the printed number
        (1.75, "more", 1.749, 0.01, "undecided"),  # the interval alone does
        (1.75, "more", 3.0, 0.01, "holds"),  # passes it
        (1.75, "more", 1.6, 0.01, "smaller"),
        (1.75, "more", 1.0, 0.02, "smaller"),  # no effect
        (1.75, "more", 0.995, 0.001, "smaller"),  # a loss below 1 % is none
        (1.75, "more", 0.9, 0.01, "inverted"),
        (1.75, "more", 1.3, 0.5, "undecided"),  # from 0.87 to 2.6
        (1.01, "more", 1.01, 0.002, "holds"),  # a printed gain of 1 %
        ([1.3, 1.45], "more", 1.31, 0.005, "holds"),  # the nearer end counts
        ([1.3, 1.45], "more", 1.2, 0.005, "smaller"),
        (None, "more", 1.5, 0.01, "holds"),
        (None, "more", 1.005, 0.001, "smaller"),
        (None, "more", 1.02, 0.015, "undecided"),
        (None, "more", 0.8, 0.01, "inverted"),
        (0.48, "less", 0.47, 0.01, "holds"),
        (0.48, "less", 0.3, 0.01, "holds"),
        (0.48, "less", 0.8, 0.01, "smaller"),
        (0.48, "less", 1.0, 0.02, "smaller"),
        (0.48, "less", 1.2, 0.01, "inverted"),
        (0.9, "less", 1.0, 0.2, "undecided"),
        ([0.94, 0.98], "less", 0.97, 0.005, "holds"),
        (None, "less", 0.9, 0.01, "holds"),
        (None, "less", 1.1, 0.01, "inverted"),
        (0.48, "less", 0.482, 0.01, "undecided"),
        (1.7, "more", 1.41, 0.3, "undecided"),  # a wide interval proves nothing
        (None, "more", 1.0125, 0.004, "undecided"),  # from 1.009: more than 1, by 1 % or less
        (None, "not less", 1.0, 0.003, "holds"),
        (None, "not less", 1.5, 0.01, "holds"),
        (None, "not less", 0.99, 0.01, "undecided"),
        (None, "not less", 0.9, 0.01, "inverted"),
        (None, "same", 1.055, 0.01, "undecided"),  # above 1 throughout, and across 5 %
        (None, "same", 1.02, 0.01, "holds"),
        (1, "same", 0.97, 0.01, "holds"),
        (None, "same", 1.2, 0.01, "inverted"),
        (None, "same", 0.7, 0.01, "inverted"),
        (None, "same", 1.0, 0.2, "undecided"),
        (1.5, "more", 1e6, 0.3, "holds"),  # huge and wide
        (1.5, "more", 1e-6, 0.3, "inverted"),
    ],
)
def test_verdicts_of_ratios(printed: Any, direction: str, speedup: float, noise: float, verdict: str) -> None:
    got = found(made_up.entry("one", printed, direction), made_up.pair(speedup, noise))
    assert got.verdict == verdict, got.ours
    assert got.ours is not None
    assert got.ours.interval is not None
    lo, hi = got.ours.interval
    assert lo <= got.ours.mid <= hi
    assert got.ours.mid == pytest.approx(speedup, rel=max(2 * noise**2, 1e-9))


@pytest.mark.parametrize(
    ("printed", "direction", "verdict"),
    [
        (3.0, None, "holds"),
        (4.17, None, "undecided"),  # the interval reaches it, the median of 4.16 does not
        (5.0, None, "smaller"),
        ([3.0, 9.0], None, "holds"),
        (3.0, "less", "smaller"),
        (4.15, "less", "undecided"),
        (5.0, "less", "holds"),
    ],
)
def test_verdicts_of_rates(printed: Any, direction: str | None, verdict: str) -> None:
    rows = made_up.pair(1.0)
    rate = 2 * study_rows.ENTRIES / 10 / 1e6  # 4.16 GFLOP/s of a run of 10 ms
    got = found(made_up.entry("one", printed, direction, over=None, quantity="gflop_s"), rows)
    assert got.verdict == verdict
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(rate)
    assert got.ours.interval is not None
    assert got.ours.interval[0] < rate < got.ours.interval[1]


def test_share_of_the_bound_has_the_rows_own_interval() -> None:
    rows = made_up.pair(1.0)
    got = found(made_up.entry("one", 30, None, over=None, quantity="pct_bound", unit="%"), rows)
    summary = next(row for row in rows if row["kind"] == "summary" and row["variant"] == "vectorized")
    assert got.ours == Number(summary["pct_bound"], summary["pct_lo"], summary["pct_hi"])
    assert got.verdict == "holds"


def test_few_blocks_decide_nothing() -> None:
    got = found(made_up.entry("one", 1.75), made_up.pair(2.0, blocks=3))
    assert (got.verdict, got.reason) == ("undecided", "no 95 % interval: too few blocks")
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(2.0)


def test_a_claim_without_a_test_is_not_judged() -> None:
    claim = made_up.paper(made_up.entry("two", 2), made_up.untested("one")).claims[1]
    got = claims.finding(claim, "D", claims.sittings([StudyRows(made_up.pair(2.0))])[study_rows.DEVICE])
    assert (got.verdict, got.reason, got.ours) == ("not measured", "No energy is measured.", None)


# ---------------------------------------------------------------- problems, studies, devices


def test_several_problems_are_their_geometric_mean() -> None:
    rows = made_up.pair(0.5, 0.01, problem="small") + made_up.pair(8.0, 0.02, problem="large")
    got = found(made_up.entry("one", 1.99), rows)
    assert {name: round(number.mid, 2) for name, number in got.problems.items()} == {"small": 0.5, "large": 8.0}
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(2.0, rel=1e-3)
    ends = [number.interval for number in got.problems.values()]
    assert got.ours.lo == pytest.approx(math.prod(end[0] for end in ends if end) ** 0.5)
    assert got.ours.hi == pytest.approx(math.prod(end[1] for end in ends if end) ** 0.5)
    assert got.verdict == "holds"


def test_a_problem_without_an_interval_counts_only_alone() -> None:
    rows = made_up.pair(2.0, problem="small") + made_up.pair(9.0, problem="large", blocks=2)
    got = found(made_up.entry("one", 2), rows)
    assert list(got.problems) == ["small"]
    assert got.ours is not None
    assert got.ours.interval is not None
    assert got.verdict == "holds"
    rows = made_up.pair(2.0, problem="small", blocks=3) + made_up.pair(8.0, problem="large", blocks=2)
    got = found(made_up.entry("one", 2), rows)
    assert list(got.problems) == ["small", "large"]
    assert got.ours == Number(pytest.approx(4.0))
    assert got.verdict == "undecided"


def test_of_up_to_the_best_problem_counts() -> None:
    rows = made_up.pair(0.5, 0.01, problem="small") + made_up.pair(8.0, 0.02, problem="large")
    for direction, printed, best in (("more", 7.9, "large"), ("less", 0.6, "small")):
        got = found(made_up.entry("one", printed, direction, best=True), rows)
        assert got.verdict == "holds", direction
        assert got.ours == got.problems[best]
        assert len(got.problems) == 2
    rates = made_up.pair(1.0, problem="small")
    rates += [row | {"gflop_s": 80 * row["gflop_s"]} for row in made_up.pair(1.0, problem="large")]
    for best, verdict in ((True, "holds"), (False, "smaller")):
        entry = made_up.entry("one", 150, None, over=None, quantity="gflop_s", best=best)
        got = found(entry, rates)
        assert got.verdict == verdict, got


def test_what_is_the_fastest_is_compared_with_the_fastest_row() -> None:
    """Also with itself: else the claim that it is not the fastest could not fail."""
    rows = made_up.pair(2.0)
    slower = [
        row | {"params": {"LOCAL": 64}, "configuration": "vectorized(LOCAL=64)", "preset": None}
        | {key: row[key] * 2 for key in ("median_ms", "ratio", "ci_lo_ms", "ci_hi_ms")}
        for row in rows
        if row["variant"] == "vectorized"
    ]  # fmt: skip
    for of, direction, verdict in (
        ("vectorized(LOCAL=256)", "not less", "holds"),
        ("vectorized(LOCAL=256)", "less", "smaller"),
        ("vectorized(LOCAL=64)", "not less", "inverted"),
        ("vectorized(LOCAL=64)", "less", "holds"),
    ):
        got = found(made_up.entry("one", None, direction, of=of, over="vectorized"), rows + slower)
        assert got.verdict == verdict, (of, direction)


def test_a_library_that_did_not_run_is_named() -> None:
    got = found(made_up.entry("one", 2, over="peer:CuPy"), made_up.pair(2.0))
    assert (got.verdict, got.reason) == ("not measured", "CuPy did not run there")


def test_a_subject_means_one_problem() -> None:
    rows = made_up.pair(2.0, problem="gemm_1024x1024x1024", sizes={"M": 1024, "N": 1024, "K": 1024})
    rows += made_up.pair(3.0, problem="gemm_1024x131072x1024", sizes={"M": 1024, "N": 131072, "K": 1024})
    rows += made_up.pair(5.0, problem="I1_4views", sizes={"voxels": 7})
    for subject, problem in (("1024", 0), ("1024x131072x1024", 1), ("I1", 2), ("I", 2)):
        got = found(made_up.entry("one", 2, subject=subject), rows)
        assert list(got.problems) == [["gemm_1024x1024x1024", "gemm_1024x131072x1024", "I1_4views"][problem]], subject
    assert found(made_up.entry("one", 2, subject="2048"), rows).verdict == "not measured"
    assert found(made_up.entry("one", 2, subject="102"), rows).verdict == "not measured"


def test_studies_of_one_problem_are_not_paired_and_the_last_counts() -> None:
    first = made_up.pair(2.0, time_utc="2026-01-01T00:00:00Z")
    second = made_up.pair(3.0, time_utc="2026-02-01T00:00:00Z")
    for studies in ((first, second), (second, first)):
        got = found(made_up.entry("one", 2), *studies)
        assert got.ours is not None
        assert got.ours.mid == pytest.approx(3.0, rel=1e-3)
        assert got.date == "2026-02-01"
    half = [row for row in second if row["variant"] == "vectorized"]
    other = [row for row in first if row["variant"] == "basic"]
    assert found(made_up.entry("one", 2), half, other).verdict == "not measured", "blocks of two studies"


def test_devices_are_judged_by_themselves() -> None:
    rows = made_up.pair(2.0, device="A") + made_up.pair(0.5, device="B", device_type="cpu")
    entry = made_up.entry("one", 2)
    assert list(claims.sittings([StudyRows(rows)])) == ["A", "B"]
    assert (found(entry, rows, device="A").verdict, found(entry, rows, device="B").verdict) == ("holds", "inverted")
    assert found(entry, rows, device="C").verdict == "not measured"


def test_a_claim_about_cpus_counts_rows_of_cpus_alone() -> None:
    paper = made_up.paper(made_up.entry("one", 2), studies={"sizes": f"{made_up.COMMAND} --device cpu"})
    for device_type, verdict in (("cpu", "holds"), ("gpu", "not measured")):
        measured = claims.sittings([StudyRows(made_up.pair(2.0, device_type=device_type))])[study_rows.DEVICE]
        got = claims.finding(paper.claims[0], "D", measured)
        assert got.verdict == verdict
    assert got.reason == "a claim about CPUs"


# ---------------------------------------------------------------- which rows


def test_a_preset_is_found_by_its_configuration() -> None:
    rows = [row | {"preset": None} for row in made_up.pair(2.0)]
    assert found(made_up.entry("one", 2), rows).verdict == "holds"
    for row in rows:
        row["params"] = {"LOCAL": 64}
        row["configuration"] = f"{row['variant']}(LOCAL=64)"
    assert found(made_up.entry("one", 2), rows).verdict == "not measured"


def test_what_a_row_was_called_when_it_was_measured_does_not_count() -> None:
    """Rows of an older version may have, by another preset's name, what a preset is now."""
    older = {"basic": None, "vectorized": "paper:basic"}
    rows = [row | {"preset": older[row["variant"]]} for row in made_up.pair(2.0)]
    got = found(made_up.entry("one", 2), rows)
    assert got.ours is not None
    assert (got.verdict, round(got.ours.mid, 2)) == ("holds", 2.0)
    alone = [row for row in rows if row["variant"] == "vectorized"]
    assert found(made_up.entry("one", 2), alone).verdict == "not measured"


def test_an_interrupted_repetition_does_not_replace_a_whole_one() -> None:
    whole = made_up.pair(2.0, time_utc="2026-01-01T00:00:00Z")
    broken = made_up.pair(9.0, blocks=2, time_utc="2026-01-02T00:00:00Z")
    for order in ((whole, broken), (broken, whole)):
        got = found(made_up.entry("one", 2), *order)
        assert got.ours is not None
        assert got.ours.mid == pytest.approx(2.0, rel=1e-3)


def test_levels_and_names_select_rows() -> None:
    rows = made_up.pair(2.0)
    for of in ("vectorized(LOCAL=256)", "vectorized", {"variant": "vectorized", "parameters": {"LOCAL": 256}}):
        assert found(made_up.entry("one", 2, of=of), rows).verdict == "holds", of
    for of in ("vectorized(LOCAL=64)", "image", {"variant": "vectorized", "parameters": {"LOCAL": 64}}, "peer:SciPy"):
        got = found(made_up.entry("one", 2, of=of), rows)
        reason = "SciPy did not run there" if of == "peer:SciPy" else "no rows of it"
        assert (got.verdict, got.reason) == ("not measured", reason), of


def test_calls_and_peers_are_found_by_their_names() -> None:
    rows = study_rows.full_rows()
    entry = made_up.entry("one", 1.1, of="peer:SciPy dia_array", over="paper:basic")
    assert found(entry, rows).verdict == "holds"
    earlier = [row | {"method": None} for row in rows]  # which are judged as they were written: two clocks and all
    assert found(entry, earlier).verdict == "holds"
    step = next(row["preset"] for row in rows if row["preset"] not in (None, "paper:basic") and row["status"] == "ok")
    mixed = made_up.entry("one", 1.1, of="peer:SciPy dia_array", over=step)
    assert (found(mixed, rows).verdict, found(mixed, rows).reason) == (
        "not measured",
        "the two were timed by different clocks, and no pass has both by the host's",
    )
    entry = made_up.entry("one", 1.1, of="call:M @ x", over="peer:SciPy dia_array")
    got = found(entry, rows)
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(15.9 / 5.3, rel=0.03)


def test_a_kernel_and_a_loop_are_held_against_each_other_by_the_hosts_clock() -> None:
    rows = study_rows.full_rows()
    step = next(row["preset"] for row in rows if row["preset"] not in (None, "paper:basic") and row["status"] == "ok")
    loops = {row["block"]: row["median_ms"] for row in rows if row["kind"] == "block" and row["role"] == "peer"}
    timed = [row | {"wall_ms": loops.get(row["block"], 0.0) / 3} if row["preset"] == step else row for row in rows]
    got = found(made_up.entry("one", 1.1, of=step, over="peer:SciPy dia_array"), timed)
    assert got.ours is not None
    assert (got.verdict, got.ours.mid) == ("holds", pytest.approx(3))


def test_a_variants_name_means_its_fastest_row_of_standard_accuracy() -> None:
    rows = made_up.pair(2.0)
    faster = [
        row | {"params": {"LOCAL": 64}, "configuration": "vectorized(LOCAL=64)", "preset": None, "accuracy": accuracy}
        | {key: row[key] / factor for key in ("median_ms", "ratio", "ci_lo_ms", "ci_hi_ms")}
        for accuracy, factor in (("", 2), ("HALF=1", 8))
        for row in rows
        if row["variant"] == "vectorized"
    ]  # fmt: skip
    for row in faster:
        row["configuration"] += row["accuracy"]
    got = found(made_up.entry("one", 2, of="vectorized"), rows + faster)
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(4.0, rel=1e-3)


def test_other_dtypes_and_cold_caches_do_not_count() -> None:
    assert found(made_up.entry("one", 2), made_up.pair(2.0, dtype="float64")).verdict == "not measured"
    assert found(made_up.entry("one", 2, dtype="float64"), made_up.pair(2.0, dtype="float64")).verdict == "holds"
    assert found(made_up.entry("one", 2), made_up.pair(2.0, cache_state="cold")).verdict == "not measured"


def test_a_failure_is_named() -> None:
    rows = [row for row in made_up.pair(2.0) if row["variant"] == "basic"]
    reason = "needs images"
    failed = study_rows.row("summary", "vectorized", preset="paper:vectorized", status="unsupported", reason=reason)
    got = found(made_up.entry("one", 2), [*rows, failed | {"problem": "grid 512x512", "device_type": "gpu"}])
    assert (got.verdict, got.reason) == ("not measured", "vectorized: unsupported: needs images")


@pytest.mark.parametrize("damage", [{"median_ms": None}, {"ratio": None}, {"ci_lo_ms": -1.0}, {"flops": None}])
def test_damaged_rows_are_no_crash(damage: dict[str, Any]) -> None:
    rows = [row | damage if row["variant"] == "vectorized" else row for row in made_up.pair(2.0)]
    for entry in (made_up.entry("one", 2), made_up.entry("one", 2, None, over=None, quantity="gflop_s")):
        got = found(entry, rows)
        assert got.verdict in claims.VERDICTS
        assert got.ours is None or (math.isfinite(got.ours.mid) and got.ours.mid > 0)


# ---------------------------------------------------------------- points


def point(variant: str, gb_s: float, bytes_: int = 1 << 20, noise: float = 0.01, **fields: Any) -> dict[str, Any]:
    time = 1e-6 * bytes_ / gb_s
    made = study_rows.timed("point", variant, time, noise, megabytes=bytes_ / 1e6, workload="microbench")
    own = {"configuration": f"{variant} {fields.get('params')}", "row_id": f"{variant} {bytes_} {fields}"}
    return made | {"sizes": {"bytes": bytes_}, "problem": None, **own, **fields}


@pytest.mark.parametrize(
    ("of", "over", "quantity", "speedup"),
    [
        ("wide", "narrow", "speedup", 4.0),  # of equal sizes: times
        ("constant", "narrow", "speedup", 9.0),  # of different sizes: rates, though the times are 1 to 576
        ("constant", "wide", "gb_s", 2.25),
    ],
)
def test_points_are_compared_by_time_or_by_rate(of: str, over: str, quantity: str, speedup: float) -> None:
    widths = {"narrow": {"WIDTH": 1}, "wide": {"WIDTH": 4}}
    rows = [
        point("copy", 100.0, params=widths["narrow"]),
        point("copy", 400.0, params=widths["wide"]),
        point("constant", 900.0, 1 << 14),
    ]
    selectors = {name: {"variant": "copy", "parameters": levels} for name, levels in widths.items()}
    selectors["constant"] = {"variant": "constant"}
    fields = {"of": selectors[of], "over": selectors[over], "quantity": quantity, "workload": "microbench"}
    got = found(made_up.entry("one", 1.5, **fields), rows)
    assert got.verdict == "holds"
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(speedup)
    assert got.ours.interval is not None
    assert got.ours.interval[0] < speedup < got.ours.interval[1]


def test_points_of_several_sizes_are_paired_by_size() -> None:
    rows = [
        point(name, rate, size) for size in (1 << 20, 1 << 24) for name, rate in (("copy", 100.0), ("triad", 200.0))
    ]
    rows.append(point("triad", 1000.0, 1 << 28))
    got = found(made_up.entry("one", 2, of={"variant": "triad"}, over={"variant": "copy"}, workload="microbench"), rows)
    assert list(got.problems) == ["bytes=1048576", "bytes=16777216"]
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(2.0)


def test_rate_of_a_point_by_dtype_and_size() -> None:
    rows = [point("copy", 100.0), point("copy", 50.0, dtype="int8"), point("copy", 70.0, 1 << 24)]
    selector = {"variant": "copy", "dtype": "int8", "sizes": {"bytes": 1 << 20}}
    entry = made_up.entry("one", 60, None, of=selector, over=None, quantity="gb_s", workload="microbench")
    got = found(entry, rows)
    assert got.verdict == "smaller"
    assert got.ours is not None
    assert got.ours.mid == pytest.approx(50.0)
