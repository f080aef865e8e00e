"""A disk that is full: who writes tells the caller what is saved and what is not, and leaves no half file."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

import gpuopt
import own_kernels
import study_rows
from cli_bench import Bench
from gpuopt import device_commands, files, io, lab, problems
from gpuopt.lab.device.profile import Ceiling, Profile, save
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder, UnsavedRowsError
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.show.style import Picture
from gpuopt.molecule import Surface
from stored_rows import tripled


@contextmanager
def room(most_bytes: int) -> Iterator[None]:
    """No file of this process gets longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


# ---------------------------------------------------------------- rows


def test_a_search_that_the_disk_does_not_take_is_the_callers(any_device: gpuopt.Device, tmp_path: Path) -> None:
    """Its rows were gone with the error of the sweep after it."""
    path, kernel = tmp_path / "rows.jsonl", own_kernels.saxpy()

    def found() -> object:
        return lab.search(kernel, strategy="exhaustive", device=any_device, store=path, n=4096)

    found()
    searched = [row for row in Store(path).latest() if row["kind"] == "search"]
    with path.open("rb") as file:
        most = sum(len(file.readline()) for _ in range(3))
    path.unlink()
    held = pytest.warns(UserWarning, match="rows are held in memory and tried again")
    with room(most), held, pytest.raises(UnsavedRowsError) as caught:
        found()
    rows = [row for row in caught.value.study.rows if row["kind"] == "search"]
    assert [row["configuration"] for row in rows] == [row["configuration"] for row in searched]


def sweep(device: gpuopt.Device, protocol: str, rows: Path, radius: int = 2) -> Study:
    problem = problems.spmv_grid(40, 30, radius=radius, device=device)
    return lab.sweep(problem, "basic", protocol=protocol, device=device, peers=(), calls=False, store=rows)


