"""Scans of parallel beams in files: Data Exchange (HDF5) and stacks of TIFFs."""

from __future__ import annotations

import math
import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.io.text import AnyPath, FormatError, floats, opened, rows_of, shown
from gpuopt.signals import is_folder
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.data_exchange import SIGNATURE, DataExchange
from gpuopt.tomo.kinds import Angles, Indices, Level
from gpuopt.tomo.rawdata import normalise
from gpuopt.tomo.scan_source import Source, check_memory, mean_of
from gpuopt.tomo.tiff_stacks import SIGNATURES, TiffStack

_USER_BLOCK = 512  # bytes: HDF5 begins at 0, or at this times a power of two


@checked
@dataclass(frozen=True, eq=False, repr=False)
class ScanFile:
    """A scan in a file, made by :func:`read_scan`: its headers are read, its numbers are not. Arrays of
    counts are (view, v, u), of the file's dtype (int16 of TIFF as int32); line integrals float32.
    Raises ParameterError.

    Its methods raise FileNotFoundError or PermissionError too, where the file has gone meanwhile. The file must stay as
    it is until they have read it: other lengths or dtypes raise FormatError, other numbers and angles are not noticed.

    Examples
    --------
    >>> from PIL import Image
    >>> pages = [Image.fromarray(np.full((2, 4), 50.0, np.float32)) for _ in range(3)]
    >>> pages[0].save("scan.tif", save_all=True, append_images=pages[1:])
    >>> scan = gt.read_scan("scan.tif", angles=3, flat=100.0)
    >>> scan
    <ScanFile: scan.tif, 3 views from 0 to 120 degrees, 2 rows x 4 columns of float32 counts>
    >>> scan.shape, scan.counts(0).shape, bool(scan.dead().any())
    ((3, 2, 4), (3, 1, 4), False)
    >>> scan.projections(slice(0, 1)).round(3)[0]  # ln 2: half of the flat field
    array([[0.693, 0.693, 0.693, 0.693]], dtype=float32)
    """

    source: Source
    """The reader of its views."""
    angles: Float64Array
    """View angles (views,), radians."""
    levels: dict[str, Level] = field(default_factory=dict)
    """Flat fields ("white") and "dark" ones: numbers, or readers of other files."""
    integrals: bool = False
    """Whether it holds line integrals, not counts."""

    def __post_init__(self) -> None:
        if len(getattr(self.source, "shape", ())) != 3:
            raise ParameterError("source: it does not say (views, rows, columns) as its shape; use read_scan")
        if self.angles.shape != self.shape[:1]:
            raise ParameterError(f"angles: there are {self.angles.size} of {self.shape[0]} views; give one for each")
        for name, level in self.levels.items():
            if name not in ("white", "dark") or not isinstance(level, int | float | Source):
                raise ParameterError(f"levels: {ascii(name)[:40]} is no flat or dark field; use read_scan")
        for one in (self.source, *self.levels.values()):
            if isinstance(one, Source):
                one.settle()

    @property
    def shape(self) -> tuple[int, ...]:
        """(views, rows, columns)"""
        return self.source.shape

    def counts(self, rows: Indices | None = None) -> np.ndarray:
        """What the detector counted (view, v, u), of the file's dtype; some detector ``rows``: None for all, an index,
        or a slice. Only these are kept in memory. Raises FormatError, ParameterError."""
        return self.source.counts(_rows(rows, self.shape[1]))

    def dead(self, rows: Indices | None = None) -> np.ndarray:
        """Where the flat field is not above the dark one, or either is NaN or infinite: a mask (v, u) of some ``rows``.
        Raises FormatError, ParameterError."""
        return self._levels(_rows(rows, self.shape[1]))[2]

    def projections(self, rows: Indices | None = None) -> np.ndarray:
        """Line integrals (view, v, u), float32, of some ``rows``, by :func:`normalise` and the means of the flat and
        the dark fields.

        Dead pixels, as :meth:`dead` tells them, get what lies on the line between their neighbours of the same row.
        Raises FormatError, also for a row of dead pixels alone, ParameterError, and ArrayError for NaN in other pixels,
        naming the first by its detector row in the file.
        """
        chosen = _rows(rows, self.shape[1])
        views, _, columns = self.shape
        count = len(range(*chosen.indices(self.shape[1])))
        path, needed = self.source.path, views * count * columns * (self.source.dtype.itemsize + 4)
        check_memory(path, checks.counted(count, "row"), needed)
        raw = self.source.counts(chosen)
        if self.integrals:
            with np.errstate(over="ignore"):  # what float32 cannot hold is told as infinity
                raw = raw.astype(np.float32, copy=False)
        flat, dark, dead = self._levels(chosen)
        alone = np.flatnonzero(dead.all(axis=1))
        if len(alone):
            row = range(*chosen.indices(self.shape[1]))[int(alone[0])]
            raise FormatError(path, None, f"no pixel of detector row {row} lives: its flat field is not above the dark")
        if raw.dtype.kind == "f":
            raw = np.where(dead, 0, raw) if dead.any() else raw
            fix = "repair it, or make its flat field NaN, as that of a dead pixel is"
            checks.finite(path.name, raw, checks.DATA_AXES[3], fix, range(*chosen.indices(self.shape[1])))
        if self.integrals:
            return raw
        lines = normalise(raw, np.where(dead, 1, flat), np.where(dead, 0, dark)).astype(np.float32, copy=False)
        _mend(lines, dead)
        return lines

    def _levels(self, rows: slice) -> tuple[Float64Array, Float64Array, np.ndarray]:
        """The flat and the dark field, and where pixels are dead, (v, u) each."""
        size = (len(range(*rows.indices(self.shape[1]))), self.shape[2])
        if self.integrals:
            return np.ones(size), np.zeros(size), np.zeros(size, bool)
        found = {}
        for name, fallback in (("white", None), ("dark", 0.0)):
            given = self.levels.get(name)
            if given is None:
                level = self.source.level(name, rows)
            else:
                level = mean_of(given.counts(rows)) if isinstance(given, Source) else np.full(size, float(given))
            if level is None and fallback is None:
                raise FormatError(
                    self.source.path, None, "it holds no flat fields; give flat, or say that these are line integrals"
                )
            found[name] = np.zeros(size) if level is None else level
        with np.errstate(invalid="ignore"):
            dead = ~(found["white"] - found["dark"] > 0) | ~np.isfinite(found["white"] - found["dark"])
        return found["white"], found["dark"], dead

    def __repr__(self) -> str:
        views, rows, columns = self.shape
        first, last = np.degrees(self.angles[[0, -1]]) + 0.0  # never -0
        pixels = f"{checks.counted(rows, 'row')} x {checks.counted(columns, 'column')}"
        what = "line integrals" if self.integrals else f"{self.source.dtype} counts"
        return (
            f"<ScanFile: {self.source.path.name}, {checks.counted(views, 'view')} from {first:.5g} to {last:.5g} "
            f"degrees, {pixels} of {what}>"
        )


