"""What tells peers of one name apart: the code of the functions that somebody brings."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress

from gpuopt.lab.rows.schema import sha256
from gpuopt.problem import AnyPeer

_DIGITS = 16
_OURS = "gpuopt."  # peers of problems, whose rows an edit that changes no library keeps
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def plan(peer: AnyPeer) -> str | None:
    """A hash of the code of the peer's functions, of the functions that they call, and of plain values they hold; None
    for a peer of ours. Another interpreter has other code."""
    others = (peer.fetch, peer.sample, peer.tolerance)  # ours may be of a library, such as operator's
    if _is_ours(peer.prepare) and _is_ours(peer.run) and not any(_is_theirs(one) for one in others):
        return None
    told = [list(_told(one, set())) for one in (peer.prepare, peer.run, *others)]
    return sha256(told)[:_DIGITS]


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


def _told(one: object, seen: set[int]) -> Iterator[str]:
    """Words for a function or a value, the same in every process of an interpreter."""
    if isinstance(one, _PLAIN):
        yield repr(one)
    elif id(one) in seen:
        return
    elif isinstance(one, functools.partial):
        seen.add(id(one))
        for part in (one.func, *one.args, *(value for _, value in sorted(one.keywords.items()))):
            yield from _told(part, seen)
    elif isinstance(one, types.MethodType):
        yield from _told(one.__func__, seen)
    elif isinstance(one, types.FunctionType) and not _is_ours(one):
        seen.add(id(one))
        yield from _of_code(one.__code__, one.__globals__, seen)
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            yield name
            with suppress(ValueError):  # it holds nothing yet
                yield from _told(cell.cell_contents, seen)
        for value in (*(one.__defaults__ or ()), *(value for _, value in sorted((one.__kwdefaults__ or {}).items()))):
            yield from _told(value, seen)
    else:
        named = one if hasattr(one, "__qualname__") else type(one)
        yield f"{_of_module(named)}{getattr(named, '__qualname__', '')}"
        if callable(one) and isinstance(called := type(one).__call__, types.FunctionType):  # an object of the caller's
            yield from _told(called, seen)


def _of_code(code: types.CodeType, names: Mapping[str, object], seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join((*code.co_names, *code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(constant, names, seen)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, (types.FunctionType, functools.partial, *_PLAIN)) and value is not None:
            yield from _told(value, seen)
