"""The words of the diagonal sparse product in tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuopt.labels import Labels


def _subject(problem: str, sizes: Mapping[str, int]) -> str:
    """`photograph camera, 512 x 512 pixels, radius 5`; `random values, 321 x 481 pixels, radius 5`."""
    found = re.fullmatch(
        r"(?:affinity_(?P<picture>.+)|grid(?:_symmetric)?)_(?P<extents>\d+x\d+)_r(?P<radius>\d+)", problem
    )
    if found is None:
        return ""
    name = f"photograph {found['picture']}" if found["picture"] else "random values"
    return f"{name}, {found['extents'].replace('x', ' x ')} pixels, radius {found['radius']}"


LABELS = Labels(
    title="Diagonal sparse matrix times vector",
    steps={
        "paper:basic": "basic",
        "paper:local_offsets": "local offsets",
        "paper:cpu": "vectorized, on a CPU",
        "paper:cpu_coarse": "vectorized, few work-items",
    },
    subject=_subject,
)
