"""Comparisons of identical kernels: own buffers, both clocks, what they say of the smallest difference, and keeping."""

from __future__ import annotations

import importlib.util
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt import Configuration, ParameterError, lab, problems
from gpuopt.lab.device import aa_record
from gpuopt.lab.device.aa_record import AA, Shown
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.run import aa
from gpuopt.lab.run.aa import Kind, Pair

READ = Configuration("read")
KIND = Kind("event", "long", 1 << 20, READ)


def pair(verdict: str | None, lo: float | None, hi: float | None, band: float = 0.01) -> Pair:
    row = new_row(kind="summary", status="ok", verdict=verdict, ratio=1.0, ratio_lo=lo, ratio_hi=hi, median_ms=1.0)  # type: ignore[arg-type]
    return Pair(KIND, row, band)


def test_the_smallest_difference_would_have_left_the_band_on_either_side() -> None:
    assert pair("SAME", 0.99, 1.01).smallest == pytest.approx(1.01 / 0.99 - 1)
    assert pair("SAME", 1.0, 1.1).smallest == pytest.approx(1 - 1 / (1.01 * 1.1))
    assert pair("SAME", 1.0, 1.0, band=0.5).smallest == pytest.approx(0.5)
    assert pair(None, None, None).smallest is None
    for lo, hi, band in ((0.98, 1.03, 0.01), (0.9, 1.2, 0.05)):
        least = pair(None, lo, hi, band).smallest
        assert least is not None
        assert hi * (1 - least) <= 1 / (1 + band) + 1e-12
        assert lo * (1 + least) >= 1 + band - 1e-12


def test_nine_of_ten_comparisons_certify_the_smallest_difference() -> None:
    narrow = [pair("SAME", 0.999, 1.001)] * 9
    told = aa._shown(KIND, [*narrow, pair("FAST", 0.5, 0.6), pair(None, 0.4, 2.0)])
    assert (told.comparisons, told.false, told.same, told.refused) == (11, 1, 9, 1)
    assert told.smallest == pytest.approx(1.01 / 0.5 - 1)
    assert aa._shown(KIND, [*narrow, pair("FAST", 0.5, 0.6)]).smallest == pytest.approx(1.01 / 0.999 - 1)
    assert aa._shown(KIND, [*narrow, pair(None, None, None), pair(None, None, None)]).smallest is None
    assert aa._shown(KIND, []).smallest is None


def test_kernels_are_the_same_and_buffers_are_not(device: gpuopt.Device, brief_quick: None) -> None:
    kind = aa.kinds(device)[0]
    before = device.allocated_bytes
    made = aa._twins(device, kind, 3)
    assert len({candidate.fields["source_sha256"] for candidate in made}) == 1
    assert len({candidate.label for candidate in made}) == 4
    assert device.allocated_bytes - before >= 4 * kind.bytes
    assert {candidate.fields["clock"] for candidate in made} == {kind.clock}


