"""What README says of scans runs as it stands there, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

click = pytest.importorskip("click")
Image = pytest.importorskip("PIL.Image")
pytest.importorskip("h5py")

from click.testing import CliRunner  # noqa: E402

import gpuopt  # noqa: E402
import gpuopt.tomo as gt  # noqa: E402
from gpuopt import cli  # noqa: E402


def parts(text: str) -> list[tuple[str, str]]:
    """The Python blocks and the commands of a chapter, in their order."""
    found = re.finditer(r"^```python\n(.*?)^```$|^    gpuopt (.*?)$", text, re.DOTALL | re.MULTILINE)
    return [("python", one[1]) if one[1] else ("command", one[2]) for one in found]


def test_a_scan_in_a_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_device: gpuopt.Device
) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    chapter = text.split("\nA scan that a synchrotron stored")[1].split("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"gt": gt}
    kinds = []
    with gpuopt.use(any_device):
        for kind, what in parts(chapter):
            kinds.append(kind)
            if kind == "python":
                exec(what, names)
                continue
            words = [*shlex.split(what, comments=True), "--device", str(any_device.index)]
            told = CliRunner().invoke(cli.app, words, prog_name="gpuopt")
            assert told.exit_code == 0, told.output
            assert "axis at column 60.3" in told.stdout
    assert kinds == ["python", "command", "python"]
    assert names["offset"] == pytest.approx(3.2, abs=0.1)
    head = gt.shepp_logan(3, field=110, density=0.03).sample(gt.Volume((16, 128, 128)), 2)[4:8]
    with Image.open("slices.tif") as slices:
        assert slices.n_frames == 4
        by_command = np.array(slices)
    for image, wanted in ((names["f"], head), (by_command, head[0])):
        assert np.linalg.norm(image - wanted) < 0.6 * np.linalg.norm(wanted)
