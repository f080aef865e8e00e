"""The words of the transposed product in tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping

from gpuopt.labels import Labels


def _subject(problem: str, sizes: Mapping[str, int]) -> str:
    """`4096 x 4096`."""
    return f"{sizes['rows']} x {sizes['cols']}" if {"rows", "cols"} <= sizes.keys() else ""


LABELS = Labels(
    title="Transposed matrix times vector",
    shows_error=True,
    subject=_subject,
    steps={
        "paper:f2": "float2",
        "paper:tlp": "columns shared, 32 x 8",
        "paper:tlp_f2": "both, 32 x 8",
        "paper:tlp_hd5870": "columns shared, 64 x 4",
        "paper:tlp_f2_hd5870": "both, 64 x 4",
    },
)
