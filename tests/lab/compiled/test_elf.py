"""ELF files: sections by name, and files that lie about themselves."""

from __future__ import annotations

import random
import struct

import pytest

from gpuopt.lab.compiled import elf
from gpuopt.lab.compiled.listing import ListingError

NAMES = b"\0.names\0.ocl.obj\0.bss\0"
FILE, SECTION = 64, 64


def section(name: int, kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 0, 0)


def made(content: bytes, *, machine: int = 62, headers: list[bytes] | None = None, **fields: int) -> bytes:
    """A file of this content in `.ocl.obj`; the table of sections stands last."""
    names_at, content_at = FILE, FILE + len(NAMES)
    table = content_at + len(content)
    headers = headers or [
        section(0, 0, 0, 0),
        section(1, 3, names_at, len(NAMES)),
        section(8, 1, content_at, len(content)),
        section(17, 8, 0, 2**40),
    ]
    told = {"table": table, "entry": SECTION, "count": len(headers), "names": 1} | fields
    head = struct.pack(
        "<4sBBB9xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 1, 1, 0xFF04, machine, 1, 0, 0, told["table"], 0, FILE, 0, 0, told["entry"]),
        *(told["count"], told["names"]),
    )
    return head + NAMES + content + b"".join(headers)


def test_a_section_by_its_name() -> None:
    data = made(b"machine code")
    assert elf.section(data, ".ocl.obj") == b"machine code"
    assert elf.section(data, ".bss") == b""  # takes no bytes in the file, whatever its size
    with pytest.raises(ListingError, match=r"no section \.ocl$"):
        elf.section(data, ".ocl")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no ELF file"),
        (b"\x7fELF", "no ELF file"),
        (b"MZ" + bytes(100), "no ELF file"),
        (made(b"x", machine=183), "machine 183"),
        (made(b"x", count=0), "no sections"),
        (made(b"x", entry=63), "damaged"),
        (made(b"x", names=4), "damaged"),
        (made(b"x", table=2**63), "table of sections"),
        (made(b"x", count=65535), "table of sections"),
        (made(b"x", headers=[section(0, 0, 0, 0), section(1, 3, 2**63, 2**63)]), "names of sections"),
        (made(b"x", headers=[section(0, 0, 0, 0), section(1, 3, 0, 2**64 - 1)]), "names of sections"),
        (made(b"x", headers=[section(8, 1, 80, 2**63), section(1, 3, 64, 22)]), r"section \.ocl\.obj"),
        (made(b"x", headers=[section(2**32 - 1, 1, 0, 4), section(1, 3, 64, 22)]), "no section"),
    ],
)
def test_files_that_lie_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(ListingError, match=says):
        elf.section(data, ".ocl.obj")


def test_sections_may_overlap() -> None:
    headers = [section(8, 1, 0, FILE), section(1, 3, FILE, len(NAMES)), section(8, 1, 10, 20)]
    assert elf.section(made(b"x", headers=headers), ".ocl.obj")[:4] == elf.MAGIC  # the first of the name


def test_cut_and_damaged_files_raise_nothing_else() -> None:
    whole = made(b"machine code")
    chance = random.Random(1)
    for length in range(len(whole)):
        with pytest.raises(ListingError):
            elf.section(whole[:length], ".ocl.obj")
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            elf.section(bytes(data), ".ocl.obj")
        except ListingError:
            pass
