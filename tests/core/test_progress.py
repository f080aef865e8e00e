"""How far something is: lines where there is no terminal, one line that is written over in a notebook."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpuopt import progress
from gpuopt.remarks import remark


def test_lines_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 11.0, 12.0, 35.0, 36.0, 37.0, 38.0, 50.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    bar = progress.Bar(True, 3)
    bar.say("one")
    bar.step()
    bar.say("two")
    bar.more(1)
    bar.step()
    bar.say("three")
    for _ in range(3):
        bar.step()
    bar.close()
    assert capsys.readouterr().err.splitlines() == [
        "gpuopt: 1 of 3 steps after 11 s, about 22 s left: one",
        "gpuopt: 2 of 4 steps after 35 s, about 35 s left: two",
        "gpuopt: 5 steps after 50 s: three",
    ]


def test_nothing_is_said_unless_it_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    bar = progress.Bar(False, 3)
    bar.say("one")
    bar.step()
    bar.close()
    assert capsys.readouterr().err == ""


def test_time_left_begins_with_steps_of_one_length(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 100.0, 100.0, 100.0, 120.0, 140.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    bar = progress.Bar(True, 2, even=False)
    bar.step()
    bar.stage(10, "block", done=4)
    bar.step()
    bar.more(2)
    bar.step()
    assert capsys.readouterr().err.splitlines() == [
        "gpuopt: 1 of 2 steps after 100 s",
        "gpuopt: 4 of 10 blocks after 0 s",
        "gpuopt: 5 of 10 blocks after 20 s, about 100 s left",
        "gpuopt: 6 of 12 blocks after 40 s, about 120 s left",
    ]


class Terminal(io.StringIO):
    """A terminal that may have gone away."""

    def isatty(self) -> bool:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return True


@pytest.mark.parametrize("kind", ["none", "closed", "full", "only to read", "a terminal that goes away"])
def test_where_nobody_can_read_it_nothing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    with contextlib.ExitStack() as stack:
        if kind in ("full", "only to read"):
            descriptor = os.open(*(("/dev/full", os.O_WRONLY) if kind == "full" else (os.devnull, os.O_RDONLY)))
            stack.callback(os.close, descriptor)
            stream = io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), line_buffering=True)
            stack.callback(stream.detach)
        else:
            stream = Terminal()
        if kind == "closed":
            stream.close()
        monkeypatch.setattr(sys, "stderr", None if kind == "none" else stream)
        bar = progress.Bar(True, 3)
        bar.say("one")
        bar.step()
        if kind == "a terminal that goes away":
            stream.close()
        bar.more(1)
        bar.note("so far")
        bar.stage(2, "block")
        bar.step()
        bar.close()
        remark("and more")
    assert capsys.readouterr().out == ""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook shows, where this program is its kernel."""
    states: list[dict[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            states.append(data)

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        states.append(data)
        return Handle()

    here = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(progress.sys.modules, "IPython", here)
    monkeypatch.setitem(progress.sys.modules, "IPython.display", SimpleNamespace(display=display))
    return states


def test_a_notebook_has_one_line_of_which_nothing_stays(
    shown: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.1, 0.2, 0.3, 2.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    bar = progress.Bar(None, 3)
    bar.say("a < b")
    bar.step()
    bar.step()
    bar.step()
    bar.close()
    assert [state.get("text/plain") for state in shown] == [
        "gpuopt: 0 of 3 steps after 0 s: a < b",
        "gpuopt: 3 of 3 steps after 2 s, about 0 s left: a < b",
        "",
    ]
    assert not any(shown[-1].values())
    assert "a &lt; b" in shown[0]["text/html"]
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_nothing_where_that_is_asked_for(shown: list[dict[str, Any]]) -> None:
    bar = progress.Bar(False, 1)
    bar.say("one")
    bar.step()
    bar.close()
    assert shown == []
