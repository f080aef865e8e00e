"""Stored profiles, comparisons and records with a byte changed: noticed, set aside, and no study ends for it."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gpuopt
from gpuopt import lab, problems, records, sealed
from gpuopt.files import WriteError
from gpuopt.lab.device import aa_record, profile
from gpuopt.lab.device.aa_record import AA, Shown
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.unit import unit_of

STORED = profile.stored  # before a fixture hides the user's own
MUTATIONS = 150


class Kept(NamedTuple):
    """A stored file, what it is read as, and how."""

    path: Path
    good: Any
    read: Callable[[], Any]


def kept_profile(device: gpuopt.Device) -> Kept:
    ceilings = {
        "dram.read": Ceiling(11.25, "GB/s", "read(AHEAD=4)", 11.0, 11.5),
        "launch": Ceiling(5.5, "us", "nothing"),
    }
    label = profile.device_label(device)
    made = Profile(label, device.driver, device.platform, "2026-11-22", "0.1.0", ceilings, unit=unit_of(device))
    path = profile.save(made, profile.path_of(device))
    return Kept(path, ceilings, lambda: getattr(STORED(device), "ceilings", None))


def kept_comparisons(device: gpuopt.Device) -> Kept:
    made = AA(
        "A device", "1", "P", "2026-11-22T00:00:00Z", "0.1.0", 60.0, (Shown("event", "long", 1.5, 8, 0, 7, 1, 0.013),)
    )
    path = aa_record.save(made, aa_record.path_of(device))
    return Kept(path, [made], lambda: aa_record.history(path) or None)


def kept_records(device: gpuopt.Device) -> Kept:
    made = {"match": {"name": "A device"}, "variant": "plain", "parameters": {"LOCAL": 128}, "date": "2026-11-22"}
    path = records.store_records("spmv", [made])
    return Kept(path, [made], lambda: records.user_records("spmv") or None)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))


def mutated(content: bytes, draw: random.Random) -> bytes:
    """One byte changed, left out or put in, or the end cut off."""
    at, byte = draw.randrange(len(content)), bytes([draw.randrange(256)])
    return [
        content[:at] + byte + content[at + 1 :],
        content[:at] + content[at + 1 :],
        content[:at] + byte + content[at:],
        content[:at],
    ][draw.randrange(4)]


@pytest.mark.parametrize("keep", [kept_profile, kept_comparisons, kept_records])
def test_no_mutation_is_believed(any_device: gpuopt.Device, keep: Callable[[gpuopt.Device], Kept]) -> None:
    kept = keep(any_device)
    content, noticed = kept.path.read_bytes(), 0
    assert kept.read() == kept.good
    draw = random.Random(20)
    for _ in range(MUTATIONS):
        kept.path.write_bytes(wrong := mutated(content, draw))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = kept.read()
        if found == kept.good:
            assert json.loads(wrong) == json.loads(content)  # a space
            continue
        assert found is None
        noticed += 1
        assert "is not used" in str(told[0].message) or "and not used" in str(told[0].message)
        others = [path for path in kept.path.parent.iterdir() if path != kept.path]
        if "damaged" in str(told[0].message):
            assert not kept.path.exists()
            assert [path.read_bytes() for path in others] == [wrong]
            others[0].unlink()
        else:
            assert (kept.path.read_bytes(), others) == (wrong, [])  # of a later version, as far as one can tell
    assert noticed > 0.9 * MUTATIONS


@pytest.mark.parametrize("byte", [b"\xff", b"7"])
def test_a_study_goes_on_without_its_profile(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, brief: str, byte: bytes
) -> None:
    monkeypatch.setattr(profile, "stored", STORED)
    kept = kept_profile(any_device)
    kept.path.write_bytes(kept.path.read_bytes().replace(b"11.25", b"11.2" + byte))
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    with pytest.warns(UserWarning, match="is damaged"):
        study = lab.sweep(problem, ["basic"], protocol=brief, device=any_device, peers=(), calls=False)
    (note,) = [note for note in study.notes if "no profile" in note]
    assert f"a damaged one was set aside as {kept.path.stem}-1.json" in note
    assert kept.path.with_name(f"{kept.path.stem}-1.json").exists()


def test_files_without_a_checksum_are_read_where_they_are_valid(any_device: gpuopt.Device) -> None:
    for kept, schema in (
        (kept_profile(any_device), 3),
        (kept_comparisons(any_device), 1),
        (kept_records(any_device), 0),
    ):
        held = json.loads(kept.path.read_text())
        del held["sha256"]
        if schema == 3:
            earlier: Any = held | {"schema": 3}
        else:
            listed = held["comparisons" if schema else "records"]
            earlier = [one | ({"schema": 1} if schema else {}) for one in listed]
        kept.path.write_text(json.dumps(earlier))
        assert kept.read() == kept.good


@pytest.mark.parametrize(
    "wrong",
    [
        {"ceilings": {"dram.read": {"rate": True, "unit": "GB/s", "configuration": "a"}}},
        {"ceilings": {"dram.read": {"rate": 1.0, "unit": "GB/s", "configuration": "a", "lo": "x"}}},
        {"ceilings": {"dram.read": {"rate": 10**400, "unit": "GB/s", "configuration": "a"}}},
        {"ceilings": {"dram.read": {"rate": 1.0, "unit": 5, "configuration": "a"}}},
        {"refused": {"dram.read": 5}},
        {"sittings": [{"time_utc": "2026", "driver": "1", "rates": {"dram.read": "fast"}}]},
        {"levels": [{"bytes": "1", "rate_gb_s": 1.0, "lo": 1.0, "hi": 1.0}]},
        {"date": 5},
        {"schema": True},
    ],
)
def test_earlier_profiles_of_wrong_types_are_refused(any_device: gpuopt.Device, wrong: dict[str, Any]) -> None:
    held = json.loads(kept_profile(any_device).path.read_text()) | {"schema": 3}
    del held["sha256"]
    assert Profile.from_json(json.dumps(held)).device
    with pytest.raises(gpuopt.ParameterError, match="the text holds none"):
        Profile.from_json(json.dumps(held | wrong))


def test_a_study_without_a_cache_says_so(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, brief: str, tmp_path: Path
) -> None:
    monkeypatch.undo()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "programs").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path / "cache"))
    assert sealed.unused()
    monkeypatch.setitem(PROTOCOLS, "brief", dataclasses.replace(PROTOCOLS["quick"], name="brief", visit_s=1e-4))
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    study = lab.sweep(problem, ["basic"], protocol="brief", device=any_device, peers=(), calls=False)
    assert any("built kernels are not kept" in note and "is a link, or no folder" in note for note in study.notes)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_of_a_later_version_stays_where_it_is(any_device: gpuopt.Device) -> None:
    kept = kept_profile(any_device)
    kept.path.write_text('{"schema": 99, "more": "facts"}')
    with pytest.warns(UserWarning, match=r"is not used: .*its schema is 99"):
        assert kept.read() is None
    assert [path.name for path in kept.path.parent.iterdir()] == [kept.path.name]


@pytest.mark.parametrize("keep", [kept_profile, kept_comparisons, kept_records])
def test_a_file_of_a_later_version_is_not_replaced(
    any_device: gpuopt.Device, keep: Callable[[gpuopt.Device], Kept]
) -> None:
    path = keep(any_device).path
    later = '{"schema": 99, "more": "facts"}'
    path.write_text(later)
    with pytest.raises(WriteError, match=r"is a later gpuopt's \(its schema is 99, .*set GPUOPT_CACHE_DIR"):
        keep(any_device)
    assert path.read_text() == later


@pytest.mark.parametrize("keep", [kept_profile, kept_comparisons, kept_records])
@pytest.mark.timeout(60)
@pytest.mark.filterwarnings("ignore:.* is no file, or another user's")
def test_a_pipe_keeps_no_writer_waiting(any_device: gpuopt.Device, keep: Callable[[gpuopt.Device], Kept]) -> None:
    path = keep(any_device).path
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(gpuopt.Error, match="is no regular file"):
        keep(any_device)


def test_rows_of_a_tuning_are_not_believed_in_a_folder_that_may_be_anothers(
    any_device: gpuopt.Device, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tuned").symlink_to(tmp_path / "elsewhere")
    problem = problems.spmv_grid(40, 30, radius=2, device=any_device)
    with pytest.raises(WriteError, match="is a link, or no folder"):
        lab.tune(problem, variants=["basic"], protocol="brief", device=any_device)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_another_user_may_have_left_is_not_believed(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for keep in (kept_profile, kept_comparisons, kept_records):
        kept = keep(any_device)
        monkeypatch.setattr("os.geteuid", lambda: 54321)
        with pytest.warns(UserWarning, match="another user's"):
            assert kept.read() is None
        monkeypatch.undo()
        monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    kept.path.parent.rename(tmp_path / "elsewhere")
    kept.path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match="is a link, or no folder"):
        assert kept.read() is None
    with pytest.raises(gpuopt.Error, match=r"is a link, or no folder; set GPUOPT_CACHE_DIR") as caught:
        kept_records(any_device)
    assert isinstance(caught.value, OSError)


def test_records_of_another_user_are_set_aside_and_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = ({"match": {"dtype": name}, "variant": "naive", "parameters": {}} for name in ("float64", "float32"))
    path = records.store_records("tmv", [one])
    left = path.read_text()
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: 54321)
        records.store_records("tmv", [other])
    assert records.user_records("tmv") == [other]
    assert path.with_name("tmv-1.json").read_text() == left


def test_a_file_that_is_too_large_is_set_aside(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "MOST_BYTES", 1000)
    kept = kept_records(any_device)
    kept.path.write_bytes(b" " * 5000)
    with pytest.warns(UserWarning, match=r"is damaged \(it has .*renamed to spmv-1\.json"):
        assert kept.read() is None
    assert [path.name for path in kept.path.parent.iterdir() if path.suffix == ".json"] == ["spmv-1.json"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept.read() is None
