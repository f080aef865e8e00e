"""Ctrl-C while rows are written, and stores that several sweeps went on in."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import lab
from gpuopt.lab.rows import store as store_module
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import REMOVED, Store
from stored_rows import make, tripled


def numbers(path: Path) -> list[int | None]:
    return [row["block"] for row in Store(path).rows()]


def test_an_interrupt_after_a_write_leaves_the_rows_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may come when rows are in the file and nothing here knows it yet."""
    made, write = Store(tmp_path / "rows.jsonl"), os.write
    made.append(make(block=0))

    def interrupted(fd: int, data: bytes) -> int:
        write(fd, data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.append_all([make(block=1), make(block=2)])
    made.append(make(block=3))
    assert numbers(made.path) == [0, 1, 2, 3]
    assert made.problems == []


def test_an_interrupt_before_a_write_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Store(tmp_path / "rows.jsonl")
    made.append(make(block=0))

    def interrupted(fd: int, data: bytes) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.append(make(block=1))
    made.append(make(block=2))
    assert numbers(made.path) == [0, 1, 2]


class Interrupts:
    """Raises KeyboardInterrupt at the nth place of `Store.flush` where Python runs handlers of signals: where a
    function begins, and behind one that is written in C."""

    def __init__(self, at: int) -> None:
        self.left, self.began = at, False

    def __call__(self, frame: types.FrameType, event: str, _: object) -> None:
        self.began |= frame.f_code.co_name == "flush"
        if self.began and event in ("call", "c_return"):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def test_rows_are_in_the_file_wherever_interrupts_came(tmp_path: Path) -> None:
    """At each place, and at two; and the lock is let go, though the errors are kept."""
    rng, errors = np.random.default_rng(5), list[BaseException]()
    for turn in range(500):
        made, kept = Store(tmp_path / f"{turn}.jsonl"), [0]
        made.append(make(block=0))
        for block, at in ((1, 1 + turn % 125), (2, int(rng.integers(1, 125))), (3, None)):
            try:
                sys.setprofile(Interrupts(at) if at is not None else None)
                try:
                    made.append(make(block=block))
                finally:
                    sys.setprofile(None)
                kept.append(block)
            except KeyboardInterrupt as error:
                errors.append(error)
            there = {*numbers(made.path), *(row["block"] for row in made.unsaved)}
            assert {*kept} <= there
            assert {row["block"] for row in made.rows()} == there
        assert made.unsaved == []
        assert {*numbers(made.path)} == {row["block"] for row in made.latest()}
    assert 400 < len(errors) < 1000


def test_rows_that_are_written_together_are_all_held_where_the_file_takes_none() -> None:
    made = Store("/dev/full")
    with pytest.raises(ResultsError, match="cannot write"):
        made.append_all([make(block=0), make(block=1)])
    assert [row["block"] for row in made.unsaved] == [0, 1]


def test_rows_of_one_append_are_written_together_where_the_file_has_room_for_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, write = Store(tmp_path / "rows.jsonl"), os.write
    made.append(make(block=0))
    size = made.path.stat().st_size
    most = 3 * size + size // 2

    def limited(fd: int, data: bytes) -> int:
        return write(fd, data[: most - os.fstat(fd).st_size])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", limited)
        with pytest.raises(ResultsError, match=r"cannot write 3 rows of \d+ bytes to"):
            made.append_all([make(block=1), make(block=2), make(block=3)])
        assert numbers(made.path) == [0]
        most += 2 * size
        with pytest.raises(ResultsError, match=r"cannot write 2 rows of .*kept in memory \(Store\.unsaved\): 2"):
            made.append_all([make(block=4), make(block=5)])
        assert numbers(made.path) == [0, 1, 2, 3]
        assert [row["block"] for row in made.unsaved] == [4, 5]
    made.append(make(block=6))
    assert numbers(made.path) == [0, 1, 2, 3, 4, 5, 6]
    assert made.unsaved == []


def test_a_sweep_goes_on_from_blocks_of_its_own_alone(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another selection with the same baseline replaces the baseline's rows: what is left of a block is none."""
    kernel = tripled()
    problem, (one, two, four) = kernel.problem(n=10000), kernel.configurations(n=10000)
    path, keep_all = tmp_path / "rows.jsonl", Recorder.keep_all

    def swept(selection: list[gpuopt.Configuration], blocks: int | None) -> lab.Study:
        left = [blocks]

        def counted(recorder: Recorder, rows: list[Row]) -> list[Row]:
            if rows[0]["kind"] == "block" and left[0] is not None:
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
            return keep_all(recorder, rows)

        monkeypatch.setattr(Recorder, "keep_all", counted)
        return lab.sweep(
            problem, selection, protocol="quick", store=path, calls=False, device=any_device, progress=False
        )

    assert swept([one, two], 4).interrupted
    assert swept([one, four], 7).interrupted
    assert not swept([one, two], None).interrupted
    report = lab.audit(path)
    assert report.ok, report.discrepancies
    assert swept([one, two], 0).resumed is not None  # nothing is left to measure


@pytest.mark.parametrize("moved", [False, True])
def test_a_file_that_goes_while_rows_are_written_to_it_has_all_of_them_again(tmp_path: Path, moved: bool) -> None:
    made = Store(tmp_path / "out" / "rows.jsonl")
    made.append(make(block=0))
    made = Store(made.path)  # a run that goes on there
    for block in (1, 2):
        made.append(make(block=block))
        if moved:
            made.path.parent.rename(tmp_path / f"elsewhere-{block}")
        else:
            made.path.unlink()
    made.append_all([make(block=3), make(block=4)])
    made.append(make(block=5))
    assert numbers(made.path) == [0, 1, 2, 3, 4, 5]
    assert [damage.reason for damage in made.problems] == [REMOVED]
    assert Store(made.path).problems == []


@pytest.mark.parametrize("instead", ["nothing", "an older copy", "itself, cut short"])
def test_rows_of_two_writers_are_all_there_again_whoever_writes_first(tmp_path: Path, instead: str) -> None:
    path = tmp_path / "rows.jsonl"
    one, other = Store(path), Store(path)
    one.append(make(block=0))
    older = path.read_bytes()
    other.append(make(block=1))
    if instead == "itself, cut short":
        path.write_bytes(older)
    else:
        path.rename(tmp_path / "elsewhere.jsonl")
        if instead == "an older copy":
            path.write_bytes(older)
    one.append(make(block=2))
    other.append(make(block=3))
    one.append(make(block=4))
    assert sorted(numbers(path)) == [0, 1, 2, 3, 4]
    assert REMOVED in [damage.reason for damage in other.problems]


def test_a_file_whose_rows_another_program_wrote_anew_keeps_them_once(tmp_path: Path) -> None:
    made = Store(tmp_path / "rows.jsonl")
    made.append_all([make(block=0), make(block=1)])
    text = made.path.read_bytes().splitlines(keepends=True)
    made.path.write_bytes(b"".join(text[::-1]))
    made.append(make(block=2))
    assert sorted(numbers(made.path)) == [0, 1, 2]
    assert REMOVED not in [damage.reason for damage in made.problems]


def test_a_place_that_takes_no_file_is_told_each_time() -> None:
    made = Store("/proc/rows.jsonl")
    for count in (1, 2):
        with pytest.raises(ResultsError, match=f"cannot write .* Rows kept in memory .*: {count};"):
            made.append(make(block=count))
    with pytest.raises(ResultsError, match="cannot write"):
        made.flush()


def test_a_newer_row_of_another_writer_stands(tmp_path: Path) -> None:
    made = Store(tmp_path / "rows.jsonl")
    old = make(block=0, time_utc="2026-11-01T00:00:00Z", median_ms=2.0)
    made.append_all([old, make(block=1)])
    made.path.rename(tmp_path / "archive.jsonl")
    Store(made.path).append(old | {"time_utc": "2026-11-02T00:00:00Z", "median_ms": 1.0})
    made.append(make(block=2))
    found = Store(made.path)
    assert sorted(numbers(made.path)) == [0, 1, 2]
    assert [row["median_ms"] for row in found.latest() if row["block"] == 0] == [1.0]


def test_rows_without_a_time_are_written_again_where_they_lack(tmp_path: Path) -> None:
    made = Store(tmp_path / "rows.jsonl")
    made.append_all([make(block=0, time_utc=None), make(block=1, time_utc=None)])
    made.path.write_bytes(made.path.read_bytes().splitlines(keepends=True)[0])
    made.append(make(block=2))
    assert sorted(numbers(made.path)) == [0, 1, 2]


def test_files_are_read_in_parts_where_one_read_gives_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read(fd, min(size, 700), at))
    (tmp_path / "bytes").write_bytes(bytes(range(250)) * 10)
    with open(tmp_path / "bytes", "rb") as file:
        assert store_module._whole(file.fileno(), 2500) == bytes(range(250)) * 10
