"""Results of tuning as people make them, and levels in files; other files of them are in test_search.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.checked import ParameterTypeError
from gpuopt.lab.kernels.published import Result, Results, read_results, write_kernel_tuner, write_t4
from gpuopt.lab.kernels.t1 import read_space


def made(**change: Any) -> Result:
    return Result(**{"levels": {"W": 1}, "ms": 2.0, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples": -1}, "samples: it is -1; give a list of number"),
        ({"samples": None}, "samples: it is None"),
        ({"samples": "2.0"}, "samples: it is '2.0'"),
        ({"samples": [1.0, "2"]}, "samples: it is a list"),
        ({"ms": "2.0"}, "ms: it is '2.0'; give a number or None"),
        ({"ms": True}, "ms: it is True"),
        ({"levels": [("W", 1)]}, "levels: it is a list; give a Mapping"),
        ({"levels": {"W": 1.5}}, "levels['W']: it is 1.5; give a whole number or a text"),
        ({"levels": {"W": "\ud800"}}, "levels['W']: '\\ud800' is no text of Unicode"),
        ({"levels": {3: 1}}, "levels: its key: it is 3; give a text"),
        ({"status": 3}, "status: it is 3; give a text"),
    ],
)
def test_fields_of_a_wrong_type_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterTypeError, match=f"^{re.escape(says)}"):
        made(**change)


def test_a_level_beyond_64_bits_is_named() -> None:
    with pytest.raises(ParameterError, match=r"^levels\['W'\]: it is a whole number of 71 bits; give one below 2\^63"):
        made(levels={"W": 2**70})


def test_samples_may_be_any_list_of_times() -> None:
    for samples in ([1.0, 2], (1.5,), np.array([1.0, 2.0]), ()):
        assert made(samples=samples).ms == 2


@pytest.mark.parametrize(
    ("names", "results", "says"),
    [
        (("A",), [made()], "results: number 0 has levels of W; give those of A"),
        ((), [made()], "results: number 0 has levels of W; give those of none"),
        (("W", "A"), [made()], "results: number 0 has levels of W; give those of W, A"),
        (("W",), [made(), made(levels={"W": 1, "A": 2})], "results: number 1 has levels of W, A; give those of W"),
        (("W",), [{"W": 1}], "results: it is a list; give a list of Result"),
        (("W",), [made()] * 2000 + [None], "results: it is a list; give a list of Result"),
        (("W",), made(), "results: it is a Result; give a list of Result"),
        ("W", [made()], "names: it is 'W'; give a list of text"),
        (("W", 3), [], "names: it is a tuple; give a list of text"),
    ],
)
def test_results_that_are_not_of_the_parameters_are_refused(names: Any, results: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(says)}"):
        Results("d", "k", names, results)


NUMBERS: list[Any] = [0.5, -1.25, 1e-7, 2.0, 1e22, 3, 0]
WORDS: list[Any] = ["2.5f", "0.50", "float4", "nan", "inf", "1e5", "None"]


def test_levels_that_were_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    levels = NUMBERS + WORDS
    entries = {str(one): {"P": one, "time": 1.0} for one in levels}
    cache = {"device_name": "d", "kernel_name": "k", "tune_params_keys": ["P"], "cache": entries}
    (tmp_path / "given.json").write_text(json.dumps(cache))
    results = read_results(tmp_path / "given.json")
    write_kernel_tuner(results, tmp_path / "c.json")
    written = json.loads((tmp_path / "c.json").read_text())
    assert repr(written["tune_params"]["P"]) == repr(levels)
    assert repr([one["P"] for one in written["cache"].values()]) == repr(levels)
    assert list(written["cache"]) == list(entries)
    write_t4(results, tmp_path / "t4.json")
    listed = json.loads((tmp_path / "t4.json").read_text())["results"]
    assert repr([one["configuration"]["P"] for one in listed]) == repr(levels)
    for name in ("c.json", "t4.json"):
        assert [one.levels for one in read_results(tmp_path / name).results] == [one.levels for one in results.results]


def test_flags_are_read_as_whole_numbers_and_none_as_a_word(tmp_path: Path) -> None:
    entries = {str(one): {"P": one, "time": 1.0} for one in (True, False, None)}
    cache = {"device_name": "d", "kernel_name": "k", "tune_params_keys": ["P"], "cache": entries}
    (tmp_path / "given.json").write_text(json.dumps(cache))
    results = read_results(tmp_path / "given.json")
    assert [one.levels["P"] for one in results.results] == [1, 0, "None"]


def test_fractions_of_a_search_are_written_as_numbers(tmp_path: Path) -> None:
    runs = tuple(Result({"P": level}, 2.0) for level in ("0.5", "1.5"))
    write_kernel_tuner(Results("d", "k", ("P",), runs), tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["tune_params"] == {"P": [0.5, 1.5]}


def test_texts_that_are_not_how_a_number_is_written_stay_texts(tmp_path: Path) -> None:
    runs = tuple(Result({"P": level}, 2.0) for level in ("01", "-0", "+1", 1))
    for write in (write_kernel_tuner, write_t4):
        write(Results("d", "k", ("P",), runs), tmp_path / "written.json")
        assert [one.levels["P"] for one in read_results(tmp_path / "written.json").results] == ["01", "-0", "+1", 1]


@pytest.mark.parametrize("levels", [({"P": "1"}, {"P": 1}), ({"P": "1,2", "Q": 3}, {"P": 1, "Q": "2,3"})])
def test_levels_that_a_cache_writes_alike_are_refused(tmp_path: Path, levels: tuple[dict[str, Any], ...]) -> None:
    runs = tuple(Result(each, 2.0) for each in levels)
    with pytest.raises(ParameterError, match=r"^results: two of them have the levels 1"):
        write_kernel_tuner(Results("d", "k", tuple(levels[0]), runs), tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_a_mark_of_byte_order_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t4.json"
    write_t4(Results("k", "d", ("W",), [made()]), path)
    path.write_text(path.read_text(), "utf-8-sig")
    assert read_results(path).results[0].ms == 2


def test_no_results_are_no_file_in_t4(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^results: there are none"):
        write_t4(Results("d", "k", ("P",), ()), tmp_path / "t4.json")


@pytest.mark.parametrize("value", [np.float32(1), {1, 2}, object(), {(1, 2): 3}])
@pytest.mark.parametrize("name", ["problem_size", "gpuopt_note"])
def test_facts_that_json_does_not_hold_are_refused(tmp_path: Path, name: str, value: Any) -> None:
    results = Results("d", "k", ("W",), [made()], {name: value})
    with pytest.raises(ParameterError, match=r"^results: its facts cannot be written as JSON \("):
        write_kernel_tuner(results, tmp_path / "c.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 1], "W: a level stands twice in [1, 1]"),
        ([], "W: [] is no list of levels"),
        ([1, None], "W: None is no level"),
        (3, "ConfigurationSpace.TuningParameters[0].Values: it is a whole number; a text is due"),
        (None, "ConfigurationSpace.TuningParameters[0].Values: there is none"),
    ],
)
def test_what_is_wrong_with_levels_in_a_file_is_told(tmp_path: Path, values: Any, says: str) -> None:
    path = tmp_path / "t1.json"
    path.write_text(json.dumps({"ConfigurationSpace": {"TuningParameters": [{"Name": "W", "Values": values}]}}))
    with pytest.raises(ParameterError, match=f"^path: .*: {re.escape(says)}"):
        read_space(path)
