"""The Python of README, the how-tos and the quick start runs as it stands there; what does not run has a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import io, lab, problems

pytest.importorskip("scipy")

SCAN = "its order of files and commands is run by tests/cli/test_readme.py"
ELSEWHERE = {  # the first words of a block, and why it is not run here
    "import h5py": SCAN,
    "scan = gt.read_scan": SCAN,
    "from gpuopt import lab, microbench": "half an hour; tests/workloads/microbench runs its questions",
    "import numpy as np\nfrom gpuopt import lab\n\nsaxpy": "run by tests/lab/kernels/test_readme.py",
}
SLOW = "from gpuopt import lab, problems"  # a whole study


def blocks(root: Path) -> dict[str, str]:
    """Python blocks by page and number."""
    pages = [root / "README.md", root / "docs/quick-start.md", root / "docs/conventions.md"]
    found = {}
    for page in [*pages, *sorted((root / "docs/how-to").glob("*.md"))]:
        texts = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        found |= {f"{page.stem}-{number}": text for number, text in enumerate(texts)}
    return found


ALL = blocks(Path(__file__).resolve().parents[2])
HERE = {name: text for name, text in ALL.items() if not text.startswith((*ELSEWHERE, SLOW))}


def molecule_files() -> None:
    """A ball of three atoms and its surface, under the names that README gives them."""
    ball = gpuopt.Molecule([[0, 0, 0], [0, 0, 1.5], [0, 1.5, 0]], charge=[1, -1, 0.5], radius=[1.5, 1.7, 1.2])
    lines = [
        f"ATOM {i:6d}  C   ALA A   1    {x:8.3f}{y:8.3f}{z:8.3f} {q:7.4f} {r:6.4f}"
        for i, ((x, y, z), q, r) in enumerate(zip(ball.xyz, ball.charge, ball.radius, strict=True), 1)
    ]
    Path("protein.pqr").write_text("\n".join(lines) + "\nEND\n", encoding="utf-8")
    made = gpuopt.molecule.surface_points(ball)
    assert made.normals is not None
    rows = np.hstack([made.points, made.normals])
    np.savetxt("protein.vert", np.hstack([rows, np.zeros((len(rows), 3))]), fmt=["%.3f"] * 6 + ["%d"] * 3)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.whole if "gt.os_sart" in text else ()) for name, text in HERE.items()]
)
def test_a_block_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_device: gpuopt.Device) -> None:
    text = HERE[name]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    if 'use("cpu")' in text and all(device.type != "cpu" for device in gpuopt.devices()):
        pytest.skip("no CPU device")
    if "protein.pqr" in text:
        molecule_files()
    with gpuopt.use(any_device):
        if name.startswith("export"):
            pytest.importorskip("pyarrow")
            pytest.importorskip("xarray")
            names["study"] = lab.sweep(problems.gemm(32), ["naive"], protocol="short", peers=(), calls=False)
        exec(compile(text, name, "exec"), names)
    if "protein.pqr" in text:
        assert len(io.read_pqr("protein.pqr")) == 3
        assert Path("potential.ply").stat().st_size > 100


@pytest.mark.timeout(1500)  # all variants are built
@pytest.mark.whole  # tests/lab/run sees studies
def test_the_study_of_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_device: gpuopt.Device, brief_quick: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {}
    with gpuopt.use(any_device):
        exec(compile(next(text for text in ALL.values() if text.startswith(SLOW)), "README.md", "exec"), names)
    study: lab.Study = names["study"]
    assert study.best()
    assert not [row for row in study.failures() if row["status"] not in ("unsupported", "constraints")]


def test_names_of_blocks_that_are_not_run_exist() -> None:
    for start in (*ELSEWHERE, SLOW):
        assert any(text.startswith(start) for text in ALL.values()), f"{start!r} begins no block any more"
    measuring = next(text for text in ALL.values() if text.startswith("from gpuopt import lab, microbench"))
    for name in re.findall(r"microbench\.(\w+)\(", measuring):
        assert name in gpuopt.microbench.__all__
