"""Memory between protected pages: what is made there, what is told of accesses beside it, and how it is given back."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import Configuration, _core

KERNEL = """#include "gemm/include/fetch.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_naive(GEMM_ARGUMENTS STREAMS) {{
    if (get_global_id(0) + get_global_id(1) == 0) D[0] = {value};
}}
"""


def first_of(
    shape: tuple[int, int], value: str, device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> np.float32:
    """What a kernel stores that is given ones as A, of this shape, and B, of its transpose's."""
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    (tmp_path / "gemm").mkdir(exist_ok=True)
    (tmp_path / "gemm" / "naive.cl").write_text(KERNEL.format(value=value))
    a, b = (gpuopt.to_device(np.ones(each, np.float32), device) for each in (shape, shape[::-1]))
    d = _core.empty((shape[0], shape[0]), np.dtype(np.float32), device)
    levels = {"PAIRS": 0, "LOCAL_X": 16, "LOCAL_Y": 16, "TEXTURE": 0}
    _core.prepare_gemm(a, b, None, 1.0, 0.0, d, False, False, "naive", levels).run()
    return d.to_numpy()[0, 0]


def test_many_fenced_arrays_at_once(device: gpuopt.Device) -> None:
    with _core.Fences() as fences:
        arrays = [
            _core.empty((size,), np.dtype(np.uint8), device, guarded) for size in [*range(130), 4096, 100_000]
            for guarded in (False, True)
        ]  # fmt: skip
        for array in arrays:
            array.fill_bytes(7)
        assert all((array.to_numpy() == 7).all() and array.guards_intact() for array in arrays)
    assert fences.intact()


def test_images_are_filled_from_fenced_arrays(device: gpuopt.Device) -> None:
    """Of one plane and of several: PoCL 3.1 ended the process, on the copy from a part of a buffer."""
    if not device.image_support:
        pytest.skip("no images here")
    scan, volume = gt.circular(9, 60.0, 90.0, (12, 17), 2.0, curved=True), gt.Volume((7, 9, 11), 2.0)
    p = np.random.default_rng(0).normal(size=scan.shape).astype(np.float32)
    for configuration in (Configuration("naive", TEXTURE=1), Configuration("image")):
        expected = gt.back_project(p, scan, volume, "none", variant=configuration, device=device)
        with _core.Fences() as fences:
            found = gt.back_project(p, scan, volume, "none", variant=configuration, device=device)
            assert fences.intact()
        np.testing.assert_array_equal(found, expected)


def test_more_fences_than_there_are(device: gpuopt.Device) -> None:
    with _core.Fences() as fences:
        arrays = [gpuopt.to_device(np.full(9, number, np.float32), device) for number in range(1100)]
    assert all(array.to_numpy()[8] == number for number, array in enumerate(arrays))
    assert all(array.guards_intact() for array in arrays)
    assert fences.intact()


@pytest.mark.parametrize("place", ["-2000", "32 * 32", "32 * 32 + 2000000", "(1L << 33)", "(-1L << 33)", "(1L << 42)"])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_a_read_beside_an_input_is_told(
    device: gpuopt.Device, matrix: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.type != "cpu":
        pytest.skip("pages of a GPU cannot be protected from here")
    # At the end the process, its handler and the device are as they were.
    for at, inside in (("32 * 32 - 1", True), (place, False), ("0", True)):
        with _core.Fences() as fences:
            first_of((32, 32), f"{matrix}[{at}]", device, tmp_path, monkeypatch)
        assert fences.intact() == inside


def test_a_handler_that_others_took_away_is_put_back(
    device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As compilers within drivers do, at some signals: the next stray access ended the process."""
    if device.type != "cpu":
        pytest.skip("pages of a GPU cannot be protected from here")
    for _ in range(2):
        with _core.Fences() as fences:
            first_of((32, 32), "A[32 * 32]", device, tmp_path, monkeypatch)
        assert not fences.intact()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)


def test_what_lies_right_behind_an_input_shows_in_the_result(
    device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.type != "cpu":
        pytest.skip("pages of a GPU cannot be protected from here")
    for place, behind in ((32, False), (33, True)):
        with _core.Fences() as fences:
            assert np.isnan(first_of((3, 11), f"A[{place}]", device, tmp_path, monkeypatch)) == behind
        assert fences.intact()  # no page's end is there, so nothing else tells


def test_fences_are_a_threads_own_and_nest(device: gpuopt.Device) -> None:
    if device.type != "cpu":
        pytest.skip("only memory of the host is fenced")
    many = np.ones(1000, np.float32)

    def taken() -> int:
        before = device.allocated_bytes
        array = gpuopt.to_device(many, device)
        return device.allocated_bytes - before - array.nbytes

    with ThreadPoolExecutor(1) as other:
        with _core.Fences():
            with _core.Fences():
                assert taken() > 0
            assert taken() > 0
            assert other.submit(taken).result() == 0
        assert taken() == 0


def test_memory_outlives_what_is_written_to_it(device: gpuopt.Device) -> None:
    # A blocking write has read its source when it returns, but may still write to its target.
    program = (
        "import numpy as np\nimport gpuopt\nfrom gpuopt import _core\n"
        f"device = gpuopt.devices()[{device.index}]\n"
        "for number in range(3000):\n"
        "    with _core.Fences():\n"
        "        gpuopt.to_device(np.ones(1 + number % 7, np.float32), device)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_memory_is_given_back(device: gpuopt.Device) -> None:
    if device.type != "cpu":
        pytest.skip("only memory of the host is kept for what a runtime still does")
    program = (
        "import resource\nimport numpy as np\nimport gpuopt\nfrom gpuopt import _core\n"
        f"device = gpuopt.devices()[{device.index}]\n"
        "a = np.ones(12 << 20, np.float32)\n"
        "def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
        "for number in range(30):\n"
        "    gpuopt.to_device(a, device).to_numpy()\n"
        "    with _core.Fences():\n"
        "        gpuopt.to_device(a[:1 << 20], device).to_numpy()\n"
        "    if number == 3: first = most()\n"
        "print(most() - first)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 300, "MB more than at first"
