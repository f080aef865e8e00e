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
    """Return the surface in a .vert (with its .face), .obj, .off, .ply or .stl file. Raises FormatError."""
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        known = ", ".join(_READERS)
        raise FormatError(path, None, f"surfaces are read from {known} files; its name has {suffix or 'no suffix'}")
    return _READERS[suffix](path, dtype)
