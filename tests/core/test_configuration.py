"""Which configuration a plain call gets, and the file of tuned records: order, lazy properties, accuracy, damage, full
disks."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import configuration as tables
from gpuopt import records as tuned_records
from gpuopt import resolution
from gpuopt.configuration import Configuration, accuracy
from gpuopt.lab.rows.store import Store
from gpuopt.records import store_records
from gpuopt.resolution import resolve

DEVICE: Any = SimpleNamespace(
    name="Made Up 1", platform="Made Up", type="gpu", vector_bytes=32, key="Made Up / Made Up 1"
)


def parameter(name: str, levels: list[int], standard: int, alters_accuracy: bool = False) -> SimpleNamespace:
    return SimpleNamespace(name=name, levels=levels, standard=standard, alters_accuracy=alters_accuracy)


def variant(name: str, *parameters: SimpleNamespace, input_properties: tuple[str, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(name=name, parameters=list(parameters), input_properties=list(input_properties))


LOCAL, HALF = parameter("LOCAL", [64, 128], 64), parameter("HALF", [0, 1], 0, alters_accuracy=True)
TABLE = {
    v.name: v for v in (variant("plain", LOCAL, HALF), variant("mirrored", LOCAL, input_properties=("symmetric",)))
}


class Records:
    """A user's and the shipped records of a made-up workload."""

    def __init__(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = cache / "tuned" / "made-up.json"
        self.monkeypatch = monkeypatch
        self.ship({"match": {}, "variant": "plain"})

    def ship(self, *records: dict[str, Any]) -> None:
        self.monkeypatch.setattr(resolution, "shipped_records", lambda workload: list(records))

    def write(self, *records: dict[str, Any]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(records))

    def read(self) -> list[dict[str, Any]]:
        held = json.loads(self.path.read_text())
        return held["records"] if isinstance(held, dict) else held  # of earlier versions


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Records:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "table_of", lambda workload: TABLE)
    return Records(tmp_path, monkeypatch)


def chosen(**input_properties: Callable[[], object]) -> str:
    return str(resolve("made-up", DEVICE, "float32", input_properties=input_properties))


def record(local: int, **match: Any) -> dict[str, Any]:
    return {"match": match, "variant": "plain", "parameters": {"LOCAL": local}}


def never() -> bool:
    raise AssertionError("a property was asked for nothing")


# ---------------------------------------------------------------- the order


def test_explicit_before_the_users_before_the_shipped(records: Records) -> None:
    assert chosen() == "plain(HALF=0, LOCAL=64)"
    records.write(record(128, name="Made Up 1"))
    assert chosen() == "plain(HALF=0, LOCAL=128)"
    asked = Configuration("plain", HALF=1)
    assert str(resolve("made-up", DEVICE, "float32", asked)) == "plain(HALF=1, LOCAL=64)"
    assert str(resolve("made-up", DEVICE, "float32", "mirrored")) == "mirrored(LOCAL=64)"


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({"name": "Made Up 1", "platform": "Made Up", "type": "gpu", "dtype": "float32", "vector_bytes": 32}, True),
        ({"name": "Made Up 2"}, False),
        ({"platform": "Another"}, False),
        ({"type": "cpu"}, False),
        ({"dtype": "float64"}, False),
        ({"vector_bytes": 64}, False),
        ({"moon": None}, False),  # a key that nobody knows is no fact that is None
    ],
)
def test_a_record_fits_where_every_key_agrees(records: Records, match: dict[str, Any], fits: bool) -> None:
    records.write({"match": match, "variant": "plain", "parameters": {"LOCAL": 128}})
    assert chosen() == f"plain(HALF=0, LOCAL={128 if fits else 64})"


def test_records_of_other_tables_are_passed_over(records: Records) -> None:
    gone = {"match": {}, "variant": "gone"}
    unknown = {"match": {}, "variant": "plain", "parameters": {"WIDTH": 4}}
    records.write(gone, unknown, record(96), record(128))
    assert chosen() == "plain(HALF=0, LOCAL=128)"


def test_nothing_that_fits_names_the_device(records: Records) -> None:
    records.ship()
    with pytest.raises(gpuopt.ParameterError, match=r"^variant: no record of made-up fits Made Up / Made Up 1"):
        chosen()


