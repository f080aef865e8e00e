"""``gpuopt.trace``: what the table and the file hold, and that nothing is noted where nobody asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import _core, tracing


def product(device: gpuopt.Device, n: int = 64) -> None:
    a = np.ones((n, n), np.float32)
    gpuopt.gemm(a, a, device=device).sum()


def test_the_parts_of_a_call_add_up_to_it(device: gpuopt.Device) -> None:
    A = gpuopt.to_device(np.ones((64, 64), np.float32), device)
    gpuopt.gemm(A, A)
    with gpuopt.trace() as t:
        for _ in range(3):
            gpuopt.gemm(A, A)
        A.to_numpy()
    found = {row["call"]: row for row in t.rows()}  # the longest first, which a busy machine decides
    row, other = found["gemm"], found["(no call)"]
    assert row["calls"] == 3
    assert row["kernels_ms"] > 0
    assert sum(row[f"{part}_ms"] for part in tracing.PARTS) == pytest.approx(row["total_ms"], rel=1e-6)
    assert other["download_ms"] > 0
    assert "gemm" in repr(t)
    assert "<td>gemm</td>" in t._repr_html_()


def test_a_first_call_shows_its_plan_and_allocations(device: gpuopt.Device) -> None:
    _core.drop_kept(device)
    with gpuopt.trace() as t:
        product(device, 65)
    names = {span.name for span in t.spans}
    assert {"gemm", "plan", "records", "kernels"} <= names


def test_a_build_counts_as_its_call(any_device: gpuopt.Device) -> None:
    """It is waited for while a thread of its own builds."""
    a = np.ones((9, 9), np.float32)
    unseen = gpuopt.Configuration("register_tile", TILE_M=64, TILE_N=32, WORK_M=16, WORK_N=4, BAND=1, ORDER=0)
    with gpuopt.trace() as t:
        gpuopt.gemm(a, a, device=any_device, variant=unseen)
    assert [row["call"] for row in t.rows()] == ["gemm"]
    assert t.rows()[0]["build_ms"] > 0


def test_nothing_is_noted_outside(device: gpuopt.Device) -> None:
    with gpuopt.trace() as outer:
        product(device)
        with gpuopt.trace() as inner:
            product(device)
    product(device)
    assert [row["calls"] for row in inner.rows() if row["call"] == "gemm"] == [1]
    assert [row["calls"] for row in outer.rows() if row["call"] == "gemm"] == [2]
    assert not tracing._noted
    assert _core.trace_spans() == []
    assert repr(gpuopt.trace()) == "<gpuopt.trace: no call was traced>"


def test_the_file_is_chromes(device: gpuopt.Device, tmp_path: Path) -> None:
    with gpuopt.trace() as t:
        product(device)
    events = json.loads(t.save(tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"gemm", "kernels"} <= {event["name"] for event in events}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)


def test_the_environment_traces_a_process(any_device: gpuopt.Device, tmp_path: Path) -> None:
    code = f"import gpuopt, numpy as np\na = np.ones((8, 8), np.float32)\ngpuopt.gemm(a, a, device={any_device.index})"
    environment = os.environ | {"GPUOPT_TRACE": str(tmp_path / "all.json")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "gemm" in done.stderr
    assert json.loads((tmp_path / "all.json").read_text())["traceEvents"]


def test_a_relative_file_lies_where_the_process_began(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    call = [sys.executable, "-c", "import gpuopt, os; os.chdir('there')"]
    environment = os.environ | {"GPUOPT_TRACE": "all.json"}
    done = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "all.json").exists()


def test_a_forked_child_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    code = "import gpuopt, os, sys\nif child := os.fork(): os.waitpid(child, 0)\nelse: sys.exit()"
    path = tmp_path / "all.json"
    environment = os.environ | {"GPUOPT_TRACE": str(path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert path.exists()
    assert done.stderr.count("checks  records  plan") == 1


def test_arithmetic_of_arrays_takes_the_time_of_kernels(device: gpuopt.Device) -> None:
    x = gpuopt.to_device(np.ones(1_000_000, np.float32), device)
    gpuopt.dot(x, x)
    with gpuopt.trace() as t:
        gpuopt.dot(x, x)
        x[:500_000]
    found = {row["call"]: row for row in t.rows()}
    assert found["dot"]["kernels_ms"] > 0
    assert found["(no call)"]["kernels_ms"] > 0


def test_a_trace_that_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    environment = os.environ | {"GPUOPT_TRACE": str(tmp_path / "nowhere" / "all.json")}
    call = [sys.executable, "-c", "import gpuopt"]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "gpuopt: GPUOPT_TRACE: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_block_that_never_began_does_not_end() -> None:
    with pytest.raises(gpuopt.ParameterError, match="trace: its block never began"):
        gpuopt.trace().__exit__(None, None, None)


def test_a_trace_that_is_full_ends_there(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the core's steps was told as checks."""
    A, v = gpuopt.to_device(np.ones((3, 2), np.float32), any_device), np.ones(3, np.float32)
    gpuopt.tmv(A, gpuopt.to_device(v, any_device))
    monkeypatch.setattr(tracing, "MOST_SPANS", 50)
    with gpuopt.trace() as trace:
        for _ in range(100):
            gpuopt.to_device(v, any_device)
    assert trace.cut
    (row,) = trace.rows()
    assert 20 < row["calls"] <= 50
    assert repr(trace).endswith("later calls are left out: 1,000,000 steps were noted")
    assert "left out" in trace._repr_html_()
    with gpuopt.trace() as trace:
        gpuopt.to_device(v, any_device)
    assert not trace.cut
    assert "left out" not in repr(trace)
