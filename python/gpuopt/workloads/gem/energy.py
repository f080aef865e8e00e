"""``gpuopt.solvation_energy``: what it takes to bring a molecule's charges from its own dielectric into water."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.molecule import Molecule, Surface, at_atoms, surface_points
from gpuopt.point_arrays import LONGEST
from gpuopt.selection import Selector, select
from gpuopt.workloads.gem.contacts import PrecisionWarning
from gpuopt.workloads.gem.operation import gem, size_or_own
from gpuopt.workloads.gem.pairs import as_molecule, as_surface
from gpuopt.workloads.gem.solvation import ALPHA, Model

# The largest error of a potential, of the sum of its terms' magnitudes: of the terms, and of n of them added in a row,
# in unit roundoffs times the root of n (measured: 0.25 as a standard deviation). A tuned configuration may add so.
_RELATIVE = {"float32": 2e-6, "float64": 2e-13}
_OF_SUMS = 1.5
_SHALLOWEST_A = 1e-6  # far below the resolution of coordinates
_MOST_DEPTHS = 1e10


@checked
@dataclass(frozen=True)
class SolvationEnergy:
    """The energy in ``kcal_per_mol``; ``float()`` of it is the same number.

    ``error`` is a bound of its rounding error in kcal/mol, and says nothing about the model; ``dtype`` is in which
    floating-point numbers the potentials were computed, "float32" or "float64".

    Examples
    --------
    >>> energy = gpuopt.SolvationEnergy(kcal_per_mol=-82.0, error=0.0002, dtype="float32")
    >>> float(energy)
    -82.0
    """

    kcal_per_mol: float
    error: float
    dtype: str

    def __float__(self) -> float:
        return self.kcal_per_mol


@checked
def solvation_energy(  # long: half of it is what users read of its arguments
    molecule: Molecule | Sequence[Any],
    surface: Surface | np.ndarray | Sequence[Any] | None = None,
    *,
    salt: float = 0.0,
    epsilon_in: float = 1,
    epsilon_out: float = 80,
    ion_exclusion: float = 2.0,
    electrostatic_size: float | None = None,
    constants: str | Mapping[str, float] = "accurate",
    probe: float = 1.4,
    tolerance: float = 0.01,
    device: Selector = None,
) -> SolvationEnergy:
    """Return the electrostatic part of a molecule's solvation energy: half the sum of q_i phi_i, where phi_i is the
    reaction potential at atom i.

    Without salt this is the ALPB energy (Sigalov, Fenley, Onufriev, J. Chem. Phys. 124, 124902, 2006)
    ``-K/2 (1/epsilon_in - 1/epsilon_out) / (1 + alpha beta) sum_ij q_i q_j (1/f_ij + alpha beta / A)``, with
    beta = epsilon_in / epsilon_out, alpha = 0.571412, the electrostatic size A and f_ij of a sphere,
    ``f_ij^2 = d_ij^2 + R_i R_j`` with ``R_i = A - r_i^2 / A``, ``r_i = max(A - depth_i, 0)``. The potential, also with
    salt, is that of :func:`gpuopt.gem` (Gordon, Fenley, Onufriev, J. Chem. Phys. 129, 075102, 2008).

    Parameters
    ----------
    molecule
        As in :func:`gpuopt.gem`; float32 or float64. Each atom's ``depth`` below the surface is taken where the
        molecule has it.
    surface
        As in :func:`gpuopt.gem`, for the depths, and for normals with salt; of either dtype. None takes
        :func:`gpuopt.molecule.surface_points` of the radii where it is needed. Its normals say which atoms are outside;
        without normals all are taken for inside.
    salt, epsilon_in, epsilon_out, ion_exclusion, electrostatic_size, constants
        As in :func:`gpuopt.gem`.
    probe
        Radius in A of the ball that touches the surface from outside (:func:`gpuopt.molecule.with_depth`).
    tolerance
        Largest rounding error in kcal/mol. Of a float32 molecule potentials are computed in float32 where their error
        surely allows that, else in float64, of the same coordinates.
    device
        Where to run; see :func:`gpuopt.use`.

    Returns
    -------
    SolvationEnergy: ``kcal_per_mol``, a bound of its rounding ``error``, and the ``dtype`` of the potentials.

    Raises
    ------
    ArrayError also for an atom with a charge that is not below the surface, as far as normals or its ``depth`` say: its
    own reaction potential is infinite.
    Else as :func:`gpuopt.gem`.

    Warns
    -----
    PrecisionWarning
        Where float32 does not keep the tolerance and the device has no float64.

    Examples
    --------
    Of a ball with its charge in the middle this is Born's energy, -K/2 (1/epsilon_in - 1/epsilon_out) q^2 / radius:

    >>> ion = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2], depth=[2]).astype("float32")
    >>> round(float(gpuopt.solvation_energy(ion)), 1)
    -82.0
    """
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise ParameterError(f"tolerance: {tolerance} is not an error; give one in kcal/mol, say 0.01")
    given = as_molecule(molecule)
    model = Model.of(
        salt=salt,
        epsilon_in=epsilon_in,
        epsilon_out=epsilon_out,
        ion_exclusion=ion_exclusion,
        phi_type="reaction",
        size=size_or_own(electrostatic_size, given),
        constants=constants,
    )
    wide = given.astype("float64")
    places = _places(wide, None if surface is None else as_surface(surface), model.kappa > 0, probe)
    assert places.height is not None
    charged = np.flatnonzero(wide.charge)
    shallow = charged[-places.height[charged] < _SHALLOWEST_A]
    if len(shallow) and given.depth is not None:
        raise ArrayError(
            f"molecule: by its depth atom {shallow[0]}, which has a charge, lies on the surface, where the atom's own "
            "reaction potential is infinite; give depths above 0, or none"
        )
    if len(shallow):
        raise ArrayError(
            f"surface: atom {shallow[0]} has a charge and lies on it or outside, where the atom's own reaction "
            "potential is infinite; give a surface around all charges, with its normals outwards"
        )
    least = float(-places.height[charged].max(initial=-LONGEST))
    if model.size > _MOST_DEPTHS * least:  # depths would be lost in the distances from the centre
        raise ParameterError(
            f"electrostatic_size: {model.size:.3g} A is too large beside an atom {least:.3g} A below the surface; give "
            "the molecule's, or None to compute it"
        )
    chosen = select(device)
    error = {dtype: _error(wide, -places.height, model, dtype) for dtype in _RELATIVE}
    dtype = given.dtype.name
    if dtype == "float32" and error[dtype] > tolerance:
        if chosen.fp64:
            dtype = "float64"
        else:
            warnings.warn(
                f"device: {chosen.name} has no float64, and float32 may be wrong by {error[dtype]:.2g} kcal/mol, above "
                "the tolerance; use a device with float64",
                PrecisionWarning,
                stacklevel=3,
            )
    if not len(charged):
        return SolvationEnergy(0.0, 0.0, dtype)
    normals = None if places.normals is None else places.normals[charged]
    if normals is not None and model.kappa > 0 and np.isnan(normals).any():
        atom = charged[np.isnan(normals).any(axis=1)][0]
        raise ArrayError(
            f"surface: the normal of its point nearest to atom {atom} is not known, and salt needs it; compute it, or "
            "leave the point out"
        )
    phi = gem(
        Molecule(wide.xyz, wide.charge, wide.radius, -places.height).astype(dtype),
        Surface(places.points[charged], normals, height=places.height[charged]).astype(dtype),
        phi_type="reaction",
        salt=salt,
        epsilon_in=epsilon_in,
        epsilon_out=epsilon_out,
        ion_exclusion=ion_exclusion,
        electrostatic_size=model.size,
        constants=constants,
        device=chosen,
    )
    return SolvationEnergy(float(wide.charge[charged] @ phi.astype(np.float64)) / 2, error[dtype], dtype)


def _places(molecule: Molecule, surface: Surface | None, salt: bool, probe: float) -> Surface:
    """Return the atoms as points with heights and, where there is salt, normals."""
    if molecule.depth is not None and not salt:
        return Surface(molecule.xyz, height=-molecule.depth)
    return at_atoms(molecule, surface_points(molecule, probe) if surface is None else surface, probe)


def _error(molecule: Molecule, depth: np.ndarray, model: Model, dtype: str) -> float:
    """Return a bound of the energy's rounding error in kcal/mol, of potentials in ``dtype``.

    It is a share of half the sum of |q_i| times the magnitude of the terms at atom i. Of the images f_ij is at least
    (R_i R_j)^(1/2), so that their double sum is at most that of |q_i| / R_i^(1/2), squared. Besides, the literal
    formulas make R_i of r_i and A, which are rounded, and lose digits where both are large beside the depth.
    """
    charge = np.abs(molecule.charge)
    below = np.minimum(depth, model.size)
    reach = np.minimum(_SHALLOWEST_A, model.size)
    born = np.maximum(below * (2 - below / model.size), reach)
    terms = charge / np.sqrt(born)
    images = float(terms.sum())
    relative = max(_RELATIVE[dtype], _OF_SUMS * float(np.finfo(dtype).eps) / 2 * math.sqrt(len(charge)))
    lost = float(np.finfo(dtype).eps) * model.size * float((terms / np.maximum(below, reach)).sum())
    image = abs(model.contrast) / (1 + ALPHA * model.beta)
    outer = ALPHA * abs(model.contrast) * model.epsilon_in * model.prefactor / model.size
    ions = (1 + ALPHA) * model.prefactor * model.kappa
    whole = float(charge.sum())
    rest = relative * (outer + ions) * whole * whole  # too large: infinite, where ** 2 is an OverflowError
    return model.coulomb / 2 * (image * images * (relative * images + lost) + rest)
