"""The command line with a made-up workload, device and sweep."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import study_rows
from gpuopt import cli, lab_commands
from gpuopt.lab.report import Study
from gpuopt.registry import records

IMAGES = next(record for record in records() if record.name == "spmv")
FAKE = SimpleNamespace(name="Fake (R) CPU", platform="Fake", key="Fake / Fake (R) CPU")


class Bench:
    """The command line with a made-up workload, device and sweep; `sweep` may be replaced by what a test needs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.directory = directory
        self.asked: dict[str, Any] = {}
        self.study = Study(study_rows.rows(), study_rows.INFO)
        self.subjects: list[str] = []
        self.checked: list[str] = []
        made_up = {"problem": self.problem, "check": self.check, "pictures": self.pictures}
        workload = dataclasses.replace(IMAGES, name="made-up", **made_up)
        monkeypatch.setitem(lab_commands.STUDIES, workload.name, lab_commands.study_command(workload))
        monkeypatch.setitem(lab_commands.TUNINGS, workload.name, lab_commands.tune_command(workload))
        monkeypatch.setenv("GPUOPT_CACHE_DIR", str(directory))
        self.tuned: Any = SimpleNamespace(
            interrupted=False, choices=["for any input: basic"], reason="", path=Path("a file")
        )
        monkeypatch.setattr("gpuopt.lab_commands.select", lambda device=None: FAKE)
        monkeypatch.setattr("gpuopt.lab.sweep", lambda problem, **asked: self.sweep(**asked), raising=False)
        monkeypatch.setattr("gpuopt.lab.tune", lambda problem, **asked: self.tune(**asked), raising=False)

    def problem(self, subjects: tuple[str, ...], dtype: str, device: object) -> SimpleNamespace:
        self.subjects.append(" ".join(subjects))
        return SimpleNamespace(name=" ".join(subjects))

    def check(self, subject: str, device: object) -> None:
        self.checked.append(subject)

    def pictures(self, problem: object, device: object, directory: Path, study: Study) -> list[Path]:
        (directory / "cut.png").write_bytes(b"")
        return [directory / "cut.png"]

    def sweep(self, **asked: Any) -> Study:
        self.asked = asked
        Path(asked["store"]).write_text("")
        return self.study

    def tune(self, **asked: Any) -> Any:
        self.asked = asked
        return self.tuned

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli.app, words)

    def run_study(self, *words: str) -> Result:
        return self.run("study", "made-up", "--out", str(self.directory), *words)
