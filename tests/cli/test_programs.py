"""`gpuopt study`, `tune` and `judge` of a Python file of the user's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import gpuopt
import own_kernels
import study_rows
from gpuopt.lab.rows.store import Store

click = pytest.importorskip("click")

from click.testing import CliRunner, Result  # noqa: E402

from gpuopt import cli, program_commands, programs, records  # noqa: E402

FILE = f'''
from gpuopt import lab

saxpy = lab.Kernel(
    """{own_kernels.SAXPY}""",
    "saxpy",
    parameters={{"WIDTH": [1, 4], "WG": [32, 64]}},
    arguments=[lab.value("n"), lab.value("a", "float32", 1.5), lab.input("x", "n"), lab.inout("y", "n")],
    launch=lab.launch(items="n / WIDTH", local="WG"),
    reference=lambda a, x, y: {{"y": a * x + y}},
)
'''


def run(*words: object) -> Result:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def said(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.mark.usefixtures("brief_quick")
def test_a_study_has_all_configurations_and_goes_on(file: Path, any_device: gpuopt.Device) -> None:
    pytest.importorskip("matplotlib")
    out = file.with_name("out")
    command = ["study", file, "n=5000", "--quick", "--device", any_device.index, "--out", out]
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "Fastest:" in result.stdout
    assert "Paper" not in result.stdout
    assert "ours" not in result.stdout
    assert "n=5000, a=1.5 · float32" in result.stdout
    assert {path.name for path in out.iterdir()} == {"rows.jsonl", "ladder.png", "stacking.png"}
    rows = Store(out / "rows.jsonl").latest()
    summaries = [row for row in rows if (row["kind"], row["role"], row["status"]) == ("summary", "variant", "ok")]
    assert len({row["configuration"] for row in summaries}) == 4
    again = run(*command, "--no-plots", "--explain")
    assert again.exit_code == 0, again.output
    assert "by an earlier run" in said(again)
    assert "configurations: saxpy(WG=32, WIDTH=1); saxpy(WG=64, WIDTH=1); saxpy(" in said(again)


@pytest.mark.usefixtures("brief_quick")
def test_a_study_of_chosen_configurations(file: Path, any_device: gpuopt.Device) -> None:
    out = file.with_name("out")
    wanted = ["-v", "saxpy(WIDTH=4)", "-v", "saxpy(WIDTH=4, WG=64)"]
    result = run("study", file, "n=500", "a=2.5", "--quick", "--device", any_device.index, "--out", out, *wanted)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert {row["params"]["WIDTH"] for row in rows if row["kind"] == "summary" and row["role"] == "variant"} == {4}
    assert not (out / "stacking.png").exists()


@pytest.mark.usefixtures("brief_quick")
def test_a_study_of_some_levels(file: Path, any_device: gpuopt.Device) -> None:
    out = file.with_name("out")
    options = ["--quick", "--no-plots", "--device", any_device.index, "--out", out, "--level", "WIDTH=4"]
    result = run("study", file, "n=500", *options)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    own = [row["params"] for row in rows if row["kind"] == "summary" and row["role"] == "variant"]
    assert {(one["WIDTH"], one["WG"]) for one in own} == {(4, 32), (4, 64)}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--level", "WIDTH"], "--level WIDTH: write a parameter and its levels once, such as WIDTH=1,4"),
        (["--level", "WIDTH=8"], "WIDTH: 8 is none of its levels, 1, 4"),
        (["--level", "WIDTH=--1"], "WIDTH: '--1' is no level; use whole numbers"),
        (["--level", "WIDE=8"], "WIDE: there is no such parameter; there are WIDTH, WG"),
        (["--level", "WIDTH=1", "-v", "saxpy"], "give one of them"),
    ],
)
def test_levels_that_there_are_not(file: Path, options: list[str], line: str) -> None:
    result = run("study", file, "n=500", "--device", "cpu", *options)
    assert result.exit_code == 2, result.output
    assert line in said(result)


@pytest.mark.parametrize("command", ["study --csv", "study --json", "isa --out"])
@pytest.mark.parametrize("name", ["mine.py", "mine.cl", "deep/part.h", "linked"])
def test_a_file_over_what_the_program_reads_is_refused(file: Path, command: str, name: str) -> None:
    (file.parent / "deep").mkdir()
    (file.parent / "deep" / "part.h").write_text("#define ONE 1\n")
    (text := file.with_suffix(".cl")).write_text(f'#include "deep/part.h"\n{own_kernels.SAXPY}')
    (file.parent / "linked").hardlink_to(text)
    file.write_text(FILE.replace(f'"""{own_kernels.SAXPY}"""', f'r"{text}"'))
    target = file.parent / name
    held, (word, option) = target.read_text(), command.split()
    result = run(word, file, "n=500", option, target)
    assert result.exit_code == 2, result.output
    assert f"{option}: {target} is what is studied; name another file" in said(result)
    assert target.read_text() == held


def test_rows_of_a_study_are_not_replaced_by_those_of_compiled_kernels(file: Path) -> None:
    target = file.with_name("rows.jsonl")
    Store(target).append(study_rows.timed("summary", "basic", 1.0))
    held = target.read_text()
    result = run("isa", file, "n=500", "--out", target)
    assert result.exit_code == 2, result.output
    assert f"'--out': {target} holds rows of a study, which would be lost; name another file" in said(result)
    assert target.read_text() == held


@pytest.mark.parametrize("name", ["mine.cl", "part.h"])
def test_rows_over_the_kernel_that_is_compiled_are_refused(file: Path, name: str) -> None:
    (target := file.with_name("part.h")).write_text("#define ONE 1\n")
    (text := file.with_suffix(".cl")).write_text(f'#include "part.h"\n{own_kernels.SAXPY}')
    target = file.with_name(name)
    held = target.read_text()
    result = run("isa", text, "--options", "-D WIDTH=1", "--out", target)
    assert result.exit_code == 2, result.output
    assert f"--out: {target} is what is studied; name another file" in said(result)
    assert target.read_text() == held


def test_a_program_above_a_working_directory_that_was_removed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := file.with_name("gone")).mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(gpuopt.ParameterError, match=r"^\.\./mine\.py: the working directory was removed; change to"):
        programs.opened(Path("../mine.py")).__enter__()


def test_a_comparison_of_no_kernel_is_refused(
    file: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is compiled where the names are known by then; else the rows are written first."""
    (text := file.with_suffix(".cl")).write_text(own_kernels.SAXPY)
    for subjects in ((text, "--options", "-D WIDTH=1"), (file, "n=500"), ("tmv", "64")):
        out = file.with_name("rows.json")
        words = ["isa", *subjects, "--device", any_device.index, "--out", out, "--diff"]
        if subjects[0] != text:
            out.unlink(missing_ok=True)
            monkeypatch.setattr("gpuopt.lab.isa", lambda *_, **__: pytest.fail("compiled"))
        result = run(*words, "nonsense", "none")
        assert result.exit_code == 2, result.output
        assert "gpuopt: --diff: 'nonsense' is none of these: " in said(result)
        assert out.exists() == (subjects[0] == text)


