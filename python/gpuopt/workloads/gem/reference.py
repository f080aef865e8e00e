"""Oracle of the closed-form electrostatic potential of a molecule in salt water, all pairs in fp64.

The model (Fenley, Gordon, Onufriev 2008; GEM of Anandakrishnan et al. 2010, Daga et al. 2011) replaces the molecule by
a sphere of radius A. r is the distance of a point from its centre, and the region of a point follows from it: 1, the
molecule (r <= A); 2, the Stern layer without ions (A < r <= r' = A + b); 3, the bulk (r > r').

All functions take the same arguments, arrays of any real dtype, computed in fp64:

* ``xyz`` (N, 3), A, and ``charge`` (N,), e: the atoms;
* ``points`` (M, 3), A: p = v + proj n for surface points v with outward unit normals n;
* ``shift`` (M, 3), A: (b - proj) n, so that p' = p + shift lies where the ions begin; not read, and may be None,
  without salt (``model.kappa`` 0) and for ``phi_type`` "coulomb";
* ``r`` (M,), A: ``model.size`` + proj, or + the height above the surface, not below 0;
* ``model``: a ``gpuopt.workloads.gem.solvation.Model``;
* ``atom_r`` (N,), A: distance of the atoms from the centre, 0 to ``model.size``; read where r < ``model.size``, may be
  None elsewhere.

They return (M,) float64, kcal/(mol e), need about 150 MB whatever the sizes, and raise ArrayError for shapes that do
not fit, values that are not finite, and a point on an atom where the potential is infinite: everywhere but for the
reaction potential inside the sphere (r < A) of an atom inside it (r_i < A), as it has no term of 1/d.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ArrayError
from gpuopt.workloads.gem.solvation import ALPHA, Model

Float64Array = NDArray[np.float64]

_BLOCK_PAIRS = 2**18  # 2 MB an array; an expression keeps fewer than ten of them
_THREADS = 4  # NumPy lets go of Python's lock in long arrays


def potential(
    xyz: ArrayLike,
    charge: ArrayLike,
    points: ArrayLike,
    shift: ArrayLike | None,
    r: ArrayLike,
    model: Model,
    atom_r: ArrayLike | None = None,
) -> Float64Array:
    """Return the potential at the points by the formulas as they are published, one pair's whole term at a time."""
    given = _Given.of(xyz, charge, points, shift, r, model, atom_r)
    phi = np.empty(len(given.points))
    for region, rows in _blocks(model.regions(given.r), len(given.charge)):
        d, ions = _distances(given, model, rows)
        if given.shift is not None and region < 3 and not ions.all():
            raise ArrayError("shift: points + shift lies on an atom, where the published form is undefined; move it")
        phi[rows] = _published(given, model, region, d, ions, given.r[rows, np.newaxis]).sum(axis=1)
    return phi


def minimal(
    xyz: ArrayLike,
    charge: ArrayLike,
    points: ArrayLike,
    shift: ArrayLike | None,
    r: ArrayLike,
    model: Model,
    atom_r: ArrayLike | None = None,
) -> Float64Array:
    """Return the same potential by the forms the kernels compute: sums over the atoms, and one term of the charge."""
    return with_magnitude(xyz, charge, points, shift, r, model, atom_r)[0]


def magnitude(
    xyz: ArrayLike,
    charge: ArrayLike,
    points: ArrayLike,
    shift: ArrayLike | None,
    r: ArrayLike,
    model: Model,
    atom_r: ArrayLike | None = None,
) -> Float64Array:
    """Return the sum of the absolute values of all terms of :func:`minimal`: what its rounding errors scale with."""
    return with_magnitude(xyz, charge, points, shift, r, model, atom_r)[1]


