"""Plain C++ loops: compiled once, kept where nobody else may write, and refused with the compiler's own words."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from gpuopt import Error
from gpuopt.workloads.common import cpp_loops

pytestmark = pytest.mark.skipif(cpp_loops.compiler() is None, reason="no C++ compiler")

SOURCE = """extern "C" void scale(float* x, long n, float by) {
#pragma omp parallel for
    for (long i = 0; i < n; ++i) x[i] *= by;
}
"""
ARGUMENTS = (np.ctypeslib.ndpointer(np.float32, 1, flags="C_CONTIGUOUS"), ctypes.c_long, ctypes.c_float)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "native"


@pytest.mark.parametrize("flags", [cpp_loops.SERIAL, cpp_loops.THREADED])
def test_a_loop_is_compiled_once_and_privately(own_cache: Path, flags: tuple[str, ...]) -> None:
    source = f"// {own_cache}\n{SOURCE}"  # another program each time: libraries stay in the process
    x = np.arange(5, dtype=np.float32)
    cpp_loops.function(source, "scale", ARGUMENTS, flags, "scale")(x, 5, 3)
    assert x.tolist() == [0, 3, 6, 9, 12]
    (made,) = own_cache.iterdir()
    assert made.name.startswith("scale-")
    assert own_cache.stat().st_mode & 0o777 == 0o700
    before = made.stat().st_mtime_ns
    cpp_loops.library.cache_clear()
    cpp_loops.function(source, "scale", ARGUMENTS, flags, "scale")(x, 5, 0.5)
    assert x.tolist() == [0, 1.5, 3, 4.5, 6]
    assert [path.stat().st_mtime_ns for path in own_cache.iterdir()] == [before]
    assert float(np.float64(1e-310) * 0.5) > 0  # denormals live on


def test_arrays_are_checked(own_cache: Path) -> None:
    scale = cpp_loops.function(SOURCE, "scale", ARGUMENTS)
    with pytest.raises(ctypes.ArgumentError):
        scale(np.zeros(3), 3, 1)
    with pytest.raises(ctypes.ArgumentError):
        scale(np.zeros(6, np.float32)[::2], 3, 1)


def test_what_cannot_be_compiled_is_told(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Error, match=r"cannot compile broken\.cpp: .*error"):
        cpp_loops.function("int main(", "main", (), name="broken")
    assert list(own_cache.iterdir()) == []
    monkeypatch.setattr(cpp_loops, "compiler", lambda: None)
    with pytest.raises(Error, match="there is no C\\+\\+ compiler"):
        cpp_loops.function("// nothing", "main", ())


def test_without_a_folder_of_its_own_each_process_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "a file, no folder"
    blocked.write_text("")
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(blocked))
    x = np.ones(3, np.float32)
    with pytest.warns(UserWarning, match="are not kept: .*Not a directory; set GPUOPT_CACHE_DIR"):
        cpp_loops.function(f"// {tmp_path}\n{SOURCE}", "scale", ARGUMENTS)(x, 3, 2)
    assert x.tolist() == [2, 2, 2]


def test_what_a_row_says_of_the_compiler() -> None:
    assert cpp_loops.described(cpp_loops.SERIAL).endswith("-O3 -march=native")
    assert cpp_loops.described(cpp_loops.THREADED).endswith(" threads")


def test_a_kept_library_that_is_not_whole_is_compiled_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, keep = f"// {own_cache}\n{SOURCE}", cpp_loops._keep
    with monkeypatch.context() as torn:
        torn.setattr(cpp_loops, "_keep", lambda folder, file, content: keep(folder, file, b""))
        with pytest.raises(OSError, match="file too short"):
            cpp_loops.function(source, "scale", ARGUMENTS)
    (made,) = own_cache.iterdir()
    x = np.ones(3, np.float32)
    cpp_loops.function(source, "scale", ARGUMENTS)(x, 3, 2)
    assert x.tolist() == [2, 2, 2]
    assert made.stat().st_size > 0