def test_what_a_kernel_is_compiled_to_is_shown_of_all_configurations(
    file: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"saxpy(WG={group}, WIDTH={width})" for width in (1, 4) for group in (32, 64)]
    out, device = file.with_name("rows.json"), ("--device", any_device.index)
    result = run("isa", file, "n=500", *device, "--out", out, "--diff", names[0], names[-1])
    assert result.exit_code == 0, result.output
    assert sorted(row["name"] for row in json.loads(out.read_text())) == sorted(names)
    for variant in ("saxpy", names[2]):
        assert run("isa", file, "n=500", *device, "--out", out, "-v", variant).exit_code == 0
        assert len(json.loads(out.read_text())) == 1
    monkeypatch.setattr(program_commands, "MOST", 3)
    result = run("isa", file, "n=500", *device)
    assert result.exit_code == 2, result.output
    said_so = "gpuopt isa shows 3 at most; name configurations (-v 'saxpy(WG=32, WIDTH=1)')"
    assert said(result).endswith(f"saxpy: it has 4 configurations for these sizes, and {said_so}")


@pytest.mark.usefixtures("brief_quick")
@pytest.mark.parametrize(("old", "new"), [("a * x[i + k]", "a - x[i + k]"), ("a * x[i + k]", "a * nothing")])
def test_a_study_of_which_nothing_is_right_exits_with_2(
    file: Path, any_device: gpuopt.Device, old: str, new: str
) -> None:
    file.write_text(FILE.replace(old, new))
    out = file.with_name("out")
    options = ["--quick", "--no-plots", "--level", "WG=32", "--device", any_device.index, "--out", out]
    result = run("study", file, "n=500", *options)
    assert result.exit_code == 2, result.output
    assert result.stderr.strip().endswith("gpuopt: nothing ran and was right: --explain says why")
    assert "nothing ran" in result.stdout
    assert f"written: {out / 'rows.jsonl'}" in result.stdout
    if "nothing" in new:
        text = file.with_suffix(".cl")
        text.write_text(own_kernels.SAXPY.replace(old, new))
        for arguments in ((file, "n=500"), (text, "--options", "-D WIDTH=1")):
            told = run("isa", *arguments, "--device", any_device.index)
            assert (told.exit_code, "gpuopt: nothing was compiled" in told.stderr) == (2, True)
        text.write_text(own_kernels.SAXPY)
        assert run("isa", text, "--options", "-D WIDTH=1", "--device", any_device.index).exit_code == 0