def with_magnitude(
    xyz: ArrayLike,
    charge: ArrayLike,
    points: ArrayLike,
    shift: ArrayLike | None,
    r: ArrayLike,
    model: Model,
    atom_r: ArrayLike | None = None,
) -> tuple[Float64Array, Float64Array]:
    """Return :func:`minimal` and :func:`magnitude`, whose terms are computed once."""
    given = _Given.of(xyz, charge, points, shift, r, model, atom_r)
    phi, total = np.empty((2, len(given.points)))
    charges, magnitudes, whole = given.charge, np.abs(given.charge), given.charge.sum()

    def add_up(block: tuple[int, NDArray[np.intp]]) -> None:
        form, rows = block
        terms, constant = _minimal(given, model, form, rows)
        phi[rows] = sum(term @ charges for term in terms) + constant * whole
        total[rows] = sum(np.abs(term) @ magnitudes for term in terms) + np.abs(constant * whole)

    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for _ in pool.map(add_up, _blocks(_forms(model, given.r), len(charges))):
                pass
        except BaseException:  # Ctrl-C: blocks that have not begun are left out
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return phi, total


def _published(
    given: _Given, model: Model, region: int, d: Float64Array, ions: Float64Array, r: Float64Array
) -> Float64Array:
    """Return the (m, N) terms of m points of one region; ``d``, ``ions`` (m, N) are d and d', ``r`` is (m, 1)."""
    q, r_i, al, be, p = given.charge, given.atom_r, ALPHA, model.beta, model.prefactor
    ei, k, a, r_ions = model.epsilon_in, model.kappa, model.size, model.ion_radius
    if model.phi_type == "coulomb":
        return q / (ei * d)
    reaction = model.phi_type == "reaction"
    if region == 1:
        image = a**2 / np.sqrt((a**2 - r_i**2) * (a**2 - r**2) + a**2 * d**2) + (0 if model.compat else al * be)
        salt: Any = al * (1 - be) / r_ions * (1 - 1 / (1 + k * r_ions))
        if k:
            salt = salt + (1 + al) / ions * (1 / (1 + k * ions) - 1)
        own = -q * model.contrast / ((1 + al * be) * a) * image + p * q * salt
        return own if reaction else q / (ei * d) + own  # no difference of two infinite terms on an atom
    if region == 3:
        total = (1 + al) * np.exp(-k * (d - ions)) / (d * (1 + k * ions))
        total = p * q * (total - al * (1 - be) * np.exp(-k * (r - r_ions)) / (r * (1 + k * r_ions)))
    else:
        total = (1 + al) / d - al * (1 - be) / r + al * (1 - be) / r_ions * (1 - 1 / (1 + k * r_ions))
        total = p * q * (total + (1 + al) * (1 / (ions + k * ions**2) - 1 / ions))
    return total - q / (ei * d) if reaction else total


def _forms(model: Model, r: Float64Array) -> NDArray[np.int64]:
    """Return which form computes a point: that of its region, but on the sphere, where 1 and 2 agree, the cheaper 2."""
    return np.where(r == model.size, 2, model.regions(r))


def _minimal(
    given: _Given, model: Model, form: int, rows: NDArray[np.intp]
) -> tuple[list[Float64Array], Float64Array | float]:
    """Return the (m, N) factors of the charges, and the (m,) factor c0 of their sum."""
    d, ions = _distances(given, model, rows)
    r, k, a, r_ions = given.r[rows], model.kappa, model.size, model.ion_radius
    coulomb = 1 / model.epsilon_in
    if model.phi_type == "coulomb":
        return [coulomb / d], 0.0
    unscreened = coulomb if model.phi_type == "reaction" else 0.0
    c1 = (1 + ALPHA) * model.prefactor
    outer = ALPHA * model.contrast * model.epsilon_in * model.prefactor
    if form == 3 and k:  # K2
        terms = [c1 * np.exp(k * (ions - d)) / (d * (1 + k * ions))]
        if unscreened:
            terms.append(-unscreened / d)
        return terms, -outer * np.exp(-k * (r - r_ions)) / (r * (1 + k * r_ions))
    if form == 1:  # K3
        image = model.contrast / (1 + ALPHA * model.beta)
        g = 1 - (given.atom_r / a) ** 2
        h = (a**2 - r**2)[:, np.newaxis]
        terms = [-image / np.sqrt(g * h + d**2)]
        if not unscreened:
            terms.append(coulomb / d)
        constant = np.full(len(rows), 1 / a)
    else:  # K0, and K1 with salt
        terms = [(-model.contrast / (1 + ALPHA * model.beta) if unscreened else c1) / d]  # c1 - unscreened
        constant = 1 / r
    if k:
        terms.append(-c1 * k / (1 + k * ions))
    constant = -outer * (constant - k / (1 + k * r_ions))
    if model.compat:
        constant[r <= a] += outer / a
    return terms, constant


