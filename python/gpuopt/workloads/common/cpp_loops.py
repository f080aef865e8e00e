"""Plain C++ loops to hold beside the kernels: text that the machine's own compiler makes a function of.

    source = 'extern "C" void twice(float* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }'
    vector = np.ctypeslib.ndpointer(np.float32, 1, flags="C_CONTIGUOUS")  # checks what it is given
    twice = cpp_loops.function(source, "twice", (vector, ctypes.c_long), ("-O3",))
    twice(x, len(x))

A flag ``-fopenmp`` makes a loop of several threads. What was compiled is kept in the folder ``native`` of the user's
cache, which nobody else may write: a library that is loaded runs with the user's rights.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpuopt import _core
from gpuopt._core import Error

SERIAL = ("-O3", "-march=native")  # one thread, its sums in the order of the text
THREADED = (*SERIAL, "-fopenmp")
_POSITION = "-fPIC"


def compiler() -> str | None:
    """Return the path of the C++ compiler to use: $CXX, or the first there is of c++, g++ and clang++; None without
    any."""
    names = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@cache
def described(flags: Sequence[str]) -> str:
    """Return what the compiler calls itself, with ``flags`` (a tuple) and, where they say OpenMP, the threads it takes.

    Raises Error without a compiler.
    """
    path = _found()
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    words = [(told.splitlines() or [path])[0], " ".join(flags)]
    if "-fopenmp" in flags:
        words.append(f"{os.environ.get('OMP_NUM_THREADS') or len(os.sched_getaffinity(0))} threads")
    return ", ".join(words)


def function(
    source: str, symbol: str, arguments: Sequence[Any], flags: Sequence[str] = SERIAL, name: str = "loops"
) -> Callable[..., None]:
    """Return the function ``symbol`` of ``source``, which is ``extern "C"`` and returns nothing.

    ``arguments`` are its ctypes, ``flags`` the compiler's, ``name`` that of the file. Raises Error with what the
    compiler says, or where there is none.
    """
    found = getattr(library(source, tuple(flags), name), symbol)
    found.restype, found.argtypes = None, list(arguments)
    call: Callable[..., None] = found
    return call


@cache
def library(source: str, flags: tuple[str, ...], name: str = "loops") -> ctypes.CDLL:
    """Return ``source``, compiled once for a compiler, its flags and a processor. Raises as :func:`function` does."""
    path, folder = _found(), _private_folder()
    # Linked without -ffast-math, whose start-up code would flush denormals to zero in the whole process.
    linked = ["-shared", *(flag for flag in flags if flag == "-fopenmp")]
    key = repr((source, described(flags), linked)).encode() + _processor()
    made = folder / f"{name}-{hashlib.sha256(key).hexdigest()[:32]}.so"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            text, compiled, built = (Path(scratch) / f"{name}.{suffix}" for suffix in ("cpp", "o", "so"))
            text.write_text(source, encoding="utf-8")
            for command in (
                [*flags, _POSITION, "-c", "-o", str(compiled), str(text)],
                [*linked, "-o", str(built), str(compiled)],
            ):
                run = subprocess.run([path, *command], capture_output=True, text=True, check=False)
                if run.returncode:
                    raise Error(f"{path} cannot compile {name}.cpp: {run.stderr.strip()[:500]}")
            built.replace(made)
    # Threads that spin for the next loop would take the cores from the OpenCL runtime's, whose turn comes in between.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    return ctypes.CDLL(str(made))


def _found() -> str:
    path = compiler()
    if path is None:
        raise Error("there is no C++ compiler; install one, or name it in CXX")
    return path


def _private_folder() -> Path:
    folder = Path(_core.cache_dir()) / "native"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise Error(f"{folder} belongs to another user; set GPUOPT_CACHE_DIR to a folder of your own")
        folder.chmod(0o700)
    except OSError as error:
        raise Error(f"{folder} cannot be used: {error.strerror}; set GPUOPT_CACHE_DIR to another folder") from error
    return folder


def _processor() -> bytes:
    """-march=native means another machine's code elsewhere, where a cache is shared."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return b""
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))})).encode()
