"""Inside and outside of a surface that is given by points: heights of points, depths of atoms, and which side they are
on. `gpuopt.molecule` says what each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.molecule_types import Molecule, Surface
from gpuopt.point_arrays import LONGEST, unit_vectors

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_NEIGHBOURS, _UNEVEN = 8, 4  # that tell the area of a place, of which none has so many times the usual one
_PAIRS_AT_ONCE = 1_000_000  # of atoms and places
_POINTS_AT_ONCE = 1 << 14


class Depths(NamedTuple):
    """Atoms' ``depth`` (N,) in A, and what it is measured from: the places in ``tree``, of which ``nearest`` (N,) is
    ``distance`` (N,) away."""

    depth: np.ndarray
    tree: cKDTree
    distance: np.ndarray
    nearest: np.ndarray


@checked
def needed_normals(surface: Surface, why: str) -> np.ndarray:
    """The normals (M, 3), which ``why`` needs. Raises ArrayError where there are none, and where one is not known.

    Examples
    --------
    >>> molecule.needed_normals(gpuopt.Surface([[0, 0, 2]], normals=[[0, 0, 3]]), "this")
    array([[0., 0., 1.]])
    """
    if surface.normals is None:
        raise ArrayError(f"surface: it has no normals, which {why} needs; give Surface(points, normals)")
    unknown = surface.unknown_normals
    if len(unknown):
        raise ArrayError(
            f"surface: the normals of {len(unknown):,} of its {len(surface):,} points are not known, the first that of "
            f"point {unknown[0]}, and {why} needs all; compute them, or leave these points out"
        )
    return surface.normals


def depths(molecule: Molecule, surface: Surface, probe: float) -> Depths:
    """The depths of a molecule's atoms below a surface: distances to its points, or to balls on them. Raises
    ParameterError for a probe out of range, also where no ball stands on the surface."""
    check_probe(probe)
    on_balls = surface.faces is None and surface.normals is not None
    places, stands = (standing(surface, probe), probe) if on_balls else (surface.points, 0.0)
    tree = tree_of(places)
    distance, nearest = nearest_of(tree, molecule.xyz)
    below = Depths(np.maximum(distance - stands, 0), tree, distance, nearest)
    if surface.normals is not None:
        below.depth[_outside(molecule.xyz, below, surface.normals, surface.faces)] = 0
    return below


def _outside(xyz: np.ndarray, below: Depths, normals: np.ndarray, faces: np.ndarray | None) -> np.ndarray:
    """Indices of the atoms that the surface does not go round, of those that are not clearly below the nearest place.
    That alone may be of the far wall of a crease, or of a cavity with few points. A normal that is not known says
    nothing."""
    places, deep = np.asarray(below.tree.data), np.flatnonzero(below.depth)
    own = below.nearest[deep]
    cosines = np.einsum("ij,ij->i", unit_vectors(xyz[deep] - places[own]), normals[own])
    atoms = deep[~(cosines < -0.5)]
    outside = ((xyz[atoms] < places.min(axis=0)) | (xyz[atoms] > places.max(axis=0))).any(axis=1)
    near = np.flatnonzero(~outside)
    if len(near):
        outside[near] = _windings(xyz[atoms[near]], below.tree, normals, faces) < 0.5
    return np.asarray(atoms[outside])


def _windings(points: np.ndarray, tree: cKDTree, normals: np.ndarray, faces: np.ndarray | None) -> np.ndarray:
    """How often places with outward normals go round each of the points (n,): 1 inside of a closed surface, 0 outside.

    Every place is a dipole of its area: Barill et al. 2018, *Fast winding numbers for soups and clouds*, equation 4.
    """
    middle, extent = tree.data.mean(axis=0), np.ptp(tree.data, axis=0).max() or 1.0
    places, points = (tree.data - middle) / extent, (points - middle) / extent
    whole = faces is not None and np.bincount(faces.ravel(), minlength=len(places)).all()
    areas = _areas_by_faces(places, faces) if faces is not None and whole else _areas_by_neighbours(places)
    dipoles = np.nan_to_num(normals) * (areas / (4 * np.pi))[:, np.newaxis]
    found = []
    for start in range(0, len(points), step := max(1, _PAIRS_AT_ONCE // len(places))):
        away = places - points[start : start + step, np.newaxis]
        found.append(np.einsum("ijk,jk->i", away / np.linalg.norm(away, axis=2, keepdims=True) ** 3, dipoles))
    return np.concatenate(found)


def _areas_by_faces(places: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """A third of each triangle at its corners."""
    first, second, third = (places[corner] for corner in faces.T)
    areas = np.linalg.norm(np.cross(second - first, third - first), axis=1) / 6
    return np.bincount(faces.ravel(), np.repeat(areas, 3), len(places))


def _areas_by_neighbours(places: np.ndarray) -> np.ndarray:
    """Of the circle that a place shares with its nearest neighbours; they may be far from the few of a cavity."""
    count = min(_NEIGHBOURS, len(places) - 1)
    areas = np.pi * tree_of(places).query(places, [count + 1])[0][:, 0] ** 2 / max(count, 1)
    return np.asarray(np.minimum(areas, _UNEVEN * np.median(areas)))


def heights(molecule: Molecule, surface: Surface, points: np.ndarray, probe: float) -> tuple[np.ndarray, np.ndarray]:
    """Signed distances (n,) of ``points`` to ``surface`` in A, and for each the index of the nearest surface point."""
    distance, nearest = nearest_of(tree_of(surface.points), points)
    if surface.faces is not None:
        assert surface.normals is not None
        above = np.einsum("ij,ij->i", points - surface.points[nearest], surface.normals[nearest]) >= 0
        return np.where(above, distance, -distance), nearest
    xyz, radius = bodies(molecule)
    # Balls of different radii R_i become balls of the largest radius R in four dimensions: atom i is moved along the
    # fourth axis by sqrt(R^2 - R_i^2). A point is then in some ball where its nearest neighbour is nearer than R.
    reach = radius + probe
    farthest = reach.max()
    lifted = np.column_stack([xyz, np.sqrt((farthest - reach) * (farthest + reach))])  # never below 0, unlike squares
    hindered = nearest_of(tree_of(lifted), np.column_stack([points, np.zeros(len(points))]))[0] < farthest
    below, standing_nearest = nearest_of(tree_of(standing(surface, probe)), points[hindered])
    distance[hindered], nearest[hindered] = probe - below, standing_nearest
    return distance, nearest


def bodies(molecule: Molecule) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and radii (n,) of the atoms with a radius above zero, float64."""
    if molecule.radius is None or not molecule.radius.any():
        raise ArrayError("radius: no atom has one, so there is no surface; give radii in A")
    some = np.flatnonzero(molecule.radius)
    return molecule.xyz[some].astype(np.float64), molecule.radius[some].astype(np.float64)


def standing(surface: Surface, probe: float) -> np.ndarray:
    """Centres (M, 3) of balls of radius ``probe`` that touch the surface from outside at its points, float64."""
    check_probe(probe)
    return surface.points + probe * needed_normals(surface, "a probe standing on it").astype(np.float64)


def check_probe(probe: float) -> None:
    if not 0 <= probe <= LONGEST:
        raise ParameterError(f"probe: {probe} is not a radius; give one in A, at least 0, 1.4 for water")


def nearest_of(tree: cKDTree, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest place and its index, for each point (n,); signals are answered between parts."""
    distance, index = np.empty(len(points)), np.empty(len(points), np.intp)
    for start in range(0, len(points), _POINTS_AT_ONCE):
        part = slice(start, start + _POINTS_AT_ONCE)
        distance[part], index[part] = tree.query(points[part])
    return distance, index


def tree_of(points: np.ndarray) -> cKDTree:
    from scipy.spatial import cKDTree

    return cKDTree(points)
