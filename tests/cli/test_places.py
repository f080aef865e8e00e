"""Places that commands write to are looked at before anything is computed."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

import gpuopt  # noqa: E402
import gpuopt.records as tuned  # noqa: E402
import own_kernels  # noqa: E402
from cli_bench import Bench  # noqa: E402
from gpuopt import cli, lab, lab_commands, programs  # noqa: E402
from gpuopt.command_errors import Failure  # noqa: E402
from gpuopt.lab.workload import SurveyWorkload, Workload  # noqa: E402
from gpuopt.registry import records  # noqa: E402


@pytest.fixture
def unmeasured(bench: Bench) -> Bench:
    def sweep(**_: object) -> Any:
        raise AssertionError("it measured")

    bench.sweep = sweep  # type: ignore[method-assign]
    return bench


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", "made-up", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("study", "made-up", "--out", ""), "it is empty; name a directory"),
        (("study", "made-up", "--csv", "/proc/a.csv"), "/proc/a.csv cannot be written"),
        (("study", "made-up", "--json", "none/a.json"), "there is no folder none; make it"),
        (("study", "made-up", "--csv", ""), "it is empty; name a file"),
        (("study", "made-up", "--csv", "/dev/null"), "no regular file"),
        (("study", "made-up", "--csv", "a.x", "--json", "./a.x"), "where --csv goes, too"),
        (("study", "made-up", "--out", "o", "--csv", "o/rows.jsonl"), "where the rows go, too"),
        (("study", "made-up", "--out", "o", "--csv", "o/rows-1.jsonl"), "o/rows-1.jsonl is where earlier rows are set"),
        (("study", "made-up", "--out", "n", "--fresh", "--json", "n/rows-27.jsonl"), "is where earlier rows are"),
        (("study", "microbench", "--out", "o", "--json", "aside"), "--json: aside is where earlier rows are set aside"),
        (("study", "made-up", "a.png", "--json", "./a.png"), "--json: a.png is what is studied; name another file"),
        (("study", "made-up", "a.png", "--csv", "linked"), "linked is what is studied"),
        (("study", "made-up", "o/ladder.png", "--out", "o"), "o/ladder.png: it is read, and o/ladder.png"),
        (("study", "made-up", "o/cut.png", "--out", "o"), "o/cut.png: it is read, and o/cut.png"),
        (("study", "made-up", "o/rows.jsonl", "--out", "o"), "o/rows.jsonl: it is read, and o/rows.jsonl"),
        (("study", "made-up", "a.png", "--out", "p"), "a.png: it is read, and p/ladder-x.png"),
        (("study", "made-up", "b.png", "--out", "p"), "b.png: it is read, and p/sizes.png"),
        (
            ("study", "made-up", "--out", "o", "--csv", "o/ladder.png"),
            "--csv: o/ladder.png is where the study draws, too",
        ),
        (("study", "made-up", "--out", "o", "--json", "o/energy.png"), "--json: o/energy.png is where the study draws"),
        (("study", "made-up", "--out", "p", "--csv", "b.png"), "--csv: b.png is where the study draws, too"),
        (("study", "made-up", "--out", "n", "--json", "n/cut.png"), "--json: n/cut.png is where the study draws, too"),
        (
            ("study", "microbench", "--out", "o", "--csv", "o/registers.png"),
            "o/registers.png is where the study draws, too",
        ),
        (("study", "microbench", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("profile", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("papers", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("casebook", "--out", "/proc/none"), "/proc/none cannot be written"),
        (("isa", "gemm", "--out", "/proc/none"), "/proc/none cannot be written"),
    ],
)
def test_a_place_that_takes_no_files_is_refused_at_once(
    unmeasured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "o").mkdir()
    (tmp_path / "a.png").write_bytes(b"a picture")
    (tmp_path / "linked").hardlink_to(tmp_path / "a.png")
    for name in ("o/ladder.png", "o/cut.png", "o/rows.jsonl", "b.png"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "aside").symlink_to(tmp_path / "o" / "rows-2.jsonl")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "ladder-x.png").hardlink_to(tmp_path / "a.png")
    (tmp_path / "p" / "sizes.png").symlink_to(tmp_path / "b.png")
    result = unmeasured.run(*words)
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        ("study", "made-up", "--csv"),
        ("study", "made-up", "--json"),
        ("study", "microbench", "--csv"),
        ("profile", "--out"),
        ("isa", "gemm", "--out"),
        ("isa", __file__, "--out"),
        ("reconstruct", __file__, "--out"),
    ],
)
def test_rows_of_a_study_are_not_replaced(unmeasured: Bench, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "earlier.jsonl"
    lab.Store(path).append({"kind": "search", "status": "ok", "variant": "naive", "median_ms": 3.0})
    held = path.read_bytes()
    result = unmeasured.run(*words, str(path))
    assert result.exit_code == 2, result.output
    told = f"Invalid value for '{words[-1]}': {path} holds rows of a study, which would be lost; name another file"
    assert told in " ".join(result.stderr.split())
    assert path.read_bytes() == held
    assert unmeasured.run("compact", str(path), str(path)).exit_code == 0


def test_a_studied_picture_lies_beside_those_that_are_drawn(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("photo.png", "ladder.png"):
        (tmp_path / name).write_bytes(b"a picture")
    assert bench.run("study", "made-up", "photo.png", "--out", ".").exit_code == 0
    (tmp_path / "ladder.png").write_bytes(b"a picture")
    assert bench.run("study", "made-up", "ladder.png", "--out", ".", "--no-plots").exit_code == 0
    assert (tmp_path / "ladder.png").read_bytes() == b"a picture"
    assert bench.run("study", "made-up", "photo.png", "--out", ".", "--no-plots", "--csv", "cut.png").exit_code == 0


@pytest.mark.parametrize("record", records(), ids=lambda record: record.name)
def test_a_record_names_all_files_that_it_draws(record: Workload | SurveyWorkload) -> None:
    pytest.importorskip("matplotlib")
    room = f"gpuopt.workloads.{record.name}"
    text = inspect.getsource(importlib.import_module(f"{room}.study"))
    text += (own := inspect.getsource(importlib.import_module(f"{room}.pictures").save))
    found = {f"{name}.png" for name in re.findall(r'"(\w+)": |drawn\["(\w+)"\]', own) for name in name if name}
    found |= {f"{name}.png" for names in re.findall(r"for draw in \((.*)\)", own) for name in names.split(", ")}
    found |= set(re.findall(r'"(\w+\.(?:png|txt))"', text))
    assert found == {*record.drawn}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", "made-up", "--no-plots"), "gpuopt: the working directory was removed; change to"),
        (("study", "made-up", "--csv", "a.csv"), "a.csv cannot be written: the working directory was removed"),
    ],
)
def test_the_working_directory_was_removed(
    unmeasured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = unmeasured.run(*words)
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())


def test_one_folder_takes_one_command_at_a_time(tmp_path: Path) -> None:
    rows = tmp_path / "out" / "rows.jsonl"
    first, second, third = (click.Context(click.Command("study")) for _ in range(3))
    with first:
        lab_commands.hold(rows.parent, rows, True)
        with second, pytest.raises(Failure, match=r"another command writes to .*rows\.jsonl now"):
            lab_commands.hold(rows.parent, rows, True)
    with third:
        lab_commands.hold(rows.parent, rows, True)


def test_a_table_may_go_where_the_rows_go(bench: Bench) -> None:
    """Into a folder that the command makes."""
    result = bench.run_study("--quick", "--no-plots", "--csv", str(bench.directory / "table.csv"))
    assert result.exit_code == 0, result.output
    assert (bench.directory / "table.csv").exists()


def test_a_precision_that_the_device_does_not_have_is_refused(bench: Bench) -> None:
    import gpuopt
    from gpuopt.registry import records

    gemm = next(record for record in records() if record.name == "gemm")
    device = next((one for one in gpuopt.devices() if one.type == "cpu"), None)
    if device is None:
        pytest.skip("there is no CPU device")
    with pytest.raises(gpuopt.UnsupportedError, match=r"precision: tf32x3: .* has no tensor cores"):
        gemm.problem(("64",), "float32", device, precision="tf32x3")


@pytest.fixture
def leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the working directory whose reference changes to another one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUOPT_CACHE_DIR", "cache")
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "mine.py"
    path.write_text(
        f"""
