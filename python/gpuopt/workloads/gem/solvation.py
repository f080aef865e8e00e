"""The constants of the solvent model in closed form, for a molecule in salt water.

A sphere of radius ``size`` and dielectric constant ``epsilon_in`` contains the charges. Around it is water with the
constant ``epsilon_out``, without ions up to ``ion_exclusion`` from the surface (Fenley, Gordon, Onufriev 2008). The
formulas are in ``gpuopt.workloads.gem.reference``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ParameterError
from gpuopt.point_arrays import LONGEST

ALPHA = 0.571412
PHI_TYPES = ("total", "coulomb", "reaction")

ACCURATE_COULOMB = 332.06371  # kcal A / (mol e^2)
LEGACY_COULOMB = 332.0
LEGACY_KAPPA = 0.316  # 1/A at 1 mol/l, whatever the dielectric constant
TEMPERATURE = 298.15  # K
AVOGADRO_PER_LITRE = 6.02214076e-4  # ions per A^3 at 1 mol/l
GAS_CONSTANT = 8.31446261815324 / 4184  # kcal / (mol K)

_CONSTANTS = ("accurate", "legacy")
_SETTABLE = ("coulomb", "kappa", "temperature")
_COMPAT = ("opendwarfs",)


@dataclass(frozen=True, kw_only=True)
class Model:
    """Everything that the potential depends on besides the charges and the points.

    :meth:`of` derives the constants from the salt. Raises ParameterError for numbers that are not finite; for
    dielectric constants, a size or a Coulomb constant that are not positive; for a negative kappa or ion exclusion; and
    for an unknown phi_type.
    """

    coulomb: float
    """K, kcal A / (mol e^2): the potential of 1 e in vacuum at 1 A."""
    kappa: float
    """Inverse Debye length, 1/A; 0 without salt."""
    epsilon_in: float
    """Dielectric constant of the molecule."""
    epsilon_out: float
    """Dielectric constant of the solvent."""
    size: float
    """Radius of the sphere in A: the electrostatic size of the molecule (``molecule.electrostatic_size``)."""
    ion_exclusion: float
    """How far from the surface the ions begin, in A (the Stern layer); b in the paper."""
    phi_type: str = "total"
    """"total", "coulomb" (the charges in the molecule's dielectric only) or "reaction" (total minus coulomb)."""
    compat: bool = False
    """True leaves out the alpha beta term of region 1, as OpenDwarfs' gem does, which makes the potential
    discontinuous."""

    def __post_init__(self) -> None:
        for name in ("coulomb", "epsilon_in", "epsilon_out", "size"):
            object.__setattr__(self, name, _number(name, getattr(self, name), positive=True))
        for name in ("kappa", "ion_exclusion"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        _known("phi_type", self.phi_type, PHI_TYPES)

    @classmethod
    def of(
        cls,
        *,
        salt: float = 0.0,
        epsilon_in: float = 1,
        epsilon_out: float = 80,
        ion_exclusion: float = 2.0,
        phi_type: str = "total",
        size: float,
        constants: str | Mapping[str, float] = "accurate",
        compat: str | None = None,
    ) -> Model:
        """Return the model of a molecule of ``size`` A in water with ``salt`` mol/l of a 1:1 salt.

        ``constants`` is "accurate" (K 332.06371, kappa from the Debye-Hueckel formula at 298.15 K and ``epsilon_out``),
        "legacy" (K 332, kappa 0.316 sqrt(salt), as in the published examples), or a mapping that replaces some of the
        accurate ones: "coulomb", "temperature" (K), "kappa" (1/A; the salt is then ignored). ``compat`` is None or
        "opendwarfs". Raises ParameterError as the class does, for negative salt, and for unknown names.
        """
        salt = _number("salt", salt)
        epsilon_out = _number("epsilon_out", epsilon_out, positive=True)
        if compat is not None:
            _known("compat", compat, _COMPAT)
        coulomb, kappa = _constants(constants, salt, epsilon_out)
        return cls(
            coulomb=coulomb,
            kappa=kappa,
            epsilon_in=epsilon_in,
            epsilon_out=epsilon_out,
            size=size,
            ion_exclusion=ion_exclusion,
            phi_type=phi_type,
            compat=compat is not None,
        )

    @property
    def beta(self) -> float:
        """epsilon_in / epsilon_out."""
        return self.epsilon_in / self.epsilon_out

    @property
    def prefactor(self) -> float:
        """P = 1 / (epsilon_out (1 + alpha beta))."""
        return 1 / (self.epsilon_out * (1 + ALPHA * self.beta))

    @property
    def contrast(self) -> float:
        """1 / epsilon_in - 1 / epsilon_out, to rounding where they are near to each other."""
        return (self.epsilon_out - self.epsilon_in) / (self.epsilon_in * self.epsilon_out)

    @property
    def ion_radius(self) -> float:
        """r' = size + ion_exclusion in A, the distance from the centre at which the ions begin."""
        return self.size + self.ion_exclusion

    def regions(self, r: ArrayLike) -> NDArray[np.int64]:
        """Return the region of each distance ``r`` (in A, from the centre): 1 in the molecule (r <= size), 2 in the
        Stern layer (r <= ion_radius), 3 in the bulk."""
        r = np.asarray(r, dtype=np.float64)
        return 1 + (r > self.size).astype(np.int64) + (r > self.ion_radius)

    def region(self, r: float) -> int:
        """The same of one distance."""
        return 1 + (r > self.size) + (r > self.ion_radius)


def _constants(constants: str | Mapping[str, float], salt: float, epsilon_out: float) -> tuple[float, float]:
    """Return (K, kappa)."""
    if constants == "legacy":
        return LEGACY_COULOMB, LEGACY_KAPPA * math.sqrt(salt)
    chosen: Mapping[str, float] = {}
    if isinstance(constants, Mapping):
        chosen = constants
    else:
        _known("constants", constants, _CONSTANTS)
    for name in chosen:
        _known("constants", name, _SETTABLE)
    coulomb = _number("coulomb", chosen.get("coulomb", ACCURATE_COULOMB), positive=True)
    temperature = _number("temperature", chosen.get("temperature", TEMPERATURE), positive=True)
    if "kappa" in chosen:
        return coulomb, _number("kappa", chosen["kappa"])
    thermal = GAS_CONSTANT * temperature
    kappa = math.sqrt(8 * math.pi * AVOGADRO_PER_LITRE * salt * coulomb / thermal) / math.sqrt(epsilon_out)
    if kappa > LONGEST:
        raise ParameterError(
            f"epsilon_out: {epsilon_out:g} with salt of {salt:g} mol/l is a kappa of {kappa:.3g}/A; give a larger one"
        )
    return coulomb, kappa


def _number(name: str, value: Any, positive: bool = False) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= LONGEST or (positive and number == 0):
        raise ParameterError(
            f"{name}: {value!r} is not offered; give a finite number {'> 0' if positive else '>= 0'}, up to {LONGEST:g}"
        )
    return number


def _known(name: str, value: object, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise ParameterError(f"{name}: {value!r} is not offered; use one of {', '.join(map(repr, valid))}")
