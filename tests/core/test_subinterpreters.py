"""The compiled core takes the main interpreter's lock, for which a subinterpreter would wait for ever."""

from __future__ import annotations

import subprocess
import sys

TEXT = """
try:
    import _interpreters as module
except ImportError:
    import _xxsubinterpreters as module
try:
    print(getattr(module, "exec", getattr(module, "run_string", None))(module.create(), "import gpuopt"))
except Exception as error:
    print(error)
"""


def test_a_subinterpreter_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", TEXT], capture_output=True, text=True, timeout=100, check=True)
    assert "gpuopt works in Python's main interpreter alone" in done.stdout
