"""Tools that are missing, fail, hang or print too much."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from gpuopt.lab.compiled import found, targets, tools
from gpuopt.lab.compiled.tools import ToolError


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_what_a_tool_prints() -> None:
    assert tools.run(python("print('Größe')")) == "Größe\n"
    assert tools.run(python("import os; print(os.environ['LC_ALL'])")) == "C\n"


def test_a_missing_tool_is_named() -> None:
    assert tools.find("no-such-tool-at-all", "sh") is not None
    assert tools.find("no-such-tool-at-all") is None
    with pytest.raises(ToolError, match=r"^no-such-tool-at-all is not on PATH$"):
        tools.needed("no-such-tool-at-all")
    with pytest.raises(ToolError, match=r"^no-such-tool-at-all does not start: No such file"):
        tools.run(["/usr/bin/no-such-tool-at-all"])


def test_a_failure_says_what_the_tool_says() -> None:
    text = "import sys; print('note: x\\nk.cl:3: error: no such type', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ToolError, match=r"fails \(exit code 3\): k.cl:3: error: no such type$"):
        tools.run(python(text))
    with pytest.raises(ToolError, match=r"fails \(signal 9\)$"):
        tools.run(python("import os; os.kill(os.getpid(), 9)"))


def test_a_tool_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = f"""
import subprocess, sys, time
late = "import time, pathlib; time.sleep(1.5); pathlib.Path({str(started)!r}).touch()"
subprocess.Popen([sys.executable, '-c', late])
time.sleep(60)
"""
    begin = time.perf_counter()
    with pytest.raises(ToolError, match=r"did not end within 0.5 s$"):
        tools.run(python(text), limit_s=0.5)
    assert time.perf_counter() - begin < 10
    time.sleep(1.5)
    assert not started.exists()


def test_too_much_is_not_read() -> None:
    with pytest.raises(ToolError, match=r"printed 2 MiB; at most 1 are read"):
        tools.run(python("print('x' * 2 * 2**20)"), most_bytes=2**20)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_tool_that_prints_without_end_is_ended(stream: str) -> None:
    """It filled the disk until its time was over."""
    begin = time.perf_counter()
    with pytest.raises(ToolError, match=r"printed more than 1 MiB"):
        tools.run(python(f"import sys\nwhile True: sys.{stream}.write('x' * 4096)"), most_bytes=2**20, limit_s=20)
    assert time.perf_counter() - begin < 10


def test_no_shell_reads_the_words() -> None:
    assert tools.run([sys.executable, "-c", "import sys; print(sys.argv[1])", "$(id); `id`"]) == "$(id); `id`\n"


def test_versions() -> None:
    assert tools.version(sys.executable).startswith("3.")
    assert tools.version("/usr/bin/no-such-tool-at-all") == "?"


def test_what_is_here_and_what_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tools, "find", lambda *names: None)
    monkeypatch.setattr(targets, "_ROOT", tmp_path)
    lines = found.lines()
    assert len(lines) == 5
    assert all(line.startswith("--  ") for line in lines)
    assert lines[0] == "--  machine code of CPUs: none of objdump, llvm-objdump on PATH (Debian: binutils)"
    monkeypatch.setattr(tools, "find", lambda *names: sys.executable)
    (tmp_path / targets.LIBCLC).mkdir(parents=True)
    lines = found.lines()
    assert lines[1].startswith(f"ok  chips that are not here: {sys.executable} 3.")
    assert lines[2] == "ok  built-in functions for other chips: libclc"
