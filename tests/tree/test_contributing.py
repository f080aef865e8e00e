"""CONTRIBUTING's recipe for a workload, followed to the letter in a copy of the tree: three rooms and one line are a
workload with a study, tests, a table and a picture."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt.lab.report import Study
from gpuopt.lab.rows.store import Store
from gpuopt.workloads.tmv.peers import peers as tmv_peers

BLOCK = re.compile(r"^( *)```\w+\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([\w/.]+\.\w+)`")
ROOM = "python/gpuopt/workloads/axpy/"
STUBS = "python/gpuopt/_core.pyi"  # for mypy alone
# Python run on the copy: the finder of an editable installation would lead to this tree instead.
ON_THE_COPY = """
import runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
sys.path[:0] = [sys.argv[1] + "/python", sys.argv[1] + "/tests"]
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


# A product by `naive`, whose arguments and launch the recipe's kernel has.
PRODUCT = """
import sys
import numpy as np
import gpuopt
for rows, cols in ((1, 1), (37, 129), (130, 64)):
    A, v = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols) % 7, np.arange(rows, dtype=np.float32) % 5
    np.testing.assert_array_equal(gpuopt.tmv(A, v, variant="naive", device=int(sys.argv[1])), A.T @ v)
"""


def recipe(root: Path) -> dict[str, str]:
    """The files of the recipe, and what goes into each."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("\n## Add a workload") : text.index("\n## Add a peer")]
    files: dict[str, str] = {}
    place = 0
    for block in BLOCK.finditer(section):
        path = NAMED.findall(section[place : block.start()])[-1]
        path = path if "/" in path else ROOM + path
        files[path] = textwrap.dedent(block[2])
        place = block.end()
    return files


def built_core(root: Path) -> Path:
    """The folder in which the core of this tree was built last."""
    found = [path for path in (root / "build").glob("*/CMakeFiles/_core.dir") if path.parents[1].name != "asan"]
    found.sort(key=lambda path: path.stat().st_mtime)
    if not found:
        assert "CI" not in os.environ, "no build of the core to start from"
        pytest.skip("no build of the core lies in build/: this test links its objects")
    return found[-1].parents[1]


def run(command: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def link_core(root: Path, copy: Path) -> None:
    """The core of the copy: what knows the list of workloads and the new rooms compiled, all else as it was built."""
    build, objects = built_core(root), copy / "objects"
    objects.mkdir()
    commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
    like = next(entry for name, entry in commands.items() if name.endswith("src/workloads/workload.cpp"))
    names = "|".join(sorted(path.relative_to(copy / "kernels").as_posix() for path in (copy / "kernels").rglob("*.cl")))
    embedded = copy / "embedded_kernels.cpp"
    given = (f"-DROOT={copy / 'kernels'}", f"-DNAMES={names}", f"-DOUTPUT={embedded}")
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert cmake, "no cmake beside Python or on the path"
    run([cmake, *given, "-P", str(copy / "cmake" / "embed_kernels.cmake")], copy)
    axpy = sorted((copy / "src" / "workloads" / "axpy").glob("*.cpp"))
    fresh = [copy / "src/workloads/workload.cpp", copy / "src/bindings/module.cpp", embedded, *axpy]
    words = shlex.split(like["command"])
    words = [word.replace(str(root / "src"), str(copy / "src")) for word in words[: words.index("-o")]]
    for source in fresh:
        compiled = objects / f"{source.parent.name}-{source.stem}.o"
        run([*words, "-O0", "-o", str(compiled), "-c", str(source)], Path(like["directory"]))
    replaced = {f"{source.parent.name}/{source.name}.o" for source in fresh} | {"embedded_kernels.cpp.o"}
    kept = [
        path
        for path in (build / "CMakeFiles" / "_core.dir").rglob("*.o")
        if f"{path.parent.name}/{path.name}" not in replaced and path.name not in replaced
    ]
    library = copy / "python" / "gpuopt" / Path(gpuopt._core.__file__).name
    parts = map(str, [*kept, *objects.glob("*.o")])
    run([words[0], "-shared", "-o", str(library), *parts, "-lOpenCL"], copy)


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the recipe's files, and its core."""
    folder = tmp_path_factory.mktemp("axpy")
    unwanted = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("src", "kernels", "cmake", "python", "tests"):
        shutil.copytree(root / name, folder / name, ignore=unwanted)
    shutil.copy(root / "pyproject.toml", folder)
    for path, text in recipe(root).items():
        target = folder / path
        if path.endswith("registry.def"):
            before = target.read_text(encoding="utf-8")
            text = before.replace("#undef WORKLOAD", f"{text}#undef WORKLOAD")
            assert text != before
        elif path == STUBS:
            text = target.read_text(encoding="utf-8") + text
        else:
            assert not target.exists(), f"{path} is no file of a new room"
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    link_core(root, folder)
    return folder


def python(copy: Path, *arguments: str) -> str:
    return run([sys.executable, "-c", ON_THE_COPY, str(copy), *arguments], copy, PYTHONDONTWRITEBYTECODE="1")


