"""`gpuopt reconstruct`: slices of a parallel-beam scan in a file."""

from __future__ import annotations

import inspect
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import numpy as np

import gpuopt.tomo as gt
from gpuopt import files
from gpuopt._core import ArrayError, ParameterError
from gpuopt.command_errors import Failure
from gpuopt.selection import select
from gpuopt.signals import is_folder
from gpuopt.tomo import checks, tiff_stacks
from gpuopt.tomo.scan_files import count_views, read_angles
from gpuopt.tomo.scan_source import check_memory

ALGORITHMS: dict[str, Callable[..., Any]] = {
    "fbp": gt.fbp,
    "sirt": gt.sirt,
    "sart": gt.sart,
    "os_sart": gt.os_sart,
    "cgls": gt.cgls,
    "mlem": gt.mlem,
    "os_em": gt.os_em,
}
_NONNEGATIVE = ("mlem", "os_em")  # what takes no projections below 0
_AT_ONCE = 1 << 30  # bytes of rows and slices that are worked on at a time
_CENTRE_ROWS = 8
_OPTIONS = {name: f"--{name}" for name in ("window", "iterations", "rows", "angles", "flat", "dark", "out")}
_OPTIONS |= {"size": "--rings", "offset": "--centre"}
_WORDS = {"give limited_angle=True": "give --limited-angle"}  # what errors say to give, as an option
_FLOAT, _COPIES = 4, 6  # arrays that an iteration keeps on a device that is the host


@dataclass(frozen=True)
class Wanted:
    """What the options ask for."""

    algorithm: str = "fbp"
    iterations: int | None = None
    window: str | None = None
    rows: str | None = None
    centre: float | None = None
    rings: int | None = None
    pixel: float = 1.0
    angles: str | None = None
    flat: str | None = None
    dark: str | None = None
    integrals: bool = False
    limited_angle: bool = False
    device: str | None = None


@contextmanager
def _naming_options() -> Iterator[None]:
    """Errors of an argument that an option gives name the option."""
    try:
        yield
    except (ArrayError, ParameterError) as error:
        if (option := _OPTIONS.get(error.argument)) is None:
            raise
        told = str(error).removeprefix(error.argument)
        for word, as_option in _WORDS.items():
            told = told.replace(word, as_option)
        raise Failure(f"{option}{told}") from error


@_naming_options()
def run_reconstruct(path: Path, wanted: Wanted, out: Path | None) -> None:
    """Reads, reconstructs and writes; prints what it does."""
    target = out if out is not None else Path(f"{path.stem or 'scan'}-{wanted.algorithm}.tif")
    if target.suffix.lower() not in (".npy", *tiff_stacks.SUFFIXES):
        raise Failure(f"--out: {target} has no suffix .tif or .npy; name a file of one of these")
    tiff_stacks.pillow()  # before anything is computed: a picture is drawn of the slice in the middle
    for written in (target, _picture_of(target)):
        files.check_file(written)
    _refuse_inputs(target, path, wanted)
    checks.length("--pixel", wanted.pixel)
    options = _options(wanted)
    device = select(wanted.device)
    scan = _scan(path, wanted)
    click.echo(repr(scan).strip("<>").removeprefix("ScanFile: "))
    rows = _rows(wanted.rows, scan.shape[1])
    if target.suffix.lower() in tiff_stacks.SUFFIXES:
        tiff_stacks.check_size((len(rows), scan.shape[2], scan.shape[2]))
    if (wanted.rings or 0) > scan.shape[2]:
        raise Failure(f"--rings: {wanted.rings} columns are more than the scan's {scan.shape[2]}; give fewer")
    offset = _offset(scan, rows, wanted)
    began = time.perf_counter()
    images = np.empty((len(rows), scan.shape[2], scan.shape[2]), np.float32)
    done = 0
    for part in _parts(scan, rows):
        p = _projections(scan, part, wanted)
        geometry = gt.parallel3d(scan.angles, p.shape[1:], wanted.pixel, (0.0, offset * wanted.pixel), units="rad")
        A = gt.Projector(geometry, gt.Volume((len(part), *images.shape[1:]), wanted.pixel), device=device)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            found = ALGORITHMS[wanted.algorithm](A, p, **options)
        for warning in warned:
            click.echo(f"{_told(part)}: {_warned(warning.message)}", err=True)
        if getattr(found, "ended", None) == "interrupted":
            raise KeyboardInterrupt
        images[done : done + len(part)] = np.asarray(found)
        done += len(part)
    told = ", ".join(f"{name} {value}" for name, value in options.items())
    click.echo(
        f"{wanted.algorithm}{f' ({told})' if told else ''}: {checks.counted(len(rows), 'slice')} of {images.shape[1]} "
        f"x {images.shape[2]} on {device.name} in {time.perf_counter() - began:.3g} s"
    )
    _write(target, images, rows)


