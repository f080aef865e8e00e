"""Molecules, surfaces given by points, and grids, as records of checked arrays; `gpuopt.molecule` offers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError
from gpuopt.checked import checked, methods_checked, real_dtype
from gpuopt.point_arrays import ReadOnly, array_of, cast, faces_of, normals_of, refuse_far, refuse_negative


@methods_checked
@dataclass(frozen=True, eq=False, repr=False)
class Molecule(ReadOnly):
    """N charged atoms: ``xyz`` (N, 3) A, ``charge`` (N,) e, ``radius`` (N,) A, ``depth`` (N,) A.

    :func:`electrostatic_size` and :func:`surface_points` need ``radius``. Potentials inside the molecule need
    ``depth``, each atom's distance to the surface (:func:`with_depth`). The arrays are read-only: those that somebody
    may write to, and mapped files, are copied, C-contiguous others kept; lists become float64. Raises ArrayError for a
    dtype other than native float32 or float64, for two dtypes, shapes that do not fit, no atom, NaN, infinity, negative
    radii or depths, and coordinates or radii beyond 1e30 A.

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
        refuse_far("xyz", xyz)
        object.__setattr__(self, "xyz", xyz)
        for name in ("charge", "radius", "depth"):
            given = getattr(self, name)
            if given is not None:
                values = array_of(name, given, (len(xyz),), xyz.dtype, "xyz")
                if name != "charge":
                    refuse_negative(name, values)
                if name == "radius":
                    refuse_far(name, values)
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
        """Return the molecule in ``dtype``, itself where it has it. Raises ArrayError for a number beyond it,
        ParameterError for a dtype other than float32 and float64."""
        if real_dtype(dtype) == self.dtype:
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
    needs it raises ArrayError. ``faces`` are triangles, each of three indices of points, kept as int64; none at all are
    None. ``height`` is given for points that do not lie on the molecular surface: their signed distance to it, negative
    inside. Dtypes and layout are those of :class:`Molecule`. Raises ArrayError as it does, and for a normal of length
    zero and a face with an index that no point has.

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
        refuse_far("points", points)
        object.__setattr__(self, "points", points)
        if self.normals is not None:
            object.__setattr__(self, "normals", normals_of(self.normals, points))
        if self.height is not None:
            height = array_of("height", self.height, (len(points),), points.dtype, "points")
            object.__setattr__(self, "height", height)
        if self.faces is not None:
            faces = faces_of(self.faces, len(points))
            object.__setattr__(self, "faces", faces if len(faces) else None)

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
        """Return the surface in ``dtype``, itself where it has it. Raises ArrayError for a number beyond it,
        ParameterError for a dtype other than float32 and float64."""
        if real_dtype(dtype) == self.dtype:
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
    The index of z runs fastest, as in OpenDX.

    Examples
    --------
    >>> molecule.Grid(origin=(0.0, 0.0, 0.0), spacing=0.5, shape=(2, 2, 3)).shape
    (2, 2, 3)
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]


class Contact(NamedTuple):
    """The atom and the surface point that are closest to each other: their ``distance`` in A and their indices.

    Examples
    --------
    >>> molecule.Contact(1.5, atom=1, point=0).distance
    1.5
    """

    distance: float
    atom: int
    point: int
