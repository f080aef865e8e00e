"""Rows of energy: what follows from their loops, and the audit of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gpuopt.audit import audit
from gpuopt.lab.report import Study
from gpuopt.lab.rows import energies
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.energies import of_loops
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import GROUPS
from gpuopt.lab.run.energy import EnergyPass
from gpuopt.progress import Bar
from meters import GPU, Bench, BenchMeter, candidate

FOLLOWS = ("idle_w", "gross_j", "net_j", "gflop_j", "gb_j", "mean_w", "apart_pct", "power_pct")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file with the energy of one candidate, whose counter and instant power disagree."""
    path = tmp_path / "rows.jsonl"
    bench, recorder = Bench(lambda busy_s: 80.0 if busy_s is None else 480.0), Recorder(path)
    recorder.keep({"kind": "environment", "status": "ok", "env_hash": "e", "environment": {}})
    meter = BenchMeter(bench, power=lambda watts: 1.1 * watts)
    found = candidate(bench, flops=8e9, bytes={"dram": 2e9}, env_hash="e")
    EnergyPass(GPU, meter, recorder, clock=bench).run([found], Bar(False, 0))  # type: ignore[arg-type]
    return path


def discrepancies(path: Path) -> set[str]:
    return {each.field for each in audit(path).discrepancies} - {"env_hash"}  # the made-up environment's own


def test_energies_of_two_loops() -> None:
    loops = {"loop_j": [2400.0, 2500.0], "loop_s": [5.0, 5.0], "loop_runs": [1000.0, 1000.0], "idles_w": [70.0, 90.0]}
    found = of_loops({**loops, "loop_power_j": None, "flops": None, "bytes": {"dram": 4e9, "requested": 8e9}})
    assert found == pytest.approx(
        {
            "idle_w": 80.0,
            "gross_j": 2.45,
            "net_j": 2.05,
            "mean_w": 490.0,
            "gflop_j": None,
            "gb_j": 4 / 2.05,
            "apart_pct": 100 * 0.1 / 2.05,
            "power_pct": None,
        }
    )


def test_an_audit_computes_the_energy_again(rows: Path) -> None:
    assert discrepancies(rows) == set()


@pytest.mark.parametrize("name", FOLLOWS)
def test_an_audit_sees_an_altered_energy(rows: Path, name: str) -> None:
    *before, last = rows.read_text().splitlines()
    row: dict[str, Any] = json.loads(last)
    row[name] = row.get(name, 1.0) * 1.01 + 1e-6
    rows.write_text("\n".join([*before, json.dumps(row), ""]))
    assert name in discrepancies(rows)


@pytest.mark.parametrize(("name", "value"), [("loop_runs", [1.0]), ("loop_s", [0.0, 0.0]), ("energy_note", "fine")])
def test_an_audit_sees_loops_and_doubts_that_are_gone(rows: Path, name: str, value: Any) -> None:
    *before, last = rows.read_text().splitlines()
    rows.write_text("\n".join([*before, json.dumps(json.loads(last) | {name: value}), ""]))
    assert discrepancies(rows) & {"loop_j", "energy_note"}


def test_a_compact_file_keeps_energies(rows: Path) -> None:
    short = compact_file(rows).target
    assert discrepancies(short) == set()
    energies = [[row for row in Study.load(path).rows if row["kind"] == "energy"] for path in (rows, short)]
    told = [[{name: row[name] for name in GROUPS["energy"]} for row in found] for found in energies]  # type: ignore[literal-required]
    assert told[0] == told[1]
    assert told[0][0]["net_j"] > 0


@pytest.mark.parametrize(
    ("net_j", "gross_j", "cost"),
    [(0.5, 1.0, 0.5), (0.009, 1.0, math.inf), (-0.1, 1.0, math.inf), (None, None, None), (0.5, None, 0.5)],
)
def test_an_energy_of_hardly_more_than_idling_ranks_last(
    net_j: float | None, gross_j: float | None, cost: float | None
) -> None:
    assert energies.ranked_j({"net_j": net_j, "gross_j": gross_j}) == cost
