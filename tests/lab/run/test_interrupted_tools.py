"""Ctrl-C while tools read what kernels were compiled to: the tools end, and the call does not wait for them."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from gpuopt.lab.compiled import tools
from gpuopt.lab.run import instructions


def test_ctrl_c_ends_the_tools_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []

    def slow(device: Any, plan: Any) -> dict[str, Any]:
        try:
            tools.run(["sleep", "20"])
        except tools.ToolError as error:
            ends.append(str(error))
        return {}

    monkeypatch.setattr(instructions, "code_fields", slow)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            instructions.codes_of(None, dict.fromkeys("abc"))  # type: ignore[arg-type]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 10
    assert len(ends) == 3
    assert all("signal 9" in end for end in ends)


def test_a_system_without_descriptors_of_processes_waits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.pidfd_open", raising=False)
    assert tools.run(["echo", "here"]) == "here\n"
    began = time.monotonic()
    with pytest.raises(tools.ToolError, match="did not end within"):
        tools.run(["sleep", "20"], limit_s=0.2)
    assert time.monotonic() - began < 10
