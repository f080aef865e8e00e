"""Arrays of molecules and surfaces: one number or one vector for each atom or point, checked and never changed. They
are read-only, so that what was checked stays as it was."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError
from gpuopt.checked import as_array, reading, unmasked

LONGEST = 1e30  # A, of coordinates and radii: float32 holds their sums, float64 the squares of distances


class ReadOnly:
    """What pickle and copy make has read-only arrays too, by themselves and in tuples: those of the record that names
    this among its bases. What a subclass adds stays as it is: it may be written to, and be shared with the original."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        record: Any = next(one for one in type(self).__mro__ if ReadOnly in one.__bases__)
        own = {one.name for one in fields(record)}
        for part in state if isinstance(state, tuple) else (state,):  # what slots hold stands beside the rest
            for name, value in (part or {}).items():
                if name in own or hasattr(record, name):  # also what it computed once
                    _freeze(value)
                object.__setattr__(self, name, value)


def _freeze(value: Any) -> None:
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, np.ndarray):
            one.flags.writeable = False


def kept(given: Any, array: np.ndarray) -> np.ndarray:
    """``array``, which was made of ``given``, C-contiguous and read-only: a copy where anybody else can write to it."""
    held = np.ascontiguousarray(array)
    theirs = np.may_share_memory(held, array) and not isinstance(given, list | tuple | _Lent)
    if theirs and _is_written(held):
        held = held.copy()
    held.flags.writeable = False
    return held


def _is_written(array: np.ndarray) -> bool:
    """Whether somebody may write to an array's memory: through it, what it is a view of, or what owns the memory. A
    buffer that is read-only may be a view of one that is not, and the file of a mapping may change: only arrays and
    bytes are known not to be written to. NumPy does not tell of another view that was taken before an array was made
    read-only, and through which it may still be written to."""
    owner: Any = array
    while isinstance(owner, np.ndarray | memoryview):
        if isinstance(owner, np.ndarray) and owner.flags.writeable:
            return True
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return not (owner is None or isinstance(owner, bytes))


class _Lent(np.ndarray):
    """An array that nobody writes to for the time of one call."""


def lent(given: Any) -> Any:
    """``given``, an array that is kept without a copy: for the time of one call."""
    return given.view(_Lent) if type(given) is np.ndarray else given


def array_of(
    name: str,
    given: Any,
    shape: tuple[int | None, ...],
    dtype: np.dtype[Any] | None = None,
    like: str = "",
    gaps: bool = False,
) -> np.ndarray:
    """Return ``given`` as a C-contiguous, read-only array of ``shape`` (None stands for any length but 0) and
    ``dtype``, which is that of the argument ``like``. Raises ArrayError where it cannot, and for infinity and NaN, but
    with ``gaps`` not for rows that are NaN throughout."""
    with reading(name, "numbers", "give a float array"):
        array = np.asarray(unmasked(name, given), dtype=None if hasattr(given, "dtype") else np.float64)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise ArrayError(
            f"{name}: its dtype is {array.dtype.str}, not native float32 or float64; use {name}.astype(np.float32)"
        )
    if dtype is not None and array.dtype != dtype:
        raise ArrayError(
            f"{name}: its dtype is {array.dtype}, that of {like} is {dtype}; use np.asarray({name}, dtype=np.{dtype})"
        )
    if array.ndim != len(shape) or any(n != m for n, m in zip(array.shape, shape, strict=True) if m is not None):
        wanted = str(shape).replace("None", "N")
        raise ArrayError(f"{name}: its shape is {array.shape}; give {wanted}")
    if not len(array):
        raise ArrayError(f"{name}: it is empty; give at least one row")
    finite = np.isfinite(array)
    if gaps:
        finite[np.isnan(array).all(axis=1)] = True
    if not finite.all():
        wrong = ~finite
        raise ArrayError(f"{name}: row {np.argwhere(wrong)[0][0]} holds NaN or infinity; give finite numbers")
    return kept(given, array)


def refuse_negative(name: str, values: np.ndarray) -> None:
    if values.min() < 0:
        worst = int(np.argmin(values))
        raise ArrayError(f"{name}: that of atom {worst} is {values[worst]:g} A; give numbers of at least 0")


def refuse_far(name: str, values: np.ndarray) -> None:
    """Raises ArrayError for coordinates and radii beyond ``LONGEST``."""
    if np.abs(values).max() > LONGEST:
        worst = np.unravel_index(int(np.abs(values).argmax()), values.shape)
        raise ArrayError(f"{name}: row {worst[0]} holds {values[worst]:g} A; give lengths in A, up to {LONGEST:g}")


def cast(array: np.ndarray | None, dtype: DTypeLike) -> Any:
    """``array`` in ``dtype``; numbers too large for it become infinite, which the constructors refuse."""
    if array is None:
        return None
    with np.errstate(over="ignore"):
        made = array.astype(dtype)
    made.flags.writeable = False
    return made


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` (M, 3) scaled to length 1, without overflow at any magnitude. Rows of zeros and of NaN become NaN."""
    largest = np.abs(vectors).max(axis=1, keepdims=True).astype(np.float64)
    with np.errstate(invalid="ignore"):
        scaled = vectors / largest
    result: np.ndarray = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(vectors.dtype)
    return result


def normals_of(given: Any, points: np.ndarray) -> np.ndarray:
    """``given`` as unit vectors, one for each of ``points``; rows of NaN, for those that have none, stay."""
    normals = array_of("normals", given, points.shape, points.dtype, "points", gaps=True)
    zero = np.flatnonzero(~normals.any(axis=1))
    if len(zero):
        raise ArrayError(f"normals: row {zero[0]} is zero; give a direction, or three NaN at a point that has none")
    made = unit_vectors(normals)
    made.flags.writeable = False
    return made


def faces_of(given: Any, points: int) -> np.ndarray:
    """``given`` (T, 3) as int64, checked to be indices below ``points``."""
    faces = as_array("faces", given, "indices of points (T, 3)")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise ArrayError(f"faces: they are {faces.dtype} {faces.shape}; give indices of points as whole numbers (T, 3)")
    wrong = np.flatnonzero(((faces < 0) | (faces >= points)).any(axis=1))
    if len(wrong):
        raise ArrayError(f"faces: row {wrong[0]} is {faces[wrong[0]].tolist()}; give indices from 0 to {points - 1}")
    indices = np.ascontiguousarray(faces, dtype=np.int64)
    return kept(given if np.may_share_memory(indices, faces) else [], indices)
