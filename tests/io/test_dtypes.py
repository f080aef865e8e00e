"""The dtype that a reader, or what makes a molecule or a problem, is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import io, problems

SWAPPED = np.dtype(np.float32).newbyteorder().str
CORNERS = "\n".join(f"vertex {corner}" for corner in ("0 0 0", "1 0 0", "0 1 0"))
FILES = {
    "a.pqr": (io.read_pqr, "ATOM 1 I ION 1 0.0 0.0 0.5 1.0 2.0\n"),
    "a.vert": (io.read_msms, "0 0 0 0 0 1\n"),
    "a.obj": (io.read_obj, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
    "a.off": (io.read_off, "OFF\n1 0 0\n0 0 0\n"),
    "a.ply": (
        io.read_ply,
        "ply\nformat ascii 1.0\nelement vertex 1\n"
        "property float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n",
    ),
    "a.stl": (
        io.read_stl,
        f"solid a\nfacet normal 0 0 1\nouter loop\n{CORNERS}\nendloop\nendfacet\nendsolid a\n",
    ),
}
WRONG = {
    "int32": "dtype: int32 is not offered; use float32 or float64",
    "float16": "dtype: float16 is not offered; use float32 or float64",
    SWAPPED: f"dtype: the byte order of {SWAPPED} is not the machine's; use float32",
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FILES)
def test_another_dtype_is_the_callers_mistake(tmp_path: Path, name: str, wrong: str) -> None:
    read, content = FILES[name]
    if name == "a.stl":
        pytest.importorskip("trimesh")
    path = tmp_path / name
    path.write_text(content)
    read(path)
    for broken in ("", content[: len(content) // 2]):  # no file is looked at before
        with pytest.raises(gpuopt.ParameterError, match=f"^{WRONG[wrong]}"):
            read(path, dtype=wrong)
        path.write_text(broken)


MAKERS: list[Callable[[Any], object]] = [
    lambda dtype: problems.capsid(160, 80, dtype=dtype),
    lambda dtype: problems.globule(20, dtype=dtype),
    lambda dtype: gpuopt.Molecule([[0, 0, 0]], [1]).astype(dtype),
    lambda dtype: gpuopt.Surface([[0, 0, 0]]).astype(dtype),
    lambda dtype: problems.gemm(8, dtype=dtype),
    lambda dtype: problems.tmv(8, dtype=dtype),
    lambda dtype: problems.spmv_grid(8, 8, 1, dtype=dtype),
    lambda dtype: problems.spmv_stencil((8, 8), dtype=dtype),
    lambda dtype: problems.spmv_image_affinity(np.ones((8, 8)), 1, dtype=dtype),
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("make", MAKERS)
def test_molecules_and_problems_of_another_dtype(make: Callable[[Any], object], wrong: str) -> None:
    with pytest.raises(gpuopt.ParameterError, match=f"^{WRONG[wrong]}"):
        make(wrong)
