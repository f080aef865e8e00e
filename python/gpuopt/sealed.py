"""JSON files of the user's cache: with a checksum, so that damage is noticed, and read from a folder that is the user's
alone. A damaged file is set aside and ends nothing."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from gpuopt import _core, files
from gpuopt._core import Error
from gpuopt.signals import let_through, make_folders, suppressing

CHECKSUM = "sha256"
_Found = TypeVar("_Found")
MOST_BYTES = 64 << 20  # of a file: those of a hundred sittings have two


class NewerError(ValueError):
    """A file of a schema that only a later gpuopt reads: nothing is wrong with it."""


# ---------------------------------------------------------------- checksums


def digest(held: Mapping[str, Any]) -> str:
    """The SHA-256 of everything but the checksum itself, as canonical JSON."""
    rest = {name: value for name, value in held.items() if name != CHECKSUM}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def parsed(content: bytes | str, newest: int) -> Any:
    """What JSON's parser makes of a file. Raises ValueError for what is no JSON, or an object whose checksum is not of
    what it holds, and NewerError for one whose schema is above ``newest``. An object without a checksum is the caller's
    to judge."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than the {MOST_BYTES:,} bytes of the largest such file")
    try:
        held = json.loads(content, parse_constant=_no_number)
        if isinstance(held, dict) and CHECKSUM in held and held[CHECKSUM] != digest(held):
            raise ValueError("its checksum is not of what it holds")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if isinstance(held, dict) and type(schema := held.get("schema")) is int and schema > newest:
        raise NewerError(f"its schema is {schema}, this gpuopt reads those up to {newest}")
    return held


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


# ---------------------------------------------------------------- folders and files


def folder(name: str) -> Path:
    """This folder of the user's cache, made or not."""
    return Path(_core.cache_dir()) / name


def unused() -> list[str]:
    """A note for a study where built programs are kept nowhere, and why; none where they are."""
    reason = _core.folder_refusal("programs")
    return [f"built kernels are not kept: {reason}; set GPUOPT_CACHE_DIR to a folder of your own"] if reason else []


def made(place: Path) -> None:
    """Makes a folder; one of the cache is the user's alone. Raises WriteError where it is not usable."""
    try:
        if place.parent == Path(_core.cache_dir()):
            _core.make_private_folder(place.name)
        else:
            make_folders(place)
    except OSError as error:
        let_through(error)
        raise files.refused(place, error, files.OTHER_CACHE) from error
    except Error as error:
        raise files.WriteError(f"nothing can be kept there: {error}") from error


def locked(place: Path, work: Callable[[], _Found]) -> _Found:
    """What ``work`` gives, done while no other thread or process has locked the folder. Raises WriteError where the
    folder cannot be opened. No context manager: a signal's handler may raise behind its lock and before the block, and
    the lock would stay."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        let_through(error)
        raise files.refused(place, error, files.OTHER_CACHE) from error
    try:
        with suppressing(OSError):  # some cluster file systems have no locks: one writer at a time is safe there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        return work()
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes | None:
    """A file of the cache; None without one. One that another user may have left is told and counts as none."""
    reason = _core.folder_refusal(path.parent.name) if path.parent.parent == Path(_core.cache_dir()) else ""
    if not reason:
        try:
            with _opened(path) as file:
                if _is_own(file):
                    return files.read_up_to(file, MOST_BYTES)
            reason = f"{path} is no file, or another user's"
        except (FileNotFoundError, NotADirectoryError) as error:
            let_through(error)
            return None
        except OSError as error:
            let_through(error)
            reason = f"{path} cannot be read: {error.strerror}"
    warnings.warn(f"{path.name} is not used: {reason}", stacklevel=3)
    return None


def _opened(path: Path) -> BinaryIO:
    """For reading; a pipe would keep a reader waiting for ever."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _is_own(file: BinaryIO) -> bool:
    """Whether it is a file, and this user's."""
    there = os.fstat(file.fileno())
    return stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid()


def replaceable(path: Path, newest: int) -> bytes | None:
    """What a file holds that is to be replaced; None without one, and of one that :func:`read` does not use. Raises
    WriteError where it would be lost: its schema is above ``newest``, or it cannot be read."""
    try:
        with _opened(path) as file:
            own, content = _is_own(file), files.read_up_to(file, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        let_through(error)
        return None
    except OSError as error:
        let_through(error)
        raise files.refused(path, error, files.OTHER_CACHE) from error
    try:
        parsed(content, newest)
    except NewerError as error:
        raise files.WriteError(
            f"{path} is a later gpuopt's ({error}): it stays; set GPUOPT_CACHE_DIR to another folder"
        ) from error
    except ValueError:  # it is damaged, and readers have said so
        pass
    return content if own else None


def aside(path: Path) -> Iterator[Path]:
    """Names for what stands at ``path``, beside it and free."""
    return (
        other
        for number in range(1, 10_000)
        if not (other := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists()
    )


def set_aside(path: Path, content: bytes, reason: Exception) -> None:
    """Renames a damaged file, unless it holds something else than ``content`` by now, and warns. One that is but newer
    stays where it is."""
    told = f"{path} is damaged ({reason}) and not used"
    if isinstance(reason, NewerError) or isinstance(reason.__cause__, NewerError):
        told = f"{path} is not used: {reason}"
    else:
        with suppressing(OSError, StopIteration):
            with _opened(path) as file:
                same = files.read_up_to(file, MOST_BYTES) == content
            if same:
                other = next(aside(path))
                path.rename(other)
                told += f"; it was renamed to {other.name}"
    warnings.warn(told, stacklevel=3)
