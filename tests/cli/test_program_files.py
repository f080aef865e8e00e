"""What a program of the user is run with: the caller's signals, and a folder that may hold any module."""

from __future__ import annotations

import signal
import sys
import types
from pathlib import Path

import pytest

from gpuopt import programs


def test_what_a_handler_raises_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    def late(number: int, frame: types.FrameType | None) -> None:
        raise TimeoutError("too late")

    path = tmp_path / "own.py"
    path.write_text("import signal\nsignal.raise_signal(signal.SIGUSR1)\n")
    before = signal.signal(signal.SIGUSR1, late)
    try:
        with pytest.raises(TimeoutError, match="too late"), programs.opened(path):
            pass
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_script_that_started_is_none_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = types.ModuleType("__main__")
    script.__file__ = str(tmp_path / "bin" / "gpuopt")
    (tmp_path / "bin").mkdir()
    for name in ("bin/gpuopt", "__main__.py", "own.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setitem(sys.modules, "__main__", script)
    assert programs.files_of(tmp_path / "own.py", {}) == [tmp_path / "own.py"]