import os
from pathlib import Path
from gpuopt import lab

def gone(a, x, y):
    os.chdir(Path(__file__).parent / "elsewhere")
    return {{"y": a * x + y}}

saxpy = lab.Kernel(
    '''{own_kernels.SAXPY}''',
    "saxpy",
    parameters={{"WIDTH": [1, 4]}},
    arguments=[lab.value("n"), lab.value("a", "float32", 1.5), lab.input("x", "n"), lab.inout("y", "n")],
    launch=lab.launch(items="n / WIDTH", local=32),
    reference=gone,
)
"""
    )
    return path


@pytest.mark.usefixtures("brief_quick")
def test_a_function_of_a_file_that_changes_the_working_directory(leaving: Path, any_device: gpuopt.Device) -> None:
    """What is written lies where the command was started, and is called as it was given."""
    on_device = ["n=500", "--device", str(any_device.index)]
    study = ["study", "mine.py", *on_device, "--quick", "--no-plots"]
    whole = leaving.with_name("t.json")
    runs = (
        ([*study, "--out", "o", "--csv", "./t.csv", "--json", str(whole)], ["o/rows.jsonl", "t.csv", str(whole)]),
        ([*study, "--out", "."], ["rows.jsonl"]),
        ([*study], ["gpuopt-results/*/rows.jsonl"]),
        (["isa", "mine.py", *on_device, "--out", "isa.json"], ["isa.json"]),
    )
    for words, names in runs:
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == 0, result.output
        written = re.findall("written: (.*)", result.stdout)
        assert len(written) == len(names)
        assert all(Path(path).match(name) and Path(path).is_file() for path, name in zip(written, names, strict=True))
        assert [Path(path).is_absolute() for path in written] == [name.startswith("/") for name in names]
    assert not os.listdir("elsewhere")
    refused = CliRunner().invoke(cli.app, [*study, "--csv", "mine.py"])
    assert "--csv: mine.py is what is studied" in " ".join(refused.output.split())
    refused = CliRunner().invoke(cli.app, [*study, "--json", "none/t.json"])
    assert "--json: there is no folder none; make it" in " ".join(refused.output.split())


@pytest.mark.usefixtures("brief_quick")
@pytest.mark.parametrize("early", [False, True])
def test_tuned_records_lie_where_the_command_was_started(leaving: Path, any_device: gpuopt.Device, early: bool) -> None:
    if early:
        leaving.write_text("import os\nos.chdir('elsewhere')\n" + leaving.read_text())
    device = ["--device", str(any_device.index)]
    result = CliRunner().invoke(cli.app, ["tune", "mine.py", "n=500", "--quick", *device])
    assert (result.exit_code == 0) or "not stored" in result.output, result.output
    assert sorted(path.name for path in Path("cache").glob("tuned/*.json*"))
    assert not os.listdir("elsewhere")
    shown = CliRunner().invoke(cli.app, ["tune", *device, "--show", "mine.py"])
    assert ("- saxpy, " in shown.stdout) == (result.exit_code == 0)


RECORD = {"match": {}, "variant": "saxpy", "parameters": {"WIDTH": 4}}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuning that stores a record and measures nothing."""

    def tune(problem: Any, device: gpuopt.Device, **_: object) -> Any:
        match = {"name": device.name, "platform": device.platform, "type": device.type, "dtype": "float32"}
        path = tuned.store_records(problem.workload, [{**RECORD, "match": match}])
        return SimpleNamespace(interrupted=False, choices=[], reason="", path=path)

    monkeypatch.setattr("gpuopt.lab.tune", tune)


