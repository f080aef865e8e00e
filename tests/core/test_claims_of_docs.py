"""Sentences of docstrings that were false once."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import lab, problems
from gpuopt.lab.kernels.published import Result


def test_what_takes_samples_is_not_captured(any_device: gpuopt.Device, tmp_path: Path) -> None:
    problem = problems.tmv(16, device=any_device)
    with pytest.raises(gpuopt.ParameterError, match="takes samples"):
        lab.capture(lambda: lab.sweep(problem, "naive", protocol="quick", device=any_device), tmp_path / "report")
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    "scan",
    [
        gt.circular([0.0], 100, 200, (4, 6), 2.0),
        gt.fan([0.0], 100, 200, 6, 2.0),
        gt.helical([0.0], None, 100, 200, (4, 6), 2.0, pitch=1.0),
        gt.from_vectors([[0, -100, 0, 0, 100, 0, 2, 0, 0, 0, 0, 2]], (4, 6)),
    ],
    ids=["circular", "fan", "helical", "vectors"],
)
def test_no_ray_reaches_what_is_behind_the_source(scan: gt.Geometry) -> None:
    behind, source, before = (scan.project(np.array([0.0, y, 0.0]), 0).density for y in (-150.0, -100.0, 50.0))
    assert behind == 0
    assert source == 0
    assert before > 0


def test_a_small_problem_fits_few_bytes() -> None:
    assert problems.tmv(64, 64, max_bytes=1_000_000).sizes == {"rows": 64, "cols": 64}


def test_the_first_product_of_readme_logs_what_it_chooses(
    any_device: gpuopt.Device, caplog: pytest.LogCaptureFixture
) -> None:
    from scipy.sparse import dia_array

    A = dia_array((np.ones((1, 8), np.float32), [0]), shape=(8, 8))
    with caplog.at_level(logging.DEBUG, "gpuopt"):
        gpuopt.spmv(A, np.ones(8, np.float32), device=any_device)
    assert "spmv float32 on" in caplog.text


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    A = gpuopt.DiaMatrix((np.ones((1, 4), np.float32), [0]), (4, 4))
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(gpuopt.Error, match=r"scipy.*gpuopt\[lab\]"):
        A.to_scipy()


@pytest.mark.parametrize("ms", [float("inf"), float("nan"), 0.0, -1.0])
def test_a_result_has_a_time_or_none(ms: float) -> None:
    with pytest.raises(gpuopt.ParameterError, match="ms"):
        Result({"W": 1}, ms)
