"""PQR: atoms with charges and radii, a line each, in the many spellings that programs write."""

from __future__ import annotations

import re
from contextlib import closing

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError
from gpuopt.checked import checked, real_dtype
from gpuopt.io.text import AnyPath, FormatError, Numbers, finite, floats, lines_of, shown
from gpuopt.molecule import Molecule
from gpuopt.signals import let_through

_RECORD = re.compile(rb"ATOM\d*|HETATM(\d*|[A-Z\d]{5}|\*{5})", re.IGNORECASE)  # a serial number may be glued to it
_GLUED = re.compile(rb"(?<=[\d.])(?=-)")  # "-100.123-200.456": columns that grew together
_COORDINATE = re.compile(rb" *-?\d+\.\d{3}")
_COLUMNS = re.compile(rb"\s" + rb"([ \d-]{4}\.\d{3})" * 3 + rb"(?=[\s-]|$)")  # PDB's 30 to 54: a blank, x, y, z
_RESIDUE_NUMBER = re.compile(rb"[A-Za-z]?-?\d+[A-Za-z]?")
_MOST_TRAILING = 2  # an element and a segment name
_MOST_FIELDS = 15  # of an atom: eight names and numbers at most before x y z charge radius
# Of PDB's columns 31 to 66: x, y, z, an occupancy from 0 to 1 and a B factor, both with two decimals; and a charge or
# another number with a point behind them.
_PDB_COLUMNS = re.compile(
    rb"([ \d-]{4}\.\d{3})" * 3
    + rb"(  (?:0\.\d\d|1\.00))(?= *-?\d+\.)([ \d-]{3}\.\d\d)(?=\s|$)( +[+-]?\d*\.\d+(?=\s|$))?",
)
_PDB_ATOMS = 10  # with fewer, charges of 1 may be ions
_LARGE_RADIUS = 5.0  # A, above that of any atom
_LOOKS_LIKE_PDB = (
    "its charges and radii look like a PDB file's occupancies and B factors; make a PQR file of it, with "
    "pdb2pqr for example, or write what are charges with three decimals"
)


@checked
def read_pqr(path: AnyPath, dtype: DTypeLike = np.float32) -> Molecule:
    """Return the ATOM and HETATM records of a PQR file: x y z (A), charge (e) and radius (A), in float32 or float64.

    These are the last five numbers of a line, behind which an element and a segment name may stand; what comes before
    (chains glued to residue numbers, insertion codes, blank residue names) does not matter. Where x y z fill the
    columns of PDB, these hold, so that a segment may be a number. Without them such a line is refused where its x has a
    decimal point; else x passes for a residue number, and the segment for the radius; so does a residue
    number for x behind a chain that is a digit, where a number is missing. Coordinates that grew together
    are parted at the minus sign or by the columns of PDB. Other records are passed over. Raises FormatError, which
    names the line: numbers missing, too many or not finite, negative radii, a second model (atoms behind ENDMDL, END or
    another MODEL), a PDB file, no atom.

    A file without negative charges is taken for one of PDB where numbers of two decimals, from 0 to 1 the first, fill
    the columns of its occupancies and B factors, and where more than ten lines all end in an element and most charges
    are 1. Up to ten ions, and uncharged atoms, may be written so, with radii of up to 5 A.

    Examples
    --------
    >>> lines = ["ATOM 1 NA NA 1 0.0 0.0 0.0 1.0 2.0", "ATOM 2 CL CL 2 0.0 0.0 5.0 -1.0 1.8"]
    >>> np.savetxt("salt.pqr", lines, "%s")
    >>> io.read_pqr("salt.pqr").charge
    array([ 1., -1.], dtype=float32)
    """
    dtype = real_dtype(dtype)
    rows, elements, in_columns = _read(path)
    table = finite(path, rows.table(), dtype, rows.line)
    charge, radius = table[:, 3], table[:, 4]
    if _is_pdb(elements, in_columns, charge, radius):
        raise FormatError(path, None, _LOOKS_LIKE_PDB)
    negative = np.flatnonzero(radius < 0)
    if len(negative):
        raise FormatError(
            path,
            rows.line(negative[0]),
            f"the radius {radius[negative[0]]:g} is negative; correct it: the charge comes first, then the radius",
        )
    try:
        return Molecule(table[:, :3], charge, radius)
    except ArrayError as error:
        raise FormatError(path, None, str(error)) from error


def _read(path: AnyPath) -> tuple[Numbers, int, int]:
    """x, y, z, charge and radius of each atom, how many lines end in an element, and how many fill PDB's columns."""
    rows = Numbers(path, 5)
    ended, elements, in_columns = False, 0, 0
    with closing(lines_of(path)) as lines:
        for line, text in lines:
            fields = text.split()
            record = fields[0].upper() if fields else b""
            if record != b"ATOM" and not _RECORD.fullmatch(record):
                ended |= record == b"ENDMDL" or (record in (b"END", b"MODEL") and len(rows) > 0)
                continue
            if ended:
                raise FormatError(path, line, "a second model begins; keep one model a file")
            columns = _PDB_COLUMNS.match(text, 30)
            if columns and columns[6]:
                raise FormatError(path, line, _LOOKS_LIKE_PDB)
            in_columns += columns is not None
            plain = _plain(fields)
            trailing = 0 if plain else _trailing(fields)
            elements += trailing > 0
            if columns and not plain:
                five = list(columns.groups()[:5])
            elif plain and [text[start : start + 8].strip() for start in (30, 38, 46)] == fields[-5:-2]:
                five = fields[-5:]
            elif (placed := _by_columns(text)) is not None:
                five = placed
            else:
                five = fields[-5:] if plain else _five(path, line, text, fields[: len(fields) - trailing])
            if len(fields) > _MOST_FIELDS:
                raise FormatError(path, line, f"{shown(fields)} holds more than an atom; give each a line of its own")
            rows.append(line, five)
    if not len(rows):
        raise FormatError(path, None, "it holds no ATOM or HETATM record; check that it is a PQR file")
    return rows, elements, in_columns


