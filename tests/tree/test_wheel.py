"""The wheel that `./dev wheel` wrote into dist/ for this interpreter: its size, what lies inside, a first result."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

BYTES = 5_000_000
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
FIRST = """
import numpy, gpuopt
assert "site-packages" in gpuopt.__file__, gpuopt.__file__
A = numpy.arange(16, dtype=numpy.float32).reshape(4, 4)
numpy.testing.assert_array_equal(gpuopt.gemm(A, A), A @ A)
print(gpuopt.__version__)
"""


@pytest.fixture
def wheel(root: Path) -> Path:
    """The newest wheel of this interpreter; without one the test is left out, since to build it takes minutes."""
    found = sorted((root / "dist").glob(f"gpuopt-*-{TAG}-{TAG}-*.whl"), key=os.path.getmtime)
    if not found:
        pytest.skip(f"no wheel of {TAG} in dist/: ./dev wheel {sys.executable} writes it")
    return found[-1]


@pytest.mark.whole  # makes an environment and installs into it
def test_a_wheel_is_small_whole_and_right(wheel: Path, tmp_path: Path) -> None:
    assert wheel.stat().st_size < BYTES
    assert "manylinux" in wheel.name, "auditwheel has not seen it"
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
    assert any("/libOpenCL" in name for name in names), "the OpenCL loader is missing"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    needed = tmp_path / "needed"  # NumPy as it is installed here, and nothing else
    needed.mkdir()
    for found in Path(np.__file__).parents[1].glob("numpy*"):
        (needed / found.name).symlink_to(found)
    python = tmp_path / "env/bin/python"
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--force-reinstall", wheel]
    subprocess.run(install, check=True, cwd=tmp_path)
    kept = {name: value for name, value in os.environ.items() if name != "GPUOPT_KERNEL_DIR"}
    kept["PYTHONPATH"] = str(needed)
    ended = subprocess.run([python, "-c", FIRST], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
