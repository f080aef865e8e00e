"""Daga et al. 2011: each optimization of Figure 6 alone, and those of Figure 7 together, in one loop over atoms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiled.expectations import Expected, Mutant, Paper

# What a pair costs in whatever kernel: parameters of the model, roots, exponentials, and the depth of an atom.
FORMULA = {"load constant model float": 8, "load global depth float": 1, "sqrt float": 3, "exp float": 2}
INSIDE = {"load constant model float": 8, "load global depth float": 1, "sqrt float": 3}  # of one region, with salt
FLAGS = {"test part_here": 2, "test region_here": 1, "test salt_here": 4}
VERTEX = {"load global points float4": 1, "load global shifts float4": 1}
LOCAL_VERTEX = {"load local own_points float4": 1, "load local own_shifts float4": 1}
SUM = {"load global phi float": 1, "store global phi float": 1}
ATOM = {"load global atoms float": 4}
BASIC = FORMULA | FLAGS | VERTEX | SUM | ATOM

NO_FLAGS = dict.fromkeys(FLAGS, 0)
SPLIT = "Kernel splitting: one of 16 kernels, chosen on the host, which tests no flag."
PRELOADED = "Register preloading: the vertex is loaded from global memory before the loop."
IN_LOCAL = "Local memory: the vertex is read from local memory."
INSIDE_ALONE = "total, salt; 37x131; float32; inside"


def without(counts: Mapping[str, int], *parts: Mapping[str, int]) -> dict[str, int]:
    return {key: count for key, count in counts.items() if not any(key in part for part in parts)}


def times(counts: Mapping[str, int], number: int) -> dict[str, int]:
    return {key: number * count for key, count in counts.items()}


def widened(counts: Mapping[str, int], width: int) -> dict[str, int]:
    """Of so many atoms at once: what belongs to an atom is a vector, what belongs to the vertex stays."""
    of_an_atom = {"load global depth float", "load global atoms float", "sqrt float"}
    wide = {f"{key}{width}" if key in of_an_atom else key: count for key, count in counts.items()}
    if "exp float" in wide:  # one of the atom, one of the vertex
        wide |= {"exp float": 1, f"exp float{width}": 1}
    return wide


def step(says: str, loop: Mapping[str, int], group: str = "64x1x1", compiled: str = "") -> Expected:
    """A kernel that tests no flag in the loop tests none at all, and runs on points that one such kernel serves."""
    split = not any(key in FLAGS for key in loop)
    groups = {"group 64x1x1": int(group == "64x1x1")}
    return Expected(
        says, loop, "sqrt", groups | (NO_FLAGS if split else {}), compiled, problem=INSIDE_ALONE if split else ""
    )


MOST = "the most of the device"
KS = without(BASIC, FLAGS, FORMULA) | INSIDE
PIXEL = {"image atoms": 1}
TWO_WIDE, ONE_WIDE = {"load global atoms float2": 2}, {"load global atoms float4": 1}
TILE = {"load local tile_atoms float": 4, "load local tile_depth float": 1}
STAGED = {"barrier": 2, "load global atoms float4": 1, "store local tile_atoms float4": 1}
DEPTH = ("load global depth float",)

STEPS = {
    "paper:basic": step(
        "Figure 5: a pair loads atom and vertex, adds to the potential in global memory, tests flags.", BASIC
    ),
    "paper:max_threads": step("Basic, with as many work-items in a work-group as there may be.", BASIC, MOST),
    "paper:kernel_splitting": step(SPLIT, KS),
    "paper:register_accumulator": step(
        "V.C: the sum is kept in a register; nothing is stored in the loop.",
        without(BASIC, SUM) | {"load constant model float": 7},
    ),
    "paper:register_preloading": step(PRELOADED, without(BASIC, VERTEX)),
    "paper:local_memory": step(IN_LOCAL, without(BASIC, VERTEX) | LOCAL_VERTEX),
    "paper:local_memory_atoms": step(
        "Local memory, read as tiles of atoms that a work-group loads side by side.", without(BASIC, ATOM, DEPTH) | TILE
    ),
    "paper:image_memory": step("V.E: atoms in read-only image memory, a float4 a read.", without(BASIC, ATOM) | PIXEL),
    "paper:unroll2": step("V.D: explicit 2-way unrolling.", times(BASIC, 2)),
    "paper:unroll4": step("V.D: explicit 4-way unrolling.", times(BASIC, 4)),
    "paper:vasm2": step("Figure 4 with float2: two loads an atom, scalar arithmetic.", without(BASIC, ATOM) | TWO_WIDE),
    "paper:vasm4": step("Figure 4: one float4 an atom, scalar arithmetic.", without(BASIC, ATOM) | ONE_WIDE),
    "paper:vavm2": step("Vector access and vector arithmetic, float2.", widened(BASIC, 2)),
    "paper:vavm4": step("Vector access and vector arithmetic, float4.", widened(BASIC, 4)),
    "paper:mt_ks": step(SPLIT, KS, MOST),
    "paper:ks_rp": step(SPLIT + PRELOADED, without(KS, VERTEX)),
    "paper:ks_rp_vasm2": step(SPLIT + PRELOADED, without(KS, VERTEX, ATOM) | TWO_WIDE),
    "paper:ks_lm": step(SPLIT + IN_LOCAL, without(KS, VERTEX) | LOCAL_VERTEX),
    "paper:ks_lm_atoms": step(SPLIT, without(KS, ATOM, DEPTH) | TILE),
    "paper:ks_vasm2": step(SPLIT, without(KS, ATOM) | TWO_WIDE),
    "paper:ks_vasm4": step(SPLIT, without(KS, ATOM) | ONE_WIDE),
    "paper:ks_vavm2": step(SPLIT, widened(KS, 2)),
    "paper:ks_vavm4": step(SPLIT, widened(KS, 4)),
    "paper:ks_rp_im": step(SPLIT + PRELOADED, without(KS, VERTEX, ATOM) | PIXEL),
    "paper:amd_best": step(
        "V.F: kernel splitting, register preloading, image memory and max. threads; the sum is not among them.",
        without(KS, VERTEX, ATOM) | PIXEL,
        MOST,
    ),
    "paper:nvidia_style": step(
        "II.B as read here: largest groups, atoms in local memory, vertex and sum in registers, unrolled; no vectors.",
        times(
            without(BASIC, VERTEX, SUM, ATOM, DEPTH) | TILE | {"load constant model float": 7},
            4,
        ),
        MOST,
    ),
}
for name in ("paper:local_memory_atoms", "paper:ks_lm_atoms", "paper:nvidia_style"):
    STEPS[name] = replace(STEPS[name], whole=STEPS[name].whole | STAGED)

PAIRS, ATOMS = "gem/pairs.cl", "gem/include/atoms.cl"
GLOBAL_POINT = "loop: load global points float4: 1, not 0"
MUTANTS = (
    Mutant(
        "keeps the sum in a register, unasked",
        ("paper:max_threads", "paper:register_preloading", "paper:amd_best"),
        PAIRS,
        "#if REGISTER_SUM",
        "#if 1",
        "loop: store global phi float: 0, not 1",
    ),
    Mutant(
        "stores the sum each pair all the same",
        ("paper:register_accumulator", "paper:nvidia_style"),
        PAIRS,
        "#define ADD(i, term) sum += term;",
        "#define ADD(i, term) { sum += term; if (live) phi[vertex] = SUM_OF_LANES(sum); }",
        "loop: store global phi float: ",
    ),
    Mutant(
        "reads the vertex from global memory each pair",
        ("paper:register_preloading", "paper:ks_rp", "paper:amd_best"),
        PAIRS,
        "#elif VERTEX == 2",
        "#elif VERTEX == 3",
        GLOBAL_POINT,
    ),
    Mutant(
        "reads the vertex from global memory, not from local",
        ("paper:local_memory", "paper:ks_lm"),
        PAIRS,
        "VERTEX == 1",
        "VERTEX == 3",
        GLOBAL_POINT,
    ),
    Mutant(
        "lets the compiler keep in registers what lives in memory",
        ("paper:local_memory", "paper:ks_lm", "paper:register_accumulator"),
        PAIRS,
        "#define HERE(i) ((i) & still)",
        "#define HERE(i) 0",
        "loop: load ",
    ),
    Mutant(
        "keeps the vertex in registers, unasked",
        ("paper:vasm4",),
        PAIRS,
        "VERTEX == 2",
        "VERTEX == 0",
        "loop: load global points float4: 0, not 1",
    ),
    Mutant(
        "tests flags in the loop",
        ("paper:kernel_splitting", "paper:mt_ks"),
        PAIRS,
        "#if FORM == 0 && SPECIALIZED",
        "#if 0",
        "loop: test region_here: ",
    ),
    Mutant(
        "tests a flag before the loop",
        ("paper:ks_rp_im",),
        PAIRS,
        "#define SHIFTED(vertex) (SALT ? (vertex) : 0)",
        "#define SHIFTED(vertex) (salt_here ? (vertex) : 0)",
        "whole: test salt_here: 1, not 0",
    ),
    Mutant(
        "tests no flag, unasked",
        ("paper:basic",),
        PAIRS,
        "    const int region = region_here, salt = salt_here, part = part_here;",
        "    const int region = region_here, salt = 1, part = 0;",
        "loop: test salt_here: 0, not ",
    ),
    Mutant(
        "does one pair a turn",
        ("paper:unroll2", "paper:unroll4"),
        PAIRS,
        "#if UNROLL == 1\n#define PAIRS(i) PAIR(i)",
        '#if 1\n#define PAIRS(i) _Pragma("unroll 1") for (int u = 0; u < UNROLL; ++u) PAIR((i) + u * ATOMS_AT_ONCE)',
        "loop: sqrt float: 3, not ",
    ),
    Mutant(
        "unrolls by two, unasked",
        ("paper:vasm2",),
        PAIRS,
        "{ PAIRS(i) }",
        "{ PAIRS(i) if (++i < natoms) { PAIRS(i) } }",
        "loop: sqrt float: 6, not 3",
    ),
    Mutant(
        "reads an atom by four scalar loads",
        ("paper:ks_vasm4",),
        ATOMS,
        "#define BEFORE_LOAD(i) const REAL4 whole = ONE_LOAD(i);",
        "#define BEFORE_LOAD(i) const REAL4 whole = (REAL4)(SCALAR(i, 0), SCALAR(i, 1), SCALAR(i, 2), SCALAR(i, 3));",
        "loop: load global atoms float: 4, not 0",
    ),
    Mutant(
        "reads an atom by four scalar loads, not two of float2",
        ("paper:ks_rp_vasm2",),
        ATOMS,
        "{vload2(2 * (i), HELD), vload2(2 * (i) + 1, HELD)}",
        "{(REAL2)(SCALAR(i, 0), SCALAR(i, 1)), (REAL2)(SCALAR(i, 2), SCALAR(i, 3))}",
        "loop: load global atoms float: 4, not 0",
    ),
    Mutant(
        "reads an atom by one load of float4, not two of float2",
        ("paper:ks_vasm2",),
        ATOMS,
        "const REAL2 pair[2] = {vload2(2 * (i), HELD), vload2(2 * (i) + 1, HELD)};",
        "const REAL4 all = vload4(i, HELD); const REAL2 pair[2] = {all.xy, all.zw};",
        "loop: load global atoms float4: 1, not 0",
    ),
    Mutant(
        "loads vectors by scalars",
        ("paper:vavm2", "paper:ks_vavm2"),
        ATOMS,
        "#define LANES(i, c) VLOAD(HELD + (c) * STRIDE + (i))",
        "#define LANES(i, c) (REALV)(HELD[(c) * STRIDE + (i)], HELD[(c) * STRIDE + (i) + 1])",
        "loop: load global atoms float: 8, not 0",
    ),
    Mutant(
        "takes roots one by one",
        ("paper:vavm4", "paper:ks_vavm4"),
        "gem/include/literal.cl",
        "    const REALV d = sqrt(NOT_NEARER(dx * dx + dy * dy + dz * dz));",
        "    const REALV d2 = NOT_NEARER(dx * dx + dy * dy + dz * dz);\n"
        "    const REALV d = (REALV)(sqrt(d2.x), sqrt(d2.y), sqrt(d2.z), sqrt(d2.w));",
        "loop: sqrt float4: 2, not 3",
    ),
    Mutant(
        "reads one pixel too many",
        ("paper:image_memory",),
        ATOMS,
        "#define ONE_LOAD(i) FETCH(i)",
        "#define ONE_LOAD(i) (FETCH(i) + 0 * FETCH((i) / 2))",
        "loop: image atoms: 2, not 1",
    ),
    Mutant(
        "reads atoms from global memory, though staged",
        ("paper:ks_lm_atoms",),
        ATOMS,
        "#define SCALAR(i, c) HELD[(c) * STRIDE + (i)]",
        "#define SCALAR(i, c) atoms[(c) * natoms + (i) + (STAGED ? tile : 0)]",
        "loop: load global atoms float: 4, not 0",
    ),
    Mutant(
        "leaves out the barrier behind a tile's loads",
        ("paper:local_memory_atoms",),
        ATOMS,
        "    barrier(CLK_LOCAL_MEM_FENCE);\n#endif",
        "\n#endif",
        "whole: barrier: 1, not 2",
        right=False,
    ),
)
PAPER = Paper("gem", "total, salt; 37x131; float32; everywhere", STEPS, MUTANTS)
