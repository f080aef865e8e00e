"""Chips that kernels are compiled for without one: what is given to clang, and what is not taken for granted of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuopt._core import ParameterError
from gpuopt.lab.compiled import amdgcn, nvidia_gpu, r600, tools
from gpuopt.lab.compiled.listing import Listing, ListingError
from gpuopt.lab.compiled.tools import ToolError

Family = Literal["gcn", "vliw", "nvptx"]

# libclc reads no images for these chips. The instruction itself does, of the image whose name ends in that letter; the
# coordinate lies in its first and third place, for LLVM 15 cannot widen a pair of numbers there.
_R600_IMAGES = """float4 __attribute__((const)) gpuopt_texel(float4 at, int x, int y, int z, int image, int sampler,
                                           int tx, int ty, int tz, int tw) __asm("llvm.r600.tex");
#define read_imagef(image, sampler, at)                                                        \\
    gpuopt_texel((float4)(convert_float((at).x), 0.0f, convert_float((at).y), 0.0f), 0, 0, 0,  \\
                 (#image)[sizeof(#image) - 2], 0, 0, 0, 0, 0)
#line 1 "kernel.cl"
"""

_ROOT = Path("/")  # tests put a made-up /usr there
ROCM = "usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
LIBCLC = "usr/lib/clc"
# Drivers put functions into the kernels that call them, as the chips of old need it: none may be left to other files,
# as C's `inline` does, and none is too long.
_ALWAYS = (
    *("-O3", "-w", "-S", "-fgnu89-inline", "-mllvm", "-inline-threshold=1000000"),
    *("-ferror-limit=1", "-fno-crash-diagnostics"),
)
COMPILERS = ("clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang")  # the first has the goldens


@dataclass(frozen=True)
class Target:
    """A chip: its name as clang knows it, what it is sold as, and how its listings read."""

    name: str
    title: str
    family: Family

    @property
    def kind(self) -> Literal["offline", "re-creation"]:
        """What its numbers are: "offline", or a "re-creation" of what a vendor's compiler of old would have made."""
        return "re-creation" if self.family == "vliw" else "offline"


TARGETS = {
    target.name: target
    for target in (
        Target("cypress", "AMD HD 5870, VLIW5", "vliw"),
        Target("cedar", "AMD HD 5450, VLIW5", "vliw"),
        Target("barts", "AMD HD 6870, VLIW5", "vliw"),
        Target("cayman", "AMD HD 6970, VLIW4", "vliw"),
        Target("gfx900", "AMD Vega 10, GCN 5", "gcn"),
        Target("gfx906", "AMD Instinct MI50, GCN 5", "gcn"),
        Target("gfx90a", "AMD Instinct MI200, CDNA 2", "gcn"),
        Target("gfx1030", "AMD RX 6800, RDNA 2", "gcn"),
        Target("gfx1100", "AMD RX 7900, RDNA 3", "gcn"),
        Target("sm_70", "NVIDIA V100", "nvptx"),
        Target("sm_80", "NVIDIA A100", "nvptx"),
        Target("sm_86", "NVIDIA RTX 30", "nvptx"),
        Target("sm_90", "NVIDIA H100, H200", "nvptx"),
    )
}


def target(name: str) -> Target:
    """The target of that name. Raises ParameterError, which lists those there are."""
    if name not in TARGETS:
        raise ParameterError(f"targets: there is no {name!r}; use live or {', '.join(TARGETS)}")
    return TARGETS[name]


@dataclass(frozen=True)
class Made:
    """What an offline compiler made of a program: its kernels, its text, and which tool of which version. ``machine``
    is NVIDIA's, where it is for one."""

    kernels: list[Listing]
    text: str
    tool: str
    machine: str = ""

    def kernel(self, name: str) -> Listing:
        """The listing of an entry point. Raises ListingError."""
        for each in self.kernels:
            if each.kernel == name:
                return each
        raise ListingError(f"the listing holds no kernel {name}")


def compile_for(chip: Target, source: str, options: str) -> Made:
    """Compiles OpenCL C with its includes in place, with those of a driver's ``options`` that clang knows. Raises
    ToolError where a tool is missing or refuses the text, ListingError where its listing cannot be trusted."""
    clang = tools.needed(*COMPILERS)
    if chip.family == "nvptx":
        ptx = _text_of([clang, *_for_nvidia(clang, chip)], source, options)
        machine, listings, assembler = nvidia_gpu.compiled(ptx, chip.name)
        return Made(listings, ptx, f"clang {tools.version(clang)}, {assembler}", machine)
    tool = f"clang {tools.version(clang)}"
    arguments, library = _for_chip(chip)
    images = _R600_IMAGES if chip.family == "vliw" and "read_imagef" in source else ""
    text = _text_of([clang, *arguments, "-gline-tables-only"], images + source, options)
    kernels = r600.read(text, chip.name) if chip.family == "vliw" else amdgcn.read(text, chip.name)
    return Made(kernels, text, f"{tool}, {library}")


_ADDRESS = re.compile(r"0x[0-9a-f]{6,16}(: |, )?")


def _text_of(command: Sequence[str], source: str, options: str) -> str:
    """What clang writes."""
    with tools.folder_with("kernel.cl", source.encode()) as folder:
        kept = [*kept_options(options), *_ALWAYS, "kernel.cl", "-o", "kernel.s"]
        try:
            tools.run([*command, "-x", "cl", *kept], folder=folder)
        except ToolError as error:
            raise ToolError(_ADDRESS.sub("", str(error))) from error
        return (folder / "kernel.s").read_text(encoding="utf-8", errors="replace")


def _for_nvidia(clang: str, chip: Target) -> list[str]:
    """Arguments of clang for PTX; ptxas takes that of an earlier machine for a later one."""
    known = chip.name if chip.name in _OLD_MACHINES or "15" not in tools.version(clang).split(".")[:1] else "sm_86"
    library = _linked("nvptx64--nvidiacl.bc")
    return ["-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", known, "-nogpulib", *library]


_OLD_MACHINES = ("sm_70", "sm_80", "sm_86")  # that clang 15 knows


def kept_options(options: str) -> list[str]:
    """Of a driver's build options those that clang takes and that decide the code; a language version is added where
    none is named. Vendors' own go."""
    kept = _split(options)[0]
    if not any(word.startswith("-cl-std=") for word in kept):
        kept.append("-cl-std=CL1.2")
    return kept


def dropped_options(options: str) -> list[str]:
    """Of a driver's build options those that clang does not get."""
    return _split(options)[1]


def _split(options: str) -> tuple[list[str], list[str]]:
    kept: list[str] = []
    dropped: list[str] = []
    words = iter(_words(options))
    for word in words:
        if word == "-D":
            kept.append(f"-D{next(words, '')}")
        elif word.startswith("-D") or re.fullmatch(r"-cl-std=CL[0-9.]+", word) or word in _MATHS:
            kept.append(word)
        else:
            dropped.append(word)
    return kept, dropped


_MATHS = {
    *("-cl-mad-enable", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations", "-cl-no-signed-zeros"),
    *("-cl-finite-math-only", "-cl-denorms-are-zero", "-cl-single-precision-constant", "-cl-opt-disable"),
    "-cl-fp32-correctly-rounded-divide-sqrt",
}


def _words(options: str) -> Sequence[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise ListingError(f"the build options cannot be read: {error}") from error


def _for_chip(chip: Target) -> tuple[list[str], str]:
    """Arguments of clang for a chip, and which built-ins these link."""
    if chip.family == "vliw":
        return ["-target", "r600--", f"-mcpu={chip.name}", *_linked(f"{chip.name}-r600--.bc")], "libclc"
    generation = chip.name.removeprefix("gfx")
    if (_ROOT / ROCM / f"oclc_isa_version_{generation}.bc").exists():
        rocm = f"--rocm-device-lib-path={_ROOT / ROCM}"
        return ["-target", "amdgcn-amd-amdhsa", f"-mcpu={chip.name}", rocm], "ROCm's device libraries"
    libclc = ["-nogpulib", *_linked("amdgcn--amdhsa.bc")]
    return ["-target", "amdgcn-amd-amdhsa", f"-mcpu={chip.name}", *libclc], "libclc"


def has(place: str) -> bool:
    """Whether a folder of libraries is there, :data:`ROCM` or :data:`LIBCLC`."""
    return (_ROOT / place).is_dir()


def _linked(name: str) -> list[str]:
    """Arguments that link a library of libclc. Raises ToolError where it is not installed."""
    path = _ROOT / LIBCLC / name
    if not path.exists():
        raise ToolError(f"OpenCL's built-in functions for this target are missing: {path} (Debian 12: libclc-15)")
    return ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path)]
