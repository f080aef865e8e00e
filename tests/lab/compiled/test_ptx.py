"""PTX as NVIDIA's driver gives it on an H200 (PTX 9.0), and as clang 15 writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuopt.lab.compiled.listing import Instruction, Listing, ListingError, Loop, counts
from gpuopt.lab.compiled.ptx import NOTE, read_ptx

DRIVER = (Path(__file__).parent / "listings" / "h200_driver.ptx").read_text()
HEAD = ".version 7.5\n.target sm_80\n.address_size 64\n"


def kernel(body: str, before: str = "") -> Listing:
    """The only kernel of a program."""
    (found,) = read_ptx(f"{HEAD}{before}\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{{\n{body}\n}}\n")
    return found


def only(statement: str) -> Instruction:
    """The only instruction of a kernel."""
    (found,) = kernel(statement).instructions
    return found


def test_the_driver_s_kernels() -> None:
    naive, tree, dbl = read_ptx(DRIVER + "\0")
    assert [each.kernel for each in (naive, tree, dbl)] == ["naive", "tree", "dbl"]
    assert all(
        each.notes == [NOTE] and each.registers is None and each.code_bytes is None for each in (naive, tree, dbl)
    )
    found = counts(naive.instructions)  # as grep has them
    assert (found.all, found.fetch, found.store, found.branch, found.other, found.fma) == (78, 10, 1, 6, 4, 5)
    assert (found.local, found.private, found.double, found.atomic, found.special) == (0, 0, 0, 0, 0)
    assert (naive.local_bytes, naive.scratch_bytes) == (0, 0)
    found = counts(tree.instructions)
    assert (found.local, found.fetch, found.store, found.branch, found.other) == (20, 1, 1, 8, 8)
    assert (tree.local_bytes, tree.loops) == (256, ())
    found = counts(dbl.instructions)
    assert (found.fetch, found.store, found.branch, found.other, found.private) == (3, 1, 19, 8, 5)
    assert (found.fma, found.double) == (17, 29)
    assert (dbl.local_bytes, dbl.scratch_bytes) == (0, 40)


def test_the_driver_s_loops() -> None:
    naive, _, dbl = read_ptx(DRIVER)
    assert naive.loops == (Loop(34, 55), Loop(65, 72))
    inside = counts(naive.inside(naive.innermost))
    assert (inside.all, inside.fetch, inside.fma, inside.branch) == (22, 8, 4, 1)
    assert [loop.last - loop.first + 1 for loop in dbl.loops] == [200, 13, 7]
    assert all(dbl.loops[0].holds(loop) for loop in dbl.loops[1:])


@pytest.mark.parametrize(
    ("statement", "kind", "traits"),
    [
        ("ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];", "fetch", set()),
        ("ld.const.f64 %fd1, [%rd1];", "fetch", set()),
        ("ld.f32 %f1, [%rd1];", "fetch", set()),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, s, {%r1, %r2}];", "fetch", set()),
        ("suld.b.1d.v4.b32.trap {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];", "fetch", set()),
        ("ld.param.u64 %rd1, [k_param_0];", "other", set()),
        ("ld.shared.f32 %f1, [%r1];", "local", set()),
        ("st.volatile.shared::cta.v2.f32 [%r1], {%f1, %f2};", "local", set()),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];", "local", set()),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", "local", set()),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64;", "store", set()),
        ("cp.async.wait_group 0;", "other", set()),
        ("st.global.f32 [%rd1], %f1;", "store", set()),
        ("sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};", "store", set()),
        ("st.local.u32 [%SP+4], %r1;", "other", {"private"}),
        ("@!%p1 ld.local.v2.u32 {%r1, %r2}, [%SPL];", "other", {"private"}),
        ("atom.global.add.u32 %r1, [%rd1], 1;", "atomic", set()),
        ("red.shared.add.f32 [%r1], %f1;", "atomic", set()),
        ("fma.rn.f32 %f1, %f2, %f3, %f4;", "alu", {"fma"}),
        ("fma.rn.f64 %fd1, %fd2, 0d4008000000000000, %fd4;", "alu", {"fma", "double"}),
        ("mad.lo.s32 %r1, %r2, %r3, %r4;", "alu", set()),
        ("cvt.f64.f32 %fd1, %f1;", "alu", {"double"}),
        ("mov.f64 %fd1, %fd2;", "alu", set()),
        ("rsqrt.approx.ftz.f32 %f1, %f2;", "alu", {"special"}),
        ("div.full.f32 %f1, %f2, %f3;", "alu", {"special"}),
        ("div.s32 %r1, %r2, %r3;", "alu", set()),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};", "alu", {"matrix"}),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;", "alu", {"matrix"}),
        ("wgmma.commit_group.sync.aligned;", "other", set()),
        ("mov.b32 %r1, %envreg3;", "alu", set()),
        ("shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", "alu", set()),
        ("bar.sync 0;", "other", set()),
        ("membar.gl;", "other", set()),
        ("ret;", "branch", set()),
    ],
)
def test_what_instructions_do(statement: str, kind: str, traits: set[str]) -> None:
    found = only(statement)
    assert (found.kind, set(found.traits)) == (kind, traits)
    assert found.text == statement.rstrip(";")


def test_what_only_looks_like_an_instruction() -> None:
    found = kernel(
        """	// ld.global.f32 %f1, [%rd1];
	/* st.global.f32 [%rd1], %f1; }
	ret; */
	.pragma "used_bytes_mask; } ret;";
	.reg .b32 %temp; .reg .pred p;
	add.s32 /* ; */ %r1,
		%r2, // ;
		%r3;
	{ // callseq 0, 0
	.reg .b32 %temp;
	mov.b64 {%temp, %r1}, %fd1;
	}
	ret;"""
    )
    texts = ["add.s32 %r1, %r2, %r3", "mov.b64 {%temp, %r1}, %fd1", "ret"]
    assert [each.text for each in found.instructions] == texts


def test_labels_of_scopes_are_their_own() -> None:
    wait = "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.b64 p, [%r1], 0; @p bra DONE; bra WAIT; DONE: }"
    found = kernel(f"$L__BB0_1:\nadd.s32 %r1, %r1, 1;\n{wait}\n{wait}\n@%p1 bra $L__BB0_1;\nret;")
    assert found.loops == (Loop(0, 7), Loop(1, 3), Loop(4, 6))


def test_scattered_loops_are_put_together() -> None:
    """The order of blocks that clang chose for a loop with a switch: its end first, then its head."""
    found = kernel(
        """	bra.uni $L__HEAD;
