"""What tells peers of one name apart: the code of the functions that somebody brings, and what they hold."""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import secrets
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.lab.rows.schema import sha256
from gpuopt.problem import AnyPeer, Problem
from gpuopt.signals import let_through, suppressing

_DIGITS = 16
_OURS = "gpuopt."  # peers of problems, whose rows an edit that changes no library keeps
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LIBRARIES = ("site-packages", "dist-packages")
_STANDARD = sysconfig.get_paths()["stdlib"]
_NAMED = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
_IN_CLASSES: dict[type, tuple[str, ...]] = {  # where what a class defines has its functions
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
    functools.cached_property: ("func",),
}
MOST_BYTES = 2**28  # of an array: a hash of it takes a part of a second
MOST_DEEP, MOST_LONG = 80, 100_000  # of a list


def plan(peer: AnyPeer, notes: list[str] | None = None) -> str | None:
    """A hash of the code of the peer's functions, of the functions that they call, and of the values they hold; None
    for a peer of ours. Another interpreter has other code.

    Where they hold something that no words are found for, the hash is another each time, so that no stored rows are
    taken for those of this peer; ``notes`` say what that is.
    """
    others = (peer.fetch, peer.sample, peer.tolerance)  # ours may be of a library, such as operator's
    if _is_ours(peer.prepare) and _is_ours(peer.run) and not any(_is_theirs(one) for one in others):
        return None
    words = _Words()
    for one in (peer.prepare, peer.run, *others):
        words.add(one)
    if words.unknown:
        words.said.append(secrets.token_hex())
        if notes is not None:
            notes.append(
                f"{peer.name}: its functions hold {words.unknown[0]}, of which it is not known whether it is the same "
                "as in another run, so stored rows of this peer are not used; make it in prepare"
            )
    return sha256(words.said)[:_DIGITS]


def _is_ours(one: object) -> bool:
    return _of_module(_within(one)).startswith(_OURS)


def _is_theirs(one: object) -> bool:
    return isinstance(_within(one), types.FunctionType) and not _is_ours(one)


def _within(one: object) -> object:
    while isinstance(one, (functools.partial, types.MethodType)):
        one = one.func if isinstance(one, functools.partial) else one.__func__
    return one


def _of_module(one: object) -> str:
    return str(getattr(one, "__module__", None) or "") + "."


def _named(one: object) -> str:
    return f"{_of_module(one)}{getattr(one, '__qualname__', '')}"


def _is_installed(file: str | None) -> bool:
    """Whether a file is a library's, or the interpreter's own."""
    return file is None or file.startswith((_STANDARD, "<frozen ")) or not set(_LIBRARIES).isdisjoint(Path(file).parts)


def _is_of_library(one: type) -> bool:
    module = sys.modules.get(one.__module__)
    return one.__module__ != "__main__" and module is not None and _is_installed(getattr(module, "__file__", None))


