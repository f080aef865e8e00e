"""Two sittings held against each other: what is certified, what is noise, what is gone."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gpuopt import ParameterError, lab
from gpuopt.cli import app
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.show.changes import Change


def study(times: Mapping[str, float], problem: str = "made", failed: tuple[str, ...] = (), **more: Any) -> Study:
    rows = []
    for name, time in [*times.items(), *((one, 0.0) for one in failed)]:
        fields: dict[str, Any] = {"kind": "summary", "role": "variant", "status": "ok" if time else "wrong"}
        fields |= {"reason": None if time else "inexact", "variant": name, "configuration": name, "params": {}}
        fields |= {"workload": "made", "problem": problem, "dtype": "float32", "sizes": {}, "device": "A Device"}
        fields |= {
            "median_ms": time or None,
            "ci_lo_ms": time * 0.995 or None,
            "ci_hi_ms": time * 1.005 or None,
            "blocks": 10,
        }
        rows.append(new_row(**(fields | more)))
    return Study(rows, {"name": problem, "workload": "made"}, [])


def test_what_is_slower_is_found_and_noise_is_not() -> None:
    old = study({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0})
    found = lab.compare(old, study({"a": 1.01, "b": 1.4, "c": 0.6, "e": 1.0}, failed=("d",)))
    words = {one.name.split(" ")[0]: one.word for one in found.changes}
    assert words == {"a": "not told", "b": "slower", "c": "faster"}
    assert [one.split(" ")[0] for one in found.failed] == ["d"]
    assert [one.split(" ")[0] for one in found.added] == ["e"]
    assert not found.ok
    said = str(found)
    assert "3 compared: 1 slower, 1 faster, 1 not told" in said
    assert "3 % is assumed" in said
    assert lab.compare(old, study({"a": 1.0, "b": 0.99})).ok


def test_what_does_not_build_any_more_failed() -> None:
    """Such a row is of the search: it has no clock, options or work-group."""
    timed = {"clock": "event", "options": "-DV=1", "local_size": [64], "global_size": [4096], "cache_state": "hot"}
    old = study({"a": 1.0, "b": 1.0}, **timed)
    failed = study({}, failed=("b",), kind="search", status="compile", cache_state="hot")
    new = Study.joined([study({"a": 1.0}, **timed), failed])
    found = lab.compare(old, new)
    assert [one.split(" ")[0] for one in found.failed] == ["b"]
    assert not found.gone
    assert not found.ok
    assert lab.compare(old, Study([*failed.rows, *old.rows])).ok  # it ran in the end
    assert lab.compare(old, Study([*old.rows, *failed.rows])).failed  # the search of an edited kernel, in one file
    cold = {"cache_state": "cold"}
    both = Study.joined([old, study({"b": 1.0}, **(timed | cold))])
    assert len(lab.compare(both, Study.joined([new, study({"b": 1.0}, **(timed | cold))])).failed) == 1
    assert lab.compare(new, old).added
    wrong = study({}, failed=("b",), **timed)
    assert lab.compare(old, Study([*old.rows, *wrong.rows])).failed  # the last counts, in one file too
    assert lab.compare(old, Study([*wrong.rows, *old.rows])).ok


def test_an_interval_between_sittings_is_used() -> None:
    wide = {"sit_lo_ms": 0.7, "sit_hi_ms": 1.4}
    assert lab.compare(study({"a": 1.0}, **wide), study({"a": 1.3})).ok
    narrow = {"sit_lo_ms": 0.99, "sit_hi_ms": 1.01}
    found = lab.compare(study({"a": 1.0}, **narrow), study({"a": 1.05}))
    assert not found.ok
    assert not found.assumed


def test_equal_ones_are_rarely_told_apart() -> None:
    """60 comparisons of 12 equal ones each, with the spread that is assumed."""
    random, false = np.random.default_rng(0), 0
    for _ in range(60):
        names = "abcdefghijkl"
        times = [{name: math.exp(0.03 * random.standard_normal()) for name in names} for _ in range(2)]
        false += not lab.compare(study(times[0]), study(times[1])).ok
    assert false <= 6


def test_another_clock_is_named() -> None:
    both = study({"a": 1.0}, clock="event"), study({"a": 1.1}, clock="batch")
    old, new = (Study.joined([one, study({"b": 1.0})]) for one in both)
    said = str(lab.compare(old, new))
    assert "in another cache state, or by another version of a peer): a" in said


def test_whole_calls_of_two_versions_are_compared() -> None:
    old, new = (
        study({"gpuopt.gemm(A, B)": time}, role="call", options=f"gpuopt {version}")
        for version, time in (("0.1.0", 1.0), ("0.2.0", 3.0))
    )
    (change,) = lab.compare(old, new).changes
    assert (change.ratio, change.word) == (pytest.approx(3.0), "slower")
    old, new = (study({"NumPy": 1.0, "x": 1.0}, role="peer", options=f"NumPy {version}") for version in ("1", "2"))
    with pytest.raises(ParameterError, match="nothing in common"):
        lab.compare(old, new)


def test_nothing_in_common() -> None:
    with pytest.raises(ParameterError, match="nothing in common"):
        lab.compare(study({"a": 1.0}), study({"a": 1.0}, problem="other"))


def test_what_is_not_compared_is_told() -> None:
    """A study of points, or of a search alone, has nothing in common even with itself."""
    points = study({"a": 1.0}, kind="point")
    with pytest.raises(ParameterError, match=r"old: it has no summaries of .* points and searches are not compared"):
        lab.compare(points, points)
    with pytest.raises(ParameterError, match="new: it has no summaries of"):
        lab.compare(study({"a": 1.0}), study({"a": 1.0}, kind="search"))
    with pytest.raises(ParameterError, match="old: it has no summaries of"):
        lab.compare(study({}, failed=("a",)), study({"a": 1.0}))


def test_changes_that_cannot_be_are_refused() -> None:
    good = Change("made", "a", 1.0, 1.0, 1.0, 0.9, 1.1, 0.5)
    assert "1 not told" in str(lab.Changes((good,), (), (), (), False))
    with pytest.raises(ParameterError, match=r"^changes: it is 3; give"):
        lab.Changes(3, (), (), (), False)  # type: ignore[arg-type]
    for name in ("old_ms", "new_ms", "ratio", "lo", "hi"):
        for value in (0.0, -1.0, math.inf, math.nan):
            with pytest.raises(ParameterError, match=f"^{name}: it is {value}; give a number above 0"):
                dataclasses.replace(good, **{name: value})


def test_the_command(tmp_path: Path) -> None:
    for name, times in (("old", {"a": 1.0}), ("new", {"a": 1.5}), ("same", {"a": 1.0})):
        (tmp_path / name).mkdir()
        rows = "".join(json.dumps(row) + "\n" for row in study(times).rows)
        (tmp_path / name / "rows.jsonl").write_text(rows)
    runner = CliRunner()
    worse = runner.invoke(app, ["compare", str(tmp_path / "old"), str(tmp_path / "new" / "rows.jsonl")])
    assert worse.exit_code == 1
    assert "1 slower" in worse.output
    assert runner.invoke(app, ["compare", str(tmp_path / "old"), str(tmp_path / "same")]).exit_code == 0
    missing = runner.invoke(app, ["compare", str(tmp_path / "old"), str(tmp_path / "missing")])
    assert missing.exit_code == 2


def test_the_command_takes_the_later_file_of_a_folder(tmp_path: Path) -> None:
    sittings = {
        "old.jsonl": study({"a": 1.0}),
        "new/monday.jsonl": study({}, failed=("a",), **MONDAY),
        "new/friday.jsonl": study({"a": 1.0}, **FRIDAY),
    }
    (tmp_path / "new").mkdir()
    for name, one in sittings.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in one.rows))
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "old.jsonl"), str(tmp_path / "new")])
    assert told.exit_code == 0, told.output
    assert "1 compared" in told.output


def test_the_command_names_lines_that_were_passed_over(tmp_path: Path) -> None:
    for name in ("old", "new"):
        rows = "".join(json.dumps(row) + "\n" for row in study({"a": 1.0}).rows)
        (tmp_path / f"{name}.jsonl").write_text(rows + '{"schema":1,"median_ms":3.0\n')
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")])
    assert told.exit_code == 0
    assert [line.partition(": ")[0] for line in told.stderr.splitlines()] == ["passed over", "passed over"]
    assert f"{tmp_path / 'new.jsonl'}:2: no valid JSON" in told.stderr
    assert "passed over" not in told.stdout


def test_rows_that_no_store_has_seen_are_compared_too() -> None:
    """They have no keys yet, and all of them but one were left out in silence."""
    row = {"kind": "summary", "role": "variant", "status": "ok", "problem": "made"}
    old, new = (
        Study([row | {"variant": name, "median_ms": time * scale} for name, time in (("a", 1.0), ("b", 2.0))])
        for scale in (1, 3)
    )
    found = lab.compare(old, new)
    assert [(one.name.split(" ")[0], one.word) for one in found.changes] == [("a", "slower"), ("b", "slower")]
    assert not found.repeated


@pytest.mark.parametrize("refusing", ["old", "new"])
def test_a_sitting_without_verdicts_certifies_nothing(refusing: str) -> None:
    both = {"old": study({"a": 1.0, "b": 1.0}), "new": study({"a": 1.0, "b": 1.5})}
    for row in both[refusing].rows:
        row["refused"] = "a busy host"
    found = lab.compare(both["old"], both["new"])
    assert [one.word for one in found.changes] == ["not told", "not told"]
    assert found.ok
    assert f"NO VERDICTS on 2 of them: {'before' if refusing == 'old' else 'now'}, a busy host" in str(found)


def test_what_a_study_has_twice_is_named() -> None:
    both = Study.joined([study({"a": 1.0, "b": 1.0}), study({"a": 1.2})])
    found = lab.compare(study({"a": 1.0, "b": 1.0}), both)
    assert [(one.name.split(" ")[0], one.new_ms) for one in found.changes] == [("a", 1.2), ("b", 1.0)]
    assert [one.split(" ")[0] for one in found.repeated] == ["a"]
    assert "measured more than once in one study, of which the last counts: a" in str(found)


def test_the_last_of_several_drivers_is_the_last_that_was_measured() -> None:
    """Rows of two drivers are of two groups, and the last group is not of the last row."""
    old = study({"a": 4.0}, driver="1")
    new = Study.joined([study({"a": time}, driver=driver) for driver, time in (("1", 1.0), ("2", 2.0), ("1", 4.0))])
    (change,) = lab.compare(old, new).changes
    assert (change.new_ms, change.word) == (4.0, "not told")


MONDAY, FRIDAY = {"time_utc": "2026-11-23T08:00:00.000Z"}, {"time_utc": "2026-11-27T08:00:00.000Z"}


@pytest.mark.parametrize("drivers", [("1", "1"), ("1", "2"), ("2", "1")])
@pytest.mark.parametrize("kind", ["summary", "search"])
def test_of_joined_studies_the_last_that_was_measured_counts(drivers: tuple[str, str], kind: str) -> None:
    """In whatever order they are joined: a folder's files are in the order of their names."""
    before, after = ({"driver": driver} for driver in drivers)
    old = study({"a": 1.0, "b": 1.0, "c": 1.0})
    monday = study({"a": 9.0, "c": 1.0}, failed=("b",), **before, **MONDAY)
    monday.rows[-1]["kind"] = kind
    friday = study({"a": 1.0, "b": 1.0}, failed=("c",), **after, **FRIDAY)
    friday.rows[-1]["kind"] = kind
    for both in ([monday, friday], [friday, monday]):
        found = lab.compare(old, Study.joined(both))
        assert [(one.name.split(" ")[0], one.new_ms) for one in sorted(found.changes, key=str)] == [("a", 1), ("b", 1)]
        assert [one.split(" ")[0] for one in found.failed] == ["c"]


def test_in_one_of_the_joined_studies_the_order_written_stands() -> None:
    """After an edit and back, a stored row comes again, with the time at which it was measured."""
    times = ({"a": 1.0}, MONDAY), ({"a": 5.0}, FRIDAY), ({"a": 1.0}, MONDAY)
    edited = Study([row for time, when in times for row in study(time, **when).rows])
    between = study({"a": 7.0}, time_utc="2026-11-25T08:00:00.000Z")
    for both in ([edited, between], [between, edited]):
        (change,) = lab.compare(study({"a": 1.0}), Study.joined(both)).changes
        assert change.new_ms == 1.0


def test_other_units_of_a_device_are_named() -> None:
    one, other, untold = (study({"a": 1.0, "b": 1.0}, unit=unit) for unit in ("aaaaaaaaaaaa", "bbbbbbbbbbbb", None))
    found = lab.compare(one, other)
    assert [change.word for change in found.changes] == ["not told", "not told"]
    (note,) = found.notes
    assert note in str(found)
    assert "before unit aaaaaaaaaaaa, now unit bbbbbbbbbbbb" in note
    assert not lab.compare(one, one).notes
    assert not lab.compare(untold, other).notes  # of earlier rows nobody knows