def test_rows_that_are_not_saved_are_the_callers(any_device: gpuopt.Device, brief: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    sweep(any_device, brief, path)  # kernels are built, and a file's first rows have a size
    size = path.stat().st_size
    path.unlink()
    held = pytest.warns(UserWarning, match="rows are held in memory and tried again")
    with room(size // 2), held, pytest.raises(UnsavedRowsError, match=r"rows are not in .*rows\.jsonl") as caught:
        sweep(any_device, brief, path)
    error = caught.value
    saved = Store(path).latest()
    assert saved
    assert error.saved == len(saved)
    assert len(error.study.rows) == error.saved + error.unsaved
    assert f"{error.unsaved} of {len(error.study.rows)} rows are not in" in str(error)
    assert "basic" in error.study.to_text()
    error.store.flush()  # there is room again
    assert {row["row_id"] for row in Store(path).latest()} == {row["row_id"] for row in error.study.rows}


def test_what_a_full_disk_leaves_of_a_sweep_follows(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block is in the file whole or not at all, and so are the summaries: wherever the disk is full, nothing stands
    there that the audit cannot compute again, and the same sweep goes on from there."""
    kept: list[list[Row]] = []
    keep_all = Recorder.keep_all

    def noted(recorder: Recorder, rows: list[Row]) -> list[Row]:
        kept.append(rows)
        return keep_all(recorder, rows)

    def swept(path: Path) -> Study:
        return lab.sweep(tripled().problem(n=10000), protocol="quick", store=path, device=any_device, progress=False)

    with monkeypatch.context() as patched:
        patched.setattr(Recorder, "keep_all", noted)
        swept(tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    ends = [*accumulate(map(len, lines))]
    kinds = [(row["kind"], row.get("block")) for rows in kept for row in rows]
    assert len(kinds) == len(lines)
    path, seen = tmp_path / "rows.jsonl", set()
    for kind in (("block", 0), ("block", 1), ("summary", None)):
        for end in (end for end, of in zip(ends, kinds, strict=True) if of == kind):
            path.unlink(missing_ok=True)
            store = Store(path)
            with room(end - 1):
                for rows in kept:
                    with suppress(ResultsError):
                        store.append_all(rows)
            left = path.read_bytes()
            if left not in seen:
                assert lab.audit(path).discrepancies == []
            seen.add(left)
        study = swept(path)
        assert {row["blocks"] for row in study.rows if row["kind"] == "summary" and row["role"] == "variant"} == {10}
        assert lab.audit(path).discrepancies == []
        visits = [row["row_id"] for row in Store(path).rows() if row["kind"] == "block"]
        assert len(visits) == len(set(visits))  # nothing was left of the block that was measured again


@pytest.mark.parametrize("lost", [0, 1, -1], ids=["first", "second", "last"])
def test_a_visit_that_a_summarised_block_lacks_is_found(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path, lost: int
) -> None:
    path = tmp_path / "rows.jsonl"
    lab.sweep(tripled().problem(n=10000), protocol="quick", store=path, device=any_device, progress=False)
    lines = path.read_bytes().splitlines(keepends=True)
    of_block = [number for number, line in enumerate(lines) if json.loads(line).get("block") == 4]
    del lines[of_block[lost]]
    path.write_bytes(b"".join(lines))
    assert not lab.audit(path).ok


def test_a_disk_that_has_room_again_leaves_no_note(tmp_path: Path) -> None:
    def keep(number: int) -> None:
        recorder.keep({"kind": "search", "status": "ok", "seed": number})

    recorder = Recorder(tmp_path / "rows.jsonl")
    keep(1)
    size = (tmp_path / "rows.jsonl").stat().st_size
    for again in range(2):
        with room(size), pytest.warns(UserWarning, match="rows are held in memory and tried again"):
            keep(2 + 2 * again)
        assert any("held in memory" in note for note in recorder.notes)
        keep(3 + 2 * again)
        assert recorder.notes == []
        size = (tmp_path / "rows.jsonl").stat().st_size


def test_what_is_saved_is_counted_in_this_study_alone(any_device: gpuopt.Device, brief: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for radius in (2, 3):
        sweep(any_device, brief, path, radius)
    held = pytest.warns(UserWarning, match="rows are held in memory")
    with room(path.stat().st_size + 6000), held, pytest.raises(UnsavedRowsError) as caught:
        sweep(any_device, brief, path, radius=4)
    assert caught.value.saved + caught.value.unsaved == len(caught.value.study.rows)


def test_a_file_that_takes_no_row_is_told_before_anything_is_measured(any_device: gpuopt.Device, brief: str) -> None:
    with pytest.raises(gpuopt.Error, match=r"to /dev/full: No space left"):
        sweep(any_device, brief, Path("/dev/full"))


def test_a_survey_and_its_rounds_say_so_too(any_device: gpuopt.Device, brief_quick: None, tmp_path: Path) -> None:
    from gpuopt import Configuration
    from gpuopt.lab.run.rounds import survey_in_rounds
    from gpuopt.workloads.microbench.points import Point

    points = [Point(Configuration("fma"), trips=trips) for trips in (4, 8, 16)]
    for number, ask in enumerate((lab.survey, survey_in_rounds)):
        path = tmp_path / f"{number}.jsonl"
        ask(points, device=any_device, store=path)
        size = path.stat().st_size
        path.unlink()
        held = pytest.warns(UserWarning, match="rows are held")
        with room(size // 2), held, pytest.raises(UnsavedRowsError) as caught:
            ask(points, device=any_device, store=path)
        assert caught.value.saved == len(Store(path).latest()) > 0
        assert len(caught.value.study.points) == 3


def unsaved() -> UnsavedRowsError[Study]:
    store = Store("/dev/full")
    with suppress(ResultsError):
        store.append({"kind": "search", "status": "ok"})
    return UnsavedRowsError(Study(study_rows.rows(), study_rows.INFO), store, "No space left on device", 4)


@pytest.mark.parametrize("command", ["study", "tune"])
def test_the_command_fails_and_shows_what_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str) -> None:
    bench = Bench(monkeypatch, tmp_path)

    def full(**asked: object) -> Study:
        raise unsaved()

    monkeypatch.setattr(bench, "sweep" if command == "study" else "tune", full)
    result = bench.run(command, "made-up", *(["--out", str(tmp_path)] if command == "study" else []))
    assert result.exit_code == 2
    assert "written" not in result.stdout
    assert "1 of" in result.stderr
    assert "No space left on device" in result.stderr
    assert "lost" in result.stderr
    assert ("no configuration was stored" in result.stderr) == (command == "tune")
    assert Study(study_rows.rows(), study_rows.INFO).headline() in result.stdout


def test_a_profile_without_its_rows_is_kept_and_told(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from gpuopt import Configuration
    from gpuopt.lab.device import profile
    from gpuopt.workloads.microbench import ceilings
    from gpuopt.workloads.microbench.points import Point

    few = [Point(Configuration("read_chunks", WIDTH=8), "float32", 1 << 20), Point(Configuration("fma"), trips=4)]
    monkeypatch.setattr(ceilings, "headline", lambda device: few)
    monkeypatch.setattr(profile, "path_of", lambda device: tmp_path / "kept.json")
    rows = tmp_path / "rows.jsonl"
    held = pytest.warns(UserWarning, match="rows are held")
    with room(30_000), held, pytest.raises(UnsavedRowsError, match="are not in"):
        ceilings.profile(any_device, force=True, store=rows)
    assert set(profile.load(tmp_path / "kept.json").ceilings) >= {"dram.read"}


def test_what_was_measured_is_shown_where_it_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(monkeypatch, tmp_path)
    made = Profile("A card", "1.0", "P", "2026-11-22", "0.1.0", {"dram.read": Ceiling(30.0, "GB/s", "read")})
    monkeypatch.setattr(device_commands, "select", lambda device=None: next(iter(gpuopt.devices())))
    monkeypatch.setattr(device_commands.profiles, "path_of", lambda device: tmp_path / "profiles" / "a.json")

    def profile(device: gpuopt.Device, **how: object) -> Profile:
        save(made, tmp_path / "profiles" / "a.json")
        return made

    monkeypatch.setattr(device_commands.ceilings, "profile", profile)
    with room(100):
        result = bench.run("profile")
    assert result.exit_code == 2
    assert "dram.read" in result.stdout
    assert "cannot be written" in result.stderr
    assert "nowhere else" in result.stderr
    assert list((tmp_path / "profiles").iterdir()) == []


# ---------------------------------------------------------------- pictures, meshes, text


def surface() -> Surface:
    draw = np.random.default_rng(1)
    return Surface(draw.standard_normal((500, 3)))


def picture(path: Path) -> None:
    figure = Picture(figsize=(4, 3))
    figure.subplots().plot([1, 2], [1, 3])
    figure.savefig(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "picture.png": picture,
    "picture.svg": picture,
    "surface.ply": lambda path: io.write_ply(path, surface(), np.ones(500)),
    "ladder.png": lambda path: Study(study_rows.rows(), study_rows.INFO).save_plots(path.parent),
    "claims.html": lambda path: lab.claims().save(path.parent, pictures=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_half_file_is_left(tmp_path: Path, name: str) -> None:
    with room(1000), pytest.raises(files.WriteError, match=r"cannot be written: [^;]*\. To go on, "):
        WRITERS[name](tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000


def test_a_command_without_its_pictures_says_that_its_rows_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench(monkeypatch, tmp_path)
    with room(1000):
        result = bench.run_study()
    assert result.exit_code == 2
    assert "ladder.png cannot be written" in result.stderr
    assert f"the rows are in {tmp_path / 'rows.jsonl'}" in " ".join(result.stderr.split())
    assert "written" not in result.stdout


def test_pictures_are_those_of_matplotlib(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b")  # matplotlib's own suffix
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("words", [["devices"], ["doctor"], ["papers"], ["--help"]])
def test_text_that_nobody_gets_is_a_failure(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpuopt", *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode != 0
    assert "No space left on device" in done.stderr


def doubled(factor: int, n: int) -> lab.Kernel:
    text = f"kernel void f(global float* x) {{ x[get_global_id(0)] *= {factor}; }}"
    return lab.Kernel(text, "f", arguments=[lab.inout("x", n)], launch=lab.launch(items=n, local=1))


def test_a_task_and_its_text_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    path, text = tmp_path / "task.json", tmp_path / "task.kernel.cl"
    lab.write_t1(doubled(2, 4), path)
    before = {each: each.read_bytes() for each in (path, text)}
    assert len(before[text]) < 200 < len(before[path])
    with room(200), pytest.raises(files.WriteError, match=r"task\.json cannot be written: .*; what it held stands"):
        lab.write_t1(doubled(3, 8), path)
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before
    lab.write_t1(doubled(3, 8), path)
    assert {each.name for each in tmp_path.iterdir()} == {"task.json", "task.kernel.cl"}
    assert lab.read_t1(path).task.by_name["x"].shape[0].text == "8"


def test_a_text_that_is_not_the_one_of_its_task_is_told(tmp_path: Path) -> None:
    """As of a task that a crash left beside another one's. Ends of lines do not count; a task may say no hash."""
    path, text = tmp_path / "task.json", tmp_path / "task.kernel.cl"
    lab.write_t1(doubled(2, 4), path)
    text.write_bytes(text.read_bytes().replace(b"\n", b"\r\n"))
    lab.read_t1(path)
    text.write_text(text.read_text().replace("2", "3"))
    says = r"^task\.kernel\.cl is not the text that the task was written with; .* KernelSpecification\.gpuopt_text_sha"
    with pytest.warns(UserWarning, match=says) as told:
        assert "3" in lab.read_t1(path).code.source.text
    assert told[0].filename == __file__
    whole = json.loads(path.read_text())
    del whole["KernelSpecification"]["gpuopt_text_sha256"]
    path.write_text(json.dumps(whole))
    lab.read_t1(path)
