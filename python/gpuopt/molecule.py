"""Molecules, surfaces given by points, and the geometry between them.

Lengths are in A (ångström), charges in e. The arrays of one object are all float32 or all float64, and never change
their dtype unless asked. Computations are in float64. Functions that look for neighbours need SciPy (the extra
``lab``).
"""

from __future__ import annotations

from dataclasses import replace
from math import frexp, hypot, sqrt
from typing import TYPE_CHECKING

import numpy as np

from gpuopt import host_memory
from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real
from gpuopt.molecule_types import Contact, Grid, Molecule, Surface
from gpuopt.point_arrays import LONGEST, cast
from gpuopt.sides import bodies, check_probe, depths, heights, nearest_of, needed_normals, tree_of

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

__all__ = [
    "Contact",
    "Grid",
    "Molecule",
    "Surface",
    "at_atoms",
    "centre",
    "closest_contact",
    "electrostatic_size",
    "fibonacci_sphere",
    "grid",
    "statistics",
    "surface_points",
    "with_depth",
]

for _kind in (Contact, Grid, Molecule, Surface):
    _kind.__module__ = __name__  # where users find them

_MOST_POINTS = 100_000_000
_DIRECTION_BYTES = 80  # of a direction while a lattice is made
_GRID_BYTES, _SURFACE_BYTES = 200, 210  # of a point while a grid or a surface is made
_VALUES_AT_ONCE = 1 << 22
_AT_ONCE = 10_000_000  # distances of points to planes
_AS_NEAR = 1e-3  # A; coordinates of molecules have no more digits
_ATOMS_AT_ONCE = 4096  # atoms whose neighbours are held as Python lists at the same time
_CANCELLED = 1e-4  # of the number of directions: a shorter sum of them points nowhere


@checked
def electrostatic_size(molecule: Molecule) -> float:
    """Return the electrostatic size of a molecule in A: the radius of the ball that stands for it in the solvent model.

    ``sqrt(5 / (2 sum m)) det(I)^(1/6)`` with the tensor of inertia I of the atoms as solid balls of mass m = radius^3
    (Sigalov, Fenley, Onufriev 2006). For a single atom this is its radius. Raises ArrayError for a molecule without
    radii, and where all are zero.

    Examples
    --------
    >>> round(gpuopt.electrostatic_size(gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2])), 6)
    2.0
    """
    if molecule.radius is None or not molecule.radius.any():
        raise ArrayError("radius: no atom has one; give radii in A, or the electrostatic size itself")
    radius, x = molecule.radius.astype(np.float64), molecule.xyz - centre(molecule)
    # In units of the largest length, and without a sixth power, so that nothing overflows or underflows.
    largest = float(radius.max())
    unit = max(largest, float(x.max()), -float(x.min()))
    radius, x = radius / largest, x / unit
    mass = radius**3
    own = largest / unit * sqrt(0.4 * (mass @ radius**2))
    squares, axes = np.linalg.eigh((mass[:, np.newaxis] * x).T @ x)
    if squares[1] + own**2 < 1e-6 * squares[2]:  # on a line, nearly: what is small would be the rounding of the large
        squares = mass @ (x @ axes) ** 2
    a, b, c = np.sqrt(np.maximum(squares, 0))
    arms = (hypot(b, c, own), hypot(a, c, own), hypot(a, b, own))  # square roots of the moments of inertia
    return float(unit * sqrt(2.5 / mass.sum()) * np.prod(np.cbrt(arms)))


@checked
def centre(molecule: Molecule) -> np.ndarray:
    """Return the centre (3,) in A, float64: the mean of the atoms, weighted by radius^3 unless none has a radius.
    Raises ParameterError for what is no molecule.

    Examples
    --------
    >>> molecule.centre(gpuopt.Molecule([[0, 0, 0], [0, 0, 2]], charge=[1, -1]))
    array([0., 0., 1.])
    """
    weights = np.ones(len(molecule))
    if molecule.radius is not None and molecule.radius.any():
        weights = (molecule.radius.astype(np.float64) / molecule.radius.max()) ** 3
    result: np.ndarray = weights @ molecule.xyz / weights.sum()
    return result


