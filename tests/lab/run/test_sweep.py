"""Sweeps end to end on a small problem: rows, failures as data, resume, interrupts, a wrong kernel, a full disk."""

from __future__ import annotations

import dataclasses
import inspect
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gpuopt
from gpuopt import lab, problems
from gpuopt.lab.device import bandwidth, caches
from gpuopt.lab.rows import groups
from gpuopt.lab.rows.names import names_of
from gpuopt.lab.rows.schema import GROUPS
from gpuopt.lab.run import blocks as comparison
from gpuopt.lab.timing import protocol, samplers, verification
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.problem import Problem
from gpuopt.progress import Bar


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(96, 64, radius=2, seed=1)


def kinds(study: lab.Study, kind: str, role: str | None = None) -> list[dict]:
    return [row for row in study.rows if row["kind"] == kind and role in (None, row["role"])]


@pytest.mark.thin(others=0)
def test_every_variant_and_peer_becomes_a_verified_row(device: gpuopt.Device, problem: Problem, brief: str) -> None:
    study = lab.sweep(problem, protocol=brief, device=device)
    names = {variant.name for variant in gpuopt.variants("spmv") if "columns" not in variant.input_properties}
    ours = {row["variant"]: row for row in kinds(study, "summary", "variant")}
    assert set(ours) == names
    unsymmetric = {variant.name for variant in gpuopt.variants("spmv") if "symmetric" in variant.input_properties}
    assert {name for name, row in ours.items() if row["status"] == "constraints"} == unsymmetric
    for row in (row for name, row in ours.items() if name not in unsymmetric):
        assert row["status"] == "ok", row["reason"]
        assert row["canary_ok"] is True
        assert 0 < row["ci_lo_ms"] <= row["median_ms"] <= row["ci_hi_ms"]
        assert 0 < row["pct_lo"] <= row["pct_bound"] <= row["pct_hi"]
        assert row["bytes"]["dram"] > 0
        assert row["blocks"] == 10
        assert len(row["source_sha256"]) == 64
    assert {row["variant"] for row in kinds(study, "summary", "peer")} >= {"SciPy dia_array", "SciPy csr_array"}
    assert kinds(study, "summary", "ceiling")
    assert ours["basic"]["preset"] == "paper:basic"
    assert len(kinds(study, "environment")) == 1
    assert study.sentences()
    assert len(study.to_pandas("summary")) == len(kinds(study, "summary"))


