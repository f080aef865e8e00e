"""What tests with made-up drivers share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A folder of shared libraries, one for each file of ``drivers/``."""
    folder = tmp_path_factory.mktemp("drivers")
    for source in (root / "tests" / "core" / "drivers").glob("*.c"):
        library = folder / f"{source.stem}.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return folder
