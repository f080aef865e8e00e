"""Disassembled x86-64: counts that were made by hand, from listings as the tools print them, and damaged ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpuopt.lab.compiled import x86
from gpuopt.lab.compiled.listing import Counts, Instruction, ListingError, Loop, counts
from gpuopt.lab.compiled.x86_opcodes import read, statement

LISTINGS = Path(__file__).parent / "listings"
NOTHING = dict.fromkeys(Counts.__dataclass_fields__, 0)
BASIC = "_pocl_kernel_spmv_basic_workgroup"


def stored(name: str) -> str:
    return (LISTINGS / f"{name}.txt").read_text()


def counted(**fields: int) -> Counts:
    return Counts(**NOTHING | fields)


def parts(text: str, frames: tuple[str, ...] = (), constants: tuple[str, ...] = ()) -> list[Instruction]:
    return read(statement(text), frames, constants)


def printed(*bodies: str) -> str:
    """A disassembly of functions f, g, ...: a line an instruction, one byte each, at addresses 0, 1, ..."""
    text, address = "", 0
    for name, body in zip("fgh", bodies, strict=False):
        text += f"{address:016x} <{name}>:\n"
        for line in body.strip().splitlines():
            text += f"  {address:x}:\t90 \t{line.strip()}\n"
            address += 1
        text += "\n"
    return text


def test_spmv_basic_by_pocl() -> None:
    """193 instructions, three of them with an operand in memory; 77 name vector registers, four of these for zeros."""
    found = x86.read_objdump(stored("pocl_spmv_basic"), BASIC)
    assert counts(found.instructions) == Counts(
        **NOTHING
        | {"alu": 113, "fetch": 29, "store": 6, "branch": 25, "other": 23}
        | {"fma": 5, "private": 17, "vectors": 73, "widest": 256}
    )
    assert found.code_bytes == 804
    assert sum("fma" in each.traits and each.bits == 256 for each in found.instructions) == 2
    assert not any("gather" in each.opcode for each in found.instructions)
    assert x86.vector_share(found) == 0.2  # 2 of 10: 5 fma, 3 multiplications, 2 comparisons


def test_the_product_loop_of_spmv_basic_by_pocl_is_scalar() -> None:
    """Its test stands at its end, and it is entered in the middle; loops that only store zeros are longer."""
    found = x86.read_objdump(stored("pocl_spmv_basic"), BASIC)
    outer, inner = Loop(44, 73), Loop(60, 73)
    assert list(found.loops) == [outer, inner, Loop(93, 112), Loop(120, 151), Loop(138, 151), Loop(163, 187)]
    assert found.innermost == inner
    assert counts(found.inside(inner)) == counted(alu=7, fetch=3, branch=4, fma=1, vectors=2, widest=32)


@pytest.mark.parametrize("tool", ["", "_llvm"])
def test_both_tools_say_the_same(tool: str) -> None:
    """72 instructions and 3 operands in memory; the two `[rdi]` and `[r10]` behind `movabs` are literals."""
    found = x86.read_objdump(stored(f"intel_one_item{tool}"), "kk")
    assert counts(found.instructions) == Counts(
        **NOTHING
        | {"alu": 48, "fetch": 11, "store": 2, "branch": 6, "other": 8, "fma": 1, "private": 6}
        | {"vectors": 7, "widest": 32}
    )
    assert (found.code_bytes, list(found.loops)) == (265, [Loop(31, 46), Loop(52, 69)])
    assert x86.vector_share(found) == 0.0


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("mov rax,QWORD PTR [rdi+0x10]", "fetch"),
        ("mov DWORD PTR [rdi],eax", "store"),
        ("add DWORD PTR [rdi],0x1", "fetch alu store"),
        ("add eax,DWORD PTR [rdi]", "fetch alu"),
        ("cmp DWORD PTR [rdi],0x1", "fetch alu"),
        ("imul QWORD PTR [rdi]", "fetch alu"),
        ("lea rax,[rdi+rsi*4]", "alu"),
        ("lock add DWORD PTR [rdi],0x1", "atomic"),
        ("xchg DWORD PTR [rdi],eax", "atomic"),
        ("xchg ax,ax", "other"),
        ("data16 cs nop WORD PTR [rax+rax*1+0x0]", "other"),
        ("rep stos QWORD PTR es:[rdi],rax", "store"),
        ("rep movs QWORD PTR es:[rdi],QWORD PTR ds:[rsi]", "fetch store"),
        ("mov rax,QWORD PTR fs:0x28", "fetch"),
        ("push rbp", "other"),
        ("vzeroupper", "other"),
        ("prefetcht0 BYTE PTR [rdi]", "other"),
        ("call QWORD PTR [rdi+0x4d0]", "branch"),
        ("vmaskmovps YMMWORD PTR [rdi],ymm1,ymm2", "store"),
        ("vmaskmovps ymm1,ymm2,YMMWORD PTR [rdi]", "fetch"),
        ("vgatherdps ymm1,DWORD PTR [rdi+ymm2*4],ymm3", "fetch"),
        ("vextractf128 XMMWORD PTR [rdi],ymm1,0x1", "store"),
        ("vmovdqa ymm1,YMMWORD PTR [rip+0x10]", "alu"),
        ("setb BYTE PTR [rdi]", "store"),
        ("fld QWORD PTR [rdi]", "fetch"),
        ("fild DWORD PTR [rdi]", "fetch"),
        ("fiadd DWORD PTR [rdi]", "fetch alu"),
        ("fstp TBYTE PTR [rdi]", "store"),
    ],
)
def test_kinds(text: str, kinds: str) -> None:
    assert " ".join(each.kind for each in parts(text)) == kinds
    assert " ".join(each.kind for each in parts(text.replace("PTR", "ptr").lower().replace(",", ", "))) == kinds


@pytest.mark.parametrize(
    ("text", "traits", "bits"),
    [
        ("vfmadd231ps ymm1,ymm2,ymm3", {"fma"}, 256),
        ("vfnmsub213sd xmm1,xmm2,xmm3", {"fma", "double"}, 64),
        ("vmulpd zmm1,zmm2,zmm3", {"double"}, 512),
        ("vaddss xmm1,xmm2,xmm3", set(), 32),
        ("vdivps ymm1,ymm2,ymm3", {"special"}, 256),
        ("vrsqrtss xmm1,xmm2,xmm3", {"special"}, 32),
        ("vsqrtsd xmm1,xmm2,xmm3", {"special", "double"}, 64),
        ("idiv rcx", set(), 0),
        ("vpabsd ymm1,ymm2", set(), 256),
        ("vpminsd ymm1,ymm2,ymm3", set(), 256),
        ("vbroadcastss ymm1,xmm2", set(), 256),
        ("vpermpd ymm1,ymm2,0x4e", set(), 256),
        ("vcvtsi2sd xmm1,xmm2,eax", {"double"}, 64),
        ("vcvtsd2ss xmm1,xmm2,xmm3", {"double"}, 64),
        ("cvttsd2si rax,xmm1", {"double"}, 64),
        ("vcvttpd2dq ymm1,zmm2", {"double"}, 512),
        ("vcvtpd2ps ymm1,zmm2", {"double"}, 512),
        ("vcvttps2dq ymm1,ymm2", set(), 256),
        ("vscalefpd zmm1,zmm2,zmm3", {"double"}, 512),
        ("vgetexpsd xmm1,xmm2,xmm3", {"double"}, 64),
        ("vrangeps zmm1,zmm2,zmm3,0x0", set(), 512),
        ("vmovd xmm1,eax", set(), 32),
        ("vxorps xmm1,xmm1,xmm1", set(), 0),
        ("vmovaps xmm1,xmm2", set(), 0),
        ("vxorps xmm1,xmm2,xmm3", set(), 128),
        ("add rax,rcx", set(), 0),
    ],
)
def test_traits_and_widths(text: str, traits: set[str], bits: int) -> None:
    (only,) = parts(text)
    assert (only.kind, set(only.traits), only.bits) == ("alu", traits, bits)


def test_a_conversion_of_a_double_in_memory() -> None:
    assert [(each.kind, set(each.traits)) for each in parts("cvttsd2si eax,QWORD PTR [rdi]")] == [
        ("fetch", set()),
        ("alu", {"double"}),
    ]


def test_the_stack_is_private_and_a_base_pointer_only_where_it_is_one() -> None:
    spill = "vmovups YMMWORD PTR [rbp-0x40],ymm1"
    assert [(each.kind, set(each.traits)) for each in parts(spill, frames=("rbp",))] == [("other", {"private"})]
    assert [each.kind for each in parts(spill)] == ["store"]
    assert set(parts("vfmadd231ps ymm1,ymm2,YMMWORD PTR [rsp+0x20]")[0].traits) == {"fma", "private"}
    framed = printed("push rbp\nmov rbp,rsp\nmov DWORD PTR [rbp-0x8],eax\npop rbp\nret")
    assert counts(x86.read_objdump(framed, "f").instructions) == counted(alu=1, branch=1, other=3, private=3)
    general = printed("push rbp\nmov rbp,rdi\nmov DWORD PTR [rbp-0x8],eax\npop rbp\nret")
    assert counts(x86.read_objdump(general, "f").instructions).store == 1


def test_a_called_function_lies_inside_the_loop_of_its_first_call() -> None:
    text = printed("nop\nadd rax,1\ncall 6 <g>\njne 1 <f+0x1>\ncall 6 <g>\nret", "mulss xmm0,xmm0\njne 6 <g>\nret\nnop")
    found = x86.read_objdump(text, "f")
    assert " ".join(each.opcode for each in found.instructions) == "nop add call mulss jne ret jne call ret"
    assert list(found.loops) == [Loop(1, 6), Loop(3, 4)]
    assert found.innermost == Loop(3, 4)
    assert (found.code_bytes, list(found.notes)) == (9, ["with what it calls: g"])  # less the padding


def test_what_is_called_elsewhere_is_named() -> None:
    assert x86.read_objdump(printed("call 1030 <expf@plt>\nret"), "f").notes == ("calls, not counted here: expf@plt",)
    linked = (
        "0000 <f>:\n 0:\te8 00 00 00 00 \tcall 5 <f+0x5>\n\t\t\t1: R_X86_64_PLT32\t__svml_expf8-0x4\n 5:\tc3 \tret\n"
    )
    assert x86.read_objdump(linked, "f").notes == ("calls, not counted here: __svml_expf8",)
    loaded = (
        "0000 <f>:\n 0:\t48 b8 00 00 00 00 00 \tmovabs rax,0x0\n 7:\t00 00 00 \n\t\t\t2: R_X86_64_64\tmemset\n"
        " a:\tff d0 \tcall rax\n c:\tc3 \tret\n"
    )
    found = x86.read_objdump(loaded, "f")
    assert (found.code_bytes, list(found.notes)) == (13, ["calls, not counted here: memset"])
    assert x86.read_objdump(printed("jmp QWORD PTR [rcx+rax*8]"), "f").notes == (
        "jumps by a table, which is not followed",
    )


def test_calls_in_a_circle_and_jumps_out_of_the_function() -> None:
    text = printed("call 3 <g>\njne 4 <g+0x1>\njmp ffffffffffffffff <h+0x10>", "call 0 <f>\nret")
    found = x86.read_objdump(text, "f")
    assert [each.opcode for each in found.instructions] == ["call", "call", "ret", "jne", "jmp"]
    assert not found.loops


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no function f"),
        ("junk \0\n\t\t\n<f>:\n", "no function f"),
        ("0000 <f>:\n\n", "no instructions"),
        ("0000 <f>:\n  0:\tzz zz \tadd\n", "no instructions"),
        (printed("nop\nnop"), "no instructions"),
        ("0000 <g>:\n  0:\tc3 \tret\n", "no function f"),
    ],
)
def test_listings_that_say_nothing_are_refused(text: str, says: str) -> None:
    with pytest.raises(ListingError, match=says):
        x86.read_objdump(text, "f")


def test_damaged_listings_raise_nothing_else() -> None:
    chance = random.Random(2)
    whole = stored("pocl_spmv_basic")
    for _ in range(60):
        text = list(whole)
        for _ in range(200):
            text[chance.randrange(len(text))] = chance.choice("0f:\t\n <>[],#+x\0é")
        try:
            x86.read_objdump("".join(text)[: chance.randrange(len(text))], BASIC)
        except ListingError:
            pass


@pytest.mark.parametrize("filler", ["\t", " ", "f", "90 ", "[", ",", "cs ", "é", "#", "xmm1,"])
def test_endless_lines(filler: str) -> None:
    """A pattern that goes back and forth would take hours."""
    for bytes_of_it in (16000, 10 * 2**20):
        line = filler * (bytes_of_it // len(filler))
        for head in ("", "0: 90 \t", "0: ", "0: 90 \tvcmp", "\t\t0: R_X86_64_64\t", "0000 <"):
            try:
                x86.read_objdump(f"0000 <f>:\n 0:\t90 \tret\n{head}{line}\n", "f")
            except ListingError:
                pass


def test_loops_as_deep_as_there_are_jumps() -> None:
    """Each level takes a pass: the outer eight are told."""
    count = 5000
    body = "add rax,1\n" * count + "\n".join(f"jne {count - k:x} <f+0x1>" for k in range(1, count))
    found = x86.read_objdump(printed(body), "f")
    assert [loop.first for loop in found.loops] == list(range(1, 9))


def test_functions_that_call_each_other_without_end() -> None:
    text = "".join(f"0000 <f{k}>:\n 0:\tc3 \tcall 0 <f{k + 1}>\n\n" for k in range(3000))
    found = x86.read_objdump(text, "f0")
    assert (len(found.instructions), found.notes[-1]) == (17, "calls, not counted here: f17")
