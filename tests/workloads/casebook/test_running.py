"""`lab.casebook`: findings, verdicts and their words, entries that cannot run, interrupts, resumed runs, stories."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import lab
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.report import Study
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.store import Store
from gpuopt.workloads.casebook import device_class, running, stories
from gpuopt.workloads.casebook.entry import Entry, Story, Version, fast, same, slow
from gpuopt.workloads.casebook.findings import Finding

TEXT = """
kernel void {name}(global const float* x, global float* y, const int n) {{
    const int i = get_global_id(0);
    if (i < n) y[i] = 2 * x[i];{broken}
}}
"""
PREDICTED = {"gpu_fast_fp64": fast("a"), "gpu_slow_fp64": slow("b"), "cpu": same("it is the same text")}


def version(name: str, kind: Any = "fix", broken: str = "") -> Version:
    kernel = Kernel(
        TEXT.format(name=name, broken=broken),
        name,
        arguments=[lab.input("x", "n"), lab.output("y", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: 2 * x,
    )
    return Version(kind, "doubles", kernel, "casebook/row_sum/tiled.cl", {} if kind == "bug" else PREDICTED)


def made_up(*others: Version, bug: Version | None = None, id: str = "A99", **more: Any) -> Entry:
    given: dict[str, Any] = {
        "id": id,
        "name": "made_up",
        "title": "a kernel beside itself",
        "project": "nobody's",
        "category": "A",
        "provenance": ["rec"],
        "versions": [bug or version("made_up_bug", "bug"), *(others or [version("made_up_same")])],
        **{size: {"n": 3000} for size in ("sizes", "quick", "awkward")},
        "explains": "nothing",
        "exactness": "exact.",
        "story": Story("It doubles.", "Nothing.", "None.", "This."),
    }
    return Entry(**(given | more))


pytestmark = pytest.mark.usefixtures("brief_quick")


def test_a_kernel_beside_itself(any_device: gpuopt.Device) -> None:
    book = lab.casebook(made_up(), quick=True, device=any_device)
    (finding,) = book.findings
    assert finding.ratio is not None
    assert finding.ratio.blocks >= 10
    assert finding.bug is not None
    assert finding.bug["configuration"] == finding.bug["baseline"] == "made_up_bug"
    assert finding.verdict in ("no effect here", "undecided", "confirmed", "inverted here")
    assert {row["configuration"] for row in book.rows if row["kind"] == "summary"} >= {"made_up_bug", "made_up_same"}
    assert {row["role"] for row in book.rows if row["kind"] == "block"} == {"sentinel", "variant", "clone"}
    assert {row["protocol"] for row in book.rows if row["kind"] == "block"} == {"short"}
    assert "A99 made_up" in str(book)
    assert "<table>" in book._repr_html_()


@pytest.mark.parametrize(
    ("word", "verdict", "right"),
    [
        ("FAST", "confirmed", False),
        ("SLOW", "inverted here", False),
        ("SAME", "no effect here", True),
        ("AMBIGUOUS", "undecided", None),
        (None, "undecided", None),
    ],
)
def test_verdicts(word: Any, verdict: str, right: bool | None) -> None:
    entry = made_up()
    finding = Finding(entry, entry.others[0], "cpu", ratio=Ratio(0.5, 0.4, 0.6, word, 10))
    assert (finding.verdict, finding.right) == (verdict, right)
    assert finding.to_json()["gain"] == 2.0
    assert Finding(entry, entry.others[0], "cpu", reason="no doubles").verdict == "not measured"


def test_what_cannot_run_is_a_finding_and_the_rest_goes_on(any_device: gpuopt.Device) -> None:
    def no_problem(**sizes: int) -> gpuopt.problems.Problem:
        raise gpuopt.UnsupportedError("it has no doubles")

    def no_file(**sizes: int) -> Any:
        raise ValueError("no such file")

    broken = version("made_up_broken", broken=" this is no C")
    book = lab.casebook(
        [
            made_up(broken, version("made_up_same")),
            made_up(id="A98", bug=version("made_up_broken", "bug", " this is no C")),
            made_up(id="A97", problem=no_problem),
            made_up(id="A96", problem=no_file),
            made_up(id="A95", data=no_file),
        ],
        quick=True,
        device=any_device,
    )
    first, second, third, fourth, *others = book.findings
    assert (first.verdict, second.ratio is not None) == ("not measured", True)
    assert first.reason.startswith("made_up_broken: compile: ")
    assert third.reason.startswith("the bug: compile: ")
    assert fourth.reason == "it has no doubles"
    assert [each.reason for each in others] == [
        "problem: it raised ValueError: no such file",
        "data: it raised ValueError: no such file",
    ]
    assert str(book).count("not measured") == 5


def test_findings_are_asked_of_one_entry(any_device: gpuopt.Device) -> None:
    book = lab.casebook([], quick=True, device=any_device)
    for wrong in (None, ["A1", "A2"]):
        with pytest.raises(gpuopt.ParameterError, match=r"^entry: "):
            book.of(wrong)  # type: ignore[arg-type]


def test_an_entry_of_ones_own_is_asked_for_by_id_and_name(any_device: gpuopt.Device) -> None:
    entry, (built_in,) = made_up(), running.index.chosen("A2")
    other = made_up(id="A2", name="window")  # names of two of the casebook's
    book = running.Casebook(any_device, "cpu", [Finding(one, one.others[0], "cpu") for one in (entry, other)])
    for asked in ("A99", "a99", "made_up", "MADE_UP", entry):
        assert [each.entry for each in book.of(asked)] == [entry]
    for asked in ("A2", "window", other):
        assert [each.entry for each in book.of(asked)] == [other]
    assert book.of("A1") == []
    with pytest.raises(gpuopt.ParameterError, match=r"^entries: .* has no 'A98'; it has A1 adjacent, .*A99 made_up"):
        book.of("A98")
    with pytest.raises(gpuopt.ParameterError, match="has no 'A99'"):
        running.Casebook(any_device, "cpu", [Finding(built_in, built_in.others[0], "cpu")]).of("A99")


def times(name: str, kind: Any, factor: str, **more: Any) -> Version:
    """x times m, of which a default is declared."""
    text = f"kernel void {name}(global const float* x, global float* y, int n, int m) {{"
    kernel = Kernel(
        f"{text} int i = get_global_id(0); if (i < n) y[i] = {factor} * x[i]; }}",
        name,
        arguments=[lab.input("x", "n"), lab.output("y", "n"), lab.value("n"), lab.value("m", "int32", 2)],
        launch=lab.launch(items="n", local=32),
        reference=lambda x, m: m * x,
        **more,
    )
    return Version(kind, "times", kernel, "casebook/row_sum/tiled.cl", {} if kind == "bug" else PREDICTED)


@pytest.mark.parametrize("given", [{"n": 3000}, {"n": 3000, "m": 3}, {}])
def test_constraints_know_defaults_and_sizes_of_data(any_device: gpuopt.Device, given: dict[str, int]) -> None:
    entry = made_up(
        times("times_macro", "fix", "M", parameters={"M": [1, 2, 3]}, constraints=["M == m", "n > 0"]),
        bug=times("times_bug", "bug", "m"),
        data=lambda **sizes: {"x": np.ones(3000, np.float32)},
        program="numbers go up and come back multiplied",
        **dict.fromkeys(("sizes", "quick", "awkward"), given),
    )
    (finding,) = lab.casebook(entry, quick=True, device=any_device).findings
    assert finding.reason == ""
    assert finding.ratio is not None
    assert finding.program is not None
    assert entry.configurations(given)[1].parameters == {"M": given.get("m", 2)}


def test_whole_calls_stand_beside_kernels(any_device: gpuopt.Device) -> None:
    others = [version("made_up_same"), dataclasses.replace(version("made_up_alone"), alone=True)]
    entry = made_up(*others, program="numbers go up and come back doubled")
    book = lab.casebook(entry, quick=True, device=any_device)
    whole, alone = book.findings
    assert whole.program is not None
    assert whole.ratio is not None
    assert alone.ratio is not None
    assert alone.program is None
    assert {row["configuration"] for row in book.rows if row["role"] == "call"} == {
        "made_up_bug(...)",
        "made_up_same(...)",
    }
    assert whole.program.row["clock"] == "wall"
    told = whole.to_json()
    assert told["program_gain"] == 1 / whole.program.ratio.mid
    assert told["gain"] == 1 / whole.ratio.mid
    assert "whole call" in str(book)
    text = stories.told(entry, book.findings, any_device, entry.sizes, width=100)
    assert "made up same" not in text
    for part in ("numbers go up and come back doubled", "same: kernel alone, ", "same: whole call, "):
        assert part in text
    assert "alone: whole call" not in text


def test_kernels_of_libraries_have_no_whole_call(any_device: gpuopt.Device) -> None:
    book = lab.casebook(made_up(), quick=True, device=any_device)
    assert book.findings[0].program is None
    assert book.findings[0].to_json()["program_gain"] is None
    assert "whole call" not in str(book)
    assert not [row for row in book.rows if row["role"] == "call"]


def test_what_is_printed_wrongly_is_refused(any_device: gpuopt.Device) -> None:
    wrong = version("made_up_wrong", "wrong", " if (i == 7) y[i] = 0;")
    (finding,) = lab.casebook(made_up(wrong), quick=True, device=any_device).findings
    assert (finding.verdict, finding.right, finding.ratio) == ("refused", None, None)
    assert finding.reason.startswith("made_up_wrong: wrong: y: 1 of 3000 elements are off")


def test_an_interrupt_keeps_what_is_finished(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = running.glance

    def glance(problem: Any, *given: Any, **more: Any) -> Study:
        if problem.workload == "second_bug":
            raise KeyboardInterrupt
        return swept(problem, *given, **more)

    monkeypatch.setattr(running, "glance", glance)
    second = made_up(version("second_same"), bug=version("second_bug", "bug"), id="A98")
    book = lab.casebook([made_up(), second], quick=True, device=any_device)
    assert book.interrupted
    assert [finding.entry.id for finding in book.findings] == ["A99"]
    assert "interrupted" in str(book)


def test_a_second_run_takes_the_rows_of_the_first(any_device: gpuopt.Device, tmp_path: Path) -> None:
    store = tmp_path / "rows.jsonl"
    first = lab.casebook(made_up(), quick=True, device=any_device, store=store)
    second = lab.casebook(made_up(), quick=True, device=any_device, store=store)
    assert first.findings[0].ratio is not None
    assert second.findings[0].ratio is not None
    assert first.findings[0].ratio.mid == pytest.approx(second.findings[0].ratio.mid)
    assert second.studies["A99"].resumed is not None


def test_a_file_that_takes_no_row_is_an_error(any_device: gpuopt.Device, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("somebody's\n")
    for store in (tmp_path, tmp_path / "notes.txt", "/dev/full"):
        with pytest.raises(ResultsError, match=r"Is a directory|is no results file|No space left"):
            lab.casebook(made_up(), quick=True, device=any_device, store=store)


def test_rows_that_a_file_lacks_are_told(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries, store = [made_up(), made_up(bug=version("second_bug", "bug"), id="A98")], tmp_path / "rows.jsonl"
    written = Store._write

    def full(self: Store, line: bytes) -> None:
        if self.path == store and store.exists() and store.stat().st_size > 4000:
            raise OSError(errno.ENOSPC, "No space left on device")
        written(self, line)

    monkeypatch.setattr(Store, "_write", full)
    with pytest.warns(UserWarning, match="rows are held"):
        book = lab.casebook(entries, quick=True, device=any_device, store=store)
    assert "rows are not in" in book.unsaved[0]
    assert "rows are not in" in str(book)


def test_a_story_marks_what_changed(any_device: gpuopt.Device) -> None:
    (entry,) = running.index.chosen("A2")
    book = lab.casebook(made_up(), quick=True, device=any_device)
    findings = [dataclasses.replace(book.findings[0], entry=entry, version=entry.others[0])]
    text = stories.told(entry, findings, any_device, entry.awkward, width=100)
    assert max(map(len, text.splitlines())) <= 100
    assert "row_sum_tiled" in stories.told(entry, findings, any_device, entry.awkward, width=1)  # a terminal's
    for part in (
        "What is slow: ",
        "What to look for: ",
        "In the paper tiled gained: 5.96x on GTX 285",
        "row_sum_tiled",
    ):
        assert part in text
    marked = [line for line in text.splitlines() if " > " in line or " | " in line]
    assert any("barrier(CLK_LOCAL_MEM_FENCE)" in line for line in marked)
    assert not any("float sum = 0;" in line for line in marked)


def test_classes_of_devices(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.type == "cpu":
        assert device_class.class_of(device) == "cpu"
    monkeypatch.setattr(device_class, "_known", {})

    class Gpu:
        type, fp64, key = "gpu", True, "made-up"

    for share, name in ((1 / 2, "gpu_fast_fp64"), (1 / 64, "gpu_slow_fp64")):
        monkeypatch.setattr(device_class, "_known", {})
        monkeypatch.setattr(device_class, "_fp64_share", lambda _, share=share: share)
        assert device_class.class_of(Gpu()) == name  # type: ignore[arg-type]
    Gpu.fp64 = False
    assert device_class.class_of(Gpu()) == "gpu_slow_fp64"  # type: ignore[arg-type]


def test_the_share_of_fp64_is_measured(any_device: gpuopt.Device) -> None:
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    assert 0.01 < device_class._fp64_share(any_device) < 20
