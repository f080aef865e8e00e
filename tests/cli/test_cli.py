"""The command line and the doctor: what they say, their exit codes, and that no mendable error shows a traceback."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
import study_rows
from gpuopt import doctor
from gpuopt.lab.report import Study
from gpuopt.lab.rows.store import Store

click = pytest.importorskip("click")

from click.testing import CliRunner, Result  # noqa: E402

from gpuopt import cli, lab_commands  # noqa: E402
from gpuopt.lab.workload import Workload  # noqa: E402
from gpuopt.registry import records  # noqa: E402

IMAGES = next(record for record in records() if record.name == "spmv")
FAKE = SimpleNamespace(name="Fake (R) CPU", platform="Fake", key="Fake / Fake (R) CPU")


class Bench:
    """The command line with a made-up workload, device and sweep; `sweep` may be replaced by what a test needs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.directory = directory
        self.asked: dict[str, Any] = {}
        self.study = Study(study_rows.rows(), study_rows.INFO)
        self.subjects: list[str] = []
        workload = dataclasses.replace(IMAGES, name="made-up", problem=self.problem, pictures=self.pictures)
        monkeypatch.setitem(lab_commands.STUDIES, workload.name, lab_commands.study_command(workload))
        monkeypatch.setitem(lab_commands.TUNINGS, workload.name, lab_commands.tune_command(workload))
        monkeypatch.setenv("GPUOPT_CACHE_DIR", str(directory))
        self.tuned: Any = SimpleNamespace(interrupted=False, choices=["for any input: basic"], reason="", path="a file")
        monkeypatch.setattr("gpuopt.lab_commands.select", lambda device=None: FAKE)
        monkeypatch.setattr("gpuopt.lab.sweep", lambda problem, **asked: self.sweep(**asked), raising=False)
        monkeypatch.setattr("gpuopt.lab.tune", lambda problem, **asked: self.tune(**asked), raising=False)

    def problem(self, subjects: tuple[str, ...], dtype: str, device: object) -> SimpleNamespace:
        self.subjects.append(" ".join(subjects))
        return SimpleNamespace(name=" ".join(subjects))

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


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    return Bench(monkeypatch, tmp_path / "out")


# ---------------------------------------------------------------- the study


def test_study_shows_the_table_the_sentences_and_the_files(bench: Bench) -> None:
    pytest.importorskip("matplotlib")
    result = bench.run_study("--quick")
    assert result.exit_code == 0, result.output
    assert "% of" not in result.output.splitlines()[0]
    assert "vectorized is 2.31x" in " ".join(result.stdout.split())
    for name in ("rows.jsonl", "ladder.png", "cut.png"):
        assert f"written: {bench.directory / name}" in result.stdout
        assert (bench.directory / name).exists()
    assert bench.asked["protocol"] == "quick"
    assert bench.asked["variants"] == ["all"]
    assert bench.subjects == ["camera"]


