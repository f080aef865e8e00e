"""Refuses subinterpreters, in which the compiled core would wait for ever for the main interpreter's lock."""

import importlib


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13 on, and before
        try:
            module = importlib.import_module(name)
            return bool(module.get_current() == module.get_main())
        except (ImportError, AttributeError):
            continue
    return True


if not _is_main():
    raise ImportError(
        "gpuopt works in Python's main interpreter alone, and this is a subinterpreter; under mod_wsgi set "
        "WSGIApplicationGroup %{GLOBAL}, elsewhere use a process of its own"
    )
