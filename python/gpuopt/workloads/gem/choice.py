"""Levels of small sums of pairs: those of the record, in smaller pieces where a GPU would stand idle in part."""

from __future__ import annotations

import math

from gpuopt._core import Device
from gpuopt.configuration import Configuration, complete
from gpuopt.resolution import found, resolve

_GROUPS_A_UNIT = 2  # that each unit should have
_LEAST = (("TILE", 64), ("VERTICES", 1), ("LOCAL", 64))  # in the order in which they are halved


def size_class(atoms: int, points: int) -> tuple[int, int]:
    """Sizes of one class take one configuration: they lie between two powers of two."""
    return atoms.bit_length(), points.bit_length()


def chosen(device: Device, dtype: str, form: str, atoms: int, points: int) -> Configuration:
    """Return what a plain call takes for a sum in this form of the formulas. What a user has tuned stands above the
    sizes."""
    asked = {"form": lambda: form}
    record = found("gem", device, dtype, asked)
    if record is not None and record.users:
        return complete("gem", record.configuration)
    return complete("gem", for_size(resolve("gem", device, dtype, None, asked), device, atoms, points))


def for_size(configuration: Configuration, device: Device, atoms: int, points: int) -> Configuration:
    """``configuration``, whose tiles of atoms and work-groups of points are halved until a GPU has two work-groups for
    each of its units: a thousand atoms in one tile are one work-group's, which reads them one after the other. CPUs and
    other variants keep theirs."""
    if configuration.variant != "tiled" or device.type == "cpu":
        return configuration
    levels = dict(complete("gem", configuration).parameters)
    if levels["RSQRT"] == 4:  # of four vertices
        return configuration
    atoms, points = (1 << bits - 1 for bits in size_class(atoms, points))
    for name, least in _LEAST:
        if name == "TILE" and levels["PARTS"] == 1:
            continue  # all atoms are a work-group's, in tiles of any size
        while _groups(levels, atoms, points) < _GROUPS_A_UNIT * device.compute_units and levels[name] > least:
            levels[name] //= 2
    return Configuration(configuration.variant, **levels)


def _groups(levels: dict[str, int], atoms: int, points: int) -> int:
    across = math.ceil(points / (levels["LOCAL"] * levels["VERTICES"]))
    tiles = math.ceil(atoms / levels["TILE"])
    return across * (min(levels["PARTS"], tiles) if levels["PARTS"] else tiles)
