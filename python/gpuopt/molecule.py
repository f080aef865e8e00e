"""Molecules, surfaces given by points, and the geometry between them.

Lengths are in A (ångström), charges in e. The arrays of one object are all float32 or all float64, and never change
their dtype unless asked. Computations are in float64. Functions that look for neighbours need SciPy (the extra
``lab``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, methods_checked
from gpuopt.point_arrays import ReadOnly, array_of, cast, faces_of, normals_of, refuse_negative

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_MOST_POINTS = 100_000_000
_ATOMS_AT_ONCE = 4096  # atoms whose neighbours are held as Python lists at the same time


@methods_checked
@dataclass(frozen=True, eq=False, repr=False)
class Molecule(ReadOnly):
    """N charged atoms: ``xyz`` (N, 3) A, ``charge`` (N,) e, ``radius`` (N,) A, ``depth`` (N,) A.

    :func:`electrostatic_size` and :func:`surface_points` need ``radius``. Potentials inside the molecule need
    ``depth``, each atom's distance to the surface (:func:`with_depth`). The arrays are read-only: writable ones are
    copied, C-contiguous read-only ones kept; lists become float64. Raises ArrayError for a dtype other than native
    float32 or float64, for two dtypes, shapes that do not fit, no atom, NaN, infinity, and negative radii or depths.

    Examples
    --------
    >>> gpuopt.Molecule(xyz=[[0, 0, 0], [0, 0, 1.5]], charge=[1, -1], radius=[1.2, 1.7])
    <gpuopt.Molecule: 2 atoms, +0.00 e, 0.0 x 0.0 x 1.5 A, float64, radius>
    """

    xyz: np.ndarray
    charge: np.ndarray
    radius: np.ndarray | None = None
    depth: np.ndarray | None = None

    def __post_init__(self) -> None:
        xyz = array_of("xyz", self.xyz, (None, 3))
        object.__setattr__(self, "xyz", xyz)
        for name in ("charge", "radius", "depth"):
            given = getattr(self, name)
            if given is not None:
                values = array_of(name, given, (len(xyz),), xyz.dtype, "xyz")
                if name != "charge":
                    refuse_negative(name, values)
                object.__setattr__(self, name, values)
        if self.charge is None:
            raise ArrayError("charge: it is missing; give one number of e for each atom")

    def __len__(self) -> int:
        return len(self.xyz)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all arrays: float32 or float64."""
        return self.xyz.dtype

    @property
    def total_charge(self) -> float:
        """Sum of the charges in e, added in float64."""
        return float(self.charge.sum(dtype=np.float64))

    def astype(self, dtype: DTypeLike) -> Molecule:
        """Return the molecule in ``dtype``, itself where it has it. Raises ArrayError for a number beyond it."""
        if np.dtype(dtype) == self.dtype:
            return self
        return Molecule(*(cast(getattr(self, name), dtype) for name in ("xyz", "charge", "radius", "depth")))

    def __repr__(self) -> str:
        extent = " x ".join(f"{length:.1f}" for length in np.ptp(self.xyz, axis=0))
        known = "".join(f", {name}" for name in ("radius", "depth") if getattr(self, name) is not None)
        charge = round(self.total_charge, 2) + 0.0  # turns -0.0 into 0.0
        return f"<gpuopt.Molecule: {len(self):,} atoms, {charge:+.2f} e, {extent} A, {self.dtype.name}{known}>"


