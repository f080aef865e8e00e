"""What compilers and disassemblers said of a program, kept in the user's cache for later processes.

A file has the name of a SHA-256 over the program and over which tools were asked what; it holds their texts with a
checksum, compressed. One that is damaged, or that another user may have written, counts as none, and a folder or a disk
that takes no file ends nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuopt import _core, files, sealed
from gpuopt._core import Error
from gpuopt.lab.compiled import tools
from gpuopt.signals import let_through, suppressing

FOLDER = "listings"
SCHEMA = 1
MOST_FILES = 2000
MOST_BYTES = 64 * 2**20  # of all files, compressed
LARGEST = 8 * 2**20  # of one, compressed


def tool(path: str) -> str:
    """Which program of which version this is; "" where that cannot be told, and then nothing that it says is kept."""
    version = tools.version(path)
    try:
        facts = os.stat(path)
    except OSError as error:
        let_through(error)
        return ""
    return "" if version == "?" else f"{Path(path).name} {version} {facts.st_size} {facts.st_mtime_ns}"


def texts(about: Sequence[str | bytes], by: Sequence[str], make: Callable[[], Sequence[str]]) -> list[str]:
    """What ``make`` returns for ``about``, a program and what was asked of it, with the tools ``by``, each as
    :func:`tool` names it: as it was kept, else made and kept. Raises what ``make`` raises, which is not kept."""
    if not all(by):
        return list(make())
    key = _key([*about, *by])
    found = _read(key)
    if found is None:
        found = list(make())
        _write(key, found)
    return found


def _key(parts: Sequence[str | bytes]) -> str:
    """A SHA-256 of the parts and of where each ends."""
    sha = hashlib.sha256(f"{SCHEMA} {len(parts)}".encode())
    for part in parts:
        content = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        sha.update(f" {len(content)} ".encode())
        sha.update(content)
    return sha.hexdigest()


def _read(key: str) -> list[str] | None:
    if _core.folder_refusal(FOLDER):
        return None
    path = sealed.folder(FOLDER) / key
    try:
        with open(path, "rb", opener=_opener) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
                return None
            found = _unpacked(files.read_up_to(file, LARGEST), key)
    except (OSError, ValueError, zlib.error) as error:
        let_through(error)
        return None
    with suppressing(OSError):  # those used last stay longest
        os.utime(path)
    return found


def _opener(path: str, flags: int) -> int:
    """A link is not followed, and a pipe would keep a reader waiting for ever."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _packed(key: str, told: Sequence[str]) -> bytes:
    held = {"schema": SCHEMA, "key": key, "texts": list(told)}
    return zlib.compress(json.dumps(held | {sealed.CHECKSUM: sealed.digest(held)}).encode("ascii"))


def _unpacked(content: bytes, key: str) -> list[str] | None:
    """The texts; None where they are another program's. Raises ValueError and zlib.error for what is damaged."""
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(content, sealed.MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("it ends too early, or is too large")
    held = sealed.parsed(plain, SCHEMA)
    if not isinstance(held, dict) or sealed.CHECKSUM not in held or held.get("key") != key:
        return None
    told = held.get("texts")
    return told if isinstance(told, list) and all(isinstance(each, str) for each in told) else None


def _write(key: str, told: Sequence[str]) -> None:
    if sum(map(len, told)) > sealed.MOST_BYTES // 2 or len(content := _packed(key, told)) > LARGEST:
        return
    with suppressing(Error, OSError):  # a full disk, or a folder that is not ours
        place = sealed.folder(FOLDER)
        sealed.made(place)
        _make_room(place, len(content))
        files.write(place / key, [content])


def _make_room(place: Path, more: int) -> None:
    """Removes those that were used least recently where there are too many, or they are too large with ``more``."""
    found = []
    with os.scandir(place) as entries:
        for entry in entries:
            with suppressing(OSError):  # another process removed it
                facts = entry.stat(follow_symlinks=False)
                found.append((facts.st_mtime_ns, facts.st_size, entry.path))
    found.sort(reverse=True)
    for number, (_, size, path) in enumerate(found, 2):
        more += size
        if number > MOST_FILES or more > MOST_BYTES:
            with suppressing(OSError):
                os.unlink(path)
