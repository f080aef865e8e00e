"""Files that open and fail while they are read, as those on a broken disk do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from gpuopt import io
from gpuopt.io import pqr, text
from gpuopt.tomo.scan_files import count_views, read_angles
from surface_files import written

XYZ = "property float x\nproperty float y\nproperty float z\n"
FAILING = Path("/proc/self/mem")  # its first page is nobody's: reading it gives EIO
READERS = [io.read_msms, io.read_obj, io.read_off, io.read_ply, io.read_pqr, io.read_stl, read_angles, count_views]


@pytest.mark.parametrize("read", READERS)
def test_a_file_whose_reading_fails(read: Callable[[Path], Any]) -> None:
    if not FAILING.is_file():
        pytest.skip(f"there is no {FAILING}")
    if read is io.read_stl:
        pytest.importorskip("trimesh")
    with pytest.raises(
        io.FormatError, match=rf"^{FAILING}: it cannot be read \(Input/output error\); copy it"
    ) as caught:
        read(FAILING)
    assert caught.value.path == FAILING


def test_a_folder_whose_reading_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Path) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "iterdir", failing)
    with pytest.raises(io.FormatError, match=r"it cannot be read \(Input/output error\)"):
        count_views(tmp_path)


def test_a_time_out_of_a_handler_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``os.path.exists`` takes it for a file that is not there, ``isfile`` for one that is none."""

    def handler(*_: Any) -> None:
        raise TimeoutError("too late")

    path = written(tmp_path, "a.off", "OFF\n1 0 0\n0 0 0\n")
    monkeypatch.setattr(os, "stat", lambda *_, **__: handler(14, sys._getframe()))
    with pytest.raises(TimeoutError, match="too late"):
        io.read_off(path)


@pytest.mark.parametrize("read", [io.read_obj, io.read_pqr])
def test_a_value_error_of_a_handler_is_no_fault_of_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any]
) -> None:
    def handler(*_: Any) -> None:
        raise ValueError("too late")

    path = written(tmp_path, "a", "v 0 0 0\nATOM 1 N ASY 1 46.331 15.935 -4.837 -0.470 1.850\n")
    for module in (text, pqr):
        monkeypatch.setattr(module, "floats", lambda _: handler(14, sys._getframe()))
    with pytest.raises(ValueError, match="too late"):
        read(path)


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (io.read_off, "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\nmore\n"),
        (io.read_ply, "ply\nformat ascii 1.0\nelement vertex 1\n" + XYZ + "end_header\n0 0 0\nmore\n"),
        (io.read_ply, "ply\nformat binary_little_endian 1.0\nelement vertex 1\n" + XYZ + "end_header\n" + "\0" * 12),
    ],
)
def test_an_error_while_a_file_is_closed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any], content: str
) -> None:
    """Such as that of a signal's handler, which Python dropped with the lines that were left unread."""

    opened = text.opened

    @contextmanager
    def raising(path: Path) -> Iterator[BinaryIO]:
        try:
            with opened(path) as file:
                yield file
        finally:
            raise RuntimeError("too late")

    monkeypatch.setattr(text, "opened", raising)
    with pytest.raises(RuntimeError, match="too late"):
        read(written(tmp_path, "a", content))
