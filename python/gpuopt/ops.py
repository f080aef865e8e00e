"""Plain operations: NumPy or device arrays in, the same kind out. They adapt foreign types and resolve the
configuration, no more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, DeviceArray, ParameterError, Prepared
from gpuopt.configuration import Configuration, resolve
from gpuopt.matrix import DiaMatrix, as_matrix
from gpuopt.molecule import Molecule, Surface
from gpuopt.molecule import electrostatic_size as size_of
from gpuopt.pairs import Scene, as_molecule, as_surface
from gpuopt.precision import choose, ways
from gpuopt.selection import Selector, select
from gpuopt.solvation import Model

Array = TypeVar("Array", np.ndarray, DeviceArray)


def to_device(a: np.ndarray, device: Selector = None) -> DeviceArray:
    """Copies a C-contiguous array of any real dtype to a device. Raises ArrayError, DeviceMemoryError."""
    return _core.to_device(a, select(device))


def spmv(
    A: Any,
    x: Array,
    y: Array | None = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    out: Array | None = None,
    transpose: bool = False,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """``alpha * A @ x + beta * y`` for a diagonal sparse matrix (Catanzaro 2010).

    Parameters
    ----------
    A
        SciPy ``dia_array`` or ``dia_matrix`` (m, n), float32 or float64, uploaded for this call; or a
        :class:`DiaMatrix`, which stays on its device and is the fast way to multiply more than once.
    x
        (n,) or (n, k), same dtype as A, C-contiguous; NumPy or DeviceArray. With ``transpose``, (m,) or (m, k).
    y
        Addend of the result's shape, never modified; needed when ``beta`` is not 0 and not read when it is.
    out
        Receives the result and is returned; must not be ``x``.
    variant
        A variant's name, a preset (``"paper:vectorized"``) or a Configuration; None takes the best one known for the
        device.
    device
        Where to run when A is a SciPy matrix and x a NumPy array.

    Returns
    -------
    Array of the kind of ``x``: (m,) or (m, k).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    if device is None and isinstance(x, DeviceArray) and not isinstance(A, DiaMatrix):
        device = x.device
    matrix = as_matrix(A, device)
    if transpose:
        matrix = matrix.T
    if isinstance(x, np.ndarray):
        return matrix.multiply(x, y, float(alpha), float(beta), out, variant)
    columns = len(getattr(x, "shape", ())) == 2 and x.shape[1] > 1

    def product(configuration: Configuration) -> Array:
        name, parameters = configuration.variant, configuration.parameters
        result: Array = _core.spmv(matrix._handle, x, y, float(alpha), float(beta), out, name, parameters)
        return result

    return matrix.planned(variant, columns, product)


def prepare_spmv(
    A: DiaMatrix,
    x: DeviceArray,
    out: DeviceArray,
    variant: str | Configuration | None = None,
    *,
    y: DeviceArray | None = None,
    alpha: float = 1,
    beta: float = 0,
) -> Prepared:
    """The same product, built and bound once: ``run()`` repeats it on whatever ``x`` holds by then, ``sample()`` times
    it."""

    def plan(configuration: Configuration) -> Prepared:
        name, parameters = configuration.variant, configuration.parameters
        return _core.prepare_spmv(A._handle, x, y, float(alpha), float(beta), out, name, parameters)

    return A.planned(variant, len(x.shape) == 2 and x.shape[1] > 1, plan)


