"""Listings of LLVM's amdgcn target: AMD's GCN, CDNA and RDNA generations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuopt.lab.compiled.listing import (
    MOST_INSTRUCTIONS,
    Instruction,
    Kind,
    Listing,
    ListingError,
    Trait,
    checked,
)
from gpuopt.lab.compiled.loops import loops_of
from gpuopt.lab.compiled.places import Places

_LABEL = re.compile(r"([.\w$]+):")
_TOLD = re.compile(r"; ?(NumSgprs|TotalNumSgprs|codeLenInByte|ScratchSize|Occupancy|LDSByteSize)\s*[:=]\s*(\d{1,12})")
_METADATA = re.compile(r"(?:- )?\.([a-z_]+):\s+(\S+)")
_SYMBOL = re.compile(r"([A-Za-z_]\w*)@(?:gotpc)?rel32@lo")
_REGISTERS = re.compile(r"s(?:(\d{1,3})|\[(\d{1,3}):(\d{1,3})\])$")
_MEMORY = ("global_", "flat_", "buffer_", "image_", "scratch_", "tbuffer_")
_SPECIAL = ("v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_", "v_div_")
_FUSED = re.compile(r"v_(?:dual_)?(?:fma|pk_fma|dot2|(?:mac|mad)(?:_legacy)?_f|mad_mix|mad[am]k)")
_LOCAL_ATOMIC = re.compile(
    r"ds_(?:(?:pk_)?add|cond_sub|sub|rsub|inc|dec|min|max|and|or|xor|mskor|wrap|cmpst|wrxchg|storexchg|condxchg"
    r"|append|consume)"
)
_WAITS = (
    *("s_waitcnt", "s_nop", "s_barrier", "s_inst_prefetch", "s_delay_alu", "s_clause", "s_sendmsg", "s_sleep"),
    *("s_setprio", "s_code_end", "s_icache", "s_dcache", "buffer_gl", "buffer_wb", "buffer_inv", "s_waitcnt_depctr"),
    *("s_ttrace", "s_version", "s_set_gpr_idx", "s_setreg", "s_denorm_mode", "s_round_mode"),
)
_ENDS = {"s_branch", "s_endpgm", "s_setpc_b64"}
_JUMPS = ("s_branch", "s_cbranch", "s_endpgm", "s_setpc", "s_swappc", "s_call")


@dataclass(frozen=True)
class _Unit:
    """Of a SIMD: 32-bit vector registers of a lane, how many are handed out at a time, and the most wavefronts."""

    registers: int
    granule: int
    wavefronts: int


_UNITS = {  # as LLVM 15 has them (AMDGPUBaseInfo.cpp), for the wavefront size that OpenCL C gets
    "gfx900": _Unit(256, 4, 10),
    "gfx906": _Unit(256, 4, 10),
    "gfx90a": _Unit(512, 8, 8),
    "gfx1030": _Unit(1024, 16, 16),
    "gfx1100": _Unit(1024, 16, 16),  # later versions: 1536, 24
}


@dataclass
class _Kernel:
    name: str
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    jumps: list[tuple[int, str]] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)
    given: int = 0  # scalar registers that a launch fills: addresses of the arguments and of what it says of itself


def read(text: str, chip: str = "") -> list[Listing]:
    """The kernels of a listing. Raises ListingError for one that is none, is cut off, or calls what it does not hold:
    its numbers would be of another program."""
    kernels, others, called = _split(checked(text))
    if not kernels:
        raise ListingError("the listing has no kernel")
    held = {kernel.name for kernel in kernels} | others
    if missing := sorted(called - held):
        raise ListingError(f"the kernel calls {', '.join(missing[:3])}, which no library here defines")
    metadata = _metadata(text)
    for kernel in kernels:
        _mark_arguments(kernel)
    return [_listing(kernel, metadata.get(kernel.name), _UNITS.get(chip)) for kernel in kernels]


def _split(text: str) -> tuple[list[_Kernel], set[str], set[str]]:
    """The kernels, the names of other functions and of constants, and what addresses are taken of."""
    names = set(re.findall(r"^[ \t]*\.amdhsa_kernel (\S+)", text, re.MULTILINE))
    kernels: list[_Kernel] = []
    given: dict[str, int] = {}
    functions: set[str] = set()
    objects: set[str] = set()
    called: set[str] = set()
    now: _Kernel | None = None
    described = ""
    places = Places()
    for raw in text.splitlines():
        line = raw.split(";")[0].strip()
        if not line:
            if now is None and kernels and (found := _TOLD.match(raw)):
                kernels[-1].told.setdefault(found[1], int(found[2]))
            continue
        if found := _LABEL.fullmatch(line):
            label = found[1]
            if label in functions:
                now = _Kernel(label) if label in names else None
                places.now = None
                if now:
                    kernels.append(now)
            elif label.startswith(".Lfunc_end"):
                now = None
            elif now:
                now.labels[label] = len(now.instructions)
        elif line.startswith("."):
            if line.startswith(".type") and line.endswith(("@function", "@object")):
                (functions if line.endswith("@function") else objects).add(line.split()[1].split(",")[0])
            elif line.startswith(".section"):
                now = None
            elif line.startswith(".amdhsa_"):
                name, _, told = line.partition(" ")
                described = told if name == ".amdhsa_kernel" else described
                if name == ".amdhsa_user_sgpr_count" and told.isdigit() and len(told) < 4:
                    given[described] = int(told)
            else:
                places.read(line)
        elif now:
            called.update(_SYMBOL.findall(line))
            _add(now, line, places.now)
    for kernel in kernels:
        kernel.given = given.get(kernel.name, 0)
    return kernels, (functions | objects) - names, called


def _add(kernel: _Kernel, line: str, place: str | None) -> None:
    """A line's instruction, or the two of a pair, which RDNA 3 issues at once."""
    for text in line.split(" :: ", 1):
        _add_one(kernel, text.strip(), place)


