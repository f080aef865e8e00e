"""Strategies on tables that are known, published results in and out, and a search on a device."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab
from gpuopt.lab.kernels import strategies
from gpuopt.lab.kernels.predicting import Prediction
from gpuopt.lab.kernels.published import Result, Results, read_results, write_kernel_tuner, write_t4
from gpuopt.lab.kernels.strategies import Grid
from gpuopt.lab.rows.store import Store


def rugged(seed: int = 0) -> tuple[Grid, list[float]]:
    """A table with several valleys, of which one is deepest, and holes where nothing runs."""
    random = np.random.default_rng(seed)
    points = tuple(itertools.product((1, 2, 4, 8), (1, 2, 4, 8), (16, 32, 64), (0, 1)))
    times = []
    for a, b, c, d in points:
        time = 1 + abs(math.log2(a) - 2) + abs(math.log2(b) - 1) * (1 + d) + (c == 16) + 0.2 * random.random()
        times.append(math.inf if a * b > 32 else time * (0.5 if (a, d) == (1, 1) and b == 8 else 1))
    return Grid(("A", "B", "C", "D"), points), times


def measured(grid: Grid, times: list[float]) -> Any:
    place = {point: index for index, point in enumerate(grid.points)}
    return lambda levels: times[place[tuple(levels[name] for name in grid.names)]]


@pytest.mark.parametrize("strategy", ["exhaustive", "random", "restarts", "near", "optuna"])
def test_each_strategy_finds_the_best_if_it_may_go_on(strategy: str) -> None:
    if strategy == "optuna":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    grid, times = rugged()
    made = strategies.run(strategy, grid, measured(grid, times), seed=3)
    assert len(made.times) == len(grid.points)
    assert min(made.times.values()) == min(times)


@pytest.mark.parametrize("strategy", ["exhaustive", "random", "restarts", "near"])
def test_a_budget_is_kept(strategy: str) -> None:
    grid, times = rugged()
    made = strategies.run(strategy, grid, measured(grid, times), evaluations=17, seed=3)
    assert len(made.times) == 17
    assert not strategies.run(strategy, grid, measured(grid, times), seconds=1e-9).times


@pytest.mark.parametrize(
    ("name", "given"), [("guess", {}), ("random", {"evaluations": 0}), ("random", {"seconds": -1.0})]
)
def test_what_is_no_strategy_or_budget(name: str, given: dict[str, Any]) -> None:
    grid, times = rugged()
    with pytest.raises(ParameterError):
        strategies.run(name, grid, measured(grid, times), **given)


def test_restarts_need_fewer_evaluations_than_chance() -> None:
    """Medians over seeds, to 95 % of the best of a rugged table."""
    needed: dict[str, list[int]] = {}
    for seed in range(30):
        grid, times = rugged(seed)
        for strategy in ("restarts", "near", "random"):
            found = strategies.evaluations_to(0.95, grid, times, strategy, seed)
            assert found is not None
            needed.setdefault(strategy, []).append(found)
    medians = {strategy: float(np.median(counts)) for strategy, counts in needed.items()}
    assert medians["restarts"] < medians["random"]
    assert medians["near"] < medians["random"]


@pytest.mark.parametrize("strategy", ["restarts", "near"])
def test_the_standard_configuration_is_among_the_first(strategy: str) -> None:
    grid, times = rugged()
    for seed in range(5):
        made = strategies.run(strategy, grid, measured(grid, times), evaluations=3, seed=seed)
        assert 0 in made.times
    alone = Grid(("A",), ((1,),))
    assert strategies.run(strategy, alone, lambda levels: 1.0).times == {0: 1.0}
    assert strategies.run(strategy, Grid((), ((),)), lambda levels: 1.0).times == {0: 1.0}


# ---------------------------------------------------------------- published results


def cache(**more: Any) -> dict[str, Any]:
    entries = {
        "16,True": {"BLOCK": 16, "USE": True, "time": 2.5, "times": [2.4, 2.6], "compile_time": 100.0},
        "32,True": {"BLOCK": 32, "USE": True, "__error__": "CompilationFailedConfig"},
        "32,False": {"BLOCK": 32, "USE": False, "time": "RuntimeFailedConfig"},
        "64,False": {"BLOCK": 64, "USE": False, "__error__": "InvalidConfig"},
    }
    head = {
        "device_name": "A Device",
        "kernel_name": "conv",
        "problem_size": [4096, 4096],
        "tune_params_keys": ["BLOCK", "USE"],
    }
    return {
        **head,
        "tune_params": {"BLOCK": [16, 32, 64], "USE": [True, False]},
        "objective": "time",
        "cache": entries,
        **more,
    }


def test_a_cache_of_kernel_tuner(tmp_path: Path) -> None:
    text = json.dumps(cache())
    (tmp_path / "closed.json").write_text(text)
    (tmp_path / "open.json").write_text(text[:-2] + ",\n")
    (tmp_path / "closed.json.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("closed.json", "open.json", "closed.json.gz"):
        before = (tmp_path / name).read_bytes()
        found = read_results(tmp_path / name)
        assert (found.device, found.kernel, found.names) == ("A Device", "conv", ("BLOCK", "USE"))
        assert [one.status for one in found.results] == ["ok", "compile", "runtime", "constraints"]
        assert found.results[0] == Result({"BLOCK": 16, "USE": 1}, 2.5, "ok", (2.4, 2.6))
        assert (tmp_path / name).read_bytes() == before
        assert found.table()[1] == [2.5, math.inf, math.inf, math.inf]


@pytest.mark.parametrize("write", [write_kernel_tuner, write_t4])
def test_out_and_in_again(tmp_path: Path, write: Any) -> None:
    mine = Results(
        "A Device",
        "conv",
        ("BLOCK", "REAL"),
        (
            Result({"BLOCK": 16, "REAL": "float4"}, 1.25, "ok", (1.2, 1.3)),
            Result({"BLOCK": 32, "REAL": "float"}, None, "compile"),
            Result({"BLOCK": 64, "REAL": "float"}, None, "constraints"),
        ),
    )
    write(mine, tmp_path / "out.json")
    found = read_results(tmp_path / "out.json")
    assert found.results == mine.results
    assert found.names == mine.names


def test_t4_tells_what_kernel_tuner_cannot(tmp_path: Path) -> None:
    mine = Results("", "", ("A",), (Result({"A": 1}, None, "timeout"), Result({"A": 2}, None, "wrong")))
    write_t4(mine, tmp_path / "out.json")
    assert [one.status for one in read_results(tmp_path / "out.json").results] == ["timeout", "wrong"]


def test_t4_of_ktt(tmp_path: Path) -> None:
    """Levels as texts, and times in the unit that the file's head names."""
    entry = {
        "configuration": {"A": "16", "REAL": "float4"},
        "measurements": [{"name": "time", "unit": "", "value": 1500.0}],
    }
    whole = {"metadata": {"timeunit": "microseconds"}, "results": [entry], "schema_version": "1.0.0"}
    (tmp_path / "ktt.json").write_text(json.dumps(whole))
    assert read_results(tmp_path / "ktt.json").results == (Result({"A": 16, "REAL": "float4"}, 1.5),)


