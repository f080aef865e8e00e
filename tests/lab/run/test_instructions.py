"""`lab.isa`: kernels of problems and of files on targets, reasons where there are none, and two side by side."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, ParameterError, lab, problems
from gpuopt.lab.compiled import live, targets, tools, x86
from gpuopt.lab.compiled.entries import Entry
from gpuopt.lab.compiled.listing import Instruction, Listing, Loop
from gpuopt.lab.compiled.tools import ToolError
from gpuopt.lab.run import instructions

needs_clang = pytest.mark.skipif(tools.find(*targets.COMPILERS) is None, reason="no clang")
needs_objdump = pytest.mark.skipif(tools.find(*x86.TOOLS) is None, reason="no objdump")
STEPS = ["paper:naive", "paper:vector_type"]


@needs_objdump
def test_the_device_at_hand(device: gpuopt.Device) -> None:
    if device.type != "cpu":
        pytest.skip("counts of machine code are of CPUs")
    found = lab.isa(problems.gemm(64, device=device), STEPS, device=device)
    assert [entry.name for entry in found] == ["naive", "vector type (float4)"]
    for entry in found:
        assert (entry.target, entry.how, entry.reason) == ("live", "live", None)
        assert entry.tool is not None
        assert "objdump" in entry.tool
        row: Any = entry.row()
        assert row["loop_fma"] >= 1
        assert row["alu"] >= row["loop_alu"] > 0
    per = [entry.outputs_per_item for entry in found]
    assert per[1] == 4 * per[0]


@needs_clang
def test_chips_that_are_not_here(any_device: gpuopt.Device) -> None:
    if not Path("/usr/lib/clc/cypress-r600--.bc").exists():
        pytest.skip("no libclc")
    found = lab.isa(problems.gemm(64, device=any_device), STEPS, targets=["cypress", "gfx1100"], device=any_device)
    assert [(entry.target, entry.name) for entry in found] == [
        (target, name) for target in ("cypress", "gfx1100") for name in ("naive", "vector type (float4)")
    ]
    assert found.entry("naive", "cypress").how == "re-creation"
    assert found.entry("naive", "gfx1100").how == "offline"
    text = repr(found)
    assert "AMD HD 5870, VLIW5 (re-creation; clang" in text
    assert "AMD RX 7900, RDNA 3 (offline; clang" in text
    assert "<table>" in found._repr_html_()
    assert found.entry("naive", "gfx1100").per_output()["fetch"] == 2
    refused = found.entry("vector type (float4)", "cypress")
    assert refused.reason is not None
    assert "Cannot select" in refused.reason
    with pytest.raises(ParameterError, match=r"^one: vector type \(float4\) has no listing for cypress: clang"):
        lab.isa_diff(refused, refused)


def test_what_is_missing_is_a_reason(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> tuple[Listing, str]:
        raise ToolError("objdump is not on PATH")

    monkeypatch.setattr(live, "read", refuse)
    problem = problems.gemm(64, device=any_device)
    (entry,) = lab.isa(problem, "paper:naive", device=any_device)
    assert entry.reason == "objdump is not on PATH"
    assert "objdump is not on PATH" in repr(lab.isa(problem, "paper:naive", device=any_device))
    monkeypatch.setattr(instructions, "_known", {})
    naive = Configuration("naive", LOCAL_X=16, LOCAL_Y=16, PAIRS=0, TEXTURE=0)
    row = instructions.code_fields(any_device, problem.prepare(naive, any_device).prepared)
    assert row == {"instructions_note": "objdump is not on PATH"}


def test_bad_arguments(any_device: gpuopt.Device) -> None:
    problem = problems.gemm(64, device=any_device)
    with pytest.raises(ParameterError, match=r"^targets: there is no 'gfx7'; use live or cypress"):
        lab.isa(problem, "paper:naive", targets=["live", "gfx7"], device=any_device)
    with pytest.raises(ParameterError, match=r"^targets: none is given"):
        lab.isa(problem, "paper:naive", targets=[], device=any_device)
    with pytest.raises(ParameterError, match=r"^variant: gemm has none called 'nothing'"):
        lab.isa(problem, "nothing", device=any_device)


@needs_objdump
def test_a_kernel_of_ones_own(device: gpuopt.Device) -> None:
    if device.type != "cpu":
        pytest.skip("counts of machine code are of CPUs")
    found = lab.isa(own_kernels.saxpy().problem(n=1000), device=device)
    assert all(entry.listing is not None for entry in found), [entry.reason for entry in found]


@needs_objdump
def test_a_sweep_tells_what_was_compiled(any_device: gpuopt.Device) -> None:
    study = lab.sweep(problems.gemm(64, device=any_device), STEPS, protocol="quick", device=any_device, calls=False)
    rows: Any = [row for row in study.rows if row["kind"] == "summary" and row["role"] == "variant"]
    assert len(rows) == 2
    for row in rows:
        assert row["instructions"]["loop_fma"] >= 1
        assert "objdump" in row["instructions_by"]
    assert not any("instructions" in row for row in study.rows if row["kind"] == "block" and row["instructions"])


def test_two_side_by_side() -> None:
    def entry(name: str, target: str, kernel: Listing) -> Entry:
        return Entry(name, name, name, target, f"chip <{target}>", "offline", "a tool", kernel)

    def kernel(opcodes: list[str]) -> Listing:
        return Listing("k", [Instruction(f"{each} r1, <r2>", each, "alu") for each in opcodes], [Loop(0, 1)])

    one, other = (entry(name, "t", kernel(ops)) for name, ops in (("a", ["mul", "add", "ret"]), ("b", ["fma", "ret"])))
    made = lab.isa_diff(one, other)
    assert made.opcodes == [("add", 1, 0), ("fma", 0, 1), ("mul", 1, 0)]
    assert "mul r1, <r2>" in repr(made)
    shown = made._repr_html_()
    assert "chip &lt;t&gt;" in shown
    assert "<r2>" not in shown
    with pytest.raises(ParameterError, match=r"^other: it is of u, the first of t"):
        lab.isa_diff(one, entry("b", "u", kernel(["fma", "ret"])))


# ---------------------------------------------------------------- any file

TEXT = """#include "scale.h"
kernel void twice(global float* x) { x[get_global_id(0)] *= SCALE; }
kernel void thrice(global float* x) { x[get_global_id(0)] *= 3 * FACTOR; }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "scale.h").write_text("#define SCALE 2\n")
    (tmp_path / "k.cl").write_text(TEXT)
    return tmp_path / "k.cl"


