"""Listings of AMD's targets read, their loops and their numbers; cut, damaged and hostile ones."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from gpuopt.lab.compiled import amdgcn, r600
from gpuopt.lab.compiled.columns import Columns, columns
from gpuopt.lab.compiled.listing import MOST_BYTES, Instruction, Listing, ListingError, Loop
from gpuopt.lab.compiled.loops import loops_of

STORED = Path(__file__).parent / "listings"
VLIW = (STORED / "naive_cypress.s").read_text()
GCN = (STORED / "naive_gfx90a.s").read_text()
READ = {"vliw": (r600.read, VLIW), "gcn": (lambda text: amdgcn.read(text, "gfx90a"), GCN)}


def test_a_vliw_listing() -> None:
    (kernel,) = r600.read(VLIW)
    assert kernel.kernel == "naive"
    told = columns(kernel)
    assert (told["groups"], told["alu"], told["fetch"], told["store"], told["registers"]) == (17, 32, 2, 1, 4)
    assert told["utilization"] == pytest.approx(32 / (5 * 17))
    assert told["alu_per_fetch"] == 8.5
    # Jang's rule: 128 / 4
    assert (told["occupancy"], told["occupancy_by"]) == (32, "registers")
    # the loop: clauses 43 (2 groups) and 46 (3 groups) with 8 instructions, both fetches, 5 lines of control flow
    assert (told["loops"], told["loop_groups"], told["loop_alu"], told["loop_fetch"], told["loop_fma"]) == (
        1,
        5,
        8,
        2,
        1,
    )
    inside = kernel.inside(kernel.innermost)
    assert [each.opcode for each in inside if each.kind == "fetch"] == ["VTX_READ_32", "VTX_READ_32"]
    assert {each.place for each in inside if each.kind == "fetch"} == {"n.cl:5"}


def test_a_gcn_listing() -> None:
    (kernel,) = amdgcn.read(GCN, "gfx90a")
    told = columns(kernel)
    assert (told["registers"], told["scalar_registers"], told["spill_bytes"], told["code_bytes"]) == (11, 22, 0, 268)
    assert (told["occupancy"], told["occupancy_by"]) == (8, "wavefronts")
    # two loads of elements; five scalar loads of arguments and of the launch's sizes are none
    assert (told["fetch"], told["store"]) == (2, 1)
    assert (told["loops"], told["loop_alu"], told["loop_fetch"], told["loop_instructions"]) == (1, 11, 2, 15)
    assert told["groups"] is None
    assert told["utilization"] is None
    assert kernel.inside(kernel.innermost)[-1].opcode == "s_cbranch_scc0"


def after_the_fma(*lines: str) -> Columns:
    """Of the loop's multiply-add, these lines behind it."""
    (fma,) = (line for line in GCN.splitlines() if "v_fmac" in line)
    (kernel,) = amdgcn.read(GCN.replace(fma, "\n\t".join([fma, *lines])), "gfx90a")
    return columns(kernel)


def test_instructions_that_issue_in_pairs_count_as_two() -> None:
    whole = after_the_fma()
    told = after_the_fma(
        "v_dual_fmaak_f32 v7, v7, v6, 0x3e800000 :: v_dual_fmamk_f32 v8, v8, 0x3e800000, v9",
        "v_dual_mul_f32 v7, v7, v6 :: v_dual_fmac_f32 v9, v7, v5",
    )
    assert (told["loop_alu"], told["loop_fma"]) == (whole["loop_alu"] + 4, whole["loop_fma"] + 3)
    assert told["loop_instructions"] == whole["loop_instructions"] + 4
    for damaged in ("v_dual_mul_f32 ::", ":: v_dual_mul_f32", "v_dual_mul_f32 ::  :: "):
        assert after_the_fma(damaged)["loop_fma"] == whole["loop_fma"]


@pytest.mark.parametrize("opcode", ["v_madak_f32", "v_madmk_f16", "v_mad_legacy_f32", "v_fmamk_f32", "v_pk_fma_f32"])
def test_multiply_adds_of_all_generations(opcode: str) -> None:
    assert after_the_fma(f"{opcode} v7, v7, v6, v5")["fma"] == after_the_fma()["fma"] + 1


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        *(("ds_read_b32", "local"), ("ds_write2st64_b64", "local"), ("ds_load_u8", "local"), ("ds_store_b8", "local")),
        *(("ds_bpermute_b32", "local"), ("ds_add_u32", "atomic"), ("ds_add_rtn_f32", "atomic")),
        *(("ds_wrxchg_rtn_b32", "atomic"), ("ds_storexchg_rtn_b32", "atomic"), ("ds_cmpst_b32", "atomic")),
        *(("ds_cmpstore_rtn_b64", "atomic"), ("ds_pk_add_f16", "atomic"), ("ds_min_i32", "atomic")),
    ],
)
def test_atomic_operations_on_local_memory(opcode: str, kind: str) -> None:
    whole, told = after_the_fma(), after_the_fma(f"{opcode} v7, v5")
    for name in ("local", "atomic"):
        assert told[f"loop_{name}"] == whole[f"loop_{name}"] + (name == kind)


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        *(("LDS_READ_RET", "local"), ("LDS_UBYTE_READ_RET", "local"), ("LDS_WRITE", "local")),
        *(("LDS_BYTE_WRITE", "local"), ("LDS_ADD", "atomic"), ("LDS_WRXCHG_RET", "atomic"), ("LDS_CMPST", "atomic")),
    ],
)
def test_atomic_operations_on_local_memory_of_vliw_chips(opcode: str, kind: str) -> None:
    line = next(line for line in VLIW.splitlines() if "MULADD" in line)
    (kernel,) = r600.read(VLIW.replace(line, f"{line}\n\t{opcode} * T4.W, T2.W,"))
    told = columns(kernel)
    assert (told["loop_local"], told["loop_atomic"]) == (kind == "local", kind == "atomic")


