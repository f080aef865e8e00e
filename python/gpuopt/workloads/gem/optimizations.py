"""The optimizations of the paper by its own short names, as levels of the kernel `pairs`, and how they combine.

The paper is Daga, Scogland and Feng, "Architecture-Aware Optimization on a 1600-core Graphics Processor", ICPADS 2011;
the names are those of its Figures 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuopt.configuration import Configuration, complete

Levels = dict[str, int]

# What each changes of the basic kernel. Two that change one level to different values exclude each other.
OPTIMIZATIONS: Mapping[str, Levels] = {
    "MT": {"LOCAL": 0},
    "KS": {"SPECIALIZED": 1},
    "RA": {"REGISTER_SUM": 1},
    "LM": {"VERTEX": 1},
    "RP": {"VERTEX": 2},
    "IM": {"ATOMS": 4, "VECTOR": 4},
    "VASM2": {"VECTOR": 2},
    "VASM4": {"VECTOR": 4},
    "VAVM2": {"MATH": 1, "VECTOR": 2},
    "VAVM4": {"MATH": 1, "VECTOR": 4},
    "LU2": {"UNROLL": 2},
    "LU4": {"UNROLL": 4},
}
# Beside the paper's: the other reading of its local memory, and an image without the second dimension.
STAGED, IMAGE_ROW = "atoms in LM", "IM of one row"
MORE: Mapping[str, Levels] = {STAGED: {"ATOMS": 1}, IMAGE_ROW: {"ATOMS": 2, "VECTOR": 4}}

NONE = ""  # on an axis: as the basic kernel has it
AXES: Mapping[str, tuple[str, ...]] = {
    "threads": (NONE, "MT"),
    "splitting": (NONE, "KS"),
    "accumulator": (NONE, "RA"),
    "vertex": (NONE, "LM", "RP"),
    "image": (NONE, "IM"),
    "loads and math": (NONE, "VASM2", "VASM4", "VAVM2", "VAVM4"),
    "unrolling": (NONE, "LU2", "LU4"),
}


def together(names: Iterable[str]) -> Levels | None:
    """Return the levels that optimizations change together, None where two of them exclude each other: an image's
    texels are of four scalars, so it meets loads of four alone."""
    found: Levels = {}
    for name in filter(None, names):
        for parameter, level in OPTIMIZATIONS[name].items():
            if found.setdefault(parameter, level) != level:
                return None
    return found


def names_of(changes: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of the optimizations that levels other than the basic kernel's are made of, in the order of
    ``OPTIMIZATIONS``; a level that none of them has as `NAME=level`."""
    rest, found = dict(changes), []
    source = rest.pop("ATOMS", 0)
    if source >= 2:
        found.append("IM" if source >= 4 else IMAGE_ROW)
        if "MATH" not in rest and rest.get("VECTOR") == 4:
            del rest["VECTOR"]  # the image's own
    if source % 2:
        found.append(STAGED)
    wide_first = sorted(OPTIMIZATIONS.items(), key=lambda item: -len(item[1]))
    for name, levels in wide_first:
        if name != "IM" and levels.items() <= rest.items():
            found.append(name)
            rest = {parameter: level for parameter, level in rest.items() if parameter not in levels}
    order = [*OPTIMIZATIONS, *MORE]
    return (*sorted(found, key=order.index), *(f"{parameter}={level}" for parameter, level in rest.items()))


def levels_of(name: str) -> Levels:
    """Return the levels that one name of :func:`names_of` stands for."""
    known = {**OPTIMIZATIONS, **MORE}
    if name in known:
        return dict(known[name])
    parameter, level = name.split("=")
    return {parameter: int(level)}


def configuration(names: Iterable[str]) -> Configuration | None:
    """Return the kernel `pairs` with these optimizations in full, None where two of them exclude each other."""
    levels = together(names)
    return None if levels is None else complete("gem", Configuration("pairs", **levels))