def test_a_full_protocol_searches_every_level(
    any_device: gpuopt.Device, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = dataclasses.replace(
        PROTOCOLS["full"],
        warm_up_s=0.0,
        warm_up_cap_s=0.0,
        search_min_s=0.0,
        search_cap_s=0.0,
        visit_s=1e-4,
        target=9.0,
    )
    monkeypatch.setitem(PROTOCOLS, "full", full)
    study = lab.sweep(problem, ["basic", "vectorized"], device=any_device, peers=())
    looked_at = {row["configuration"] for row in kinds(study, "search")}
    sizes = next(v for v in gpuopt.variants("spmv") if v.name == "basic").parameters[0].levels
    assert looked_at == {f"{name}(LOCAL={size})" for name in ("basic", "vectorized") for size in sizes}
    compared = {row["configuration"] for row in kinds(study, "summary", "variant")}
    assert {"basic(LOCAL=256)", "vectorized(LOCAL=256)"} <= compared  # presets are compared whatever the search found


def test_a_big_table_is_searched_by_coordinates_and_what_is_given_is_compared(
    any_device: gpuopt.Device, problem: Problem, brief: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(PROTOCOLS, brief, dataclasses.replace(PROTOCOLS[brief], all_levels=True, search_min_s=0.0))
    monkeypatch.setattr("gpuopt.lab.run.search.EXHAUSTIVE", 8)
    bars: list[CountingBar] = []
    inside = inspect.unwrap(lab.sweep).__globals__
    monkeypatch.setitem(inside, "Bar", lambda wanted, total, **how: bars.append(CountingBar(total)) or bars[-1])
    given = gpuopt.Configuration("coarse", ITEMS=2)
    path = tmp_path / "rows.jsonl"
    study = lab.sweep(problem, [given, "sliced"], protocol=brief, device=any_device, peers=(), store=path)
    table = next(variant for variant in gpuopt.variants("spmv") if variant.name == "sliced")
    searched = [row["configuration"] for row in kinds(study, "search") if row["variant"] == "sliced"]
    assert len(set(searched)) == len(searched)
    assert 8 < len(searched) < np.prod([len(parameter.levels) for parameter in table.parameters])
    compared = [row for row in kinds(study, "summary", "variant") if row["status"] == "ok"]
    assert str(given) in {row["configuration"] for row in compared}
    assert {row["accuracy"] for row in compared if row["variant"] == "sliced"} == {"", "HALF=1"}
    assert bars[0].steps == bars[0].total
    again = lab.sweep(problem, [given], protocol=brief, device=any_device, peers=(), store=path)
    rows = [
        [row["median_ms"] for row in kinds(s, "search") if row["configuration"] == str(given)] for s in (study, again)
    ]
    assert rows[0] == rows[1]


class CountingBar(Bar):
    """A bar that nobody sees."""

    def __init__(self, total: int) -> None:
        super().__init__(False, total)
        self.total, self.steps = total, 0

    def step(self) -> None:
        self.steps += 1

    def more(self, count: int) -> None:
        self.total += count

    def stage(self, total: int, unit: str, done: int = 0) -> None:
        self.total += total - done


def test_what_is_finished_is_not_measured_again(
    any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    first = lab.sweep(problem, protocol=brief, device=any_device, peers=(), store=path)
    monkeypatch.setattr(
        comparison.Comparison, "block", lambda self, number: pytest.fail("a finished block was repeated")
    )
    again = lab.sweep(problem, protocol=brief, device=any_device, peers=(), store=path)
    times = [{row["configuration"]: row["median_ms"] for row in kinds(s, "summary", "variant")} for s in (first, again)]
    assert times[0] == times[1]


def test_blocks_of_an_earlier_run_keep_the_errors_of_its_check(
    any_device: gpuopt.Device, brief_quick: None, tmp_path: Path
) -> None:
    """Also where the reference and the tolerance have changed since; an error that no block tells is listed."""
    path = tmp_path / "rows.jsonl"
    copy = "kernel void f(global const float* x, global float* y) { y[get_global_id(0)] = x[get_global_id(0)]; }"
    arguments, launch = [lab.input("x", "n"), lab.output("y", "n")], lab.launch(items="n", local=64)

    def swept(factor: float, tolerance: float) -> dict:
        kernel = lab.Kernel(
            copy, "f", arguments=arguments, launch=launch, reference=lambda x: x * factor, tolerance=tolerance
        )
        study = lab.sweep(
            kernel.problem(n=4096), protocol="quick", device=any_device, peers=(), calls=False, store=path
        )
        return kinds(study, "summary", "variant")[0]

    first, second = swept(1.0, 1e-5), swept(1.0 + 1e-7, 2e-5)
    for name in GROUPS["correctness"]:
        assert first[name] == second[name], name
    assert lab.audit(path).ok
    lab.Store(path).append({**second, "max_rel": 1e-7})
    assert [(each.field, each.stored) for each in lab.audit(path).discrepancies] == [("max_rel", 1e-7)]


def test_an_interrupt_keeps_finished_blocks(
    any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, measured = tmp_path / "rows.jsonl", comparison.Comparison.block

    def until_the_third(self: comparison.Comparison, number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt
        measured(self, number)

    monkeypatch.setattr(comparison.Comparison, "block", until_the_third)
    study = lab.sweep(problem, protocol=brief, device=any_device, peers=(), store=path)
    assert study.interrupted
    assert {row["block"] for row in kinds(study, "block")} == {0, 1}
    assert {row["block"] for row in lab.Store(path).latest() if row["kind"] == "block"} == {0, 1}
    numbers: list[int] = []
    monkeypatch.setattr(comparison.Comparison, "block", lambda self, n: (numbers.append(n), measured(self, n)))
    assert not lab.sweep(problem, protocol=brief, device=any_device, peers=(), store=path).interrupted
    assert numbers == list(range(2, 10))


# Stops for good when five rows of the fourth block are kept.
KILLED = """
import dataclasses, sys, time
from gpuopt import lab, problems
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.timing.protocol import PROTOCOLS
short = dict(warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
PROTOCOLS["brief"] = dataclasses.replace(PROTOCOLS["quick"], name="brief", **short)
keep_all = Recorder.keep_all
def keep_and_stop(self, rows):
    if rows[0].get("block") == 3:
        print("in the fourth block", flush=True)
        time.sleep(1000)
    return keep_all(self, rows)
Recorder.keep_all = keep_and_stop
lab.sweep(problems.spmv_grid(96, 64, radius=2, seed=1), protocol="brief", device=0, peers=(), store=sys.argv[1])
"""


def test_kill_9_loses_no_finished_block(
    any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "in the fourth block\n"
    process.kill()
    process.communicate()

    def stored() -> dict[tuple[int, int], tuple[str, str]]:
        rows = [row for row in lab.Store(path).latest() if row["kind"] == "block"]
        return {(row["block"], row["order"]): (row["row_id"], row["time_utc"]) for row in rows}

    before = stored()
    counts = Counter(block for block, _ in before)
    assert counts[0] == counts[1] == counts[2] > counts[3] == 0  # the rows of a block are written together
    study = lab.sweep(problem, protocol=brief, device=0, peers=(), store=path)
    assert {row["blocks"] for row in kinds(study, "summary", "variant") if row["status"] == "ok"} == {10}
    after = stored()
    assert {at: after[at] for at in before if at[0] < 3} == {at: row for at, row in before.items() if at[0] < 3}
    assert Counter(block for block, _ in after) == dict.fromkeys(range(10), counts[0])


def test_a_wrong_kernel_is_a_row_that_says_so(any_device: gpuopt.Device, problem: Problem, tmp_path: Path) -> None:
    folder = tmp_path / "kernels" / "spmv"
    folder.mkdir(parents=True)
    right = (Path(__file__).parents[3] / "kernels" / "spmv" / "basic.cl").read_text()
    (folder / "basic.cl").write_text(right.replace("REAL accumulator = 0;", "REAL accumulator = (REAL)0.25f;"))
    code = (
        "from gpuopt import lab, problems\n"
        "p = problems.spmv_grid(96, 64, radius=2, seed=1)\n"
        "s = lab.sweep(p, ['basic', 'padded'], protocol='quick', device=0, peers=(), calls=False)\n"
        "print([(r['variant'], r['status'], 'elements are off' in (r['reason'] or '')) for r in s.summary])"
    )
    environment = os.environ | {"GPUOPT_KERNEL_DIR": str(tmp_path / "kernels"), "GPUOPT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=200)
    assert done.stdout.strip() == "[('basic', 'wrong', True), ('padded', 'ok', False)]", done.stdout + done.stderr


def test_a_cold_sweep_flushes_before_each_sample(
    any_device: gpuopt.Device, problem: Problem, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes: list[int] = []
    make = caches.flusher

    def counted(device: gpuopt.Device, notes: list[str]) -> Callable[[], None]:
        flush = make(device, notes)
        return lambda: (flush(), flushes.append(len(flushes)))[0]

    monkeypatch.setattr(caches, "last_level_cache", lambda index: caches.CacheSize(1 << 22))
    monkeypatch.setattr(caches, "flusher", counted)
    study = lab.sweep(problem, "basic", protocol=brief, device=any_device, peers=(), cache="cold")
    (row,) = kinds(study, "summary", "variant")
    assert row["cache_state"] == "cold"
    assert row["clock"] == "event"
    assert row["batch_n"] == 1
    # Of a launch no cache is flushed. The samples of a visit follow one that is thrown away.
    visits = [row for row in kinds(study, "block") if row["variant"] != "launch"]
    assert {"variant", "call", "ceiling"} <= {row["role"] for row in visits}
    assert {row["batch_n"] for row in visits} == {1}
    assert len(flushes) >= sum(row["n"] + 1 for row in visits)


def test_a_peer_called_as_the_baseline_is_compared_with_it(
    any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    peer = lab.Peer("basic(LOCAL=256)", lambda problem: problem.inputs, lambda inputs: inputs["A"] @ inputs["x"])
    study = lab.sweep(problem, "basic", protocol=brief, device=any_device, peers=[peer], calls=False, store=path)
    ours, theirs = study.summary
    assert (ours["role"], ours["verdict"]) == ("variant", None)
    assert (theirs["role"], theirs["ratio"] > 0) == ("peer", True)
    assert theirs["verdict"] in ("FAST", "SLOW", "SAME", "AMBIGUOUS")
    assert theirs["instructions"] is None
    assert not groups.is_baseline(theirs, theirs)
    assert names_of([ours, theirs | {"variant": "basic"}]) == ["basic", "basic(peer)"]
    assert lab.audit(path).discrepancies == []


@pytest.mark.parametrize("error", [gpuopt.DeviceMemoryError, MemoryError])
def test_a_sweep_without_room_for_ceilings_goes_on(
    any_device: gpuopt.Device, problem: Problem, brief: str, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def full(*arguments: object) -> None:
        raise error("no room")

    monkeypatch.setattr(bandwidth.BandwidthTest, "fitting", full)
    study = lab.sweep(problem, "basic", protocol=brief, device=any_device, peers=(), calls=False)
    (row,) = study.summary
    assert (row["status"], row["blocks"], row["pct_bound"]) == ("ok", 10, None)
    assert "no share of a bound is told, for no ceiling could be measured: no room" in study.notes


def test_held_rows_are_written_however_a_sweep_ends(
    any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "rows.jsonl", lab.Store._write

    def full(self: lab.Store, line: bytes) -> None:
        if path.exists():  # the environment, which comes first, found room
            raise OSError(28, "No space left on device")
        write(self, line)

    def bug(*arguments: object) -> None:
        monkeypatch.setattr(lab.Store, "_write", write)  # there is room again
        raise ZeroDivisionError

    monkeypatch.setattr(lab.Store, "_write", full)
    monkeypatch.setattr(comparison.Comparison, "check_all", bug)
    with pytest.warns(UserWarning, match="rows are held in memory"), pytest.raises(ZeroDivisionError):
        lab.sweep(problem, "basic", protocol=brief, device=any_device, peers=(), calls=False, store=path)
    assert {row["block"] for row in lab.Store(path).latest() if row["kind"] == "block"} == set(range(10))


def test_the_hopeless_are_searched_with_few_samples(
    any_device: gpuopt.Device, problem: Problem, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROTOCOLS, brief, dataclasses.replace(PROTOCOLS[brief], all_levels=True))
    limits: list[float] = []
    samples = samplers.search_samples

    def told(sampler: samplers.Sampler, protocol: protocol.Protocol, hopeless_ms: float) -> samplers.VisitSamples:
        limits.append(hopeless_ms)
        return samples(sampler, protocol, -1.0 if len(limits) == 2 else np.inf)

    monkeypatch.setattr(samplers, "search_samples", told)
    study = lab.sweep(problem, "basic", protocol=brief, device=any_device, peers=(), calls=False)
    first, second, *others = kinds(study, "search", "variant")
    assert limits[:2] == [np.inf, 4 * first["median_ms"]]
    assert (second["n"], second["flags"][0]) == (3, "cut_short")
    assert all("cut_short" not in row["flags"] for row in others)


def test_presets_are_called_by_their_names(problem: Problem) -> None:
    from gpuopt.lab.run.wanted import what_to_measure

    for device_type, name in (("cpu", "paper:cpu"), ("gpu", "paper:vectorized")):
        device = SimpleNamespace(type=device_type)
        asked = ["paper:basic", "paper:vectorized", "paper:cpu", "paper:image"]
        wanted = what_to_measure(problem, device, asked, False)  # type: ignore[arg-type]
        assert [wanted.presets[item] for item in wanted.items] == ["paper:basic", name, "paper:image"]  # type: ignore[index]


def test_paper_stands_for_all_presets_in_the_papers_order(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuopt import papers
    from gpuopt.lab.run.wanted import what_to_measure

    device = SimpleNamespace(type="gpu")
    presets = [name for name in papers.steps("spmv") if name != "paper:cpu"]  # `vectorized` on a CPU
    for all_levels in (False, True):
        wanted = what_to_measure(problem, device, "paper", all_levels)  # type: ignore[arg-type]
        assert [wanted.presets[item] for item in wanted.items] == presets  # type: ignore[index]
        more = what_to_measure(problem, device, ["paper", "padded"], all_levels)  # type: ignore[arg-type]
        assert more.items[: len(presets)] == wanted.items
        assert len(more.items) == len(presets) + 1
    monkeypatch.setattr(papers, "figures", lambda workload: {})
    with pytest.raises(gpuopt.ParameterError, match=r"variants: no paper measured .*; use 'all'"):
        what_to_measure(problem, device, ["padded", "paper"], False)  # type: ignore[arg-type]


def test_wrong_arguments_name_themselves(any_device: gpuopt.Device, problem: Problem) -> None:
    for arguments, name in (
        ({"protocol": "slow"}, "protocol"),
        ({"cache": "warm"}, "cache"),
        ({"variants": []}, "variants"),
        ({"variants": ["nope"]}, "variant"),
    ):
        with pytest.raises(gpuopt.ParameterError, match=f"^{name}: "):
            lab.sweep(problem, device=any_device, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("got", "good"),
    [
        ([1.0, 2.0, np.nan, np.inf], True),
        ([1.0, 2.0 + 1e-7, np.nan, np.inf], True),
        ([1.0, 2.1, np.nan, np.inf], False),
        ([np.nan, 2.0, np.nan, np.inf], False),
        ([1.0, 2.0, 0.0, np.inf], False),
        ([1.0, 2.0, np.nan, -np.inf], False),
    ],
)
def test_results_are_compared_element_by_element(got: list[float], good: bool) -> None:
    reference = np.array([1.0, 2.0, np.nan, np.inf])
    result = np.array(got, dtype=np.float32)
    if good:
        assert verification.compare(result, reference, np.full(4, 1e-6))["max_abs"] <= 1e-6
    else:
        with pytest.raises(gpuopt.MismatchError, match="1 of 4 elements are off"):
            verification.compare(result, reference, np.full(4, 1e-6))
