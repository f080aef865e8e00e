"""A made-up scan as a beamline stores it: noisy counts, flat and dark fields, dead pixels, an axis off the middle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gpuopt.tomo as gt

VIEWS, ROWS, COLUMNS, OFFSET = 60, 4, 64, 5.3
DEAD = (1, 20), (2, 33), (2, 34), (3, 0)  # row, column


@dataclass(frozen=True)
class Counts:
    """What the detector counts: of the views, of flat and of dark fields, and the line integrals without noise."""

    data: np.ndarray
    white: np.ndarray
    dark: np.ndarray
    theta: np.ndarray
    integrals: np.ndarray


def counts(dead: bool = True) -> Counts:
    angles = np.arange(VIEWS) * np.pi / VIEWS
    scan = gt.parallel3d(angles, (ROWS, COLUMNS), 1.0, (0.0, OFFSET))
    head = gt.shepp_logan(3, field=44.0, density=0.04)
    p = head.project(scan, 2, float)
    random = np.random.default_rng(6)
    beam = 20000 * random.uniform(0.8, 1.2, (ROWS, COLUMNS))
    dark = 100.0
    made = [random.poisson(beam * np.exp(-p)), random.poisson(beam, (8, ROWS, COLUMNS)), np.zeros((5, ROWS, COLUMNS))]
    data, white, black = (random.normal(dark + part, 2).round().clip(0, 65535).astype(np.uint16) for part in made)
    for row, column in DEAD if dead else ():
        for part in (data, white, black):
            part[:, row, column] = 7
    return Counts(data, white, black, np.rad2deg(angles), p)


def write_exchange(path: Path, made: Counts, units: Any = None, **options: Any) -> Path:
    """The Data Exchange form."""
    import h5py

    with h5py.File(path, "w") as file:
        group = file.create_group("exchange")
        group.create_dataset("data", data=made.data, **options)
        group.create_dataset("data_white", data=made.white)
        group.create_dataset("data_dark", data=made.dark)
        theta = group.create_dataset("theta", data=made.theta)
        if units is not None:
            theta.attrs["units"] = units
    return path


def write_pages(path: Path, pages: np.ndarray, **options: Any) -> Path:
    """A TIFF with a page a view."""
    from PIL import Image

    first, *others = map(Image.fromarray, pages)
    first.save(path, format="TIFF", save_all=True, append_images=others, **options)
    return path
