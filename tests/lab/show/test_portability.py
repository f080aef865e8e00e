"""Efficiencies, Pennycook's score and cascades, against numbers worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuopt import ParameterError, lab
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.portability import Portability


def study(device: str, times: Mapping[str, float], problem: str = "made") -> StudyRows:
    rows = []
    for configuration, time in times.items():
        row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "v", "configuration": configuration}
        row |= {"device": device, "platform": None, "workload": "made", "problem": problem, "dtype": "float32"}
        rows.append(row | {"median_ms": time, "params": {}, "time_utc": "2026-11-23T00:00:00.000Z", "blocks": 10})
    return StudyRows(rows, {"name": problem, "workload": "made"}, [])


STUDIES = [
    study("one", {"a": 1.0, "b": 2.0, "c": 4.0}),
    study("two", {"a": 4.0, "b": 2.0, "c": 1.0}),
    study("three", {"a": 1.0, "b": 1.25}),
]


def test_scores_worked_by_hand() -> None:
    found = lab.portability(STUDIES)
    assert found.devices == ("one", "two", "three")
    assert found.best == {"one": "a", "two": "c", "three": "a"}
    assert found.efficiency["a"] == {"one": 1.0, "two": 0.25, "three": 1.0}
    assert found.score("a") == pytest.approx(3 / (1 + 4 + 1))
    assert found.score("b") == pytest.approx(3 / (2 + 2 + 1.25))
    assert found.score("c") == 0
    assert found.ranked == ["b", "a", "c"]
    assert found.moved("one", "two") == 0.25
    assert found.moved("two", "three") is None
    assert found.cascade("c") == [("two", 1.0), ("one", 0.25), ("three", 0.0)]
    said = str(found)
    assert said.splitlines()[1:4] == ["A: one", "B: two", "C: three"]
    assert said.splitlines()[6].split() == ["b", "0.571", "50.0", "%", "50.0", "%", "80.0", "%"]
    assert said.splitlines()[9].startswith("-: there is no time of it")
    assert "57.1" not in said
    assert "25.0 %" in said


def test_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "cascade.png"
    lab.portability(STUDIES).picture().savefig(path)
    assert path.stat().st_size > 5000


PLAIN = {"problem": "p", "devices": ("d",), "efficiency": {"a": {"d": 1.0}}, "best": {"d": "a"}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict.fromkeys(PLAIN), "^problem: it is None"),
        ({"devices": ()}, "^devices: there are none"),
        ({"best": {}}, "^best: d has none"),
        ({"best": {"d": "b"}}, "^best: d has none"),
        ({"efficiency": {"a": {"e": 1.0}}}, "^efficiency: there is no 'e'; there are d"),
        ({"efficiency": {"a": {"d": 0.0}}}, "^efficiency: a has 0.0 on d"),
        ({"efficiency": {"a": {"d": 0.5}, "b": {"d": 1.0}}}, "^best: b is faster on d than a"),
        ({"devices": ("d", "d")}, "^devices: one stands there twice"),
        ({"refused": {"e": "busy"}}, "^refused: there is no 'e'; there are d"),
    ],
)
def test_fields_that_contradict_each_other(change: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Portability(**(PLAIN | change))


def test_unknown_names_are_told() -> None:
    found = Portability(**PLAIN)
    for ask in (found.score, found.cascade):
        with pytest.raises(ParameterError, match=r"^configuration: there is no 'x'; there are a$"):
            ask("x")
    with pytest.raises(ParameterError, match=r"^of: there is no 'x'; there are d$"):
        found.moved("x", "d")
    with pytest.raises(ParameterError, match=r"^to: there is no 'x'; there are d$"):
        found.moved("d", "x")


@pytest.mark.parametrize(
    ("studies", "says"),
    [
        ([], "they are of none"),
        (STUDIES[:1], "a single device"),
        ([STUDIES[0], study("two", {"a": 1.0}, "other")], "they are of made, other"),
        ([STUDIES[0], StudyRows([row | {"data": "1f"} for row in STUDIES[1].rows], {}, [])], "of made, other data;"),
    ],
)
def test_studies_that_cannot_be_compared(studies: list[StudyRows], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        lab.portability(studies)


def test_devices_without_verdicts_are_named() -> None:
    busy = StudyRows([row | {"refused": "it was busy"} for row in STUDIES[1].rows], {}, [])
    found = lab.portability([STUDIES[0], busy])
    assert found.refused == {"two": "it was busy"}
    assert "NO VERDICTS on B: it was busy" in repr(found).splitlines()
    assert "two (no verdicts)" in found.picture().legends[0].get_title().get_text()


ROW = {"kind": "summary", "role": "variant", "variant": "v", "problem": "p", "status": "ok", "cache_state": "hot"}


def made(device: str, **more: object) -> lab.Study:
    of_device = ROW | {"device": device} | more
    times = [("one", 1.0), ("two", 2.0)]
    return lab.Study([of_device | {"configuration": name, "median_ms": ms} for name, ms in times])


def test_a_device_on_which_nothing_ran_is_not_left_out() -> None:
    with pytest.raises(ParameterError, match="studies: on C no configuration has a time; leave its study out"):
        lab.portability([made("A"), made("B"), made("C", status="wrong", reason="3 results differ")])


def test_times_of_two_states_of_caches_are_refused() -> None:
    assert lab.portability([made("A"), made("B")]).score("two") == 0.5
    with pytest.raises(ParameterError, match="studies: their times are of cold and hot caches"):
        lab.portability([made("A"), made("B"), made("B", cache_state="cold")])


def of_h200(one: float, two: float, **more: object) -> lab.Study:
    of_device = ROW | {"device": "NVIDIA H200", "platform": "CUDA", "driver": "580", "method": "rank"} | more
    return lab.Study([of_device | {"configuration": name, "median_ms": ms} for name, ms in (("a", one), ("b", two))])


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"unit": "u1", "env_hash": "e1"}, {"unit": "u2", "env_hash": "e2"}, ("unit u1", "unit u2")),
        ({"env_hash": "e1"}, {"env_hash": "e2", "driver": "590"}, ("driver 580", "driver 590")),
        ({"env_hash": "e1"}, {"unit": "u2", "env_hash": "e2"}, ("unit unknown", "unit u2")),
    ],
)
def test_two_units_of_a_model_are_two_devices(first: dict, second: dict, names: tuple[str, str]) -> None:
    """Of each its own fastest time counts: b is half as fast as a on the one, and the fastest on the other."""
    found = lab.portability([of_h200(1.0, 2.0, **first), of_h200(3.0, 1.5, **second), made("A")])
    one, two = (f"NVIDIA H200 · CUDA · {name}" for name in names)
    assert found.devices == (one, two, "A")
    assert found.efficiency["b"] == {one: 0.5, two: 1.0}


def test_times_of_two_environments_are_refused() -> None:
    before, now = (of_h200(1.0, 2.0, unit="u", env_hash=name) for name in ("before", "now"))
    assert lab.portability([before, before, made("A")]).efficiency["b"] == {"NVIDIA H200 · CUDA": 0.5}
    says = "studies: on NVIDIA H200 · CUDA the times are of several environments, and are not held against each other;"
    with pytest.raises(ParameterError, match=says):
        lab.portability([before, now, made("A")])
