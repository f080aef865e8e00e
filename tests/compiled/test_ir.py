"""The counts themselves: what the parser reads, and that it refuses what it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiled import build, ir
from compiled.expectations import Expected

# A loop with a wide load, a flag that is tested in it, and one of everything else where the flag is set.
TEXT = """
@sums.held = internal global [64 x float] undef, align 16

define dso_local spir_kernel void @sums(ptr nocapture align 4 %x, ptr align 4 %y, i32 %n, i32 %flag) #0 \
!kernel_arg_addr_space !1 !kernel_arg_type !2 !reqd_work_group_size !3 {
entry:
  %start = tail call i64 @_Z13get_global_idj(i32 noundef 0) #1
  br label %loop

loop:                                             ; preds = %next, %entry
  %i = phi i64 [ %start, %entry ], [ %i.next, %next ]
  %at = getelementptr inbounds float, ptr %x, i64 %i
  %v = call <4 x float> @_Z10_cl_vload4mPU8CLglobalKf(i64 0, ptr %at)
  %is = icmp eq i32 %flag, 0
  br i1 %is, label %next, label %other

other:                                            ; preds = %loop
  %root = call float @_Z8_cl_sqrtf(float 2.0)
  %place = getelementptr inbounds [64 x float], ptr @sums.held, i64 0, i64 %i
  store float %root, ptr %place, align 4
  call void @_Z7barrierj(i32 1)
  br label %next

next:                                             ; preds = %other, %loop
  %i.next = add nuw nsw i64 %i, 4
  %wide = sext i32 %n to i64
  %more = icmp slt i64 %i.next, %wide
  br i1 %more, label %loop, label %end, !llvm.loop !9

end:                                              ; preds = %next
  store float 0.0, ptr %y, align 4
  ret void
}

!1 = !{i32 1, i32 1, i32 0, i32 0}
!2 = !{!"float*", !"float*", !"int", !"int"}
!3 = !{i32 64, i32 1, i32 1}
"""
LOOP = {"load global x float4": 1, "test flag": 1, "sqrt float": 1, "store local held float": 1, "barrier": 1}


def test_accesses_tests_and_functions_are_counted() -> None:
    kernel = ir.kernel(TEXT, "sums")
    assert kernel.group == "64x1x1"
    assert Expected("", LOOP, "load global x", {"store global y float": 1, "group 64x1x1": 1}).differences(kernel) == []
    assert kernel.loop("load global x") == {**LOOP, "icmp int": 1, "icmp long": 1, "add long": 1, "sext int": 1}


def test_what_is_expected_and_not_there_is_told_and_what_is_there_and_not_expected() -> None:
    expected = Expected("", {"load global x float4": 2, "sqrt float": 1, "barrier": 1, "test flag": 1}, "load global x")
    assert expected.differences(ir.kernel(TEXT, "sums")) == [
        "loop: load global x float4: 1, not 2",
        "loop: store local held float: 1, not 0",
    ]


def all_of(text: str) -> None:
    kernel = ir.kernel(text, "sums")
    kernel.counts()
    kernel.loops()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ptr %y, align 4\n  ret", "ptr inttoptr (i64 64 to ptr), align 4\n  ret"),  # nobody knows where it points
        ("%wide = sext", "%wide = crystal"),
        ("@_Z8_cl_sqrtf(", "@helper("),  # a function that is not written out
        (
            "  br label %loop\n",
            "  switch i32 %n, label %loop [\n    i32 1, label %next\n  ]\n",
        ),  # a loop with two entries
        ("  ret void", "  resume i32 %n"),
        ("@sums(", "@others("),
    ],
)
def test_what_is_not_known_is_refused(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(ir.Unknown):
        all_of(TEXT.replace(old, new))


def test_a_mutant_of_a_text_that_is_gone_fails(tmp_path: Path) -> None:
    builder = build.Builder.__new__(build.Builder)
    builder.folder = tmp_path
    with pytest.raises(pytest.fail.Exception, match="no longer has the text"):
        builder.mutated("a mutant", "spmv/basic.cl", "no such text", "")
