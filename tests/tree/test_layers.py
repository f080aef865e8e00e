"""Data flows one way: a lower layer never includes a higher one. Python's contracts are import-linter's."""

from __future__ import annotations

import ast
import re
from pathlib import Path

INCLUDE = re.compile(r'#include\s+[<"]([^>"]+)[>"]')


def sources(folder: Path, *suffixes: str) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.suffix in suffixes]
    assert found, folder
    return found


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def references(package: Path) -> list[Path]:
    """The oracles: a module or a package ``reference`` in each workload's room."""
    rooms = package / "workloads"
    found = [*rooms.glob("*/reference.py"), *rooms.glob("*/reference/*.py")]
    assert len({path.relative_to(rooms).parts[0] for path in found}) >= 6
    return sorted(found)


def test_the_runtime_knows_no_workload_and_no_python(root: Path) -> None:
    for path in sources(root / "src" / "runtime", ".cpp", ".hpp"):
        assert not [name for name in includes(path) if name.startswith(("workloads/", "bindings/", "pybind11"))], path


def test_workloads_know_python_in_their_bind_files_only(root: Path) -> None:
    for path in sources(root / "src" / "workloads", ".cpp", ".hpp"):
        if not path.name.startswith("bind"):
            assert not [name for name in includes(path) if name.startswith(("bindings/", "pybind11"))], path


def test_clhpp_is_included_once(root: Path) -> None:
    direct = [p for p in sources(root / "src", ".cpp", ".hpp") if any(n.startswith("CL/") for n in includes(p))]
    assert [path.name for path in direct] == ["opencl.hpp"]


def test_kernels_include_what_is_theirs_or_common(root: Path) -> None:
    """A workload's kernels include its own files and common ones; a common file serves two workloads at least, or
    is run by the runtime."""
    kernels = root / "kernels"
    served: dict[str, set[str]] = {
        path.relative_to(kernels).as_posix(): set() for path in sources(kernels / "common", ".cl")
    }
    for path in sources(kernels, ".cl"):
        workload = path.relative_to(kernels).parts[0]
        for name in includes(path):
            assert name.startswith((f"{workload}/include/", "common/")), path
            if workload != "common" and name in served:
                served[name].add(workload)
    runtime = "".join(path.read_text() for path in sources(root / "src" / "runtime", ".cpp"))
    assert all(len(workloads) > 1 or f'"{name}"' in runtime for name, workloads in served.items()), served


def test_operations_do_not_reach_into_the_lab(root: Path) -> None:
    package = root / "python" / "gpuopt"
    operations = sorted(package.glob("workloads/*/operation.py"))
    assert len(operations) >= 4
    others = [package / name for name in ("workloads/spmv/matrix.py", "configuration.py", "selection.py")]
    for path in [*operations, *others, *references(package)]:
        assert not [name for name in imports(path) if name.startswith(("gpuopt.lab", "gpuopt.problems"))], path


def test_reference_is_numpy_alone(root: Path) -> None:
    for path in references(root / "python" / "gpuopt"):
        outside = {name.split(".")[0] for name in imports(path)} - {
            "__future__",
            "numpy",
            "collections",
            "concurrent",
            "dataclasses",
            "itertools",
            "typing",
            "gpuopt",
        }
        assert not outside, path