def _warned(message: Warning | str) -> str:
    """What a warning says, with the option to give."""
    if not isinstance(message, gt.CentreWarning) or message.column is None:
        return str(message)
    return f"projections: they turn about another column of the detector; give --centre {message.column:.1f}"


def _refuse_inputs(target: Path, path: Path, wanted: Wanted) -> None:
    """Raises Failure where the slices, or the picture beside them, would be written over what is read, by whatever name
    or link."""
    read = {"the scan itself": os.fspath(path)}
    if wanted.angles and _ends(wanted.angles) is None:
        read["the file of --angles"] = wanted.angles
    for option, level in (("--flat", _level(wanted.flat)), ("--dark", _level(wanted.dark))):
        if isinstance(level, str) and level:
            read[f"the fields of {option}"] = level
    for what, name in read.items():
        taken = {os.path.realpath(name)}
        if is_folder(name):
            taken |= {os.path.realpath(entry) for entry in os.scandir(name) if entry.is_file()}
        for told, written in ((f"{target}", target), (f"the picture {_picture_of(target)}", _picture_of(target))):
            place = os.path.realpath(written)
            if place in taken or os.path.dirname(place) in taken:
                raise Failure(f"--out: {told} is, or lies in, {what}; name a file elsewhere")


def _options(wanted: Wanted) -> dict[str, Any]:
    """What the algorithm is called with. Raises Failure for options that it does not have."""
    known = inspect.signature(ALGORITHMS[wanted.algorithm]).parameters
    given = {"iterations": wanted.iterations, "window": wanted.window, "limited_angle": wanted.limited_angle or None}
    for name, value in given.items():
        if value is not None and name not in known:
            others = ", ".join(other for other in ALGORITHMS if name in inspect.signature(ALGORITHMS[other]).parameters)
            raise Failure(f"--{name.replace('_', '-')}: {wanted.algorithm} has none; it is for {others}")
    return {name: value for name, value in given.items() if value is not None}


def _scan(path: Path, wanted: Wanted) -> gt.ScanFile:
    """Raises Failure where neither the file nor an option says the angles, or what the flat fields are."""
    angles, flat, dark = _angles(wanted.angles, path), _level(wanted.flat), _level(wanted.dark)
    for name, given in (("flat", flat), ("dark", dark)):
        if wanted.integrals and given is not None:
            raise Failure(f"--{name}: line integrals are not corrected; leave it out, or leave out --integrals")
    try:
        scan = gt.read_scan(path, angles, flat=flat, dark=dark, integrals=wanted.integrals, units="rad")
    except ParameterError as error:
        if error.argument != "angles":
            raise
        how = ": --angles FIRST,LAST in degrees, or --angles FILE" if wanted.angles is None else ""
        raise Failure(f"--{error}{how}") from error
    if not wanted.integrals and flat is None and scan.source.level("white", slice(0, 1)) is None:
        raise Failure(f"--flat: {path} holds no flat fields; give some, or --integrals if it holds line integrals")
    return scan


def _angles(text: str | None, path: Path) -> Any:
    """Radians, from "FIRST,LAST" in degrees, spread evenly over the views; or from a file of degrees."""
    if text is None:
        return None
    if not text:
        raise Failure("--angles: it is empty; give FIRST,LAST in degrees, or a file")
    ends = _ends(text)
    if ends is None:
        return read_angles(text)
    if len(ends) != 2 or not math.isfinite(ends[1] - ends[0]):
        raise Failure(f"--angles: {text!r} is neither FIRST,LAST in degrees nor a file; give one of them")
    return np.deg2rad(np.linspace(ends[0], ends[1], count_views(path)))


