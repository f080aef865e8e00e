"""Kernels compiled for chips that are not here, held against stored figures of one compiler."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from gpuopt import ParameterError, lab
from gpuopt.lab.compiled import targets, tools
from gpuopt.lab.compiled.columns import Columns, columns
from gpuopt.lab.compiled.listing import ListingError
from gpuopt.lab.compiled.tools import ToolError

JANG = (Path(__file__).parent / "listings" / "jang.cl").read_text()
WITHOUT_ARRAY = JANG[: JANG.index("kernel void private_array")]  # VLIW has no private memory
CLANG = tools.find("clang-15")
golden = pytest.mark.skipif(
    CLANG is None or not Path("/usr/lib/clc/cypress-r600--.bc").exists(), reason="no clang-15 and libclc-15"
)


@cache
def made(target: str) -> dict[str, Columns]:
    text = WITHOUT_ARRAY if targets.target(target).family == "vliw" else JANG
    return {each.kernel: columns(each) for each in targets.compile_for(targets.target(target), text, "").kernels}


# Of clang 15.0.6 with libclc 15; the same fetches and registers as other texts of these kernels have there.
@golden
@pytest.mark.parametrize(
    ("kernel", "groups", "slots", "fetches", "registers"),
    [
        ("naive", 17, 32, 2, 4),
        ("unrolled4", 21, 43, 5, 8),
        ("unrolled8", 30, 52, 10, 12),
        ("unrolled16", 45, 69, 20, 21),
        ("four_columns", 25, 63, 5, 9),
        ("eight_rows", 104, 273, 12, 33),
    ],
)
def test_cypress(kernel: str, groups: int, slots: int, fetches: int, registers: int) -> None:
    told = made("cypress")[kernel]
    assert (told["groups"], told["alu"], told["fetch"], told["registers"]) == (groups, slots, fetches, registers)
    assert told["alu_per_fetch"] == pytest.approx(groups / fetches)


@golden
@pytest.mark.parametrize(
    ("target", "kernel", "registers", "occupancy"),
    [
        *(("gfx90a", "naive", 11, 8), ("gfx90a", "unrolled4", 23, 8), ("gfx90a", "unrolled8", 39, 8)),
        *(("gfx90a", "unrolled16", 67, 7), ("gfx90a", "eight_rows", 68, 7)),
        *(("gfx1030", "naive", 9, 16), ("gfx1030", "unrolled4", 21, 16), ("gfx1030", "unrolled8", 37, 16)),
        *(("gfx1030", "unrolled16", 64, 16), ("gfx1030", "four_columns", 30, 16), ("gfx1030", "eight_rows", 86, 10)),
    ],
)
def test_generations(target: str, kernel: str, registers: int, occupancy: int) -> None:
    told = made(target)[kernel]
    assert (told["registers"], told["occupancy"], told["spill_bytes"]) == (registers, occupancy, 0)


@golden
@pytest.mark.parametrize("target", ["cypress", "gfx900", "gfx90a", "gfx1030", "gfx1100"])
def test_sanity_on_every_target(target: str) -> None:
    told = made(target)
    for each in told.values():
        if each["groups"] is not None:
            assert each["groups"] <= each["alu"] <= 5 * each["groups"]
    if target != "gfx900":  # where clang 15 does two steps of a long unrolled loop at a time
        steps = [told[name]["registers"] for name in ("naive", "unrolled4", "unrolled8", "unrolled16")]
        assert steps == sorted(steps)
    assert (told["four_columns"]["fetch"], told["eight_rows"]["fetch"]) == (5, 12)
    if "private_array" in told:  # 1 KiB, and what the compiler keeps at its start
        assert 1024 <= told["private_array"]["scratch_bytes"] <= 1040
        assert told["private_array"]["private"] > 0


@golden
def test_options_decide_the_code() -> None:
    text = "kernel void k(global float* x) { for (int i = 0; i < STEPS; ++i) x[get_global_id(0) * STEPS + i] = i; }"
    for steps in (1, 2):
        (kernel,) = targets.compile_for(targets.target("gfx900"), text, f"-D STEPS={steps} -cl-nv-verbose").kernels
        assert columns(kernel)["store"] >= 1
    with pytest.raises(ToolError, match=r"^clang-15 fails \(exit code 1\): kernel.cl:1:5\d: error: use of undeclared"):
        targets.compile_for(targets.target("gfx900"), text, "")


@golden
def test_an_undefined_function_is_named() -> None:
    text = "float missing(float x);\nkernel void k(global float* x) { x[0] = missing(x[0]); }"
    with pytest.raises(ListingError, match="the kernel calls missing, which no library here defines"):
        targets.compile_for(targets.target("gfx90a"), text, "")


@golden
def test_images_of_vliw_chips() -> None:
    text = """constant sampler_t NEAREST = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void k(read_only image2d_t image_a, read_only image2d_t image_b, global float* y) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    y[at.x] = read_imagef(image_a, NEAREST, at).x + read_imagef(image_b, NEAREST, at).x;
}"""
    (kernel,) = targets.compile_for(targets.target("cypress"), text, "").kernels
    assert [each.opcode for each in kernel.instructions if each.kind == "fetch"] == ["TEX_SAMPLE", "TEX_SAMPLE"]


def test_an_unknown_target_lists_the_known() -> None:
    with pytest.raises(ParameterError, match=r"^targets: there is no 'gfx1'; use live or cypress, .*gfx1100"):
        targets.target("gfx1")


def test_what_is_missing_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(targets, "COMPILERS", ("no-clang-here",))
    with pytest.raises(ToolError, match=r"^no-clang-here is not on PATH"):
        targets.compile_for(targets.target("cypress"), JANG, "")
    monkeypatch.setattr(targets, "COMPILERS", ("sh",))
    monkeypatch.setattr(targets, "_ROOT", tmp_path)
    with pytest.raises(ToolError, match=r"cypress-r600--.bc \(Debian 12: libclc-15\)"):
        targets.compile_for(targets.target("cypress"), JANG, "")


@golden
def test_options_of_a_file_that_a_chip_does_not_get_are_told(tmp_path: Path) -> None:
    (tmp_path / "f.cl").write_text("kernel void f(global float* y) { y[0] = 1; }\n")
    for options in ("-cl-fast-relaxed-maths", "-U NAME"):
        (entry,) = lab.isa_of_file(tmp_path / "f.cl", options=options, targets="gfx90a")
        assert str(entry.reason).startswith(
            f"options: {options.split()[0]} is for drivers alone; leave it out for gfx90a"
        )
    (entry,) = lab.isa_of_file(tmp_path / "f.cl", options="-D NAME -cl-fast-relaxed-math", targets="gfx90a")
    assert entry.reason is None


def test_kept_options() -> None:
    kept = targets.kept_options("-cl-std=CL2.0 -DA=1 -D B=2 -cl-nv-maxrregcount=32 -I /etc -include x -cl-mad-enable")
    assert kept == ["-cl-std=CL2.0", "-DA=1", "-DB=2", "-cl-mad-enable"]
    assert targets.kept_options("") == ["-cl-std=CL1.2"]
    with pytest.raises(ListingError, match="the build options cannot be read"):
        targets.kept_options("-DA='")