$L__LATCH:
	add.s32 %r1, %r1, -1;
	@%p1 bra $L__END;
$L__HEAD:
	ld.global.u32 %r2, [%rd1];
	@%p2 bra $L__ONE;
	bra.uni $L__TWO;
$L__END:
	st.global.u32 [%rd1], %r3;
	ret;
$L__TWO:
	xor.b32 %r3, %r3, 7;
	bra.uni $L__LATCH;
$L__ONE:
	mul.lo.s32 %r3, %r3, 3;
	bra.uni $L__LATCH;"""
    )
    opcodes = [each.opcode for each in found.instructions]
    (loop,) = found.loops
    inside = opcodes[loop.first : loop.last + 1]
    assert sorted(inside) == [
        "add.s32",
        "bra",
        "bra",
        "bra.uni",
        "bra.uni",
        "bra.uni",
        "ld.global.u32",
        "mul.lo.s32",
        "xor.b32",
    ]
    assert inside[0] == "ld.global.u32"
    assert (opcodes[0], opcodes[-2:]) == ("bra.uni", ["st.global.u32", "ret"])


def test_tables_of_jumps() -> None:
    found = kernel(
        """$L__BB0_1:
	add.s32 %r1, %r1, 1;
	$L_brx_0: .branchtargets
		$L__BB0_1,
		$L__BB0_2;
	brx.idx %r1, $L_brx_0;
