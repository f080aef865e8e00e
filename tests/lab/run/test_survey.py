"""Surveys: rows of points, verified, resumable, honest about what cannot run."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, ParameterError, _core, lab, problems
from gpuopt.configuration import complete
from gpuopt.lab.device import caches
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.run.candidates import Candidate, problem_fields, variant_candidate
from gpuopt.lab.run.survey import Question, SurveyRun, survey
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.lab.timing.statistics import MedianCI
from gpuopt.workloads.microbench import points as asked
from gpuopt.workloads.microbench import problem as made
from gpuopt.workloads.microbench.points import Point, TransferPoint

SMALL = 1 << 18
READ = Configuration("read_chunks", WIDTH=8)


def test_a_point_is_a_row_with_its_rate(device: gpuopt.Device) -> None:
    study = survey([Point(READ, "float32", SMALL)], device=device)
    (row,) = study.points
    assert (row["kind"], row["status"], row["family"], row["variant"]) == ("point", "ok", "read", "read_chunks")
    assert row["gb_s"] == pytest.approx(SMALL / row["median_ms"] * 1e-6)
    assert row["canary_ok"]
    assert row["sizes"] == {"bytes": SMALL}
    assert row["max_abs"] <= row["tol"]
    assert "read_chunks" in study.to_text(100)
    assert "GB/s" in study.to_text(100)
    assert study.to_pandas("point")["params.WIDTH"].tolist() == [8]


def test_what_cannot_run_is_a_row_with_its_reason(any_device: gpuopt.Device) -> None:
    points = [
        Point(Configuration("copy", WIDTH=5), "float32", SMALL),
        Point(Configuration("triad"), "int8", SMALL),
        Point(READ, "float32", SMALL),
        Point(Configuration("write", WIDTH=0), "float32", SMALL),
    ]
    study = survey(points, device=any_device)
    statuses = {row["variant"]: row["status"] for row in study.points}
    assert statuses == {"copy": "constraints", "triad": "constraints", "read_chunks": "ok", "write": "runtime"}
    text = study.to_text(100) + study.explain(100)
    assert "OpenCL has no vectors of 5" in text
    assert "it is for float32, float64, not for int8" in text
    assert "WIDTH: 0 is not one of its levels" in text


def test_what_does_not_fit_names_the_limit(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise gpuopt.DeviceMemoryError("source needs 9 TB; use a smaller problem")

    monkeypatch.setattr(_core, "to_device", refuse)
    made.release()
    (row,) = survey([Point(READ, "float32", SMALL)], device=any_device).points
    assert row["status"] == "runtime"
    assert "9 TB" in row["reason"]


def test_finished_points_are_not_measured_again(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "rows.jsonl"
    points = [Point(READ, "float32", SMALL), Point(Configuration("copy_chunks"), "int16", SMALL)]
    first = survey(points, device=any_device, store=store)
    monkeypatch.setattr(SurveyRun, "taken", lambda *_: pytest.fail("measured again"))
    again = survey(points, device=any_device, store=store)
    assert [row["median_ms"] for row in again.points] == [row["median_ms"] for row in first.points]


@pytest.mark.parametrize(
    "point",
    [
        Point(READ, "float32", SMALL + 5, trips=2),
        Point(READ, "f4", SMALL + 5),
        Point(READ, "float", SMALL),
        TransferPoint("upload", False, SMALL),
    ],
)
def test_what_a_point_says_of_itself_is_in_its_row(any_device: gpuopt.Device, point: Question) -> None:
    (row,) = survey([point], device=any_device).points
    assert row["status"] == "ok"
    assert {name: value for name, value in row.items() if name in point.fields()} == point.fields()


def test_a_point_that_fails_later_is_one_point(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an edit that does not build, and once the edit was taken back."""
    store = tmp_path / "rows.jsonl"

    def statuses() -> list[str]:
        survey([Point(READ, "float32", SMALL + 5)], device=any_device, store=store)
        return [row["status"] for row in lab.Study.load(store).points]

    def refuse(*_: object, **__: object) -> None:
        raise gpuopt.KernelBuildError("read_chunks.cl: error")

    assert statuses() == ["ok"]
    with monkeypatch.context() as edited:
        edited.setattr(_core, "prepare_microbench", refuse)
        assert statuses() == ["compile"]
    assert statuses() == ["ok"]