@checked
def closest_contact(molecule: Molecule, surface: Surface) -> Contact:
    """Return the atom and the surface point that are closest to each other, and their distance in A.

    Raises ParameterError for what is no molecule or no surface.

    Examples
    --------
    >>> atoms = gpuopt.Molecule([[0, 0, 0], [0, 0, 2]], charge=[1, -1])
    >>> molecule.closest_contact(atoms, gpuopt.Surface([[0, 0, 3.5]]))
    Contact(distance=1.5, atom=1, point=0)
    """
    distance, atom = nearest_of(tree_of(molecule.xyz), surface.points)
    point = int(np.argmin(distance))
    return Contact(float(distance[point]), int(atom[point]), point)


@checked
def with_depth(molecule: Molecule, surface: Surface, probe: float = 1.4) -> Molecule:
    """Return the molecule with each atom's distance to ``surface`` in A as its ``depth``.

    For a surface with faces, or without normals, this is the distance to its nearest point. For one with normals and no
    faces, it is the distance to the nearest ball of radius ``probe`` A that touches the surface at one of its points
    from outside, as in :func:`grid`. An atom that the points or balls do not go round, as the winding number of their
    normals says (Barill et al. 2018), is outside and has a depth of 0; of a dozen points, or of fewer than one on two
    square A, that is a guess. Without normals nothing says which side an atom is on, and it is taken for one inside.
    Raises ArrayError where the balls need a normal that is not known, ParameterError for a probe out of range.

    Examples
    --------
    >>> ball = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2])
    >>> molecule.with_depth(ball, molecule.surface_points(ball)).depth.round(6)
    array([2.])
    """
    return replace(molecule, depth=cast(depths(molecule, surface, probe).depth, molecule.dtype))


@checked
def at_atoms(molecule: Molecule, surface: Surface, probe: float = 1.4) -> Surface:
    """Return the atoms' places as the points of a surface, in their order and dtype: where the reaction potential is
    what the solvent does to the charges.

    ``height`` is minus the atom's depth: the molecule's own where it has one, else as in :func:`with_depth`.
    ``normals`` are those of the points of ``surface`` that are nearest by the same measure, None where it has none. Of
    several that are as near within 0.001 A, as all points on a bare atom are, the mean of the known ones is taken;
    where these cancel, the direction from the molecule's centre. Raises ParameterError for a probe out of range.

    Examples
    --------
    >>> ball = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2])
    >>> molecule.at_atoms(ball, molecule.surface_points(ball)).height.round(6)
    array([-2.])
    """
    below = depths(molecule, surface, probe)
    depth = below.depth if molecule.depth is None else molecule.depth
    normals = None
    if surface.normals is not None:
        normals = surface.normals[below.nearest].astype(np.float64)
        _take_means(normals, below.tree, below.distance, molecule, surface.normals)
        normals = cast(normals, molecule.dtype)
    return Surface(molecule.xyz, normals, height=cast(-depth, molecule.dtype))


def _take_means(
    normals: np.ndarray, tree: cKDTree, distance: np.ndarray, molecule: Molecule, of_points: np.ndarray
) -> None:
    """Puts mean directions for normals (N, 3) of atoms to which several points are as near: rounding, or the points'
    order, would decide between them."""
    away = molecule.xyz - centre(molecule)
    for start in range(0, len(normals), _ATOMS_AT_ONCE):
        chunk = slice(start, start + _ATOMS_AT_ONCE)
        for i, tied in enumerate(tree.query_ball_point(molecule.xyz[chunk], distance[chunk] + _AS_NEAR), start):
            if len(tied) < 2:
                continue
            known = of_points[tied].astype(np.float64)
            known = known[~np.isnan(known).any(axis=1)]
            if not len(known):
                continue
            total = known.sum(axis=0)
            if np.linalg.norm(total) < _CANCELLED * len(known):
                total = away[i]
            if length := float(np.linalg.norm(total)):
                normals[i] = total / length


