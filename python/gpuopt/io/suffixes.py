"""Which reader a file's name asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked
from gpuopt.io.msms import read_msms
from gpuopt.io.obj import read_obj
from gpuopt.io.off import read_off
from gpuopt.io.ply import read_ply
from gpuopt.io.stl import read_stl
from gpuopt.io.text import AnyPath, FormatError
from gpuopt.molecule import Surface


def _msms(path: AnyPath, dtype: DTypeLike) -> Surface:
    return read_msms(path, dtype=dtype)


_READERS: dict[str, Callable[[AnyPath, DTypeLike], Surface]] = {
    ".vert": _msms,
    ".face": _msms,
    ".obj": read_obj,
    ".off": read_off,
    ".ply": read_ply,
    ".stl": read_stl,
}


@checked
def read_surface(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in a .vert (with its .face), .obj, .off, .ply or .stl file, by the reader of its suffix.

    Lengths stay in the file's unit, for potentials A; ``dtype`` is float32 or float64. Raises FormatError.

    Examples
    --------
    >>> np.savetxt("points.vert", [[0, 0, 0], [1, 0, 0]], "%g")
    >>> io.read_surface("points.vert")
    <gpuopt.Surface: 2 points, float32>
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        known = ", ".join(_READERS)
        raise FormatError(path, None, f"surfaces are read from {known} files; its name has {suffix or 'no suffix'}")
    return _READERS[suffix](path, dtype)