def test_samples_of_t4_are_in_the_files_unit(tmp_path: Path) -> None:
    times = {"runtimes": [0.002, 0.003]}
    entry = {
        "configuration": {"A": 1},
        "times": times,
        "measurements": [{"name": "time", "unit": "seconds", "value": 0.0025}],
    }
    for metadata in ({"timeunit": "seconds"}, {}):  # without one, the measurement's unit is all there is
        (tmp_path / "t4.json").write_text(json.dumps({"metadata": metadata, "results": [entry]}))
        assert read_results(tmp_path / "t4.json").results == (Result({"A": 1}, 2.5, "ok", (2.0, 3.0)),)
    entry["measurements"] = [{"name": "time", "unit": "ms", "value": 2.5}]
    (tmp_path / "t4.json").write_text(json.dumps({"metadata": {"timeunit": "seconds"}, "results": [entry]}))
    assert read_results(tmp_path / "t4.json").results == (Result({"A": 1}, 2.5, "ok", (2.0, 3.0)),)


def t4(measurements: Any, **more: Any) -> str:
    """A file of one result."""
    return json.dumps({"results": [{"configuration": {"A": 1}, "measurements": measurements, **more}]})


@pytest.mark.parametrize(
    ("ms", "spellings"),
    [
        (30_000, ["min", "minute", "minutes", "Minutes"]),
        (500, ["s", "sec", "second", "seconds", " S "]),
        (0.5, ["ms", "msec", "millisecond", "milliseconds", "", None]),
        (5e-4, ["us", "\u00b5s", "\u03bcs", "\u039cS", "usec", "microsecond", "microseconds"]),
        (5e-7, ["ns", "nsec", "nanosecond", "nanoseconds"]),
    ],
)
def test_units_of_time(tmp_path: Path, ms: float, spellings: list[str | None]) -> None:
    for unit in spellings:
        (tmp_path / "t4.json").write_text(t4([{"name": "time", "value": 0.5, "unit": unit}]))
        assert read_results(tmp_path / "t4.json").results[0].ms == pytest.approx(ms)


FLOPS = {"name": "GFLOP/s", "value": 5, "unit": "GFLOP/s"}
BUILD = {"name": "build", "value": 7, "unit": "s"}
RUNTIME = {"name": "runtime", "value": 2, "unit": "us"}


