"""Kernel text is read below the package's kernels and GPUOPT_KERNEL_DIR, and nowhere else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import Error, _core


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernels"
    (folder / "deep").mkdir(parents=True)
    (folder / "gemm").mkdir()  # a folder with none of the package's is refused
    (tmp_path / "secret.cl").write_text("secret\n")
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(folder))
    return folder


def outside(overlay: Path) -> list[str]:
    beside = overlay.parent / "secret.cl"
    return ["../secret.cl", str(beside), "deep/../../secret.cl", "./../secret.cl", "deep/..//../secret.cl"]


def test_nothing_outside_is_read(overlay: Path) -> None:
    for path in [*outside(overlay), "/etc/passwd", "", ".", "deep", "deep/", "../secret.cl\0", "secret.cl\0.cl"]:
        with pytest.raises(Error, match=r"kernel file .* does not exist; give its path below kernels/"):
            _core.kernel_source(path)


def test_nothing_outside_is_included(overlay: Path) -> None:
    for path in [*outside(overlay), "/etc/passwd"]:
        (overlay / "mine.cl").write_text(f'#include "{path}"\n')
        with pytest.raises(Error, match=r"included by mine\.cl\) does not exist"):
            _core.kernel_source("mine.cl")


def test_what_is_no_file_is_not_read(overlay: Path) -> None:
    os.mkfifo(overlay / "pipe.cl")  # its reader would wait for ever
    (overlay / "spmv").mkdir()
    (overlay / "spmv" / "basic.cl").mkdir()
    with pytest.raises(Error, match="does not exist"):
        _core.kernel_source("pipe.cl")
    assert "accumulator" in _core.kernel_source("spmv/basic.cl")  # the package's own


def test_what_is_below_is_read(overlay: Path) -> None:
    (overlay / "deep" / "a.cl").write_text('#include "b..cl"\nlast\n')
    (overlay / "b..cl").write_text("first\n")
    assert _core.kernel_source("deep/a.cl").splitlines()[-1] == "last"
    assert "first" in _core.kernel_source("deep/a.cl")


def test_a_folder_that_may_not_be_read_has_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of kernels ended by an error of the system's."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name), os.geteuid() == 0
        for below in ("gemm", "locked", "zz"):
            (folder / below).mkdir()
            (folder / below / "mine.cl").write_text("text\n")
        folder.chmod(0o755)
        (folder / "locked").chmod(0)
        monkeypatch.setenv("GPUOPT_KERNEL_DIR", name)
        if root:
            os.seteuid(65534)
        try:
            found = _core.kernel_paths()
        finally:
            if root:
                os.seteuid(0)
            (folder / "locked").chmod(0o700)
    assert {"gemm/mine.cl", "zz/mine.cl", "gemm/naive.cl"} <= {*found}
    assert "locked/mine.cl" not in found


def test_a_folder_of_kernels_that_is_not_there_is_told_at_once(
    device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder, told in (("nowhere", "there is no folder"), (".", "no folder of kernels, such as gemm/, lies in")):
        monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path / folder))
        with pytest.raises(gpuopt.Error, match=f"GPUOPT_KERNEL_DIR: {told} .*; give the folder kernels/"):
            gpuopt.gemm(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), device=device)
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(gpuopt.Error, match=r"GPUOPT_KERNEL_DIR: there is no folder .*nowhere; give"):
        gpuopt.gemm(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), device=device)