TUNE = ["tune", "mine.py", "n=500", "--device"]
MOVES = "import os\nos.chdir('elsewhere')\n"
SETS = "import os\nos.environ['GPUOPT_CACHE_DIR'] = os.path.abspath('own')\n"


def folders() -> list[str | None]:
    return [os.environ.get(name) for name in programs.FOLDERS]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("cache", ["cache", "./cache/", "../cache", "", None, "whole"])
@pytest.mark.parametrize("before", ["", MOVES, SETS])
def test_commands_of_one_process_in_two_folders(
    leaving: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, cache: str | None, before: str
) -> None:
    """Each writes to where it was started, and leaves the variables as they were."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(leaving.with_name("users")))
    folder = str(leaving.with_name("w")) if cache == "whole" else cache
    monkeypatch.delenv("GPUOPT_CACHE_DIR") if folder is None else monkeypatch.setenv("GPUOPT_CACHE_DIR", folder)
    text, words, variables = before + leaving.read_text(), [*TUNE, str(any_device.index)], folders()
    for name in ("a", "b"):
        (leaving.parent / name / name / "elsewhere").mkdir(parents=True)
        monkeypatch.chdir(leaving.parent / name / name)
        Path("mine.py").write_text(text)
        for _ in range(2):
            result = CliRunner().invoke(cli.app, words)
            assert result.exit_code == 0, result.output
            assert folders() == variables
            own = Path("own").absolute() if before == SETS else Path(folder or leaving.with_name("users") / "gpuopt")
            written = re.findall("written: (.*)", result.stdout)
            assert written[-1] == str(own / "tuned" / "saxpy.json")
            assert Path(written[-1]).is_file()
            assert f"rows go to {own / 'tuned'}/saxpy-" in result.stderr
        for asked, told in (("--show", "- saxpy, "), ("--reset", "forgotten"), ("--show", "nothing is recorded")):
            result = CliRunner().invoke(cli.app, ["tune", "mine.py", asked, "--device", str(any_device.index)])
            assert told in result.stdout, result.output
        CliRunner().invoke(cli.app, words)
        assert os.listdir("elsewhere") == []
        assert folders() == variables


@pytest.mark.parametrize("end", ["1 / 0", "raise KeyboardInterrupt", "del os.environ['GPUOPT_CACHE_DIR']"])
def test_a_file_that_fails_leaves_the_variables_as_they_were(
    leaving: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.delenv("GPUOPT_KERNEL_DIR", raising=False)
    leaving.write_text(f"import os\nos.environ['GPUOPT_KERNEL_DIR'] = 'kernels'\n{end}\n")
    for words in (["study", "mine.py"], ["tune", "mine.py"], ["tune", "--show", "mine.py"], ["isa", "mine.py"]):
        assert CliRunner().invoke(cli.app, words).exit_code != 0
        assert (os.environ["GPUOPT_CACHE_DIR"], os.environ.get("GPUOPT_KERNEL_DIR")) == ("cache", None)


def test_a_folder_in_the_place_of_a_program_is_called_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["judge", str(tmp_path), __file__, "n=8"])
    assert result.exit_code == 2
    assert "it is a folder; name a Python file" in re.sub(r"\W*\n\W*", " ", result.stderr)
