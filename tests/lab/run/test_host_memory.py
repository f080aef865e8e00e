"""The host's memory runs out for one of what a sweep measures; the others have their rows."""

from __future__ import annotations

from typing import Any

import pytest

import gpuopt
from gpuopt import lab, problems
from gpuopt.lab.run import sweep
from gpuopt.lab.run.candidates import Candidate


@pytest.mark.parametrize("variants", [["unpacked", "basic"], "all"])
def test_a_variant_that_finds_no_memory_is_a_row_with_its_reason(
    any_device: gpuopt.Device, brief: str, monkeypatch: pytest.MonkeyPatch, variants: Any
) -> None:
    """The sweep ended, and the rows of the others were never measured."""
    make = sweep.variant_candidate

    def scarce(problem: gpuopt.Problem, configuration: gpuopt.Configuration, *more: Any) -> Candidate:
        if configuration.variant == "basic":
            raise MemoryError("no room")
        return make(problem, configuration, *more)

    monkeypatch.setattr(sweep, "variant_candidate", scarce)
    problem = problems.spmv_grid(20, 12, radius=1, device=any_device)
    study = lab.sweep(problem, variants, protocol=brief, device=any_device, peers=(), calls=False)
    (basic,) = [row for row in study.rows if row["variant"] == "basic" and row["status"] != "ok"][:1]
    assert "no room" in basic["reason"]
    assert any(row["status"] == "ok" and row["role"] == "variant" for row in study.rows)
