"""Where there is no terminal, lines say how far it is."""

from __future__ import annotations

import pytest

from gpuopt import progress


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
        "gpuopt: 1 of 3 steps after 11 s, one",
        "gpuopt: 2 of 4 steps after 35 s, two",
        "gpuopt: 5 steps after 50 s, three",
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
