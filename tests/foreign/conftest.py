"""Markers that other packages' suites put on their tests: unknown ones are errors."""

from __future__ import annotations

import pytest

NAMES = (
    *("array_api_backends", "fail_slow", "leaks_references", "parallel_threads_limit", "skip_xp_backends", "slow"),
    *("thread_unsafe", "uses_xp_capabilities", "valgrind_error", "xfail_xp_backends", "xslow"),
)


def pytest_configure(config: pytest.Config) -> None:
    for name in NAMES:
        config.addinivalue_line("markers", f"{name}: of a suite of another package")
