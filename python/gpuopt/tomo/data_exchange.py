"""Scans in HDF5's Data Exchange form (De Carlo et al., J. Synchrotron Rad. 21, 1224, 2014), read by h5py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt._core import Error
from gpuopt.io.text import FormatError
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.scan_source import COUNTED, Source, check_memory, mean_of, reading

SIGNATURE = b"\x89HDF\r\n\x1a\n"

_UNITS = {"deg": math.pi / 180, "degree": math.pi / 180, "degrees": math.pi / 180, "°": math.pi / 180}
_UNITS |= {"rad": 1.0, "radian": 1.0, "radians": 1.0}
_MOST_PIXELS = 1 << 20  # along an axis of a detector
_LEVELS = {"white": "/exchange/data_white", "dark": "/exchange/data_dark"}


class DataExchange(Source):
    """/exchange/data (view, v, u), data_white, data_dark, and theta in degrees unless its units say otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _file(path) as file:
            data = _dataset(file, path, "/exchange/data")
            if data is None:
                raise FormatError(path, None, "it has no /exchange/data; is it another form of HDF5?")
            if len(data.shape) != 3 or not all(data.shape):
                raise FormatError(path, None, f"/exchange/data is {data.shape}; it should be (views, rows, columns)")
            if data.shape[0] > checks.MOST_VIEWS or max(data.shape[1:]) > _MOST_PIXELS:
                raise FormatError(path, None, f"/exchange/data claims to be {data.shape}; write the file again")
            self.shape, self.dtype = data.shape, data.dtype
            for name in _LEVELS.values():
                level = _dataset(file, path, name)
                if level is not None and (level.shape[-2:] != self.shape[1:] or not 2 <= len(level.shape) <= 3):
                    raise FormatError(
                        path, None, f"{name} is {level.shape}, beside views {self.shape[1:]}; write the file again"
                    )

    @property
    def angles(self) -> Float64Array | None:
        with _file(self.path) as file:
            return _angles(file, self.path, self.shape[0])

    def counts(self, rows: slice) -> np.ndarray:
        with _file(self.path) as file:
            data = _dataset(file, self.path, "/exchange/data")
            if data is None or data.shape != self.shape or data.dtype != self.dtype:
                raise FormatError(self.path, None, "it was changed while it was read; read it again")
            return _rows_of(self.path, data, rows)

    def level(self, name: str, rows: slice) -> Float64Array | None:
        with _file(self.path) as file:
            found = _dataset(file, self.path, _LEVELS[name])
            if found is None or not found.shape[0]:
                return None
            if found.shape[-2:] != self.shape[1:] or not 2 <= len(found.shape) <= 3:
                raise FormatError(self.path, None, "it was changed while it was read; read it again")
            fields = _rows_of(self.path, found, rows)
            return mean_of(fields if fields.ndim == 3 else fields[np.newaxis])


def _rows_of(path: Path, data: Any, rows: slice) -> np.ndarray:
    count = len(range(*rows.indices(data.shape[-2])))
    held = math.prod(data.shape[:-2]) * count * data.shape[-1] * data.dtype.itemsize
    chunk = math.prod(data.chunks or (0,)) * data.dtype.itemsize
    check_memory(path, checks.counted(count, "row"), held + 2 * chunk)
    return np.asarray(data[..., rows, :])


@contextmanager
def _file(path: Path) -> Iterator[Any]:
    """The open file. Whatever h5py raises in the block becomes a FormatError."""
    try:
        import h5py
    except ImportError as error:
        raise Error("HDF5 files are read by h5py, which is not installed: pip install 'gpuopt[io]'") from error
    with reading(path, "HDF5"), h5py.File(path, "r", locking=False) as file:
        yield file


def _dataset(file: Any, path: Path, name: str) -> Any:
    """A dataset of numbers that lies in this very file; None where there is none."""
    import h5py

    node = file
    for part in name.strip("/").split("/"):
        link = node.get(part, getlink=True) if isinstance(node, h5py.Group) else None
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise FormatError(path, None, f"{name} is a link to elsewhere; copy the data into the file (h5repack)")
        node = node[part]
    if not isinstance(node, h5py.Dataset) or node.dtype.kind not in COUNTED or not node.shape:
        raise FormatError(path, None, f"{name} is no array of real numbers; write the file again")
    if node.external or node.is_virtual:
        raise FormatError(path, None, f"{name} is stored in other files; copy the data into the file (h5repack)")
    return node


def _angles(file: Any, path: Path, views: int) -> Float64Array | None:
    """theta in radians."""
    theta = _dataset(file, path, "/exchange/theta")
    if theta is None:
        return None
    if theta.shape != (views,):
        raise FormatError(
            path, None, f"/exchange/theta is {theta.shape} of {views} views; give the angles beside the file"
        )
    units = theta.attrs.get("units", "deg")
    if isinstance(units, np.ndarray):
        units = units.ravel()[0] if units.size else ""
    text = units.decode("utf-8", "replace") if isinstance(units, bytes) else str(units)
    factor = _UNITS.get(text.strip().lower())
    if factor is None:
        raise FormatError(path, None, f"/exchange/theta is in {text[:40]!a}; write it in degrees or radians")
    degrees = np.asarray(theta[:], dtype=np.float64)
    if not np.isfinite(degrees).all():
        raise FormatError(path, None, "/exchange/theta holds NaN or infinity; correct it")
    return degrees * factor
