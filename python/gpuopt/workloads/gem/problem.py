"""Problems of GEM: a molecule, points of its surface, and the potentials there in fp64."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from gpuopt import papers
from gpuopt._core import Device, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, complete
from gpuopt.molecule import Molecule, Surface, electrostatic_size, with_depth
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory
from gpuopt.workloads.common.rounding import unit_roundoff
from gpuopt.workloads.gem import operation
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.choice import chosen
from gpuopt.workloads.gem.molecules import capsid
from gpuopt.workloads.gem.optimizations import AXES, OPTIMIZATIONS, Levels, together
from gpuopt.workloads.gem.pairs import Scene, as_molecule, as_surface
from gpuopt.workloads.gem.peers import peers
from gpuopt.workloads.gem.solvation import Model

CALL = "gpuopt.gem(molecule, surface)"
# Whole calls with allocation and transfers, which the paper's times include: of the kernel that its speed-ups are over,
# and of the best set of each style.
CALLED = ("paper:basic", "paper:amd_best", "paper:nvidia_style")
# Beside each problem, atoms and points of made molecules: 7 of 64, more than a block and a tile, fewer than a vector.
AWKWARD = ((135, 71), (1031, 48), (17, 263))
ALL_PAIRS = 3e8  # up to which the oracle computes all pairs, in about ten seconds
# And one of points inside a molecule, in the layer without ions and among them, for the sums' other forms: more of each
# than a small work-group has, no two as high.
MIXED, HEIGHTS = (135, 421), (-0.5, 0.75, 3.5)  # atoms and points; most A above the surface, in turn
# Largest errors relative to the sum of the terms' magnitudes: of all terms; more of the formulas as written, for their
# roots and divisions; and of a sum of terms of one sign, in units of rounding times the root of how many additions
# follow each other. A sixth of that was the standard deviation in any variant (PoCL, 17 to 30,000 atoms, 2026-11).
_TOLERANCE = {"float32": 1e-6, "float64": 1e-13}
_LITERAL = {"float32": 3e-6, "float64": 3e-13}
_OF_SUMS = 1.5
# The formulas as written take exponents among the ions from rounded distances, the others from a point's own alone.
_LITERAL_SCREENING = 4
_CLOSE = 0.9  # of the tolerance: what sums of few terms of one sign stay within


@checked
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
    device: Selector = None,
) -> Problem:
    """Return the problem of a molecule's potential at the points of its surface; arguments as in :func:`gpuopt.gem`.

    ``size`` is the electrostatic size in A. ``name`` begins the problem's name, which ends in a hash of the data.

    For points inside, below their surface by ``projection``, depths of atoms that have none are those below the points.
    With more than 3e8 pairs, only a random sample of the points, drawn from ``seed``, is compared with the fp64
    reference. ``device`` is one whose memory it must fit. Raises ArrayError, ParameterError.

    Examples
    --------
    >>> problem = problems.gem(*problems.capsid(atoms=160, vertices=80))
    >>> problem.sizes, problem.counted
    ({'atoms': 160, 'points': 80}, {'pair': 12800.0})
    """
    atoms, points = as_molecule(molecule, keep=True), as_surface(surface, keep=True)
    check_size("molecule, surface", len(atoms), len(points), atoms.dtype, None if device is None else select(device))
    if projection < 0 and atoms.depth is None and points.height is None:
        atoms = with_depth(atoms, points)
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
    reference, magnitude = oracle.with_magnitude(*sample.arrays)
    screened = _of_screening(sample)

    def tolerance_of(configuration: Configuration) -> np.ndarray:
        literal = complete("gem", configuration).parameters.get("FORM") == 0
        more = _LITERAL_SCREENING * screened if literal else screened
        return (_relative(configuration, len(atoms), atoms.dtype) + more) * magnitude

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output((len(points),), atoms.dtype, device)
        return BoundPlan(scene.prepare(configuration, out), out)

    def call(device: Device, variant: str | None = None) -> Callable[[], np.ndarray]:
        given = options | {"electrostatic_size": model.size, "variant": variant}
        return lambda: operation.gem(atoms, points, device=device, **given)

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
        reference=reference,
        tolerance=(_TOLERANCE[atoms.dtype.name] + screened) * magnitude,
        footprint_bytes=(4 * len(atoms) + (4 + shifts) * len(points)) * atoms.dtype.itemsize,
        prepare=prepare,
        plain=lambda device: chosen(device, atoms.dtype.name, scene.form, len(atoms), len(points)),
        notes=notes,
        tolerance_of=tolerance_of,
        calls={CALL: call, **{call_of(preset): partial(call, variant=preset) for preset in CALLED}},
        call_configurations={call_of(preset): complete("gem", papers.preset("gem", preset)) for preset in CALLED},
        checked=rows if len(rows) < len(points) else None,
        counted={"pair": float(len(atoms) * len(points))},
        peers=peers,
        input_properties={"form": scene.form},
        tunable=lambda configuration: configuration.parameters.get("DISTANCE", 0) == 0,
        awkward=cache(lambda: [close(*each, atoms.dtype, options) for each in AWKWARD] + [mixed(*MIXED, atoms.dtype)]),
    )


def _relative(configuration: Configuration, atoms: int, dtype: np.dtype[Any]) -> float:
    """The largest error of a configuration, relative to the sum of the terms' magnitudes."""
    levels = complete("gem", configuration).parameters
    block = {"pairs": atoms, "tiled": levels["TILE"] if levels.get("BLOCKED") else atoms, "wide": 512}
    run = min(block[configuration.variant], atoms)
    of_sum = _OF_SUMS * unit_roundoff(dtype) * (run + atoms / run) ** 0.5  # a block's, and that of the blocks
    literal = _LITERAL[dtype.name] if levels.get("FORM") == 0 else 0.0
    return max(_TOLERANCE[dtype.name], of_sum) + literal