def test_a_file(file: Path) -> None:
    if tools.find("clang-15") is None:
        pytest.skip("no clang-15")
    found = lab.isa_of_file(file, options="-D FACTOR=1", targets="gfx900")
    assert [entry.name for entry in found] == ["twice", "thrice"]
    assert all(entry.listing is not None for entry in found)
    (failed,) = lab.isa_of_file(file, targets="gfx900")
    assert failed.reason is not None
    assert "undeclared identifier 'FACTOR'" in failed.reason


def test_a_file_on_the_device_at_hand(file: Path, device: gpuopt.Device) -> None:
    found = lab.isa_of_file(str(file), options="-DFACTOR=1", device=device)
    assert {entry.name for entry in found} == {"twice", "thrice"}
    (failed,) = lab.isa_of_file(file, device=device)
    assert failed.reason is not None
    with pytest.raises(ParameterError, match=r"^path: .*none.cl cannot be read"):
        lab.isa_of_file(file.with_name("none.cl"))


def test_the_command(file: Path) -> None:
    click_testing = pytest.importorskip("click.testing")
    from gpuopt import cli

    out = file.with_name("rows.json")
    words = [
        "isa",
        str(file),
        "--options",
        "-DFACTOR=1",
        "-t",
        "gfx900",
        "--diff",
        "twice",
        "thrice",
        "--out",
        str(out),
    ]
    result = click_testing.CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert "gfx900, AMD Vega 10" in result.output
    rows = json.loads(out.read_text())
    assert {row["target"] for row in rows} == {"gfx900"}
    listed = click_testing.CliRunner().invoke(cli.app, ["isa", "--help"])
    assert "gemm" in listed.output


def test_programs_of_unknown_platforms_are_refused() -> None:
    unknown: Any = SimpleNamespace(type="gpu", platform="Somebody's", name="x")
    with pytest.raises(ToolError, match=r"^programs of Somebody's cannot be read"):
        live.read(unknown, {"binary": b""}, {"entry_point": "k"}, None)


def test_a_file_without_a_kernel_is_refused(tmp_path: Path, any_device: gpuopt.Device) -> None:
    for name, text in (("empty.cl", ""), ("other.cl", "float twice(float x) { return 2 * x; }")):
        (tmp_path / name).write_text(text)
        with pytest.raises(gpuopt.ParameterError, match=f"path: {name} holds no kernel"):
            lab.isa_of_file(tmp_path / name, device=any_device)
