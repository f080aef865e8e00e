"""SASS of an H200 as NVIDIA's nvdisasm and cuobjdump print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuopt.lab.compiled.listing import Listing, ListingError, Loop, counts
from gpuopt.lab.compiled.sass import read_sass

LISTINGS = Path(__file__).parent / "listings"
NVDISASM = (LISTINGS / "h200_nvdisasm.txt").read_text()
CUOBJDUMP = (LISTINGS / "h200_cuobjdump.txt").read_text()  # runs of spaces made shorter


def section(body: str, name: str = "k", other: str = "STO_CUDA_ENTRY STV_DEFAULT") -> str:
    """A function as nvdisasm prints it."""
    return (
        f'\t.section\t.text.{name},"ax",@progbits\n\t.align\t128\n.text.{name}:\n        .type  {name},@function\n'
        f'        .size           {name},(.L_end - {name})\n        .other          {name},@"{other}"\n'
        f"{name}:\n{body}\n.L_end:\n"
    )


def listing(*lines: str) -> str:
    """The lines with addresses, but for labels."""
    at = 0
    told = []
    for line in lines:
        told.append(line if line.endswith(":") or line.startswith("\t//") else f"        /*{at:04x}*/    {line} ;")
        at += 0 if told[-1] is line else 16
    return section("\n".join(told))


def kernel(*lines: str) -> Listing:
    (found,) = read_sass(listing(*lines))
    return found


def test_a_kernel_of_an_h200() -> None:
    tree, naive = read_sass(NVDISASM)
    assert (tree.kernel, naive.kernel) == ("tree", "naive")
    assert tree.notes == naive.notes == ["SASS sm_90a"]
    found = counts(naive.instructions)  # as grep has them, without 12 NOP and the endless jump before them
    assert (found.all, found.fetch, found.store, found.branch, found.other) == (203, 58, 1, 11, 12)
    assert (found.fma, found.local, found.private, found.double, found.special, found.matrix) == (29, 0, 0, 0, 0, 0)
    assert naive.code_bytes == 0xCB0
    assert naive.loops == (Loop(0x25, 0x6D), Loop(0x9A, 0xB2), Loop(0xBC, 0xC5))
    inside = counts(naive.inside(naive.innermost))
    assert (inside.all, inside.fetch, inside.fma, inside.branch) == (73, 32, 16, 1)
    found = counts(tree.instructions)
    assert (found.all, found.local, found.fetch, found.store, found.branch, found.other) == (64, 20, 1, 1, 2, 13)
    assert (tree.code_bytes, tree.loops) == (0x400, ())


def test_both_tools_say_the_same() -> None:
    tree = read_sass(NVDISASM)[0]
    assert read_sass(CUOBJDUMP) == [tree]
    jumps = "\t\tFunction : k\n/*0000*/ IADD3 R1, R1, 0x1, RZ ; /* 0x00 */\n /* 0x01 */\n/*0010*/ @P0 BRA 0x0 ;\n"
    assert read_sass(jumps + "/*0020*/ EXIT ;\n..........\n")[0].loops == (Loop(0, 1),)


@pytest.mark.parametrize(
    ("line", "kind", "traits"),
    [
        ("LDG.E.128.CONSTANT R8, desc[UR4][R4.64]", "fetch", set()),
        ("@!P0 LD.E R5, [R2.64]", "fetch", set()),
        ("TEX.SCR.LL R4, R2, R2, R4, 0x2a, 0x28, 2D", "fetch", set()),
        ("LDC R0, c[0x0][0x220]", "other", set()),
        ("LDC R4, c[0x0][RZ]", "other", set()),
        ("LDC R6, c[0x2][R0]", "other", set()),
        ("LDC.64 R2, c[0x3][R20]", "fetch", set()),
        ("ULDC.64 UR8, c[0x4][0x0]", "other", {"scalar"}),
        ("STG.E desc[UR6][R2.64], R17", "store", set()),
        ("@!P1 LDS R2, [R3]", "local", set()),
        ("LDSM.16.M88.4 R4, [R8]", "local", set()),
        ("LDGSTS.E.BYPASS.128 [R3], [R4.64]", "local", set()),
        ("LDL.64 R4, [R1+0x8]", "other", {"private"}),
        ("STL.128 [R1], R8", "other", {"private"}),
        ("ATOMS.POPC.INC.32 RZ, [R0+URZ]", "atomic", set()),
        ("@P0 REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R7", "atomic", set()),
        ("FFMA R17, R4, R6, R17", "alu", {"fma"}),
        ("HFMA2.MMA R4, R5, R6, R4", "alu", {"fma"}),
        ("HFMA2.MMA R17, -RZ, RZ, 0, 0", "alu", set()),
        ("IMAD.WIDE R2, R2, 0x4, R4", "alu", set()),
        ("DFMA R14, -R4, UR6, R14", "alu", {"fma", "double"}),
        ("F2F.F64.F32 R4, R2", "alu", {"double"}),
        ("MUFU.RSQ R4, R5", "alu", {"special"}),
        ("MUFU.RCP64H R5, R3", "alu", {"special", "double"}),
        ("HMMA.1688.F32.TF32 R8, R4, R12, R8", "alu", {"matrix"}),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "alu", {"matrix"}),
        ("DMMA.884 R4, R2, R4, R6", "alu", {"matrix", "double"}),
        ("UIADD3 UR8, UP0, UR8, 0x40, URZ", "alu", {"scalar"}),
        ("S2R R2, SR_TID.Y", "alu", set()),
        ("@!UP0 BRA.U `(.L_x_1)", "branch", set()),
        ("BSSY.RECONVERGENT B0, `(.L_x_1)", "branch", set()),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "other", set()),
    ],
)
def test_what_instructions_do(line: str, kind: str, traits: set[str]) -> None:
    found = kernel(line, "EXIT").instructions[0]
    assert (found.kind, set(found.traits), found.text) == (kind, traits, line)


def test_padding_is_not_counted() -> None:
    end = (".L_x_8:", "BRA `(.L_x_8)", "NOP", "NOP")
    found = kernel("NOP", "EXIT", *end)
    assert ([each.opcode for each in found.instructions], found.code_bytes, found.loops) == (["NOP", "EXIT"], 32, ())
    assert kernel("EXIT").code_bytes == 16


def test_loops() -> None:
    found = kernel(
        ".L_x_1:", ".L_x_2:", "MOV R0, R1", "@P0 BRA `(.L_x_2)", "BRA.U UP0, `(.L_x_1)", "BRA `(.L_x_7)", "EXIT"
    )
    assert found.loops == (Loop(0, 2),)
    told = 'BRX R6 -0x170 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)'
    assert kernel(".L_x_1:", "MOV R0, R1", ".L_x_2:", told, "EXIT").loops == (Loop(0, 1), Loop(1, 1))


def test_functions_inside_and_outside_of_a_kernel() -> None:
    found = kernel("CALL.REL.NOINC `($k$helper)", "EXIT", "$k$helper:", "MUFU.RCP R0, R0", "RET.REL.NODEC R8 `(k)")
    assert found.notes == ["SASS", "its instructions include those of 1 functions that it calls"]
    assert found.loops == ()
    assert kernel("CALL.ABS.NOINC `(vprintf)", "EXIT").notes[1] == "calls vprintf: what is done there is not counted"
    assert "by their address" in kernel("CALL.REL.NOINC R2 `(k)", "EXIT").notes[1]


def test_functions_are_no_kernels() -> None:
    function = section("        /*0000*/    RET.ABS R2 ;", "helper", "STV_DEFAULT")
    assert [each.kernel for each in read_sass(function + listing("EXIT"))] == ["k"]


def test_registers_of_older_machines_and_places() -> None:
    text = listing(
        '\t//## File "/tmp/f.cl", line 5',
        "MOV R0, R1",
        '\t//## File "/tmp/f.cl", line 9 inlined at "g", line 1',
        "EXIT",
    )
    (found,) = read_sass(text.replace("\t.align", '\t.sectioninfo\t@"SHI_REGISTERS=22"\n\t.align'))
    assert found.registers == 22
    assert [each.place for each in found.instructions] == ["/tmp/f.cl:5", "/tmp/f.cl:9"]


def test_unusual_names() -> None:
    assert read_sass(section("/*0000*/ EXIT ;", "_Z1$\u00fc.text.k"))[0].kernel == "_Z1$\u00fc.text.k"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0" * 100,
        "\x7fELF" + "".join(map(chr, range(256))) * 40,
        "\t.target\tsm_90a\n",
        section(""),
        section("        /*0000*/    EXIT ;", other="STV_DEFAULT"),
        section("        /*0000*/    EXIT"),
        section("        /*0000*/    EXIT ;\n        /*0000*/    EXIT ;"),
        section("        /*0010*/    EXIT ;\n        /*0000*/    EXIT ;"),
        section("        /*0000*/     ;"),
        section(f"        /*{'9' * 400}*/    EXIT ;"),
        NVDISASM[: len(NVDISASM) // 2],
        CUOBJDUMP[: len(CUOBJDUMP) // 2],
    ],
)
def test_what_is_no_listing(text: str) -> None:
    with pytest.raises(ListingError):
        read_sass(text)


@pytest.mark.parametrize("text", [NVDISASM, CUOBJDUMP])
def test_every_cut_is_told_or_leaves_whole_kernels(text: str) -> None:
    for end in range(0, len(text), 331):
        try:
            whole = read_sass(text[:end])
        except ListingError:
            continue
        assert [len(each.instructions) for each in whole] == [64, 203][: len(whole)]


MANY = 1_000_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    [
        "BRA " + "`(" * MANY,
        "BRA " + "BRANCH_TARGETS " * (MANY // 10),
        "CALL" + " R" * MANY,
        "@" * MANY,
        "MOV " + "0x" * MANY,
        "HFMA2 R" + "1" * MANY,
        "MOV R0, " + "9" * 400,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_traps_are_read_in_linear_time(line: str) -> None:
    try:
        read_sass(listing(line, "EXIT"))
    except ListingError:
        pass
    try:
        read_sass(line + "\n.size k,(" + ",(" * MANY + "\n" + "x:" * MANY)
    except ListingError:
        pass


@pytest.mark.timeout(60)
def test_long_listings() -> None:
    lines = [
        line for at in range(20_000) for line in (f".L_x_{at}:", "FFMA R1, R2, R3, R1", f"@P0 BRA `(.L_x_{at})", "NOP")
    ]
    found = kernel(*lines, "EXIT")
    assert (len(found.instructions), len(found.loops), found.code_bytes) == (60_001, 20_000, 16 * 60_001)