@pytest.mark.parametrize(
    "text", ["{", "{}", "[1]", '[{"match": {}}]', '[{"match": {}, "variant": "plain", "parameters": 3}]']
)
def test_a_damaged_file_is_set_aside_and_told(records: Records, text: str) -> None:
    records.write()
    records.path.write_text(text)
    with pytest.warns(UserWarning, match=r"made-up\.json is damaged .*renamed to made-up-1\.json"):
        assert chosen() == "plain(HALF=0, LOCAL=64)"
    assert records.path.with_name("made-up-1.json").read_text() == text
    assert chosen() == "plain(HALF=0, LOCAL=64)"  # told once


# ---------------------------------------------------------------- properties of the input


def test_traits_decide_between_records(records: Records) -> None:
    records.ship(record(128, symmetric=True), record(64))
    assert chosen(symmetric=lambda: True) == "plain(HALF=0, LOCAL=128)"
    assert chosen(symmetric=lambda: False) == "plain(HALF=0, LOCAL=64)"
    assert chosen() == "plain(HALF=0, LOCAL=64)"
    assert chosen(columns=lambda: True) == "plain(HALF=0, LOCAL=64)"


def test_a_trait_is_asked_only_for_a_record_that_fits_the_device(records: Records) -> None:
    records.ship(
        record(128, name="Made Up 2", symmetric=True),
        record(128, dtype="float64", symmetric=True),
        record(128, moon=1, symmetric=True),
        record(96, symmetric=True),
        record(64),
    )
    assert chosen(symmetric=never) == "plain(HALF=0, LOCAL=64)"


def test_records_that_ask_for_more_of_the_input_come_first_then_the_users(records: Records) -> None:
    records.write(record(64, name="Made Up 1", columns=False, stored=None))
    records.ship(record(64), record(128, symmetric=True))
    usual: dict[str, Any] = {"columns": lambda: False, "stored": lambda: None}
    assert chosen(**usual, symmetric=lambda: True) == "plain(HALF=0, LOCAL=128)"
    assert chosen(**usual, symmetric=lambda: False) == "plain(HALF=0, LOCAL=64)"
    records.write(record(64, symmetric=True))
    assert chosen(**usual, symmetric=lambda: True) == "plain(HALF=0, LOCAL=64)"


def test_a_trait_is_asked_once(records: Records) -> None:
    questions: list[int] = []
    records.ship(record(128, symmetric=True), record(128, symmetric=True, type="gpu"), record(64))
    assert chosen(symmetric=lambda: bool(questions.append(1))) == "plain(HALF=0, LOCAL=64)"
    assert questions == [1]


def test_a_variant_is_never_chosen_for_inputs_it_cannot_take(records: Records) -> None:
    records.ship({"match": {}, "variant": "mirrored"}, record(64))
    assert chosen() == "plain(HALF=0, LOCAL=64)"
    assert chosen(symmetric=lambda: False) == "plain(HALF=0, LOCAL=64)"
    assert chosen(symmetric=lambda: True) == "mirrored(LOCAL=64)"


# ---------------------------------------------------------------- accuracy


def test_accuracy_is_never_altered_unasked(records: Records) -> None:
    rounded = {"variant": "plain", "parameters": {"HALF": 1}}
    records.write({"match": {}} | rounded, {"match": {"stored": None}} | rounded)
    records.ship({"match": {"type": "gpu"}} | rounded, {"match": {"stored": "float16"}} | rounded, record(64))
    assert chosen() == "plain(HALF=0, LOCAL=64)"
    assert chosen(stored=lambda: None) == "plain(HALF=0, LOCAL=64)"
    assert chosen(stored=lambda: "float16") == "plain(HALF=1, LOCAL=64)"


def test_accuracy_names_what_is_not_standard(records: Records) -> None:
    assert accuracy("made-up", Configuration("plain", LOCAL=128)) == ""
    assert accuracy("made-up", Configuration("plain", HALF=1, LOCAL=128)) == "HALF=1"
    assert accuracy("made-up", Configuration("mirrored")) == ""


# ---------------------------------------------------------------- storing


