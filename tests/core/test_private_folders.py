"""What another user may have left where the cache lies: it is neither run nor believed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import gpuopt
from gpuopt.workloads.common import cpp_loops
from made_up import BUILD, told

NO_HOME = {"HOME": "", "XDG_CACHE_HOME": "", "GPUOPT_CACHE_DIR": ""}
FROM_DISK = BUILD + "print(build(64).kernels[0]['from_disk'])\nprint(gpuopt._core.cache_dir())"
LOOP = """
import ctypes, numpy as np, gpuopt
from gpuopt.workloads.common import cpp_loops
x = np.ones(3, np.float32)
vector = np.ctypeslib.ndpointer(np.float32, 1, flags="C_CONTIGUOUS")
source = 'extern "C" void three(float* x) { x[0] = 3; }'
cpp_loops.function(source, "three", (vector,), ("-O1",), "three")(x)
print(x[0])
print(*{line.split()[-1] for line in open("/proc/self/maps") if "three-" in line or "three.so" in line})
print(gpuopt._core.cache_dir())
"""


@pytest.fixture
def homeless(tmp_path: Path) -> dict[str, str]:
    """A process without a home, whose temporary files lie in this test's folder."""
    (tmp_path / "t").mkdir()
    return NO_HOME | {"TMPDIR": str(tmp_path / "t"), "POCL_CACHE_DIR": str(tmp_path / "pocl")}


def everything(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_without_a_home_the_cache_is_this_users_own(device: gpuopt.Device, homeless: dict[str, str]) -> None:
    code = FROM_DISK.format(index=device.index)
    first, folder = told(code, **homeless)
    assert (first, told(code, **homeless)[0]) == ("False", "True")
    assert folder.endswith(f"-{os.geteuid()}")
    for path in (Path(folder), Path(folder) / "programs"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_another_users_folder_among_temporary_files_is_not_used(
    any_device: gpuopt.Device, homeless: dict[str, str], built: Path
) -> None:
    code = FROM_DISK.format(index=any_device.index)
    stranger = homeless | {"LD_PRELOAD": str(built / "owner.so")}
    theirs = Path(told(code, **homeless)[1])
    ours = Path(told("import gpuopt; print(gpuopt._core.cache_dir())", **stranger)[0])
    if ours != theirs:
        theirs.rename(ours)  # whoever was first may have made any folder
    before = everything(ours)
    assert any(name.endswith(".bin") for name in before)
    assert told(code, **stranger)[0] == "False"
    assert everything(ours) == before


@pytest.mark.parametrize("what", ["link", "open"])
def test_a_link_or_an_open_folder_among_temporary_files_is_not_used(
    any_device: gpuopt.Device, homeless: dict[str, str], tmp_path: Path, what: str
) -> None:
    code = FROM_DISK.format(index=any_device.index)
    folder = Path(told(code, **homeless)[1])
    if what == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.chmod(0o777)
    before = everything(tmp_path / "t"), everything(tmp_path / "elsewhere")
    assert told(code, **homeless)[0] == "False"
    assert (everything(tmp_path / "t"), everything(tmp_path / "elsewhere")) == before


@pytest.mark.parametrize("what", ["another's", "link", "writable file"])
def test_programs_that_may_be_anybodys_are_built_again(
    any_device: gpuopt.Device, tmp_path: Path, built: Path, what: str
) -> None:
    code, own = FROM_DISK.format(index=any_device.index), {"GPUOPT_CACHE_DIR": str(tmp_path / "cache")}
    assert [told(code, **own)[0] for _ in range(2)] == ["False", "True"]
    programs = tmp_path / "cache" / "programs"
    if what == "another's":
        own |= {"LD_PRELOAD": str(built / "owner.so")}
    elif what == "link":
        programs.rename(tmp_path / "elsewhere")
        programs.symlink_to(tmp_path / "elsewhere")
    else:
        for file in programs.iterdir():
            file.chmod(0o666)
    assert told(code, **own)[0] == "False"


def test_a_folder_that_was_open_is_closed(any_device: gpuopt.Device, tmp_path: Path) -> None:
    code, own = FROM_DISK.format(index=any_device.index), {"GPUOPT_CACHE_DIR": str(tmp_path / "cache")}
    told(code, **own)
    (tmp_path / "cache" / "programs").chmod(0o777)
    assert told(code, **own)[0] == "True"  # its files are this user's alone all the same
    assert stat.S_IMODE((tmp_path / "cache" / "programs").stat().st_mode) == 0o700


@pytest.mark.skipif(cpp_loops.compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("what", ["another's", "link", "writable file", "linked file"])
def test_loops_that_may_be_anybodys_are_compiled_again(tmp_path: Path, built: Path, what: str) -> None:
    own = {"GPUOPT_CACHE_DIR": str(tmp_path / "cache")}
    value, first, _ = told(LOOP, **own)
    assert (value, Path(first).parent) == ("3.0", tmp_path / "cache" / "native")
    assert told(LOOP, **own)[1] == first
    native, elsewhere = tmp_path / "cache" / "native", tmp_path / "elsewhere"
    before = Path(first).stat().st_ino
    if what == "another's":
        own |= {"LD_PRELOAD": str(built / "owner.so")}
    elif what == "link":
        native.rename(elsewhere)
        native.symlink_to(elsewhere)
    elif what == "writable file":
        Path(first).chmod(0o777)
    else:
        elsewhere.mkdir()
        Path(first).symlink_to(Path(first).rename(elsewhere / "three-.so"))
    value, loaded, _ = told(LOOP, **own)
    assert value == "3.0"
    assert "elsewhere" not in loaded
    if what in ("another's", "link"):
        assert "cache/native" not in loaded
    else:
        assert Path(first).stat(follow_symlinks=False).st_ino != before
