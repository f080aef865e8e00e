"""Modules beside FILE.py: each file has those of its own folder, and a command leaves none behind."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from gpuopt import cli, programs  # noqa: E402

KERNEL = (
    "from gpuopt import lab\n"
    "k = lab.Kernel('kernel void k(global int* y) { }', name, "
    "arguments=[lab.output('y', 'n', dtype='int32')], stages=[lab.stage('k', 'y', lab.launch(items='n'))])\n"
)
OBJECT = (
    "import sys\nclass Config(dict):\n    __getattr__ = dict.__getitem__\nsys.modules[__name__] = Config(name={!r})\n"
)


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def _name(file: Path) -> str:
    """Of the file's kernel, which a module beside it tells."""
    before = set(sys.modules)
    with programs.opened(file) as (found, _):
        (kernel,) = found.values()
    left = {name for name in set(sys.modules) - before if name.startswith("beside")}
    assert not left
    return kernel.name


def test_each_file_has_the_modules_of_its_own_folder(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        _write(tmp_path / folder / "beside.py", f"name = {folder!r}\n")
        assert _name(_write(tmp_path / folder / "k.py", f"from beside import name\n{KERNEL}")) == folder


def test_a_link_beside_a_file_is_its_own_module(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        shared = _write(tmp_path / "shared" / f"{folder}.py", f"name = {folder!r}\n")
        file = _write(tmp_path / folder / "k.py", f"from beside import name\n{KERNEL}")
        (tmp_path / folder / "beside.py").symlink_to(shared)
        assert _name(file) == folder


@pytest.mark.parametrize("init", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_packages_beside_a_file_are_its_own(tmp_path: Path, init: tuple[bool, bool]) -> None:
    for folder, regular in zip(("a", "b"), init, strict=True):
        _write(tmp_path / folder / "besides" / "deep" / "inner.py", f"name = {folder!r}\n")
        if regular:
            for package in ("besides", "besides/deep"):
                _write(tmp_path / folder / package / "__init__.py", "")
        assert _name(_write(tmp_path / folder / "k.py", f"from besides.deep.inner import name\n{KERNEL}")) == folder


def test_an_object_in_the_place_of_a_module_is_the_files_own(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        _write(tmp_path / folder / "beside.py", OBJECT.format(folder))
        file = _write(tmp_path / folder / "k.py", f"import beside\nname = beside.name\n{KERNEL}")
        assert _name(file) == folder


def test_a_folder_below_that_the_file_searches_is_its_own(tmp_path: Path) -> None:
    adding = (
        "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), 'source'))\nsys.path.append(b'x')\n"
    )
    for folder in ("a", "b"):
        _write(tmp_path / folder / "source" / "beside.py", f"name = {folder!r}\n")
        file = _write(tmp_path / folder / "k.py", f"{adding}from beside import name\n{KERNEL}")
        assert _name(file) == folder


def test_modules_from_elsewhere_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an environment below the file's folder, and those that a plain folder beside it only seems to be."""
    _write(tmp_path / "lib" / "python3" / "of_an_environment.py", "kind = object()\n")
    monkeypatch.syspath_prepend(tmp_path / "lib" / "python3")
    _write(tmp_path / "of_an_environment" / "data.txt", "")
    file = _write(tmp_path / "k.py", f"import of_an_environment\nname = 'k'\n{KERNEL}")
    assert _name(file) == "k"
    one = sys.modules["of_an_environment"]
    assert _name(file) == "k"
    assert sys.modules.pop("of_an_environment") is one


def test_a_module_that_was_imported_before_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "my_helpers.py", "name = 'k'\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = __import__("my_helpers")
    assert _name(_write(tmp_path / "k.py", f"from my_helpers import name\n{KERNEL}")) == "k"
    assert sys.modules.pop("my_helpers") is before


def test_a_module_that_tells_nothing_of_itself_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the directory and the variables are as they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUOPT_CACHE_DIR", "cache")
    odd = (
        "import os, sys, types\nos.makedirs('gone')\nos.chdir('gone')\nos.rmdir('../gone')\n"
        "class Refuses(types.ModuleType):\n    def __getattribute__(self, name):\n        raise ImportError(name)\n"
        "sys.modules['odd_refuses'] = Refuses('odd_refuses')\n"
        "sys.modules['odd_file'] = odd = types.ModuleType('odd_file')\nodd.__file__ = 'a\\0b'\nname = 'k'\n"
    )
    assert _name(_write(tmp_path / "k.py", odd + KERNEL)) == "k"
    assert {sys.modules.pop(name) is None for name in ("odd_refuses", "odd_file")} == {False}
    assert (os.environ["GPUOPT_CACHE_DIR"], Path.cwd()) == ("cache", tmp_path)


@pytest.mark.parametrize("command", ["study --csv", "study --json", "isa --out"])
@pytest.mark.parametrize("name", ["beside.py", "besides/inner.py", "besides/deep.py", "renamed.py"])
def test_a_file_over_a_module_that_the_file_reads_is_refused(tmp_path: Path, command: str, name: str) -> None:
    _write(tmp_path / "beside.py", OBJECT.format("k"))
    _write(tmp_path / "besides" / "__init__.py", "from besides import inner\n")
    _write(tmp_path / "besides" / "inner.py", "import besides.deep\n")
    _write(tmp_path / "besides" / "deep.py", "")
    (tmp_path / "renamed.py").symlink_to(tmp_path / "besides" / "deep.py")
    file = _write(tmp_path / "k.py", f"import beside, besides\nname = beside.name\n{KERNEL}")
    target = tmp_path / name
    held, (word, option) = target.read_text(), command.split()
    result = CliRunner().invoke(cli.app, [word, str(file), "n=8", option, str(target)])
    assert result.exit_code == 2, result.output
    assert f"{name} is what is studied; name another file" in " ".join(result.output.split())
    assert target.read_text() == held


def test_threads_open_files_one_at_a_time(tmp_path: Path) -> None:
    _write(tmp_path / "beside.py", "import time\ntime.sleep(0.002)\nname = 'k'\n")
    file = _write(tmp_path / "k.py", f"from beside import name\n{KERNEL}")
    named: list[str] = []

    def several() -> None:
        for _ in range(20):
            with programs.opened(file) as (found, _here):
                named.extend(kernel.name for kernel in found.values())

    threads = [threading.Thread(target=several) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert named == ["k"] * 60
