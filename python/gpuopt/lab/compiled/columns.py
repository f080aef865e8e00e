"""What a table says of a compiled kernel: its listing in numbers, those of the innermost loop, and how many wavefronts
fit."""

from __future__ import annotations

from dataclasses import asdict

from gpuopt.lab.compiled.listing import Counted, Counts, Listing, counts

IN_LOOP = ("alu", "fetch", "store", "local", "atomic", "double", "special", "matrix", "fma")


class Columns(Counted, total=False):
    """A compiled kernel in numbers; None where a target has no such number, or where its tools do not tell it.

    registers, scalar_registers, spill_bytes, scratch_bytes, local_bytes, code_bytes
        As in :class:`gpuopt.lab.compiled.listing.Listing`.
    alu, fetch, store, local, atomic, branch, other
        Instructions by what they do; together they are all.
    fma, double, special, matrix, private, scalar
        Those among them that multiply and add in one, work on 64-bit floats, are special functions, multiply small
        matrices, reach private memory, or are done once for a wavefront.
    widest_bits, vectors
        The widest vector registers in use, and the instructions that use vector registers.
    loops, loop_instructions, loop_alu, loop_fetch, ...
        How many loops there are; of the innermost one (of several, that with most multiplications and additions in
        one) the same counts.
    groups, utilization
        VLIW groups, and the part of their slots that is filled.
    alu_per_fetch
        Arithmetic instructions a fetch, of the innermost loop where it fetches; with VLIW groups in their place, of
        the whole kernel (Jang 2009's arithmetic intensity).
    occupancy, occupancy_by
        Wavefronts that a unit (a SIMD; on NVIDIA a multiprocessor) can hold at once, and what limits them.
    """

    registers: int | None
    scalar_registers: int | None
    spill_bytes: int | None
    scratch_bytes: int | None
    local_bytes: int | None
    code_bytes: int | None
    widest_bits: int | None
    vectors: int | None
    loops: int
    loop_instructions: int | None
    loop_groups: int | None
    loop_alu: int | None
    loop_fetch: int | None
    loop_store: int | None
    loop_local: int | None
    loop_atomic: int | None
    loop_double: int | None
    loop_special: int | None
    loop_matrix: int | None
    loop_fma: int | None
    groups: int | None
    utilization: float | None
    alu_per_fetch: float | None
    occupancy: int | None
    occupancy_by: str | None


def columns(listing: Listing) -> Columns:
    """A listing in numbers."""
    whole = counts(listing.instructions)
    loop = listing.innermost
    inside = counts(listing.inside(loop))
    told = asdict(whole)
    widest, vectors = told.pop("widest"), told.pop("vectors")
    row: Columns = {
        "registers": listing.registers,
        "scalar_registers": listing.scalar_registers,
        "spill_bytes": listing.spill_bytes,
        "scratch_bytes": listing.scratch_bytes,
        "local_bytes": listing.local_bytes,
        "code_bytes": listing.code_bytes,
        **told | {"groups": whole.groups if listing.slots else None},  # type: ignore[typeddict-item]
        "widest_bits": widest or None,
        "vectors": vectors if widest else None,
        "loops": len(listing.loops),
        "loop_instructions": inside.all if loop else None,
        **{f"loop_{name}": getattr(inside, name) if loop else None for name in IN_LOOP},  # type: ignore[typeddict-item]
        "loop_groups": inside.groups if loop and listing.slots else None,
        "utilization": whole.alu / (listing.slots * whole.groups) if listing.slots and whole.groups else None,
        "alu_per_fetch": _alu_per_fetch(listing, whole, inside),
        "occupancy": listing.occupancy,
        "occupancy_by": listing.occupancy_by,
    }
    return row


def _alu_per_fetch(listing: Listing, whole: Counts, inside: Counts) -> float | None:
    """Jang's arithmetic intensity is of the whole kernel and counts VLIW groups."""
    if listing.slots is not None:
        return whole.groups / whole.fetch if whole.fetch else None
    one = inside if inside.fetch else whole
    return one.alu / one.fetch if one.fetch else None