def _is_pdb(elements: int, in_columns: int, charge: np.ndarray, radius: np.ndarray) -> bool:
    """Whether occupancies and B factors were read, of which ``in_columns`` stood in PDB's columns; ``elements`` lines
    end in an element. Molecules have negative charges; only ions and uncharged atoms have not."""
    count, large = len(charge), bool(np.median(radius) > _LARGE_RADIUS)
    if charge.min() < 0:
        return False
    if count > _PDB_ATOMS and elements == count and np.median(charge) == 1:
        return True
    if 2 * in_columns < count:
        return False
    if count > _PDB_ATOMS:
        return large or bool(charge.any()) or not radius.any()
    return large and count > 1


def _plain(fields: list[bytes]) -> bool:
    """Whether a line ends as it should, beyond doubt: asked first, as nearly all do."""
    return len(fields) > 5 and b"." in fields[-5] and b"." not in fields[-6] and _numeric(fields[-5:])


def _by_columns(text: bytes) -> list[bytes] | None:
    """x, y, z in the columns of PDB and the two numbers behind them; None where they are not there, or where numbers
    with a point stand beside these five: x y z then fill other columns."""
    found = _COLUMNS.match(text, 29)
    if found is None or not all(map(_COORDINATE.fullmatch, found.groups())):
        return None
    behind = text[54:].split(None, 3)[:3]
    beside = [*text[:30].split()[-1:], *behind[2:]]
    if len(behind) < 2 or not _numeric(behind[:2]) or any(map(_with_point, beside)):
        return None
    return [*map(bytes.strip, found.groups()), *behind[:2]]


def _is_cut(text: bytes) -> bool:
    """Whether x, y, z fill the columns of PDB, and fewer than two numbers stand behind them. Behind another number with
    a point they are others."""
    found = _COLUMNS.match(text, 29)
    if found is None or not all(map(_COORDINATE.fullmatch, found.groups())):
        return False
    behind, before = text[54:].split()[:2], text[:30].split()[-1:]
    return not (len(behind) == 2 and _numeric(behind)) and not any(map(_with_point, before))


def _trailing(fields: list[bytes]) -> int:
    """How many fields at the end are no numbers."""
    count = 0
    while count < min(_MOST_TRAILING, len(fields) - 1) and not _numeric([fields[-1 - count]]):
        count += 1
    # "1.0-2.0" at the end is glued rather than a name.
    return count if not any(_COORDINATE.match(field) for field in fields[len(fields) - count :]) else 0


def _five(path: AnyPath, line: int, text: bytes, fields: list[bytes]) -> list[bytes]:
    """The fields of x, y, z, charge and radius."""
    pieces = fields
    if len(pieces) < 5 or not _numeric(pieces[-5:]):
        pieces = [piece for field in fields[-6:] for piece in _GLUED.split(field)]
    if len(pieces) < 5 or not _numeric(pieces[-5:]):  # by the columns of PDB
        columns = [text[start : start + 8] for start in (30, 38, 46)]
        if all(map(_COORDINATE.fullmatch, columns)):
            pieces = [text[22:26].strip(), *map(bytes.strip, columns), *text[54:].split()[:2]]
    if len(pieces) < 5 or not _numeric(pieces[-5:]):
        raise FormatError(
            path, line, f"{shown(fields)} does not end in x y z charge radius; put spaces between five numbers"
        )
    # Without the charge or the radius, the residue number would pass for x.
    before = pieces[-6] if len(pieces) > 5 else b""
    if _with_point(before):
        what = "ends in more numbers than x y z charge radius, and which are these is not clear"
        raise FormatError(path, line, f"{shown(fields)} {what}; leave out the others")
    if b"." not in pieces[-5] and b"." in pieces[-4] and not _RESIDUE_NUMBER.fullmatch(before):
        raise FormatError(
            path,
            line,
            f"{shown(fields)} seems to have four numbers behind its residue number; give x y z charge radius",
        )
    if _is_cut(text):
        raise FormatError(
            path, line, f"{shown(fields)} has no charge and radius behind x y z; give x y z charge radius"
        )
    return pieces[-5:]


def _with_point(field: bytes) -> bool:
    """Whether it is a number that no residue, serial or segment has."""
    return b"." in field and _numeric([field])


def _numeric(fields: list[bytes]) -> bool:
    try:
        floats(fields)
    except ValueError as error:
        let_through(error)
        return False
    return True
