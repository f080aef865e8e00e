"""``gpuopt.gem``: the electrostatic potential of a molecule at points around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.molecule import Molecule, Surface
from gpuopt.molecule import electrostatic_size as size_of
from gpuopt.point_arrays import LONGEST
from gpuopt.remembered import remembered
from gpuopt.resolution import resolve
from gpuopt.selection import Selector, select
from gpuopt.workloads.gem import choice
from gpuopt.workloads.gem.contacts import warn_of_contacts
from gpuopt.workloads.gem.pairs import Scene, as_molecule, as_surface
from gpuopt.workloads.gem.solvation import Model


@checked
def gem(  # long: half of it is what users read of its arguments
    molecule: Molecule | Sequence[Any],
    surface: Surface | np.ndarray | Sequence[Any],
    *,
    salt: float = 0.0,
    epsilon_in: float = 1,
    epsilon_out: float = 80,
    projection: float = 0.0,
    ion_exclusion: float = 2.0,
    phi_type: str = "total",
    electrostatic_size: float | None = None,
    constants: str | Mapping[str, float] = "accurate",
    compat: str | None = None,
    nearest: float | None = None,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> np.ndarray:
    """Return the electrostatic potential of a molecule at points on, around or inside its surface.

    A solvent model in closed form (Fenley, Gordon, Onufriev, J. Chem. Phys. 129, 075101, 2008), summed over all pairs
    of an atom and a point (GEM; Daga, Scogland, Feng 2011).

    Parameters
    ----------
    molecule
        A :class:`Molecule`, or a tuple of xyz (N, 3) in A, charge (N,) in e and radius (N,) in A; float32 or float64.
        Radii are needed unless ``electrostatic_size`` is given. Points inside the molecule need the atoms' depths
        (:func:`gpuopt.molecule.with_depth`), but for the potential "coulomb".
    surface
        A :class:`Surface`, points (M, 3) in A, or a tuple of points and outward normals (M, 3), of the molecule's
        dtype. Salt and a projection need the normal of each point. Points with a ``height`` (such as those of a grid)
        are in the region that their height says; the others are ``projection`` A above the surface (negative: inside).
    salt
        Concentration of a 1:1 salt, mol/l.
    epsilon_in, epsilon_out
        Dielectric constants of molecule and solvent.
    projection, ion_exclusion
        Lengths along the normal in A: where the potential is computed, and how far from the surface ions begin.
    phi_type
        "total", "coulomb" (the charges in the molecule's dielectric only) or "reaction" (total minus coulomb).
    electrostatic_size
        The molecule's effective radius in A; None takes :func:`gpuopt.electrostatic_size`.
    constants
        "accurate", "legacy" (Coulomb's constant 332, as in the published examples), or a mapping that replaces some of
        the accurate ones: "coulomb" (kcal A / (mol e^2)), "kappa" (1/A), "temperature" (K).
    compat
        "opendwarfs" leaves out a term inside the molecule, as the program of that name does; None computes all terms.
    nearest
        Distance in A: atoms closer to a point are computed as if they were at this distance. None raises ArrayError for
        a point on an atom, where the potential is infinite. The reaction potential inside the molecule is finite on
        atoms (Gordon, Fenley, Onufriev, J. Chem. Phys. 129, 075102, 2008), and is computed there too.
    variant
        A variant's name, a preset (``"paper:basic"``) or a Configuration; None takes the best one known for the device.
    device
        Where to run; see :func:`gpuopt.use`.

    Returns
    -------
    NumPy array (M,) of the molecule's dtype in kcal/(mol e); divide by 0.592485 for kT/e at 298.15 K. In float32 errors
    are about 1e-6 of the sum of the terms' magnitudes; among the ions, with the inverse Debye length kappa, 6e-8 times
    kappa and the distance from the centre come on top, 2.4e-7 times with the formulas as written. A Configuration with
    RSQRT=1 has the device's native_rsqrt, whose errors OpenCL leaves open: 5e-5 on Intel's CPU runtime.

    Warns
    -----
    PrecisionWarning
        For points inside the molecule that lie so near to an atom that float32 coordinates, as they are rounded, leave
        the potential uncertain by more than 1 % (at coordinates of 30 A, within about 3e-4 A).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError

    Examples
    --------
    At the surface of an ion it is K q / (epsilon_out radius), with K = 332.06371 kcal A / (mol e^2):

    >>> ion = gpuopt.Molecule([[0, 0, 0]], charge=[1], radius=[2]).astype("float32")
    >>> gpuopt.gem(ion, np.array([[0, 0, 2]], np.float32)).round(2)
    array([2.08], dtype=float32)
    """
    atoms, points = as_molecule(molecule), as_surface(surface)
    model = Model.of(
        salt=salt,
        epsilon_in=epsilon_in,
        epsilon_out=epsilon_out,
        ion_exclusion=ion_exclusion,
        phi_type=phi_type,
        size=size_or_own(electrostatic_size, atoms),
        constants=constants,
        compat=compat,
    )
    chosen = select(device)
    scene = Scene.of(atoms, points, model, projection)
    form, sizes = scene.form, (len(atoms), len(points))

    def choose() -> Configuration:
        if variant is None:
            return choice.chosen(chosen, atoms.dtype.name, form, *sizes)
        return resolve("gem", chosen, atoms.dtype.name, variant, {"form": lambda: form})

    configuration = remembered("gem", chosen, atoms.dtype, variant, choose, (form, *choice.size_class(*sizes)))
    phi = scene.run(configuration, chosen, nearest)
    warn_of_contacts(scene, nearest, stacklevel=3)
    return phi


def size_or_own(electrostatic_size: float | None, molecule: Molecule) -> float:
    """Return the electrostatic size in A that was given, or that of the molecule. Raises ArrayError where it has no
    radii, ParameterError for what is no radius."""
    size = size_of(molecule) if electrostatic_size is None else electrostatic_size
    if not (isinstance(size, int | float | np.integer | np.floating) and 0 < size <= LONGEST):
        raise ParameterError(
            f"electrostatic_size: {size!r} is not a radius; give A above 0, up to {LONGEST:g}, or None to compute it"
        )
    return size