class _Words:
    """Words for functions and values, the same in every process of an interpreter. ``unknown`` is what there are none
    for, but for what global names alone lead to: that is often a library's own."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.unknown: list[str] = []
        self._seen: dict[tuple[int, bool], tuple[int, object]] = {}  # with the object: another one may get its id
        self._deep = 0

    def add(self, one: Any, held: bool = True) -> None:
        """``held`` is what functions hold, and what that holds; not what global names lead to."""
        if type(one) in _PLAIN:
            self.said.append(repr(one))
        elif (id(one), held) in self._seen:
            self.said.append(f"again {self._seen[id(one), held][0]}")
        elif self._deep > MOST_DEEP:
            self._pass_over(one, held)
        else:
            self._seen[id(one), held] = (len(self._seen), one)
            self._deep += 1
            self.said += ["(", _named(type(one))]
            self._add_parts(one, held)
            self.said.append(")")
            self._deep -= 1

    def _pass_over(self, one: object, held: bool) -> None:
        self.said.append(_named(type(one)))
        if held:
            self.unknown.append(f"an object of type {type(one).__name__}")

    def _all(self, several: Iterable[Any], held: bool) -> None:
        for one in several:
            self.add(one, held)

    def _add_parts(self, one: Any, held: bool) -> None:
        kind = type(one)
        if isinstance(one, functools.partial):
            self._all((one.func, one.args, one.keywords), held)
        elif isinstance(one, types.MethodType):
            self._all((one.__func__, one.__self__), held)
        elif isinstance(one, types.FunctionType):
            self._function(one, held)
        elif isinstance(one, types.ModuleType):
            self._module(one)
        elif isinstance(one, type):
            self._class(one)
        elif isinstance(one, _NAMED):
            self.said.append(_named(one))
            self.add(getattr(one, "__self__", None), held)
        elif isinstance(one, Problem):  # which the keys of rows have whole
            self._all((one.workload, one.name, one.dtype.name, dict(one.sizes), one.seed, one.data), held)
        elif isinstance(one, Device):  # as above
            self.said += [one.name, one.platform, one.driver]
        elif _is_ours(kind) and isinstance(digest := getattr(one, "digest", None), str):  # somebody's own kernel
            self.said.append(digest)
        elif kind in (list, tuple, set, frozenset, dict) and len(one) > MOST_LONG:
            self._pass_over(one, held)
        elif kind in (list, tuple):
            self._all(one, held)
        elif kind in (set, frozenset):
            self._set(one, held)
        elif kind is dict:
            in_order = sorted(one, key=repr) if all(type(key) in _PLAIN for key in one) else list(one)
            self._all((part for key in in_order for part in (key, one[key])), held)
        elif kind is np.ndarray and not one.dtype.hasobject and one.nbytes <= MOST_BYTES:
            values = np.ascontiguousarray(one).reshape(-1).view(np.uint8)
            self.said += [str(one.dtype), str(one.shape), str(one.strides), hashlib.sha256(values.data).hexdigest()]
        else:
            self._object(one, held)

    def _module(self, one: types.ModuleType) -> None:
        """Of the caller's own, its text: which of its functions are called is not known."""
        self.said.append(one.__name__)
        file = getattr(one, "__file__", None)
        if isinstance(file, str) and not _is_installed(file) and not _is_ours(one):
            with suppressing(OSError):
                self.said.append(hashlib.sha256(Path(file).read_bytes()).hexdigest())

    def _set(self, one: set[Any] | frozenset[Any], held: bool) -> None:
        """Of plain values: others are in no order that lasts."""
        if all(type(part) in _PLAIN for part in one):
            self.said += sorted(map(repr, one))
        else:
            self._pass_over(one, held)

    def _function(self, one: types.FunctionType, held: bool) -> None:
        if _is_ours(one):
            self.said.append(_named(one))
            return
        self._code(one.__code__, one.__globals__)
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            self.said.append(name)
            with suppress(ValueError):  # it holds nothing yet
                self.add(cell.cell_contents, held)
        self._all((one.__defaults__, one.__kwdefaults__, vars(one)), held)

    def _code(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        self.said += [code.co_code.hex(), *code.co_names, *code.co_varnames]
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names)
            else:
                self.said.append(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant))
        functions = (types.FunctionType, functools.partial, *_PLAIN)
        found = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        for name in sorted(found & names.keys()):
            if isinstance(names[name], functions) or not _is_installed(code.co_filename):
                self.add(names[name], False)

    def _class(self, one: type) -> None:
        """By its name; one of the caller's by what it defines, too."""
        self.said.append(_named(one))
        for base in one.__mro__:
            if _is_ours(base) or _is_of_library(base):
                continue
            for name, member in sorted(vars(base).items()):
                if isinstance(member, types.FunctionType) or not name.startswith("__"):
                    functions = _IN_CLASSES.get(type(member), ())
                    self._all((name, *([getattr(member, place) for place in functions] or [member])), False)

    def _object(self, one: Any, held: bool) -> None:
        """Any other by what copies of it are made of; one that wraps a function, as compilers' do, by that."""
        if callable(one) and isinstance(called := type(one).__call__, types.FunctionType):
            self.add(called, held)
        try:
            wrapped = getattr(one, "__wrapped__", None) if callable(one) else None
            if wrapped is None and getattr(one, "nbytes", 0) > MOST_BYTES:
                raise ValueError("it is too large to look at")
            registered: Callable[[Any], Any] = copyreg.dispatch_table.get(type(one), lambda one: one.__reduce_ex__(4))
            made = wrapped if wrapped is not None else registered(one)
            if isinstance(made, tuple) and made is not wrapped:
                made = [*made[:3], *(list(rest or ()) for rest in made[3:5])]  # the last two give each part once
        except Exception as error:  # a lock, a file, memory of a device, or any error of somebody's method
            let_through(error)
            self._pass_over(one, held)
        else:
            self.add(made, held)
