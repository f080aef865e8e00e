"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_bench import Bench


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    pytest.importorskip("click")
    from cli_bench import Bench

    return Bench(monkeypatch, tmp_path / "out")