@checked
def read_scan(
    path: AnyPath,
    angles: Angles | None = None,
    *,
    flat: float | AnyPath | None = None,
    dark: float | AnyPath | None = None,
    integrals: bool = False,
    units: str | None = None,
) -> ScanFile:
    """A scan of parallel beams in a file. Headers alone are read: ``read_scan(path).projections(rows)`` reads rows.

    Parameters
    ----------
    path
        An HDF5 file in Data Exchange form, with /exchange/data (view, v, u), data_white, data_dark, and theta in
        degrees unless its units say otherwise, as beamlines and TomoPy write them (needs h5py, the extra ``io``); a
        TIFF with a page a view; or a folder of TIFFs, a view each, in the order of their names, where 10 comes after 9
        and capitals are as small letters (need Pillow). Data in other files, which HDF5 may link to, are not read.
    angles
        View angles (views,), or how many are spread over half a turn; None: those of the file.
    flat, dark
        What is counted with the beam on and no object, and with the beam off: a number, or a TIFF or folder of TIFFs
        with the views' rows and columns, of which the mean is taken. None: what the file holds; without dark fields 0.
    integrals
        Whether the file holds line integrals already; then nothing is corrected, and ``flat`` and ``dark`` are refused.
    units
        Of ``angles``, not of those in the file: "rad" or "deg"; None: radians, as in :func:`parallel2d`.

    Raises
    ------
    FormatError, ParameterError, ArrayError, FileNotFoundError, PermissionError, and Error where a package is missing

    Examples
    --------
    >>> from PIL import Image
    >>> views = [Image.fromarray(np.full((2, 4), level, np.float32)) for level in (50, 25)]
    >>> views[0].save("scan.tif", save_all=True, append_images=views[1:])
    >>> gt.read_scan("scan.tif", angles=2, flat=100.0).projections(rows=0)[:, 0, 0].round(3)
    array([0.693, 1.386], dtype=float32)
    """
    if integrals and (flat is not None or dark is not None):
        name = "dark" if flat is None else "flat"
        raise ParameterError(f"{name}: line integrals are corrected already; leave it out, or integrals")
    source = _source(_path("path", path))
    if angles is None:
        if (angles := source.angles) is None:
            raise ParameterError(f"angles: {path} does not say them; give one for each view")
        checks.unit(units)  # of no use here, but not to be misspelt
        units = "rad"
    found = checks.angles("angles", angles, math.pi, units=units)
    return ScanFile(source, found, _levels(source, flat, dark), integrals)


