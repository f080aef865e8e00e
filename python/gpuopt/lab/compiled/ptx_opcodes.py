"""What instructions of NVIDIA's PTX do, by their opcodes (PTX ISA 9.0, chapter 9)."""

from __future__ import annotations

from functools import lru_cache

from gpuopt.lab.compiled.listing import Kind, Trait

_BRANCHES = {"bra", "brx", "call", "ret", "exit"}
_OTHERS = {
    *("bar", "barrier", "membar", "fence", "mbarrier", "nanosleep", "griddepcontrol", "pmevent", "trap", "brkpt"),
    *("prefetch", "prefetchu", "discard", "applypriority", "createpolicy", "setmaxnreg", "txq", "suq", "istypep"),
    *("alloca", "stacksave", "stackrestore", "clusterlaunchcontrol", "tcgen05"),
}
_READS = {"ld", "ldu", "tex", "tld4", "suld"}
_WRITES = {"st", "sust"}
_ATOMICS = {"atom", "red", "sured", "multimem"}
_SPECIAL = {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"}
_MOVES = {"mov", "selp"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}
_SPACES = {"global", "shared", "local", "param", "const"}
# Of the groups of instructions that copy or multiply asynchronously, those that only start, end or await them.
_AWAITS = {"commit_group", "wait_group", "wait_all", "mbarrier", "fence", "prefetch", "commit", "wait"}


@lru_cache(maxsize=4096)
def meaning(opcode: str) -> tuple[Kind, frozenset[Trait]]:
    """What an instruction does, of its opcode with all modifiers, such as ``ld.global.v4.f32``."""
    # shared::cta and shared::cluster are local memory; L1::no_allocate says nothing of the kind.
    parts = [part.partition("::")[0] for part in opcode.split(".")]
    kind = _kind(parts)
    return kind, frozenset(_traits(parts, kind))


def _kind(parts: list[str]) -> Kind:
    name, more = parts[0], parts[1:]
    # The first place named is where data go, but that loads name where they come from. A place that is not named is
    # found at run time; compilers leave it out for global memory that they cannot tell apart.
    space = next((part for part in more if part in _SPACES), "global")
    if name in _BRANCHES:
        return "branch"
    if name in ("tcgen05", "wgmma") and any(part in ("mma", "mma_async") for part in more):
        return "alu"
    if name in _OTHERS or (name in ("cp", "wgmma") and _AWAITS & set(more)):
        return "other"
    if name in _ATOMICS or (name == "cp" and "reduce" in more):
        return "atomic"
    if name in ("ldmatrix", "stmatrix"):
        return "local"
    if name in _READS or (name == "wmma" and "load" in more):
        return _in(space, "fetch")
    if name in _WRITES or name == "cp" or (name == "wmma" and "store" in more):
        return _in(space, "store")
    return "alu"


def _in(space: str, kind: Kind) -> Kind:
    """Of a read or a write. Arguments are in no memory that work-items share, private memory neither."""
    return "local" if space == "shared" else "other" if space in ("param", "local") else kind


def _traits(parts: list[str], kind: Kind) -> list[Trait]:
    name, types = parts[0], _FLOATS & set(parts[1:])
    traits: list[Trait] = []
    if "local" in parts[1:] and name in ("ld", "ldu", "st"):
        traits.append("private")
    if kind != "alu":
        return traits
    if name == "mma" or (name in ("wmma", "wgmma", "tcgen05") and any(part.startswith("mma") for part in parts)):
        traits.append("matrix")
    elif types and name in ("fma", "mad"):
        traits.append("fma")
    # A division that is not approximate is made of a reciprocal and multiplications.
    if name in _SPECIAL or (types and name == "div"):
        traits.append("special")
    if "f64" in types and name not in _MOVES:
        traits.append("double")
    return traits
