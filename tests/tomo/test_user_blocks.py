"""HDF5 files that begin behind a block of the user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt.io.text import FormatError


@pytest.mark.parametrize("block", [0, 512, 2048, 4096, 1 << 16])
def test_a_file_begins_behind_a_block(tmp_path: Path, block: int) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "scan.h5"
    with h5py.File(path, "w", userblock_size=block) as file:
        file["exchange/data"] = np.ones((3, 2, 9), np.uint16)
        file["exchange/data_white"] = np.full((1, 2, 9), 5, np.uint16)
        file["exchange/theta"] = np.arange(3.0)
    assert gt.read_scan(path).shape == (3, 2, 9)


@pytest.mark.parametrize("size", [0, 3, 511, 512, 100_000])
def test_files_that_begin_nowhere(tmp_path: Path, size: int) -> None:
    path = tmp_path / "scan.h5"
    path.write_bytes(bytes(size))
    with pytest.raises(FormatError, match="it is neither HDF5 nor TIFF"):
        gt.read_scan(path)
