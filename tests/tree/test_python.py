"""What Python's sources keep to: imports that hide nothing, names that stay at home, files and functions of a size."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

FILE_LINES, FUNCTION_LINES = 400, 60
MAY_SWALLOW = {"gpuopt.command_errors", "gpuopt.doctor"}  # commands: their process is gpuopt's own
REASON = "# long: "  # on the first line of a function that is longer, with why


def modules(package: Path) -> dict[str, Path]:
    """Every module and package below, by its full name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Of each `from module import name as known`: the module, the name, and what it is known as."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), a.name, a.asname or a.name) for a in node.names)


def hidden_imports(package: Path) -> list[str]:
    """`from gpuopt import X` of what is no module: contracts about imports would not see which module X is of."""
    known = {*modules(package), f"{package.name}._core"}
    return [
        f"{name}: {word}"
        for name, path in modules(package).items()
        for module, word, _ in imported(ast.parse(path.read_text()))
        if module.startswith(".") or (module == package.name and f"{module}.{word}" not in known)
    ]


def borrowed_names(package: Path) -> list[str]:
    """Underscore names of one module that another imports, or takes from the module."""
    found = []
    known = {*modules(package), f"{package.name}._core"}
    for name, path in modules(package).items():
        tree = ast.parse(path.read_text())
        ours = [(module, word, alias) for module, word, alias in imported(tree) if module.startswith(package.name)]
        found += [f"{name}: {module}.{word}" for module, word, _ in ours if word.startswith("_") and word != "_core"]
        aliases = {alias for module, word, alias in ours if f"{module}.{word}" in known}
        found += [
            f"{name}: {node.value.id}.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases
            if node.attr.startswith("_") and not node.attr.startswith("__")
        ]
    return found


def long_functions(package: Path) -> list[str]:
    found = []
    for name, path in modules(package).items():
        text = path.read_text()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                reason = lines[node.lineno - 1].partition(REASON)[2].strip()
                if length > FUNCTION_LINES and not reason:
                    found.append(f"{name}.{node.name}: {length} lines")
    return found


def long_files(*folders: Path) -> list[str]:
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".hpp")]
    assert paths
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    return [f"{path}: {length} lines" for path, length in sorted(lengths.items()) if length > FILE_LINES]


def code_from_data(package: Path) -> list[str]:
    """Modules that read pickles or run text."""
    found = []
    for name, path in modules(package).items():
        tree = ast.parse(path.read_text())
        plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        words = {word.partition(".")[0] for word in plain | {module for module, *_ in imported(tree)}}
        called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        calls = {function.id for function in called if isinstance(function, ast.Name)}
        found += [
            f"{name}: {word}"
            for word in sorted(words & {"pickle", "marshal", "shelve", "dill"} | calls & {"eval", "exec", "compile"})
        ]
    return found


def refusals_without_a_reason(package: Path) -> list[str]:
    """UnsupportedError raised by itself: without ``because``, which its class promises."""
    return [
        f"{name}:{node.lineno}"
        for name, path in modules(package).items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        if ast.unparse(node.exc.func).endswith("UnsupportedError")
    ]


def _is_of_the_system(node: ast.expr | None) -> bool:
    """Whether OSError, or a class of it, is among the exceptions that are named."""
    kinds = [getattr(builtins, one.id, None) for one in ast.walk(node or ast.Tuple([])) if isinstance(one, ast.Name)]
    return any(isinstance(kind, type) and issubclass(kind, OSError) for kind in kinds)


def swallowed_signals(package: Path) -> list[str]:
    """Where an OSError is caught and `gpuopt.signals` is not asked whether a signal's handler raised it. An `except`
    that ends with a bare `raise` need not."""
    found = []
    for name, path in modules(package).items():
        for node in [] if name in MAY_SWALLOW else ast.walk(ast.parse(path.read_text())):
            called = {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
            if isinstance(node, ast.ExceptHandler) and _is_of_the_system(node.type):
                again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                asks = again or called & {"let_through", "of_signal"}
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
                asks = not any(map(_is_of_the_system, node.args))
            else:
                continue
            found += [] if asks else [f"{name}:{node.lineno}"]
    return found


CHECKS = [hidden_imports, borrowed_names, long_functions, long_files, code_from_data, refusals_without_a_reason]
CHECKS.append(swallowed_signals)


@pytest.mark.parametrize("check", CHECKS)
def test_the_package(root: Path, check: object) -> None:
    assert check(root / "python" / "gpuopt") == []  # type: ignore[operator]


def test_no_file_of_the_core_or_of_the_tests_is_long(root: Path) -> None:
    assert long_files(root / "src", root / "tests", root / "tools") == []


GOOD = (
    """
import json
from made import _core, inner
from made.inner import public as shown

def short():
    try:
        return inner.__name__, inner.public
    except OSError as error:
        let_through(error)
    with suppress(KeyError), suppressing(OSError):
        pass

def told(  # long: a list of what there is, in its order
    given,
):
"""
    + "    given += 1\n" * FUNCTION_LINES
)
BROKEN = {
    "hidden_imports": ["from made import public", "from . import inner", "from .inner import public"],
    "borrowed_names": ["from made.inner import _own", "from made import inner as i\ni._own()"],
    "long_functions": ["def f(x):\n" + "    x += 1\n" * FUNCTION_LINES, "def f(x):  # long:\n" + "    x += 1\n" * 60],
    "long_files": ["x = 1\n" * (FILE_LINES + 1)],
    "refusals_without_a_reason": [
        "raise UnsupportedError('no')",
        "try:\n    pass\nexcept OSError as e:\n    raise _core.UnsupportedError('no') from e",
    ],
    "swallowed_signals": [
        "try:\n    pass\nexcept OSError:\n    pass",
        "try:\n    pass\nexcept (KeyError, FileNotFoundError) as e:\n    raise KeyError from e",
        "with contextlib.suppress(ValueError, OSError):\n    pass",
    ],
    "code_from_data": ["import pickle", "from marshal import loads", "exec('1')", "x = eval('1')"],
}


def package_of(tmp_path: Path, text: str) -> Path:
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("from made.inner import public\n")
    (package / "inner.py").write_text("def public(): ...\n_own = public\n")
    (package / "other.py").write_text(text)
    return package


@pytest.mark.parametrize("check", CHECKS)
def test_what_keeps_to_it_passes(tmp_path: Path, check: object) -> None:
    assert check(package_of(tmp_path, GOOD)) == []  # type: ignore[operator]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BROKEN.items() for text in texts])
def test_what_does_not_is_found(tmp_path: Path, name: str, text: str) -> None:
    check = next(check for check in CHECKS if check.__name__ == name)
    assert len(check(package_of(tmp_path, text))) == 1