$L__BB0_2:
	ret;"""
    )
    assert found.loops == (Loop(0, 1),)


def test_declared_memory() -> None:
    found = kernel(
        """	.local .align 16 .b8 	__local_depot0[1024];
	.local .f64 x;
	.shared .align 16 .v4 .f32 tile[8][16], more[3];
	mov.u32 %r1, far; ret;""",
        before=".shared .b8 far[100];\n.shared .align 4 .b8 never[999];\n.extern .shared .align 4 .b8 given[];",
    )
    assert (found.scratch_bytes, found.local_bytes) == (1032, 16 * 131 + 100)
    assert kernel(f".shared .b8 t[{'9' * 400}]; ret;").local_bytes is None
    assert kernel(".shared .b8 t[4*WIDTH]; .local .b8 p[8]; ret;").local_bytes is None


def test_places_in_the_source() -> None:
    found = kernel("\t.loc\t1 5 3\n$L__tmp0:\n\tret;\n\t.loc\t1 0 3\n\tret;\n\t.loc 2 7 1, inlined_at 1 5 3\n\tret;")
    assert [each.place for each in found.instructions] == [":5", None, ":7"]
    text = HEAD + '.entry k()\n{\n\t.loc\t1 5 3\n\tret;\n}\n\t.file\t1 "/tmp" "f.cl"\n'  # clang names files last
    assert read_ptx(text)[0].instructions[0].place == "f.cl:5"


def test_functions_of_the_program() -> None:
    function = ".func (.param .b32 r) helper(\n.param .b32 x\n)\n{\nld.global.f32 %f1, [%rd1];\nret;\n}"
    call = "{ // callseq\n.param .b32 r0;\ncall.uni (r0), \n$L__tmp3:\nhelper, \n(\nx0\n);\n}\nret;"
    found = kernel(call, before=function)
    assert found.notes == [NOTE, "calls helper: what is done there is not counted"]
    assert [each.opcode for each in found.instructions] == ["call.uni", "ret"]
    with pytest.raises(ListingError, match="kernel k calls helper, which the listing does not define"):
        kernel(call, before=".extern .func (.param .b32 r) helper(.param .b32 x);")
    assert "by their address" in kernel("call (r0), %rd1, (x0), prototype; ret;").notes[1]
    assert "vprintf" in kernel("call.uni (r0), vprintf, (a, b); ret;").notes[1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "\x7fELF\x02\x01\x01" + "".join(map(chr, range(256))) * 40,
        HEAD,
        HEAD + ".entry declared(.param .u64 p);",
        HEAD + ".entry empty()\n{\n}\n",
        HEAD + ".entry labels()\n{\n$L__BB0_1:\n$L__BB0_2:\n}\n",
        HEAD + ".entry cut()\n{\nret;\n",
        HEAD + ".section .debug_info {\n.b8 1\n.b8 2",
        HEAD + ".entry deep()\n{\n" + "{ " * 1000 + "ret;" + "} " * 1000 + "}",
        DRIVER[: len(DRIVER) // 2],
    ],
)
def test_what_is_no_listing(text: str) -> None:
    with pytest.raises(ListingError):
        read_ptx(text)


def test_every_cut_is_told_or_leaves_whole_kernels() -> None:
    for end in range(0, len(DRIVER), 997):
        try:
            whole = read_ptx(DRIVER[:end])
        except ListingError:
            continue
        assert [len(each.instructions) for each in whole] == [78, 69, 208][: len(whole)]


def test_jumps_to_nowhere_make_no_loop() -> None:
    assert kernel("$L: add.s32 %r1, %r1, 1; @%p1 bra $M; bra ; brx.idx %r1, $N; ret; $END:").loops == ()
    assert kernel("bra $END; $END:").loops == ()


def test_unusual_names() -> None:
    (found,) = read_ptx(HEAD + ".entry _Z3$%\u00fc\u4e2d()\n{ ret; }")
    assert found.kernel == "_Z3$%\u00fc\u4e2d"


MANY = 1_000_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        ":" * MANY,
        "{" * MANY,
        "x" + "{" * MANY,
        "\n".join([".entry k() {x", *["{" * 10] * (MANY // 10)]),
        "x " * MANY,
        " " * MANY + "\n" * MANY,
        "x" * MANY + "\n" * MANY,
        '"\\' * MANY,
        "/*" * MANY,
        ".entry k() { .shared .b8 " + "[" * MANY + "; ret; }",
        ".entry k() { .shared .b8 t" + "[99999999999]" * (MANY // 10) + "; ret; }",
        ".entry k() { @" + "%" * MANY + "; ret; }",
        ".entry k() { call (" + "(" * MANY + "; ret; }",
        ".func (" * MANY,
    ],
    ids=lambda text: repr(text[:30]),
)
def test_traps_are_read_in_linear_time(text: str) -> None:
    try:
        read_ptx(text)
    except ListingError:
        pass


@pytest.mark.timeout(60)
def test_long_listings() -> None:
    block = "".join(
        f"$L{at}:\n\tfma.rn.f32 %f1, %f2, %f3, %f4;\n\t@%p1 bra $L{at - at % 50};\n" for at in range(30_000)
    )
    found = kernel(block + "\tret;")
    assert (len(found.instructions), len(found.loops)) == (60_001, 600)
