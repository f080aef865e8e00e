"""The runner of hostile tests: what it makes of a stage that finds something, that dies, or that hangs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def attack(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("attack", root / "tools" / "attack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["attack"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def outcome_of(attack: ModuleType, code: str, seconds: float = 60.0) -> dict:
    return attack.run(
        attack.Stage("calls", 1, "", (sys.executable, "-c", code), needs="tools/attack.py"), seconds, 1, None
    )


def test_what_a_stage_found_is_told(attack: ModuleType) -> None:
    code = "import json; print('x'); print(json.dumps({'tried': 7, 'hangs': ['f(1)']})); raise SystemExit(1)"
    outcome = outcome_of(attack, code)
    assert attack.findings(outcome) == [("hangs", "f(1)")]
    assert "| calls | a call is answered" in attack.table([outcome])
    assert "7 tried, 1 hangs | 1 |" in attack.table([outcome])


def test_what_the_mutants_left_out_is_a_number(attack: ModuleType, root: Path) -> None:
    command = [sys.executable, "tools/mutants.py", "--only", "spmv", "--seconds", "0.000001", "--jobs", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    outcome = attack.last_object(done.stdout)
    assert outcome is not None
    assert outcome["not_run"] > 5
    assert f"{outcome['not_run']} not run" in attack.table([outcome])


def test_a_stage_that_found_nothing_passes(attack: ModuleType) -> None:
    outcome = outcome_of(attack, 'print(\'{"tried": 3, "crashes": []}\')')
    assert attack.findings(outcome) == []
    assert outcome["tried"] == 3


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "import os; os.kill(os.getpid(), 11)", "print('[1]')", "print()"]
)
def test_a_stage_that_dies_or_says_nothing_is_a_finding(attack: ModuleType, code: str) -> None:
    ((kind, _),) = attack.findings(outcome_of(attack, code))
    assert kind == "crashes"


def test_a_bad_exit_code_that_nothing_explains_is_a_finding(attack: ModuleType) -> None:
    outcome = outcome_of(attack, "print('{\"crashes\": []}'); raise SystemExit(1)")
    assert attack.findings(outcome) == [("exit code", 1)]


def test_a_stage_that_hangs_is_ended_with_all_it_started(attack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "PATIENCE_S", 3)
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(100)'])"
    ((kind, one),) = attack.findings(outcome_of(attack, code, 0.0))
    assert kind == "crashes"
    assert "-9" in one["said"]


def test_failed_tests_are_findings(attack: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): assert 0, 'no'\n")
    stage = attack.Stage("waits", 1, "", tests=(str(tmp_path / "test_it.py"),), needs="tools/attack.py")
    outcome = attack.run(stage, 60, 1, None)
    assert outcome["tried"] == 2
    ((kind, one),) = attack.findings(outcome)
    assert kind == "failed"
    assert one["call"].endswith("::test_b")


@pytest.mark.parametrize(("seconds", "seeds"), [(1.0, "1"), (179.0, "2"), (4000.0, "3")])
def test_more_time_is_more_seeds_for_the_judge(attack: ModuleType, seconds: float, seeds: str) -> None:
    code = "import json, os; print(json.dumps({'seeds': [os.environ['GPUOPT_JUDGE_SEEDS']]}))"
    assert attack.findings(outcome_of(attack, code, seconds)) == [("seeds", seeds)]


def test_a_stage_that_is_not_there_is_left_out(attack: ModuleType) -> None:
    outcome = attack.run(attack.Stage("calls", 1, "", needs="tests/none.py"), 1, 1, None)
    assert attack.findings(outcome) == []
    assert "left out: there is no tests/none.py" in attack.table([outcome])


def test_the_page_shows_the_stored_outcomes(attack: ModuleType) -> None:
    assert attack.page() == attack.PAGE.read_text(encoding="utf-8"), "run `python tools/attack.py --page`"


@pytest.mark.skipif(not shutil.which("oclgrind"), reason="oclgrind is not installed")
def test_the_simulator_sees_a_read_out_of_bounds(root: Path, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(root / "kernels", kernels)
    kernel = kernels / "tmv" / "naive.cl"
    line = "const int col = get_global_id(0);"
    text = kernel.read_text()
    assert line in text
    kernel.write_text(
        text.replace(line, line + " if (col == 0 && A[(size_t)rows * stride + 100] == (REAL)12345) return;")
    )
    env = {**os.environ, "GPUOPT_KERNEL_DIR": str(kernels)}
    command = [sys.executable, "-m", "tests.hostile.simulator", "--seconds", "100", "--only", "tmv naive"]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Invalid read" in done.stdout
