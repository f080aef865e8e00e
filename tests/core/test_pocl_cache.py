"""PoCL ends a process that it cannot compile for: a full disk is an error before that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpuopt
from gpuopt import pocl

PRODUCT = f"""
import numpy as np, gpuopt
try:
    gpuopt.gemm(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32), device={pocl.PLATFORM!r})
except gpuopt.Error as error:
    print(error)
"""


def test_a_full_disk_is_an_error_that_names_the_cache(tmp_path: Path) -> None:
    if not any(device.platform == pocl.PLATFORM for device in gpuopt.devices()):
        pytest.skip("PoCL is not installed")
    small = tmp_path / "small"
    small.mkdir()
    apart = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"']
    if shutil.which("unshare") is None or subprocess.run([*apart, str(small), "true"], capture_output=True).returncode:
        pytest.skip("this user mounts nothing")
    environment = {**os.environ, "POCL_CACHE_DIR": str(small), "GPUOPT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [*apart, str(small), sys.executable, "-c", PRODUCT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"PoCL's cache {small} has " in done.stdout
    assert "set POCL_CACHE_DIR" in done.stdout
