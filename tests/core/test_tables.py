"""The tables of variants and the kernels' files: each row has its file, each file its row."""

from __future__ import annotations

import gpuopt
from gpuopt import _core


def test_files_and_rows_agree() -> None:
    """A variant is one file and one row: no file without a row, no row without a file. The casebook has no table: its
    entries name their files."""
    paths = {path for path in _core.kernel_paths() if not path.startswith("casebook/")}
    rows = {v.source for name in _core.workload_names() for v in gpuopt.variants(name)}
    helpers = {path for path in paths if path.startswith("common/") or "/passes/" in path or "/include/" in path}
    assert rows <= paths
    assert paths - helpers == rows


def test_entry_points_stand_in_their_files() -> None:
    for name in _core.workload_names():
        for variant in gpuopt.variants(name):
            assert f" {variant.entry_point}(" in _core.kernel_source(variant.source)
            assert all(p.standard in p.levels for p in variant.parameters)
