"""The notebook that tells six entries of the casebook."""

import pytest

from notebook_runs import execute, named, printed


@pytest.mark.usefixtures("any_device", "brief_quick")
def test_six_stories(tmp_path):
    notebook, _ = execute(named("07_casebook"), tmp_path)
    for entry in ("a2", "b3", "c1", "d3", "e1", "f1"):
        story = printed(notebook, entry)
        assert story.startswith(entry.upper())
        assert "What to look for: " in story
        assert "Predicted for " in story
    assert "D3 const_divergent_constant_table: " in printed(notebook, "all")
