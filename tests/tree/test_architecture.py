"""ARCHITECTURE.md names every module that a reader may look for."""

from __future__ import annotations

import re
from pathlib import Path


def row(page: str, folder: str) -> str:
    """The row of a folder in the table of rooms."""
    return next(line for line in page.splitlines() if line.startswith(f"| `{folder}` |"))


def missing(text: str, names: set[str]) -> list[str]:
    return sorted(name for name in names if f"`{name}`" not in text)


def test_every_module_stands_in_the_row_of_its_folder(root: Path) -> None:
    page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    runtime = {path.stem for path in (root / "src" / "runtime").glob("*.?pp")}
    package = {path.stem for path in (root / "python" / "gpuopt").glob("*.py") if not path.stem.startswith("_")}
    assert len(runtime) > 20
    assert len(package) > 20
    assert missing(row(page, "src/runtime/"), runtime) == []
    assert missing(row(page, "python/gpuopt/"), package) == []


def test_the_order_of_imports_has_every_layer(root: Path) -> None:
    page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.partition("## Who may import whom")[2].partition("\n## ")[0]
    layers = (root / "pyproject.toml").read_text(encoding="utf-8").partition('name = "The package\'s layers"')[2]
    names = set(re.findall(r"gpuopt\.(\w+)", layers.partition("[[")[0])) - {"__main__", "lab", "workloads"}
    assert len(names) > 10
    assert missing(section, names) == []
