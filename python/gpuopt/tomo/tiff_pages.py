"""The pages of a TIFF, by its directories, which are held against the file before Pillow and libtiff follow them: these
read a directory that is cut off, or a strip of other bytes, without a word."""

from __future__ import annotations

import struct
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gpuopt.io.text import FormatError

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _WHITE, _FILL, _ORIENTATION = 256, 257, 258, 259, 262, 266, 274
_OFFSETS, _SAMPLES, _ROWS, _BYTES, _PLANES, _PREDICTOR, _FORM = 273, 277, 278, 279, 284, 317, 339
_TILE, _TILE_OFFSETS, _TILE_BYTES = (323, 322), 324, 325  # the first two: length, width
_SINGLE = {_WIDTH, _HEIGHT, _COMPRESSION, _WHITE, _FILL, _ORIENTATION, _SAMPLES, _ROWS, _PLANES, _PREDICTOR, *_TILE}
_MANY = {_BITS, _OFFSETS, _BYTES, _TILE_OFFSETS, _TILE_BYTES, _FORM}
_ALIKE = {_COMPRESSION: 1, _FILL: 1, _SAMPLES: 1, _PLANES: 1, _PREDICTOR: 1}  # in all pages; what counts without them

# Bytes of a value, by type; and the types of whole numbers without a sign.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_WHOLE = {3: "u2", 4: "u4", 16: "u8"}
_MOST_ENTRIES = 4096  # of a directory, as in libtiff
_UNCOMPRESSED = 1
_NO_SIZE = 2**62  # more bytes than any file has

_Numbers = dict[int, np.ndarray]


class _Damaged(Exception):
    """What is wrong with a page."""


def count_pages(path: Path, file: BinaryIO) -> int:
    """How many ``file`` holds, from the first directory to the last.

    Raises FormatError where a directory, one of its values or the pixels of a page are not whole in the file, where
    strips or tiles do not fit the picture, where two things lie on the same bytes, and where a page is stored otherwise
    than the first of the same size.
    """
    return _Walk(path, file).pages()


