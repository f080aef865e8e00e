"""What a call launches as a program of its own, of C and OpenCL alone: for reports of errors to a driver's vendor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, ParameterError, Recording
from gpuopt.checked import checked
from gpuopt.files import ELSEWHERE, NO_WORKING_DIRECTORY, leads_nowhere, refused, write
from gpuopt.lab.kernels import replay
from gpuopt.lab.rows.table import printable
from gpuopt.signals import let_through, make_folders, suppressing

_WRITTEN_AT_ONCE = 2**26  # bytes
_WAY_OUT = "free some space, or name another folder"


@checked
def capture(call: Callable[[], Any], folder: str | Path, *, most_bytes: int = 2**30) -> Path:
    """Runs ``call()`` once and writes what it launches into ``folder`` as a C program that launches it again.

    Any plain call will do: ``lambda: gpuopt.gemm(A, B)``, a call of a :class:`lab.Kernel`, of a projector or of a
    reconstruction. ``folder``, which must be new or empty, gets ``replay.c`` (C99 and OpenCL 1.2 alone), the expanded
    sources of the kernels, the contents of buffers and images at first use and after the last launch, and a README.txt
    that says what was recorded, on which device, and how to build and run it. The program compares what the launches
    leave with what they left here, byte by byte. Returns the folder's path, from the root: a relative ``folder`` lies
    in the working folder of before the call.

    Launches of this thread are recorded, in their order, on one device. What else this thread writes to memory between
    launches (an upload, a copy) is recorded as the contents that the next launch finds. What another thread writes or
    launches meanwhile is not seen: let the call alone work on its arrays. ``most_bytes`` of contents are held at most,
    in memory and in the folder: each buffer counts before the launches and, where they change it, after them.

    Raises ParameterError for a folder that holds something before the call or after it, a call that launches nothing
    here, takes samples, works on two devices or needs more than ``most_bytes``, and for kernels in a process of their
    own, which the kernels of ``lab.Kernel.problem`` are unless it is made with ``isolated=False``; WriteError; and what
    the call raises. Then the folder is as the call left it.

    Examples
    --------
    >>> A = np.ones((8, 8), np.float32)
    >>> folder = lab.capture(lambda: gpuopt.gemm(A, A, variant="naive"), "report")
    >>> (folder / "replay.c").exists(), (folder / "README.txt").exists()
    (True, True)
    """
    if most_bytes < 1:
        raise ParameterError(f"most_bytes: it is {most_bytes}; give at least 1")
    try:
        inspect.signature(call).bind()
    except TypeError as error:
        raise ParameterError(f"call: it takes arguments ({error}); give lambda: call(...)") from error
    except ValueError:  # what is not written in Python may not tell
        pass
    path = _absolute(folder)
    _is_empty(path)
    recording = Recording(most_bytes)
    with recording:
        call()
    device = recording.device
    if device is None:
        raise ParameterError(
            "call: it launches no kernel in this thread; give a call that works on a device, such as "
            "lambda: gpuopt.gemm(A, B)"
        )
    is_there = _is_empty(path)  # the call may have written there
    begun: list[Path] = []
    try:
        make_folders(path)
        for name, parts in _files(recording, device):
            begun.append(path / name)
            write(begun[-1], parts, way_out=_WAY_OUT)
    except BaseException as error:
        _take_back(path, begun, is_there)
        let_through(error)
        if isinstance(error, OSError) and not isinstance(error, _core.Error):
            raise refused(path, error, _WAY_OUT) from error
        raise
    return path


def _absolute(folder: str | Path) -> Path:
    """The folder, wherever the call goes. Raises ParameterError where a relative one lies nowhere."""
    if leads_nowhere(folder):
        raise ParameterError(f"folder: {str(folder)!r} cannot be used ({NO_WORKING_DIRECTORY}); {ELSEWHERE}")
    return Path(folder).absolute()


def _is_empty(path: Path) -> bool:
    """Whether the folder is there. Raises ParameterError where it is no folder or holds something."""
    try:
        if not path.exists() and not path.is_symlink():
            return False
        if path.is_dir() and next(path.iterdir(), None) is None:
            return True
    except (OSError, ValueError) as error:
        let_through(error)
        raise ParameterError(f"folder: {str(path)!r} cannot be used ({error}); name a new folder") from error
    what = "it holds files already" if path.is_dir() else "it is no folder"
    raise ParameterError(f"folder: {path}: {what}; name a new folder, or an empty one")


def _take_back(path: Path, begun: Sequence[Path], was_there: bool) -> None:
    """Takes away the files that were begun, and the folder if it was made for them and holds nothing else."""
    for one in begun:
        with suppressing(OSError):
            one.unlink(missing_ok=True)
    if not was_there:
        with suppressing(OSError):
            path.rmdir()


def _files(recording: Recording, device: Device) -> Iterator[tuple[str, Iterator[bytes]]]:
    programs, contents = recording.programs, recording.contents
    for number, program in enumerate(programs):
        yield replay.source_name(number), iter([program["text"]])
    for number, array in enumerate(contents):
        yield replay.contents_name(number), _pieces(array)
    tables = replay.tables(
        programs,
        recording.objects,
        recording.steps,
        [array.nbytes for array in contents],
        (device.platform, device.name),
    )
    yield "replay.c", iter([replay.program(tables)])
    yield "README.txt", iter([_readme(recording, device).encode()])


def _pieces(array: np.ndarray) -> Iterator[bytes]:
    for first in range(0, array.nbytes, _WRITTEN_AT_ONCE):
        yield array[first : first + _WRITTEN_AT_ONCE].tobytes()


def _readme(recording: Recording, device: Device) -> str:
    objects, steps = recording.objects, recording.steps
    launches = [one for one in steps if "kernel" in one]
    facts = {
        "device": device.name,
        "platform": device.platform,
        "vendor": device.vendor,
        "version": device.version,
        "driver": device.driver,
        "recorded by": f"gpuopt {_core.__version__} {_core.__commit__}".strip(),
    }
    lines = [
        "Kernels that were launched with OpenCL, and the memory that they worked on.",
        "",
        *(f"{name + ':':<13}{printable(fact)}" for name, fact in facts.items()),
        "",
        "Build and run it in this folder; it needs a C compiler, the OpenCL headers and the loader:",
        "",
        "    cc -o replay replay.c -lOpenCL",
        "    ./replay",
        "",
        "./replay PLATFORM DEVICE chooses by parts of the names; without them, the device above, else the first one.",
        "A line a launch has the time of its event; a line an object says whether its memory equals what was seen on",
        "the device above. That is not to say that what was seen is right. The exit status is 0 where all memory is",
        "equal, 1 where some differs, 2 where a call of OpenCL fails. On another device, sums in another order and",
        "functions of other accuracy differ too. A runtime that pip installed is shown to the loader by the path of",
        "its library, as OCL_ICD_VENDORS=PREFIX/lib/libintelocl.so (ocl-icd) or OCL_ICD_FILENAMES (Khronos's loader).",
        "",
        "All launches are in one queue, in the order in which they were recorded. None has an offset.",
        "",
        "Programs, compiled from their sources (what was recorded may have come from a cache of binaries):",
        *(
            f"    {replay.source_name(number)}: {printable(one['name'])}, options: {printable(one['options'])}"
            for number, one in enumerate(recording.programs)
        ),
        "",
        "Launches:",
        *(f"    {number}: {replay.in_words(one)}" for number, one in enumerate(launches)),
        "",
        "Objects:",
        *(f"    {number}: {replay.described(one)}" for number, one in enumerate(objects)),
    ]
    return "\n".join(lines) + "\n"
