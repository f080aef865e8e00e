"""Variables that a kernel reads before it sets them, as clang sees them where it is installed."""

from __future__ import annotations

import re

from gpuopt.lab.compiled import tools
from gpuopt.lab.compiled.listing import ListingError
from gpuopt.lab.compiled.targets import COMPILERS, kept_options
from gpuopt.lab.compiled.tools import ToolError
from gpuopt.signals import let_through

LIMIT_S = 20.0
_TARGET = ("-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header", "-fsyntax-only")
_WARNING = re.compile(r"^[^:\n]+:(\d+):\d+: warning: variable '(\w+)' is uninitialized when used here", re.MULTILINE)


def remarks(text: str, options: str) -> list[str]:
    """`line 3 reads 'sum', which is not set there`, for each variable that no path to a line sets. The device's own
    compiler may say nothing of it and take zero, so that results are right there. Nothing where clang is missing or
    refuses the text: it is no verdict. Arrays and parts of vectors are not looked at."""
    clang = tools.find(*COMPILERS)
    if clang is None:
        return []
    command = [clang, *_TARGET, "-Wno-everything", "-Wuninitialized", "-Wno-sometimes-uninitialized"]
    try:
        command += [*kept_options(options), "-x", "cl", "kernel.cl"]
        with tools.folder_with("kernel.cl", text.encode()) as folder:
            said = tools.run(command, folder=folder, errors=True, limit_s=LIMIT_S)
    except (ToolError, ListingError, UnicodeError) as error:
        let_through(error)
        return []
    found = dict.fromkeys(_WARNING.findall(said))
    return [f"line {line} reads {name!r}, which is not set there: its value is undefined" for line, name in found]
