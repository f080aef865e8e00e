"""The sittings of a profile: their history and spread, and which ceilings of a sitting are not kept."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
from gpuopt.lab.device import keeping, profile, sittings
from gpuopt.lab.device.keeping import keep
from gpuopt.lab.device.levels import Level
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.device.sittings import Sitting
from gpuopt.lab.timing.statistics import median_ci


def ceiling(rate: float, unit: str = "GB/s", apart: float = 0.01) -> Ceiling:
    return Ceiling(rate, unit, "a kernel", 0.99 * rate, 1.01 * rate, apart)


def made(rates: Mapping[str, float | Ceiling], date: str = "2026-11-22", **fields: Any) -> Profile:
    ceilings = {name: rate if isinstance(rate, Ceiling) else ceiling(rate) for name, rate in rates.items()}
    return Profile("A card", "1.0", "P", date, "0.1.0", ceilings, **fields)


def kept(*rates: Mapping[str, float]) -> Profile:
    """The profile after these sittings."""
    found = None
    for one in rates:
        found = keep(made(one), found, None)
    assert found is not None
    return found


def test_each_sitting_is_kept_and_the_spread_told(tmp_path: Path) -> None:
    found = kept({"dram.read": 100.0, "float32": 50.0}, {"dram.read": 104.0, "float32": 50.0})
    assert [sitting.rates["dram.read"] for sitting in found.sittings] == [100, 104]
    sd = math.log(1.04) / math.sqrt(2)
    assert found.between("dram.read") == found.between("dram") == pytest.approx(sd)
    assert found.between("float32") == 0.0
    assert found.between("latency.16KiB") is None
    back = profile.load(profile.save(found, tmp_path / "profile.json"))
    assert back.sittings == found.sittings
    assert back.between("dram.read") == pytest.approx(sd)
    assert "2 sittings" in repr(back)
    assert "± 2.8 %" in back._sheet().text(120)


def test_an_earlier_profile_may_have_no_sittings_yet() -> None:
    """As one that the constructor made, whose ceilings are those of its one sitting."""
    earlier = made({"dram.read": 10.0}, "2026-11-01")
    after = made({"dram.read": 11.0}, "2026-11-02").after(earlier)
    assert [sitting.time_utc for sitting in after.sittings] == ["2026-11-01", "2026-11-02"]
    assert after.between("dram.read") == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert after == made({"dram.read": 11.0}, "2026-11-02").after(Profile.from_json(earlier.to_json()))


@pytest.mark.parametrize("rate", [math.inf, math.nan, 0.0, -1.0])
def test_rates_are_finite_and_above_0(rate: float) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("ceilings: dram.read", {"rates": {"dram.read": Ceiling(rate, "GB/s", "read")}}),
        ("sittings: dram.read", {"rates": {}, "sittings": (Sitting("2026-11-01", "1.0", {"dram.read": rate}),)}),
        ("levels: rate_gb_s", {"rates": {}, "levels": (Level(None, rate, 1.0, 1.0),)}),
    ]
    for says, fields in cases:
        with pytest.raises(gpuopt.ParameterError, match=f"^{says} is .*; give a number above 0"):
            made(**fields)


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_what_else_a_profile_holds_is_finite(number: float) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("ceilings: dram.read", {"rates": {"dram.read": Ceiling(1.0, "GB/s", "read", apart=number)}}),
        ("levels: between", {"rates": {}, "levels": (Level(1e3, 1.0, 1.0, 1.0, (number, 2e3)),)}),
    ]
    for says, fields in cases:
        with pytest.raises(gpuopt.ParameterError, match=f"^{says}.* is .*; give a finite number"):
            made(**fields)


def test_few_sittings_are_pooled_over_a_kind_and_many_are_not() -> None:
    rates = [{"dram.read": 100.0 + k, "dram.copy": 100.0} for k in range(5)]
    few, many = kept(*rates[:4]), kept(*rates)
    assert few.between("dram.copy") == few.between("dram.read") == few.between("dram")
    assert many.between("dram.copy") == 0.0
    found = many.spread_between("dram.read")
    assert found is not None
    assert found.sittings == 5
    assert many.between("dram.write") == many.between("dram") > 0.0  # never measured itself


def test_the_history_is_bounded_and_of_one_unit() -> None:
    found = kept(*({"dram.read": 100.0 + k} for k in range(25)))
    assert len(found.sittings) == sittings.MOST
    assert found.sittings[-1].rates == {"dram.read": 124.0}
    other = keep(made({"dram.read": 50.0}, unit="another"), found, None)
    assert other.rate("dram.read") == 50.0  # what another unit reached is no measure
    assert other.between("dram.read") is None


def test_files_of_earlier_schemas_have_one_sitting() -> None:
    held = json.loads(made({"dram.read": 100.0}).to_json()) | {"schema": 2}
    for name in ("sittings", "refused", "unit", "sha256"):
        del held[name]
    for one in held["ceilings"].values():
        del one["apart"]
    read = Profile.from_json(json.dumps(held))
    assert read.sittings == (Sitting("2026-11-22", "1.0", {"dram.read": 100.0}),)
    assert read.between("dram.read") is None
    assert keep(made({"dram.read": 101.0}), read, None).between("dram.read") is not None


# ---------------------------------------------------------------- what is not kept


def test_a_ceiling_far_below_the_earlier_ones_is_not_kept() -> None:
    """6.5 GB/s of a memory of 30, on a busy machine."""
    before = kept({"dram.read": 30.0, "launch": 5.0}, {"dram.read": 29.0, "launch": 5.1})
    after = keep(made({"dram.read": 6.5, "launch": 5.2}), before, None)
    assert after.rate("dram.read") == 29.0
    assert after.rate("launch") == 5.2
    assert after.refused == {
        "dram.read": "6.50 GB/s in this sitting, but 2 earlier sittings found 29.5 GB/s; 29.0 GB/s stands"
    }
    assert "dram.read" not in after.sittings[-1].rates
    assert "dram.read was not kept: 6.50 GB/s" in repr(after)
    forced = keep(made({"dram.read": 6.5}), before, None, force=True)
    assert (forced.rate("dram.read"), forced.refused) == (6.5, {})
    assert keep(made({"dram.read": 90.0}), before, None).rate("dram.read") == 90.0  # a maximum may well rise


def test_ceilings_of_levels_stand_together_with_the_levels() -> None:
    def curve(rate: float) -> tuple[Level, ...]:
        return (Level(1e5, rate, rate, rate), Level(None, 20.0, 20.0, 20.0))

    before = keep(made({"cache1": 400.0, "l1": 410.0, "dram.read": 20.0}, levels=curve(400.0)), None, None)
    now = made({"cache1": 330.0, "l1": ceiling(340.0, apart=0.5), "dram.read": 21.0}, levels=curve(330.0))
    after = keep(now, before, None)
    assert (after.rate("cache1"), after.levels[0].rate_gb_s, after.rate("dram.read")) == (400, 400, 21)
    assert after.refused["cache1"].endswith("but another level is not kept; 400 GB/s stands")
    assert set(after.refused) == {"cache1", "l1"}


def test_a_latency_is_worse_where_it_is_longer() -> None:
    before = kept({"latency.16KiB": ceiling(20.0, "ns")}, {"latency.16KiB": ceiling(20.0, "ns")})  # type: ignore[dict-item]
    for value, stands in ((90.0, 20.0), (8.0, 8.0)):
        assert keep(made({"latency.16KiB": ceiling(value, "ns")}), before, None).rate("latency.16KiB") == stands


def test_a_device_that_spreads_widely_may_lie_farther_below() -> None:
    wide = kept({"dram.read": 30.0}, {"dram.read": 22.0}, {"dram.read": 35.0})
    assert keep(made({"dram.read": 17.0}), wide, None).rate("dram.read") == 17.0


def test_rounds_that_disagree_are_not_kept() -> None:
    rough = made({"dram.read": ceiling(30.0, apart=0.4), "float32": 50.0})
    first = keep(rough, None, None)
    assert set(first.ceilings) == {"float32"}
    assert "the middle half of them lies 40 % apart; there is no earlier value" in first.refused["dram.read"]
    assert keep(rough, None, None, force=True).rate("dram.read") == 30.0


def test_on_a_busy_machine_everything_stands() -> None:
    before = kept({"dram.read": 30.0})
    after = keep(made({"dram.read": 31.0}), before, "the machine is busy: a load of 20.0 on 2 CPUs")
    assert after.ceilings == before.ceilings
    assert after.sittings == before.sittings
    assert "a load of 20.0" in after.refused["dram.read"]
    assert not keep(made({"dram.read": 31.0}), None, "the machine is busy").ceilings


@pytest.mark.parametrize(("taken", "refused"), [(0.05, set()), (0.4, {"cpu"}), (0.95, {"cpu", "gpu"})])
def test_what_others_take_of_the_cpus_says_whether_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken: float, refused: set[str]
) -> None:
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(keeping, "_ROOT", tmp_path)
    now = {"busy": 5000, "idle": 9000}

    def stat() -> None:
        busy, idle = now["busy"], now["idle"]
        (tmp_path / "proc/stat").write_text(
            f"cpu  {busy - 30} 10 10 {idle - 7} 7 0 0 10 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
        )

    def pass_time(seconds: float) -> None:
        now["busy"] += int(1000 * taken)
        now["idle"] += 1000 - int(1000 * taken)
        stat()

    monkeypatch.setattr("time.sleep", pass_time)
    stat()
    found = {kind: keeping.busy_words(SimpleNamespace(type=kind)) for kind in ("cpu", "gpu")}  # type: ignore[arg-type]
    assert {kind for kind, words in found.items() if words} == refused
    assert all(f"others take {100 * taken:.0f} %" in words for words in found.values() if words)
    (tmp_path / "proc/stat").unlink()
    assert keeping.busy_words(SimpleNamespace(type="cpu")) is None  # type: ignore[arg-type]


# ---------------------------------------------------------------- rows


def test_rows_have_an_interval_between_sittings_where_the_profile_knows_a_spread() -> None:
    time = median_ci([1.0, 1.01, 0.99, 1.0, 1.02, 1.0])
    found = kept({"dram.read": 100.0, "launch": 5.0}, {"dram.read": 110.0, "launch": 5.0})
    row = sittings.row_interval(found, "dram", time)
    assert row["sit_lo_ms"] < 0.6 < time.lo < time.hi < 1.5 < row["sit_hi_ms"]  # two sittings tell little
    assert sittings.row_interval(found, None, time) == {
        "sit_lo_ms": pytest.approx(time.lo),
        "sit_hi_ms": pytest.approx(time.hi),
    }
    assert sittings.row_interval(found, "latency.x", time) == {}
    assert sittings.row_interval(kept({"dram.read": 1.0}), "dram", time) == {}
    assert sittings.row_interval(None, "dram", time) == {}
    assert sittings.row_interval(found, "dram", median_ci([1.0, 1.1])) == {}


def test_a_sweeps_rows_have_it(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, brief: str) -> None:
    known = dataclasses.replace(kept({"dram.read": 100.0, "launch": 5.0}, {"dram.read": 104.0, "launch": 5.3}))
    monkeypatch.setattr(profile, "stored", lambda device: known)
    problem = gpuopt.problems.spmv_grid(40, 30, radius=2, device=any_device)
    study = gpuopt.lab.sweep(problem, ["basic"], protocol=brief, device=any_device, peers=(), store=None)
    rows = [row for row in study.rows if row["kind"] == "summary" and row["role"] in ("call", "overhead")]
    assert rows
    for row in rows:
        assert row["sit_lo_ms"] <= row["ci_lo_ms"] <= row["ci_hi_ms"] <= row["sit_hi_ms"]


def test_sittings_that_end_together_are_all_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, read = tmp_path / "profile.json", threading.Barrier(2)

    def stored(_: object) -> Profile | None:
        found = profile.load(path) if path.exists() else None
        with suppress(threading.BrokenBarrierError):  # the other sitting reads now too, unless it has to wait
            read.wait(0.5)
        return found

    monkeypatch.setattr(profile, "stored", stored)
    monkeypatch.setattr(profile, "path_of", lambda device: path)
    every = [made({"dram.read": rate}, f"2026-11-{rate:.0f}") for rate in (22.0, 23.0)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: keeping.keep_in_cache(one, gpuopt.devices()[0]), every))
    assert sorted(one.rates["dram.read"] for one in profile.load(path).sittings) == [22, 23]