def test_a_new_record_replaces_its_like_and_the_more_specific_come_first(records: Records) -> None:
    assert store_records("made-up", [record(64, name="Made Up 1"), record(64)]) == records.path
    store_records("made-up", [record(128, name="Made Up 1")])
    store_records("made-up", [record(64, name="Made Up 1", dtype="float32"), record(64, type="gpu")])
    assert [entry["match"] for entry in records.read()] == [
        {"name": "Made Up 1", "dtype": "float32"},
        {"type": "gpu"},
        {"name": "Made Up 1"},
        {},
    ]
    assert records.read()[2]["parameters"] == {"LOCAL": 128}
    assert sorted(path.name for path in records.path.parent.iterdir()) == ["made-up.json"]


def test_the_next_call_uses_what_was_stored(records: Records) -> None:
    source = {"evidence": "a note", "date": "2026-01-02", "driver": "of another day"}
    store_records("made-up", [record(128, name="Made Up 1") | source])
    assert chosen() == "plain(HALF=0, LOCAL=128)"
    assert records.read()[0] == record(128, name="Made Up 1") | source


def test_equal_devices_keep_what_was_tuned_on_themselves(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes first on its own device; on an equal one it is still better than nothing."""
    unit = "a"
    monkeypatch.setattr(resolution, "unit_of", lambda device: unit)
    store_records("made-up", [record(64, name="Made Up 1")])  # of an earlier version
    store_records("made-up", [record(128, name="Made Up 1") | {"unit": "a"}])
    assert len(records.read()) == 1
    store_records("made-up", [record(64, name="Made Up 1") | {"unit": "b"}])
    assert [entry["unit"] for entry in records.read()] == ["b", "a"]
    assert chosen() == "plain(HALF=0, LOCAL=128)"
    unit = "b"
    assert chosen() == "plain(HALF=0, LOCAL=64)"
    store_records("made-up", [record(128, name="Made Up 1") | {"unit": "a"}])
    unit = "c"
    assert chosen() == "plain(HALF=0, LOCAL=128)"  # the newest
    store_records("made-up", [record(64, name="Made Up 1")])  # for all of them
    assert records.read() == [record(64, name="Made Up 1")]


def test_a_damaged_file_is_set_aside_under_a_number(records: Records) -> None:
    records.write()
    records.path.write_text("{ half a reco")
    records.path.with_name("made-up-1.json").write_text("older")
    store_records("made-up", [record(128)])
    assert records.path.with_name("made-up-1.json").read_text() == "older"
    assert records.path.with_name("made-up-2.json").read_text() == "{ half a reco"
    assert records.read() == [record(128)]


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(
    records: Records, monkeypatch: pytest.MonkeyPatch, call: str, damaged: bool
) -> None:
    records.write(record(64))
    if damaged:
        records.path.write_text("{")
    before = records.path.read_text()

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(gpuopt.Error, match="No space left on device; what it held stands"):
        store_records("made-up", [record(128)])
    left = [path.read_text() for path in records.path.parent.iterdir()]
    assert left == [before]
    if not damaged:
        assert records.read() == [record(64)]


def test_writers_at_once_lose_nothing_and_readers_see_whole_files(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = tuned_records._replace

    def slow(path: Path, text: str, set_aside: bool) -> None:
        time.sleep(0.01)  # time enough for another to have read the old file
        replace(path, text, set_aside)

    monkeypatch.setattr(tuned_records, "_replace", slow)
    store_records("made-up", [record(64)])
    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(store_records, "made-up", [record(64, name=str(n))]) for n in range(12)]
        while not all(writer.done() for writer in writers):
            assert {} in [entry["match"] for entry in records.read()]
        for writer in writers:
            writer.result()
    assert {entry["match"].get("name") for entry in records.read()} == {None, *map(str, range(12))}


@pytest.mark.parametrize(
    "wrong",
    [
        {"variant": "plain"},
        {"match": {}, "variant": 3},
        {"match": {}, "variant": "plain", "parameters": {"LOCAL": 0.5}},
        {"match": {}, "variant": "plain", "parameters": {"LOCAL": object()}},
    ],
)
def test_an_invalid_record_changes_nothing(records: Records, wrong: dict[str, Any]) -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^records: "):
        store_records("made-up", [record(64), wrong])
    assert not records.path.exists()


def test_the_shipped_records_fit_every_kind_of_device() -> None:
    for kind in ("gpu", "cpu", "accelerator"):
        device: Any = SimpleNamespace(name="any", platform="any", type=kind, key="any", vector_bytes=16)
        for dtype in ("float32", "float64"):
            found = resolve("spmv", device, dtype)
            assert not accuracy("spmv", found)
    table = {v.name: v for v in gpuopt.variants("spmv")}
    shipped = tuned_records.shipped_records("spmv")
    assert shipped
    for entry in shipped:
        levels = {p.name: p.levels for p in table[entry["variant"]].parameters}
        assert all(value in levels[name] for name, value in entry.get("parameters", {}).items()), entry


def test_a_configuration_is_read_as_it_prints() -> None:
    for configuration in (Configuration("basic"), Configuration("sliced", SLICE=64, ITEMS=8)):
        assert Configuration.parse(str(configuration)) == configuration
    assert Configuration.parse(" sliced( SLICE = 64 ) ") == Configuration("sliced", SLICE=64)
    assert Configuration.parse("sliced( )") == Configuration("sliced")
    twice = ["sliced(SLICE=64, SLICE=32)", "sliced(SLICE=64,SLICE = 64)"]
    commas = ["sliced(,)", "sliced(SLICE=64,)", "sliced(SLICE=64,,ITEMS=8)", "sliced(=64)"]
    digits = [f"sliced(SLICE={text})" for text in ("6_4", "+64", "064", "-0", "\uff16\uff14")]
    wrong = [
        *digits,
        "",
        "sliced(",
        "sliced(SLICE)",
        "sliced(SLICE=x y)",
        "two words",
        "sliced(SLICE=1=2)",
        *twice,
        *commas,
    ]
    for text in wrong:
        with pytest.raises(gpuopt.ParameterError, match=r"is no configuration.*each parameter once"):
            Configuration.parse(text)


def test_words_are_levels_of_peoples_own_kernels_alone() -> None:
    assert Configuration.parse("mine(REAL=float4, SCALE=2.5f)") == Configuration("mine", REAL="float4", SCALE="2.5f")
    with pytest.raises(gpuopt.ParameterError, match=r"^SLICE: 'x' is not a whole number; use one of its levels"):
        tables.complete("spmv", Configuration("sliced", SLICE="x"))
    with pytest.raises(gpuopt.ParameterError, match=r"^SLICE: "):
        Configuration("sliced", SLICE="x y")


# ---------------------------------------------------------------- what is shipped

TUNED = sorted((Path(gpuopt.__file__).parent / "tuned").glob("*.json"))


@pytest.mark.parametrize("path", TUNED, ids=lambda path: path.stem)
def test_shipped_records_of_a_device_stand_on_its_rows(path: Path, root: Path) -> None:
    """What names a device was measured there; what does not is a rule of thumb."""
    for shipped in json.loads(path.read_text()):
        configuration = tables.complete(path.stem, Configuration(shipped["variant"], **shipped.get("parameters", {})))
        assert ("evidence" in shipped) == ("name" in shipped["match"]), configuration
        if "evidence" not in shipped:
            continue
        if not (root / "results").exists():
            pytest.skip("source distributions are without results/")
        rows = Store(root / shipped["evidence"]).latest()
        wanted = (shipped["match"]["name"], shipped["match"]["dtype"], shipped["driver"], shipped["date"])
        measured = [
            tables.complete(path.stem, Configuration(row["variant"], **row["params"]))
            for row in rows
            if row["kind"] == "summary" and row["role"] == "variant" and row["status"] == "ok"
            if (row["device"], row["dtype"], row["driver"], row["time_utc"][:10]) == wanted
        ]
        assert configuration in measured, shipped["evidence"]


def test_numbers_of_more_digits_than_python_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(gpuopt.ParameterError, match="TILE: a whole number of 16610 bits"):
        Configuration("tiled", TILE=10**5000)
    with pytest.raises(gpuopt.ParameterError, match="device: no device fits"):
        gpuopt.use("1" * 5000)
    monkeypatch.setenv("GPUOPT_DEVICE", "1" * 5000)
    with pytest.raises(gpuopt.ParameterError, match="GPUOPT_DEVICE: no device fits"):
        gpuopt.to_device(np.ones(1))
