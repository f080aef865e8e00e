"""The dtype that a reader, or what makes a molecule, is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuopt
from gpuopt import io, problems


def test_another_dtype_is_the_callers_mistake(tmp_path: Path) -> None:
    (tmp_path / "one.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for wrong in ("int32", "float16"):
        for call in (
            lambda: io.read_obj(tmp_path / "one.obj", dtype=wrong),  # noqa: B023
            lambda: problems.capsid(160, 80, dtype=wrong),  # noqa: B023
            lambda: problems.globule(20, dtype=wrong),  # noqa: B023
        ):
            with pytest.raises(gpuopt.ParameterError, match=f"dtype: {wrong} is not offered; use float32 or float64"):
                call()