@pytest.mark.parametrize(
    ("measurements", "objectives"),
    [
        ([BUILD, RUNTIME, FLOPS], ["GFLOP/s", "runtime"]),
        ([RUNTIME], None),
        ([RUNTIME], ["GFLOP/s"]),
        ([FLOPS, BUILD, {"name": "time", "value": 0.002}], ["GFLOP/s"]),
    ],
)
def test_the_time_among_measurements(tmp_path: Path, measurements: Any, objectives: Any) -> None:
    (tmp_path / "t4.json").write_text(t4(measurements, objectives=objectives))
    assert read_results(tmp_path / "t4.json").results[0].ms == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("measurements", "more", "message"),
    [
        *(
            (
                [{"name": "time", "value": 0.5, "unit": unit}],
                {},
                f"a time is in {unit!a}, which is no unit of time",
            )
            for unit in ("cycles", "J", "m", "GFLOP/s", "fortnights", 3, ["ms"])
        ),
        ([FLOPS], {"objectives": ["GFLOP/s"]}, "a result measures 'GFLOP/s', and no time"),
        ([FLOPS], {}, "a result measures 'GFLOP/s', and no time"),
        ([BUILD, FLOPS], {"objectives": ["GFLOP/s"]}, "a result measures 'build', 'GFLOP/s', and no time"),
        ([BUILD, RUNTIME], {}, "a result measures 'build', 'runtime', and no time"),
        ([{"name": "runtime", "value": 5}], {}, "a result measures 'runtime', and no time"),
        ([], {}, "a result measures nothing, and no time"),
    ],
)
def test_what_is_no_time_is_refused(tmp_path: Path, measurements: Any, more: Any, message: str) -> None:
    (tmp_path / "t4.json").write_text(t4(measurements, **more))
    with pytest.raises(ParameterError, match=rf"^path: .*t4\.json cannot be read: {re.escape(message)}"):
        read_results(tmp_path / "t4.json")


def test_samples_in_an_unknown_unit_are_refused(tmp_path: Path) -> None:
    whole = json.loads(t4([{"name": "time", "value": 5, "unit": "ms"}], times={"runtimes": [5]}))
    (tmp_path / "t4.json").write_text(json.dumps(whole | {"metadata": {"timeunit": "ticks"}}))
    with pytest.raises(ParameterError, match="a time is in 'ticks'"):
        read_results(tmp_path / "t4.json")


@pytest.mark.parametrize("name", ["time", "times", "__error__"])
def test_a_cache_has_no_parameter_of_a_measurements_name(tmp_path: Path, name: str) -> None:
    mine = Results("", "", (name,), (Result({name: 1}, 2.5), Result({name: 2}, 3.5)))
    with pytest.raises(ParameterError, match=rf"^results: '{name}' is what a cache"):
        write_kernel_tuner(mine, tmp_path / "cache.json")
    assert not list(tmp_path.iterdir())
    write_t4(mine, tmp_path / "t4.json")
    assert read_results(tmp_path / "t4.json").results == mine.results


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": 1}',
        '{"cache": 3}',
        '{"results": []}',
        '{"results": [{"configuration": 1}]}',
        "\x1f\x8b",
        "[" * 100_000,
        json.dumps(cache(cache={"16,True": {"BLOCK": 16}})),
        t4([{"name": "time", "value": True}]),
        t4([{"name": "time", "value": 1e308, "unit": "s"}]),
        json.dumps(cache(cache={"1": {"BLOCK": 1, "USE": 1, "time": -1}})),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "damaged.json").write_text(text)
    with pytest.raises(ParameterError, match=r"^path: "):
        read_results(tmp_path / "damaged.json")


# ---------------------------------------------------------------- on a device


def test_a_search_on_a_device(any_device: gpuopt.Device, brief_quick: None) -> None:
    kernel = own_kernels.saxpy(
        parameters={"WIDTH": [1, 2, 4], "WG": [16, 32, 64, 128]}, constraints=["WIDTH * WG <= 256", "n % WIDTH == 0"]
    )
    found = lab.search(kernel, evaluations=6, device=any_device, n=4098)
    assert (found.evaluations, found.configurations) == (6, 8)
    assert len(found.results.results) == 6
    timed = [one for one in found.results.results if one.ms is not None]
    assert timed
    again = [row for row in found.study.rows if row["kind"] == "summary" and row["role"] == "variant"]
    assert 1 <= len(again) <= 5
    assert "6 of 8 configurations were tried; the fastest were measured again" in str(found)


