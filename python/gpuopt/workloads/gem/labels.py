"""The words of the molecules' potential in tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuopt import papers
from gpuopt.configuration import altered
from gpuopt.labels import Labels
from gpuopt.workloads.gem.optimizations import names_of

_SHORT = {"mt", "ks", "ra", "lm", "rp", "im", "vasm2", "vasm4", "vavm2", "vavm4", "lu2", "lu4"}
_WORDS = {"amd_best": "best for AMD", "nvidia_style": "NVIDIA's style", "ks_lm_atoms": "KS + atoms in LM"}
_WORDS |= {"local_memory_atoms": "atoms in local memory"}


def _step(preset: str) -> str:
    """`KS + VAVM4`, as the paper abbreviates; `kernel splitting`."""
    name = preset.removeprefix("paper:")
    parts = name.split("_")
    short = " + ".join(part.upper() for part in parts) if set(parts) <= _SHORT else name.replace("_", " ")
    return _WORDS.get(name, short)


def _configuration(variant: str, parameters: Mapping[str, int]) -> str:
    """The paper's abbreviations of what a kernel of its own has: `KS + VAVM4`."""
    if variant != "pairs":
        return ""
    return " + ".join(names_of(altered("gem", variant, parameters))) or "none"


def _subject(problem: str, sizes: Mapping[str, int]) -> str:
    """`capsid K0, 476,040 atoms, 593,615 points`, without the hash of the molecule."""
    words = re.sub(r"_[0-9a-f]{8}$", "", problem).split("_")
    name = " ".join(word for word in words if not re.fullmatch(r"\d+(x\d+)?", word))
    counts = [f"{sizes[key]:,} {key}" for key in ("atoms", "points") if key in sizes]
    return ", ".join([name or "molecule", *counts])


LABELS = Labels(
    title="Molecular potential",
    steps={preset: _step(preset) for preset in papers.steps("gem")},
    configuration=_configuration,
    subject=_subject,
)