@methods_checked
@dataclass(frozen=True, eq=False, repr=False)
class Surface(ReadOnly):
    """M points: ``points`` (M, 3) A, ``normals`` (M, 3), ``faces`` (T, 3), ``height`` (M,) A.

    ``normals`` point outwards and are scaled to length 1. Three NaN stand for a normal that is not known; whatever
    needs it raises ArrayError. ``faces`` are triangles, each of three indices of points, kept as int64. ``height`` is
    given for points that do not lie on the molecular surface: their signed distance to it, negative inside. Dtypes and
    layout are those of :class:`Molecule`. Raises ArrayError as it does, and for a normal of length zero and a face with
    an index that no point has.

    Examples
    --------
    >>> gpuopt.Surface([[0, 0, 2]], normals=[[0, 0, 3]]).normals
    array([[0., 0., 1.]])
    """

    points: np.ndarray
    normals: np.ndarray | None = None
    faces: np.ndarray | None = None
    height: np.ndarray | None = None

    def __post_init__(self) -> None:
        points = array_of("points", self.points, (None, 3))
        object.__setattr__(self, "points", points)
        if self.normals is not None:
            object.__setattr__(self, "normals", normals_of(self.normals, points))
        if self.height is not None:
            height = array_of("height", self.height, (len(points),), points.dtype, "points")
            object.__setattr__(self, "height", height)
        if self.faces is not None:
            object.__setattr__(self, "faces", faces_of(self.faces, len(points)))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all arrays except ``faces``: float32 or float64."""
        return self.points.dtype

    @property
    def unknown_normals(self) -> np.ndarray:
        """Indices of the points whose normal is not known (NaN), int64; empty where there are no normals at all."""
        return np.flatnonzero([] if self.normals is None else np.isnan(self.normals[:, 0]))

    def astype(self, dtype: DTypeLike) -> Surface:
        """Return the surface in ``dtype``, itself where it has it. Raises ArrayError for a number beyond it."""
        if np.dtype(dtype) == self.dtype:
            return self
        points, normals, height = (cast(array, dtype) for array in (self.points, self.normals, self.height))
        return Surface(points, normals, self.faces, height)

    def __repr__(self) -> str:
        known = "".join(f", {name}" for name in ("normals", "height") if getattr(self, name) is not None)
        if unknown := len(self.unknown_normals):
            known = known.replace("normals", f"normals ({unknown:,} not known)")
        faces = "" if self.faces is None else f", {len(self.faces):,} faces"
        return f"<gpuopt.Surface: {len(self):,} points, {self.dtype.name}{known}{faces}>"


@checked
@dataclass(frozen=True)
class Grid:
    """A regular grid: ``origin`` (x, y, z) and ``spacing`` in A, and ``shape``, the number of points along x, y and z.
    The index of z runs fastest, as in OpenDX."""

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]


class Contact(NamedTuple):
    """The atom and the surface point that are closest to each other: their ``distance`` in A and their indices."""

    distance: float
    atom: int
    point: int


@checked
def needed_normals(surface: Surface, why: str) -> np.ndarray:
    """The normals (M, 3), which ``why`` needs. Raises ArrayError where there are none, and where one is not known."""
    if surface.normals is None:
        raise ArrayError(f"surface: it has no normals, which {why} needs; give Surface(points, normals)")
    unknown = surface.unknown_normals
    if len(unknown):
        raise ArrayError(
            f"surface: the normals of {len(unknown):,} of its {len(surface):,} points are not known, the first that of "
            f"point {unknown[0]}, and {why} needs all; compute them, or leave these points out"
        )
    return surface.normals


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
    radius = molecule.radius.astype(np.float64)
    x = molecule.xyz - centre(molecule)
    # In units of the largest radius, so that no sixth power overflows or underflows.
    unit = radius.max()
    radius, x = radius / unit, x / unit
    mass = radius**3
    moments = (mass[:, np.newaxis] * x).T @ x + np.eye(3) * (mass @ radius**2) / 5
    inertia = np.trace(moments) * np.eye(3) - moments
    return float(unit * np.sqrt(2.5 / mass.sum()) * np.linalg.det(inertia) ** (1 / 6))


@checked
def centre(molecule: Molecule) -> np.ndarray:
    """Return the centre (3,) in A, float64: the mean of the atoms, weighted by radius^3 unless none has a radius."""
    weights = np.ones(len(molecule))
    if molecule.radius is not None and molecule.radius.any():
        weights = (molecule.radius.astype(np.float64) / molecule.radius.max()) ** 3
    result: np.ndarray = weights @ molecule.xyz / weights.sum()
    return result


@checked
def closest_contact(molecule: Molecule, surface: Surface) -> Contact:
    """Return the atom and the surface point that are closest to each other."""
    distance, atom = _tree(molecule.xyz).query(surface.points)
    point = int(np.argmin(distance))
    return Contact(float(distance[point]), int(atom[point]), point)


@checked
def with_depth(molecule: Molecule, surface: Surface, probe: float = 1.4) -> Molecule:
    """Return the molecule with each atom's distance to ``surface`` in A as its ``depth``.

    For a surface with faces, or without normals, this is the distance to its nearest point. For one with normals and no
    faces, it is the distance to the nearest ball of radius ``probe`` A that touches the surface at one of its points
    from outside, as in :func:`grid`. Raises ArrayError where that needs a normal that is not known.
    """
    depth, _ = _depths(molecule, surface, probe)
    return replace(molecule, depth=depth.astype(molecule.dtype))


@checked
def at_atoms(molecule: Molecule, surface: Surface, probe: float = 1.4) -> Surface:
    """Return the atoms' places as the points of a surface, in their order and dtype: where the reaction potential is
    what the solvent does to the charges.

    ``height`` is minus the atom's depth: the molecule's own where it has one, else as in :func:`with_depth`.
    ``normals`` are those of the points of ``surface`` that are nearest by the same measure, None where it has none.
    Raises ParameterError for a probe out of range.
    """
    depth, nearest = _depths(molecule, surface, probe)
    height = -(depth if molecule.depth is None else molecule.depth).astype(molecule.dtype)
    normals = None if surface.normals is None else cast(surface.normals[nearest], molecule.dtype)
    return Surface(molecule.xyz, normals, height=height)


def _depths(molecule: Molecule, surface: Surface, probe: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances (N,) of the atoms to ``surface`` in A, and for each the index of the nearest surface point."""
    if surface.faces is not None or surface.normals is None:
        depth, nearest = _tree(surface.points).query(molecule.xyz)
        return depth, nearest
    below, nearest = _tree(_standing(surface, probe)).query(molecule.xyz)
    return np.maximum(below - probe, 0), nearest


