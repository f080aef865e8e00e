"""Plain C++ loops to hold beside the kernels: text that the machine's own compiler makes a function of.

    source = 'extern "C" void twice(float* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }'
    vector = np.ctypeslib.ndpointer(np.float32, 1, flags="C_CONTIGUOUS")  # checks what it is given
    twice = cpp_loops.function(source, "twice", (vector, ctypes.c_long), ("-O3",))
    twice(x, len(x))

A flag ``-fopenmp`` makes a loop of several threads. What was compiled is kept in the folder ``native`` of the user's
cache, which is the user's alone: a library that is loaded runs with the user's rights. Where there is no such folder,
each process compiles its own.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpuopt import _core, files
from gpuopt._core import Error
from gpuopt.signals import let_through, suppressing

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
    path = _found()
    # Linked without -ffast-math, whose start-up code would flush denormals to zero in the whole process.
    linked = ["-shared", *(flag for flag in flags if flag == "-fopenmp")]
    key = repr((source, described(flags), linked)).encode() + _processor()
    file = f"{name}-{hashlib.sha256(key).hexdigest()[:32]}.so"
    commands = ([path, *flags, _POSITION, "-c", "-o"], [path, *linked, "-o"])
    # Threads that spin for the next loop would take the cores from the OpenCL runtime's, whose turn comes in between.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with tempfile.TemporaryDirectory() as scratch:  # of mode 0700
        folder = _private_folder()
        if folder is None:
            return ctypes.CDLL(str(_compiled(source, name, commands, Path(scratch))))
        try:
            if not (_is_ours(folder, file) and _loads(folder, file)):
                built = _compiled(source, name, commands, Path(scratch))
                try:
                    _keep(folder, file, built.read_bytes())
                except files.WriteError as error:
                    warnings.warn(f"compiled C++ loops are not kept: {error}", stacklevel=3)
                    return ctypes.CDLL(str(built))
            # No two libraries share this name, whatever the number of the folder: it has what they are made of.
            return ctypes.CDLL(f"/proc/self/fd/{folder}/{file}")
        finally:
            os.close(folder)


def _is_ours(folder: int, file: str) -> bool:
    """Whether there is such a library, of this user's and that nobody else may write."""
    try:
        there = os.stat(file, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError as error:
        let_through(error)
        return False
    return stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid() and not there.st_mode & 0o022


def _loads(folder: int, file: str) -> bool:
    """Whether a kept library is whole: one that is not is compiled again."""
    try:
        ctypes.CDLL(f"/proc/self/fd/{folder}/{file}")
    except OSError as error:
        let_through(error)
        return False
    return True


def _keep(folder: int, file: str, content: bytes) -> None:
    """Writes a library beside and renames it. Raises WriteError."""
    beside = f"{file}.{secrets.token_hex(8)}"
    try:
        made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o700, dir_fd=folder)
        with open(made, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.rename(beside, file, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        let_through(error)
        raise files.refused(Path(_core.cache_dir()) / "native" / file, error, files.OTHER_CACHE) from error
    finally:
        with suppressing(OSError):
            os.unlink(beside, dir_fd=folder)


def _compiled(source: str, name: str, commands: Sequence[Sequence[str]], folder: Path) -> Path:
    """The path of ``source``, compiled in a folder. Raises Error with what the compiler says."""
    text, compiled, built = (folder / f"{name}.{suffix}" for suffix in ("cpp", "o", "so"))
    text.write_text(source, encoding="utf-8")
    for command, made, read in zip(commands, (compiled, built), (text, compiled), strict=True):
        run = subprocess.run([*command, str(made), str(read)], capture_output=True, text=True, check=False)
        if run.returncode:
            raise Error(f"{command[0]} cannot compile {name}.cpp: {run.stderr.strip()[:500]}")
    return built


def _found() -> str:
    path = compiler()
    if path is None:
        raise Error("there is no C++ compiler; install one, or name it in CXX")
    return path


def _private_folder() -> int | None:
    """The cache's folder for libraries, open; None where there is none of the user's own, or no way to name it."""
    try:
        folder = os.open(_core.make_private_folder("native"), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (Error, OSError) as error:
        let_through(error)
        warnings.warn(f"compiled C++ loops are not kept: {error}", stacklevel=4)
        return None
    # Asked again of what is open: the path may lead elsewhere by now.
    if os.fstat(folder).st_uid == os.geteuid() and Path(f"/proc/self/fd/{folder}").is_dir():
        return folder
    os.close(folder)
    return None


def _processor() -> bytes:
    """-march=native means another machine's code elsewhere, where a cache is shared."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        let_through(error)
        return b""
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))})).encode()
