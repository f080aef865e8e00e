"""Profiles: made of points, kept a device and driver, refused for another; bounds divide by them."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
from gpuopt import Configuration, Error, ParameterError, files, lab, problems, unit
from gpuopt.lab.device import bounds, profile
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.rows.schema import GROUPS, Row, new_row
from gpuopt.lab.run.survey import SurveyRun
from gpuopt.unit import unit_of
from gpuopt.workloads.microbench import ceilings
from gpuopt.workloads.microbench.points import Point

MB = 1e6
stored = profile.stored  # before a fixture hides the user's own


def point(family: str, variant: str, median_ms: float, **fields: Any) -> Row:
    given = {"kind": "point", "role": "variant", "status": "ok", "workload": "microbench", "family": family}
    given |= {"variant": variant, "configuration": variant, "params": {}, "dtype": "float32", "sizes": {"bytes": MB}}
    given |= {"device": "A card", "driver": "1.0", "platform": "P", "median_ms": median_ms}
    return new_row(**(given | fields))


def sweep() -> list[Row]:
    """31 TB/s to 256 KiB, 9 TB/s to 50 MB, 4 TB/s beyond."""
    rows = []
    for k in range(34):
        size = 16384 * 2 ** (k / 2)
        rate = 31000.0 if size <= 262144 else 9000.0 if size <= 50e6 else 4000.0
        rows.append(point("cached", "reread", size / rate * 1e-6, gb_s=rate, sizes={"bytes": size}))
    return rows


def rows() -> list[Row]:
    return [
        point("read", "read", 0.25, gb_s=4000.0, configuration="read(AHEAD=4)", ci_lo_ms=0.24, ci_hi_ms=0.26),
        point("read", "read", 0.20, gb_s=5000.0, configuration="read(AHEAD=16)"),
        point("read", "read", 0.01, gb_s=99999.0, flags=["suspicious"]),
        point("copy", "copy", 0.5, gb_s=4200.0),
        point("flops", "fma", 1.0, gflop_s=60000.0),
        point("flops", "fma", 1.0, gflop_s=30000.0, dtype="float64"),
        point("tensor", "mma_bf16", 1.0, gop_s=600000.0, special={"mma_bf16": 6e11}),
        point("special", "native_rsqrt", 1.0, gop_s=4000.0, special={"native_rsqrt": 4e9}),
        point("latency", "chase", 1.0, latency_ns=600.0, special={"load": 1e3}, sizes={"bytes": 1 << 30}),
        point("latency", "chase", 1.0, latency_ns=20.0, special={"load": 1e3}, sizes={"bytes": 1 << 14}),
        point("launch", "nothing", 0.0095, gop_s=1e-4, special={"launch": 1.0}),
        point("image2d", "image2d", 1.0, gb_s=16000.0, gop_s=1000.0, special={"fetch": 1e9}),
        point("transfer", "upload", 1.0, gb_s=55.0),
        point("local", "local", 1.0, gb_s=31000.0),
        new_row(kind="point", status="unsupported", reason="no images", family="image1d", variant="image1d"),
        *sweep(),
    ]


def unsealed(text: str) -> dict[str, Any]:
    """A profile without its checksum, as before schema 4."""
    held = json.loads(text)
    assert len(held.pop("sha256")) == 64
    return held


@pytest.fixture
def made() -> Profile:
    return ceilings.of_rows(rows())


def test_a_ceiling_is_the_best_of_its_points(made: Profile) -> None:
    read = made.ceilings["dram.read"]
    assert (read.rate, read.unit, read.configuration) == (5000.0, "GB/s", "read(AHEAD=16) float32")
    assert made.rate("dram.copy") == 4200.0
    assert made.rate("float32") == 60000.0
    assert made.rate("float64") == 30000.0
    assert made.rate("native_rsqrt") == 4000.0
    assert made.ceilings["mma_bf16"] == Ceiling(600000.0, "GFLOP/s", "mma_bf16 float32")
    assert made.rate("l1") == 31000.0
    assert made.rate("fetch") == 1000.0
    assert made.ceilings["latency.1024MiB"].rate == 600.0
    assert made.ceilings["latency.16KiB"].unit == "ns"
    assert made.ceilings["launch"] == Ceiling(9.5, "us", "nothing float32")
    assert made.rate("image of another kind") is None


def test_intervals_of_rates_turn_round() -> None:
    ceiling = ceilings.of_rows(rows()[:1]).ceilings["dram.read"]
    assert ceiling.lo == pytest.approx(4000 * 0.25 / 0.26)
    assert ceiling.hi == pytest.approx(4000 * 0.25 / 0.24)


def test_levels_come_from_the_sweep(made: Profile) -> None:
    assert made.last_level_cache_bytes is not None
    assert 40e6 < made.last_level_cache_bytes < 72e6
    assert made.rate("cache2") == pytest.approx(9000)
    assert [level.bytes is None for level in made.levels] == [False, False, True]


def test_nothing_good_is_no_profile() -> None:
    with pytest.raises(Error, match="no microbenchmark ran"):
        ceilings.of_rows([row for row in rows() if row["status"] != "ok"])


def test_points_that_none_can_believe_give_no_ceilings() -> None:
    """As on a machine that was busy all the while; what asks for a rate then gets None."""
    doubtful = [row | {"flags": [*row["flags"], "suspicious"]} for row in rows() if row["family"] != "cached"]
    assert ceilings.of_rows(doubtful).ceilings == {}
    assert ceilings.of_rows(doubtful).rate("float32") is None


def test_a_profile_survives_its_file(made: Profile, tmp_path: Path) -> None:
    path = profile.save(made, tmp_path / "deep" / "profile.json")
    back = profile.load(path)
    assert back.ceilings == made.ceilings
    assert back.levels == made.levels
    assert [row["median_ms"] for row in back.rows] == [row["median_ms"] for row in made.rows]
    assert json.loads(path.read_text())["device"] == "A card"
    assert not list(path.parent.glob("*.tmp"))


def test_its_rows_are_compact_and_those_of_earlier_files_are_read(made: Profile) -> None:
    other = {"samples_ms": [0.25] * 40, "options": "-DREAL=float"} | dict.fromkeys(GROUPS["identity"])
    whole = dataclasses.replace(made, rows=tuple(new_row(**row | other) for row in made.rows))
    text = whole.to_json()
    assert "samples_ms" not in text
    assert text.count("-DREAL=float") == 1
    earlier = unsealed(text) | {"schema": 1, "rows": whole.rows}
    old, new = Profile.from_json(json.dumps(earlier)), Profile.from_json(text)
    assert old.rows == whole.rows
    assert new.rows == tuple(row | {"samples_ms": None} for row in whole.rows)
    assert (new.ceilings, new.levels, repr(new)) == (old.ceilings, old.levels, repr(old))
    assert new.study.to_text(160) == old.study.to_text(160)
    assert new.to_json() == old.to_json() == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[]",
            "{}",
            '{"schema": 2}',
            '{"schema": 1}',
            "[" * 99999,
            '{"schema": 1, "ceilings": {"a": {"rate": "x"}}}',
        ),
        *('{"schema": 2, "rows": 5}', '{"schema": 2, "rows": [{"like": "0123456789"}]}'),
        *('{"schema": 2, "rows": [{"schema": 9}]}', '{"schema": 3, "rows": []}'),
    ],
)
def test_damaged_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match="run `gpuopt profile` again"):
        profile.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        profile.load(tmp_path / "none.json")


def test_a_profile_of_another_device_is_refused_by_name(
    made: Profile, any_device: gpuopt.Device, tmp_path: Path
) -> None:
    path = profile.save(made, tmp_path / "profile.json")
    with pytest.raises(ParameterError, match=r"it is of A card with driver 1\.0, not of") as caught:
        profile.load(path, any_device)
    assert any_device.name in str(caught.value)


CARDS: list[Any] = [
    SimpleNamespace(
        name="A card", platform="P", driver="1.0", type="gpu", key=f"P / A card{number}", pci=f"0000:0{bus}:00.0"
    )
    for bus, number in ((1, ""), (2, " #2"))
]


def test_equal_devices_keep_profiles_of_their_own(
    made: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(profile, "select", lambda device: device)
    monkeypatch.setattr(Profile, "check_is_of", inspect.unwrap(Profile.check_is_of))  # CARDS are no Devices
    one, other = CARDS
    assert profile.path_of(one) != profile.path_of(other)
    mine = dataclasses.replace(made, unit=unit_of(one))
    profile.save(mine, profile.path_of(one))
    kept = stored(one)
    assert kept is not None
    assert kept == dataclasses.replace(mine, rows=kept.rows, sittings=kept.sittings)
    assert kept.sittings == (mine.sitting(),)
    assert stored(other) is None
    with pytest.raises(ParameterError, match=rf"it is of unit {mine.unit}, not of unit {unit_of(other)}"):
        profile.load(profile.path_of(one), other)
    alone = SimpleNamespace(**vars(other) | {"key": "P / A card"})  # the only one that this process may see
    theirs = dataclasses.replace(made, unit=unit_of(other), device="A card #2")
    profile.save(theirs, profile.path_of(other))
    assert stored(alone).unit == unit_of(other)  # type: ignore[arg-type, union-attr]


def test_a_profile_of_no_unit_counts_where_there_is_one_such_device(
    made: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(profile, "select", lambda device: device)
    monkeypatch.setattr(Profile, "check_is_of", inspect.unwrap(Profile.check_is_of))  # CARDS are no Devices
    assert made.unit is None
    (tmp_path / "profiles").mkdir()
    facts = unsealed(made.to_json()) | {"schema": 3}
    del facts["unit"]  # as earlier versions wrote it
    (tmp_path / "profiles" / "a-card-1-0.json").write_text(json.dumps(facts))
    monkeypatch.setattr(unit._core, "devices", lambda: CARDS[:1])
    assert stored(CARDS[0]).ceilings == made.ceilings  # type: ignore[union-attr]
    monkeypatch.setattr(unit._core, "devices", lambda: CARDS)
    assert stored(CARDS[0]) is None
    with pytest.raises(ParameterError, match="one of several equal devices"):
        profile.load(tmp_path / "profiles" / "a-card-1-0.json", CARDS[0])


def test_a_profile_has_the_unit_of_its_points() -> None:
    assert ceilings.of_rows([row | {"unit": "ab12"} for row in rows()]).unit == "ab12"


def test_a_full_disk_keeps_the_earlier_profile(made: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = profile.save(made, tmp_path / "profile.json")
    before = path.read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Error, match="No space left"):
        profile.save(dataclasses.replace(made, driver="2.0"), path)
    assert path.read_text() == before
    assert not list(tmp_path.glob("*.tmp"))


def test_a_profile_replaces_a_profile_and_no_rows(made: Profile, tmp_path: Path) -> None:
    few = dataclasses.replace(made, rows=made.rows[:1])  # which no template says: a whole row on a line of the file
    path = profile.save(few, tmp_path / "profile.json")
    assert len(profile.load(profile.save(made, path)).rows) == len(made.rows)
    (held := lab.Store(tmp_path / "rows.jsonl")).append(point("copy", "copy", 0.5))
    with pytest.raises(files.WriteError, match=r"rows\.jsonl holds rows of a study") as caught:
        profile.save(made, held.path)
    assert caught.value.made is made
    assert len(lab.Store(held.path).rows()) == 1


def test_profiles_print(made: Profile) -> None:
    text = repr(made)
    assert "dram.read" in text
    assert "cache levels" in text
    assert "<table>" in made._repr_html_()


def test_a_small_profile_of_a_real_device(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = [Point(Configuration("read_chunks", WIDTH=8), "float32", 1 << 20), Point(Configuration("fma"), trips=4)]
    monkeypatch.setattr(ceilings, "headline", lambda device: few)
    monkeypatch.setattr(profile, "path_of", lambda device: tmp_path / "kept.json")
    found = lab.profile(any_device, force=True)  # whatever else the machine does
    assert set(found.ceilings) >= {"dram.read"}
    assert len(found.sittings) == 1
    found.check_is_of(any_device)
    assert profile.load(tmp_path / "kept.json", any_device).ceilings == found.ceilings


def test_an_interrupted_profile_is_none(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ceilings, "headline", lambda device: [Point(Configuration("read_chunks"), "float32", 1 << 18)])
    monkeypatch.setattr(profile, "path_of", lambda device: tmp_path / "kept.json")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SurveyRun, "taken", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lab.profile(any_device, force=True)
    assert not (tmp_path / "kept.json").exists()


def test_headlines_are_few(device: gpuopt.Device) -> None:
    points = ceilings.headline(device)
    assert 30 <= len(points) <= 90  # 82 of an H200
    assert len({str(point.fields()) for point in points}) == len(points)


def test_tensor_cores_are_asked_where_ptx_is_read(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(reads: bool) -> set[str]:
        monkeypatch.setattr("gpuopt.workloads.microbench.ceilings.reads_ptx", lambda device: reads)
        return {point.variant for point in ceilings.headline(any_device)}

    assert asked(True) - asked(False) == {"mma_fp16", "mma_bf16", "mma_tf32"}


# ---------------------------------------------------------------- bounds


def test_resources_of_work(made: Profile) -> None:
    work = {
        "flops": 6e9,
        "bytes": {"dram": 1e9, "requested": 31e9, "local": 62e9},
        "special": {"fetch": 3e9, "other": 1.0},
    }
    needed = bounds.resources(work, "float32", made)
    # What work-items ask for is no limit, whatever the first-level cache reads.
    assert needed == pytest.approx({"local": 2.0, "float32": 0.1, "fetch": 3.0})
    assert bounds.resources(work, "float32", None) == {}
    assert "float32" not in bounds.resources(work, "int8", made)


def small_sweep(device: gpuopt.Device, protocol: str, store: Path | None = None) -> lab.Study:
    problem = problems.spmv_grid(40, 30, radius=2, device=device)
    return lab.sweep(problem, ["basic"], protocol=protocol, device=device, peers=(), calls=False, store=store)


def test_blocks_of_another_profile_are_taken_again(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, made: Profile, brief: str, tmp_path: Path
) -> None:
    """Two of one day are two: their bounds are others."""
    told = []
    for rate in (1e-3, 1e-4):
        made = dataclasses.replace(made, ceilings={"float32": Ceiling(rate, "GFLOP/s", "fma")})
        monkeypatch.setattr(profile, "stored", lambda device, made=made: made)
        study = small_sweep(any_device, brief, tmp_path / "rows.jsonl")
        visits = [row for row in study.rows if row["kind"] == "block" and row["role"] == "variant"]
        assert {row["profile"] for row in visits} == {bounds.profile_word(made)}
        assert study.summary[0]["bound_by"] == "float32"
        told.append((study.summary[0]["profile"], study.summary[0]["bound_ms"]))
    (first, bound_ms), (second, longer_ms) = told
    assert first != second
    assert first[:10] == second[:10] == made.date
    assert longer_ms == pytest.approx(10 * bound_ms)


def test_a_sweep_is_bounded_by_the_profile(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, made: Profile, brief: str
) -> None:
    """Arithmetic a thousand times slower than memory has to be what bounds the product."""
    slow = dataclasses.replace(
        made, ceilings={"float32": Ceiling(1e-3, "GFLOP/s", "fma"), "l1": Ceiling(1e9, "GB/s", "x")}
    )
    monkeypatch.setattr(profile, "stored", lambda device: slow)
    study = small_sweep(any_device, brief)
    (row,) = study.summary
    assert row["bound_by"] == "float32"
    assert row["next_by"] in ("dram", "llc")
    assert row["pct_next"] < row["pct_bound"]
    assert "over_bound" in row["flags"]
    assert not any("no profile" in note for note in study.notes)


def test_without_a_profile_the_study_says_so(any_device: gpuopt.Device, brief: str) -> None:
    study = small_sweep(any_device, brief)
    assert any("no profile" in note for note in study.notes)
    words = {study.summary[0][field] for field in ("bound_by", "next_by")}
    assert words <= {"dram", "llc", "launches", None}
