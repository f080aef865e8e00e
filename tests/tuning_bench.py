"""`lab.tune` on made-up times and energies, for tests of what it chooses."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import study_rows
from gpuopt import configuration as tables
from gpuopt import lab, resolution
from gpuopt.configuration import Configuration
from gpuopt.lab.report import Study
from made_up_tables import variant

TUNE = inspect.unwrap(lab.tune)  # what checks arguments takes no made-up problem
DEVICE: Any = SimpleNamespace(
    vector_bytes=16,
    name="Made Up 1",
    platform="Made Up",
    type="gpu",
    key="Made Up / Made Up 1",
    driver="7",
    timer_ns=1,
    index=0,
)
MATCH = {"name": "Made Up 1", "platform": "Made Up", "type": "gpu", "dtype": "float32"}


class Bench:
    """`lab.tune` with a made-up workload and device; `times` of configurations stand for a sweep."""

    def __init__(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = cache / "tuned" / "made-up.json"
        self.problem: Any = SimpleNamespace(
            workload="made-up",
            dtype=np.dtype("float32"),
            input_properties={},
            tunable=lambda configuration: True,
            default_configuration=None,
            plain=None,
            family="",
        )
        self.problem.is_for = lambda variant: all(
            self.problem.input_properties.get(name, True) for name in variant.input_properties
        )
        self.times: dict[Configuration, float] = {}
        self.status: dict[Configuration, str] = {}
        self.interrupted = False
        self.noise: dict[Configuration, list[float]] = {}  # factors of the time, a block each
        self.asked: dict[str, Any] = {}
        self.joules: dict[Configuration, float | None] = {}
        self.gross: dict[Configuration, float] = {}
        self.doubts: dict[Configuration, str] = {}
        self.refused: str | None = None  # why no verdict stands
        table = {
            "plain": variant(("LOCAL", (64, 128), 64), half=True, name="plain"),
            "other": variant(name="other"),
            "mirrored": variant(name="mirrored"),
        }
        table["mirrored"].input_properties = ["symmetric"]
        monkeypatch.setenv("GPUOPT_CACHE_DIR", str(cache))
        monkeypatch.setattr(tables, "table_of", lambda workload: table)
        monkeypatch.setattr(tables, "variants", lambda workload: list(table.values()))
        monkeypatch.setattr(resolution, "shipped_records", lambda workload: [{"match": {}, "variant": "other"}])
        monkeypatch.setitem(TUNE.__globals__, "sweep", self.sweep)
        monkeypatch.setitem(TUNE.__globals__, "select", lambda device: DEVICE)

    def sweep(self, problem: Any, variants: Sequence[str | Configuration], **asked: Any) -> Study:
        self.asked = asked | {"variants": list(variants)}
        rows = []
        baseline = next(iter(self.times))
        for configuration, time in self.times.items():
            status = self.status.get(configuration, "ok")
            named = {
                "configuration": str(configuration),
                "params": configuration.parameters,
                "status": status,
                "reason": None if status == "ok" else "for a reason",
                "baseline": str(baseline),
                "ratio": time / self.times[baseline],
            }
            for block in range(8):
                factor = self.noise.get(configuration, [1.0] * 8)[block]
                noisy = named | {"ratio": named["ratio"] * factor}
                rows.append(study_rows.timed("block", configuration.variant, time * factor, **noisy, block=block))
            sure = {"ratio_lo": named["ratio"], "ratio_hi": named["ratio"], "verdict": "FAST", "blocks": 8}
            sure |= {"verdict": "AMBIGUOUS", "refused": self.refused} if self.refused else {}
            kind = "search" if status == "search" else "summary"
            measured: Any = {"net_j": self.joules.get(configuration), "gross_j": self.gross.get(configuration)}
            measured["energy_note"] = self.doubts.get(configuration)
            rows.append(study_rows.timed(kind, configuration.variant, time, **named, **sure, **measured))
        study = Study(rows, {"workload": "made-up"})
        study.interrupted = self.interrupted
        return study

    def tune(self, **more: Any) -> Any:
        return TUNE(self.problem, **more)

    def resolved(self, **input_properties: object) -> Configuration:
        return resolution.resolve(
            "made-up",
            DEVICE,
            "float32",
            input_properties={name: lambda value=value: value for name, value in input_properties.items()},
        )


PLAIN, PLAIN_128, HALVED = (Configuration("plain", HALF=h, LOCAL=n) for h, n in ((0, 64), (0, 128), (1, 128)))
OTHER, MIRRORED = Configuration("other"), Configuration("mirrored")
