"""notebooks.py [NAME...] [--device D] [--quick]: runs notebooks from top to bottom and keeps their outputs in them.

Each runs in an empty folder, by this interpreter, with the results that are stored in the tree at hand; what it leaves
there is thrown away. --device is what GPUOPT_DEVICE may be. Only outputs that a reader is to see are kept: no times of
execution, no bars of progress, no chatter of drivers. A notebook that fails, or that shows a folder of this machine,
stays as it was, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
LIMIT_S = 3600


def run(path: Path, folder: Path, quick: bool, device: str | None = None, limit_s: float = LIMIT_S) -> Path:
    """Where the notebook and all that it wrote are after it ran, in ``folder``. In a process of its own: what the
    messaging library leaves to the garbage collector is no warning of ours. Raises CalledProcessError, with what was
    said, where a cell fails, and TimeoutExpired."""
    from ipykernel.kernelspec import write_kernel_spec

    # Whatever kernels this machine has, this one is the running interpreter's.
    write_kernel_spec(folder / "kernels" / "python3")
    work = folder / "work"
    work.mkdir()
    shutil.copy(path, work)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"} | {
        "GPUOPT_NOTEBOOK_QUICK": "1" if quick else "0",
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_PATH": str(folder),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **({"GPUOPT_DEVICE": device} if device else {}),
    }
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", path.name]
    subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=limit_s, check=True)
    return work


def executed(path: Path, device: str | None, quick: bool) -> dict[str, Any]:
    """The notebook with what its cells show, in a folder that has the stored results."""
    with tempfile.TemporaryDirectory() as name:
        work = run(path, Path(name), quick, device)
        made: dict[str, Any] = json.loads((work / path.name).read_text(encoding="utf-8"))
    return made


def clean(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with its outputs alone."""
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] != "code":
            continue
        cell["execution_count"] = None
        cell["outputs"] = [tidy(one) for one in cell["outputs"] if one.get("name") != "stderr" and said(one)]
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "gpuopt": {"outputs_of": digest(notebook)},
    }
    return notebook


def digest(notebook: dict[str, Any]) -> str:
    """Of the code in its cells: outputs are those of this code, or they are stale."""
    code = [[cell["id"], "".join(cell["source"])] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def said(output: dict[str, Any]) -> str:
    """All that an output shows as text or picture."""
    parts = [output.get("text", ""), *output.get("data", {}).values()]
    return "".join(part if isinstance(part, str) else "".join(part) for part in parts).strip()


def tidy(output: dict[str, Any]) -> dict[str, Any]:
    """Without what only this run knew."""
    if "execution_count" in output:
        output["execution_count"] = None
    if "metadata" in output:
        output["metadata"] = {}
    if "image/png" in output.get("data", {}):
        output["data"]["image/png"] = "".join(output["data"]["image/png"]).replace("\n", "")
    return output


def folders(notebook: dict[str, Any]) -> list[str]:
    """Cells that show a folder of this machine."""
    places = (str(ROOT), str(Path.home()) + "/", tempfile.gettempdir() + "/")
    return [
        cell["id"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if any(place in said(output) for place in places)
    ]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", metavar="NAME", help="as 01_spmv; all where none is given")
    words.add_argument("--device")
    words.add_argument("--quick", action="store_true", help="small problems")
    given = words.parse_args()
    known = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    if unknown := sorted({*given.names} - known):
        words.error(f"there is no notebook {unknown[0]}; there are {', '.join(sorted(known))}")
    failed = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if given.names and path.stem not in given.names:
            continue
        print(f"{path.stem} ...", file=sys.stderr, flush=True)
        try:
            made = clean(executed(path, given.device, given.quick))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"{path.stem}: {error}\n{error.stderr or ''}", file=sys.stderr)
            failed += 1
            continue
        if showing := folders(made):
            print(f"{path.stem}: a folder of this machine is shown by {', '.join(showing)}", file=sys.stderr)
            failed += 1
            continue
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
