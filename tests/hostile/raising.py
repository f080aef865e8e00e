"""Objects of a caller's own that raise where they are looked at: hostile arguments."""

from __future__ import annotations

import collections.abc
import pathlib
import types
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

METHODS = (
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__bool__",
    "__class__",
    "__contains__",
    "__eq__",
    "__float__",
    "__fspath__",
    "__getattr__",
    "__getitem__",
    "__hash__",
    "__index__",
    "__int__",
    "__iter__",
    "__len__",
    "__str__",
    "data",
    "dtype",
    "format",
    "items",
    "keys",
    "ndim",
    "offsets",
    "shape",
)
KINDS: dict[str, tuple[type, tuple[Any, ...]]] = {
    "object": (object, ()),
    "array": (np.ndarray, ((12,), np.float32)),
    "list": (list, ([1, 2, 3],)),
    "tuple": (tuple, ((1, 2, 3),)),
    "dict": (dict, ({"a": 1},)),
    "text": (str, ("float32",)),
    "whole": (int, (3,)),
    "number": (float, (1.5,)),
    "path": (type(pathlib.Path()), ("a.npy",)),
    "sequence": (collections.abc.Sequence, ()),
    "mapping": (collections.abc.Mapping, ()),
}
PROPERTIES = ("__array_interface__", "__array_struct__", "__class__")


class OwnError(Exception):
    """What such an object raises."""


class _Empty:
    """The methods of a collection without members."""

    def __getitem__(self, at: Any) -> NoReturn:
        raise IndexError(at)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def _raising(name: str) -> types.FunctionType:
    def method(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise OwnError("its own")

    return types.FunctionType(method.__code__.replace(co_name=name), globals())


def raising(kind: str, *names: str) -> Any:
    """An object of a ``kind`` whose ``names``, methods or attributes, raise."""
    base, arguments = KINDS[kind]
    plain = {name: vars(_Empty)[name] for name in getattr(base, "__abstractmethods__", ())}
    is_property = {name: name in PROPERTIES or not name.startswith("__") for name in names}
    made = {name: property(_raising(name)) if is_property[name] else _raising(name) for name in names}
    return type("Raising", (base,), {**plain, **made})(*arguments)
