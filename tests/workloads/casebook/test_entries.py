"""Every entry of the casebook: complete, right on every device at quick and awkward sizes, and of different kernels."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import gpuopt
from gpuopt import _core
from gpuopt.configuration import Configuration
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.timing import verification
from gpuopt.workloads.casebook.entry import (
    CATEGORIES,
    DEVICE_CLASSES,
    KINDS,
    PROVENANCES,
    Entry,
    Prediction,
    Sizes,
    Version,
)
from gpuopt.workloads.casebook.index import chosen, entries

of_entries = pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.id)
SENTENCES = ("did", "slow", "fix", "look_for")


def build_of(version: Version) -> object:
    """What tells two programs apart."""
    if isinstance(version.of, Configuration):
        return version.of
    return version.of.code.source.text, version.of.code.options


def verify(entry: Entry, sizes: Sizes, device: gpuopt.Device) -> None:
    problem = entry.problem_of(sizes)
    for version, configuration in zip(entry.versions, entry.configurations(sizes), strict=True):
        bound = problem.prepare(configuration, device)
        if version.kind == "wrong":
            with pytest.raises(gpuopt.MismatchError):
                verification.verify(bound, problem, configuration)
            continue
        errors = verification.verify(bound, problem, configuration)
        assert errors["max_of_tol"] <= 1, version.name


@of_entries
@pytest.mark.parametrize("sizes", ["quick", "awkward"])
def test_every_version_is_right(entry: Entry, sizes: str, device: gpuopt.Device) -> None:
    try:
        entry.check(device)
        verify(entry, getattr(entry, sizes), device)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))


@of_entries
def test_the_record_is_complete(entry: Entry) -> None:
    assert entry.category == entry.id[0]
    assert entry.category in CATEGORIES
    assert entry.provenance
    assert set(entry.provenance) <= set(PROVENANCES)
    for text in (entry.title, entry.project, entry.explains):
        assert text
        assert not text.endswith("."), f"{text!r}: without a full stop"
    for text in (entry.exactness, *entry.slips, *(getattr(entry.story, name) for name in SENTENCES)):
        assert text.endswith("."), text
    assert entry.bug.kind == "bug"
    assert entry.others
    for version in entry.others:
        assert version.kind in set(KINDS) - {"bug"}
        assert set(version.predicted) == (set() if version.kind == "wrong" else set(DEVICE_CLASSES))
        for prediction in version.predicted.values():
            assert prediction.word in ("FAST", "SLOW", "SAME")
            assert prediction.why
            assert not prediction.why.endswith(".")
        assert all(0 < gain.low <= gain.high for gain in version.paper)


@of_entries
def test_entries_of_programs_have_whole_calls(entry: Entry, any_device: gpuopt.Device) -> None:
    """Of what the paper tells gains of a whole program, but QymSym's: ours is one step of it."""
    told = any(gain.level == "program" for version in entry.versions for gain in version.paper)
    assert bool(entry.program) or not told or entry.id in ("B2", "F3")
    if not entry.program:
        return
    problem = entry.problem_of(entry.awkward)
    assert list(problem.calls) == [f"{version.name}(...)" for version in entry.versions if not version.alone]
    try:
        entry.check(any_device)
        for call in problem.calls.values():
            verification.compare(call(any_device)(), problem.reference, problem.tolerance)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))


@of_entries
def test_versions_differ(entry: Entry) -> None:
    assert len({version.name for version in entry.versions}) == len(entry.versions)
    assert len({build_of(version) for version in entry.versions}) == len(entry.versions)


@of_entries
def test_an_entry_has_the_name_of_its_folders(entry: Entry, root: Path) -> None:
    assert (root / "python/gpuopt/workloads/casebook" / entry.name / "__init__.py").is_file()
    own = [version for version in entry.versions if isinstance(version.of, Kernel)]
    assert {version.path for version in own} == {
        path for path in _core.kernel_paths() if path.startswith(f"casebook/{entry.name}/")
    }


def test_ids_and_names_are_single() -> None:
    found = entries()
    assert len({entry.id for entry in found}) == len({entry.name for entry in found}) == len(found)
    assert chosen(None) == list(found)
    assert chosen(["a2", "row_sum", "A2"]) == chosen("A2")
    with pytest.raises(gpuopt.ParameterError, match=r"entries: the casebook has no 'Z9'; it has .*A2 row_sum"):
        chosen("Z9")


def test_two_entries_of_one_id_are_refused() -> None:
    (shipped,) = chosen("A2")
    own = dataclasses.replace(shipped, name="row_sum_small", sizes=shipped.awkward)
    for wanted in (["A2", own], [own, "A2"], [own, dataclasses.replace(own, quick=own.awkward)]):
        with pytest.raises(
            gpuopt.ParameterError, match=r"^entries: row_sum\w* and row_sum\w* both have the id A2; give"
        ):
            chosen(wanted)
    assert chosen([own, own]) == [own]
    other = dataclasses.replace(own, id="A98")
    assert chosen(["A2", other]) == [shipped, other]


def test_folders_of_kernels_are_those_of_entries(root: Path) -> None:
    names = {entry.name for entry in entries()}
    assert {path.split("/")[1] for path in _core.kernel_paths() if path.startswith("casebook/")} <= names


def test_an_entry_has_the_bug_first_and_sizes() -> None:
    entry = entries()[0]
    for change, says in (
        ({"versions": []}, "^versions: A1 has none; give the bug"),
        ({"versions": entry.others}, "^versions: A1 has fix"),
        ({"versions": "abc"}, "^versions: it is 'abc'; give a list of Version"),
        ({"quick": None}, "^quick: it is None; give"),
        ({"quick": {1: 2}}, "^quick: its key: it is 1; give a text"),
        ({"category": "Q"}, "^category: it is 'Q'; give 'A' or"),
        ({"problem": 5}, "^problem: it is 5; give a function"),
        ({"data": 5}, "^data: it is 5; give a function"),
        ({"explains": None}, "^explains: it is None; give a text"),
    ):
        with pytest.raises(gpuopt.ParameterError, match=says):
            dataclasses.replace(entry, **change)
    for own, says in (
        ({"predicted": None}, "^predicted: it is None; give"),
        ({"predicted": {"cpu": "FAST"}}, r"^predicted\['cpu'\]: it is 'FAST'"),
        ({"paper": "3x"}, "^paper: it is '3x'; give a list of PaperGain"),
    ):
        with pytest.raises(gpuopt.ParameterError, match=says):
            dataclasses.replace(entry.others[0], **own)  # type: ignore[arg-type]
    with pytest.raises(gpuopt.ParameterError, match=r"^word: "):
        Prediction("BEST", "why")  # type: ignore[arg-type]
    other = dataclasses.replace(entry, problem=lambda **sizes: 5)
    with pytest.raises(gpuopt.ParameterError, match=r"^problem: A1 returns a int; return a Problem"):
        other.problem_of({})