def _add_one(kernel: _Kernel, text: str, place: str | None) -> None:
    if len(kernel.instructions) >= MOST_INSTRUCTIONS:
        raise ListingError(f"the listing of {kernel.name} has more than {MOST_INSTRUCTIONS:,} instructions")
    words = text.replace(",", " ").split()
    opcode = words[0]
    if opcode.startswith(("s_branch", "s_cbranch")) and len(words) > 1:
        kernel.jumps.append((len(kernel.instructions), words[1]))
    kernel.instructions.append(Instruction(text, opcode, _kind(opcode), _traits(opcode, words), place=place))


def _kind(opcode: str) -> Kind:
    if opcode.startswith(_WAITS):
        return "other"
    if opcode.startswith(_JUMPS):
        return "branch"
    if opcode.startswith("ds_"):
        return "atomic" if _LOCAL_ATOMIC.match(opcode) else "local"
    if opcode.startswith(("s_load", "s_buffer_load", "s_scratch_load")):
        return "fetch"
    if opcode.startswith(_MEMORY):
        if _is_private(opcode):
            return "other"
        if "_atomic_" in opcode:
            return "atomic"
        return "store" if "_store" in opcode else "fetch"
    return "alu"


def _is_private(opcode: str) -> bool:
    """OpenCL C makes buffer instructions for private memory alone, where no scratch instructions are."""
    return opcode.startswith(("scratch_", "buffer_load", "buffer_store"))


def _traits(opcode: str, words: list[str]) -> frozenset[Trait]:
    traits: list[Trait] = []
    if opcode.startswith(("v_mfma", "v_wmma", "v_smfmac")):
        traits.append("matrix")
    elif _FUSED.match(opcode):
        traits.append("fma")
    if opcode.startswith("v_") and "_f64" in opcode:
        traits.append("double")
    if opcode.startswith(_SPECIAL):
        traits.append("special")
    if opcode.startswith("s_"):
        traits.append("scalar")
    if opcode.startswith(_MEMORY) and _is_private(opcode):
        traits.append("private")
    return frozenset(traits)


