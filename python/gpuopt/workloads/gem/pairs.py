"""The arrays of a sum over all pairs of an atom and a point, made from a molecule and a surface and checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, ParameterError, Prepared
from gpuopt.configuration import Configuration
from gpuopt.molecule import Molecule, Surface, needed_normals
from gpuopt.point_arrays import LONGEST, lent
from gpuopt.workloads.gem.solvation import ALPHA, Model

_EXPANDED_ERROR = 1e-2  # largest error of expanded squares, as a part of the smallest squared distance
_TOUCHING_A = 1e-6  # far below the resolution of coordinates
_SHALLOW_A = 1e-3  # far above it
_LOST = 1e12  # kcal/(mol e): above it, a value is no potential but 1/sqrt(0), made finite by the way it was computed
_DISTANCES_AT_ONCE = 1 << 20  # held at the same time
_LARGEST = {np.dtype(name): float(np.finfo(name).max) for name in ("float32", "float64")}


@dataclass(frozen=True, eq=False)
class Scene:
    """Atoms and points as the kernels and the oracle take them; lengths in A, charges in e.

    ``xyz`` (N, 3), ``charge`` (N,), ``points`` (M, 3). ``shift`` (M, 3) leads from a point to the edge of the layer
    without ions; None without salt. These have one dtype. ``r`` (M,) float64 is a point's distance from the centre,
    ``inner`` (N,) float64 an atom's, at most the model's size; None where no point is inside the molecule.
    """

    xyz: np.ndarray
    charge: np.ndarray
    inner: np.ndarray | None
    points: np.ndarray
    shift: np.ndarray | None
    r: np.ndarray
    model: Model

    @classmethod
    def of(cls, molecule: Molecule, surface: Surface, model: Model, projection: float = 0.0) -> Scene:
        """Return the scene of the points ``projection`` A above the surface, along its normals. Raises ArrayError for
        different dtypes, for normals that are missing or not known, and for points inside a molecule without depths;
        ParameterError for a projection that is not a number, and for one where the points have heights of their own."""
        if not _is_number(projection):
            raise ParameterError(
                f"projection: {projection!r} is not a length up to {LONGEST:g}; give one in A, along the normal"
            )
        if surface.dtype != molecule.dtype:
            raise ArrayError(
                f"surface: its dtype is {surface.dtype.name}, the molecule's {molecule.dtype.name}; use "
                f"surface.astype('{molecule.dtype.name}') or molecule.astype('{surface.dtype.name}')"
            )
        if surface.height is not None and projection:
            raise ParameterError("projection: the surface's points have heights of their own; leave it out")
        salt = model.kappa > 0 and model.phi_type != "coulomb"
        dtype, normals, points = molecule.dtype, None, surface.points
        if projection or salt:
            normals = needed_normals(surface, "a projection" if projection else "salt")
        if projection:
            points = points + dtype.type(projection) * normals
        heights = np.full(len(points), projection) if surface.height is None else surface.height.astype(np.float64)
        shift = None
        if salt:
            lengths = (model.ion_exclusion - heights).astype(dtype)
            shift = lengths[:, np.newaxis] * normals
        r = np.maximum(model.size + heights, 0.0)
        inner = None
        if model.phi_type != "coulomb" and r.min() < model.size:
            inner = _inner(molecule, model.size)
        return cls(molecule.xyz, molecule.charge, inner, points, shift, r, model)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the functions of ``gpuopt.workloads.gem.reference``, in their order."""
        return self.xyz, self.charge, self.points, self.shift, self.r, self.model, self.inner

    def part(self, rows: np.ndarray) -> Scene:
        """Return the scene with all atoms and the points of these indices."""
        shift = None if self.shift is None else self.shift[rows]
        return Scene(self.xyz, self.charge, self.inner, self.points[rows], shift, self.r[rows], self.model)

    @property
    def form(self) -> str:
        """Which of the minimal formulas computes the potentials: "K0" to "K3", or "K3-salt"; "mixed" where the points
        lie in regions that need different ones."""
        if self.model.phi_type == "coulomb":
            return "K0"
        ends = float(self.r.min()), float(self.r.max())  # regions do not fall with the distance
        least, most = (self.model.region(math.nextafter(r, math.inf) if r == self.model.size else r) for r in ends)
        if least != most:
            return "mixed"
        salt = self.model.kappa > 0
        return ("K3-salt" if salt else "K3", "K1" if salt else "K0", "K2" if salt else "K0")[least - 1]

    def prepare(self, configuration: Configuration, out: DeviceArray, nearest: float = 0.0) -> Prepared:
        """Return the plan of these sums on the device of ``out`` (M,); uploads all arrays."""
        return _core.prepare_gem(**self._arguments(configuration, out, nearest))

    def _compute(self, configuration: Configuration, device: Device, nearest: float) -> np.ndarray:
        out = _core.empty((len(self.points),), self.xyz.dtype, device)
        _core.gem(**self._arguments(configuration, out, nearest))
        return out.to_numpy()

    def _arguments(self, configuration: Configuration, out: DeviceArray, nearest: float) -> dict[str, Any]:
        numbers = {key: value for key, value in vars(self.model).items() if isinstance(value, float)}
        return {
            "xyz": self.xyz,
            "charge": self.charge,
            "inner": self.inner,
            "points": self.points,
            "shift": self.shift,
            "r": self.r,
            "numbers": numbers | {"alpha": ALPHA},
            "part": self.model.phi_type,
            "compat": self.model.compat,
            "nearest": nearest,
            "out": out,
            "variant": configuration.variant,
            "parameters": configuration.parameters,
        }

    def run(self, configuration: Configuration, device: Device, nearest: float | None) -> np.ndarray:
        """Return the potentials (M,) in kcal/(mol e). Atoms closer to a point than ``nearest`` A are computed as at
        this distance; with None, a point on an atom raises ArrayError."""
        if nearest is not None and not (_is_number(nearest) and nearest >= _TOUCHING_A):
            raise ParameterError(
                f"nearest: {nearest!r} is out of range; give {_TOUCHING_A:g} to {LONGEST:g} A; None refuses contacts"
            )
        self._refuse_lengths()
        self._refuse_expanded(configuration)
        phi = self._compute(configuration, device, nearest or 0.0)
        near = np.abs(phi) < _LOST
        if not near.all():
            lost = np.flatnonzero(~near)
            phi[lost] = self.part(lost)._near(configuration, device, lost)
        return phi

    def _near(self, configuration: Configuration, device: Device, names: np.ndarray) -> np.ndarray:
        """Return the potentials of points whose sums overflowed. Either an atom or its image lies on the point, which
        raises ArrayError, or atoms lie where the point's ions begin, and the potential is finite after all. ``names``
        are the caller's indices of these points."""
        rows = max(1, _DISTANCES_AT_ONCE // len(self.xyz))
        for start in range(0, len(self.points), rows):
            here = slice(start, start + rows)
            with np.errstate(over="ignore"):  # of great lengths: these touch nothing
                apart = np.linalg.norm(self.points[here, np.newaxis].astype(np.float64) - self.xyz, axis=2)
            touching = np.argwhere((apart <= _TOUCHING_A) & self._infinite_on_atoms(here))
            if len(touching):
                row, atom = touching[0]
                where = "on" if apart[row, atom] == 0 else f"{apart[row, atom]:.2g} A from"
                raise ArrayError(
                    f"surface: point {names[start + row]} lies {where} atom {atom}, where the potential is infinite; "
                    "move it, or give nearest=, the distance in A at which closer atoms are computed"
                )
            shallow = (apart <= _TOUCHING_A).any(axis=1) & (self.model.size - self.r[here] < _SHALLOW_A)
            if shallow.any():  # the atom's own image is as near, and would be moved, too
                name = names[start + int(shallow.argmax())]
                raise self._beyond(f"the potential at point {name}, on an atom just below the surface, is too great")
        exact = dict(configuration.parameters) | ({"DISTANCE": 0} if "DISTANCE" in configuration.parameters else {})
        phi = self._compute(
            Configuration(configuration.variant, **exact), device, 0.0 if self.shift is None else _TOUCHING_A
        )
        lost = np.flatnonzero(~(np.abs(phi) < _LOST))
        if len(lost):
            raise self._beyond(f"the potential at point {names[lost[0]]} is {phi[lost[0]]:.3g}")
        return phi

    def _beyond(self, told: str) -> ArrayError | ParameterError:
        """Why a point has no potential: of great charges, of a small size or permittivity, or of an atom near to it."""
        dtype, model = self.xyz.dtype, self.model
        wider = "" if dtype == np.float64 else ", or use float64"
        charge = float(np.abs(self.charge).max())
        whole = model.coulomb * charge * len(self.xyz)
        if not whole < _LOST:
            return ArrayError(
                f"molecule: {told}: a charge of {charge:.3g} e is beyond what is computed; give them in e"
            )
        for name, value in (("epsilon_in", model.epsilon_in), ("epsilon_out", model.epsilon_out)):
            if not whole < _LOST * value:
                return ParameterError(f"{name}: {told}: a permittivity of {value:.3g} is too small; give a larger one")
        if model.phi_type != "coulomb" and not whole < _LOST * model.size:
            return ParameterError(f"electrostatic_size: {told}: {model.size:.3g} A is too small; give a larger one")
        return ArrayError(
            f"surface: {told}: an atom is too near for {dtype.name}; move the point, give nearest={wider}"
        )

    def _infinite_on_atoms(self, rows: slice) -> np.ndarray:
        """Of points and atoms (m, N) or (1, 1): whether the potential is infinite where one lies on the other. That of
        the reaction has no such term inside the molecule; the kernels see the points' r in the arrays' dtype."""
        if self.model.phi_type != "reaction" or self.inner is None:
            return np.ones((1, 1), bool)
        size = self.model.size
        outside = self.r[rows, np.newaxis].astype(self.xyz.dtype) >= self.xyz.dtype.type(size)
        return np.asarray(outside | (self.inner >= size))

    def _refuse_lengths(self) -> None:
        """Raise ArrayError where a product of lengths leaves the dtype: the inverse of an infinite length is zero,
        which no sum shows. Formulas with salt, and those inside, multiply four lengths, and a difference is twice as
        long."""
        largest, arrays = _LARGEST[self.xyz.dtype], (self.xyz, self.points, self.r)
        short = largest**0.25 / 4
        if self.shift is not None:
            numbers = ("ion_exclusion", self.model.ion_exclusion, "A"), ("kappa", self.model.kappa, "/A")
            for name, value, unit in numbers:
                if value > short:
                    raise ParameterError(f"{name}: {value:.3g} {unit} is beyond what {self.xyz.dtype.name} computes")
        if self.model.size < short and all(np.vdot(array, array) < short**2 for array in arrays):
            return
        extent = max(*(float(np.abs(array).max(initial=0.0)) for array in arrays), self.model.size)
        if extent < short or (self.form == "K0" and 4 * extent < largest**0.5):
            return
        wider = "" if self.xyz.dtype == np.float64 else ", or use float64"
        if self.model.size > 4 * max(float(np.abs(array).max()) for array in arrays[:2]):
            raise ParameterError(
                f"electrostatic_size: {self.model.size:.3g} A is beyond what is computed; give the molecule's{wider}"
            )
        raise ArrayError(
            f"molecule: with its surface it has a length of {extent:.3g} A, beyond what is computed; "
            f"give lengths in A{wider}"
        )

    def _refuse_expanded(self, configuration: Configuration) -> None:
        """Raise ArrayError where expanded squares of distances, |a|^2 + |p|^2 - 2 a.p, are too inaccurate. Their error
        grows with the square of the extent, and shows nowhere in the result."""
        if configuration.parameters.get("DISTANCE", 0) == 0:
            return
        from scipy.spatial import cKDTree

        nearest, _ = cKDTree(self.xyz).query(self.points)
        middle = (self.xyz.min(axis=0) + self.xyz.max(axis=0)) / 2
        extent = float(np.abs(self.points - middle).max()) * 3**0.5
        lost = 4 * float(np.finfo(self.xyz.dtype).eps) * extent**2
        if lost > _EXPANDED_ERROR * float(nearest.min()) ** 2:
            raise ArrayError(
                f"surface: point {int(nearest.argmin())} is {nearest.min():.3g} A from an atom, too near for "
                f"DISTANCE=1 and 2 over {extent:.3g} A in {self.xyz.dtype.name}; use DISTANCE=0"
            )


def _inner(molecule: Molecule, size: float) -> np.ndarray:
    """Distances (N,) of the atoms from the centre of the model's sphere, from their depths below its surface."""
    if molecule.depth is None:
        raise ArrayError(
            "molecule: it has no depth, which potentials inside it need; use gpuopt.molecule.with_depth(molecule, "
            "surface)"
        )
    return np.clip(size - molecule.depth.astype(np.float64), 0.0, size)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float | np.integer | np.floating) and bool(-LONGEST <= given <= LONGEST)


