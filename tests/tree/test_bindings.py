"""What the bindings' sources keep to."""

from __future__ import annotations

import re
from pathlib import Path

MADE = re.compile(r"py::init\((.*?)(?=\.def|py::class_|module\.def|\Z)", re.DOTALL)


def guarded(text: str) -> list[str]:
    """Constructors by a function of ours that release Python's lock by a call guard: the new object is then entered in
    pybind11's map of instances without the lock, and threads that make objects at a time break the map."""
    return [found for found in MADE.findall(text) if "released()" in found or "call_guard" in found]


def test_no_constructor_is_entered_without_the_lock(root: Path) -> None:
    for file in (root / "src").rglob("*.cpp"):
        assert not guarded(file.read_text()), file
    broken = '.def(py::init([](int n) { return make(n); }), py::arg("n"), released())\n.def("run", &run)'
    assert guarded(broken)
    assert not guarded(broken.replace(", released())", ")").replace("&run)", "&run, released())"))
    assert not guarded(".def(py::init<int>(), py::call_guard<WithoutGil>());")
