"""Messages between a process and its worker: one JSON object and some arrays each, over a socket.

Nothing of a message is ever run: it holds numbers, texts and bytes alone."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuopt._core import Error
from gpuopt.lab.kernels.arguments import fields_in_memory
from gpuopt.signals import let_through, suppressing

_HEAD = struct.Struct("<QQ")
MOST_HEADER = 64 * 2**20
NO_MEMORY_EXIT = 71  # of a worker that finds no memory on the host for a message
AT_ONCE = 2**24
_PATIENCE = struct.pack("@ll", 1, 0)  # a second


class ClosedError(Error):
    """The other side is gone."""


class GarbledError(ClosedError):
    """What the other side writes is no message."""


class LateError(Error):
    """The other side did not answer in time."""


def described(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON; the fields of a struct in the order of memory, which alone ``descr`` knows."""
    if dtype.fields is None:
        return dtype.name
    return [list(field) for field in dtype[fields_in_memory(dtype)].descr]


def dtype_of(text: Any) -> np.dtype[Any]:
    """The dtype that :func:`described` wrote."""
    if isinstance(text, str):
        return np.dtype(text)
    fields, end = {}, 0
    for name, *kind in text:
        found: np.dtype[Any] = np.dtype((kind[0], tuple(kind[1]))) if kind[1:] else np.dtype(kind[0])
        if name:  # what has none lies between fields; NumPy would give it one, which a field may have
            fields[name if isinstance(name, str) else name[1]] = (found, end)  # with a title stands the title, too
        end += found.itemsize
    formats, offsets = [kind for kind, _ in fields.values()], [offset for _, offset in fields.values()]
    return np.dtype({"names": [*fields], "formats": formats, "offsets": offsets, "itemsize": end})


def send(to: socket.socket, message: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> None:
    """Writes a message. Raises ClosedError."""
    listed = [(name, np.asarray(array, order="C")) for name, array in (arrays or {}).items()]
    about = [[name, described(array.dtype), list(array.shape)] for name, array in listed]
    header = json.dumps({"message": message, "arrays": about}).encode()
    try:
        to.sendall(_HEAD.pack(len(header), sum(array.nbytes for _, array in listed)) + header)
        for _, array in listed:
            if array.nbytes:
                to.sendall(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        let_through(error)
        raise ClosedError(f"the worker's socket is closed: {error}") from error


def receive(from_: socket.socket, until: float | None = None) -> tuple[Any, dict[str, np.ndarray]]:
    """The next message; ``until`` is a time of ``time.monotonic``. Raises ClosedError and LateError."""
    with suppressing(OSError):
        from_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
    header_bytes, _ = _HEAD.unpack(_exactly(from_, _HEAD.size, until))
    if header_bytes > MOST_HEADER:
        raise GarbledError("a message of the worker is larger than any")
    text, arrays = bytes(_exactly(from_, header_bytes, until)), {}
    try:
        header = json.loads(text)
        for name, dtype, shape in header["arrays"]:
            kind = dtype_of(dtype)
            size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
            arrays[name] = np.frombuffer(_exactly(from_, size, until), dtype=kind).reshape(shape)
        return header["message"], arrays
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        let_through(error)
        raise GarbledError("a message of the worker cannot be read") from error


def _exactly(from_: socket.socket, count: int, until: float | None) -> memoryview:
    """So many bytes. The system waits until a piece of AT_ONCE is whole or a second is over: to ask again for each that
    has come took most of the time of large arrays."""
    view, at = np.empty(count, np.uint8).data, 0
    while at < count:
        if until is not None and time.monotonic() > until:
            raise LateError("the worker did not answer in time")
        try:
            got = from_.recv_into(view[at : at + AT_ONCE], 0, socket.MSG_WAITALL)
        except BlockingIOError as error:  # nothing within that second
            let_through(error)
            continue
        except (OSError, ValueError) as error:  # ValueError: another thread closed it
            let_through(error)
            raise ClosedError(f"the worker's socket is closed: {error}") from error
        if got == 0:
            raise ClosedError("the worker is gone")
        at += got
    return view
