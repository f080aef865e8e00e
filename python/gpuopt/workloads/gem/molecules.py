"""Made molecules: a globule like a small protein, and a shell like a virus, of any size and the same every time.

Atoms sit on a jittered cubic lattice, about as dense as protein (0.1 an A^3) and at least 1.15 A apart. Charges are
those of a protein in what matters to a potential: up to about 0.8 e an atom, yet runs of 16 atoms, as residues are,
sum to 0, 1 or -1.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked, real_dtype
from gpuopt.molecule import Molecule, Surface, fibonacci_sphere, surface_points
from gpuopt.workloads.common import memory

_FEWEST_ATOMS = 16
_RADII = np.array([1.1, 1.2, 1.52, 1.55, 1.7, 1.8])  # polar and other hydrogen, O, N, C, S; Bondi, A
_SHARES = [0.1, 0.4, 0.1, 0.09, 0.3, 0.01]
_RESIDUE = 16  # atoms
_JITTER = 0.5  # A along each axis, either way

_CAPSID_ATOMS = 476_040
_CAPSID_CHARGE = 236
_OUTER, _THICKNESS = 170.0, 15.0  # A
_BYTES = 300  # of an atom or a point while it is made: fp64 and cells, in order and out of it
_GAP = 1.5  # A from the shell's outermost atoms to its surface


@checked
def globule(atoms: int = 1500, seed: int = 0, dtype: str | np.dtype[Any] = "float32") -> tuple[Molecule, Surface]:
    """Return a ball of ``atoms`` atoms with radii, and its surface by :func:`gpuopt.molecule.surface_points`.

    The total charge is a whole number of e from -3 to 3; lengths are in A, ``dtype`` is float32 or float64. Atoms come
    in runs that are close in space, as in a file. Raises ParameterError for fewer than 16 atoms, and where half of the
    free memory does not suffice. Needs SciPy.

    Examples
    --------
    >>> molecule, surface = problems.globule(atoms=64)
    >>> len(molecule), molecule.dtype.name, surface.normals.shape == surface.points.shape
    (64, 'float32', True)
    """
    _check("atoms", atoms, _FEWEST_ATOMS)
    memory.check("atoms", f"{atoms:,}", memory.Needs(_lattice_bytes(atoms, 0.0, 0.1) + _BYTES * atoms, 0))
    kind, random = real_dtype(dtype), np.random.default_rng(seed)
    xyz = _packed(atoms, 0.0, 0.1, random)
    charge = _charges(atoms, int(random.integers(-3, 4)), random)
    radius = random.choice(_RADII, atoms, p=_SHARES)
    molecule = Molecule(xyz, charge, radius)
    return molecule.astype(kind), surface_points(molecule).astype(kind)


@checked
def capsid(
    atoms: int = _CAPSID_ATOMS,
    vertices: int = 593_615,
    seed: int = 0,
    dtype: str | np.dtype[Any] = "float32",
) -> tuple[Molecule, Surface]:
    """Return a shell of ``atoms`` atoms with radii, and ``vertices`` points with normals on its outer and inner side.

    At the standard size it has as many atoms and points as the virus capsid in the log of OpenDwarfs' program of GEM
    (Daga's article prints no sizes); the shell is 15 A thick and 340 A wide, its charge 236 e. Others have the same
    density, a charge in proportion, and from some 10,000 atoms on the same thickness. The surface is two smooth
    spheres, at least 1.4 A from any atom. Atoms and points come in runs that are close in space, as in files. ``dtype``
    is float32 or float64. Raises ParameterError for fewer than 16 atoms or 2 vertices, and where half of the free
    memory does not suffice.

    Examples
    --------
    >>> molecule, surface = problems.capsid(atoms=160, vertices=80)
    >>> len(molecule), len(surface), round(molecule.total_charge)
    (160, 80, 0)
    """
    _check("atoms", atoms, _FEWEST_ATOMS)
    _check("vertices", vertices, 2)
    density = _CAPSID_ATOMS / _shell_volume(_OUTER, _OUTER - _THICKNESS)
    middle = _middle(atoms / density)
    host = _lattice_bytes(atoms, middle, density) + _BYTES * (atoms + vertices)
    memory.check("atoms, vertices", f"{atoms:,} and {vertices:,}", memory.Needs(host, 0))
    kind, random = real_dtype(dtype), np.random.default_rng(seed)
    xyz = _packed(atoms, middle, density, random)
    charge = _charges(atoms, round(_CAPSID_CHARGE * atoms / _CAPSID_ATOMS), random)
    molecule = Molecule(xyz, charge, random.choice(_RADII, atoms, p=_SHARES))

    distances = np.linalg.norm(xyz, axis=1)
    outer, inner = distances.max() + _GAP, max(0.0, distances.min() - _GAP)
    outside = round(vertices * outer**2 / (outer**2 + inner**2))
    above, below = fibonacci_sphere(outside), fibonacci_sphere(vertices - outside)
    points, normals = np.concatenate([outer * above, inner * below]), np.concatenate([above, -below])
    order = _morton(points)
    return molecule.astype(kind), Surface(points[order], normals[order]).astype(kind)


def _check(name: str, given: int, fewest: int) -> None:
    if given < fewest:
        raise ParameterError(f"{name}: {given} are too few; give at least {fewest}")


def _shell_volume(outer: float, inner: float) -> float:
    return 4 / 3 * pi * (outer**3 - inner**3)


def _middle(volume: float) -> float:
    """The radius halfway through a shell of ``volume`` A^3: 15 A thick, a small one half its outer radius."""
    # volume = 4 pi t (m^2 + t^2 / 12) for the thickness t about the middle m.
    squared = volume / (4 * pi * _THICKNESS) - _THICKNESS**2 / 12
    if squared >= _THICKNESS**2:
        return float(squared**0.5)
    return float(0.75 * (volume / (4 / 3 * pi * (1 - 0.5**3))) ** (1 / 3))


def _packed(atoms: int, middle: float, density: float, random: np.random.Generator) -> np.ndarray:
    """Positions (atoms, 3) in A: the sites of a lattice nearest to a sphere of radius ``middle``, moved a little."""
    spacing = density ** (-1 / 3)
    half, reach = _extent(atoms, middle, density)
    along = spacing * (np.arange(-reach, reach + 1) + 0.25)  # no site at the centre, no two alike by symmetry
    squares = along**2
    distance = np.sqrt(squares[:, None, None] + squares[:, None] + squares)
    near = np.flatnonzero(np.abs(distance - middle).ravel() <= half)
    chosen = near[np.argsort(np.abs(distance.ravel()[near] - middle), kind="stable")[:atoms]]
    places = np.unravel_index(chosen, distance.shape)
    xyz = np.stack([along[place] for place in places], axis=1)
    xyz += random.uniform(-_JITTER, _JITTER, xyz.shape)
    result: np.ndarray = xyz[_morton(xyz)]
    return result


def _extent(atoms: int, middle: float, density: float) -> tuple[float, int]:
    """Half of the thickness that the atoms fill, in A, and how many sites of the lattice reach beyond it."""
    spacing, volume = density ** (-1 / 3), atoms / density
    # From above, and two layers more: sites enough to choose from.
    half = volume / (8 * pi * middle**2) if middle else (volume / (4 / 3 * pi)) ** (1 / 3)
    half += 2 * spacing
    return half, int(np.ceil((middle + half) / spacing))


def _lattice_bytes(atoms: int, middle: float, density: float) -> int:
    """What the lattice's sites take while atoms are chosen: their distances, twice, and a mark."""
    _, reach = _extent(atoms, middle, density)
    return (2 * reach + 1) ** 3 * (2 * 8 + 1)


def _charges(atoms: int, total: int, random: np.random.Generator) -> np.ndarray:
    """Charges (atoms,) in e that sum to ``total``, and to 0 or a unit charge over each run of 16 atoms."""
    charge = np.clip(random.normal(0, 0.25, atoms), -0.4, 0.4)
    residue = np.arange(atoms) // _RESIDUE
    count = atoms // _RESIDUE  # whole ones
    formal = np.zeros(residue[-1] + 1)
    pairs = min(count // 8, (count - abs(total)) // 2)  # a quarter of a protein's residues are charged
    if pairs < 0:
        formal[:count] = total / count
    else:
        charged = random.permutation(count)[: 2 * pairs + abs(total)]
        formal[charged[:pairs]], formal[charged[pairs : 2 * pairs]] = 1, -1
        formal[charged[2 * pairs :]] = np.sign(total)
    sizes = np.bincount(residue)
    charge += ((formal - np.bincount(residue, charge)) / sizes)[residue]
    return charge


def _morton(points: np.ndarray) -> np.ndarray:
    """An order (n,) in which points (n, 3) that follow each other lie close: along a Z curve, in cells of about 1 A."""
    cells = (points - points.min(axis=0)).astype(np.uint64)
    key = np.zeros(len(points), dtype=np.uint64)
    for bit in range(int(cells.max()).bit_length()):
        for axis in range(3):
            key |= (cells[:, axis] >> np.uint64(bit) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return np.argsort(key, kind="stable")
