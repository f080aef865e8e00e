"""Warps of a multiprocessor, and the way from PTX to SASS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuopt import ParameterError
from gpuopt.lab.compiled import nvidia, tools
from gpuopt.lab.compiled.nvidia import assemble, capability, occupancy
from gpuopt.lab.compiled.ptxas import read_ptxas
from gpuopt.lab.compiled.sass import read_sass
from gpuopt.lab.compiled.tools import ToolError

LISTINGS = Path(__file__).parent / "listings"
PTX = (LISTINGS / "h200_driver.ptx").read_text()


@pytest.mark.parametrize(
    ("registers", "items", "local_bytes", "unit", "found"),
    [
        # by NVIDIA's cuda_occupancy.h (CUDA 13.0), compiled and run with the same numbers
        (32, 256, 0, "9.0", (64, "warps")),
        (38, 256, 0, "9.0", (48, "registers")),
        (168, 384, 0, "9.0", (12, "registers")),
        (255, 1024, 0, "9.0", (0, "registers")),
        (16, 32, 0, "9.0", (32, "groups")),
        (16, 64, 0, "9.0", (64, "warps")),
        (16, 768, 0, "9.0", (48, "group size")),
        (16, 1025, 0, "9.0", (0, "group size")),
        (32, 128, 33 * 1024, "9.0", (24, "local memory")),
        (32, 128, 227 * 1024, "9.0", (4, "local memory")),
        (32, 128, 227 * 1024 + 1, "9.0", (0, "local memory")),
        (32, 128, 48 * 1024, "7.0", (8, "local memory")),
        (32, 128, 48 * 1024, "8.0", (12, "local memory")),
        (32, 128, 48 * 1024, "8.6", (8, "local memory")),
        (32, 33, 0, "7.5", (32, "warps")),
        (40, 128, 0, "8.9", (48, "warps")),
        (64, 128, 0, "10.0", (32, "registers")),
        (16, 32, 0, "12.0", (24, "groups")),
        (0, 1, 0, "7.0", (32, "groups")),
        # but this: instructions name 255 at most
        (256, 32, 0, "9.0", (0, "registers")),
    ],
)
def test_occupancy(registers: int, items: int, local_bytes: int, unit: str, found: tuple[int, str]) -> None:
    assert occupancy(registers, items, local_bytes, unit) == found


@pytest.mark.parametrize("unit", ["", "3.5", "9.9", "sm_90", "9" * 400])
def test_unknown_machines_have_none(unit: str) -> None:
    warps, why = occupancy(32, 256, 0, unit)
    assert warps is None
    assert "not known" in why


@pytest.mark.parametrize(
    ("given", "argument"), [((-1, 32, 0), "registers"), ((1, 0, 0), "group_items"), ((1, 32, -1), "local_bytes")]
)
def test_impossible_numbers_are_refused(given: tuple[int, int, int], argument: str) -> None:
    with pytest.raises(ParameterError, match=f"^{argument}: "):
        occupancy(*given, "9.0")


def test_capabilities() -> None:
    assert [capability(name) for name in ("sm_70", "sm_90a", "sm_103f", "sm_120")] == ["7.0", "9.0", "10.3", "12.0"]
    assert [capability(name) for name in ("", "gfx90a", "sm_9", "sm_90ab", "sm_" + "9" * 400)] == [""] * 5


class Tools:
    """Stands for NVIDIA's: takes the text for some machines alone."""

    def __init__(self, *machines: str) -> None:
        self.machines = machines
        self.asked: list[list[str]] = []
        self.ptx = b""

    def __call__(self, command: Sequence[str], *, folder: Path | None = None, errors: bool = False) -> str:
        assert folder is not None
        self.asked.append([Path(command[0]).name, *command[1:]])
        if self.asked[-1][0] != "ptxas":
            return "the listing"
        self.ptx = (folder / "kernel.ptx").read_bytes()
        machine = command[2].removeprefix("-arch=")
        if machine not in self.machines:
            raise ToolError(f"ptxas fails: not supported on {machine}")
        assert errors
        return f"ptxas info : for {machine}"


@pytest.fixture
def tool_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    names = {"ptxas", "nvdisasm", "cuobjdump"}

    def needed(*wanted: str) -> str:
        for name in wanted:
            if name in names:
                return f"/usr/bin/{name}"
        raise ToolError(f"{wanted[0]} is not on PATH")

    monkeypatch.setattr(nvidia.tools, "needed", needed)
    return names


def test_assembling(tool_names: set[str]) -> None:
    run = Tools("sm_90")
    made = assemble(b".version 9.0\n\0garbage", "sm_90", run)
    assert (made.sass, made.log, made.machine) == ("the listing", "ptxas info : for sm_90", "sm_90")
    assert run.ptx == b".version 9.0\n"
    assert run.asked == [
        ["ptxas", "-v", "-arch=sm_90", "kernel.ptx", "-o", "kernel.cubin"],
        ["nvdisasm", "-c", "kernel.cubin"],
    ]
    tool_names.remove("nvdisasm")
    run = Tools("sm_90")
    assemble(".version 9.0\n", "sm_90", run)
    assert run.asked[1] == ["cuobjdump", "--dump-sass", "kernel.cubin"]


def test_instructions_of_one_generation(tool_names: set[str]) -> None:
    assert assemble("", "sm_90", Tools("sm_90a")).machine == "sm_90a"
    assert assemble("", "sm_100", Tools("sm_100a")).machine == "sm_100a"
    for machine in ("sm_80", "sm_90", "sm_90a"):
        run = Tools()
        with pytest.raises(ToolError, match=f"not supported on {machine}$"):
            assemble("", machine, run)
        assert len(run.asked) == (2 if machine == "sm_90" else 1)


def test_missing_tools_and_names(tool_names: set[str]) -> None:
    for machine in ("", "gfx90a", "sm_90; rm"):
        with pytest.raises(ParameterError, match=r"^machine: "):
            assemble("", machine, Tools())
    tool_names.clear()
    with pytest.raises(ToolError, match="ptxas is not on PATH"):
        assemble("", "sm_90", Tools())
    tool_names.add("ptxas")
    with pytest.raises(ToolError, match="nvdisasm is not on PATH"):
        assemble("", "sm_90", Tools("sm_90"))


def test_nvidia_s_tools() -> None:
    if not (tools.find("ptxas") and tools.find("nvdisasm", "cuobjdump")):
        pytest.skip("NVIDIA's ptxas and nvdisasm are not on PATH")
    made = assemble(PTX, "sm_90a")
    usage = read_ptxas(made.log)
    assert {each.kernel for each in read_sass(made.sass)} == set(usage) == {"naive", "tree", "dbl"}
    assert (usage["tree"].shared_bytes, usage["dbl"].stack_bytes) == (256, 40)