def test_a_stored_failure_is_tried_again(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One from after the point was built has the whole key, as a good row has."""
    store = tmp_path / "rows.jsonl"

    def full(*_: object) -> None:
        raise gpuopt.DeviceMemoryError("the device is full")

    def statuses() -> list[list[str]]:
        made = survey([Point(READ, "float32", SMALL)], device=any_device, store=store)
        return [[row["status"] for row in study.points] for study in (made, lab.Study.load(store))]

    with monkeypatch.context() as busy:
        busy.setattr(SurveyRun, "taken", full)
        assert statuses() == [["runtime"]] * 2
    assert statuses() == [["ok"]] * 2


def stored(points: list[Question], device: gpuopt.Device, folder: Path) -> Iterator[lab.Study]:
    """The study of a survey of the points in both orders into one file, and that of its file, raw and compact."""
    store = folder / "rows.jsonl"
    for asked_for in (points, points[::-1]):
        yield survey(asked_for, device=device, store=store)
        yield lab.Study.load(store)
    compact_file(store)
    yield lab.Study.load(folder / "rows-compact.jsonl")


def test_refused_sizes_take_the_place_of_no_good_point(any_device: gpuopt.Device, tmp_path: Path) -> None:
    copy = Configuration("copy")
    refused = [{"bytes": 0}, {"bytes": -1}, {"width": -1}, {"width": 2**62 + 1}, {"trips": 0}]
    points: list[Question] = [Point(copy, **({"bytes": 512} | sizes)) for sizes in [{}, *refused]]
    for study in stored(points, any_device, tmp_path):
        assert len(study.points) == len(points)
        for row in study.points:
            (wrong,) = set(row["sizes"].items()) - {("bytes", 512)} or {(None, 512)}
            assert row["status"] == ("runtime" if wrong[0] else "ok")
            assert wrong[0] is None or (dict([wrong]) in refused and row["reason"].startswith(f"{wrong[0]}: "))
        assert len({str(row["sizes"]) for row in study.points}) == len(points)


@pytest.mark.parametrize("dtype", ["nonsense", "float4", "", "S", "V", "O", "(2,)f4", ">f4", "float32\0"])
def test_an_unknown_dtype_is_a_row_beside_the_good_one(any_device: gpuopt.Device, tmp_path: Path, dtype: str) -> None:
    points: list[Question] = [Point(Configuration("copy"), name, 512) for name in ("float32", dtype)]
    for study in stored(points, any_device, tmp_path):
        rows = {row["dtype"]: row for row in study.points}
        assert {name: row["status"] for name, row in rows.items()} == {"float32": "ok", dtype: "runtime"}
        assert rows[dtype]["reason"].startswith("dtype: ")
        assert rows[dtype]["sizes"] == {"bytes": 512}


def test_a_point_of_a_wrong_type_is_refused() -> None:
    for make in (lambda: Point(READ, "float32", 2**70), lambda: TransferPoint("upload", False, 2**70)):
        with pytest.raises(ParameterError, match=r"^bytes: it is a whole number of 71 bits"):
            make()


def test_an_interrupt_keeps_what_is_finished(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Callable[..., dict[str, object]] = SurveyRun.taken

    def once(self: object, target: Candidate) -> dict[str, object]:
        if target.fields["variant"] == "copy_chunks":
            raise KeyboardInterrupt
        return taken(self, target)

    monkeypatch.setattr(SurveyRun, "taken", once)
    points = [Point(READ, "float32", SMALL), Point(Configuration("copy_chunks"), "int16", SMALL)]
    study = survey(points, device=any_device)
    assert study.interrupted
    assert [row["variant"] for row in study.points] == ["read_chunks"]
    assert "interrupted" in study.to_text(100)


def test_a_wrong_result_is_never_timed(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    make = made.microbenchmark

    def off(*args: object, **options: object) -> problems.Problem:
        right = make(*args, **options)  # type: ignore[arg-type]
        return dataclasses.replace(right, reference=right.reference + 1)

    monkeypatch.setattr(asked, "microbenchmark", off)
    (row,) = survey([Point(Configuration("copy_chunks"), "int32", SMALL)], device=any_device).points
    assert row["status"] == "wrong"
    assert row["median_ms"] is None


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("way", ["upload", "download"])
def test_transfers(device: gpuopt.Device, way: str, pinned: bool) -> None:
    study = survey([TransferPoint(way, pinned, SMALL)], device=device)
    (row,) = study.points
    assert (row["status"], row["family"], row["params"]) == ("ok", "transfer", {"PINNED": int(pinned)})
    assert row["gb_s"] == pytest.approx(SMALL / row["median_ms"] * 1e-6)


def test_a_transfer_that_loses_data_is_wrong(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.prepare_transfer

    def elsewhere(array: gpuopt.DeviceArray, upload: bool, pinned: bool) -> tuple[_core.Prepared, np.ndarray]:
        plan, host = real(array, upload, pinned)
        return plan, host.copy()  # what is written here never travels

    monkeypatch.setattr(_core, "prepare_transfer", elsewhere)
    (row,) = survey([TransferPoint("upload", False, SMALL)], device=any_device).points
    assert row["status"] == "wrong"


@pytest.mark.parametrize(
    ("ratio", "flagged"),
    [((1.9, 2.0, 2.1), False), ((1.97, 1.98, 1.99), False), ((1.0, 1.1, 1.2), True), ((2.2, 2.3, 2.4), True)],
)
def test_twice_the_work_takes_twice_the_time(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, ratio: tuple[float, float, float], flagged: bool
) -> None:
    lo, median, hi = ratio
    monkeypatch.setattr(SurveyRun, "doubled", lambda *_: MedianCI(median, lo, hi, 0.97, True, "order"))
    loops = next(v for v in gpuopt.variants("microbench") if v.family == "cached" and v.name.endswith("_chunks"))
    (row,) = survey([Point(Configuration(loops.name), "float32", 1 << 15, trips=8)], device=any_device).points
    assert row["doubled"] == median
    assert ("suspicious" in row["flags"]) == flagged


def test_times_that_the_clock_does_not_see_double_nothing(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SurveyRun("microbench", any_device, PROTOCOLS["quick"], Recorder(None))
    candidate = Point(Configuration("fma"), trips=4).candidate(run)
    assert run.doubled(candidate) is not None
    monkeypatch.setattr(candidate.sampler, "take", lambda count: [0.0] * count)
    assert run.doubled(candidate) is None


def test_bad_questions_name_the_fix(any_device: gpuopt.Device) -> None:
    with pytest.raises(ParameterError, match="protocol: there is none called 'slow'; use one of quick, short, full"):
        survey([], device=any_device, protocol="slow")
    with pytest.raises(ParameterError, match="microbench has none called 'swim'"):
        problems.microbenchmark("swim")
    for size in ({"bytes": 0}, {"trips": 0}, {"width": -1}):
        (name,) = size
        with pytest.raises(ParameterError, match=f"^{name}: it is {size[name]}; give a whole number of at least"):
            problems.microbenchmark("copy", **size)


# ---------------------------------------------------------------- device memory


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Only reference counts free what is held: a cycle would keep it for the length of the test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected", "brief_quick")
def test_device_memory_stays_flat(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made.release()
    before, held = device.allocated_bytes, []
    measure = SurveyRun.measure

    def watched(run: SurveyRun, point: Question) -> None:
        measure(run, point)
        held.append(device.allocated_bytes - before)

    monkeypatch.setattr(SurveyRun, "measure", watched)
    kinds = [Configuration("copy", WIDTH=5)]  # refused
    for width in (1, 4, 8):
        kinds += [
            Configuration("copy_chunks", WIDTH=width, ITEMS=8),
            Configuration("read_chunks", WIDTH=width),
            Configuration("fma", WIDTH=width, CHAINS=8),
        ]
    study = survey([Point(configuration, "float32", SMALL) for configuration in kinds], device=device)
    assert [row["status"] for row in study.points] == ["constraints"] + 9 * ["ok"]
    assert set(held[1:]) == {SMALL}  # the source, which is kept for the next question
    assert device.allocated_bytes == before


@pytest.mark.usefixtures("uncollected")
def test_a_candidate_takes_its_memory_along(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "last_level_cache", lambda index: caches.CacheSize(1 << 22))  # some have hundreds of MB
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    common = problem_fields(problem, device, "quick", "hot", None)

    def visit() -> None:
        chosen = complete("spmv", Configuration("basic"))
        flush = caches.flusher(device, [])
        for cold in (None, flush):
            candidate = variant_candidate(problem, chosen, None, device, common, PhaseTimer(), cold, lambda row: None)
            candidate.sampler.take(2)
            candidate.check()

    visit()  # the problem keeps its inputs on the device
    before = device.allocated_bytes
    visit()
    assert device.allocated_bytes == before


@pytest.mark.usefixtures("uncollected", "brief_quick")
def test_a_sweep_takes_its_memory_along(device: gpuopt.Device) -> None:
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    caches.last_level_cache(device.index)
    before = device.allocated_bytes
    lab.sweep(problem, "basic", protocol="quick", device=device, peers=())
    del problem
    assert device.allocated_bytes == before
