"""Files that one process at a time writes to."""

from __future__ import annotations

import errno
import fcntl
import io
import os
from pathlib import Path

from gpuopt.signals import of_signal, suppressing

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_NO_LOCKS |= {errno.EBADF}  # some lock what is open for writing alone
_REPLACED = 100  # times in a row: on a file system whose inodes do not last it would be for ever


class LockedFile(io.FileIO):
    """An open file, locked until it is closed; ``has_locks`` tells whether its file system has any.

    It is entered and left in C, so that no signal's handler can raise behind the lock and before the block."""

    has_locks = True


def locked(path: Path, flags: int) -> LockedFile:
    """The file of a path, open and locked: some file systems of clusters have no locks. Where another file took its
    place meanwhile, as by `gpuopt compact`, it is that one."""
    file: LockedFile | None = None
    mode = "rb" if flags & (os.O_RDWR | os.O_WRONLY) == 0 else "rb+"
    try:
        for left in reversed(range(_REPLACED)):
            file = LockedFile(path, mode, opener=lambda name, _: os.open(name, flags | os.O_CLOEXEC, 0o666))
            file.has_locks = _lock(file.fileno())
            if not file.has_locks or not left or _is_at(file.fileno(), path):
                return file
            file.close()
    except BaseException:
        if file is not None:
            file.close()
        raise
    raise AssertionError("unreachable")


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError as error:
        if of_signal(error) is not None or error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _is_at(fd: int, path: Path) -> bool:
    with suppressing(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def sync(fd: int) -> None:
    """Waits until the disk has what was written."""
    try:
        os.fsync(fd)
    except OSError as error:
        if of_signal(error) is not None or error.errno != errno.EINVAL:  # a pipe or a device has nothing to sync
            raise
