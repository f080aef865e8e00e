"""What tests of GEM's plain calls share: molecules of a known size, and what a call is held against."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpuopt
from golden_gem import SIZE
from gpuopt import Molecule, Surface
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.pairs import Scene
from gpuopt.workloads.gem.solvation import Model

SALT: dict[str, Any] = {"salt": 0.1}


def ball(
    dtype: str = "float32", heights: tuple[float, ...] | None = None, atoms: int = 90, points: int = 70, seed: int = 2
) -> tuple[Molecule, Surface]:
    """Atoms with radii and depths within 8.5 A of the centre; points on the sphere of SIZE, or at heights over it."""
    draw = np.random.default_rng(seed)
    directions = draw.normal(size=(atoms + points, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inner, normals = 0.85 * SIZE * draw.uniform(size=atoms) ** (1 / 3), directions[atoms:]
    height = np.zeros(points) if heights is None else np.resize(heights, points)
    molecule = Molecule(
        directions[:atoms] * inner[:, None],
        draw.uniform(-1, 1, atoms),
        draw.uniform(1, 2, atoms),
        SIZE - inner,
    )
    surface = Surface((SIZE + height)[:, None] * normals, normals, height=None if heights is None else height)
    return molecule.astype(dtype), surface.astype(dtype)


def potential(molecule: Any, surface: Any, **options: Any) -> np.ndarray:
    return gpuopt.gem(molecule, surface, **{"electrostatic_size": SIZE, **options})


def references(molecule: Molecule, surface: Surface, projection: float = 0.0, **options: Any) -> list[np.ndarray]:
    """The potentials, and the magnitude that their rounding errors scale with."""
    size = options.pop("electrostatic_size", SIZE)
    arrays = Scene.of(molecule, surface, Model.of(size=size, **options), projection).arrays
    return [oracle.minimal(*arrays), oracle.magnitude(*arrays)]


def assert_close(got: np.ndarray, expected: np.ndarray, magnitude: np.ndarray) -> None:
    relative = 2e-6 if got.dtype == np.float32 else 2e-13
    assert (np.abs(got - expected) <= relative * magnitude).all()
