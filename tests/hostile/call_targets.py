"""What there is to call, found by inspection, and calls of it with hostile arguments."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import random
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

BESIDE_ALL = ("molecule", "papers")  # public modules that gpuopt's own __all__ does not name
# What is not attacked, each with the reason and what would bring it back.
EXCLUDED = {
    "lab.profile": "takes minutes where it answers, and what it keeps would change other calls; shorten its sittings",
    "tomo.Backend.": "an interface for other array libraries, called by the algorithms alone with what they checked",
}


SPECIAL = ("__call__", "__matmul__", "__mul__", "__rmatmul__", "__truediv__")  # methods that are a user's too


@dataclass(frozen=True)
class Target:
    """Something to call: its expression, its parameters, and the object for its documentation."""

    name: str  # `tomo.Volume.refined`
    expression: str  # `volume().refined`
    parameters: tuple[inspect.Parameter, ...]
    names: dict[str, Any]  # what its annotations are written with


# ---------------------------------------------------------------- what there is


def modules() -> dict[str, types.ModuleType]:
    """Public modules by the name in reproducers: those in ``gpuopt.__all__``, their own modules, and packages beside
    it that have an ``__all__``."""
    import gpuopt

    found: dict[str, types.ModuleType] = {"gpuopt": gpuopt}
    inside = {name: importlib.import_module(f"gpuopt.{name}") for name in public_names()}
    for name, module in sorted(inside.items()):
        found[name] = module
        for deeper in getattr(module, "__all__", ()):
            if isinstance(value := getattr(module, deeper), types.ModuleType):
                found[f"{name}.{deeper}"] = value
    return found


def public_names() -> list[str]:
    import gpuopt

    named = {name for name in gpuopt.__all__ if isinstance(getattr(gpuopt, name), types.ModuleType)}
    packages = {item.name for item in pkgutil.iter_modules(gpuopt.__path__) if item.ispkg and item.name != "workloads"}
    return sorted(named | packages | set(BESIDE_ALL))


def members(module: types.ModuleType) -> list[str]:
    def own(name: str) -> bool:
        return getattr(getattr(module, name), "__module__", None) == module.__name__

    return list(getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_") and own(n)])


def targets() -> list[Target]:
    found: dict[Any, Target] = {}
    for path, module in modules().items():
        for name in members(module):
            thing = getattr(module, name)
            alias = ALIASES.get(path, "gpuopt." + path)
            text = f"{alias}.{name}"
            for target in of_class(name, text, thing) if inspect.isclass(thing) else of_function(text, thing):
                label = f"{path}{target.name.removeprefix(alias)}".removeprefix("gpuopt.")
                if not any(label.startswith(left) for left in EXCLUDED):
                    found.setdefault(label, replace(target, name=label))
    for target in of_results():
        found.setdefault(target.name, target)
    return [*found.values(), *commands()]


ALIASES = {name: name for name in ("gpuopt", "io", "lab", "problems", "microbench", "papers")} | {"tomo": "gt"}


def of_function(text: str, function: Any) -> list[Target]:
    if isinstance(function, types.ModuleType) or not callable(function):
        return []
    return [Target(text, text, parameters_of(function), names_of(function))]


def of_class(name: str, text: str, kind: type) -> Iterator[Target]:
    """The class itself and its public methods; those of instances on a good one."""
    from hostile import call_good

    if issubclass(kind, BaseException):
        return
    if not inspect.isabstract(kind):
        with contextlib.suppress(ValueError, TypeError):  # what the core alone makes has no signature
            yield from of_function(text, kind)
    fields = getattr(kind, "__dataclass_fields__", {})
    for method in dir(kind):
        value = inspect.getattr_static(kind, method)
        if method.startswith("_") and method not in SPECIAL:
            continue
        home = next(base for base in kind.__mro__ if method in vars(base))
        if method in fields or home.__module__ == "builtins":
            continue
        try:
            if isinstance(value, classmethod | staticmethod):
                yield Target(
                    f"{text}.{method}",
                    f"{text}.{method}",
                    parameters_of(getattr(kind, method)),
                    names_of(value.__func__),
                )
            elif inspect.isfunction(value):
                made = call_good.INSTANCES.get(name) or f"{text}({good_arguments(text, kind)})"
                yield Target(f"{text}.{method}", f"{made}.{method}", parameters_of(value)[1:], names_of(value))
            elif callable(value) and (made := call_good.INSTANCES.get(name)):  # of the core, without a signature
                named = re.findall(r"[(,] *(\w+):", (value.__doc__ or "").partition("->")[0])[1:]
                yield Target(f"{text}.{method}", f"{made}.{method}", tuple(map(positional, named)), {})
        except (TypeError, ValueError):
            continue


def results() -> dict[str, type]:
    """Classes that no public name has, and that annotations of public functions and methods say they return, with
    methods of their own that take arguments: by their names."""
    things = [getattr(module, name) for module in modules().values() for name in members(module)]
    functions = [thing for thing in things if inspect.isroutine(thing)]
    for kind in filter(inspect.isclass, things):
        own = [inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")]
        functions += [value.fget if isinstance(value, property) else value for value in own]
    kinds = [kind for function in functions for kind in classes_in(returned(function))]
    return {f"{one.__module__}.{one.__name__}": one for one in kinds if one not in things and methods_of(one, things)}


def returned(function: Any) -> Any:
    """What a function's annotation says that it returns; None where there is none that can be read."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    hint = getattr(function, "__annotations__", {}).get("return")
    try:
        return eval(hint, names_of(function)) if isinstance(hint, str) else hint
    except (NameError, TypeError):  # imported for type checkers alone
        return None


