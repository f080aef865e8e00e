"""Plain C++ loops to hold beside the kernels: compiled with the machine's own compiler, for the machine itself."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path

from gpuopt import _core
from gpuopt._core import Error

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC")
# Linked without -ffast-math, whose start-up code would flush denormals to zero in the whole process.
LINKED = ("-shared", "-fopenmp")


def compiler() -> str | None:
    """The C++ compiler to use: $CXX, or the first there is of c++, g++ and clang++; None without any."""
    names = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@cache
def version(threads: int = 0) -> str:
    """What the compiler calls itself, with the flags and the number of threads; 0: one a processor."""
    path = compiler()
    if path is None:
        raise Error("there is no C++ compiler; install one, or name it in CXX")
    count = threads or os.cpu_count() or 1
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return f"{(told.splitlines() or [path])[0]}, {' '.join(FLAGS[:-1])}, {count} thread{'s' * (count != 1)}"


@cache
def library(name: str) -> ctypes.CDLL:
    """The loops of ``name``.cpp in this folder, compiled once a source, compiler and processor. Raises Error with what
    the compiler says."""
    source = resources.files(__name__).joinpath(f"{name}.cpp").read_bytes()
    path = compiler()
    if path is None:
        raise Error("there is no C++ compiler; install one, or name it in CXX")
    folder = Path(_core.cache_dir()) / "native"
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(source + version().encode() + repr(LINKED).encode() + _processor()).hexdigest()[:32]
    made = folder / f"{name}-{key}.so"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            text, compiled, built = (Path(scratch) / f"{name}.{suffix}" for suffix in ("cpp", "o", "so"))
            text.write_bytes(source)
            for command in ([*FLAGS, "-c", "-o", str(compiled), str(text)], [*LINKED, "-o", str(built), str(compiled)]):
                run = subprocess.run([path, *command], capture_output=True, text=True, check=False)
                if run.returncode:
                    raise Error(f"{path} cannot compile {name}.cpp: {run.stderr.strip()[:500]}")
            built.replace(made)
    # Threads that spin for the next loop would take the cores from the OpenCL runtime's, whose turn comes in between.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    return ctypes.CDLL(str(made))


def _processor() -> bytes:
    """-march=native means another machine's code elsewhere, where a cache is shared."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return b""
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))})).encode()