@checked
def surface_points(molecule: Molecule, probe: float = 1.4, density: float = 3.0) -> Surface:
    """Return the points, with outward unit normals, at which a ball of radius ``probe`` A can touch the atoms.

    Shrake and Rupley's method: about ``density`` points per square A lie on a Fibonacci lattice over each atom; a point
    is kept where a probe at that place overlaps no other atom. The result is the contact part of the solvent-excluded
    surface. The parts that the probe bridges between atoms have no points. The walls of a cavity that can hold a probe
    are included. Atoms of radius zero are left out. Computed in float64; the points are in the order of the atoms and
    have the molecule's dtype. Raises ArrayError where no atom has a radius, ParameterError for a probe or a density out
    of range.
    """
    _check_probe(probe)
    if not 0 < density <= 10_000:
        raise ParameterError(f"density: {density} points per square A is out of range; give about 3, at most 10,000")
    xyz, radius = _bodies(molecule)
    counts = np.maximum(1, np.rint(4 * np.pi * radius**2 * density))
    if counts.sum() > _MOST_POINTS:
        raise ParameterError(f"density: {density} makes {counts.sum():.1e} points to test; use a lower one")
    reach, tree = radius + probe, _tree(xyz)
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
            free = sphere[(sphere @ away.T <= limit).all(axis=1)]
            points.append(xyz[i] + radius[i] * free)
            normals.append(free)
    return Surface(cast(np.concatenate(points), molecule.dtype), cast(np.concatenate(normals), molecule.dtype))