def classes_in(hint: Any) -> Iterator[type]:
    """The package's classes in an annotation."""
    for one in (typing.get_origin(hint), hint):
        if isinstance(one, type) and one.__module__.startswith("gpuopt.") and not typing.is_typeddict(one):
            yield one
    for inner in typing.get_args(hint):
        yield from classes_in(inner)


def methods_of(kind: type, public: list[Any]) -> dict[str, Any]:
    """The public methods of a class that take arguments, but for those of public classes that it is made of."""
    homes = [home for home in kind.__mro__ if home not in public and home.__module__.startswith("gpuopt.")]
    named = {name: value for home in reversed(homes) for name, value in vars(home).items()}
    return {
        name: value
        for name, value in named.items()
        if inspect.isfunction(value)
        and (not name.startswith("_") or name in SPECIAL)
        and len(inspect.signature(value).parameters) > 1
    }


def of_results() -> Iterator[Target]:
    """The methods of what functions return, on a good one."""
    from hostile.call_good import RESULTS

    things = [getattr(module, name) for module in modules().values() for name in members(module)]
    for label, kind in results().items():
        for method, value in methods_of(kind, things).items() if label in RESULTS else ():
            name = f"{kind.__name__}.{method}"
            yield Target(name, f"{RESULTS[label]}.{method}", parameters_of(value)[1:], names_of(value))


def names_of(function: Any) -> dict[str, Any]:
    """The names around a function, or around the constructor of a class."""
    if isinstance(function, type):
        function = function.__init__
    return dict(getattr(inspect.unwrap(function), "__globals__", {}))


def positional(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY)


def parameters_of(function: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


def good_arguments(text: str, kind: Any) -> str:
    return ", ".join(
        f"{one.name}={good(text, one.name)}" for one in parameters_of(kind) if one.default is one.empty and one.kind < 2
    )


def good(name: str, parameter: str) -> str:
    """The good expression for a parameter: by the longest end of the target's name that the table has."""
    from hostile.call_good import GOOD

    parts = [*name.split("."), parameter]
    return next((GOOD[key] for i in range(len(parts)) if (key := ".".join(parts[i:])) in GOOD), "None")


def commands() -> list[Target]:
    """The commands of the command line; their parameters are options."""
    import click

    from gpuopt.cli import app

    def below(group: Any, path: str) -> Iterator[Target]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from below(command, f"{path} {name}")
            options = [p.opts[0] if isinstance(p, click.Option) else "" for p in command.params]
            yield Target(f"{path} {name}", f"{path} {name}", tuple(OPTION(opt) for opt in options), {})

    return list(below(app, "cli"))


class OPTION(inspect.Parameter):  # an option is no identifier
    def __init__(self, option: str) -> None:
        super().__init__("option", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.option = option

    def __hash__(self) -> int:
        return hash(self.option)


# ---------------------------------------------------------------- making a call


def call_of(target: Target, choice: random.Random) -> tuple[str, list[str]]:
    """An expression, and the hostile arguments in it."""
    from hostile.call_pools import EVERYTHING, NUMBERS, TEXTS

    if target.name.startswith("cli "):
        return command_of(target, choice, [*TEXTS, *NUMBERS])
    number = min(len(target.parameters), choice.choice([1, 1, 1, 1, 2, 3]))
    hostile = {one.name for one in choice.sample(target.parameters, number)}
    arguments: list[str] = []
    bad: list[str] = []
    for one in target.parameters:
        if one.name in hostile:
            text = choice.choice(allowed(target, one) if choice.random() < 0.6 else EVERYTHING)
            bad.append(text)
        elif (one.default is one.empty and one.kind < 2) or one.name in ("bytes", "sizes", "seconds", "keep"):
            text = good(target.name, one.name)
        else:
            continue
        if one.kind is one.VAR_KEYWORD:
            name = choice.choice(["protocol", "store", "progress", "no_such"])
            arguments.append(f"{name}={text}")
        else:
            positional = one.kind in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY)
            arguments.append(text if positional else f"{one.name}={text}")
    return f"{target.expression}({', '.join(arguments)})", bad


ALLOWED: dict[tuple[str, str], list[str]] = {}


def allowed(target: Target, one: inspect.Parameter) -> list[str]:
    """Of all hostile values those that the parameter's annotation allows, so that what lies deeper is attacked too."""
    from gpuopt.annotations import test_of
    from hostile import call_pools, call_values

    key = (target.name, one.name)
    if key not in ALLOWED:
        names = {name: getattr(call_values, name) for name in call_values.__all__}
        test = test_of(hint_of(target, one))
        kept = []
        for text in call_pools.EVERYTHING:
            with contextlib.suppress(Exception):
                if test(eval(text, names)):
                    kept.append(text)
        ALLOWED[key] = kept or call_pools.EVERYTHING
    return ALLOWED[key]


def hint_of(target: Target, one: inspect.Parameter) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {} if one.annotation is one.empty else {one.name: one.annotation}
    try:
        return typing.get_type_hints(holder, target.names).get(one.name, Any)
    except NameError:
        return Any


def command_of(target: Target, choice: random.Random, pool: list[str]) -> tuple[str, list[str]]:
    _, *words = target.name.split()
    bad = []
    for one in choice.sample(target.parameters, min(len(target.parameters), choice.choice([1, 1, 2]))):
        word = choice.choice(pool).strip("'").replace("\\0", "").replace("\\n", "\n").replace("\\ud800", "\udcff")
        bad.append(word)
        words += [w for w in (one.option, word[:2000]) if w] if choice.random() < 0.9 else [one.option or "--none"]
    return f"command({words!r})", bad
