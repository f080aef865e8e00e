"""What a kernel is on an NVIDIA GPU: its own instructions where NVIDIA's tools are installed, else PTX, from a driver's
program or from clang."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

from gpuopt.lab.compiled import kept, nvidia, tools
from gpuopt.lab.compiled.listing import Listing, ListingError
from gpuopt.lab.compiled.ptx import read_ptx
from gpuopt.lab.compiled.ptxas import Usage, read_ptxas
from gpuopt.lab.compiled.sass import read_sass
from gpuopt.lab.compiled.tools import ToolError

_TARGET = re.compile(r"^\.target\s+(sm_\d{1,3}[af]?)", re.MULTILINE)


def read(binary: bytes, kernel: Mapping[str, Any]) -> tuple[Listing, str]:
    """The listing of a driver's kernel, and the tools that said it. Raises ListingError and ToolError."""
    text = binary.partition(b"\0")[0].decode(errors="replace")
    machine, listings, tool = compiled(text)
    found = _named(listings, kernel["entry_point"])
    if found.registers is None and (usage := read_ptxas(kernel["log"] or "").get(found.kernel)):
        found = _used(found, usage)
    return with_occupancy(found, machine, kernel["local_size"], kernel.get("local_bytes")), tool


def compiled(ptx: str, machine: str = "") -> tuple[str, list[Listing], str]:
    """The machine of PTX (its own where none is given), its kernels, and the tools that said it: as SASS where ptxas
    and a disassembler are on PATH. Raises ListingError for what is no PTX."""
    listings = read_ptx(ptx)  # which also refuses what calls an undefined function
    target = machine or (found[1] if (found := _TARGET.search(ptx)) else "")
    if not (tools.find("ptxas") and tools.find("nvdisasm", "cuobjdump")):
        return _with_ptxas(ptx, target, listings)
    by = [kept.tool(tools.needed("ptxas")), kept.tool(tools.needed("nvdisasm", "cuobjdump"))]
    sass, log, machine = kept.texts(["SASS", ptx, target], by, lambda: astuple(nvidia.assemble(ptx, target)))
    told = read_ptxas(log)
    shown = [_used(each, told[each.kernel]) if each.kernel in told else each for each in read_sass(sass)]
    return machine, shown, f"ptxas {tools.version(tools.needed('ptxas'))}"


def _with_ptxas(ptx: str, target: str, listings: list[Listing]) -> tuple[str, list[Listing], str]:
    """PTX, with registers and spills where ptxas alone is installed."""
    try:
        by = [kept.tool(tools.needed("ptxas"))]
        log, machine = kept.texts(["ptxas -v", ptx, target], by, lambda: nvidia.usage(ptx, target))
    except ToolError:
        return target, listings, "PTX"
    told = read_ptxas(log)
    shown = [_used(each, told[each.kernel]) if each.kernel in told else each for each in listings]
    return machine, shown, f"PTX, ptxas {tools.version(tools.needed('ptxas'))}"


def with_occupancy(found: Listing, machine: str, local_size: Sequence[int] | None, local_bytes: int | None) -> Listing:
    """With the warps that a multiprocessor holds, where the registers and the size of a work-group are known."""
    if found.registers is None or not local_size:
        return found
    taken = local_bytes if local_bytes is not None else found.local_bytes
    warps, by = nvidia.occupancy(found.registers, math.prod(local_size), taken or 0, nvidia.capability(machine))
    if warps is None:
        return replace(found, notes=(*found.notes, by))
    return replace(found, occupancy=warps, occupancy_by="wavefronts" if by == "warps" else by)


def _named(listings: Sequence[Listing], kernel: str) -> Listing:
    for each in listings:
        if each.kernel == kernel:
            return each
    raise ListingError(f"the listing holds no kernel {kernel}")


def _used(found: Listing, usage: Usage) -> Listing:
    """With what ptxas tells of it."""
    return replace(
        found,
        registers=usage.registers,
        spill_bytes=usage.spill_store_bytes,
        scratch_bytes=usage.stack_bytes,
        local_bytes=usage.shared_bytes,
    )
