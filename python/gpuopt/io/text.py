"""What the readers share: lines, fields, numbers with the line they stood on, and the error that names it.

Readers trust no count in a file: they take rows while there are any and compare afterwards, so that memory follows the
file's size and not its claims. Text is handled as bytes; only ASCII white space parts fields. Lines end in a line feed,
a carriage return, or both.
"""

from __future__ import annotations

import stat
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import Error
from gpuopt.point_arrays import LONGEST
from gpuopt.signals import let_through, mode_of

AnyPath = str | PathLike[str]
LineOf = Callable[[int], int | None]  # the line on which a row stood; None in binary files
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_LINE = 1 << 20
_SHOWN = 60


class FormatError(Error):
    """A file that cannot be read as what it should be: ``path``, and ``line`` (from 1; None: the file as a whole)."""

    path: Path
    line: int | None

    def __init__(self, path: AnyPath, line: int | None, reason: str) -> None:
        super().__init__(path, line, reason)  # these, so that it can be pickled
        self.path, self.line, self._reason = Path(path), line, reason

    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self._reason}"


@contextmanager
def opened(path: AnyPath) -> Iterator[BinaryIO]:
    """The regular file ``path``, open for reading. Raises FormatError, also where reading in the block fails,
    FileNotFoundError, PermissionError."""
    mode = mode_of(path)
    if mode is not None and not stat.S_ISREG(mode):
        raise FormatError(path, None, "it is no regular file; name a file")
    try:
        with system_errors(path, "opened", "name a file"):
            file = open(path, "rb")  # noqa: SIM115  # closed below
    except ValueError as error:  # a NUL
        raise FormatError(path, None, f"it cannot be opened ({error}); name a file") from error
    with file, system_errors(path, "read", "copy it to another disk, or write it again"):
        yield file


@contextmanager
def system_errors(path: AnyPath, done: str, fix: str) -> Iterator[None]:
    """Errors of the system in the block become FormatError: it cannot be ``done``, and the ``fix``; but not
    FileNotFoundError and PermissionError."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        let_through(error)
        raise FormatError(path, None, f"it cannot be {done} ({error.strerror or error}); {fix}") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines with their ends. The rest of one that is too long may come as further lines."""
    held = b""  # how a line begins that the last chunk cut off
    while chunk := file.readline(_LONGEST_LINE):
        lines = (held + chunk).splitlines(keepends=True) if held or b"\r" in chunk else [chunk]
        cut_off = len(chunk) == _LONGEST_LINE and not chunk.endswith(b"\n")
        held = lines.pop() if cut_off and len(lines[-1]) < _LONGEST_LINE else b""
        yield from lines
    if held:
        yield held


def lines_of(path: AnyPath) -> Generator[tuple[int, bytes], None, None]:
    """Number and text of each line. Raises FormatError for zero bytes, endless lines and empty files.

    Who may leave some of them unread closes it (``closing``): what a signal's handler raises while Python does that by
    itself is dropped.
    """
    count = 0
    with opened(path) as file:
        for count, line in enumerate(_lines(file), 1):
            if b"\0" in line:
                raise FormatError(path, count, "it holds a zero byte, as no text does; check that it is the right file")
            if len(line) >= _LONGEST_LINE:
                long = f"it is {_LONGEST_LINE:,} bytes or longer"
                raise FormatError(path, count, f"{long}; check that it is the right file")
            yield count, line.removeprefix(BYTE_ORDER_MARK) if count == 1 else line
    if not count:
        raise FormatError(path, None, "it is empty; write it again")


def rows_of(path: AnyPath) -> Generator[tuple[int, list[bytes]], None, None]:
    """Number and fields of each line that holds any, ``#`` beginning a comment; to be closed as :func:`lines_of`."""
    with closing(lines_of(path)) as lines:
        for count, line in lines:
            fields = line.split(b"#", 1)[0].split()
            if fields:
                yield count, fields


def shown(fields: Sequence[bytes] | bytes) -> str:
    """Fields of a file as a message may show them: printable and short."""
    text = fields if isinstance(fields, bytes) else b" ".join(fields)
    return ascii((text if len(text) <= _SHOWN else text[:_SHOWN] + b"...").decode("latin-1"))


def whole(path: AnyPath, line: int, field: bytes) -> int:
    """A count or an index. Raises FormatError for anything but up to 18 digits, with a minus sign or without."""
    digits = field.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 18:
        raise FormatError(
            path, line, f"{shown(field)} is no whole number of up to 18 digits; correct it, or write the file again"
        )
    return int(field)


def floats(fields: Sequence[bytes]) -> list[float]:
    """The numbers that fields spell, NaN and infinity included. Raises ValueError for anything else."""
    if b"_" in b"".join(fields):  # 1_000 is a number to Python alone
        raise ValueError
    return list(map(float, fields))


class Numbers:
    """Rows of ``width`` numbers collected from a file, and the line of each."""

    def __init__(self, path: AnyPath, width: int) -> None:
        self._path, self._width = path, width
        self._values, self._lines = array("d"), array("q")

    def __len__(self) -> int:
        return len(self._lines)

    def append(self, line: int, fields: Sequence[bytes]) -> None:
        """Takes the row's first numbers. Raises FormatError where there are too few, or others."""
        if len(fields) < self._width:
            raise FormatError(
                self._path,
                line,
                f"{self._width} numbers are needed where {len(fields)} fields are; the file may be cut off",
            )
        try:
            self._values.extend(floats(fields[: self._width]))
        except ValueError as error:
            let_through(error)
            raise FormatError(
                self._path, line, f"{shown(fields)} does not begin with {self._width} numbers; correct the line"
            ) from None
        self._lines.append(line)

    def line(self, row: int) -> int:
        """The line on which a row stood."""
        return self._lines[row]

    def table(self) -> np.ndarray:
        """The rows (n, width), float64."""
        return np.array(self._values, dtype=np.float64).reshape(-1, self._width)


def at(row: int, line_of: LineOf, what: str) -> str:
    """Which row a message means, where there is no line to name."""
    return what if line_of(row) is not None else f"{what} {row}"


def finite(
    path: AnyPath, table: np.ndarray, dtype: DTypeLike, line_of: LineOf, what: str = "row", lengths: int = 3
) -> np.ndarray:
    """``table`` (n, width) in ``dtype``. Raises FormatError for what is not finite in it, and for coordinates that
    molecules and surfaces do not take, in the first ``lengths`` columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = table.astype(dtype)
    for wrong, why in (
        (~np.isfinite(values), f"a number that is not finite in {np.dtype(dtype)}"),
        (np.abs(values[:, :lengths]) > LONGEST, f"a coordinate beyond {LONGEST:g} A"),
    ):
        rows = np.flatnonzero(wrong.any(axis=1))
        if len(rows):
            row = int(rows[0])
            raise FormatError(path, line_of(row), f"{at(row, line_of, what)} holds {why}; correct it")
    return values