@checked
def grid(
    molecule: Molecule, surface: Surface, spacing: float, margin: float = 10.0, probe: float = 1.4
) -> tuple[Surface, Grid]:
    """Return the points of a regular grid that covers the atoms and ``margin`` A around them, and the grid itself.

    The points are a Surface of the molecule's dtype. Their ``height`` is the signed distance to ``surface``, exact to
    about half the distance between the surface's points; their ``normals`` are those of the nearest points.

    With faces, the normal of the nearest point decides whether a grid point is inside. Without faces, as from
    :func:`surface_points`, the surface has gaps between atoms, where the nearest point may be misleading. So where a
    ball of radius ``probe`` A around a grid point would overlap an atom, the height is minus the point's distance to
    the nearest ball of that radius that touches the surface from outside, positive for a point within such a ball.

    Raises ArrayError for a surface without normals or with one that is not known, and for one without faces around
    atoms without radii; ParameterError for a spacing, margin or probe out of range.
    """
    directions = needed_normals(surface, "telling inside from outside")
    if not (isfinite(spacing) and spacing > 0):
        raise ParameterError(f"spacing: {spacing} is not a positive length; give one in A, say 1.0")
    if not (isfinite(margin) and margin >= 0):
        raise ParameterError(f"margin: {margin} is not a length; give one in A, at least 0")
    _check_probe(probe)
    low, high = (edge(axis=0).astype(np.float64) for edge in (molecule.xyz.min, molecule.xyz.max))
    counts = np.ceil((high - low + 2 * margin) / spacing) + 1
    if counts.prod() > _MOST_POINTS:
        raise ParameterError(f"spacing: {spacing} A makes {counts.prod():.1e} points; use a larger one")
    origin = (low + high - (counts - 1) * spacing) / 2
    axes = [start + spacing * np.arange(count) for start, count in zip(origin, counts, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    height, nearest = _heights(molecule, surface, points, probe)
    normals = cast(directions[nearest], molecule.dtype)
    made = Surface(cast(points, molecule.dtype), normals, height=cast(height, molecule.dtype))
    x, y, z = (float(start) for start in origin)
    nx, ny, nz = (int(count) for count in counts)
    return made, Grid((x, y, z), float(spacing), (nx, ny, nz))


def _heights(molecule: Molecule, surface: Surface, points: np.ndarray, probe: float) -> tuple[np.ndarray, np.ndarray]:
    """Signed distances (n,) of ``points`` to ``surface`` in A, and for each the index of the nearest surface point."""
    distance, nearest = _tree(surface.points).query(points)
    if surface.faces is not None:
        assert surface.normals is not None
        above = np.einsum("ij,ij->i", points - surface.points[nearest], surface.normals[nearest]) >= 0
        return np.where(above, distance, -distance), nearest
    xyz, radius = _bodies(molecule)
    # Balls of different radii R_i become balls of the largest radius R in four dimensions: atom i is moved along the
    # fourth axis by sqrt(R^2 - R_i^2). A point is then in some ball where its nearest neighbour is nearer than R.
    reach = radius + probe
    lifted = np.column_stack([xyz, np.sqrt(reach.max() ** 2 - reach**2)])
    hindered = _tree(lifted).query(np.column_stack([points, np.zeros(len(points))]))[0] < reach.max()
    below, standing_nearest = _tree(_standing(surface, probe)).query(points[hindered])
    distance[hindered], nearest[hindered] = probe - below, standing_nearest
    return distance, nearest


def _bodies(molecule: Molecule) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and radii (n,) of the atoms with a radius above zero, float64."""
    if molecule.radius is None or not molecule.radius.any():
        raise ArrayError("radius: no atom has one, so there is no surface; give radii in A")
    bodies = np.flatnonzero(molecule.radius)
    return molecule.xyz[bodies].astype(np.float64), molecule.radius[bodies].astype(np.float64)


def _standing(surface: Surface, probe: float) -> np.ndarray:
    """Centres (M, 3) of balls of radius ``probe`` that touch the surface from outside at its points, float64."""
    _check_probe(probe)
    return surface.points + probe * needed_normals(surface, "a probe standing on it").astype(np.float64)


def _check_probe(probe: float) -> None:
    if not (isfinite(probe) and probe >= 0):
        raise ParameterError(f"probe: {probe} is not a radius; give one in A, at least 0, 1.4 for water")


@checked
def statistics(phi: np.ndarray) -> dict[str, float]:
    """Return ``min``, ``max``, ``mean`` and ``rms`` of potentials ``phi`` (M,) in the unit of ``phi``, computed in
    float64. Raises ArrayError where ``phi`` is empty."""
    values = np.asarray(phi, dtype=np.float64)
    if not values.size:
        raise ArrayError("phi: it is empty; give at least one potential")
    return {
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "rms": float(np.sqrt(np.mean(values**2))),
    }


@checked
def fibonacci_sphere(count: int) -> np.ndarray:
    """``count`` directions (count, 3) spread evenly over the unit sphere, on a Fibonacci lattice."""
    k = np.arange(count)
    z = 1 - (2 * k + 1) / count
    ring, turn = np.sqrt(1 - z**2), np.pi * (3 - np.sqrt(5)) * k
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1)


def _tree(points: np.ndarray) -> cKDTree:
    from scipy.spatial import cKDTree

    return cKDTree(points)
