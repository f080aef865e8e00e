"""Which compilers and disassemblers are here, for `gpuopt doctor`."""

from __future__ import annotations

from gpuopt.lab.compiled import targets, tools, x86

LACKS = "--  {what}: none of {names} on PATH{package}"


def lines() -> list[str]:
    """A line for each kind of tool: the program and its version, or what is missing and what brings it on Debian."""
    return [
        _line("machine code of CPUs", x86.TOOLS[:2], "Debian: binutils"),
        _line("chips that are not here", targets.COMPILERS, "Debian 12: clang-15"),
        *_libraries(),
        _line("NVIDIA's registers and spills", ("ptxas",), ""),
        _line("NVIDIA's own instructions", ("nvdisasm", "cuobjdump"), ""),
    ]


def _line(what: str, names: tuple[str, ...], package: str) -> str:
    if (path := tools.find(*names)) is None:
        return LACKS.format(what=what, names=", ".join(names), package=f" ({package})" if package else "")
    return f"ok  {what}: {path} {tools.version(path)}"


def _libraries() -> list[str]:
    """OpenCL's built-in functions for other chips."""
    found = [name for name, place in (("libclc", targets.LIBCLC), ("ROCm's", targets.ROCM)) if targets.has(place)]
    if not found:
        return [
            "--  built-in functions for other chips: neither libclc nor ROCm's (Debian 12: libclc-15, rocm-device-libs)"
        ]
    return [f"ok  built-in functions for other chips: {' and '.join(found)}"]