def as_molecule(given: Molecule | Sequence[Any], keep: bool = False) -> Molecule:
    """Return ``given`` as a Molecule; it is one, or a tuple of its arrays in order, which it copies where it is to be
    kept for longer than a call. Raises ArrayError for anything else."""
    if isinstance(given, Molecule):
        return given
    if isinstance(given, tuple | list) and 2 <= len(given) <= 4:
        return Molecule(*(given if keep else map(lent, given)))
    raise ArrayError(
        f"molecule: {_kind(given)} is not a molecule; give gpuopt.Molecule(xyz, charge, radius), a tuple of these, or "
        "gpuopt.io.read_pqr(path)"
    )


def as_surface(given: Surface | np.ndarray | Sequence[Any], keep: bool = False) -> Surface:
    """Return ``given`` as a Surface; it is one, an array of points, or a tuple of its arrays in order, which it copies
    where it is to be kept for longer than a call. Raises ArrayError for anything else."""
    if isinstance(given, Surface):
        return given
    if isinstance(given, np.ndarray):
        return Surface(given if keep else lent(given))
    if isinstance(given, tuple | list) and any(isinstance(one, Surface) for one in given):
        raise ArrayError(
            "surface: it is a tuple that holds a Surface; give the Surface alone, the first of what "
            "gpuopt.molecule.grid returns: points, grid = gpuopt.molecule.grid(molecule, surface)"
        )
    if isinstance(given, tuple | list) and 1 <= len(given) <= 4:
        return Surface(*(given if keep else map(lent, given)))
    raise ArrayError(
        f"surface: {_kind(given)} is not a surface; give gpuopt.Surface(points, normals), points (M, 3), or "
        "gpuopt.io.read_surface(path)"
    )


def _kind(given: object) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape}"
    return f"a sequence of {len(given)}" if isinstance(given, tuple | list) else repr(given)