def test_sizes_that_admit_nothing(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.saxpy(parameters={"WIDTH": [2, 4], "WG": [16]}, constraints=["n % WIDTH == 0"])
    with pytest.raises(ParameterError, match="admit no configuration for n=7"):
        lab.search(kernel, device=any_device, n=7)


def test_a_search_bounds_each_run(any_device: gpuopt.Device, brief_quick: None) -> None:
    with pytest.raises(ParameterError, match=r"limit_s: it is 0\.0; give seconds above 0"):
        lab.search(own_kernels.scaled(), device=any_device, n=100, limit_s=0.0)
    endless = own_kernels.SCALE.replace("    if (i < n)", "    for (volatile int k = 0; n > 0; ++k) ;\n    if (i < n)")
    found = lab.search(own_kernels.scaled(endless), device=any_device, n=100, limit_s=0.5)
    assert [one.status for one in found.results.results] == ["timeout"]
    assert any("within 0.5 s" in str(row["reason"]) for row in found.study.rows)


# ---------------------------------------------------------------- a table of our own


def plain_descents(grid: Grid, time_of: Any, random: np.random.Generator) -> None:
    """Descents as tuners have them, which strategies are held against: from anywhere, the best level of one parameter
    after the other, three rounds or until one gains less than 1 %."""
    lines = grid.lines()
    while True:
        best = int(random.integers(len(grid.points)))
        for _ in range(3):
            before = time_of(best)
            for axis in random.permutation(len(grid.names)):
                point = grid.points[best]
                best = min((int(i) for i in lines[axis][point[:axis] + point[axis + 1 :]]), key=time_of)
            if time_of(best) > 0.99 * before:
                break


def test_an_exhaustive_table_of_an_h200(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 509 combinations of steps of an electrostatics kernel, measured on an H200; 5 are within 5 % of the best.
    Medians of 300 seeds are in docs/decisions/restarts.md."""
    rows = Store(root / "results/h200/papers/gem-factorial/rows.jsonl").latest()
    timed = [row for row in rows if (row["kind"], row["role"]) == ("summary", "variant")]
    names = sorted({name for row in timed for name in row["params"]})
    table = {tuple(row["params"][name] for name in names): row["median_ms"] or math.inf for row in timed}
    grid, times = Grid(tuple(names), tuple(table)), list(table.values())
    assert len(times) == 509
    assert sum(time <= min(times) / 0.95 for time in times) == 5
    monkeypatch.setitem(strategies.STRATEGIES, "plain", plain_descents)
    needed = {
        strategy: np.median([strategies.evaluations_to(0.95, grid, times, strategy, seed) for seed in range(60)])
        for strategy in ("restarts", "near", "plain")
    }
    assert max(needed["restarts"], needed["near"]) <= needed["plain"]


def test_a_prediction_takes_levels_in_their_order() -> None:
    """What lies beside what was fast comes first; texts are levels, too, and what could not run is slow."""
    points = [(width, name) for width in (1, 2, 4, 8) for name in ("float", "half")]
    prediction = Prediction(points)
    prediction.learn({0: 8.0, 1: 8.5, 4: 2.0})
    assert prediction.best_of([7, 6, 2]) in (2, 6)
    prediction.learn({0: 1.0, 7: math.inf, 4: 3.0})
    assert prediction.best_of([6, 5, 1]) == 1
    prediction.learn({0: math.inf})
    assert prediction.best_of([3, 4]) in (3, 4)
    widths = Prediction([(width,) for width in (8, 1, 4, 2)])  # by value, not as they are listed
    widths.learn({0: 1.0, 1: 9.0})
    assert widths.best_of([3, 2]) == 2


@pytest.mark.parametrize("strategy", [*strategies.STRATEGIES])
@pytest.mark.parametrize("budget", [{"evaluations": -1}, {"evaluations": 0}, {"seconds": -1.0}])
def test_budgets_that_are_none(strategy: str, budget: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=rf"^{next(iter(budget))}: it is .*; give more than 0"):
        lab.search(own_kernels.scaled(), strategy=strategy, n=8, **budget)


def test_smooth_tables_need_no_more_than_plain_descents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.STRATEGIES, "plain", plain_descents)
    points = tuple(itertools.product(range(8), range(6), range(4), range(4)))
    needed: dict[str, list[int]] = {}
    for seed in range(20):
        random = np.random.default_rng(seed)
        best, weight = [int(random.integers(n)) for n in (8, 6, 4, 4)], random.uniform(0.1, 0.5, 4)
        times = [math.exp(sum(w * abs(p - b) for p, b, w in zip(point, best, weight, strict=True))) for point in points]
        for strategy in ("restarts", "plain"):
            found = strategies.evaluations_to(0.95, Grid(("A", "B", "C", "D"), points), times, strategy, seed)
            needed.setdefault(strategy, []).append(found or len(points))
    assert np.median(needed["restarts"]) <= np.median(needed["plain"])