def test_each_clock_and_length_is_compared(
    device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(aa, "LONGEST_BYTES", 1 << 20)
    monkeypatch.setattr(aa, "path_of", lambda device: tmp_path / "aa.json")
    made = lab.aa(device, seconds=1e-3)
    assert {(one.clock, one.launch) for one in made.shown} == {
        (clock, launch) for clock in ("event", "batch") for launch in ("short", "long")
    }
    assert all(one.comparisons == aa.COPIES for one in made.shown)
    assert aa_record.history(tmp_path / "aa.json") == [made]
    assert str(made.conditions["load before"])
    assert "smallest difference" in repr(made)
    assert "<table>" in made._repr_html_()
    with pytest.raises(ParameterError, match="seconds: 0 is no time"):
        lab.aa(device, seconds=0)


def made_up(smallest: float | None = 0.013, date: str = "2026-11-22T10:00:00Z") -> AA:
    shown = [
        Shown("event", "short", 0.01, 4, 0, 0, 0, 0.9),  # no study times short launches so
        Shown("event", "long", 1.0, 4, 0, 4, 0, smallest),
        Shown("batch", "short", 0.01, 4, 1, 3, 0, 0.011 if smallest else None),
        Shown("batch", "long", 1.0, 4, 0, 4, 0, 0.5),
    ]
    return AA("A card", "1.0", "P", date, "0.1.0", 60.0, tuple(shown), {"load before": 0.2})


def test_what_a_study_could_show_is_told_by_its_clocks() -> None:
    assert made_up().smallest() == made_up().smallest("event") == 0.013
    assert made_up().smallest("batch") == 0.011
    assert made_up().sentence() == "this machine could show 1.3 % on 2026-11-22"
    assert made_up(None).sentence() == "identical kernels could not be compared to the end on 2026-11-22"
    assert "25 %" in repr(made_up())
    assert "load before 0.2" in repr(made_up())


def test_the_latest_twenty_are_kept_beside_the_profile(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()  # `last` reads files here
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    path = aa_record.path_of(any_device)
    assert aa_record.last(any_device) is None
    for hour in range(22):
        aa_record.save(made_up(date=f"2026-11-22T{hour:02}:00:00Z"), path)
    assert len(aa_record.history(path)) == 20
    found = aa.last(any_device)
    assert found == made_up(date="2026-11-22T21:00:00Z")
    for text in ("", "[5]", '[{"schema": 9}]', json.dumps([{"schema": 1, "shown": [{"clock": "event"}]}])):
        path.write_text(text)
        with pytest.warns(UserWarning, match="not used"):
            assert aa_record.last(any_device) is None


def test_comparisons_that_end_together_are_all_kept(tmp_path: Path) -> None:
    every = [made_up(date=f"2026-11-22T{hour:02}:00:00Z") for hour in range(12)]
    together = threading.Barrier(len(every))

    def save(one: AA) -> None:
        together.wait()
        aa_record.save(one, tmp_path / "aa.json")

    with ThreadPoolExecutor(len(every)) as pool:
        list(pool.map(save, every))
    assert sorted(one.time_utc for one in aa_record.history(tmp_path / "aa.json")) == [one.time_utc for one in every]


def test_each_study_names_the_last_one(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, brief: str) -> None:
    monkeypatch.setattr(aa_record, "last", lambda device: made_up())
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    study = lab.sweep(problem, ["basic"], protocol=brief, device=any_device, peers=(), calls=False)
    assert study.problem_info["could_show"] == "this machine could show 1.3 % on 2026-11-22"
    assert "this machine could show 1.3 % on 2026-11-22" in " ".join(study.to_text(120).split())


def test_a_cycle_that_would_not_end_in_time_is_not_begun(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 7))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    asked: list[Any] = []
    monkeypatch.setattr(aa, "kinds", lambda device: [KIND])
    monkeypatch.setattr(aa, "compare_once", lambda *given: asked.append(given[2]) or [pair("SAME", 0.99, 1.01)])
    made = lab.aa(any_device, seconds=60, keep=False)
    assert asked == list(range(len(asked)))
    assert 1 < len(asked) < 8
    assert made.shown[0].comparisons == len(asked)


@pytest.mark.parametrize("busy", [0, 2])
def test_the_script_counts_false_verdicts_and_refusals(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], busy: int
) -> None:
    spec = importlib.util.spec_from_file_location("aa_runs", root / "tools" / "aa_runs.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    words = itertools.cycle(["SAME", "SAME", "FAST", None, "AMBIGUOUS"])
    loops: list[int] = []

    def compared(device: Any, kind: Kind, seed: int, copies: int) -> list[Pair]:
        loops.append(len(children_of_this_process()))
        return [pair(next(words), 0.99, 1.01) for _ in range(copies)]

    monkeypatch.setattr(aa, "kinds", lambda device: [KIND, KIND._replace(clock="batch")])
    monkeypatch.setattr(aa, "compare_once", compared)
    monkeypatch.setattr("sys.argv", ["aa_runs.py", "10", "--busy", str(busy), "--copies", "4"])
    before = len(children_of_this_process())
    assert script.main() == 0
    out = capsys.readouterr().out
    assert "long launches by event: 6 comparisons" in out
    assert "all: 10 comparisons, 20.0 % FAST or SLOW (2), 40.0 % SAME (4), 2 undecided, 2 refused" in out
    assert set(loops) == {before + busy}
    assert len(children_of_this_process()) == before


def children_of_this_process() -> list[str]:
    """The process's own children, as Linux lists them."""
    listed = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    return [child for children in listed for child in children]
