"""Arrays that pyopencl and gpuopt share: the same memory of a device, nothing copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, DeviceArray
from gpuopt.checked import ParameterTypeError, checked, unsupported
from gpuopt.selection import Selector, select


@checked
def pyopencl_queue(device: Selector = None) -> Any:
    """Return a ``pyopencl.CommandQueue`` in gpuopt's own context of a device, in which arrays can be shared.

    It is the in-order queue of plain calls, the same each time; see :func:`gpuopt.use` for ``device``. Raises
    UnsupportedError where pyopencl is not installed, NoDeviceError, ParameterError (no such device).

    Examples
    --------
    >>> queue = gpuopt.pyopencl_queue()
    >>> queue.device.name == gpuopt.to_device(np.ones(1)).device.name
    True
    """
    return _pyopencl().CommandQueue.from_int_ptr(_core.handles(select(device))["queue"], retain=True)


@checked
def to_pyopencl(array: DeviceArray) -> Any:
    """Return a ``pyopencl.array.Array`` of an array's own memory, shape and dtype, in the queue of
    :func:`pyopencl_queue`.

    Nothing is copied: what one library writes, the other reads. gpuopt's calls have ended when they return; what
    pyopencl enqueues in other queues must end (``queue.finish()``) before gpuopt is called. Either array keeps the
    memory. Raises UnsupportedError where pyopencl is not installed, ArrayError for an array without elements.

    Examples
    --------
    >>> d = gpuopt.to_device(np.arange(3, dtype=np.float32))
    >>> shared = gpuopt.to_pyopencl(d)
    >>> shared.get()
    array([0., 1., 2.], dtype=float32)
    """
    module = _pyopencl()
    if not array.nbytes:
        raise ArrayError(f"array: it has no elements (shape {array.shape}), which OpenCL has no memory for")
    memory = module.Buffer.from_int_ptr(_core.shared_handle(array), retain=True)
    return module.array.Array(pyopencl_queue(array.device), array.shape, array.dtype, data=memory)


@checked
def from_pyopencl(array: Any, device: Selector = None) -> DeviceArray:
    """Return a DeviceArray of the memory of a ``pyopencl.array.Array``, with its shape and dtype.

    Nothing is copied, as in :func:`to_pyopencl`; what was enqueued in the array's queue ends first. The array must have
    been made in gpuopt's context of ``device``: in the queue that :func:`pyopencl_queue` returns, or another of its
    context. It must be C-contiguous, begin where its buffer does, and be both read and written by kernels.

    Raises
    ------
    ArrayError
        For memory of another context, and for what is said above.
    ParameterError, UnsupportedError, NoDeviceError
        For something else than such an array (a TypeError too); where pyopencl is not installed; no such device.

    Examples
    --------
    >>> import pyopencl.array
    >>> theirs = pyopencl.array.to_device(gpuopt.pyopencl_queue(), np.ones((2, 2), np.float32))
    >>> ours = gpuopt.from_pyopencl(theirs)
    >>> (ours + ours).to_numpy()
    array([[2., 2.],
           [2., 2.]], dtype=float32)
    """
    if not isinstance(array, _pyopencl().array.Array):
        given = type(array).__name__
        raise ParameterTypeError(f"array: {given} is no pyopencl.array.Array; gpuopt.to_device takes NumPy's")
    if not array.flags.c_contiguous:
        raise ArrayError(f"array: its strides are {array.strides}; give a C-contiguous one, e.g. array.copy()")
    if array.offset:
        raise ArrayError(f"array: it begins {array.offset} bytes into its buffer; give one of its own, array.copy()")
    if array.base_data is None:
        raise ArrayError("array: it has no elements; give some")
    if not isinstance(array.base_data, _pyopencl().MemoryObject):
        raise ArrayError(f"array: its memory is a {type(array.base_data).__name__}; give an array in a buffer")
    chosen = select(device)
    _core.handles(chosen)  # in a forked child this is refused, and a wait would have no end
    if array.queue is not None:
        array.finish()
        array.queue.finish()
    return _core.adopted(array.base_data, array.base_data.int_ptr, array.shape, np.dtype(array.dtype), chosen)


def _pyopencl() -> Any:
    try:
        import pyopencl
        import pyopencl.array
    except ImportError as error:
        raise unsupported(
            f"pyopencl: it is not installed ({error}); install it, or copy arrays by to_device and to_numpy"
        ) from error
    return pyopencl