def test_a_workload_is_its_rooms_and_two_lines_at_most(root: Path) -> None:
    files = recipe(root)
    rooms = ("kernels/axpy/", "src/workloads/axpy/", ROOM, "tests/workloads/axpy/")
    elsewhere = {path: text for path, text in files.items() if not path.startswith(rooms) and path != STUBS}
    assert {path for path in files if path.startswith(ROOM)} >= {f"{ROOM}problem.py", f"{ROOM}study.py"}
    assert sum(len(text.splitlines()) for text in elsewhere.values()) <= 2, elsewhere


@pytest.mark.whole
def test_it_has_a_study_with_its_table_and_picture(copy: Path, any_device: gpuopt.Device) -> None:
    asked = ["study", "axpy", "4099", "--quick", "--device", str(any_device.index), "--out", str(copy / "out")]
    table = python(copy, "gpuopt", *asked)
    assert re.search(r"^ *elements(?: \*)? +\d[\d.]* ", table, re.MULTILINE)
    assert "axpy(a, x, y)" in table
    rows = (copy / "out" / "rows.jsonl").read_text(encoding="utf-8")
    assert '"workload":"axpy"' in rows
    assert '"status":"wrong"' not in rows
    assert (copy / "out" / "ladder.png").read_bytes().startswith(b"\x89PNG")


def test_its_tests_pass(copy: Path) -> None:
    told = python(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/workloads", "-k", "axpy")
    assert re.search(r"^\d{2,} passed", told.splitlines()[-1]), told


def test_the_row_of_a_variant_is_of_words_that_the_table_has(root: Path) -> None:
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("\n## Add a variant") : text.index("\n## Add a parameter")]
    (row,) = [block[2] for block in BLOCK.finditer(section) if ".summary" in block[2]]
    table = "".join(path.read_text(encoding="utf-8") for path in (root / "src/workloads/tmv").glob("*.?pp"))
    assert set(re.findall(r"\w+", re.sub(r'".*?"', "", row))) <= set(re.findall(r"\w+", table))


def test_the_kernels_of_a_variant_and_of_a_parameter_are_right(
    root: Path, tmp_path: Path, any_device: gpuopt.Device
) -> None:
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("\n## Add a variant") : text.index("\n## Add a workload")]
    blocks = [textwrap.dedent(block[2]) for block in BLOCK.finditer(section)]
    (kernel,), (unrolled,) = ([each for each in blocks if sign in each] for sign in ("#include", "#pragma unroll"))
    (plain,) = [line for line in kernel.splitlines(keepends=True) if line.lstrip().startswith("for (")]
    shutil.copytree(root / "kernels", tmp_path / "kernels")
    for each in (kernel, f"#define UNROLL 4\n{kernel.replace(plain, unrolled)}"):
        naive = each.replace("tmv_unstaged", "tmv_naive")
        assert naive != each
        (tmp_path / "kernels" / "tmv" / "naive.cl").write_text(naive, encoding="utf-8")
        command = [sys.executable, "-c", PRODUCT, str(any_device.index)]
        run(command, tmp_path, GPUOPT_KERNEL_DIR=str(tmp_path / "kernels"))
    stale = kernel.replace("tmv_unstaged(TMV_KERNEL_ARGUMENTS)", "tmv_naive(TMV_ARGUMENTS)").replace("TMV_BEGIN;", "")
    (tmp_path / "kernels" / "tmv" / "naive.cl").write_text(stale, encoding="utf-8")
    with pytest.raises(AssertionError, match="argument 7, from 0, of tmv_naive, which takes 7"):
        run(command, tmp_path, GPUOPT_KERNEL_DIR=str(tmp_path / "kernels"))


def blocks_of(root: Path, first: str, last: str | None = None) -> list[str]:
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index(f"\n## {first}") : text.index(f"\n## {last}") if last else len(text)]
    return [textwrap.dedent(block[2]) for block in BLOCK.finditer(section)]


def test_the_peers_of_the_recipe_are_found(root: Path, any_device: gpuopt.Device) -> None:
    (module,) = blocks_of(root, "Add a peer", "Add a picture")
    made: dict[str, Any] = {}
    exec(compile(module, "peers.py", "exec"), made)
    names = [peer.name for peer in made["peers"](any_device, [])]
    assert ("NumPy einsum" in names) == (any_device.type == "cpu")
    assert {peer.name for peer in tmv_peers(any_device, [])} <= set(names)


def test_the_picture_of_the_recipe_is_drawn(root: Path, tmp_path: Path) -> None:
    function, named = blocks_of(root, "Add a picture")
    module = (root / "python/gpuopt/workloads/tmv/pictures.py").read_text(encoding="utf-8")
    (line,) = [line for line in module.splitlines(keepends=True) if line.startswith("    drawn = ")]
    made: dict[str, Any] = {"__name__": "pictures"}
    exec(compile(module.replace(line, textwrap.indent(named, "    ")) + "\n\n" + function, "pictures.py", "exec"), made)
    rows = Store(root / "results" / "h200" / "tmv" / "rows.jsonl").rows()
    written = made["save"](Study(rows), tmp_path)
    assert {"gains.png", "errors.png"} <= {path.name for path in written}
