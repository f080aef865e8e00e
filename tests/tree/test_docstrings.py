"""Docstrings: every public name says the shapes, dtypes and units of what it takes, and what it raises."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

PARTS = ("io", "lab", "microbench", "molecule", "problems", "tomo")
MODULES = {name: importlib.import_module(name) for name in ("gpuopt", *(f"gpuopt.{part}" for part in PARTS))}

ERRORS = re.compile(r"\b(raise|raises|error|errors)\b", re.IGNORECASE)
SHAPE = re.compile(r"\([\w *+-]+,[\w ,*+-]*\)|\bshapes?\b")
DTYPE = re.compile(r"float(32|64)|\bfp(32|64)\b|dtype|\bbool\b|uint8|whole numbers|\bint\b")
ARRAYS = re.compile(r"ndarray|ArrayLike|DeviceArray|AnyArray|Given|Float64Array")
ROLES = re.compile(r":(?:func|class|meth|attr):`([\w.]+)`")

LENGTH, ANGLE, IN_A = r"\bmm\b", r"radian|degree|`units`", r"\bA\b"
TIME, BYTES = r"\bs\b|\bseconds?\b", r"\b[Bb]ytes?\b"
UNITS = {  # of a parameter, by module and name: what the docstring has to hold
    "gpuopt.tomo": {
        LENGTH: {
            "centre",
            "du",
            "dv",
            "field",
            "pitch",
            "radius",
            "sdd",
            "sod",
            "spacing",
            "u_offset",
            "v_offset",
            "z0",
        }
        | {"offset", "pixel", "voxel", "width"},
        ANGLE: {"angles", "start", "t_ref", "theta", "turn"},
        "1/mm": {"density"},
    },
    "gpuopt.molecule": {IN_A: {"margin", "origin", "probe", "radius", "spacing", "xyz"}, r"\be\b": {"charge"}},
    "gpuopt": {
        IN_A: {"electrostatic_size", "ion_exclusion", "nearest", "probe", "projection", "radius", "xyz"},
        r"\be\b": {"charge"},
        "mol/l": {"salt"},
    },
    "gpuopt.problems": {IN_A: {"projection"}, "mol/l": {"salt"}},
}
ANYWHERE = {
    TIME: {"limit_s", "seconds"},
    BYTES: {"bytes", "cache_bytes", "footprint_bytes", "max_bytes", "memory_limit", "most_bytes", "working_set"},
    r"\bms\b": {"hi_ms", "lo_ms", "median_ms"},
}


def is_shown(each: Any) -> bool:
    return callable(each) and not (inspect.isclass(each) and issubclass(each, (Exception, Warning)))


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in module.__all__:
        if is_shown(getattr(module, name)):
            yield f"{module.__name__}.{name}", getattr(module, name)


EACH = {name: each for module in MODULES.values() for name, each in public(module)}


def text_of(name: str, seen: tuple[str, ...] = ()) -> str:
    """The docstring without its examples, and those that it refers to."""
    text = (inspect.getdoc(EACH[name]) or "").split("\nExamples\n")[0]
    for role in ROLES.findall(text):
        target = role if role in EACH else f"{name.rpartition('.')[0]}.{role}"
        if target in EACH and target not in (name, *seen):
            text += "\n" + text_of(target, (name, *seen))
    return text


def signature_of(each: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(each)
    except (TypeError, ValueError):  # a class of the compiled core that is never made by hand
        return None


FUNCTIONS = [name for name, each in EACH.items() if not inspect.isclass(each)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_raises(name: str) -> None:
    assert ERRORS.search(text_of(name)), f"{name}: say which errors it raises, or that it raises none"


@pytest.mark.parametrize("name", EACH)
def test_arrays_have_a_shape_and_a_dtype(name: str) -> None:
    signature = signature_of(EACH[name])
    if signature is None or not ARRAYS.search(str(signature)):
        return
    text = text_of(name)
    assert SHAPE.search(text), f"{name}: say the shapes of its arrays"
    assert DTYPE.search(text), f"{name}: say the dtypes of its arrays"


@pytest.mark.parametrize("name", EACH)
def test_quantities_have_a_unit(name: str) -> None:
    signature = signature_of(EACH[name])
    if signature is None:
        return
    text = text_of(name)
    for unit, names in [*UNITS.get(name.rpartition(".")[0], {}).items(), *ANYWHERE.items()]:
        taken = names & set(signature.parameters)
        assert not taken or re.search(unit, text), f"{name}: say the unit of {', '.join(sorted(taken))}"


def members() -> Iterator[tuple[str, Any]]:
    """What gpuopt's own classes have besides fields, which the docstring of the class tells."""
    for name, each in EACH.items():
        for member in dir(each) if inspect.isclass(each) else ():
            owner = next((base for base in each.__mro__ if member in vars(base)), object)
            is_field = member in getattr(each, "__dataclass_fields__", {})
            if not member.startswith("_") and not is_field and owner.__module__.startswith("gpuopt."):
                yield f"{name}.{member}", inspect.getattr_static(each, member)


def function_of(member: Any) -> Any:
    return getattr(member, "fget", None) or getattr(member, "__func__", member)


PROPERTIES = {name: each for name, each in members() if isinstance(each, property)}
METHODS = {name: function_of(each) for name, each in members() if inspect.isroutine(function_of(each))}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(PROPERTIES[name]), f"{name}: it has no docstring"  # its own: pybind11 gives its getter one


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_does_and_raises(name: str) -> None:
    text = inspect.getdoc(METHODS[name]) or ""
    assert text, f"{name}: it has no docstring"
    source = inspect.getsource(METHODS[name]) if inspect.isfunction(METHODS[name]) else ""
    if re.search(r"^\s+raise \w", source.replace("raise NotImplementedError", ""), re.MULTILINE):
        assert ERRORS.search(text), f"{name}: say which errors it raises"
