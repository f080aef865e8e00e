"""The notebook that goes from a surprising time to its cause."""

import pytest

from gpuopt.lab.compiled import tools, x86
from notebook_runs import execute, named, outputs, printed


@pytest.mark.usefixtures("any_device")
def test_it_finds_the_cause(tmp_path):
    if not tools.find(*x86.TOOLS):
        pytest.skip("no objdump is installed")
    notebook, _ = execute(named("08_why"), tmp_path)
    tables = dict(outputs(notebook, "text/html"))
    assert "settle(SUFFIX=1)" in tables["time"]
    assert "in the loop" in tables["instructions"]
    assert "innermost loops:" in printed(notebook, "difference")
    cause = printed(notebook, "cause")
    assert "without the letter, 0 with it" in cause
    assert "in the loop: 0 without" not in cause
