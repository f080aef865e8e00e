"""What PoCL made of a kernel for CPUs. It compiles a work-group function for each local size when that is first
enqueued, and keeps it in its cache (seen with 3.1): `HASH/KERNEL/64-1-1-goffs0-smallgrid/KERNEL.so`. The program binary
names the hash. It also holds a function for any local size, `0-0-0`, which does not run where PoCL has a compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpuopt import pocl
from gpuopt.lab.compiled import x86
from gpuopt.lab.compiled.listing import Listing, ListingError
from gpuopt.signals import let_through

_MAGIC = b"poclbin\0"
_HASH = re.compile(rb"[A-P]{2}/[A-P]{37}(?=\0)")
_HEADER_BYTES = 256
_NAME = re.compile(r"[A-Za-z_]\w{0,199}", re.ASCII)
# Whether offsets are zero, and whether no extent of the grid reaches 65,535.
_FORMS = ("-goffs0-smallgrid", "-goffs0", "-smallgrid", "")


def build_hash_of(binary: bytes) -> str:
    """The folder of a program in PoCL's cache, such as `OG/DLAC...`. Raises ListingError."""
    if not binary.startswith(_MAGIC):
        raise ListingError("the binary is none of PoCL's")
    if (found := _HASH.search(binary, len(_MAGIC), _HEADER_BYTES)) is None:
        raise ListingError("the binary of PoCL does not name its folder in the cache")
    return found[0].decode()


def object_files(binary: bytes, kernel: str, local_size: Sequence[int], cache: Path) -> list[Path]:
    """The cached object files of a kernel for a local size, the one written last first; none where it did not run
    with this cache. Raises ListingError for names that are none, or that lead out of the cache."""
    if not _NAME.fullmatch(kernel):
        raise ListingError(f"{kernel[:80]!r} is no name of a kernel")
    extents = [*local_size, 1, 1][:3]
    if not local_size or len(local_size) > 3 or not all(isinstance(n, int) and 0 < n < 2**31 for n in extents):
        raise ListingError(f"{list(local_size)[:4]} is no local size")
    folder = cache / build_hash_of(binary) / kernel
    size = "-".join(map(str, extents))
    try:
        paths = [path for form in _FORMS if (path := folder / f"{size}{form}" / f"{kernel}.so").is_file()]
        if any(not path.resolve().is_relative_to(cache.resolve()) for path in paths):
            raise ListingError(f"{folder} leads out of PoCL's cache")
        return sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    except OSError as error:
        let_through(error)
        raise ListingError(f"{folder} cannot be read: {error.strerror or error}") from error


def listing(binary: bytes, kernel: str, local_size: Sequence[int]) -> Listing:
    """The listing of the work-group function of a kernel that ran with this local size. It loops over the work-items.

    Raises ListingError, also where the cache does not hold it, and ToolError.
    """
    cache = pocl.cache_place(os.environ)
    paths = object_files(binary, kernel, local_size, cache)
    if not paths:
        size = " x ".join(map(str, local_size))
        raise ListingError(
            f"PoCL's cache {cache} holds no {kernel} for work-groups of {size}: run it there once, without "
            "POCL_KERNEL_CACHE=0"
        )
    text, _ = x86.disassembled(paths[0])
    # Of the functions in the file this is the one that PoCL looks up; `_workgroup_fast` is for other devices.
    found = x86.read_objdump(text, f"_pocl_kernel_{kernel}_workgroup")
    notes = [f"the work-group function {paths[0].parent.name}"]
    if others := [path.parent.name for path in paths[1:]]:
        notes.append(f"the newest; the cache also has {', '.join(others)}, for other sizes of the whole grid")
    return replace(found, kernel=kernel, notes=(*notes, *found.notes))