def gem(
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
    """The electrostatic potential of a molecule at points on, around or inside its surface.

    A closed-form solvent model (Fenley, Gordon, Onufriev, J. Chem. Phys. 129, 075101, 2008), summed over all pairs of
    an atom and a point (GEM; Daga, Scogland, Feng 2011).

    Parameters
    ----------
    molecule
        A :class:`Molecule`, or a tuple of xyz (N, 3) in A, charge (N,) in e and radius (N,) in A; float32 or float64.
        Radii are needed where ``electrostatic_size`` is not given.
    surface
        A :class:`Surface`, points (M, 3) in A, or a tuple of points and outward normals (M, 3), of the molecule's
        dtype. Normals are needed for salt and for a projection. Points with ``height`` (a grid) lie in the region that
        their height says, others ``projection`` A above the surface (negative: inside).
    salt
        Of a 1:1 salt, mol/l.
    epsilon_in, epsilon_out
        Dielectric constants of molecule and solvent.
    projection, ion_exclusion
        A along the normal: where the potential is asked for, and where ions begin.
    phi_type
        "total", "coulomb" (the charges in the molecule's dielectric alone) or "reaction" (total less coulomb).
    electrostatic_size
        The molecule's effective radius in A; None takes :func:`gpuopt.electrostatic_size`.
    constants
        "accurate", "legacy" (Coulomb's constant 332, as in the published examples), or a mapping of "coulomb",
        "kappa", "temperature" that replaces some of the accurate ones.
    compat
        "opendwarfs" leaves out a term of the inner region, as that program does.
    nearest
        Atoms nearer to a point than so many A count as at this distance; None refuses a point on an atom.
    variant
        A variant's name, a preset (``"paper:basic"``) or a Configuration; None takes the best one known for the device.

    Returns
    -------
    (M,) of the arrays' dtype, kcal/(mol e); divide by 0.592485 for kT/e at 298.15 K.

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    atoms, points = as_molecule(molecule), as_surface(surface)
    size = size_of(atoms) if electrostatic_size is None else electrostatic_size
    if not (isinstance(size, int | float | np.integer | np.floating) and np.isfinite(size) and size > 0):
        raise ParameterError(f"electrostatic_size: {size!r} is no radius; give A above 0, or None to have it computed")
    model = Model.of(
        salt=salt,
        epsilon_in=epsilon_in,
        epsilon_out=epsilon_out,
        ion_exclusion=ion_exclusion,
        phi_type=phi_type,
        size=size,
        constants=constants,
        compat=compat,
    )
    chosen = select(device)
    scene = Scene.of(atoms, points, model, projection)
    configuration = resolve("gem", chosen, atoms.dtype.name, variant, {"form": lambda: scene.form})
    return scene.run(configuration, chosen, nearest)


def gemm(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    out: Array | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: str | None = None,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """``alpha * A @ B + beta * C``, of one pair of matrices or of a batch of them.

    Parameters
    ----------
    A, B
        (M, K) and (K, N), float32 or float64, all NumPy or all DeviceArrays. Rows of NumPy arrays may stand any way
        apart, such as those of ``big[:, :100]``; each row is contiguous. Three dimensions are a batch of matrices,
        (batch, M, K); one matrix meets every one of the other's batch.
    C
        Addend of the result's shape, or one matrix for the whole batch, never modified; needed when ``beta`` is not 0
        and not read when it is. A and B are not read when ``alpha`` is 0.
    out
        Receives the result and is returned; shares no memory with A, B or C. Its rows may stand apart as theirs.
    transpose_a, transpose_b
        The matrix given is (K, M), or (N, K): its transpose takes part.
    precision
        None computes in the arrays' dtype. Of float32 arrays, on tensor cores: ``"tf32x3"``, ``"bf16x6"``, ``"bf16x9"``
        and ``"fp16x3"`` have float32's accuracy, ``"bf16x3"`` less, ``"tf32"`` and ``"fp16"`` that of one short
        product. They refuse Inf and NaN, and those of fp16 numbers too small beside the largest of their row of A or
        column of B: an ArrayError that names the way out; what ``out`` holds then is no result. ``"fast_fp32"`` takes
        the fastest of float32's accuracy that the device and the numbers allow, which may be float32 itself.
        Where results are few, their sums are added in parts: numbers that overflow may give NaN instead of Inf then.
    variant
        A variant's name, a preset (``"paper:naive"``) or a Configuration; None takes the best one known for the device.
    device
        Where to run when the arrays are NumPy's.

    Returns
    -------
    C-contiguous array of the kind of A: (M, N), or (batch, M, N).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    dtype, *sizes = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)
    chosen = A.device if device is None and isinstance(A, DeviceArray) else select(device)
    *before, last = ways(chosen, dtype, precision, variant, math.prod(sizes))

    def product(configuration: Configuration) -> Array:
        name, parameters = configuration.variant, configuration.parameters
        numbers = float(alpha), float(beta)
        result: Array = _core.gemm(A, B, C, *numbers, out, transpose_a, transpose_b, chosen, name, parameters)
        return result

    for configuration in before:
        with suppress(ArrayError):  # its numbers do not go into these operands; what else it may be is raised below
            return product(configuration)
    return product(last)


def prepare_gemm(
    A: DeviceArray,
    B: DeviceArray,
    out: DeviceArray,
    variant: str | Configuration | None = None,
    *,
    C: DeviceArray | None = None,
    alpha: float = 1,
    beta: float = 0,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: str | None = None,
) -> Prepared:
    """The same product, built and bound once: ``run()`` repeats it on whatever A, B and C hold by then, ``sample()``
    times it."""
    dtype = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)[0]
    configuration = choose(out.device, dtype, precision, variant)
    name, parameters = configuration.variant, configuration.parameters
    return _core.prepare_gemm(A, B, C, float(alpha), float(beta), out, transpose_a, transpose_b, name, parameters)


def tmv(
    A: np.ndarray | DeviceArray,
    v: Array,
    out: Array | None = None,
    *,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """``A.T @ v``: the sums of A's rows, each times its element of v (Yang, Xiang, Mantor, Zhou 2012).

    Parameters
    ----------
    A
        (m, n), float32 or float64, NumPy or DeviceArray. Rows of a NumPy array may stand any way apart, such as those
        of ``big[:, :100]``; each row is contiguous.
    v
        (m,), same dtype as A, C-contiguous; NumPy or DeviceArray.
    out
        Receives the result and is returned; must not be ``A`` or ``v``.
    variant
        A variant's name, a preset (``"paper:tlp_f2"``) or a Configuration; None takes the best one known for the
        device.
    device
        Where to run when both arrays are NumPy's.

    Returns
    -------
    Array of the kind of ``v``: (n,).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    held = next((array.device for array in (A, v) if isinstance(array, DeviceArray)), None)
    chosen = select(device) if held is None or device is not None else held
    configuration = resolve("tmv", chosen, _core.tmv_dtype(A).name, variant)
    result: Array = _core.tmv(A, v, out, chosen, configuration.variant, configuration.parameters)
    return result


def prepare_tmv(
    A: DeviceArray, v: DeviceArray, out: DeviceArray, variant: str | Configuration | None = None
) -> Prepared:
    """The same product, built and bound once: ``run()`` repeats it on whatever A and v hold by then, ``sample()`` times
    it."""
    configuration = resolve("tmv", out.device, A.dtype.name, variant)
    return _core.prepare_tmv(A, v, out, configuration.variant, configuration.parameters)
