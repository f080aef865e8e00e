"""The program cache on disk: right under two processes, and worth nothing rather than wrong when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuopt

CODE = """
import gpuopt, numpy as np
from gpuopt.workloads.spmv.operation import prepare_spmv
d = gpuopt.devices()[{index}]
M = gpuopt.DiaMatrix((np.ones((1, 64), np.float32), np.array([0])), (64, 64), device=d)
out = gpuopt.to_device(np.zeros(64, np.float32), d)
plan = prepare_spmv(M, gpuopt.to_device(np.ones(64, np.float32), d), out, "padded")
plan.run()
assert (out.to_numpy() == 1).all()
print(all(k["from_disk"] for k in plan.kernels))
"""


def start(device: gpuopt.Device, cache: Path, late: str = "", **more: str) -> subprocess.Popen[str]:
    environment = os.environ | {"GPUOPT_CACHE_DIR": str(cache)} | more
    code = f"import os, gpuopt\ngpuopt.devices()\n{late}" + CODE.format(index=device.index)
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.strip()


def test_two_processes_at_once_then_a_third(device: gpuopt.Device, tmp_path: Path) -> None:
    for process in [start(device, tmp_path), start(device, tmp_path)]:
        finish(process)
    files = sorted((tmp_path / "programs").iterdir())
    assert files
    assert all(file.suffix == ".bin" for file in files)
    assert finish(start(device, tmp_path)) == "True"


@pytest.mark.parametrize("name", ["CL_CONFIG_CPU_VECTORIZER_MODE", "POCL_WORK_GROUP_METHOD", "CUDA_FORCE_PTX_JIT"])
def test_programs_of_another_setting_of_the_compiler_are_not_taken(
    device: gpuopt.Device, tmp_path: Path, name: str
) -> None:
    """Intel's compiler makes other vectors: a program of theirs ran ten times slower in all later processes."""
    setting = {name: "loopvec" if name.startswith("POCL") else "1"}
    assert [finish(start(device, tmp_path, **setting)) for _ in range(2)] == ["False", "True"]
    assert [finish(start(device, tmp_path)) for _ in range(2)] == ["False", "True"]
    late = f"os.environ[{name!r}] = {setting[name]!r}"  # some compilers read theirs whenever they compile
    assert [finish(start(device, tmp_path, late)) for _ in range(2)] == ["False", "True"]
    cuda = {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0")}
    assert finish(start(device, tmp_path, **cuda)) == "True"


def test_a_damaged_entry_is_built_again(device: gpuopt.Device, tmp_path: Path) -> None:
    finish(start(device, tmp_path))
    files = sorted((tmp_path / "programs").iterdir())
    sizes = [file.stat().st_size for file in files]
    for number, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes([b"", content[: len(content) // 2], content[:-1] + b"?"][number % 3])
    assert finish(start(device, tmp_path)) == "False"
    assert [file.stat().st_size for file in files] == sizes


def test_a_cache_that_cannot_be_written_costs_only_time(device: gpuopt.Device, tmp_path: Path) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    assert finish(start(device, blocked)) == "False"


def test_sha256_is_hashlibs() -> None:
    import hashlib

    for length in (0, 1, 55, 56, 63, 64, 65, 1000):
        data = bytes(range(256)) * 4
        assert gpuopt._core.sha256(data[:length]) == hashlib.sha256(data[:length]).hexdigest()