def _of_screening(scene: Scene) -> np.ndarray:
    """What a rounded distance from the centre changes in the exponents of points (M,) among the ions."""
    if scene.shift is None:
        return np.zeros(len(scene.r))
    among = scene.r > scene.model.ion_radius
    return np.asarray(unit_roundoff(scene.xyz.dtype) * scene.model.kappa * scene.r * among)


def close(atoms: int, points: int, dtype: np.dtype[Any], options: Mapping[str, Any]) -> Problem:
    """Return the problem of a made shell whose charges are all above 0, so that errors show that are small beside the
    potential; ``options`` of :func:`gem`. Distances by expanded squares alone are allowed what they are elsewhere."""
    made, surface = capsid(atoms, points, dtype=dtype)
    molecule = Molecule(made.xyz, np.abs(made.charge) + dtype.type(0.125), made.radius)
    size = 20 * electrostatic_size(molecule)  # the whole charge's term, of the other sign, is small beside the sum
    problem = gem(molecule, surface, name=f"capsid_{atoms}x{points}", **{**options, "size": size})

    def tolerance_of(configuration: Configuration) -> np.ndarray:
        wide = problem.tolerance_for(configuration)
        return wide if configuration.parameters.get("DISTANCE", 0) else _CLOSE * wide

    return replace(problem, tolerance_of=tolerance_of)


def mixed(atoms: int, points: int, dtype: np.dtype[Any]) -> Problem:
    """Return the problem of the reaction potential of a made shell in salt water, whose points have heights of their
    own, so that each kind of region has some: a plan has a launch for each, and other forms than without salt. The
    whole charge, 0 of so small a shell, is not: it has a term of its own."""
    made, surface = capsid(atoms, points, dtype=dtype)
    molecule = with_depth(Molecule(made.xyz, made.charge + dtype.type(0.0625), made.radius), surface)
    height = (np.resize(HEIGHTS, points) * np.linspace(0.6, 1, points)).astype(dtype)
    outwards = np.maximum(height, 0)[:, np.newaxis] * surface.normals
    lifted = Surface(surface.points + outwards, surface.normals, height=height)
    return gem(molecule, lifted, salt=0.1, phi_type="reaction", name=f"capsid_mixed_{atoms}x{points}")


def check_size(argument: str, atoms: int, points: int, dtype: np.dtype[Any], device: Device | None) -> None:
    """Raise ParameterError, which names ``argument``, where so many atoms and points do not fit the memory."""
    # Host: atoms and points in their dtype and in fp64, with their references. Device: each variant has its results.
    real = dtype.itemsize
    needs = memory.Needs(
        host=(5 * atoms + 8 * points) * (real + 8),
        device=(5 * atoms + 32 * points) * real,
        largest=4 * max(atoms, points) * real,
    )
    memory.check(argument, f"{atoms:,} atoms and {points:,} points", needs, device)


def call_of(preset: str) -> str:
    """Return the whole call with a preset, as a user writes it and as its row is called."""
    return f"{CALL[:-1]}, variant={preset!r})"


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
    """Return the configurations of the paper's factorial design: 504 combinations of its optimizations, which are all
    (``AXES``: work-group size, kernel splitting, accumulator, the vertex's home, image, loads and math, unrolling).

    An image has texels of four scalars: the two optimizations that it cannot go with stand there once each, and become
    rows with the reason.
    """
    forbidden = [{**OPTIMIZATIONS["IM"], **OPTIMIZATIONS[name]} for name in ("VASM2", "VAVM2")]
    return _cells([*_crossed(), *forbidden])


def staged() -> list[Configuration]:
    """Return 112 combinations with the other reading of the paper's local memory, tiles of atoms: with all that goes
    with it but unrolling."""
    return _cells(
        {**levels, "ATOMS": levels.get("ATOMS", 0) + 1}
        for levels in _crossed()
        if "UNROLL" not in levels and levels.get("VERTEX") != 1
    )


def _crossed() -> list[Levels]:
    return [levels for names in product(*AXES.values()) if (levels := together(names)) is not None]


def _cells(designed: Iterable[Levels]) -> list[Configuration]:
    return list(dict.fromkeys(complete("gem", Configuration("pairs", **levels)) for levels in designed))