class _Walk:
    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self._size = file.seek(0, 2)
        file.seek(0)
        header = file.read(16)
        self._order = ">" if header.startswith(b"MM") else "<"
        big = 43 in header[2:4]
        self._link, self._number, self._entry = ("Q", "Q", "HHQ8s") if big else ("I", "H", "HHI4s")
        self._link_size = struct.calcsize("=" + self._link)
        self._first = 8 if big else 4  # where the link to the first directory is
        self._alike: dict[tuple[int, int], list[int]] = {}
        self._taken: list[np.ndarray] = []  # (begin, end, page)

    def pages(self) -> int:
        page, seen = 0, set()
        try:
            place = self._read(self._first, self._link)[0]
            self._take(np.array([0]), np.array([self._first + self._link_size]), 0)
            while place:
                page += 1
                if place in seen:
                    raise _Damaged("it is one of those before it")
                seen.add(place)
                numbers, place = self._directory(place, page)
                self._pixels(numbers, page)
        except _Damaged as error:
            raise self._error(f"its page {page} is cut off or damaged: {error}") from None
        self._check_apart()
        return page

    def _error(self, what: str) -> FormatError:
        return FormatError(self._path, None, f"{what}; copy the file again")

    def _bytes(self, place: int, count: int) -> bytes:
        if place + count > self._size:
            raise _Damaged(f"it goes on to byte {place + count:,} of {self._size:,}")
        self._file.seek(place)
        return self._file.read(count)

    def _read(self, place: int, form: str) -> tuple[Any, ...]:
        form = self._order + form
        return struct.unpack(form, self._bytes(place, struct.calcsize(form)))

    def _directory(self, place: int, page: int) -> tuple[_Numbers, int]:
        """The whole numbers at ``place`` by their tags, and where the next directory is."""
        entry = struct.Struct(self._order + self._entry)
        begin = place + struct.calcsize("=" + self._number)
        (count,) = self._read(place, self._number)
        if not 0 < count <= _MOST_ENTRIES:
            raise _Damaged(f"it has {count:,} tags")
        end = begin + count * entry.size
        numbers, last = {}, -1
        for tag, kind, values, held in entry.iter_unpack(self._bytes(begin, count * entry.size)):
            if tag <= last:
                raise _Damaged(f"its tag {tag} is out of order")
            last = tag
            if (found := self._values(tag, kind, values, held)) is not None:
                numbers[tag] = found
        (link,) = self._read(end, self._link)
        self._take(np.array([place]), np.array([end + self._link_size]), page)
        return numbers, link

    def _values(self, tag: int, kind: int, count: int, held: bytes) -> np.ndarray | None:
        """Of an entry; None where the pixels do not depend on it."""
        needed = tag in _SINGLE or tag in _MANY
        if needed and (kind not in _WHOLE or (count != 1 if tag in _SINGLE else count < 1)):
            raise _Damaged(f"its tag {tag} has {count:,} values of type {kind}")
        size = count * _SIZES.get(kind, 0)
        if size > len(held):
            (place,) = struct.unpack(self._order + self._link, held)
            if place + size > self._size:
                raise _Damaged(f"the values of its tag {tag} go on to byte {place + size:,} of {self._size:,}")
            held = self._bytes(place, size) if needed else b""
        return np.frombuffer(held[:size], self._order + _WHOLE[kind]) if needed else None

    def _pixels(self, numbers: _Numbers, page: int) -> None:
        """Checks the strips or tiles of a page."""
        one = {tag: int(values[0]) for tag, values in numbers.items()}
        height, width = one.get(_HEIGHT, 0), one.get(_WIDTH, 0)
        tiled = _TILE_OFFSETS in numbers
        if not height or not width or tiled == (_OFFSETS in numbers):
            raise _Damaged("it does not say its size and where its pixels are")
        rows = min(one.get(_ROWS, height), height)
        part = [one.get(tag, 0) for tag in _TILE] if tiled else [rows, width]
        if not all(part):
            raise _Damaged("it does not say how many rows are together")
        self._check_alike((height, width), [*(one.get(tag, usual) for tag, usual in _ALIKE.items()), *part], page)
        planes = one.get(_SAMPLES, 1) if one.get(_PLANES, 1) == 2 else 1
        parts = prod(-(-whole // step) for whole, step in zip((height, width), part, strict=True)) * planes
        offsets = numbers[_TILE_OFFSETS if tiled else _OFFSETS]
        counts = said = numbers.get(_TILE_BYTES if tiled else _BYTES, np.zeros(0, np.int64))
        raw = one.get(_COMPRESSION, 1) == _UNCOMPRESSED and one.get(_SAMPLES, 1) == 1
        if len(offsets) != parts or len(said) not in (parts, 0 if raw else parts):
            raise _Damaged(f"its pixels are not in {parts:,} strips or tiles, as its size asks for")
        if raw:
            last_rows = part[0] if tiled else height - (parts - 1) * rows
            counts = _raw_bytes(part, parts, last_rows, one.get(_BITS, 1))
            if len(said) and ((said[:-1] != counts[:-1]).any() or said[-1] < counts[-1]):
                raise _Damaged("its strips or tiles have other numbers of bytes than its size asks for")
        if offsets.max() > self._size or counts.max() > self._size or not counts.all():
            raise _Damaged("some of its pixels are not in the file")
        begins = offsets.astype(np.int64)
        ends = begins + counts.astype(np.int64)
        if ends.max() > self._size:
            raise _Damaged("some of its pixels are not in the file")
        self._take(begins, ends, page)

    def _check_alike(self, size: tuple[int, int], stored: list[int], page: int) -> None:
        if self._alike.setdefault(size, stored) != stored:
            raise self._error(f"its page {page} is stored otherwise than the pages before; one of them is damaged")

    def _take(self, begins: np.ndarray, ends: np.ndarray, page: int) -> None:
        """Notes bytes as those of ``page``; neighbours as one, so that a page of many strips takes little memory."""
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], ends[order]
        parted = begins[1:] != ends[:-1]
        begins, ends = begins[np.append(True, parted)], ends[np.append(parted, True)]
        self._taken.append(np.stack([begins, ends, np.full_like(begins, page)], axis=1))

    def _check_apart(self) -> None:
        taken = np.concatenate(self._taken)
        taken = taken[np.argsort(taken[:, 0], kind="stable")]
        shared = np.flatnonzero(taken[1:, 0] < taken[:-1, 1])
        if len(shared):
            one, other = sorted(taken[shared[0] : shared[0] + 2, 2].tolist())
            if one in (0, other):  # 0 is the header
                raise self._error(f"its page {other} is damaged: its pixels lie on its directory or on one another")
            raise self._error(f"its pages {one} and {other} lie on the same bytes; one of them is damaged")


def _raw_bytes(part: list[int], parts: int, last_rows: int, bits: int) -> np.ndarray:
    """Of each strip or tile without compression. A file may say more for the last one."""
    rows, across = part
    line = -(-across * bits // 8)
    counts = np.full(parts, min(rows * line, _NO_SIZE), np.int64)
    counts[-1] = min(last_rows * line, _NO_SIZE)
    return counts