def test_study_options_reach_the_sweep(bench: Bench) -> None:
    result = bench.run_study("coins", "--dtype", "float64", "--no-plots", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert bench.subjects == ["coins"]
    assert bench.asked["protocol"] == "full"
    assert sorted(path.name for path in bench.directory.iterdir()) == ["rows.jsonl"]


def test_the_default_directory_names_workload_and_device(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.directory.mkdir()
    monkeypatch.chdir(bench.directory)
    assert bench.run("study", "made-up", "--no-plots").exit_code == 0
    assert (bench.directory / "gpuopt-results" / "made-up-fake-r-cpu" / "rows.jsonl").exists()


def test_fresh_keeps_the_old_rows_aside(bench: Bench) -> None:
    bench.directory.mkdir()
    (bench.directory / "rows.jsonl").write_text("old\n")
    assert bench.run_study("--no-plots", "--fresh").exit_code == 0
    assert (bench.directory / "rows-1.jsonl").read_text() == "old\n"
    assert (bench.directory / "rows.jsonl").read_text() == ""


def test_resume_is_the_default(bench: Bench) -> None:
    bench.directory.mkdir()
    (bench.directory / "rows-1.jsonl").write_text("older\n")
    assert bench.run_study("--no-plots").exit_code == 0
    assert not (bench.directory / "rows-2.jsonl").exists()


def test_ctrl_c_tells_what_was_saved(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**asked: Any) -> Study:
        store = Store(asked["store"])
        store.append({"kind": "environment", "status": "ok", "env_hash": "0" * 64, "environment": {}} | KEYLESS)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "sweep", stopped)
    result = bench.run_study()
    assert result.exit_code == 130
    assert "1 finished rows are in" in result.stderr
    assert "Traceback" not in result.output


def test_a_sweep_that_came_back_early_is_shown_and_exits_130(bench: Bench) -> None:
    bench.study.interrupted = True
    result = bench.run_study()
    assert result.exit_code == 130
    assert "vectorized" in result.stdout
    assert "written" not in result.stdout


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            gpuopt.ParameterError("device: no device fits 'gpu'; there are 0: PoCL"),
            "gpuopt: device: no device fits 'gpu'",
        ),
        (gpuopt.NoDeviceError("no OpenCL device found; `gpuopt doctor` says why"), "gpuopt: no OpenCL device found"),
        (FileNotFoundError(2, "No such file or directory", "cat.png"), "gpuopt: cat.png: No such file or directory"),
        (ModuleNotFoundError("No module named 'skimage'", name="skimage"), "pip install 'gpuopt[lab]'"),
    ],
)
def test_mendable_errors_are_one_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    def fails(**asked: Any) -> Study:
        raise error

    monkeypatch.setattr(bench, "sweep", fails)
    result = bench.run_study()
    assert result.exit_code == 2
    assert line in result.stderr
    assert "Traceback" not in result.output
    traced = bench.run("--traceback", "study", "made-up", "--out", str(bench.directory))
    assert traced.exception is error


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), ModuleNotFoundError("x", name="gpuopt.lab.nowhere")])
def test_bugs_keep_their_trace(bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(**asked: Any) -> Study:
        raise error

    monkeypatch.setattr(bench, "sweep", fails)
    assert bench.run_study().exception is error


@pytest.mark.parametrize("group", ["study", "tune"])
def test_every_workload_has_a_subcommand(bench: Bench, group: str) -> None:
    shown = bench.run(group, "--help").output
    for workload in records():
        if isinstance(workload, Workload):
            assert workload.name in shown
            assert workload.subject in bench.run(group, workload.name, "--help").output


# ---------------------------------------------------------------- tuning


def test_tune_says_what_won_and_where_it_is_kept(bench: Bench) -> None:
    result = bench.run("tune", "made-up", "coins", "--dtype", "float64", "--quick")
    assert result.exit_code == 0, result.output
    rows = bench.directory / "tuned" / "made-up-fake-r-cpu.jsonl"
    assert result.stdout == f"- for any input: basic\n\nwritten: {rows}\nwritten: a file\n"
    assert bench.subjects == ["coins"]
    assert (bench.asked["protocol"], bench.asked["store"]) == ("quick", rows)
    bench.run("tune", "made-up")
    assert bench.asked["protocol"] == "full"


def test_a_fresh_tuning_keeps_the_old_rows_aside(bench: Bench) -> None:
    rows = bench.directory / "tuned" / "made-up-fake-r-cpu.jsonl"
    rows.parent.mkdir(parents=True)
    rows.write_text("old\n")
    assert bench.run("tune", "made-up", "--fresh").exit_code == 0
    assert rows.with_name("made-up-fake-r-cpu-1.jsonl").read_text() == "old\n"


def test_a_tuning_that_was_not_stored_says_why(bench: Bench) -> None:
    bench.tuned.reason = "the disk is full"
    result = bench.run("tune", "made-up")
    assert result.exit_code == 2
    assert "for any input: basic" in result.stdout
    assert "gpuopt: not stored: the disk is full" in result.stderr
    bench.tuned.interrupted = True
    result = bench.run("tune", "made-up")
    assert result.exit_code == 130
    assert "no configuration was stored" in result.stderr
    assert "written" not in result.output


@pytest.mark.usefixtures("brief_quick")
def test_tune_on_a_device(any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io = pytest.importorskip("skimage.io")
    picture = tmp_path / "tiny.png"
    io.imsave(picture, np.arange(24 * 20, dtype=np.uint8).reshape(20, 24), check_contrast=False)
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    command = ["tune", "spmv", str(picture), "--quick", "--device", str(any_device.index)]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    records = json.loads((tmp_path / "tuned" / "spmv.json").read_text())
    assert {record["match"]["name"] for record in records} == {any_device.name}
    assert records[-1]["variant"] in " ".join(result.stdout.split())
    assert f"written: {tmp_path / 'tuned' / 'spmv.json'}" in result.stdout
    told = " ".join(result.stdout.split())
    assert "which a plain call used until now" in told or "a plain call used it before" in told


# ---------------------------------------------------------------- the small commands


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


def test_without_click_the_message_names_the_extra() -> None:
    code = "import sys; sys.modules['click'] = None; import gpuopt.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("gpuopt: the command line needs click: pip install 'gpuopt[lab]'")


def test_the_module_is_the_command_line() -> None:
    command = [sys.executable, "-m", "gpuopt", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == f"gpuopt {gpuopt.__version__}\n"


# ---------------------------------------------------------------- the doctor

KEYLESS: dict[str, Any] = {"device": "fake", "workload": "spmv"}
DEVICE: dict[str, Any] = {
    "index": 0,
    "key": "Portable Computing Language / pthread-x86",
    "type": "cpu",
    "compute_units": 2,
    "global_bytes": 8 << 30,
    "local_bytes": 2 << 20,
    "timer_ns": 1,
    "driver": "3.1",
    "fp64": True,
    "fp16": False,
    "image_support": True,
    "subgroups": False,
}
POCL = {"path": "/etc/OpenCL/vendors/pocl.icd", "library": "libpocl.so.2", "status": "used", "prefix": ""}


def facts(**changes: Any) -> dict[str, Any]:
    """What `gather` finds on a healthy machine with PoCL."""
    found = {
        "loader_path": "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
        "loader_version": "OCL Icd free software 2.3.1",
        "user_setting": None,
        "vendor_files": [POCL],
        "platforms": [{"name": "Portable", "vendor": "pocl", "version": "OpenCL 3.0", "devices": ["pthread-x86"]}],
        "error": None,
        "prefix_dir_used": False,
    }
    discovery = found | changes.pop("discovery", {})
    return {
        "versions": {
            "gpuopt": "0.1.0",
            "python": "3.11",
            "executable": "/usr/bin/python3",
            "numpy": "2.4",
            "system": "Linux",
            "machine": "x86_64",
        },
        "discovery": discovery,
        "devices": [DEVICE],
        "cache": {"path": "/home/a/.cache/gpuopt", "exists": True, "writable": True, "files": 3, "bytes": 4096},
        "environment": {},
        "extras": {"lab": ["pandas"], "cpu": []},
        "hardware": [],
        "errors": {},
    } | changes


def none_found(**discovery: Any) -> dict[str, Any]:
    return facts(devices=[], discovery={"platforms": [], "error": "CL_PLATFORM_NOT_FOUND_KHR"} | discovery)


def test_a_healthy_machine_needs_nothing() -> None:
    assert doctor.advice(facts()) == []
    text = doctor.report(facts())
    assert "what to do" not in text
    for part in (
        "libOpenCL.so.1, version OCL Icd",
        "pocl.icd -> libpocl.so.2: library found",
        "pthread-x86",
        "timer 1 ns",
    ):
        assert part in text
    assert "without pandas; pip install 'gpuopt[lab]'" in text
    assert "fp64, images" in text


def test_no_runtime_names_the_lines_that_install_one() -> None:
    text = doctor.report(none_found(vendor_files=[]))
    assert "no runtime is installed" in text
    assert "CL_PLATFORM_NOT_FOUND_KHR" in text
    assert "apt-get install pocl-opencl-icd" in text
    assert "pip install 'gpuopt[cpu]'" in text


def test_a_users_own_setting_is_named_as_the_cause() -> None:
    found = none_found(user_setting=("OCL_ICD_VENDORS", "/nowhere"))
    assert "OCL_ICD_VENDORS=/nowhere is set" in doctor.advice(found)[0]
    assert "not consulted: your own setting wins" in doctor.report(found)


def test_an_icd_file_without_its_library_is_named() -> None:
    broken = POCL | {"path": "/etc/OpenCL/vendors/x.icd", "library": "libgone.so", "status": "library not found"}
    found = facts(discovery={"vendor_files": [POCL, broken]})
    assert doctor.advice(found)[0].startswith("/etc/OpenCL/vendors/x.icd names libgone.so, which is not there")
    assert "!!  /etc/OpenCL/vendors/x.icd -> libgone.so: library not found" in doctor.report(found)


@pytest.mark.parametrize(("installed", "words"), [(True, "nvidia.icd"), (False, "libnvidia-compute-VERSION")])
def test_an_nvidia_gpu_without_its_icd_file(installed: bool, words: str) -> None:
    gpu = {"name": "an NVIDIA GPU", "sign": "/dev/nvidia0", "library_found": installed}
    assert words in doctor.advice(facts(hardware=[gpu]))[0]
    nvidia = {
        "path": "/etc/OpenCL/vendors/nvidia.icd",
        "library": "libnvidia-opencl.so.1",
        "status": "used",
        "prefix": "",
    }
    assert doctor.advice(facts(hardware=[gpu], discovery={"vendor_files": [POCL, nvidia]})) == []


def test_closed_device_files_and_caches_are_named() -> None:
    closed = {"name": "/dev/dri/renderD128", "closed": True}
    cache = {"path": "/home/someone/.cache", "exists": False, "writable": False, "files": 0, "bytes": 0}
    told = doctor.advice(facts(hardware=[closed], cache=cache))
    assert "groups render and video" in told[0]
    assert "set GPUOPT_CACHE_DIR" in told[1]


def test_what_cannot_be_asked_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no such symbol")

    for step in ("_versions", "_discovery", "_devices", "_cache", "_extras", "_hardware"):
        monkeypatch.setattr(doctor, step, broken)
    found = doctor.gather()
    assert set(found["errors"]) == {"versions", "discovery", "devices", "cache", "extras", "hardware"}
    assert "RuntimeError: no such symbol" in doctor.report(found)


def test_the_doctor_asks_this_machine() -> None:
    found = doctor.gather()
    assert found["discovery"] is not None, found["errors"]
    assert bool(found["devices"]) == bool(gpuopt.devices())
    assert "gpuopt doctor" in doctor.report(found)


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("extra == 'cpu'", True),
        (f"sys_platform == '{sys.platform}' and extra == 'cpu'", True),
        ("sys_platform == 'plan9' and extra == 'cpu'", False),
        ("(platform_machine == 'vax') and extra == 'cpu'", False),
    ],
)
def test_extras_of_other_platforms_are_not_missing(marker: str, applies: bool) -> None:
    assert doctor._applies(marker) is applies


@pytest.mark.usefixtures("brief_quick")
def test_a_study_of_chosen_variants_without_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = ["-v", "paper:basic", "-v", "sliced(SLICE=32, ITEMS=2)"]
    options = ["--quick", "--device", "cpu", "--no-plots", "--out", str(out), *wanted]
    result = CliRunner().invoke(cli.app, ["study", "spmv", "40x30", *options])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    names = {row["configuration"] for row in rows if row["kind"] == "summary" and row["role"] == "variant"}
    assert names == {"basic(LOCAL=256)", "sliced(HALF=0, ITEMS=2, SLICE=32, WIDTH=16)"}
    refused = CliRunner().invoke(cli.app, ["study", "spmv", "8x8", "-v", "sliced(", "--out", str(out)])
    assert (refused.exit_code, "'sliced(' is no configuration" in refused.output) == (2, True)


# ---------------------------------------------------------------- dense products


def test_several_sizes_are_one_study(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = dataclasses.replace(
        IMAGES, name="made-up", problem=bench.problem, pictures=bench.pictures, most=3, several=True
    )
    monkeypatch.setitem(lab_commands.STUDIES, workload.name, lab_commands.study_command(workload))
    monkeypatch.setitem(lab_commands.TUNINGS, workload.name, lab_commands.tune_command(workload))
    joined: list[list[Study]] = []
    monkeypatch.setattr(Study, "joined", lambda studies: joined.append(studies) or studies[0])
    result = bench.run("study", "made-up", "64", "128", "256", "--out", str(bench.directory))
    assert result.exit_code == 0, result.output
    assert bench.subjects == ["64", "128", "256"]
    assert joined == [[bench.study] * 3]
    assert "at most 3 of IMAGE, not 4" in bench.run("study", "made-up", *"1234").output
    assert "at most 1 of IMAGE, not 2" in bench.run("tune", "made-up", "64", "128").output
    assert bench.run("tune", "made-up", "64").exit_code == 0


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("gemm 12", {"M": 12, "N": 12, "K": 12}),
        ("gemm 12x13x14", {"M": 12, "N": 13, "K": 14}),
        ("gemm --m 12 --n 13 --k 14", {"M": 12, "N": 13, "K": 14}),
        ("gemm --k 14", {"M": 14, "N": 14, "K": 14}),
        ("gemm 12 --distribution normal", {"M": 12, "N": 12, "K": 12}),
        ("tmv 12x7", {"rows": 12, "cols": 7}),
        ("tmv 12", {"rows": 12, "cols": 12}),
    ],
)
@pytest.mark.parametrize("group", ["study", "tune"])
def test_sizes_of_dense_products(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, group: str, words: str, sizes: dict[str, int]
) -> None:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    seen: list[Any] = []

    def stop(problem: Any, **asked: Any) -> None:
        seen.append(problem)
        raise KeyboardInterrupt

    monkeypatch.setattr("gpuopt.lab.sweep", stop, raising=False)
    monkeypatch.setattr("gpuopt.lab.tune", stop, raising=False)
    out = ["--out", str(tmp_path)] if group == "study" else []
    result = CliRunner().invoke(cli.app, [group, *words.split(), *out])
    assert result.exit_code == 130, result.output
    assert seen[0].sizes == sizes
    assert ("normal" in seen[0].name) == ("normal" in words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gemm 12x13", "'12x13' is no size; write SIZE or MxNxK"),
        ("gemm big", "'big' is no size"),
        ("gemm 12 --m 12", "--m, --n and --k stand instead of SIZE"),
        ("gemm 12 --precision fp8", "precision: 'fp8' is none"),
        ("tmv 12x13x14", "write SIZE or ROWSxCOLS"),
        ("tmv 0", "no matrix"),
    ],
)
def test_sizes_that_are_none(tmp_path: Path, words: str, said: str) -> None:
    result = CliRunner().invoke(cli.app, ["study", *words.split(), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
