"""What instructions of NVIDIA's machines do, from Volta on, by their opcodes (CUDA Binary Utilities, instruction set
reference; names of Blackwell's by the same patterns)."""

from __future__ import annotations

import re
from functools import lru_cache

from gpuopt.lab.compiled.listing import Kind, Trait

_KINDS: dict[Kind, set[str]] = {
    "fetch": {"LDG", "LD", "TEX", "TLD", "TLD4", "TXD", "SULD"},
    "store": {"STG", "ST", "SUST", "UTMASTG"},
    # Copies to local memory, also by the copy engine, count where the data go.
    "local": {"LDS", "STS", "LDSM", "STSM", "STAS", "LDGSTS", "UBLKCP", "UTMALDG"},
    "atomic": {"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDAS", "SUATOM", "SURED", "UBLKRED", "UTMAREDG"},
    "branch": {
        *("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK", "BMOV", "RTT"),
    },
    "other": {
        *(
            "NOP",
            "BAR",
            "DEPBAR",
            "LDGDEPBAR",
            "WARPSYNC",
            "MEMBAR",
            "ERRBAR",
            "FENCE",
            "YIELD",
            "NANOSLEEP",
            "WARPGROUP",
        ),
        *("CCTL", "CCTLL", "CCTLT", "ARRIVES", "SYNCS", "BPT", "KILL", "PMTRIG", "PREEXIT", "ACQBULK", "USETMAXREG"),
        *("UBLKPF", "UTMAPF", "UTMACCTL", "UTMACMDFLUSH", "UCGABAR_ARV", "UCGABAR_WAIT", "CGAERRBAR", "ENDCOLLECTIVE"),
        *("LDL", "STL", "LDC", "ULDC", "LDCU", "TXQ", "SUQUERY", "SETCTAID", "LEPC"),
    },
}
_KIND = {name: kind for kind, names in _KINDS.items() for name in names}
_PRIVATE = {"LDL", "STL"}
_CONSTANTS = {"LDC", "ULDC", "LDCU"}
_FUSED = {"FFMA", "FFMA2", "FFMA32I", "UFFMA", "DFMA", "HFMA2", "HFMA2_32I"}
_DOUBLES = {"DFMA", "DADD", "DMUL", "DSETP", "DMMA"}
_CONVERTS = {"F2F", "F2I", "I2F", "FRND"}
_ONCE = {"S2UR", "R2UR", "LDCU", "VOTEU", "CREDUX"}  # results in uniform registers, as of all whose name begins with U
_MATRIX = re.compile(r"(?:[HIDBQO]|[HIQB]G|WG|UTC[HIQO])MMA")
# Bank 0 holds arguments and the launch's sizes, 2 tables of jumps, 4 addresses of variables, 3 the program's constant
# memory (seen in what ptxas of CUDA 13.0 makes for sm_80 and sm_90a). Only the last is a fetch, as ld.const is in PTX.
_OWN_CONSTANT = re.compile(r"c\[0x3\]")
_MOVE = re.compile(r"HFMA2\S* R\d+, -RZ, RZ, ")  # 0 x 0 + constant: a way to load a constant


def meaning(opcode: str, text: str) -> tuple[Kind, frozenset[Trait]]:
    """What an instruction does, of its opcode with all modifiers, such as ``LDG.E.128``, and its whole text."""
    kind, traits = _of_opcode(opcode)
    name = opcode.partition(".")[0]
    if name in _CONSTANTS and _OWN_CONSTANT.search(text):
        return "fetch", traits
    if name == "HFMA2" and _MOVE.search(text):
        return kind, traits - {"fma"}
    return kind, traits


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str) -> tuple[Kind, frozenset[Trait]]:
    name, *more = opcode.split(".")
    kind = _KIND.get(name, "alu")
    traits: list[Trait] = []
    if _MATRIX.fullmatch(name):
        traits.append("matrix")
    elif name in _FUSED:  # IMAD, on whole numbers, is none
        traits.append("fma")
    if (
        name in _DOUBLES
        or (name in _CONVERTS and "F64" in more)
        or (name == "MUFU" and more[:1] in (["RCP64H"], ["RSQ64H"]))
    ):
        traits.append("double")
    if name == "MUFU":
        traits.append("special")
    if name in _PRIVATE:
        traits.append("private")
    if (name.startswith("U") or name in _ONCE) and "matrix" not in traits:
        traits.append("scalar")
    return kind, frozenset(traits)
