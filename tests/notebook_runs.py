"""Notebooks run from top to bottom, and what their cells show."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LIMIT_S = 280  # of a whole notebook, in quick mode; a 2-core CPU takes 20 s


def loaded(name):
    """A module of tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = loaded("notebooks")


def code_cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def named(stem):
    return next(path for path in PATHS if path.stem == stem)


def execute(path, directory):
    """The notebook run in quick mode in an empty folder, by this interpreter and with its import path."""
    pytest.importorskip("nbclient", reason="nbclient is of the test group")
    pytest.importorskip("ipykernel.kernelspec", reason="ipykernel is of the test group")
    try:
        work = tool.run(path, directory, quick=True, limit_s=LIMIT_S)
    except subprocess.CalledProcessError as error:
        pytest.fail(error.stderr)
    return json.loads((work / path.name).read_text(encoding="utf-8")), work


def outputs(notebook, kind):
    return [
        (cell["id"], "".join(output["data"][kind]))
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if kind in output.get("data", {})
    ]


def printed(notebook, cell_id):
    cell = next(cell for cell in notebook["cells"] if cell["id"] == cell_id)
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
