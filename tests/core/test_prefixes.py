"""Which folders are searched for OpenCL runtimes, on made-up installations of Python."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

from gpuopt.prefixes import VENDORS, search_prefixes

LIBRARY = "libintelocl.so"


def installed(prefix: Path, library: str = LIBRARY, there: bool = True) -> Path:
    """A prefix with a runtime in it, as Intel's wheel lays it out; the folder of its packages."""
    (prefix / VENDORS).mkdir(parents=True, exist_ok=True)
    (prefix / VENDORS / f"{library}.icd").write_text(f"/opt/of/its/maker/lib/{library}\n")
    (prefix / "lib").mkdir(exist_ok=True)
    if there:
        (prefix / "lib" / library).write_bytes(b"")
    packages = prefix / "lib" / "python3" / "site-packages"
    information = packages / "intel_opencl_rt-2026.1.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    files = [f"../../../{VENDORS.as_posix()}/{library}.icd,sha256=x,52", f"../../{library},,", "RECORD,,", ""]
    (information / "RECORD").write_text("\n".join(files))
    return packages


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The places of a Python in a virtual environment, all of them empty."""
    places = {name: tmp_path / name for name in ("environment", "user", "base", "other")}
    for place in places.values():
        place.mkdir()
    monkeypatch.setattr(sys, "prefix", str(places["environment"]))
    monkeypatch.setattr(sys, "base_prefix", str(places["base"]))
    monkeypatch.setattr(site, "USER_BASE", str(places["user"]))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "absent"), __file__])
    return places


def searched(python: dict[str, Path]) -> list[str]:
    names = {str(place): name for name, place in python.items()}
    return [names.get(place, place) for place in search_prefixes()]


def test_the_environment_comes_first_then_what_it_stands_on(python: dict[str, Path]) -> None:
    assert searched(python) == ["environment", "user", "base"]


def test_a_runtime_below_the_environment_is_searched(python: dict[str, Path]) -> None:
    installed(python["base"])
    assert searched(python) == ["environment", "user", "base"]


def test_the_environments_own_runtime_hides_another_of_its_name(python: dict[str, Path]) -> None:
    for name in ("environment", "base"):
        installed(python[name])
    assert searched(python) == ["environment", "user"]
    installed(python["base"], "libpocl.so")
    assert searched(python) == ["environment", "user", "base"]


def test_a_runtime_whose_library_is_gone_hides_none(python: dict[str, Path]) -> None:
    installed(python["environment"], there=False)
    installed(python["base"])
    assert searched(python) == ["environment", "user", "base"]


def test_a_wheel_that_a_pth_file_links_says_where_its_runtime_is(
    python: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = installed(python["other"])
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    assert searched(python) == ["environment", "user", "base", "other", str(packages)]
    installed(python["base"])
    assert searched(python) == ["environment", "user", "base", str(packages)]


def test_a_folder_of_packages_alone_is_searched_itself(
    python: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = python["other"]  # of pip install --target, which leaves the paths in RECORD as they were elsewhere
    packages = installed(target)
    (packages / "intel_opencl_rt-2026.1.dist-info").rename(target / "intel_opencl_rt-2026.1.dist-info")
    monkeypatch.setattr(sys, "path", [str(target)])
    assert searched(python)[-1] == "other"


def test_one_prefix_by_two_names_is_searched_once(python: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    link = python["other"] / "link"
    link.symlink_to(python["environment"])
    monkeypatch.setattr(sys, "base_prefix", str(link))
    monkeypatch.setattr(site, "USER_BASE", None)
    assert searched(python) == ["environment"]


@pytest.mark.parametrize("record", [b"", b"\xff\xfe", b'"\n', b"a.icd,,\n", b"../../x.icd,,\n\n,\n", b"\0,\n"])
def test_broken_metadata_are_passed_over(
    python: dict[str, Path], monkeypatch: pytest.MonkeyPatch, record: bytes
) -> None:
    packages = installed(python["other"])
    (packages / "intel_opencl_rt-2026.1.dist-info" / "RECORD").write_bytes(record)
    monkeypatch.setattr(sys, "path", [str(packages)])
    assert set(searched(python)) <= {"environment", "user", "base", str(packages)}


def test_a_home_whose_name_is_too_long_has_no_runtime(python: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "USER_BASE", "x" * 5000)
    assert searched(python)[::2] == ["environment", "base"]


@pytest.mark.parametrize("home", [b"/\xff\xfe", b"x" * 5000])
def test_any_home_can_import(home: bytes) -> None:
    run = [sys.executable, "-c", "import gpuopt; gpuopt.devices()"]
    environment = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    assert subprocess.run(run, env=environment | {b"HOME": home}, timeout=60).returncode == 0