@dataclass(frozen=True)
class _Given:
    """The arguments in fp64, the charges times K; what is not read is zero."""

    xyz: Float64Array
    charge: Float64Array
    points: Float64Array
    shift: Float64Array | None
    r: Float64Array
    atom_r: Float64Array

    @classmethod
    def of(cls, xyz: Any, charge: Any, points: Any, shift: Any, r: Any, model: Model, atom_r: Any) -> _Given:
        atoms, vertices = len(np.atleast_1d(xyz)), len(np.atleast_1d(points))
        solvent = model.phi_type != "coulomb"
        salt = solvent and model.kappa > 0
        distance = _checked("r", r, (vertices,))
        if solvent and (distance < 0).any():
            raise ArrayError("r: it holds values below 0; points deeper than the sphere's centre take 0")
        inside = solvent and bool((distance < model.size).any())
        if salt and shift is None:
            raise ArrayError("shift: it is needed with salt; give (M, 3), (b - proj) times the normals")
        if inside and atom_r is None:
            raise ArrayError("atom_r: it is needed where r < size; give (N,), the atoms' distances from the centre")
        radial = _checked("atom_r", atom_r, (atoms,)) if inside else np.zeros(atoms)
        # The size may come from fp32 arithmetic, and the distances with it.
        if ((radial < 0) | (radial > model.size * (1 + 1e-6))).any():
            raise ArrayError(f"atom_r: it holds values outside 0 to {model.size:g} (the size); clamp them")
        return cls(
            xyz=_checked("xyz", xyz, (atoms, 3)),
            charge=model.coulomb * _checked("charge", charge, (atoms,)),
            points=_checked("points", points, (vertices, 3)),
            shift=_checked("shift", shift, (vertices, 3)) if salt else None,
            r=distance,
            atom_r=radial,
        )


def _checked(name: str, values: Any, shape: tuple[int, ...]) -> Float64Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ArrayError(f"{name}: it has shape {array.shape}; give {shape}")
    if not np.isfinite(array).all():
        raise ArrayError(f"{name}: it holds NaN or infinity; give finite numbers")
    return array


def _blocks(kinds: NDArray[np.int64], atoms: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each kind and the indices of some of its points, few enough for the memory."""
    rows = max(1, _BLOCK_PAIRS // max(1, atoms))
    for kind in (1, 2, 3):
        of_kind = np.flatnonzero(kinds == kind)
        for first in range(0, len(of_kind), rows):
            yield kind, of_kind[first : first + rows]


def _distances(given: _Given, model: Model, rows: NDArray[np.intp]) -> tuple[Float64Array, Float64Array]:
    """Return d and d', both (m, N); without a shift, d' is d: with kappa = 0 it falls out of every formula."""
    points = given.points[rows]
    d = _distance(points, given.xyz)
    infinite = d == 0
    if model.phi_type == "reaction":
        infinite &= (given.r[rows, np.newaxis] >= model.size) | (given.atom_r >= model.size)
    if infinite.any():
        row, atom = np.argwhere(infinite)[0]
        raise ArrayError(f"points: point {rows[row]} lies on atom {atom}, where the potential is infinite; move it")
    return d, d if given.shift is None else _distance(points + given.shift[rows], given.xyz)


def _distance(points: Float64Array, xyz: Float64Array) -> Float64Array:
    squared = np.zeros((len(points), len(xyz)))
    for axis in range(3):
        squared += (points[:, axis, np.newaxis] - xyz[:, axis]) ** 2
    return np.sqrt(squared)
