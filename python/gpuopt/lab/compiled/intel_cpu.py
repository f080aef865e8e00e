"""What Intel's CPU runtime made of a kernel. Its program binary is an ELF file of a type of its own, and section
`.ocl.obj` of it an ordinary object file (seen with 2026.2)."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpuopt.lab.compiled import elf, x86
from gpuopt.lab.compiled.listing import Listing, ListingError
from gpuopt.signals import let_through

_NAME = re.compile(r"[A-Za-z_]\w{0,1023}", re.ASCII)
_VECTORIZED = re.compile(r"was successfully vectorized \((\d{1,4})\)|was not vectorized")


def object_of(binary: bytes) -> bytes:
    """The object file in a program binary. Raises ListingError."""
    found = elf.section(binary, ".ocl.obj")
    if not found.startswith(elf.MAGIC):
        raise ListingError("section .ocl.obj of the program binary holds no object file")
    return found


def listing(binary: bytes, kernel: str, log: str, local_size: Sequence[int] | None = None) -> Listing:
    """The listing of a kernel, whose function has its name.

    A kernel without barriers is one function, whose loops over work-items take several at once, and then those that are
    left one by one. Of a kernel with barriers there are two functions: one for several work-items at once, which runs
    where their number divides the first extent of the work-group, and one for one. ``local_size`` chooses; without it
    the first is taken, and ``notes`` says so. ``log`` is the build's log, which tells how many work-items are taken at
    once. Raises ListingError and ToolError.
    """
    if not _NAME.fullmatch(kernel):
        raise ListingError(f"{kernel[:80]!r} is no name of a kernel")
    found_object = object_of(binary)
    try:
        with tempfile.TemporaryDirectory(prefix="gpuopt-") as folder:
            path = Path(folder, "kernel.o")
            path.write_bytes(found_object)
            text, _ = x86.disassembled(path)
    except OSError as error:
        let_through(error)
        raise ListingError(f"the object file cannot be written: {error.strerror or error}") from error
    function, notes = _form(x86.functions(text), kernel, local_size)
    found = x86.read_objdump(text, function)
    return replace(found, kernel=kernel, notes=(*_said(log, kernel), *notes, *found.notes))


def _form(functions: Sequence[str], kernel: str, local_size: Sequence[int] | None) -> tuple[str, list[str]]:
    """The function that runs, and what there is to say of it."""
    several = re.compile(rf"_ZGV[a-zA-Z][NM](\d{{1,4}})[a-z0-9]*_{kernel}")
    for name in functions:
        if found := several.fullmatch(name):
            width = int(found[1])
            if local_size and (width == 0 or local_size[0] % width):
                return kernel, [f"one work-item at a time: {width} do not divide {local_size[0]}"]
            unsure = "" if local_size else f", which runs in work-groups whose first extent {width} divides"
            return name, [f"the function for {width} work-items at once{unsure}"]
    return kernel, []


def _said(log: str, kernel: str) -> list[str]:
    for line in log.splitlines():
        if line.startswith(f'Kernel "{kernel}" was ') and (found := _VECTORIZED.search(line)):
            return [f"vectorized: {found[1]} work-items at once" if found[1] else "not vectorized over work-items"]
    return []