def _mark_arguments(kernel: _Kernel) -> None:
    """Loads of arguments, of the launch's sizes and of images' descriptions are none of the kernel's fetches: those
    whose address still is as the launch left it, and beside image instructions the eight words of an image."""
    given = set(range(kernel.given))
    described = any(each.opcode.startswith("image_") for each in kernel.instructions)
    for at, each in enumerate(kernel.instructions):
        if not each.opcode.startswith("s_"):
            continue
        operands = [word.strip() for word in each.text[len(each.opcode) :].split(",")]
        image = described and each.opcode in ("s_load_dwordx8", "s_load_b256")
        kept = len(operands) > 1 and given >= _numbers(operands[1]) != set()
        if each.opcode.startswith("s_load") and (image or kept):
            kernel.instructions[at] = replace(each, kind="other")
        if not each.opcode.startswith(("s_cmp", "s_bitcmp", *_JUMPS, *_WAITS)):
            given -= _numbers(operands[0])


def _numbers(operand: str) -> set[int]:
    """The scalar registers that an operand names."""
    found = _REGISTERS.match(operand)
    if found is None:
        return set()
    first, last = int(found[1] or found[2]), int(found[1] or found[3])
    return set(range(first, min(last, first + 15) + 1))


def _metadata(text: str) -> dict[str, dict[str, int]]:
    """Numbers of each kernel, by its name, from the listing's metadata."""
    found: dict[str, dict[str, int]] = {}
    begin = text.find(".amdgpu_metadata")
    if begin < 0:
        return found
    numbers: dict[str, int] = {}
    name = ""
    for raw in text[begin:].splitlines():
        line = raw.strip()
        if line == ".end_amdgpu_metadata":
            break
        if raw.startswith("  - "):  # the next kernel
            numbers, name = {}, ""
        if (item := _METADATA.match(line)) and raw.startswith(("    .", "  - .")):
            if item[1] == "name":
                name = item[2].strip("'")
                found[name] = numbers
            elif item[2].isdigit() and len(item[2]) < 12:
                numbers[item[1]] = int(item[2])
    return found


def _listing(kernel: _Kernel, metadata: Mapping[str, int] | None, unit: _Unit | None) -> Listing:
    if metadata is None or not any(each.opcode == "s_endpgm" for each in kernel.instructions):
        raise ListingError(f"the listing of {kernel.name} is cut off")
    told = kernel.told
    jumps = [(place, kernel.labels[label]) for place, label in kernel.jumps if label in kernel.labels]
    ends = {at for at, each in enumerate(kernel.instructions) if each.opcode in _ENDS}
    vectors = metadata.get("vgpr_count")
    unified = metadata.get("agpr_count", 0)  # of gfx90a's one file, .vgpr_count counts both kinds
    notes = [f"{unified} of the registers are accumulators of the matrix unit"] if unified else []
    spilled = metadata.get("vgpr_spill_count")
    return Listing(
        kernel.name,
        kernel.instructions,
        loops_of(len(kernel.instructions), jumps, ends),
        registers=vectors,
        scalar_registers=metadata.get("sgpr_count"),
        spill_bytes=None if spilled is None else 4 * spilled,
        scratch_bytes=metadata.get("private_segment_fixed_size"),
        local_bytes=metadata.get("group_segment_fixed_size"),
        code_bytes=told.get("codeLenInByte"),
        occupancy=told.get("Occupancy"),
        occupancy_by=_limit(told.get("Occupancy"), vectors, unit),
        notes=notes,
    )


def _limit(occupancy: int | None, registers: int | None, unit: _Unit | None) -> str | None:
    """What keeps more wavefronts than the compiler says from a SIMD."""
    if occupancy is None or registers is None or unit is None:
        return None
    if occupancy >= unit.wavefronts:
        return "wavefronts"
    taken = -(-max(registers, 1) // unit.granule) * unit.granule
    return "registers" if unit.registers // taken <= occupancy else "local memory"
