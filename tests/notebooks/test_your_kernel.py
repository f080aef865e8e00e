"""The notebook of a kernel of one's own."""

import html

import pytest

from notebook_runs import code_cells, execute, named, outputs, printed


@pytest.mark.usefixtures("any_device")
def test_it_runs_and_concludes_what_its_rows_say(tmp_path):
    path = named("06_your_kernel")
    notebook, work = execute(path, tmp_path)
    assert "picture" in {cell for cell, _ in outputs(notebook, "image/png")}
    tables = dict(outputs(notebook, "text/html"))
    assert "smooth" in tables["first"]
    assert "columns_first" in html.unescape(tables["together"])
    assert "of 130 configurations were timed" in printed(notebook, "better")
    assert ": size" in printed(notebook, "judge")
    conclusion = printed(notebook, "conclusion")
    assert "the speed of the naive kernel" in conclusion
    assert "'size'" in conclusion
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
