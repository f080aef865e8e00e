"""Notebooks run from top to bottom, and what their cells show."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATHS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
LIMIT_S = 280  # of a whole notebook, in quick mode; a 2-core CPU takes 20 s


def code_cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def named(stem):
    return next(path for path in PATHS if path.stem == stem)


def execute(path, directory):
    """The notebook run in quick mode in an empty folder, by this interpreter and with its import path.

    In a process of its own: what the messaging library leaves to the garbage collector is no warning of ours.
    """
    pytest.importorskip("nbclient", reason="nbclient is of the test group")
    kernelspec = pytest.importorskip("ipykernel.kernelspec", reason="ipykernel is of the test group")
    # Whatever kernels this machine has, this one is the running interpreter's.
    kernelspec.write_kernel_spec(directory / "kernels" / "python3")
    work = directory / "work"
    work.mkdir()
    shutil.copy(path, work)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"} | {
        "GPUOPT_NOTEBOOK_QUICK": "1",
        "IPYTHONDIR": str(directory / "ipython"),
        "JUPYTER_CONFIG_DIR": str(directory / "config"),
        "JUPYTER_PATH": str(directory),
        "JUPYTER_RUNTIME_DIR": str(directory / "runtime"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", path.name]
    done = subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
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
