"""Pictures of dense products: the papers' gains beside ours, and rates over the size of the problem."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .gemm_gains import by_size, gains
from .gemm_sizes import bandwidths, sizes, unrolling
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(study: Study, directory: str | Path) -> list[Path]:
    """Writes the pictures of a study of GEMM into ``directory`` (made where missing): the papers' gains where their
    first steps ran, and rates over sizes where there are several. Returns what was written."""
    several = len(by_size(study)) > 1
    return _saved(study, directory, {"gains": gains} | ({"sizes": sizes, "unrolling": unrolling} if several else {}))


def save_tmv(study: Study, directory: str | Path) -> list[Path]:
    """The same of a study of the transposed product."""
    several = len(by_size(study)) > 1
    return _saved(study, directory, {"gains": gains} | ({"bandwidths": bandwidths} if several else {}))


def _saved(study: Study, directory: str | Path, drawn: dict[str, Callable[[Study], Figure]]) -> list[Path]:
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in drawn.items():
        try:
            figure = draw(study)
        except ValueError:  # no paper's first step was asked for
            if draw is not gains:
                raise
            continue
        paths.append(target / f"{name}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths


__all__ = ["bandwidths", "gains", "save", "save_tmv", "sizes", "unrolling"]