def _levels(source: Source, flat: float | AnyPath | None, dark: float | AnyPath | None) -> dict[str, Level]:
    """What is counted with the beam on, "white", and off, where it is not what the scan's file holds."""
    levels: dict[str, Level] = {}
    for name, argument, given in (("white", "flat", flat), ("dark", "dark", dark)):
        if given is None:
            continue
        if isinstance(given, int | float):
            levels[name] = checks.number(argument, given, "a count, or a file")
            continue
        fields = levels[name] = TiffStack(_path(argument, given))
        if fields.shape[1:] != source.shape[1:]:
            raise ParameterError(
                f"{argument}: {given} is {fields.shape[1:]} pixels, a view {source.shape[1:]}; give one of a kind"
            )
    return levels


@checked
def read_angles(path: AnyPath) -> Float64Array:
    """View angles in radians from a text file of degrees, one a line; what follows # is a comment. Raises FormatError,
    FileNotFoundError, PermissionError."""
    found = []
    with closing(rows_of(path)) as rows:
        for line, fields in rows:
            try:
                (degrees,) = floats(fields)
            except ValueError:
                raise FormatError(path, line, f"{shown(fields)} is no angle; give one a line, in degrees") from None
            if not math.isfinite(degrees):
                raise FormatError(path, line, f"{shown(fields)} is not finite; give an angle in degrees")
            found.append(degrees)
    if not found:
        raise FormatError(path, None, "it holds no angles; give one a line, in degrees")
    return np.deg2rad(found)


def count_views(path: AnyPath) -> int:
    """How many views a file or folder holds. Raises FormatError, FileNotFoundError, PermissionError."""
    return _source(Path(path)).shape[0]


def _path(argument: str, given: AnyPath) -> Path:
    if not os.fspath(given):  # a Path of it would be the working folder
        raise ParameterError(f"{argument}: it is empty; name a file or a folder")
    return Path(given)


def _source(path: Path) -> Source:
    if is_folder(path):
        return TiffStack(path)
    with opened(path) as file:
        begin, head = 0, file.read(len(SIGNATURE))
        if head.startswith(SIGNATURES):
            return TiffStack(path)
        while head:
            if head == SIGNATURE:
                return DataExchange(path)
            begin = max(_USER_BLOCK, 2 * begin)
            file.seek(begin)
            head = file.read(len(SIGNATURE))
    raise FormatError(path, None, "it is neither HDF5 nor TIFF; give a Data Exchange file, or TIFFs")


def _rows(given: Indices | None, count: int) -> slice:
    """Ascending rows. Raises ParameterError."""
    if given is None:
        return slice(0, count, 1)
    indices = checks.indices("rows", given, count)
    steps = np.diff(indices)
    step = int(steps[0]) if len(steps) else 1
    if step < 1 or (steps != step).any():
        raise ParameterError("rows: they are not evenly spaced and ascending; give a slice such as slice(10, 20)")
    return slice(int(indices[0]), int(indices[-1]) + 1, step)


def _mend(lines: np.ndarray, dead: np.ndarray) -> None:
    """What lies between the nearest living columns, in place."""
    columns = np.arange(dead.shape[1])
    for row in np.flatnonzero(dead.any(axis=1)):
        alive = np.flatnonzero(~dead[row])
        gone = np.flatnonzero(dead[row])
        right = np.minimum(np.searchsorted(alive, gone), len(alive) - 1)
        left = np.maximum(np.searchsorted(alive, gone) - 1, 0)
        one, other = alive[left], alive[right]
        apart = np.maximum(other - one, 1)
        part = np.clip((columns[gone] - one) / apart, 0, 1)
        lines[:, row, gone] = (1 - part) * lines[:, row, one] + part * lines[:, row, other]