@checked
def surface_points(molecule: Molecule, probe: float = 1.4, density: float = 3.0) -> Surface:
    """Return the points, with outward unit normals, at which a ball of radius ``probe`` A can touch the atoms.

    Shrake and Rupley's method: about ``density`` points per square A lie on a Fibonacci lattice over each atom; a point
    is kept where a probe at that place overlaps no other atom. The result is the contact part of the solvent-excluded
    surface. The parts that the probe bridges between atoms have no points. The walls of a cavity that can hold a probe
    are included. Atoms of radius zero are left out. Computed in float64; the points are in the order of the atoms and
    have the molecule's dtype. Raises ArrayError where no atom has a radius, ParameterError for a probe or a density out
    of range, and for a density at which no point is free.

    Examples
    --------
    >>> ball = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2])
    >>> molecule.surface_points(ball, density=1.0)
    <gpuopt.Surface: 50 points, float64, normals>
    """
    check_probe(probe)
    if not 0 < density <= 10_000:
        raise ParameterError(f"density: {density} points per square A is out of range; give about 3, at most 10,000")
    xyz, radius = bodies(molecule)
    if np.abs(xyz).max() + radius.max() > LONGEST:
        raise ArrayError(f"xyz: the atoms end beyond {LONGEST:g} A; move them nearer to 0")
    counts = np.maximum(1, np.rint(4 * np.pi * radius**2 * density))
    if counts.sum() > _MOST_POINTS:
        raise ParameterError(f"density: {density} makes {counts.sum():.1e} points to test; use a lower one")
    _check_memory("density", "points", int(counts.sum()), _SURFACE_BYTES)
    reach, tree = radius + probe, tree_of(xyz)
    lattices = {int(count): fibonacci_sphere(int(count)) for count in np.unique(counts)}
    points, normals = [], []
    for start in range(0, len(xyz), _ATOMS_AT_ONCE):
        chunk = slice(start, start + _ATOMS_AT_ONCE)
        for i, near in enumerate(tree.query_ball_point(xyz[chunk], reach[chunk] + reach.max()), start):
            others = np.array(near)
            others = others[others != i]
            # The point at reach_i u of the atom lies inside the ball j at distance D where u.D exceeds this.
            away = xyz[others] - xyz[i]
            limit = (reach[i] ** 2 + (away**2).sum(axis=1) - reach[others] ** 2) / (2 * reach[i])
            sphere = lattices[int(counts[i])]
            rows = max(1, _AT_ONCE // max(1, len(others)))
            parts = (sphere[first : first + rows] for first in range(0, len(sphere), rows))
            free = np.concatenate([part[(part @ away.T <= limit).all(axis=1)] for part in parts])
            points.append(xyz[i] + radius[i] * free)
            normals.append(free)
    if not any(map(len, points)):
        raise ParameterError(f"density: none of the points is free at {density} per square A; give a higher one")
    return Surface(cast(np.concatenate(points), molecule.dtype), cast(np.concatenate(normals), molecule.dtype))


@checked
def grid(
    molecule: Molecule, surface: Surface, spacing: float, margin: float = 10.0, probe: float = 1.4
) -> tuple[Surface, Grid]:
    """Return the points of a regular grid that covers the atoms and ``margin`` A around them, and the grid itself.

    The points are a Surface of the molecule's dtype. Their ``height`` is the signed distance to ``surface``, exact to
    about half the distance between the surface's points; their ``normals`` are those of the nearest points, by
    the same measure.

    With faces, the normal of the nearest point decides whether a grid point is inside. Without faces, as from
    :func:`surface_points`, the surface has gaps between atoms, where the nearest point may be misleading. So where a
    ball of radius ``probe`` A around a grid point would overlap an atom, the height is minus the point's distance to
    the nearest ball of that radius that touches the surface from outside, positive for a point within such a ball.

    Raises ArrayError for a surface without normals or with one that is not known, and for one without faces around
    atoms without radii; ParameterError for a spacing, margin or probe out of range.

    Examples
    --------
    >>> ball = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2])
    >>> points, where = molecule.grid(ball, molecule.surface_points(ball), spacing=2.0, margin=3.0)
    >>> len(points), where
    (64, Grid(origin=(-3.0, -3.0, -3.0), spacing=2.0, shape=(4, 4, 4)))
    """
    directions = needed_normals(surface, "telling inside from outside")
    if not 0 < spacing <= LONGEST:
        raise ParameterError(f"spacing: {spacing} is not a positive length up to {LONGEST:g}; give one in A, say 1.0")
    if not 0 <= margin <= LONGEST:
        raise ParameterError(f"margin: {margin} is not a length up to {LONGEST:g}; give one in A, at least 0")
    check_probe(probe)
    low, high = (edge(axis=0).astype(np.float64) for edge in (molecule.xyz.min, molecule.xyz.max))
    with np.errstate(over="ignore"):
        counts = np.ceil((high - low + 2 * margin) / spacing) + 1
        made_of = counts.prod()
    if made_of > _MOST_POINTS:
        raise ParameterError(f"spacing: {spacing} A makes {made_of:.1e} points; use a larger one")
    _check_memory("spacing", "points", int(made_of), _GRID_BYTES)
    origin = (low + high - (counts - 1) * spacing) / 2
    if max(np.abs(origin).max(), np.abs(origin + (counts - 1) * spacing).max()) > LONGEST:
        raise ParameterError(f"spacing: {spacing} A, with a margin of {margin} A, ends beyond {LONGEST:g} A; use less")
    axes = [start + spacing * np.arange(count) for start, count in zip(origin, counts, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    height, nearest = heights(molecule, surface, points, probe)
    normals = cast(directions[nearest], molecule.dtype)
    made = Surface(cast(points, molecule.dtype), normals, height=cast(height, molecule.dtype))
    x, y, z = (float(start) for start in origin)
    nx, ny, nz = (int(count) for count in counts)
    return made, Grid((x, y, z), float(spacing), (nx, ny, nz))


@checked
def statistics(phi: np.ndarray) -> dict[str, float]:
    """Return ``min``, ``max``, ``mean`` and ``rms`` of potentials ``phi`` (M,) in the unit of ``phi``, computed in
    float64; all four are NaN where a potential is. Raises ArrayError where ``phi`` is empty, and for complex numbers.

    Examples
    --------
    >>> molecule.statistics(np.array([3.0, -4.0]))["mean"]
    -0.5
    """
    values = real("phi", phi, "potentials (M,)")
    if not values.size:
        raise ArrayError("phi: it is empty; give at least one potential")
    flat = values.reshape(-1)
    parts = [flat[start : start + _VALUES_AT_ONCE] for start in range(0, flat.size, _VALUES_AT_ONCE)]
    least, most = float(np.min([part.min() for part in parts])), float(np.max([part.max() for part in parts]))
    unit = 2.0 ** (frexp(max(-least, most))[1] - 1)  # sums of squares in it neither overflow nor vanish
    sums = [(float(np.sum(part / unit)), float(np.sum((part / unit) ** 2))) for part in parts]
    mean, square = (sum(each) / flat.size for each in zip(*sums, strict=True))
    return {"min": least, "max": most, "mean": unit * mean, "rms": unit * square**0.5}


@checked
def fibonacci_sphere(count: int) -> np.ndarray:
    """``count`` directions (count, 3), float64, spread evenly over the unit sphere, on a Fibonacci lattice. Raises
    ParameterError.

    Examples
    --------
    >>> np.linalg.norm(molecule.fibonacci_sphere(5), axis=1).round(6)
    array([1., 1., 1., 1., 1.])
    """
    if not 0 <= count <= _MOST_POINTS:
        raise ParameterError(f"count: {count} directions are out of range; give 0 to {_MOST_POINTS:,}")
    _check_memory("count", "directions", count, _DIRECTION_BYTES)
    k = np.arange(count)
    z = 1 - (2 * k + 1) / count
    ring, turn = np.sqrt(1 - z**2), np.pi * (3 - np.sqrt(5)) * k
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1)


def _check_memory(argument: str, what: str, count: int, each: int) -> None:
    needed, free = count * each, host_memory.free_bytes()
    if free is not None and needed > free:
        raise ParameterError(
            f"{argument}: {count:,} {what} need {needed / 1e6:,.0f} MB, where {free / 1e6:,.0f} MB are free; take fewer"
        )
