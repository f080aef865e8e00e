"""Files written beside and renamed: readers, a full disk and an interrupt find the old file or the new one, whole."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from gpuopt._core import Error, ParameterError
from gpuopt.signals import exists, is_file, let_through, make_folders, real_path, suppressing

OTHER_FILE = "free some space, or name another file"
OTHER_CACHE = "free some space, or set GPUOPT_CACHE_DIR to another folder"
_FIRST_ROW = 1 << 22  # bytes at the beginning of a file of rows in which one stands, whatever is damaged
NO_WORKING_DIRECTORY, ELSEWHERE = "the working directory was removed", "change to a folder that is there"


class WriteError(Error, OSError):
    """A file that could not be written, or holds what may not be lost: which one, why, and the way out; ``errno`` is
    the system's, if it is the system that refused. ``made`` is what should have been kept there, where that took time
    to measure."""

    made: object = None


def refuse_irregular(name: str, path: str | PathLike[str]) -> None:
    """Raises ParameterError for a folder, a device or a pipe: the last two may keep a reader for ever."""
    if exists(path) and not is_file(path):
        raise ParameterError(f"{name}: {shown(path)} is no regular file; name a file")


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """What an open file holds, or one byte above ``most`` of it: a read of that many would take their memory first."""
    return file.read(min(os.fstat(file.fileno()).st_size, most) + 1)


def shown(path: str | PathLike[str]) -> str:
    """A path as a text that UTF-8 can write, also where the system's bytes of it are none."""
    return os.fspath(path).encode(errors="backslashreplace").decode()


def leads_nowhere(path: str | PathLike[str]) -> bool:
    """Whether a path is relative and the working directory was removed."""
    try:
        return not (os.path.isabs(path) or os.getcwd())
    except OSError as error:
        let_through(error)
        return True


def _real(path: str | PathLike[str]) -> Path:
    """Where links of a path lead. Raises WriteError where the working directory is gone, ParameterError for a NUL."""
    try:
        return Path(real_path(path))
    except ValueError as error:
        raise ParameterError(f"path: {os.fspath(path)!r} is no path ({error}); name a file") from error
    except OSError as error:
        let_through(error)
        raise refused(path, error, "name another place") from error


def check_file(path: str | PathLike[str], make_folder: bool = False, over_rows: bool = False) -> None:
    """Raises what :func:`write` would, where that can be known before there is anything to write: ParameterError for
    what is no regular file, WriteError for a folder that takes no files and for rows of a study."""
    refuse_irregular("path", path)
    if not over_rows:
        _refuse_rows(path)
    _check_takes_files(path, _real(path).parent, make_folder)


def _refuse_rows(path: str | PathLike[str]) -> None:
    """Raises WriteError for a file of rows, raw or compact: measurements are never deleted."""
    if not is_file(path):
        return
    with _told(path, "name another file"), open(path, "rb") as file:
        head = read_up_to(file, _FIRST_ROW)
    if any(_is_row(line) for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()):
        raise WriteError(f"{shown(path)} holds rows of a study, which would be lost; name another file")


def _is_row(line: bytes) -> bool:
    """Whether it is a row of ``lab.Store``, or a template of rows, of any version; in other files they are indented."""
    if not line.startswith(b"{") or b'"schema"' not in line:
        return False
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return type(row.get("schema")) is int and (isinstance(row.get("kind"), str) or "shared" in row)


def check_folder(path: str | PathLike[str]) -> None:
    """Raises WriteError where no files can be written in a folder, made or to be made; it is not made here."""
    _check_takes_files(path, _real(path), True)


def _check_takes_files(path: str | PathLike[str], folder: Path, made: bool) -> None:
    """Tries with a file that has no name, or none that stays. Where a folder is ``made`` later, in the one above."""
    try:
        while made and not is_there(folder) and folder != folder.parent:
            folder = folder.parent
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        let_through(error)
        raise refused(path, error, "name another place") from error