def _ends(text: str) -> list[float] | None:
    """The numbers that commas part; None where it is a file's name."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        return None


def _level(text: str | None) -> float | str | None:
    """A number, or a path."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _rows(text: str | None, count: int) -> range:
    if text is None:
        return range(count)
    parts = text.split(":")
    try:
        first, *rest = [int(part) if part or not text else None for part in parts]
        found = range(count)[slice(first, *rest)] if rest else range(count)[slice(first, None)][:1]
    except (TypeError, ValueError):
        raise Failure(f"--rows: {text!r} is neither ROW nor FIRST:END[:STEP]; give one of them") from None
    if not rest and first is not None and first < -count:
        found = range(0)  # a slice would begin with the first row
    if rest and any(part is not None and abs(part) > count for part in (first, rest[0])):
        raise Failure(f"--rows: {text!r} reaches beyond the {count} rows, from 0; give an END of at most {count}")
    if not found or found.step < 0:
        raise Failure(f"--rows: {text!r} leaves none of the {count} rows, from 0; give others")
    return found


def _slice(rows: range) -> slice:
    return slice(rows.start, rows.stop, rows.step)


def _told(rows: range) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {rows[0]} to {rows[-1]}"


def _offset(scan: gt.ScanFile, rows: range, wanted: Wanted) -> float:
    """Of the detector's middle from the axis, in pixels."""
    middle, centre = (scan.shape[2] - 1) / 2, wanted.centre
    if centre is not None:
        if not abs(middle - centre) < middle + 0.5:
            raise Failure(f"--centre: {centre:g} is none of the columns, 0 to {scan.shape[2] - 1}; give one of them")
        return middle - centre
    looked_at = scan.projections(_slice(rows[:: max(1, math.ceil(len(rows) / _CENTRE_ROWS))]))
    try:
        offset = gt.find_centre(looked_at, scan.angles, units="rad")
    except (ArrayError, ParameterError) as error:
        raise Failure(f"--centre: the axis is not found by itself; name its column ({error})") from error
    shift = round(offset, 2) + 0.0  # never -0.00
    click.echo(
        f"axis at column {middle - shift:.2f} (offset {shift:+.2f} pixels), found from views half a turn apart; "
        "--centre sets it"
    )
    return offset


def _parts(scan: gt.ScanFile, rows: range) -> Iterator[range]:
    """Rows that are worked on together. Raises ParameterError where the slices do not fit the memory."""
    views, _, columns = scan.shape
    each = _FLOAT * _COPIES * (views * columns + columns**2)
    check_memory(scan.source.path, checks.counted(len(rows), "slice"), 2 * _FLOAT * len(rows) * columns**2 + each)
    many = max(1, _AT_ONCE // each)
    for first in range(0, len(rows), many):
        yield rows[first : first + many]


def _projections(scan: gt.ScanFile, rows: range, wanted: Wanted) -> np.ndarray:
    p = scan.projections(_slice(rows))
    if dead := int(scan.dead(_slice(rows)).sum()):
        click.echo(f"{_told(rows)}: dead pixels lie on the lines between their neighbours now, {dead} of them")
    if wanted.rings is not None:
        p = gt.remove_rings(p, wanted.rings or None)
    below = int((p < 0).sum())
    if below and wanted.algorithm in _NONNEGATIVE:
        click.echo(f"{_told(rows)}: {below / p.size:.2%} of the line integrals were below 0 and are 0 now")
        p = np.maximum(p, 0)
    return p


def _picture_of(target: Path) -> Path:
    return target.with_suffix(".png")


def _write(target: Path, images: np.ndarray, rows: range) -> None:
    """The slices, and a picture of the middle one beside them."""
    if target.suffix.lower() == ".npy":
        header = BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(images))
        files.write(target, [header.getvalue(), *(image.tobytes() for image in images)])
    else:
        files.write(target, [tiff_stacks.tiff(images)])
    picture = _picture_of(target)
    middle = len(images) // 2
    low, high = tiff_stacks.grey_range(images[middle])
    files.write(picture, [tiff_stacks.png(images[middle], low, high)])
    click.echo(f"written: {target}, {picture} (row {rows[middle]}; black {low:.3g}, white {high:.3g} 1/mm)")
