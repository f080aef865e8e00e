"""Files that open and fail while they are read, as those on a broken disk do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuopt import io
from gpuopt.tomo.scan_files import count_views, read_angles

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