def is_there(path: str | PathLike[str]) -> bool:
    """Whether something has this name. Raises OSError where that cannot be told, and for a name that can be none."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        let_through(error)
        return False
    return True


def made_folder(path: str | PathLike[str]) -> Path:
    """The folder, which is made where it is missing. Raises WriteError."""
    try:
        make_folders(path)
    except OSError as error:
        let_through(error)
        raise refused(path, error, "name another folder") from error
    return Path(path)


def expanded(path: str | PathLike[str]) -> Path:
    """A path without its ~; one of a user who is not known stands for itself."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def write(
    path: str | PathLike[str],
    parts: Iterable[bytes],
    *,
    make_folder: bool = False,
    aside: Path | None = None,
    way_out: str = OTHER_FILE,
    over_rows: bool = False,
) -> None:
    """Writes ``parts`` to ``path``, a link to where it points, in one step; a file that was there keeps its mode.

    With ``aside``, what stood at ``path`` is kept under that name too, which must be free. Rows of a study are replaced
    only with ``over_rows``.
    Raises ParameterError where ``path`` is no regular file, WriteError, which names the file and ``way_out``, and what
    the making of ``parts`` raises; the file is then as it was.
    """
    with _beside(path, parts, make_folder, way_out, over_rows) as (beside, target), _told(path, way_out):
        with _kept(target, aside):
            os.replace(beside, target)
        sync_folder(target.parent)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Writes files that belong together, as :func:`write` does: none is replaced before all are written whole."""
    with ExitStack() as stack:
        made = [(path, *stack.enter_context(_beside(path, [content]))) for path, content in contents.items()]
        for path, beside, target in made:
            with _told(path, OTHER_FILE):
                os.replace(beside, target)
                sync_folder(target.parent)


@contextmanager
def _beside(
    path: str | PathLike[str],
    parts: Iterable[bytes],
    make_folder: bool = False,
    way_out: str = OTHER_FILE,
    over_rows: bool = False,
) -> Iterator[tuple[Path, Path]]:
    """A file beside another that is to take its place, written whole, and where that one is."""
    target = _real(path)
    refuse_irregular("path", target)
    if not over_rows:
        _refuse_rows(path)
    # Not mkstemp: its files are their owner's alone, and the process's mask cannot be asked without changing it.
    beside = target.with_name(f"{_beginning(target.name)}.{secrets.token_hex(8)}.tmp")
    try:
        with _told(path, way_out):
            if make_folder:
                make_folders(target.parent)
            with open(beside, "xb") as file:
                with suppressing(OSError):  # no such file yet, or a file system without modes
                    os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
        yield beside, target
    finally:
        with suppressing(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def _told(path: str | PathLike[str], way_out: str) -> Iterator[None]:
    """Raises WriteError for an OSError within."""
    try:
        yield
    except OSError as error:
        let_through(error)
        raise refused(path, error, way_out) from error


def _beginning(name: str) -> str:
    """So much of a file's name that a longer one beside it is still a name: 255 bytes on most file systems. Without
    what the encoding of names does not have, such as half a letter, and in an ASCII locale all that is not ASCII."""
    return os.fsencode(name)[:200].decode(sys.getfilesystemencoding(), errors="ignore")


@contextmanager
def _kept(target: Path, aside: Path | None) -> Iterator[None]:
    """Gives a file a second name, for good unless an error comes; where the file system has no such names, a copy."""
    if aside is None:
        yield
        return
    before = os.stat(target)
    try:
        os.link(target, aside)
    except FileExistsError:
        raise
    except OSError as error:
        let_through(error)
        with _unless_replaced(target, before, aside):
            shutil.copy2(target, aside)
    with _unless_replaced(target, before, aside):
        yield


@contextmanager
def _unless_replaced(target: Path, before: os.stat_result, aside: Path) -> Iterator[None]:
    """Removes the second name where an error comes, unless it is all that is left of the file."""
    try:
        yield
    except BaseException:
        with suppressing(OSError):
            if os.path.samestat(before, os.stat(target)):
                aside.unlink()
        raise


def refused(path: str | PathLike[str], error: OSError, way_out: str) -> WriteError:
    """What to raise where ``error`` kept ``path`` from being written."""
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError) and leads_nowhere(path):
        reason, way_out = NO_WORKING_DIRECTORY, ELSEWHERE
    elif isinstance(error, FileNotFoundError) and not Path(path).parent.exists():
        way_out = f"make the folder {Path(path).parent}"
    elif error.errno == errno.ENAMETOOLONG:
        way_out = "give a shorter name"
    stands = "; what it held stands" * is_file(path)
    made = WriteError(f"{path} cannot be written: {reason}{stands}. To go on, {way_out}")
    made.errno = error.errno
    return made


@contextmanager
def holding(made: object) -> Iterator[None]:
    """Gives a WriteError within what should have been kept, unless it has it."""
    try:
        yield
    except WriteError as error:
        if error.made is None:
            error.made = made
        raise


def sync_folder(folder: Path) -> None:
    """Makes the new name outlive a power cut, where the file system can; the file is in place already."""
    with suppressing(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
