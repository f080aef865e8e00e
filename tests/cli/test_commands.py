"""The small commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gpuopt
from gpuopt import doctor

click = pytest.importorskip("click")


from cli_bench import Bench  # noqa: E402
from doctor_facts import DEVICE, facts  # noqa: E402


def test_version(bench: Bench) -> None:
    assert bench.run("--version").output == f"gpuopt {gpuopt.__version__}\n"


def test_devices_lists_them_or_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpuopt, "devices", lambda: ["one device"])
    assert bench.run("devices").output == "['one device']\n"
    monkeypatch.setattr(gpuopt, "devices", list)
    assert bench.run("devices").exit_code == 1


def test_doctor_is_a_command(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for devices, code in (([DEVICE], 0), ([], 1)):
        monkeypatch.setattr(doctor, "gather", lambda devices=devices: facts(devices=devices))
        result = bench.run("doctor")
        assert result.exit_code == code
        assert result.output.startswith("gpuopt doctor")


def test_audit_exits_with_1_where_something_does_not_follow(bench: Bench, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text('{"ms": 2.0, "ci95": [1.0, 3.0]}\n')
    good = bench.run("audit", str(tmp_path))
    assert (good.exit_code, "1 facts in 1 files, 0 discrepancies" in good.output) == (0, True)
    own.write_text('{"ms": 4.0, "ci95": [1.0, 3.0]}\n')
    bad = bench.run("audit", str(own), "--json")
    assert bad.exit_code == 1
    assert [found["field"] for found in json.loads(bad.output)["discrepancies"]] == ["ci95"]


def test_without_click_the_message_names_the_extra() -> None:
    code = "import sys; sys.modules['click'] = None; import gpuopt.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("gpuopt: the command line needs click: pip install 'gpuopt[lab]'")


def test_the_module_is_the_command_line() -> None:
    command = [sys.executable, "-m", "gpuopt", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == f"gpuopt {gpuopt.__version__}\n"


def test_a_stderr_that_takes_nothing_changes_no_command(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    whole = Path(__file__).parents[1] / "lab/rows/first_generation.jsonl"
    rows.write_text(f"{whole.read_text()}damaged\n")  # which a remark names

    def run(how: str, *words: str) -> tuple[int, str]:
        line = [*("bash", "-c", f'exec "$@" {how}', "bash"), *(sys.executable, "-m", "gpuopt", *words)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, timeout=120, check=False)
        return done.returncode, done.stdout

    for code, words in ((0, ["compact", str(rows), str(tmp_path / "made")]), (2, ["compact", "none"]), (2, ["study"])):
        usual = run("2>/dev/null", *words)
        assert usual[0] == code
        for closed in ("2>&-", "2</dev/null", "2>/dev/full", "<&- 2>&-"):
            (tmp_path / "made").unlink(missing_ok=True)
            assert run(closed, *words) == usual
            assert (tmp_path / "made").exists() == (code == 0)


def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    program = (
        "import os, sys; from gpuopt import command_errors; command_errors.ready_streams(); print('unread');"
        "print('unread', file=sys.stderr); sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    line = ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", sys.executable, "-c", program]
    assert subprocess.run(line, timeout=120, check=False).returncode == 3


def test_a_full_disk_takes_no_help(tmp_path: Path) -> None:
    for words in (["--help"], ["--version"], ["tune", "--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "gpuopt", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