@pytest.mark.usefixtures("brief_quick")
def test_a_study_without_work_items_says_so(file: Path, any_device: gpuopt.Device) -> None:
    options = ["--quick", "--no-plots", "--explain", "--device", any_device.index, "--out", file.with_name("out")]
    assert "no work-items are launched" in said(run("study", file, "n=0", *options))


def test_too_many_configurations_are_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_commands, "MOST", 3)
    result = run("study", file, "n=500", "--device", "cpu")
    assert result.exit_code == 2, result.output
    assert "saxpy: it has 4 configurations for these sizes, and a study compares 3 at most" in said(result)
    assert "(--level WIDTH=1,4 --level WG=32,64 and so on)" in said(result)


@pytest.mark.usefixtures("brief_quick")
@pytest.mark.parametrize("most", [128, 2])
def test_a_tuning_is_recorded_shown_and_forgotten(
    file: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(program_commands, "MOST", most)  # of 4: above, a search chooses
    on_device = ["--device", any_device.index]
    result = run("tune", file, "n=5000", "--quick", *on_device, *(["--evaluations", "2"] if most > 2 else []))
    assert result.exit_code == 0, result.output
    assert "for any input: saxpy(" in said(result)
    shown = run("tune", "--show", *on_device, file)
    assert "- saxpy, float32, any input: saxpy(" in shown.output, shown.output
    for words in ([], [file, "--show"], ["saxpy"]):  # without a name, after it, by name
        asked = words if "--show" in words else ["--show", *words]
        assert run("tune", *asked, *on_device).output == shown.output
    assert "for all inputs of" in said(run("tune", file, "n=5000", "--show", *on_device))
    assert "name the Python file" in said(run("tune", "saxpy"))
    assert "forgotten for" in run("tune", file, "--reset", *on_device).output
    assert "nothing is recorded" in run("tune", "--show", *on_device, file).output


def test_a_reset_of_all_forgets_kernels_of_ones_own(file: Path, any_device: gpuopt.Device) -> None:
    match = {"name": any_device.name, "platform": any_device.platform, "type": any_device.type, "dtype": "float32"}
    records.store_records("saxpy", [{"match": match, "variant": "saxpy", "parameters": {"WIDTH": 4}}])
    assert records.recorded() == ["saxpy"]
    shown = run("tune", "--show", f"--device={any_device.index}").output
    assert "- saxpy, float32, any input: saxpy(WIDTH=4)" in shown
    assert "saxpy(WIDTH=4)" in run("tune", "--reset", "--device", any_device.index).output
    assert records.user_records("saxpy") == []
    assert run("tune", "saxpi").exit_code == 2


@pytest.mark.parametrize(
    ("change", "code", "word"), [("", 0, "it computes the task"), ("- 1", 1, "wrong: y: 1 of 3000 elements")]
)
def test_judge_gives_its_verdict_as_exit_code(
    file: Path, any_device: gpuopt.Device, change: str, code: int, word: str
) -> None:
    other = file.with_name("other.cl")
    other.write_text(own_kernels.SAXPY.replace("< n)", f"< n {change})").replace("saxpy", "theirs"))
    result = run(
        "judge",
        file,
        other,
        "n=3000",
        "--name",
        "theirs",
        "--level",
        "full",
        "--device",
        any_device.index,
        "-v",
        "theirs(WIDTH=4)",
    )
    assert result.exit_code == code, result.output
    assert word in said(result)
    assert "theirs(WG=32, WIDTH=4) on" in said(result)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("x = 1\ny = x / 0\n", [], "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("def f(:\n", [], "mine.py, line 1: SyntaxError: "),
        ("import nowhere_to_be_found\n", [], "mine.py, line 1: ModuleNotFoundError: No module named 'nowhere_to"),
        ("import sys\nsys.exit(3)\n", [], "mine.py, line 2: SystemExit: 3"),
        ("raise BaseException('x')\n", [], "mine.py, line 1: BaseException: x"),
        ("class Own(BaseException): ...\nraise Own\n", [], "mine.py, line 2: Own ("),
        ("from gpuopt import lab\nlab.Kernel('f(')\n", [], "mine.py, line 2: ParameterError: "),
        ("saxpy = 3\n", [], "mine.py: it has no kernel; write NAME = lab.Kernel(...)"),
        (f"{FILE}\nsecond = lab.Kernel('''{own_kernels.SCALE}''', 'scaled', arguments=[lab.input('x', 'n'), "
         "lab.output('z', 'n'), lab.value('n')], launch=lab.launch(items='n'))", ["n=3"],
         "--kernel: the file has several, saxpy, second (scaled); name one"),
        (FILE, [], "n: saxpy needs it; give n"),
        (FILE, ["n=3", "m=4"], "m: saxpy has no such value; known: a, n"),
        (FILE, ["1024"], "'1024' is no size; write NAME=NUMBER, here n=..."),
        (FILE, ["n=big"], "'n=big' is no size"),
        (FILE, ["n=3", "a=-1e400"], "'a=-1e400' is no size"),
        (FILE, ["n=2.5"], "n: 2.5 is no whole number"),
        (FILE, ["n=3", "n=4"], "n: it stands twice"),
        (FILE, ["n=3", "--kernel", "third"], "--kernel: 'third' is none of the file's: saxpy"),
        (FILE, ["n=3", "-v", "saxpy(WIDTH=3)"], "WIDTH: 3 is none of its levels, 1, 4"),
        (FILE.replace("[1, 4]", "list(range(1, 100))"), ["n=3"], "saxpy: it has 198 configurations for these sizes"),
        (FILE.replace('"saxpy",', '"saxpy", constraints=["n % WIDTH == 7"],'), ["n=3"],
         "constraints: they admit no configuration of saxpy for n=3, a=1.5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_line(file: Path, text: str, words: list[str], line: str) -> None:
    file.write_text(text)
    result = run("study", file, *words, "--device", "cpu")
    assert result.exit_code == 2, result.output
    assert line in said(result)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["study", "tune", "judge"])
def test_a_file_that_is_not_there(tmp_path: Path, command: str) -> None:
    more = [__file__] if command == "judge" else []
    result = run(command, tmp_path / "nowhere.py", *more)
    assert result.exit_code == 2
    assert "nowhere.py: there is no such file" in said(result)


def test_an_interrupt_while_the_file_runs(file: Path) -> None:
    file.write_text("raise KeyboardInterrupt\n")
    result = run("study", file)
    assert result.exit_code == 130
    assert "gpuopt: interrupted" in result.stderr


def test_a_file_runs_as_python_runs_it(file: Path, any_device: gpuopt.Device) -> None:
    """Its neighbours can be imported, by the reference too; nothing of that is left behind."""
    file.with_name("neighbour_of_mine.py").write_text("FACTOR = 1.0\n")
    text = FILE.replace("lambda a, x, y: {", "lambda a, x, y: _exact(a, x, y) or {")
    text += "\ndef _exact(a, x, y):\n    import neighbour_of_mine\n    assert neighbour_of_mine.FACTOR == WHOLE\n"
    text += (
        "WHOLE = 1.0\nimport sys\nassert len(sys.argv) == 1 and __name__ != '__main__' and __file__.endswith('.py')\n"
    )
    file.write_text(text)
    other = file.with_name("other.cl")
    other.write_text(own_kernels.SAXPY)
    before = list(sys.path), list(sys.argv)
    result = run("judge", file, other, "n=100", "--level", "quick", "--device", any_device.index)
    assert result.exit_code == 0, result.output
    assert (sys.path, sys.argv) == before


@pytest.mark.usefixtures("brief_quick")
def test_a_file_that_changes_the_working_directory(
    file: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths of the command line lie where the user stands; those of its functions where it went."""
    monkeypatch.chdir(file.parent)
    (away := file.with_name("elsewhere")).mkdir()
    text = FILE.replace("y: {", "y: Path(__file__).parent.samefile('..') and {")
    file.write_text(f"import os\nfrom pathlib import Path\nos.chdir('elsewhere')\n{text}")
    (away / "other.cl").write_text(own_kernels.SAXPY)
    file.with_name("other.cl").write_text(own_kernels.SAXPY.replace("< n)", "< n - 1)"))
    size, on_device = "n=500", ["--device", any_device.index]
    assert run("judge", "mine.py", "other.cl", size, "--level", "quick", *on_device).exit_code == 1
    study = ["study", "mine.py", size, "--quick", "--no-plots", "--level", "WG=32", *on_device]
    assert "--csv: mine.py is what is studied" in said(run(*study, "--csv", "mine.py")).replace(f"{file.parent}/", "")
    result = run(*study, "--out", "out", "--csv", "t.csv", "--json", "t.json")
    assert result.exit_code == 0, result.output
    assert all((file.parent / name).exists() for name in ("out/rows.jsonl", "t.csv", "t.json"))
    assert run(*study).exit_code == 0
    assert run("isa", "mine.py", size, "--out", "isa.json", *on_device).exit_code == 0
    assert len([*file.parent.glob("gpuopt-results/*/rows.jsonl"), file.with_name("isa.json").stat()]) == 2
    assert [path.name for path in away.iterdir()] == ["other.cl"]
    assert Path.cwd() == file.parent
    file.write_text("import os\nos.chdir('elsewhere')\nos.nothing")
    assert said(run("study", "mine.py")).startswith("gpuopt: mine.py, line 3: AttributeError: ")


def test_the_help_says_that_files_are_run(file: Path) -> None:
    file.write_text("raise RuntimeError\n")
    for group in ("study", "tune"):
        assert "Python runs that file" in said(run(group, "--help"))
        shown = run(group, file, "--help")
        assert shown.exit_code == 0, shown.output  # and does not run it
        assert "is run as `python FILE.py` would run it" in said(shown)


def test_what_is_no_workload_is_told_what_there_is() -> None:
    for words, said in (
        (["study", "spmw"], "spmw: there is no such workload; did you mean spmv? There are gem, "),
        (["tune", "nothing"], "nothing: there is no such workload; there are gem, "),
        (["study", "kernel.cl", "n=5"], "kernel.cl: it is a kernel alone; name a Python file with a lab.Kernel"),
    ):
        told = CliRunner().invoke(cli.app, words, prog_name="gpuopt")
        assert told.exit_code == 2
        assert said in told.output
