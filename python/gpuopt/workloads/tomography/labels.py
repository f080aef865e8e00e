"""The words of back projection in tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping

from gpuopt import papers
from gpuopt.labels import Labels


def _step(preset: str) -> str:
    """`vector input, textures`."""
    name = preset.removeprefix("paper:")
    plain = name.removesuffix("_image").replace("_", " ").replace("alu", "ALU")
    return f"{plain}, textures" if name.endswith("_image") else plain


def _subject(problem: str, sizes: Mapping[str, int]) -> str:
    """`I1, 63 x 100 x 100 voxels, 792 views`; the weight, where there is one, or the operation along rays."""
    name, *more = problem.split("_")
    voxels = " x ".join(str(sizes[axis]) for axis in "zyx" if axis in sizes)
    rays = {"rays-forward": "projection along rays", "rays-adjoint": "adjoint along rays"}
    weights = [rays.get(word, f"{word} weights") for word in more if not word.endswith("views")]
    return ", ".join([name, f"{voxels} voxels", f"{sizes.get('views', 0):,} views", *weights])


LABELS = Labels(
    title="Back projection", steps={preset: _step(preset) for preset in papers.steps("tomography")}, subject=_subject
)
