"""Problems of GEM: a molecule, points of its surface, and the potentials there in fp64."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuopt._core import Device, ParameterError, empty
from gpuopt.configuration import Configuration, complete
from gpuopt.molecule import Molecule, Surface, electrostatic_size
from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.gem import operation
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.pairs import Scene, as_molecule, as_surface
from gpuopt.workloads.gem.peers import peers
from gpuopt.workloads.gem.solvation import Model

ALL_PAIRS = 3e8  # up to which the oracle computes all pairs, in about ten seconds
_TOLERANCE = {"float32": 1e-6, "float64": 1e-13}  # relative to the sum of the terms' magnitudes
_LITERAL_TOLERANCE = {"float32": 4e-6, "float64": 4e-13}  # roots and divisions of a few units in the last place each


def gem(  # long: its arguments, and every field of a problem, each named once
    molecule: Molecule | Sequence[Any],
    surface: Surface | np.ndarray | Sequence[Any],
    *,
    salt: float = 0.0,
    projection: float = 0.0,
    phi_type: str = "total",
    epsilon_in: float = 1,
    epsilon_out: float = 80,
    size: float | None = None,
    name: str = "molecule",
    seed: int = 0,
) -> Problem:
    """Return the problem of a molecule's potential at the points of its surface; arguments as in :func:`gpuopt.gem`.

    With more than 3e8 pairs, only a random sample of the points, drawn from ``seed``, is compared with the fp64
    reference. Raises ArrayError, ParameterError.
    """
    atoms, points = as_molecule(molecule), as_surface(surface)
    options: dict[str, Any] = {"salt": salt, "projection": projection, "phi_type": phi_type}
    options |= {"epsilon_in": epsilon_in, "epsilon_out": epsilon_out}
    model = Model.of(
        salt=salt,
        epsilon_in=epsilon_in,
        epsilon_out=epsilon_out,
        phi_type=phi_type,
        size=electrostatic_size(atoms) if size is None else size,
    )
    if not (isinstance(seed, int) and seed >= 0):
        raise ParameterError(f"seed: {seed!r} is not a seed; give a whole number of at least 0")
    scene = Scene.of(atoms, points, model, projection)
    rows, notes = _checked_points(len(atoms), len(points), seed)
    sample = scene.part(rows)
    magnitude = oracle.magnitude(*sample.arrays)

    def tolerance_of(configuration: Configuration) -> np.ndarray:
        literal = configuration.variant == "pairs" and configuration.parameters.get("FORM", 0) == 0
        return (_LITERAL_TOLERANCE if literal else _TOLERANCE)[atoms.dtype.name] * magnitude

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = empty((len(points),), atoms.dtype, device, guarded=True)
        return BoundPlan(scene.prepare(configuration, out), out)

    def call(device: Device) -> Callable[[], np.ndarray]:
        return lambda: operation.gem(atoms, points, electrostatic_size=model.size, device=device, **options)

    shifts = 0 if scene.shift is None else 3
    return Problem(
        workload="gem",
        name=f"{name}_{_digest(scene)}",
        dtype=atoms.dtype,
        sizes={
            "atoms": len(atoms),
            "points": len(points),
            **({"checked": len(rows)} if len(rows) < len(points) else {}),
        },
        seed=seed,
        inputs={"molecule": atoms, "surface": points, "scene": scene, "options": options},
        reference=oracle.minimal(*sample.arrays),
        tolerance=_TOLERANCE[atoms.dtype.name] * magnitude,
        footprint_bytes=(4 * len(atoms) + (4 + shifts) * len(points)) * atoms.dtype.itemsize,
        prepare=prepare,
        notes=notes,
        tolerance_of=tolerance_of,
        calls={"gpuopt.gem(molecule, surface)": call},
        checked=rows if len(rows) < len(points) else None,
        counted={"pair": float(len(atoms) * len(points))},
        peers=peers,
        input_properties={"form": scene.form},
        tunable=lambda configuration: configuration.parameters.get("DISTANCE", 0) == 0,
    )


def _checked_points(atoms: int, points: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """The points that are held against the reference, all of them or a sample, and notes that say so."""
    rows = np.arange(points)
    if atoms * points <= ALL_PAIRS:
        return rows, []
    count = min(max(int(ALL_PAIRS / atoms), 16), points)
    rows = np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))
    return rows, [f"{count:,} of the {points:,} points, drawn at random, are held against the reference"]


def _digest(scene: Scene) -> str:
    """Return a hash of the scene. It tells problems of one name and size apart, so that rows of one are not taken for
    rows of the other."""
    found = hashlib.sha256(repr(scene.model).encode())
    for array in (scene.xyz, scene.charge, scene.inner, scene.points, scene.shift, scene.r):
        found.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:8]


def factorial() -> list[Configuration]:
    """Return the configurations of the paper's factorial design: all combinations of kernel splitting, work-group size,
    register preloading, image memory, and scalars or vectors; then local memory, unrolling and the register
    accumulator, each added to the first and to the final kernel. Combinations that a rule forbids are included and
    become rows with the reason."""
    kinds = ({"VECTOR": 1}, {"VECTOR": 4}, {"VECTOR": 2, "MATH": 1}, {"VECTOR": 4, "MATH": 1})
    cells = [
        Configuration("pairs", SPECIALIZED=split, LOCAL=local, VERTEX=vertex, ATOMS=atoms, **kind)
        for split in (0, 1)
        for local in (64, 256)
        for vertex in (0, 2)
        for atoms in (0, 2)
        for kind in kinds
    ]
    final = {"LOCAL": 256, "SPECIALIZED": 1, "VERTEX": 2, "ATOMS": 2, "VECTOR": 4}
    around: list[dict[str, int]] = [
        {"VERTEX": 1},
        {"ATOMS": 1},
        {"ATOMS": 3, "VECTOR": 4},
        {"UNROLL": 2},
        {"UNROLL": 4},
    ]
    around.append({"REGISTER_SUM": 1})
    cells += [Configuration("pairs", **{**base, **change}) for base in ({}, final) for change in around]
    return list(dict.fromkeys(complete("gem", cell) for cell in cells))
