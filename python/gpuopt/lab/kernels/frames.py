"""Messages between a process and its worker: one JSON object and some arrays each, over a socket.

Nothing of a message is ever run: it holds numbers, texts and bytes alone."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuopt._core import Error

_HEAD = struct.Struct("<QQ")
MOST_HEADER = 64 * 2**20
AT_ONCE = 2**20


class ClosedError(Error):
    """The other side is gone."""


class LateError(Error):
    """The other side did not answer in time."""


def described(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON."""
    return dtype.name if dtype.fields is None else [list(field) for field in dtype.descr]


def dtype_of(text: Any) -> np.dtype[Any]:
    """The dtype that :func:`described` wrote."""
    return np.dtype(text if isinstance(text, str) else [tuple(_field(part)) for part in text])


def _field(part: list[Any]) -> list[Any]:
    return [tuple(one) if isinstance(one, list) else one for one in part]


def send(to: socket.socket, message: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> None:
    """Writes a message. Raises ClosedError."""
    listed = [(name, np.ascontiguousarray(array)) for name, array in (arrays or {}).items()]
    about = [[name, described(array.dtype), list(array.shape)] for name, array in listed]
    header = json.dumps({"message": message, "arrays": about}).encode()
    try:
        to.sendall(_HEAD.pack(len(header), sum(array.nbytes for _, array in listed)) + header)
        for _, array in listed:
            if array.nbytes:
                to.sendall(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise ClosedError(f"the worker's socket is closed: {error}") from error


def receive(
    from_: socket.socket, until: float | None = None, look: Callable[[], None] | None = None
) -> tuple[Any, dict[str, np.ndarray]]:
    """The next message; ``until`` is a time of ``time.monotonic``. ``look`` is called now and then. Raises ClosedError
    and LateError."""
    header_bytes, _ = _HEAD.unpack(_exactly(from_, _HEAD.size, until, look))
    if header_bytes > MOST_HEADER:
        raise ClosedError("a message of the worker is larger than any")
    header = json.loads(bytes(_exactly(from_, header_bytes, until, look)))
    arrays = {}
    for name, dtype, shape in header["arrays"]:
        kind = dtype_of(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        arrays[name] = np.frombuffer(_exactly(from_, size, until, look), dtype=kind).reshape(shape)
    return header["message"], arrays


def _exactly(from_: socket.socket, count: int, until: float | None, look: Callable[[], None] | None) -> memoryview:
    view, at = np.empty(count, np.uint8).data, 0
    while at < count:
        left = 1.0 if until is None else min(1.0, until - time.monotonic())
        if left <= 0:
            raise LateError("the worker did not answer in time")
        if look is not None:
            look()
        try:
            if not select.select([from_], [], [], left)[0]:
                continue
            got = from_.recv_into(view[at : at + AT_ONCE])
        except (OSError, ValueError) as error:  # ValueError: another thread closed it
            raise ClosedError(f"the worker's socket is closed: {error}") from error
        if got == 0:
            raise ClosedError("the worker is gone")
        at += got
    return view