def test_what_lies_in_another_kernel_is_not_counted() -> None:
    second = GCN.replace("naive", "other")
    code, metadata = GCN.split("\t.amdgpu_metadata")
    other_code, other_metadata = second.split("\t.amdgpu_metadata")
    _, entry = other_metadata.split("amdhsa.kernels:\n")
    item = entry.split("amdhsa.target")[0]
    both = code + other_code + "\t.amdgpu_metadata" + metadata.replace("amdhsa.target", item + "amdhsa.target", 1)
    found = amdgcn.read(both, "gfx90a")
    assert [kernel.kernel for kernel in found] == ["naive", "other"]
    assert [columns(kernel)["alu"] for kernel in found] == [columns(amdgcn.read(GCN)[0])["alu"]] * 2


def test_a_listing_that_calls_what_is_not_there_is_refused() -> None:
    call = "\ts_add_u32 s4, s4, _Z11read_imagef@rel32@lo+4\n\ts_endpgm\n"
    with pytest.raises(ListingError, match=r"the kernel calls _Z11read_imagef, which no library here defines"):
        amdgcn.read(GCN.replace("\ts_endpgm\n", call))


@pytest.mark.parametrize("kind", READ)
def test_a_listing_cut_anywhere_is_whole_or_refused(kind: str) -> None:
    read, text = READ[kind]
    whole = columns(read(text)[0])
    for end in range(0, len(text), 101):
        try:
            (kernel,) = read(text[:end])
        except ListingError:
            continue
        told = columns(kernel)  # only what follows the code may be missing
        assert (told["alu"], told["fetch"], told["loops"]) == (whole["alu"], whole["fetch"], whole["loops"]), end


@pytest.mark.parametrize("kind", READ)
def test_damaged_listings_raise_nothing_else(kind: str) -> None:
    read, text = READ[kind]
    draw = random.Random(5)
    for _ in range(60):
        damaged = list(text)
        for _ in range(draw.randrange(1, 30)):
            at = draw.randrange(len(damaged))
            damaged[at : at + draw.randrange(1, 9)] = draw.choice(
                ["", "\n", "@99999999999", "9" * 400, "\0", ":", "  "]
            )
        try:
            for kernel in read("".join(damaged)):
                columns(kernel)
        except ListingError:
            pass


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("text", ["", "\0" * 100, "x" * 10**6, "\n" * 10**5, ".type f,@function\n" * 10**4 + "f:\n"])
def test_what_is_no_listing_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ListingError):
        READ[kind][0](text)


@pytest.mark.parametrize("kind", READ)
def test_long_listings_take_linear_time(kind: str) -> None:
    read, text = READ[kind]
    line = next(line for line in text.splitlines() if "MULADD" in line or "v_fmac" in line)
    long = text.replace(line, "\n".join([line] * 100_000))
    start = time.perf_counter()
    assert columns(read(long)[0])["fma"] == 100_000
    assert time.perf_counter() - start < 20
    with pytest.raises(ListingError, match="at most 64 are read"):
        read(" " * (MOST_BYTES + 1))


def test_loops_are_what_leads_back_to_itself() -> None:
    # 0 1 2 <- 3 (a loop); 4 -> 7 if; 5 6 -> 9 end; 7 8 -> 5 (put aside: 5 is also reached from 4)
    assert loops_of(10, [(3, 2), (4, 7), (6, 9), (8, 5)], {6, 8, 9}) == (Loop(2, 3),)
    # nested, and two jumps to one target
    found = loops_of(12, [(4, 3), (6, 3), (9, 1)], {11})
    assert found == (Loop(1, 9), Loop(3, 6))
    assert Loop(1, 9).holds(Loop(3, 6))
    assert not Loop(3, 6).holds(Loop(1, 9))
    # outside, and of nothing
    assert loops_of(3, [(2, 9), (-1, 0), (7, 1)], set()) == ()
    assert loops_of(0, [], set()) == ()
    # to itself
    assert loops_of(3, [(1, 1)], {2}) == (Loop(1, 1),)


def test_the_innermost_loop_is_the_longest_without_another() -> None:
    fma = Instruction("v_fma", "v_fma", "alu", frozenset(["fma"]))
    kernel = Listing("k", [fma] * 20, [Loop(0, 19), Loop(1, 3), Loop(5, 15)])
    assert kernel.innermost == Loop(5, 15)
    assert columns(kernel)["loop_fma"] == 11
    assert columns(Listing("k", [fma]))["loop_fma"] is None
