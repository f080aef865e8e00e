"""Sections of 64-bit ELF files, little of which is believed: every place and size in them is held against the file."""

from __future__ import annotations

import struct

from gpuopt.lab.compiled.listing import ListingError

MAGIC = b"\x7fELF"
X86_64 = 62
_FILE = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8  # a section that takes no bytes in the file


def section(data: bytes, name: str) -> bytes:
    """The bytes of the first section of this name. Raises ListingError where there is none, or where the file is no
    little-endian ELF64 for x86-64 or contradicts itself."""
    if len(data) < _FILE.size or data[:4] != MAGIC:
        raise ListingError("the binary is no ELF file")
    _, bits, order, _, machine, _, _, _, table, _, _, _, _, entry_bytes, count, names = _FILE.unpack_from(data)
    if (bits, order, machine) != (2, 1, X86_64):
        raise ListingError(f"the ELF file is not a 64-bit one for x86-64 (machine {machine})")
    if count == 0:
        raise ListingError("the ELF file has no sections")
    if entry_bytes != _SECTION.size or names >= count:
        raise ListingError("the table of sections of the ELF file is damaged")
    headers = list(_SECTION.iter_unpack(_part(data, table, count * _SECTION.size, "the table of sections")))
    titles = _part(data, headers[names][4], headers[names][5], "the names of sections")
    wanted = name.encode() + b"\0"
    for title, kind, _, _, offset, size, *_ in headers:
        if titles[title : title + len(wanted)] == wanted:
            return _part(data, offset, 0 if kind == _NO_BITS else size, f"section {name}")
    raise ListingError(f"the ELF file has no section {name}")


def _part(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise ListingError(f"{what} of the ELF file would end behind the file")
    return data[offset : offset + size]
