"""What the package says of itself."""

from __future__ import annotations

import re
from pathlib import Path


def test_addresses_of_the_project_agree(root: Path) -> None:
    """Those of pyproject.toml and CITATION.cff, if there are any: see docs/decisions/no-addresses.md."""
    table = (root / "pyproject.toml").read_text(encoding="utf-8").partition("\n[project.urls]\n")[2].partition("\n[")[0]
    source = re.search(r'^Source *= *"(.*)"', table, re.MULTILINE)
    cited = re.search(r"^repository-code: *[\"']?([^\"'\n]+)", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert (source and source[1]) == (cited and cited[1])
